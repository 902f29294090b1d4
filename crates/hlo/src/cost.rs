//! What instructions cost, estimated from shapes: operations on numbers and bytes moved. These are
//! the figures of XLA's cost analysis by name and meaning; they know nothing of any machine.
//!
//! A loop counts as often as its `known_trip_count` says or the caller knows, else once. A conditional
//! counts its dearest branch.

use rxla_base::SecondaryMap;

use crate::op::UnaryKind;
use crate::{Computation, ComputationId, Dims, Instruction, InstructionId, Module, Op, Shape};

/// The cost of something that runs once.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// Additions, multiplications and the like.
    pub flops: f64,
    /// Evaluations of functions such as `exp`.
    pub transcendentals: f64,
    /// Bytes read and written.
    pub bytes: f64,
}

impl Cost {
    fn plus(self, other: Cost) -> Cost {
        Cost {
            flops: self.flops + other.flops,
            transcendentals: self.transcendentals + other.transcendentals,
            bytes: self.bytes + other.bytes,
        }
    }

    fn times(self, count: f64) -> Cost {
        Cost {
            flops: self.flops * count,
            transcendentals: self.transcendentals * count,
            bytes: self.bytes * count,
        }
    }

    fn max(self, other: Cost) -> Cost {
        Cost {
            flops: self.flops.max(other.flops),
            transcendentals: self.transcendentals.max(other.transcendentals),
            bytes: self.bytes.max(other.bytes),
        }
    }
}

/// The costs of all instructions and computations of a module, what they call included.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    instructions: SecondaryMap<Instruction, Cost>,
    computations: SecondaryMap<Computation, Option<Cost>>,
    trips: SecondaryMap<Instruction, Option<f64>>,
    runs: SecondaryMap<Computation, f64>,
}

impl Costs {
    /// Computations that call themselves, which only broken modules have, count nothing inside.
    pub fn of(module: &Module) -> Costs {
        Costs::with_trips(module, &|_| None)
    }

    /// The costs where `trips` may know how often a loop runs that does not say it.
    pub fn with_trips(module: &Module, trips: &dyn Fn(InstructionId) -> Option<u64>) -> Costs {
        let mut costs = Costs::default();
        for id in module.instruction_ids() {
            if let Op::While(_) = module[id].op {
                costs.trips[id] = trip_count(&module[id]).or(trips(id).map(|count| count as f64));
            }
        }
        for &computation in module.computations() {
            costs.add(module, computation, 0);
        }
        costs.count_runs(module);
        costs
    }

    /// One run of an instruction.
    pub fn instruction(&self, id: InstructionId) -> Cost {
        self.instructions[id]
    }

    /// One run of a computation.
    pub fn computation(&self, id: ComputationId) -> Cost {
        self.computations[id].unwrap_or_default()
    }

    /// How often a loop runs, if that is known.
    pub fn trips(&self, id: InstructionId) -> Option<f64> {
        self.trips[id]
    }

    /// Whether it is known of all loops how often they run.
    pub fn know_all(&self, module: &Module) -> bool {
        let mut ids = module.instruction_ids();
        ids.all(|id| !matches!(module[id].op, Op::While(_)) || self.trips[id].is_some())
    }

    /// How often a computation runs when the program does: loops count their trips, branches are all
    /// taken, and functions that run per element count once per call.
    pub fn runs(&self, id: ComputationId) -> f64 {
        self.runs[id]
    }

    fn count_runs(&mut self, module: &Module) {
        if let Some(entry) = module.try_entry() {
            self.runs[entry] = 1.0;
        }
        // Callers stand after what they call.
        for &caller in module.computations().iter().rev() {
            for &id in module[caller].instructions() {
                let times = self.runs[caller] * self.trips[id].unwrap_or(1.0);
                for called in module[id].op.called_computations() {
                    self.runs[called] += times;
                }
            }
        }
    }

    fn add(&mut self, module: &Module, computation: ComputationId, depth: usize) -> Cost {
        // Computations nest no deeper in modules that passed the verifier.
        const DEEPEST: usize = 1000;
        if let Some(cost) = self.computations[computation] {
            return cost;
        }
        let Some(content) = module.get_computation(computation).filter(|_| depth < DEEPEST) else {
            return Cost::default();
        };
        self.computations[computation] = Some(Cost::default());
        let mut total = Cost::default();
        for &id in content.instructions() {
            let called = module[id].op.called_computations();
            let inner: Vec<Cost> =
                called.iter().map(|&called| self.add(module, called, depth + 1)).collect();
            let cost = with_inner(module, id, &inner, self.trips[id].unwrap_or(1.0));
            self.instructions[id] = cost;
            total = total.plus(cost);
        }
        self.computations[computation] = Some(total);
        total
    }
}

/// An instruction's cost where each computation that it calls costs `inner`; a loop runs `trips` times.
fn with_inner(module: &Module, id: InstructionId, inner: &[Cost], trips: f64) -> Cost {
    let instruction = &module[id];
    let own = own(module, id);
    let sum = || inner.iter().fold(Cost::default(), |sum, &cost| sum.plus(cost));
    let arithmetic = |cost: Cost| Cost { bytes: 0.0, ..cost };
    match &instruction.op {
        Op::Fusion(_) => own.plus(arithmetic(sum())),
        Op::While(_) => sum().times(trips),
        Op::Conditional(_) => inner.iter().fold(Cost::default(), |most, &cost| most.max(cost)),
        Op::Call(_) | Op::AsyncStart(_) => sum(),
        Op::Scan(_) => own.plus(sum()),
        // The small functions of these run per element.
        Op::Reduce(_) | Op::Scatter(_) | Op::SelectAndScatter(_) | Op::ReduceWindow(_) => {
            own.plus(arithmetic(sum()).times(applications(module, id)))
        }
        Op::Map(_) => own.plus(arithmetic(sum()).times(elements(&instruction.shape))),
        _ => own,
    }
}

/// How often a reduction and its like applies its function.
fn applications(module: &Module, id: InstructionId) -> f64 {
    let instruction = &module[id];
    let operand = |index: usize| operand_shape(module, id, index).map_or(0.0, first_elements);
    match &instruction.op {
        Op::ReduceWindow(reduce) => {
            let window: Dims = reduce.window.dimensions.iter().map(|d| d.size).collect();
            first_elements(&instruction.shape) * product(&window)
        }
        // Operands of a scatter: arrays, indices, updates.
        Op::Scatter(_) => operand(instruction.operands().len().saturating_sub(1)),
        _ => operand(0),
    }
}

/// Multiplications and additions, or applications of a function, and bytes, of the instruction
/// alone: without what it calls.
fn own(module: &Module, id: InstructionId) -> Cost {
    let instruction = &module[id];
    let results = elements(&instruction.shape);
    let operand = |index: usize| operand_shape(module, id, index);
    let size_of = |index: usize| operand(index).map_or(0.0, bytes);
    let all_operands = || (0..instruction.operands().len()).map(size_of).sum::<f64>();
    let result = bytes(&instruction.shape);
    let moved = match &instruction.op {
        Op::Parameter(_)
        | Op::Constant(_)
        | Op::Tuple(_)
        | Op::GetTupleElement(_)
        | Op::Bitcast(_)
        | Op::AfterAll(_)
        | Op::OptimizationBarrier(_) => 0.0,
        // Of a large operand only a part is touched.
        Op::Slice(_) | Op::DynamicSlice(_) | Op::Gather(_) => {
            2.0 * result + (1..instruction.operands().len()).map(size_of).sum::<f64>()
        }
        Op::DynamicUpdateSlice(_) => 2.0 * size_of(1),
        Op::Fusion(fusion) => fused_bytes(module, fusion.calls).unwrap_or(result + all_operands()),
        _ => result + all_operands(),
    };
    let mut cost = Cost { bytes: moved, ..Cost::default() };
    match &instruction.op {
        Op::Dot(dot) => cost.flops = 2.0 * results * sizes(operand(0), &dot.lhs_contracting_dims),
        Op::ScaledDot(dot) => {
            cost.flops = 2.0 * results * sizes(operand(0), &dot.lhs_contracting_dims);
        }
        Op::RaggedDot(dot) => {
            cost.flops = 2.0 * results * sizes(operand(0), &dot.lhs_contracting_dims);
        }
        Op::Convolution(convolution) => {
            let window: Dims = convolution.window.dimensions.iter().map(|d| d.size).collect();
            let features = [convolution.dim_labels.kernel_input_feature];
            cost.flops = 2.0 * results * product(&window) * sizes(operand(1), &features);
        }
        Op::Unary(unary) if is_transcendental(unary.kind) => cost.transcendentals = results,
        Op::Binary(binary) if binary.kind.name() == "power" => cost.transcendentals = results,
        Op::Copy(_) | Op::Map(_) => {}
        op if op.is_elementwise() => cost.flops = results,
        _ => {}
    }
    cost
}

/// What a fusion moves: of what is only sliced in it, or updated, the parts.
fn fused_bytes(module: &Module, computation: ComputationId) -> Option<f64> {
    let content = module.get_computation(computation)?;
    let size = |id: InstructionId| bytes(&module[id].shape);
    let read = |parameter: InstructionId| {
        let part = |user: &InstructionId| {
            let instruction = &module[*user];
            let [first, others @ ..] = instruction.operands() else { return size(parameter) };
            match &instruction.op {
                _ if *first != parameter || others.contains(&parameter) => size(parameter),
                Op::Slice(_) | Op::DynamicSlice(_) | Op::Gather(_) => size(*user),
                Op::DynamicUpdateSlice(_) => 0.0,
                _ => size(parameter),
            }
        };
        module[parameter].users().iter().map(part).sum::<f64>().min(size(parameter))
    };
    let written = |root: InstructionId| match (&module[root].op, module[root].operands()) {
        (Op::DynamicUpdateSlice(_), [_, update, ..]) => size(*update),
        _ => size(root),
    };
    let root = content.try_root()?;
    let results = match &module[root].op {
        Op::Tuple(_) => module[root].operands().iter().map(|&id| written(id)).sum(),
        _ => written(root),
    };
    Some(results + content.parameters().iter().map(|&parameter| read(parameter)).sum::<f64>())
}

/// The shape of an operand; none where a module that was not verified lacks it.
fn operand_shape(module: &Module, id: InstructionId, index: usize) -> Option<&Shape> {
    module[id].operands().get(index).map(|&operand| &module[operand].shape)
}

/// What a compiler has noted of a loop: `{"known_trip_count":{"n":"12"}}`.
fn trip_count(instruction: &Instruction) -> Option<f64> {
    let config = &instruction.info()?.backend_config;
    let rest = config.split_once("\"known_trip_count\"")?.1.split_once("\"n\"")?.1;
    let digits = rest.trim_start_matches([':', ' ', '"']);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

fn is_transcendental(kind: UnaryKind) -> bool {
    use UnaryKind::*;
    match kind {
        Acos | Acosh | Asin | Asinh | Atanh | Cbrt | Cos | Cosh | Erf | Exp | Expm1 | Log
        | Log1p | Logistic | Rsqrt | Sin | Sinh | Sqrt | Tan | Tanh => true,
        Abs | Ceil | CountLeadingZeros | Floor | Imag | IsFinite | Negate | Not
        | PopulationCount | Real | RoundNearestAfz | RoundNearestEven | Sign => false,
    }
}

/// The product of an array's sizes in these dimensions.
fn sizes(shape: Option<&Shape>, dimensions: &[i64]) -> f64 {
    let Some(array) = shape.and_then(Shape::as_array) else { return 0.0 };
    let size = |&dimension: &i64| array.dims.get(usize::try_from(dimension).ok()?).copied();
    product(&dimensions.iter().filter_map(size).collect())
}

/// A product of sizes; unknown ones count as none.
fn product(sizes: &Dims) -> f64 {
    sizes.iter().map(|&size| size.max(0) as f64).product()
}

fn elements(shape: &Shape) -> f64 {
    let leaves = shape.leaves();
    leaves.iter().filter_map(|(_, leaf)| leaf.as_array()?.element_count()).map(|n| n as f64).sum()
}

/// Elements of the first array in a shape.
fn first_elements(shape: &Shape) -> f64 {
    let leaves = shape.leaves();
    leaves.first().and_then(|(_, leaf)| leaf.as_array()?.element_count()).unwrap_or(0) as f64
}

fn bytes(shape: &Shape) -> f64 {
    shape.byte_size().unwrap_or(0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{ParseOptions, parse};

    fn module() -> Module {
        let text = r#"HloModule m

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT add = f32[] add(a, b)
}

fused {
  p = f32[8,4] parameter(0)
  e = f32[8,4] exponential(p)
  ROOT n = f32[8,4] negate(e)
}

body {
  s = (f32[8,4]) parameter(0)
  x = f32[8,4] get-tuple-element(s), index=0
  f = f32[8,4] fusion(x), kind=kLoop, calls=fused
  ROOT t = (f32[8,4]) tuple(f)
}

condition {
  s.1 = (f32[8,4]) parameter(0)
  ROOT c = pred[] constant(false)
}

ENTRY main {
  x.1 = f32[8,4] parameter(0)
  y = f32[4,2] parameter(1)
  start = (f32[8,4]) tuple(x.1)
  loop = (f32[8,4]) while(start), condition=condition, body=body, backend_config={"known_trip_count":{"n":"10"}}
  z = f32[8,4] get-tuple-element(loop), index=0
  product = f32[8,2] dot(z, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  zero = f32[] constant(0)
  ROOT total = f32[] reduce(product, zero), dimensions={0,1}, to_apply=sum
}
"#;
        parse(text, &ParseOptions::default()).expect("the text is right").module
    }

    fn named(module: &Module, name: &str) -> InstructionId {
        module.instruction_ids().find(|&id| module[id].name() == name).expect("it is there")
    }

    #[test]
    fn products_count_twice_their_depth_and_reductions_their_elements() {
        let module = module();
        let costs = Costs::of(&module);
        let dot = costs.instruction(named(&module, "product"));
        assert_eq!((dot.flops, dot.bytes), (2.0 * 16.0 * 4.0, 4.0 * (32.0 + 8.0 + 16.0)));
        assert_eq!(costs.instruction(named(&module, "total")).flops, 16.0);
    }

    #[test]
    fn fusions_move_only_what_goes_in_and_out_and_loops_count_their_trips() {
        let module = module();
        let costs = Costs::of(&module);
        let fusion = costs.instruction(named(&module, "f"));
        assert_eq!(fusion, Cost { flops: 32.0, transcendentals: 32.0, bytes: 256.0 });
        let many = costs.instruction(named(&module, "loop"));
        assert_eq!(many, Cost { flops: 320.0, transcendentals: 320.0, bytes: 2560.0 });
        let total = costs.computation(module.entry());
        assert_eq!(total.flops, 320.0 + 128.0 + 16.0);
        let fused = module[named(&module, "e")].parent();
        assert_eq!((costs.runs(module.entry()), costs.runs(fused)), (1.0, 10.0));
    }

    #[test]
    fn fusions_read_and_write_parts_of_what_they_slice_and_update() {
        let text = "HloModule m
            f {
              w = f32[6,4,8] parameter(0)
              i = s32[] parameter(1)
              out = f32[6,4] parameter(2)
              zero = s32[] constant(0)
              part = f32[1,4,8] dynamic-slice(w, i, zero, zero), dynamic_slice_sizes={1,4,8}
              layer = f32[4,8] reshape(part)
              x = f32[1,8] parameter(3)
              product = f32[1,4] dot(x, layer), lhs_contracting_dims={1}, rhs_contracting_dims={1}
              ROOT updated = f32[6,4] dynamic-update-slice(out, product, i, zero)
            }
            ENTRY e {
              w = f32[6,4,8] parameter(0)
              i = s32[] parameter(1)
              out = f32[6,4] parameter(2)
              x = f32[1,8] parameter(3)
              ROOT r = f32[6,4] fusion(w, i, out, x), kind=kOutput, calls=f
            }";
        let module = parse(text, &ParseOptions::default()).unwrap().module;
        let cost = Costs::of(&module).instruction(named(&module, "r"));
        assert_eq!((cost.flops, cost.bytes), (2.0 * 4.0 * 8.0, 4.0 * (32.0 + 1.0 + 8.0 + 4.0)));
    }

    #[test]
    fn what_a_loop_says_comes_before_what_others_know() {
        let mut module = module();
        let site = named(&module, "loop");
        let flops =
            |module: &Module| Costs::with_trips(module, &|_| Some(3)).instruction(site).flops;
        assert_eq!(flops(&module), 320.0);
        module[site].info_mut().backend_config.clear();
        assert_eq!(flops(&module), 96.0);
        assert_eq!(Costs::of(&module).instruction(site).flops, 32.0);
    }
}
