//! What others know of custom calls: which ones work on each of a batch alone, and how to divide
//! those whose author says so himself.

use std::sync::Arc;

use rxla_base::Result;
use rxla_hlo::{Module, Shape, Sharding};

/// Who is asked about custom calls.
pub trait CustomCalls {
    /// Whether calls of this target may be cut along their leading `num_batch_dims` dimensions.
    fn is_batch_partitionable(&self, target: &str) -> bool;

    /// Who divides calls of this target.
    fn partitioner(&self, target: &str) -> Option<Arc<dyn Partitioner>>;

    /// Tells whoever wrote the configuration of an `InspectSharding` how the value is spread.
    fn inspect(&self, config: &str, sharding: &Sharding) -> Result<()>;
}

/// Divides calls of one target.
pub trait Partitioner: Send + Sync {
    /// How the result is spread when operands are like that, if that is known. The sharding of
    /// several results is a tuple.
    fn infer(&self, call: &Call<'_>) -> Result<Option<Sharding>>;

    /// What each device does.
    fn partition(&self, call: &Call<'_>) -> Result<Divided>;
}

/// A call as its partitioner sees it, with whole sizes.
pub struct Call<'c> {
    pub operands: Vec<(Shape, Sharding)>,
    pub result: (Shape, Sharding),
    pub config: &'c str,
}

/// A division of a call.
pub struct Divided {
    /// What each device computes, of parts of the operands.
    pub module: Module,
    /// How its operands are to be spread, and how its results are.
    pub operands: Vec<Sharding>,
    pub result: Sharding,
}

/// Nobody knows of any custom call.
pub struct Unknown;

impl CustomCalls for Unknown {
    fn is_batch_partitionable(&self, _target: &str) -> bool {
        false
    }

    fn partitioner(&self, _target: &str) -> Option<Arc<dyn Partitioner>> {
        None
    }

    fn inspect(&self, _config: &str, _sharding: &Sharding) -> Result<()> {
        Ok(())
    }
}
