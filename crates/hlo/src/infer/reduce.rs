//! Ops that call a computation along dimensions: reduce, sort, scan, and topk, which sorts without.

use super::check::{
    Callee, Result, agree, array, arrays, callee, dimensions, ensure, error, one_dimension,
    one_or_tuple, promote, same_size, same_sizes, scalar, size_of, sizes_of, with_sizes,
};
use crate::op::{Reduce, Scan, Sort, TopK};
use crate::{ArrayShape, ElementType, Module, Shape};

/// The scalars that a computation gives, as one result or a tuple of them.
fn accumulators<'a>(reducer: &Callee<'a>, count: usize) -> Result<Vec<&'a ArrayShape>> {
    let result: &'a Shape = reducer.result;
    let results: Vec<&'a Shape> = match result {
        Shape::Tuple(elements) => elements.iter().collect(),
        Shape::Array(_) | Shape::Buffer(_) | Shape::Token | Shape::Opaque => vec![result],
    };
    ensure!(
        results.len() == count,
        "`{}` has to give {count} scalars, but gives `{result}`",
        reducer.name
    );
    results.into_iter().map(|result| scalar(result, "each result of the computation")).collect()
}

/// Checks that a computation combines accumulators with elements, and gives the types of the
/// accumulators. Floats may differ in precision between elements, initial values and accumulators,
/// as XLA allows.
pub(super) fn reducer<'m>(
    reducer: &Callee<'m>,
    inputs: &[ElementType],
    inits: &[ElementType],
    constraint: &str,
) -> Result<Vec<ElementType>> {
    let count = inputs.len();
    reducer.expect_parameters(2 * count)?;
    let accumulators = accumulators(reducer, count)?;
    for (index, accumulator) in accumulators.iter().enumerate() {
        let name = reducer.name;
        let first = scalar(reducer.parameters[index], "each parameter of the computation")?;
        ensure!(
            first.element_type == accumulator.element_type,
            "{constraint} parameter {index} of `{name}` is `{first}`, but result {index} is \
             `{accumulator}`"
        );
        let second =
            scalar(reducer.parameters[count + index], "each parameter of the computation")?;
        ensure!(
            promote(second.element_type, accumulator.element_type).is_some(),
            "{constraint} parameter {} of `{name}` is `{second}`, but result {index} is \
             `{accumulator}`",
            count + index
        );
        ensure!(
            promote(inputs[index], second.element_type).is_some(),
            "{constraint} elements of input {index} are `{}`, but parameter {} of `{name}` is \
             `{second}`",
            inputs[index],
            count + index
        );
        ensure!(
            promote(inits[index], accumulator.element_type).is_some(),
            "{constraint} initial value {index} is `{}`, but `{name}` accumulates `{accumulator}`",
            inits[index]
        );
    }
    Ok(accumulators.iter().map(|accumulator| accumulator.element_type).collect())
}

/// Inputs and initial values of reduce and reduce-window: as many of one as of the other.
pub(super) fn inputs_and_inits<'a>(
    operands: &[&'a Shape],
) -> Result<(Vec<&'a ArrayShape>, Vec<&'a ArrayShape>)> {
    ensure!(
        operands.len().is_multiple_of(2),
        "there have to be as many inputs as initial values, but there are {} operands",
        operands.len()
    );
    let (inputs, inits) = operands.split_at(operands.len() / 2);
    let inputs = arrays(inputs, "input")?;
    let inits =
        inits.iter().map(|init| scalar(init, "each initial value")).collect::<Result<Vec<_>>>()?;
    for input in &inputs[1..] {
        ensure!(
            same_sizes(input, inputs[0]),
            "inputs differ in size: `{}` and `{input}`",
            inputs[0]
        );
    }
    Ok((inputs, inits))
}

pub(super) fn types(shapes: &[&ArrayShape]) -> Vec<ElementType> {
    shapes.iter().map(|shape| shape.element_type).collect()
}

pub(super) fn reduce(module: &Module, op: &Reduce, operands: &[&Shape]) -> Result<Shape> {
    let (inputs, inits) = inputs_and_inits(operands)?;
    let first = inputs[0];
    let reduced = dimensions(&op.dimensions, first.rank(), "(C4, C5) `dimensions`")?;
    let callee = callee(module, op.to_apply, "`to_apply`")?;
    let accumulators = reducer(&callee, &types(&inputs), &types(&inits), "(C6)")?;
    let kept: Vec<_> = sizes_of(first)
        .enumerate()
        .filter(|(dimension, _)| !reduced.contains(dimension))
        .map(|(_, size)| size)
        .collect();
    let results = accumulators.iter().map(|&t| with_sizes(t, kept.iter().copied()).into());
    Ok(tuple_like(callee.result, results.collect()))
}

/// A tuple if the computation gives a tuple, which it may with one element too.
pub(super) fn tuple_like(result: &Shape, mut shapes: Vec<Shape>) -> Shape {
    if result.as_tuple().is_none() && shapes.len() == 1 {
        shapes.remove(0)
    } else {
        Shape::tuple(shapes)
    }
}

pub(super) fn sort(module: &Module, op: &Sort, operands: &[&Shape]) -> Result<Shape> {
    let inputs = arrays(operands, "operand")?;
    let first = inputs[0];
    one_dimension(&op.dimensions, first.rank(), "(C4) `dimensions`")?;
    for input in &inputs[1..] {
        ensure!(same_sizes(input, first), "(C3) operands differ in size: `{first}` and `{input}`");
    }
    let comparator = callee(module, op.to_apply, "`to_apply`")?;
    comparator.expect_parameters(2 * inputs.len())?;
    for (number, parameter) in comparator.parameters.iter().enumerate() {
        let parameter = scalar(parameter, "(C5) each parameter of the comparator")?;
        let input = inputs[number / 2];
        ensure!(
            promote(parameter.element_type, input.element_type).is_some(),
            "(C5) parameter {number} of `{}` is `{parameter}`, but it compares elements of \
             `{input}`",
            comparator.name
        );
    }
    ensure!(
        agree(comparator.result, &Shape::scalar(ElementType::Pred)),
        "(C5) the comparator `{}` has to give `pred[]`, but gives `{}`",
        comparator.name,
        comparator.result
    );
    Ok(one_or_tuple(inputs.iter().map(|input| input.without_layout().into()).collect()))
}

pub(super) fn topk(op: &TopK, operand: &Shape) -> Result<Shape> {
    let operand = array(operand, "the operand")?;
    let Some(last) = operand.rank().checked_sub(1) else {
        return Err(error(format!("the operand has to have a dimension, but is `{operand}`")));
    };
    let (size, _) = size_of(operand, last);
    ensure!(
        op.k >= 0 && (size == ArrayShape::UNBOUNDED || op.k <= size),
        "k is {}, but the last dimension of `{operand}` has {size} elements",
        op.k
    );
    let sizes = sizes_of(operand)
        .enumerate()
        .map(|(dimension, size)| if dimension == last { (op.k, false) } else { size });
    let values = with_sizes(operand.element_type, sizes);
    let indices = values.with_element_type(ElementType::S32);
    Ok(Shape::tuple([values.into(), indices.into()]))
}

/// The shape without one dimension.
fn without(shape: &ArrayShape, dimension: usize) -> ArrayShape {
    let sizes = sizes_of(shape).enumerate().filter(|&(d, _)| d != dimension).map(|(_, s)| s);
    with_sizes(shape.element_type, sizes)
}

/// Operands are inputs, then carries; results are outputs, then carries. The computation takes a
/// slice of each input and the carries and gives a slice of each output and the carries.
pub(super) fn scan(
    module: &Module,
    op: &Scan,
    operands: &[&Shape],
    declared: Option<&Shape>,
) -> Result<Shape> {
    let callee = callee(module, op.to_apply, "`to_apply`")?;
    let roots: Vec<&Shape> = match callee.result {
        Shape::Tuple(elements) => elements.iter().collect(),
        other @ (Shape::Array(_) | Shape::Buffer(_) | Shape::Token | Shape::Opaque) => vec![other],
    };
    let carries = usize::try_from(op.num_carries).unwrap_or(usize::MAX);
    ensure!(
        carries <= operands.len() && carries <= roots.len(),
        "{} carries are asked for, but there are {} operands and {} results",
        op.num_carries,
        operands.len(),
        roots.len()
    );
    let (inputs, outputs) = (operands.len() - carries, roots.len() - carries);
    ensure!(inputs + outputs > 0, "there is neither an input nor an output");
    callee.expect_parameters(operands.len())?;
    ensure!(op.dimensions.len() == 1, "`dimensions` has to name one dimension");

    let mut size = None;
    for (number, operand) in operands[..inputs].iter().enumerate() {
        let input = array(operand, "each input")?;
        let dimension = one_dimension(&op.dimensions, input.rank(), "`dimensions`")?;
        let found = size_of(input, dimension);
        ensure!(
            same_size(found.0, size.get_or_insert(found).0),
            "input {number} has {} steps, but others have {}",
            found.0,
            size.unwrap_or(found).0
        );
        let slice = Shape::Array(without(input, dimension));
        ensure!(
            agree(&slice, callee.parameters[number]),
            "input {number} has slices `{slice}`, but parameter {number} of `{}` is `{}`",
            callee.name,
            callee.parameters[number]
        );
    }
    for carry in 0..carries {
        let (operand, parameter) = (operands[inputs + carry], callee.parameters[inputs + carry]);
        ensure!(
            agree(operand, parameter) && agree(parameter, roots[outputs + carry]),
            "carry {carry} is `{operand}`, but `{}` takes `{parameter}` and gives `{}`",
            callee.name,
            roots[outputs + carry]
        );
    }
    let size = match (size, declared) {
        (Some(size), _) => size,
        // Without inputs only the declared outputs say how many steps there are.
        (None, declared) => {
            let first = super::check::needed(declared)?;
            let first = first.as_tuple().and_then(<[Shape]>::first).unwrap_or(first);
            let first = array(first, "each output")?;
            size_of(first, one_dimension(&op.dimensions, first.rank(), "`dimensions`")?)
        }
    };
    let mut results = Vec::with_capacity(roots.len());
    for root in &roots[..outputs] {
        let slice = array(root, "each output's slice")?;
        let at = one_dimension(&op.dimensions, slice.rank() + 1, "`dimensions`")?;
        let mut sizes: Vec<_> = sizes_of(slice).collect();
        sizes.insert(at, size);
        results.push(with_sizes(slice.element_type, sizes).into());
    }
    results.extend(roots[outputs..].iter().map(|&root| root.clone()));
    Ok(tuple_like(callee.result, results))
}
