//! Attributes that every instruction can have.

use rxla_base::Diagnostic;

use super::instruction::Draft;
use super::{Failed, Parse, Parser};

/// Their names, to suggest from.
pub(super) const NAMES: [&str; 8] = [
    "sharding",
    "frontend_attributes",
    "statistics",
    "parameter_replication",
    "control-predecessors",
    "origin",
    "metadata",
    "backend_config",
];

impl<'a> Parser<'a> {
    /// Parses the attribute if it is one that every instruction can have.
    pub(super) fn common_attribute(&mut self, draft: &mut Draft<'a>, name: &str) -> Parse<bool> {
        match name {
            "sharding" => draft.info().sharding = Some(self.sharding()?),
            "frontend_attributes" => {
                draft.info().frontend_attributes = self.frontend_attributes()?;
            }
            "statistics" => draft.info().statistics = Some(self.statistics()?),
            "parameter_replication" => {
                let mut list = Vec::new();
                self.braced(|parser| {
                    list.push(parser.boolean()?);
                    Ok(())
                })?;
                draft.info().parameter_replication = list;
            }
            "control-predecessors" => self.control_predecessors(draft)?,
            // Texts of a short time in 2024 had the longer name.
            "origin" | "original_value" => {
                draft.info().original_value = Some(self.original_value()?);
            }
            "metadata" => draft.info().metadata = self.metadata()?,
            "backend_config" => draft.info().backend_config = self.string_or_dictionary()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn control_predecessors(&mut self, draft: &mut Draft<'a>) -> Parse<()> {
        self.braced(|parser| {
            let span = parser.token.span();
            let name = parser.name("the name of an instruction")?;
            match parser.scope().names.get(name).copied() {
                Some(Some(instruction)) => draft.control_predecessors.push(instruction),
                Some(None) => return Err(Failed),
                None => {
                    let message =
                        format!("no instruction before this one is named `{name}` to wait for");
                    return Err(parser.report(Diagnostic::error(message).at(span)));
                }
            }
            Ok(())
        })
    }
}
