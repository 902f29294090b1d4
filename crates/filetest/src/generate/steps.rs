//! One instruction more: every op that the generator knows, but for those with control flow.

use rxla_hlo::op::{
    BitcastConvert, Clamp, Compare, ComparisonDirection, Concatenate, Convert, Convolution,
    ConvolutionDimensions, Dot, GroupCount, Iota, Largest, OptimizationBarrier, Pad,
    PaddingDimension, RandomAlgorithm, Reduce, ReducePrecision, ReduceWindow, Reshape, Reverse,
    RngBitGenerator, Select, SelectAndScatter, Slice, SliceDimension, Sort, TopK, Transpose,
    Window, WindowDimension,
};
use rxla_hlo::{ArrayShape, BinaryKind, Dims, ElementType, InstructionId, Op, Shape, UnaryKind};

use super::indexed::{dynamic_slice, dynamic_update_slice, gather, scatter};
use super::{Generator, Scope};

type Step = fn(&mut Generator, &mut Scope) -> Option<InstructionId>;

/// Steps, the more often listed the more often taken.
const STEPS: &[Step] = &[
    unary,
    unary,
    unary,
    binary,
    binary,
    binary,
    binary,
    binary,
    compare,
    select,
    clamp,
    convert,
    convert,
    constant,
    constant,
    iota,
    broadcast,
    broadcast,
    reshape,
    reshape,
    transpose,
    transpose,
    slice,
    slice,
    concatenate,
    concatenate,
    pad,
    pad,
    reverse,
    reduce,
    reduce,
    reduce_window,
    convolution,
    dot,
    dot,
    dynamic_slice,
    dynamic_update_slice,
    gather,
    scatter,
    select_and_scatter,
    sort,
    topk,
    random_bits,
    reduce_precision,
    bitcast_convert,
    barrier,
    tuple,
    element,
    Generator::call,
    Generator::map,
    Generator::conditional,
    Generator::loop_,
    again,
];

/// Functions whose results do not depend on a library of maths.
const PLAIN: &[UnaryKind] = &[
    UnaryKind::Abs,
    UnaryKind::Negate,
    UnaryKind::Negate,
    UnaryKind::Not,
    UnaryKind::Sign,
    UnaryKind::Floor,
    UnaryKind::Ceil,
    UnaryKind::Sqrt,
    UnaryKind::RoundNearestEven,
    UnaryKind::RoundNearestAfz,
    UnaryKind::IsFinite,
    UnaryKind::PopulationCount,
    UnaryKind::CountLeadingZeros,
    UnaryKind::Real,
    UnaryKind::Imag,
];

const MATHS: &[UnaryKind] = &[
    UnaryKind::Exp,
    UnaryKind::Log,
    UnaryKind::Tanh,
    UnaryKind::Logistic,
    UnaryKind::Rsqrt,
    UnaryKind::Cos,
    UnaryKind::Sin,
    UnaryKind::Expm1,
    UnaryKind::Log1p,
];

pub(super) const REDUCERS: &[BinaryKind] = &[
    BinaryKind::Add,
    BinaryKind::Add,
    BinaryKind::Maximum,
    BinaryKind::Minimum,
    BinaryKind::Multiply,
    BinaryKind::And,
    BinaryKind::Or,
    BinaryKind::Xor,
];

impl Generator {
    pub(super) fn step(&mut self, scope: &mut Scope) -> Option<InstructionId> {
        let before = self.module.computations().len();
        let step = self.random.pick(STEPS);
        let made = step(self, scope);
        if made.is_none() {
            // What was to be called is left without a caller, or unfinished.
            for spare in self.module.computations()[before..].to_vec() {
                self.module.remove_computation(spare);
            }
        }
        made
    }
}

fn unary(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_array(scope)?;
    let kind = if g.random.once_in(3) { g.random.pick(MATHS) } else { g.random.pick(PLAIN) };
    g.add(scope, Op::unary(kind), &[x])
}

fn binary(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_array(scope)?;
    let shape = g.shape_of(x);
    let y = g.of_shape(scope, &shape)?;
    let kind = g.random.pick(BinaryKind::ALL);
    let operands = if g.random.once_in(2) { [x, y] } else { [y, x] };
    g.add(scope, Op::binary(kind), &operands)
}

fn compare(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_array(scope)?;
    let shape = g.shape_of(x);
    let y = g.of_shape(scope, &shape)?;
    let direction = g.random.pick(ComparisonDirection::ALL);
    g.add(scope, Compare { direction, comparison_type: None }, &[x, y])
}

fn select(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_array(scope)?;
    let shape = g.shape_of(x);
    let y = g.of_shape(scope, &shape)?;
    let choice = if g.random.once_in(3) {
        ArrayShape::scalar(ElementType::Pred)
    } else {
        shape.with_element_type(ElementType::Pred)
    };
    let choice = g.of_shape(scope, &choice)?;
    g.add(scope, Select {}, &[choice, x, y])
}

fn clamp(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_array(scope)?;
    let mut bound = g.shape_of(x);
    if g.random.once_in(2) {
        bound = ArrayShape::scalar(bound.element_type);
    }
    let (low, high) = (g.of_shape(scope, &bound)?, g.of_shape(scope, &bound)?);
    g.add(scope, Clamp {}, &[low, x, high])
}

fn convert(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_array(scope)?;
    let shape = g.shape_of(x).with_element_type(g.element_type());
    g.add_shaped(scope, Convert {}, Shape::Array(shape), &[x])
}

fn bitcast_convert(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    // Bits of a NaN are nobody's promise, so only integers are looked at as bits.
    let x = g.any_where(scope, |shape| shape.element_type.is_integer())?;
    let to = g.random.pick(&[
        ElementType::S32,
        ElementType::U32,
        ElementType::F32,
        ElementType::S8,
        ElementType::U8,
        ElementType::S64,
    ]);
    let shape = g.shape_of(x).with_element_type(to);
    g.add_shaped(scope, BitcastConvert {}, Shape::Array(shape), &[x])
}

fn reduce_precision(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.element_type.is_float())?;
    let (exponent_bits, mantissa_bits) =
        g.random.pick(&[(5, 10), (8, 7), (8, 23), (4, 3), (11, 52)]);
    g.add(scope, ReducePrecision { exponent_bits, mantissa_bits }, &[x])
}

fn constant(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let shape = Shape::array(g.element_type(), g.dims());
    let value = g.random.value(&shape).ok()?;
    Some(g.module.add_constant(scope.computation, value))
}

fn iota(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let shape = ArrayShape::new(g.element_type(), g.dims());
    if shape.rank() == 0 {
        return None;
    }
    let iota_dimension = g.random.below(shape.rank()) as i64;
    g.add_shaped(scope, Iota { iota_dimension }, Shape::Array(shape), &[])
}

fn broadcast(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_array(scope)?;
    let from = g.shape_of(x);
    let mut dims = from.dims.clone();
    let mut places: Vec<i64> = (0..from.rank() as i64).collect();
    if g.random.once_in(4) {
        // Dimensions may change their order on the way.
        places = g.random.permutation(from.rank());
        for (d, &place) in places.iter().enumerate() {
            dims[place as usize] = from.dims[d];
        }
    }
    for _ in 0..g.random.between(0, 3) {
        let at = g.random.below(dims.len() + 1);
        dims.insert(at, g.random.pick(&[1, 2, 3]));
        places.iter_mut().filter(|place| **place >= at as i64).for_each(|place| *place += 1);
    }
    g.add_shaped(scope, Op::broadcast(places), Shape::array(from.element_type, dims), &[x])
}

fn reshape(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_array(scope)?;
    let from = g.shape_of(x);
    let mut dims = from.dims.clone();
    for _ in 0..g.random.between(1, 4) {
        let rank = dims.len();
        match g.random.below(4) {
            0 => dims.insert(g.random.below(rank + 1), 1),
            1 if dims.contains(&1) => {
                let at = dims.iter().position(|&size| size == 1)?;
                dims.remove(at);
            }
            2 if rank > 1 => {
                let at = g.random.below(rank - 1);
                dims[at] *= dims[at + 1];
                dims.remove(at + 1);
            }
            3 if rank > 0 => {
                let at = g.random.below(rank);
                let factor = g.random.pick(&[2, 3, 4]);
                if dims[at] % factor == 0 {
                    dims[at] /= factor;
                    dims.insert(at + 1, factor);
                }
            }
            _ => {}
        }
    }
    g.add_shaped(scope, Reshape::default(), Shape::array(from.element_type, dims), &[x])
}

fn transpose(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.rank() > 0)?;
    let dimensions = g.random.permutation(g.shape_of(x).rank()).into();
    g.add(scope, Transpose { dimensions }, &[x])
}

fn slice(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.rank() > 0)?;
    let dims = g.shape_of(x).dims;
    let slice = dims
        .iter()
        .map(|&size| {
            if g.random.once_in(2) {
                return SliceDimension { start: 0, limit: size, stride: 1 };
            }
            let start = g.random.between(0, size + 1);
            let limit = g.random.between(start, size + 1);
            SliceDimension { start, limit, stride: g.random.pick(&[1, 1, 1, 2, 3]) }
        })
        .collect();
    g.add(scope, Slice { slice }, &[x])
}

fn concatenate(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.rank() > 0)?;
    let shape = g.shape_of(x);
    let dimension = g.random.below(shape.rank());
    let mut operands = vec![x];
    for _ in 0..g.random.between(0, 3) {
        let mut part = shape.clone();
        part.dims[dimension] = g.random.pick(&[shape.dims[dimension], 1, 2]);
        let at = g.random.below(operands.len() + 1);
        let part = g.of_shape(scope, &part)?;
        operands.insert(at, part);
    }
    g.add(scope, Concatenate { dimensions: [dimension as i64].into_iter().collect() }, &operands)
}

fn pad(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.rank() > 0)?;
    let shape = g.shape_of(x);
    let padding = (0..shape.rank())
        .map(|_| {
            if g.random.once_in(2) {
                return PaddingDimension::default();
            }
            PaddingDimension {
                low: g.random.between(-1, 3),
                high: g.random.between(-1, 3),
                interior: g.random.pick(&[0, 0, 0, 1, 2]),
            }
        })
        .collect();
    let value = g.of_shape(scope, &ArrayShape::scalar(shape.element_type))?;
    g.add(scope, Pad { padding }, &[x, value])
}

fn reverse(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.rank() > 0)?;
    let dimensions = g.some_dimensions(g.shape_of(x).rank());
    g.add(scope, Reverse { dimensions }, &[x])
}

fn reduce(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.rank() > 0)?;
    let shape = g.shape_of(x);
    let dimensions = g.some_dimensions(shape.rank());
    let kind = g.random.pick(REDUCERS);
    let to_apply = g.module.add_scalar_computation(kind, shape.element_type).ok()?;
    let init = g.of_shape(scope, &ArrayShape::scalar(shape.element_type))?;
    g.add(scope, Reduce { dimensions, to_apply }, &[x, init])
}

fn reduce_window(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.rank() > 0)?;
    let shape = g.shape_of(x);
    let dimensions = (0..shape.rank())
        .map(|_| WindowDimension {
            stride: g.random.between(1, 3),
            padding_low: g.random.between(0, 2),
            padding_high: g.random.between(0, 2),
            ..WindowDimension::new(g.random.between(1, 3))
        })
        .collect();
    let kind = g.random.pick(REDUCERS);
    let to_apply = g.module.add_scalar_computation(kind, shape.element_type).ok()?;
    let init = g.of_shape(scope, &ArrayShape::scalar(shape.element_type))?;
    g.add(scope, ReduceWindow { window: Window { dimensions }, to_apply }, &[x, init])
}

/// A value of two dimensions or more as an image, in some order of dimensions, of features that are each on their own or
/// summed over, with a window that is made to fit.
fn convolution(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| {
        shape.rank() > 1 && !matches!(shape.element_type, ElementType::Pred)
    })?;
    let shape = g.shape_of(x);
    let rank = shape.rank();
    let labels = |g: &mut Generator| {
        let order = g.random.permutation(rank);
        (order[0], order[1], order[2..].iter().copied().collect::<Dims>())
    };
    let (input_batch, input_feature, input_spatial) = labels(g);
    let (kernel_input_feature, kernel_output_feature, kernel_spatial) = labels(g);
    let (output_batch, output_feature, output_spatial) = labels(g);
    let features = shape.dims[input_feature as usize];
    let groups = if g.random.below(2) == 0 { features } else { 1 };
    let dimensions: Vec<WindowDimension> = (2..rank)
        .map(|_| WindowDimension {
            stride: g.random.between(1, 3),
            padding_low: g.random.between(-1, 3),
            padding_high: g.random.between(-1, 3),
            window_dilation: g.random.between(1, 3),
            base_dilation: g.random.between(1, 3),
            window_reversal: g.random.below(3) == 0,
            ..WindowDimension::new(g.random.between(1, 4))
        })
        .collect();
    let mut sizes = vec![0; rank];
    sizes[kernel_input_feature as usize] = features.checked_div(groups)?;
    sizes[kernel_output_feature as usize] = groups * g.random.between(1, 3);
    for (&at, dimension) in kernel_spatial.iter().zip(&dimensions) {
        sizes[at as usize] = dimension.size;
    }
    let window = g.of_shape_or_constant(scope, &ArrayShape::new(shape.element_type, sizes))?;
    let op = Convolution {
        window: Window { dimensions },
        dim_labels: ConvolutionDimensions {
            input_batch,
            input_feature,
            input_spatial,
            kernel_input_feature,
            kernel_output_feature,
            kernel_spatial,
            output_batch,
            output_feature,
            output_spatial,
        },
        feature_group_count: GroupCount(groups),
        ..Convolution::default()
    };
    g.add(scope, Box::new(op), &[x, window])
}

/// A product of a value with one that is made to fit: batch, contracted and other dimensions are
/// dealt out at random.
fn dot(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let lhs = g.any_where(scope, |shape| shape.element_type != ElementType::Pred)?;
    let shape = g.shape_of(lhs);
    let mut op = Dot::default();
    let mut sizes = Vec::new();
    for d in g.random.permutation(shape.rank()) {
        match g.random.below(3) {
            0 => {
                op.lhs_batch_dims.push(d);
                sizes.push((shape.dims[d as usize], Some(Role::Batch)));
            }
            1 => {
                op.lhs_contracting_dims.push(d);
                sizes.push((shape.dims[d as usize], Some(Role::Contracting)));
            }
            _ => {}
        }
    }
    for _ in 0..g.random.between(0, 3) {
        sizes.push((g.random.between(1, 4), None));
    }
    // Where each of these lies in the other operand.
    let order = g.random.permutation(sizes.len());
    let mut dims: Dims = sizes.iter().map(|_| 0).collect();
    for (&place, &(size, role)) in order.iter().zip(&sizes) {
        dims[place as usize] = size;
        match role {
            Some(Role::Batch) => op.rhs_batch_dims.push(place),
            Some(Role::Contracting) => op.rhs_contracting_dims.push(place),
            None => {}
        }
    }
    let rhs = ArrayShape::new(shape.element_type, dims);
    if rhs.element_count()? > g.size.elements {
        return None;
    }
    let rhs = g.of_shape_or_constant(scope, &rhs)?;
    g.add(scope, Box::new(op), &[lhs, rhs])
}

#[derive(Clone, Copy)]
enum Role {
    Batch,
    Contracting,
}

fn sort(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.rank() > 0 && !shape.element_type.is_complex())?;
    let shape = g.shape_of(x);
    let dimension = g.random.below(shape.rank()) as i64;
    let mut operands = vec![x];
    if g.random.once_in(2) {
        let mut other = shape.clone();
        if g.random.once_in(2) {
            other.element_type = ElementType::S32;
        }
        operands.push(g.of_shape_or_constant(scope, &other)?);
    }
    let comparator = g.comparator(&operands)?;
    // Only a stable sort has one result where keys are equal.
    let op = Sort {
        dimensions: [dimension].into_iter().collect(),
        is_stable: true,
        to_apply: comparator,
    };
    g.add(scope, op, &operands)
}

/// Elements that windows select, by a comparison, and what is combined there.
fn select_and_scatter(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.rank() > 0 && !shape.element_type.is_complex())?;
    let shape = g.shape_of(x);
    let mut source = shape.clone();
    let mut dimensions = Vec::new();
    for size in &mut source.dims {
        let window = WindowDimension {
            stride: g.random.between(1, 3),
            padding_low: g.random.between(0, 2),
            padding_high: g.random.between(0, 2),
            ..WindowDimension::new(g.random.between(1, 4))
        };
        let room = *size + window.padding_low + window.padding_high - window.size;
        *size = if room < 0 { 0 } else { room / window.stride + 1 };
        dimensions.push(window);
    }
    let source = g.of_shape_or_constant(scope, &source)?;
    let init = g.of_shape(scope, &ArrayShape::scalar(shape.element_type))?;
    let select = g.module.add_computation("select");
    let [a, b] = ["a", "b"]
        .map(|name| g.module.add_parameter(select, name, Shape::scalar(shape.element_type)));
    let direction = g.random.pick(&[ComparisonDirection::Ge, ComparisonDirection::Lt]);
    let root = g.module.add(select, Op::compare(direction), &[a, b]).ok()?;
    g.module.set_root(root);
    let kind = g.random.pick(REDUCERS);
    let scatter = g.module.add_scalar_computation(kind, shape.element_type).ok()?;
    let op = SelectAndScatter { window: Window { dimensions }, select, scatter };
    g.add(scope, op, &[x, source, init])
}

fn topk(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any_where(scope, |shape| shape.rank() > 0 && !shape.element_type.is_complex())?;
    let row = *g.shape_of(x).dims.last()?;
    let k = g.random.between(0, row + 1);
    let op = TopK { k, largest: Largest(g.random.once_in(2)), is_stable: true };
    g.add(scope, op, &[x])
}

/// Random bits are as good as any: they follow from a state.
fn random_bits(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let words = g.random.pick(&[2, 2, 3]);
    let state = ArrayShape::new(ElementType::U64, [words]);
    let state = g.of_shape_or_constant(scope, &state)?;
    let types =
        &[ElementType::U32, ElementType::U32, ElementType::U64, ElementType::S8, ElementType::U16];
    let values = Shape::array(g.random.pick(types), g.dims());
    let algorithm = g.random.pick(&[RandomAlgorithm::ThreeFry, RandomAlgorithm::Philox]);
    let shape = Shape::tuple([g.module[state].shape.clone(), values]);
    g.add_shaped(scope, RngBitGenerator { algorithm }, shape, &[state])
}

fn barrier(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any(scope)?;
    g.add(scope, OptimizationBarrier {}, &[x])
}

fn tuple(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let elements: Vec<_> =
        (0..g.random.between(1, 4)).map(|_| g.any(scope)).collect::<Option<_>>()?;
    g.add(scope, Op::tuple(), &elements)
}

fn element(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = (0..8).find_map(|_| {
        let x = g.any(scope)?;
        g.module[x].shape.as_tuple().is_some_and(|elements| !elements.is_empty()).then_some(x)
    })?;
    let count = g.module[x].shape.as_tuple()?.len();
    let index = g.random.below(count) as i64;
    g.add(scope, Op::get_tuple_element(index), &[x])
}

/// What is there already, once more: on the same operands, or on its own result.
fn again(g: &mut Generator, scope: &mut Scope) -> Option<InstructionId> {
    let x = g.any(scope)?;
    let (op, shape) = (g.module[x].op.clone(), g.module[x].shape.clone());
    let mut operands = g.module[x].operands().to_vec();
    if operands.is_empty() || matches!(op, Op::Parameter(_)) {
        return None;
    }
    if g.random.once_in(2) {
        let at = g.random.below(operands.len());
        operands[at] = x;
        return g.add(scope, op, &operands);
    }
    g.add_shaped(scope, op, shape, &operands)
}

impl Generator {
    /// Dimensions in order, each with even odds.
    fn some_dimensions(&mut self, rank: usize) -> Dims {
        (0..rank as i64).filter(|_| self.random.once_in(2)).collect()
    }

    /// A value of this shape: one that is there, or a constant of different elements.
    pub(super) fn of_shape_or_constant(
        &mut self,
        scope: &mut Scope,
        shape: &ArrayShape,
    ) -> Option<InstructionId> {
        if let Some(found) = self.any_where(scope, |found| found.compatible(shape)) {
            return Some(found);
        }
        let value = self.random.value(&Shape::Array(shape.clone())).ok()?;
        Some(self.module.add_constant(scope.computation, value))
    }
}
