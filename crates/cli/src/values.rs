//! Values for the parameters of a module: from files, or made up.

use std::path::PathBuf;

use rxla_base::{Error, Result};
use rxla_hlo::{Literal, Module, Shape};

use crate::input::Input;
use crate::npy;
use crate::random::Random;

/// The arguments that a snapshot brings, or those of files and made-up ones.
pub(crate) fn own_or_made(
    input: &Input,
    files: &[PathBuf],
    random: Random,
) -> Result<Vec<Literal>> {
    match &input.arguments[..] {
        [] => parameters(&input.module, files, Some(random)),
        own => Ok(own.to_vec()),
    }
}

/// One value per parameter of the entry; every device gets the same.
pub(crate) fn parameters(
    module: &Module,
    input: &[PathBuf],
    mut random: Option<Random>,
) -> Result<Vec<Literal>> {
    let mut stored = Vec::new();
    for path in input {
        stored.extend(npy::read(path)?);
    }
    let mut stored = stored.into_iter();
    let shapes = module.program_shape(module.entry()).parameters;
    let values = shapes
        .iter()
        .map(|(name, shape)| value(name, shape, &mut stored, &mut random))
        .collect::<Result<_>>()?;
    match stored.count() {
        0 => Ok(values),
        count => Err(Error::invalid_argument(format!(
            "{count} more arrays are given than the module has parameters"
        ))),
    }
}

fn value(
    name: &str,
    shape: &Shape,
    stored: &mut impl Iterator<Item = npy::Stored>,
    random: &mut Option<Random>,
) -> Result<Literal> {
    match shape {
        Shape::Array(array) => {
            if let Some(stored) = stored.next() {
                return Ok(stored.into_literal(array)?.into());
            }
            match random {
                Some(random) => Ok(random.array(array)?.into()),
                None => Err(Error::invalid_argument(format!(
                    "parameter `{name}` has no value\n  hint: give it with `--input`, or use \
                     `--random-inputs`"
                ))),
            }
        }
        Shape::Tuple(elements) => Ok(Literal::Tuple(
            elements
                .iter()
                .map(|shape| value(name, shape, stored, random))
                .collect::<Result<_>>()?,
        )),
        Shape::Token => Ok(Literal::Token),
        Shape::Buffer(_) | Shape::Opaque => {
            Err(Error::unimplemented(format!("a value for parameter `{name}`, which is `{shape}`")))
        }
    }
}
