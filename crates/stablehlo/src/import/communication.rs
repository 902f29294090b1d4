//! Tokens, infeed and outfeed, send and receive.

use rxla_hlo::op::{AfterAll, Infeed, Outfeed, Recv, RecvDone, Send, SendDone};
use rxla_hlo::{ElementType, InstructionId, Shape};

use super::attributes::View;
use super::importer::{Importer, Result, one_or_tuple_shape};
use crate::mlir::Attribute;

/// The number of the channel in `channel_handle`, if it has one.
pub(super) fn channel(view: View<'_>) -> Result<Option<i64>> {
    match view.get("channel_handle") {
        None => Ok(None),
        Some(Attribute::ChannelHandle { handle, .. }) => Ok((*handle > 0).then_some(*handle)),
        Some(_) => Err(view.wrong("channel_handle", "a channel handle")),
    }
}

/// `stablehlo.after_all` and `stablehlo.create_token`.
pub(super) fn after_all<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let instruction = cx.add(AfterAll {}, Shape::Token, &operands);
    cx.finish(view, instruction)
}

/// The values and the token that follows them among the operands.
fn with_token<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
) -> Result<(Vec<InstructionId>, InstructionId)> {
    let mut operands = cx.operands(view)?;
    match operands.pop() {
        Some(token) if cx.shape(token) == &Shape::Token => Ok((operands, token)),
        _ => Err(view.error("has no token as its last operand")),
    }
}

/// Binds the parts of a pair of data and token to results that end with the token. Data of one
/// value is that value, unless `tupled` says that it is a tuple all the same.
fn finish_pair<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    pair: InstructionId,
    data_form: DataForm,
) -> Result {
    cx.mark_sharding(view, pair)?;
    let data = cx.get_tuple_element(pair, 0);
    let token = cx.get_tuple_element(pair, 1);
    let (&last, values) = view
        .op
        .results
        .split_last()
        .ok_or_else(|| view.error("has no token as its last result"))?;
    for (index, &result) in values.iter().enumerate() {
        let part = match (values.len(), data_form) {
            (1, DataForm::OneOrTuple) => data,
            _ => cx.get_tuple_element(data, index),
        };
        cx.bind(result, part);
    }
    cx.bind(last, token);
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DataForm {
    OneOrTuple,
    Tuple,
}

/// Shapes of all results but the token at the end.
fn data_shapes(view: View<'_>) -> Result<Vec<Shape>> {
    let mut shapes = view.result_shapes()?;
    match shapes.pop() {
        Some(Shape::Token) => Ok(shapes),
        _ => Err(view.error("has no token as its last result")),
    }
}

/// `stablehlo.infeed`.
pub(super) fn infeed<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [token] = cx.exactly(view)?;
    let data = Shape::tuple(data_shapes(view)?);
    let infeed_config = config(view, "infeed_config")?;
    let shape = Shape::tuple([data, Shape::Token]);
    let instruction = cx.add(Infeed { infeed_config }, shape, &[token]);
    finish_pair(cx, view, instruction, DataForm::Tuple)
}

fn config(view: View<'_>, name: &str) -> Result<Vec<u8>> {
    match view.get(name) {
        None => Ok(Vec::new()),
        Some(Attribute::String(text)) => Ok(text.as_bytes().to_vec()),
        Some(_) => Err(view.wrong(name, "a string")),
    }
}

/// `stablehlo.outfeed`.
pub(super) fn outfeed<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let (values, token) = with_token(cx, view)?;
    let data = cx.tuple(&values);
    let op = Outfeed {
        outfeed_shape: Some(cx.shape(data).with_default_layout()),
        outfeed_config: config(view, "outfeed_config")?,
    };
    let instruction = cx.add(op, Shape::Token, &[data, token]);
    cx.finish(view, instruction)
}

/// `stablehlo.send`: the start and its end at once.
pub(super) fn send<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let (values, token) = with_token(cx, view)?;
    let channel_id = channel(view)?;
    let is_host_transfer = view.bool_or("is_host_transfer", false)?;
    let data = cx.one_or_tuple(&values);
    let in_flight =
        Shape::tuple([cx.logical_shape(data), Shape::scalar(ElementType::U32), Shape::Token]);
    let start = cx.add(Send { channel_id, is_host_transfer }, in_flight, &[data, token]);
    cx.mark_sharding(view, start)?;
    let done = cx.add(SendDone { channel_id, is_host_transfer }, Shape::Token, &[start]);
    cx.finish(view, done)
}

/// `stablehlo.recv`.
pub(super) fn recv<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [token] = cx.exactly(view)?;
    let channel_id = channel(view)?;
    let is_host_transfer = view.bool_or("is_host_transfer", false)?;
    let data = one_or_tuple_shape(data_shapes(view)?);
    let in_flight = Shape::tuple([data.clone(), Shape::scalar(ElementType::U32), Shape::Token]);
    let start = cx.add(Recv { channel_id, is_host_transfer }, in_flight, &[token]);
    let pair = Shape::tuple([data, Shape::Token]);
    let done = cx.add(RecvDone { channel_id, is_host_transfer }, pair, &[start]);
    finish_pair(cx, view, done, DataForm::OneOrTuple)
}

/// `stablehlo.async_start`: the operation inside is done at once, and the future is the tuple of
/// its results.
pub(super) fn async_start<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let block = view.block(0)?;
    let results = cx.inline_block(view, block, &operands)?;
    let future = cx.tuple(&results);
    cx.finish(view, future)
}

/// `stablehlo.async_done`.
pub(super) fn async_done<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [future] = cx.exactly(view)?;
    let count = cx.shape(future).as_tuple().map(<[Shape]>::len);
    if count != Some(view.op.results.len()) {
        return Err(view.error(format_args!(
            "has {} results, but the future is `{}`",
            view.op.results.len(),
            cx.shape(future)
        )));
    }
    for (index, &result) in view.op.results.iter().enumerate() {
        let part = cx.get_tuple_element(future, index);
        cx.bind(result, part);
    }
    Ok(())
}
