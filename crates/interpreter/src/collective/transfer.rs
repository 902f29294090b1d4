//! `send`, `recv`, `infeed` and `outfeed`: values that go to one other device or to the host.
//!
//! Between devices a transfer names its pairs of source and target in the frontend attribute
//! `_xla_send_recv_source_target_pairs`; without it a device sends to itself.

use rxla_base::{Error, Result};
use rxla_hlo::op::{Infeed, Outfeed, Recv, Send};
use rxla_hlo::{InstructionId, Literal, Shape};

use super::rendezvous::Route;
use crate::context::{Context, place};
use crate::lift::take;
use crate::options::Host;

const PAIRS: &str = "_xla_send_recv_source_target_pairs";

fn host<'a>(cx: &'a Context<'_>) -> Result<&'a dyn Host> {
    let host = cx.options.host.as_deref();
    host.ok_or_else(|| Error::unimplemented("a transfer with the host, where there is none"))
}

/// The result is the data, a context and a token; the data has gone.
pub(crate) fn send(
    cx: &Context<'_>,
    id: InstructionId,
    op: &Send,
    operands: Vec<Literal>,
) -> Result<Literal> {
    let [value, _token] = take(operands)?;
    if op.is_host_transfer {
        host(cx)?.send(cx.device, op.channel_id, value.clone())?;
    } else {
        let (number, pairs) = peers(cx, id)?;
        for (_, to) in pairs.into_iter().filter(|&(from, _)| from == number) {
            let route = Route { channel: op.channel_id.unwrap_or(0), from: number, to };
            cx.collectives.send(route, value.clone());
        }
    }
    Ok(Literal::Tuple(vec![value, Literal::scalar(0u32), Literal::Token]))
}

/// What was sent is on its way: the token follows.
pub(crate) fn send_done() -> Literal {
    Literal::Token
}

/// The result is the data, a context and a token. Here the data is not yet there; `recv-done`
/// waits for it.
pub(crate) fn recv(cx: &Context<'_>, id: InstructionId, op: &Recv) -> Result<Literal> {
    let Some(Shape::Array(shape)) = cx.module[id].shape.as_tuple().and_then(<[Shape]>::first)
    else {
        return Err(Error::unimplemented("`recv` of what is no array"));
    };
    let value = if op.is_host_transfer {
        host(cx)?.recv(cx.device, op.channel_id, &Shape::Array(shape.without_layout()))?
    } else {
        Literal::zeros(&Shape::Array(shape.without_layout()))?
    };
    Ok(Literal::Tuple(vec![value, Literal::scalar(0u32), Literal::Token]))
}

/// The data and a token. A device that is nobody's target gets zeros.
pub(crate) fn recv_done(
    cx: &Context<'_>,
    id: InstructionId,
    operands: Vec<Literal>,
) -> Result<Literal> {
    let recv = cx.module[id].operands()[0];
    let [Literal::Tuple(mut parts)] = take::<1, _>(operands)? else {
        return Err(Error::invalid_argument("the operand of `recv-done` is no `recv`"));
    };
    let rxla_hlo::Op::Recv(op) = &cx.module[recv].op else {
        return Err(Error::unimplemented("`recv-done` apart from its `recv`"));
    };
    let mut value = parts.swap_remove(0);
    if !op.is_host_transfer {
        let (number, pairs) = peers(cx, recv)?;
        if let Some((from, to)) = pairs.into_iter().find(|&(_, to)| to == number) {
            let route = Route { channel: op.channel_id.unwrap_or(0), from, to };
            value = cx.collectives.receive(route, &place(cx.module, id))?;
        }
    }
    Ok(Literal::Tuple(vec![value, Literal::Token]))
}

/// This device's number and all pairs of source and target.
fn peers(cx: &Context<'_>, id: InstructionId) -> Result<(usize, Vec<(usize, usize)>)> {
    let number = cx.collectives.number(cx.device);
    let attributes = cx.module[id].info().map(|info| &info.frontend_attributes);
    let Some(text) = attributes.and_then(|attributes| attributes.get(PAIRS)) else {
        return Ok((number, vec![(number, number)]));
    };
    let numbers: Option<Vec<usize>> = text
        .split(['{', '}', ',', ' '])
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().ok())
        .collect();
    match numbers {
        Some(numbers) if numbers.len() % 2 == 0 => {
            Ok((number, numbers.chunks(2).map(|pair| (pair[0], pair[1])).collect()))
        }
        _ => Err(Error::invalid_argument(format!("`{PAIRS}` is `{text}`"))),
    }
}

/// The data and a token.
pub(crate) fn infeed(cx: &Context<'_>, op: &Infeed, shape: &Shape) -> Result<Literal> {
    let Some([data, _token]) = shape.as_tuple() else {
        return Err(Error::invalid_argument(format!("`infeed` gives `{shape}`")));
    };
    let value = host(cx)?.infeed(cx.device, &data.without_layout(), &op.infeed_config)?;
    Ok(Literal::Tuple(vec![value, Literal::Token]))
}

pub(crate) fn outfeed(cx: &Context<'_>, op: &Outfeed, operands: Vec<Literal>) -> Result<Literal> {
    let [value, _token] = take(operands)?;
    host(cx)?.outfeed(cx.device, value, &op.outfeed_config)?;
    Ok(Literal::Token)
}
