//! Modules as text, run on literals.

use rxla_base::Result;
use rxla_hlo::text::{ParseOptions, parse};
use rxla_hlo::{ArrayLiteral, Literal, Module};
use rxla_interpreter::{Options, evaluate};

/// The module that the text says; it must be valid.
pub(crate) fn module(text: &str) -> Module {
    let parsed = parse(text, &ParseOptions::default());
    let module = parsed.unwrap_or_else(|errors| panic!("{errors:#?}\n{text}")).module;
    let findings = rxla_hlo::verify(&module);
    assert!(findings.is_empty(), "{findings:#?}\n{text}");
    module
}

pub(crate) fn try_run(text: &str, arguments: Vec<Literal>) -> Result<Literal> {
    evaluate(&module(text), arguments, &Options::default())
}

pub(crate) fn run(text: &str, arguments: Vec<Literal>) -> Literal {
    try_run(text, arguments).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The elements of an array result as text, as HLO writes them.
pub(crate) fn elements(value: &Literal) -> String {
    fn print(array: &ArrayLiteral) -> String {
        let mut out = String::new();
        for index in 0..array.len() {
            if index > 0 {
                out.push(' ');
            }
            array.print_element(index, &mut out);
        }
        out
    }
    match value {
        Literal::Array(array) => print(array),
        Literal::Tuple(elements) => {
            elements.iter().map(self::elements).collect::<Vec<_>>().join("; ")
        }
        Literal::Token => "token".to_owned(),
    }
}

/// Runs an entry of constants and compares the elements of its result.
pub(crate) fn expect(text: &str, expected: &str) {
    assert_eq!(elements(&run(text, vec![])), expected, "{text}");
}
