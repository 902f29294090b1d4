//! `// test: run`: evaluates the module with the interpreter on the literals of `// input:` lines,
//! one a parameter, and prints the result. Compiled code has to give the same, but for the last
//! places of floats; where nothing is compiled, `// interpreted:` says why.

use std::sync::Arc;

use rxla_base::{Code, Error, render_all};
use rxla_hlo::literal::{Tolerance, compare};
use rxla_hlo::text::{parse_literal, print_literal};
use rxla_hlo::{Literal, Module, Shape};
use rxla_interpreter::{Options, evaluate};

use crate::{Case, print};

pub(crate) fn run(case: &Case) -> Result<String, String> {
    let module = print::module(case)?;
    let findings = rxla_hlo::verify(&module);
    if !findings.is_empty() {
        return Err(render_all(&findings, None));
    }
    let arguments = case
        .values("input")
        .iter()
        .map(|text| parse_literal(text).map_err(|errors| render_all(&errors, None)))
        .collect::<Result<Vec<_>, _>>()?;
    let parameters = module[module.entry()].parameters().len();
    if arguments.len() != parameters {
        return Err(format!(
            "the entry has {parameters} parameters, but there are {} lines `// input:`",
            arguments.len()
        ));
    }
    let module = Arc::new(module);
    let interpreted = evaluate(&module, arguments.clone(), &Options::default());
    match (compiled(&module, arguments, &Default::default()), &case.values("interpreted")[..]) {
        (Err(error), []) if error.code == Code::Unimplemented => return Err(error.to_string()),
        (Err(error), _) if error.code == Code::Unimplemented => {}
        (_, [_, ..]) => return Err("it is compiled, unlike the file says".to_owned()),
        (compiled, []) => agree(&interpreted, &compiled)?,
    }
    let found = match interpreted {
        Ok(result) => print_literal(&result),
        Err(error) => format!("error {}: {error}", error.code.name()),
    };
    Ok(case.with_expectation(&found))
}

/// What compiled code makes of it; an `UNIMPLEMENTED` error if it is not compiled.
pub fn compiled(
    module: &Arc<Module>,
    arguments: Vec<Literal>,
    options: &rxla_cpu::Options,
) -> Result<Literal, Error> {
    let shape = module[module[module.entry()].root()].shape.clone();
    let executable = rxla_cpu::compile(module, &options.clone().with_subnormals())?;
    let leaves = executable.run(arguments, Options::default)?;
    Ok(tree(&shape, &mut leaves.into_iter()))
}

/// Whether compiled code does what the interpreter does.
pub fn agree(
    interpreted: &Result<Literal, Error>,
    compiled: &Result<Literal, Error>,
) -> Result<(), String> {
    match (interpreted, compiled) {
        (Ok(expected), Ok(found)) => compare(expected, found, Tolerance::within_ulps(16))
            .map(|_| ())
            .map_err(|difference| format!("compiled: {difference}")),
        (Err(expected), Err(found)) if expected.code == found.code => Ok(()),
        (Err(expected), Err(found)) => {
            Err(format!("compiled: {found}\n  where the interpreter says {expected}"))
        }
        (Ok(_), Err(found)) => Err(format!("compiled: {found}")),
        (Err(expected), Ok(_)) => {
            Err(format!("compiled code runs where the interpreter says {expected}"))
        }
    }
}

/// A value of a shape from its leaves in order.
fn tree(shape: &Shape, leaves: &mut impl Iterator<Item = Literal>) -> Literal {
    match shape {
        Shape::Tuple(elements) => {
            Literal::Tuple(elements.iter().map(|element| tree(element, leaves)).collect())
        }
        _ => leaves.next().unwrap_or(Literal::Token),
    }
}
