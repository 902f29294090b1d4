//! The dialect `check` of StableHLO's test suites: operations that compare a value with what is
//! expected become custom calls with two operands, such as `check.expect_eq`, with the tolerance
//! as configuration.

use rxla_hlo::op::CustomCall;
use rxla_hlo::{Op, Shape};

use super::attributes::View;
use super::importer::{Importer, Result};
use super::literals::constant_of;

/// Every operation of the dialect; in those that end in `_const` the expected value is an
/// attribute.
pub(super) fn expect<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let (target, expected) = match view.name.strip_suffix("_const") {
        Some(target) => {
            view.expect_operands(1)?;
            let actual = cx.operand(view, 0)?;
            let shape = cx.logical_shape(actual);
            (target, constant_of(cx, view, view.require("value")?, &shape)?)
        }
        None => {
            view.expect_operands(2)?;
            (view.name, cx.operand(view, 1)?)
        }
    };
    let actual = cx.operand(view, 0)?;
    let backend_config = if view.get("tolerance").is_some() {
        view.float("tolerance")?.to_string()
    } else if view.get("max_ulp_difference").is_some() {
        view.integer("max_ulp_difference")?.to_string()
    } else {
        String::new()
    };
    let op = CustomCall {
        custom_call_target: target.to_owned(),
        custom_call_has_side_effect: true,
        ..CustomCall::default()
    };
    let call = cx.add(Op::CustomCall(Box::new(op)), Shape::nil(), &[actual, expected]);
    if !backend_config.is_empty() {
        cx.module[call].info_mut().backend_config = backend_config;
    }
    view.expect_results(0)
}
