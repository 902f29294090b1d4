//! The attributes of the module header.

use rxla_base::Diagnostic;

use super::{MissingLayouts, Parse, Parser};
use crate::text::lexer::TokenKind;
use crate::text::nearest::nearest;
use crate::{
    AliasKind, BufferDonor, ComputationLayout, InputOutputAlias, OriginRecovery, OriginalArray,
};

const NAMES: [&str; 11] = [
    "is_scheduled",
    "replica_count",
    "num_partitions",
    "input_output_alias",
    "buffer_donor",
    "alias_passthrough_params",
    "entry_computation_layout",
    "frontend_attributes",
    "allow_spmd_sharding_propagation_to_parameters",
    "allow_spmd_sharding_propagation_to_output",
    "origin_recovery_table",
];

impl Parser<'_> {
    /// `, name=value, …` after the module's name.
    pub(super) fn header_attributes(&mut self) -> Parse<()> {
        let mut given: Vec<&str> = Vec::new();
        while self.eat(TokenKind::Comma) {
            let (name, span) = self.attribute_name()?;
            if given.contains(&name) {
                return Err(self.error(span, format!("attribute `{name}` is given twice")));
            }
            given.push(name);
            match name {
                "is_scheduled" => self.module.config.is_scheduled = self.boolean()?,
                "replica_count" => self.module.config.replica_count = self.integer()?,
                "num_partitions" => self.module.config.num_partitions = self.integer()?,
                "input_output_alias" => {
                    self.module.config.input_output_alias = self.input_output_alias()?;
                }
                "buffer_donor" => self.module.config.buffer_donors = self.buffer_donors()?,
                "alias_passthrough_params" => {
                    self.module.config.alias_passthrough_params = self.boolean()?;
                }
                "entry_computation_layout" => {
                    let layout = self.computation_layout()?;
                    self.module.config.entry_computation_layout = Some(layout);
                }
                "frontend_attributes" => {
                    self.module.config.frontend_attributes = self.frontend_attributes()?;
                }
                "allow_spmd_sharding_propagation_to_parameters" => {
                    let list = self.booleans()?;
                    self.module.config.allow_spmd_sharding_propagation_to_parameters = list;
                }
                "allow_spmd_sharding_propagation_to_output" => {
                    let list = self.booleans()?;
                    self.module.config.allow_spmd_sharding_propagation_to_output = list;
                }
                "origin_recovery_table" => {
                    self.module.config.origin_recovery_table = self.origin_recovery_table()?;
                }
                _ => {
                    let mut warning =
                        Diagnostic::warning(format!("unknown module attribute `{name}`")).at(span);
                    if let Some(near) = nearest(name, NAMES) {
                        warning = warning.hint(format!("did you mean `{near}`?"));
                    }
                    self.warn(warning);
                    let value = self.unknown_value()?;
                    self.module.config.unknown_attributes.push((name.to_owned(), value));
                }
            }
        }
        Ok(())
    }

    fn input_output_alias(&mut self) -> Parse<Vec<InputOutputAlias>> {
        let mut list = Vec::new();
        self.braced(|parser| {
            let output_index = parser.index_path()?;
            parser.expect(TokenKind::Colon)?;
            parser.expect(TokenKind::LeftParen)?;
            let parameter = parser.integer()?;
            parser.expect(TokenKind::Comma)?;
            let parameter_index = parser.index_path()?;
            let mut kind = AliasKind::May;
            if parser.eat(TokenKind::Comma) {
                let span = parser.token.span();
                kind = match parser.word("`may-alias` or `must-alias`")? {
                    "may-alias" => AliasKind::May,
                    "must-alias" => AliasKind::Must,
                    other => {
                        let known = ["may-alias", "must-alias"];
                        return Err(parser.unknown_word("kind of alias", other, span, known));
                    }
                };
            }
            parser.expect(TokenKind::RightParen)?;
            list.push(InputOutputAlias { output_index, parameter, parameter_index, kind });
            Ok(())
        })?;
        Ok(list)
    }

    fn buffer_donors(&mut self) -> Parse<Vec<BufferDonor>> {
        let mut list = Vec::new();
        self.braced(|parser| {
            parser.expect(TokenKind::LeftParen)?;
            let parameter = parser.integer()?;
            parser.expect(TokenKind::Comma)?;
            let parameter_index = parser.index_path()?;
            parser.expect(TokenKind::RightParen)?;
            list.push(BufferDonor { parameter, parameter_index });
            Ok(())
        })?;
        Ok(list)
    }

    /// `{(f32[2]{0}, s32[])->f32[2]{0}}`.
    fn computation_layout(&mut self) -> Parse<ComputationLayout> {
        let missing = if self.options.keep_auto_entry_layouts {
            MissingLayouts::Keep
        } else {
            MissingLayouts::RowMajor
        };
        self.expect(TokenKind::LeftBrace)?;
        let mut parameters = Vec::new();
        self.list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
            parameters.push(parser.shape_with(missing)?);
            Ok(())
        })?;
        self.expect(TokenKind::Arrow)?;
        let result = self.shape_with(missing)?;
        self.expect(TokenKind::RightBrace)?;
        Ok(ComputationLayout { parameters, result })
    }

    /// `true` or `{true,false}`.
    fn booleans(&mut self) -> Parse<Vec<bool>> {
        if !self.at(TokenKind::LeftBrace) {
            return Ok(vec![self.boolean()?]);
        }
        let mut list = Vec::new();
        self.braced(|parser| {
            list.push(parser.boolean()?);
            Ok(())
        })?;
        Ok(list)
    }

    fn origin_recovery_table(&mut self) -> Parse<Vec<OriginRecovery>> {
        let mut table = Vec::new();
        self.expect(TokenKind::LeftBrace)?;
        while !self.eat(TokenKind::RightBrace) {
            let old = self.original_array()?.unwrap_or_else(OriginalArray::default);
            self.expect(TokenKind::Colon)?;
            let new = self.original_array()?.unwrap_or_else(OriginalArray::default);
            let recovery_module =
                if self.eat(TokenKind::Comma) { self.string()? } else { String::new() };
            table.push(OriginRecovery { old, new, recovery_module });
        }
        Ok(table)
    }

    /// The text of a value that nobody knows: up to a comma or closing bracket outside of
    /// brackets, or to the end of the line there. Comments and line ends become spaces.
    pub(super) fn unknown_value(&mut self) -> Parse<String> {
        let open = self.token.span();
        let mut value = String::new();
        let mut depth = 0usize;
        loop {
            match self.token.kind {
                TokenKind::End if depth == 0 => break,
                TokenKind::End => return Err(self.error(open, "the value does not end")),
                TokenKind::Unterminated | TokenKind::Unknown => {
                    return Err(self.unexpected("a value"));
                }
                TokenKind::Comma if depth == 0 => break,
                TokenKind::LeftBrace | TokenKind::LeftParen | TokenKind::LeftSquare => depth += 1,
                TokenKind::RightBrace | TokenKind::RightParen | TokenKind::RightSquare => {
                    match depth.checked_sub(1) {
                        Some(less) => depth = less,
                        None => break,
                    }
                }
                _ => {}
            }
            value.push_str(self.take());
            let between = &self.source[self.last_end..self.token.start];
            if depth == 0 && between.contains('\n') {
                break;
            }
            let is_plain = between.bytes().all(|byte| byte == b' ');
            value.push_str(if is_plain { between } else { " " });
        }
        value.truncate(value.trim_end_matches(' ').len());
        if value.is_empty() {
            return Err(self.unexpected("a value"));
        }
        Ok(value)
    }
}
