//! Pretty forms that `formats` lists piece by piece, from text.

use std::sync::Arc;

use rxla_base::Diagnostic;

use super::cursor::Result;
use super::formats::{Piece, Syntax, Types};
use super::operations::Reading;
use super::parser::Parser;
use super::regions::Argument;
use crate::mlir::{
    Attribute, ByteString, DotDimensionNumbers, Float, NamedAttribute, SdyAttribute, Type,
    dictionary,
};

impl<'a> Parser<'a> {
    pub(super) fn pieces(
        &mut self,
        reading: &mut Reading<'a>,
        pieces: &'static [Piece],
    ) -> Result<()> {
        for &piece in pieces {
            self.piece(reading, piece)?;
        }
        Ok(())
    }

    fn piece(&mut self, reading: &mut Reading<'a>, piece: Piece) -> Result<()> {
        match piece {
            Piece::Text(text) => self.fixed_text(text),
            Piece::Operand(_) => {
                let operand = self.value_use()?;
                reading.operands.push(operand);
                Ok(())
            }
            Piece::Operands(_) => self.operands_with_commas_between(reading),
            Piece::OperandsWithCommas(_) => {
                while self.sees("%") {
                    let operand = self.value_use()?;
                    reading.operands.push(operand);
                    self.expect(",")?;
                }
                Ok(())
            }
            Piece::Attribute(name, syntax) => self.attribute_piece(reading, name, syntax),
            Piece::Optional(text, name, syntax) => {
                if self.sees_fixed_text(text, syntax) {
                    self.fixed_text(text)?;
                    self.attribute_piece(reading, name, syntax)?;
                }
                Ok(())
            }
            Piece::Dictionary => self.attribute_dictionary(reading),
            Piece::Types(types) => {
                self.expect(":")?;
                self.types(reading, types)
            }
            Piece::TypesIfAny(types) => {
                if self.eat(":") {
                    self.types(reading, types)
                } else {
                    Ok(())
                }
            }
            Piece::TypesOfAttribute(name) => self.types_of_attribute(reading, name),
            Piece::OperandsAndTypes => {
                if self.eat("(") {
                    return self.expect(")");
                }
                if !self.sees("%") {
                    return Ok(());
                }
                self.operands_with_commas_between(reading)?;
                self.expect(":")?;
                self.types(reading, Types::Pairwise)
            }
            Piece::SliceRanges => self.slice_ranges(reading),
            Piece::DotDimensions => self.dot_dimensions(reading),
            Piece::Precision => self.precision_and_algorithm(reading),
            Piece::PrecisionAndAlgorithm => self.precision_and_algorithm(reading),
            Piece::Window => self.window(reading),
            Piece::ExponentMantissa => self.exponent_mantissa(reading),
            Piece::Regions => {
                if !self.eat("(") {
                    return Ok(());
                }
                loop {
                    let region = self.new_region(reading.op);
                    self.region(region, &reading.name.clone(), Vec::new())?;
                    if !self.eat(",") {
                        return self.expect(")");
                    }
                }
            }
            Piece::RegionWithArguments => {
                let arguments = self.list("(", ")", |parser| parser.block_argument())?;
                let region = self.new_region(reading.op);
                self.region(region, &reading.name.clone(), arguments)
            }
        }
    }

    /// Words and punctuation as in the format, with any space between.
    fn fixed_text(&mut self, text: &'static str) -> Result<()> {
        for token in tokens(text) {
            if token.starts_with(|c: char| c.is_ascii_alphabetic()) {
                self.expect_keyword(token)?;
            } else {
                self.expect(token)?;
            }
        }
        Ok(())
    }

    /// Whether the optional text stands next. A lone comma does not tell: then it is one if more
    /// than a value could follow. Text without words tells by what its attribute starts with.
    fn sees_fixed_text(&mut self, text: &'static str, syntax: Syntax) -> bool {
        let mut ahead = (**self).clone();
        for token in tokens(text) {
            let seen = match token.starts_with(|c: char| c.is_ascii_alphabetic()) {
                true => ahead.eat_word(token),
                false => ahead.eat(token),
            };
            if !seen {
                return false;
            }
        }
        match syntax {
            Syntax::Names(names) => names.contains(&ahead.peek_word()),
            _ => true,
        }
    }

    fn operands_with_commas_between(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        if !self.sees("%") {
            return Ok(());
        }
        loop {
            let operand = self.value_use()?;
            reading.operands.push(operand);
            if !self.eat(",") {
                return Ok(());
            }
        }
    }

    fn attribute_piece(
        &mut self,
        reading: &mut Reading<'a>,
        name: &str,
        syntax: Syntax,
    ) -> Result<()> {
        let value = match syntax {
            Syntax::I64 => self.typed_number(Type::I64)?,
            Syntax::I32 => self.typed_number(Type::I32)?,
            Syntax::U32 => self.typed_number(Type::unsigned(32))?,
            Syntax::U64 => self.typed_number(Type::unsigned(64))?,
            Syntax::F64 => self.typed_number(Type::Float(Float::F64))?,
            Syntax::Bool => Attribute::Bool(self.boolean()?),
            Syntax::String => Attribute::String(self.string()?.into()),
            Syntax::Target | Syntax::SymbolName => Attribute::String(self.symbol_name()?),
            Syntax::I64Array => Attribute::i64_array(self.integers_or_array()?),
            Syntax::Enum(dialect, kind) => self.enum_value(dialect, kind)?,
            Syntax::Convolution => {
                Attribute::ConvDimensionNumbers(Arc::new(self.convolution_dimensions()?))
            }
            Syntax::Sdy(kind) => {
                let span = self.span_from(self.offset());
                Attribute::sdy(self.sdy_attribute(kind, span)?)
            }
            Syntax::SdyShardings => {
                Attribute::sdy(SdyAttribute::TensorShardingPerValue(self.sdy_shardings()?))
            }
            Syntax::Names(names) => {
                let word = self.peek_word();
                let Some(index) = names.iter().position(|name| *name == word) else {
                    return Err(self.unexpected(&format!("one of {}", names.join(", "))));
                };
                self.word();
                Attribute::i32(index as i32)
            }
            Syntax::Any => self.attribute()?,
        };
        reading.set(name, value);
        Ok(())
    }

    fn typed_number(&mut self, ty: Type) -> Result<Attribute> {
        let number = self.number()?;
        self.number_attribute(number, ty)
    }

    /// `[1, 2]`, or `array<i64: 1, 2>` as some older texts have it.
    fn integers_or_array(&mut self) -> Result<Vec<i64>> {
        if self.peek_word() != "array" {
            return self.integer_list();
        }
        let start = self.offset();
        let attribute = self.attribute()?;
        match attribute.as_i64_array() {
            Some(values) => Ok(values.to_vec()),
            None => {
                let span = self.span_from(start);
                Err(self.error(span, "expected integers of type `i64`"))
            }
        }
    }

    fn types_of_attribute(&mut self, reading: &mut Reading<'a>, name: &str) -> Result<()> {
        let value = reading.attributes.iter().find(|a| a.name == *name).map(|a| &a.value);
        let Some(ty) = value.and_then(elements_type) else {
            let message = format!("`{}` needs elements of a tensor", reading.name);
            return Err(self.error(reading.name_span, message));
        };
        reading.operand_types = vec![ty.clone(); reading.operands.len()];
        Ok(())
    }

    /// The types that stand after the colon, and those that follow from them.
    fn types(&mut self, reading: &mut Reading<'a>, types: Types) -> Result<()> {
        self.skip_space();
        let start = self.offset();
        let count = reading.operands.len();
        if let Types::Functional = types {
            return self.functional_types(reading);
        }
        if let Types::Select = types {
            return self.select_types(reading);
        }
        if let Types::Results | Types::Operands | Types::Pairwise | Types::Arrow = types {
            return self.listed_types(reading, types);
        }
        let ty = self.ty()?;
        let span = self.span_from(start);
        if let Types::Cast = types {
            self.expect_keyword("to")?;
            reading.operand_types = vec![ty; count];
            reading.result_types = vec![self.ty()?];
            return Ok(());
        }
        if let (Types::Same | Types::Complex, Some(function)) = (types, ty.as_function()) {
            reading.operand_types = function.inputs.clone();
            reading.result_types = function.results.clone();
            return Ok(());
        }
        reading.operand_types = match types {
            Types::Tuple => match &ty {
                Type::Tuple(members) => members.to_vec(),
                _ => return Err(self.error(span, "expected a tuple type")),
            },
            Types::Complex => match real_type(&ty) {
                Some(part) => vec![part; count],
                None => return Err(self.error(span, "expected a tensor of complex elements")),
            },
            _ => vec![ty.clone(); count],
        };
        if !matches!(types, Types::Common) {
            reading.result_types = vec![ty];
        }
        Ok(())
    }

    fn listed_types(&mut self, reading: &mut Reading<'a>, types: Types) -> Result<()> {
        let listed = self.type_list()?;
        match types {
            Types::Results => reading.result_types = listed,
            Types::Operands => reading.operand_types = listed,
            Types::Arrow => {
                // `(a, b) -> c` has been read as a function type.
                if let [ty] = &listed[..]
                    && let Some(function) = ty.as_function()
                    && !self.sees("->")
                {
                    reading.operand_types = function.inputs.clone();
                    reading.result_types = function.results.clone();
                    return Ok(());
                }
                self.expect("->")?;
                reading.operand_types = listed;
                reading.result_types = self.result_types()?;
            }
            _ => {
                reading.operand_types = listed.clone();
                reading.result_types = listed;
            }
        }
        Ok(())
    }

    /// `predicate, rest`, or the functional form.
    fn select_types(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        let start = self.offset();
        let listed = self.type_list()?;
        match &listed[..] {
            [ty] if ty.as_function().is_some() => {
                self.move_to(start);
                self.functional_types(reading)
            }
            [predicate, rest] => {
                reading.operand_types = vec![predicate.clone(), rest.clone(), rest.clone()];
                reading.result_types = vec![rest.clone()];
                Ok(())
            }
            _ => {
                let span = self.span_from(start);
                Err(self.error(span, "expected the predicate's type and that of the rest"))
            }
        }
    }

    /// `0:4, 0:8:2`, inside of brackets that are read elsewhere.
    fn slice_ranges(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        let (mut starts, mut limits, mut strides) = (Vec::new(), Vec::new(), Vec::new());
        while !self.sees("]") {
            if !starts.is_empty() {
                self.expect(",")?;
            }
            starts.push(self.integer()?);
            self.expect(":")?;
            limits.push(self.integer()?);
            strides.push(if self.eat(":") { self.integer()? } else { 1 });
        }
        reading.set("start_indices", Attribute::i64_array(starts));
        reading.set("limit_indices", Attribute::i64_array(limits));
        reading.set("strides", Attribute::i64_array(strides));
        Ok(())
    }

    /// `batching_dims = [0] x [0], contracting_dims = [2] x [1]`.
    fn dot_dimensions(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        let mut numbers = DotDimensionNumbers::default();
        if self.eat_word("batching_dims") {
            (numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions) =
                self.dimension_pair()?;
            self.expect(",")?;
        }
        self.expect_keyword("contracting_dims")?;
        (numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions) =
            self.dimension_pair()?;
        reading.set("dot_dimension_numbers", Attribute::DotDimensionNumbers(Arc::new(numbers)));
        Ok(())
    }

    fn dimension_pair(&mut self) -> Result<(Vec<i64>, Vec<i64>)> {
        self.expect("=")?;
        let lhs = self.integer_list()?;
        self.expect("x")?;
        Ok((lhs, self.integer_list()?))
    }

    fn precision_and_algorithm(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        if !self.eat(",") {
            return Ok(());
        }
        if self.eat_word("precision") {
            self.expect("=")?;
            let precisions = self.precisions()?;
            reading.set("precision_config", precisions);
            if !self.eat(",") {
                return Ok(());
            }
        }
        self.expect_keyword("algorithm")?;
        self.expect("=")?;
        let algorithm = self.dot_algorithm()?;
        reading.set("algorithm", Attribute::DotAlgorithm(Arc::new(algorithm)));
        Ok(())
    }

    /// `e8m23`.
    fn exponent_mantissa(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        self.skip_space();
        let start = self.offset();
        let word = self.expect_word("a format such as `e8m23`")?;
        let span = self.span_from(start);
        let parts = word.strip_prefix('e').and_then(|rest| rest.split_once('m'));
        let parsed = parts.and_then(|(exponent, mantissa)| {
            Some((exponent.parse::<u16>().ok()?, mantissa.parse::<u16>().ok()?))
        });
        let Some((exponent, mantissa)) = parsed else {
            return Err(Box::new(
                Diagnostic::error(format!("`{word}` is no floating point format"))
                    .at(span)
                    .hint("write the bits of exponent and mantissa as `e8m23`"),
            ));
        };
        reading.set("exponent_bits", Attribute::i32(exponent.into()));
        reading.set("mantissa_bits", Attribute::i32(mantissa.into()));
        Ok(())
    }

    /// Arguments with attributes, as functions have them: `%arg0: type {…} loc(…)`. Declarations
    /// may leave the names out.
    pub(super) fn function_argument(
        &mut self,
    ) -> Result<(Option<Argument<'a>>, Type, Vec<NamedAttribute>)> {
        if !self.sees("%") {
            let ty = self.ty()?;
            let attributes = self.optional_dictionary()?;
            self.optional_location()?;
            return Ok((None, ty, attributes));
        }
        let (name, span) = self.value_name()?;
        self.expect(":")?;
        let ty = self.ty()?;
        let attributes = self.optional_dictionary()?;
        let location = self.optional_location()?.unwrap_or_default();
        Ok((Some(Argument { name, span, ty: ty.clone(), location }), ty, attributes))
    }

    pub(super) fn optional_dictionary(&mut self) -> Result<Vec<NamedAttribute>> {
        if self.sees("{") { self.dictionary_entries() } else { Ok(Vec::new()) }
    }
}

/// A format's text cut into words and punctuation.
fn tokens(text: &'static str) -> impl Iterator<Item = &'static str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let length = match first.is_ascii_alphabetic() {
            true => {
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())
            }
            false => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        Some(token)
    })
}

/// The type of a dense constant.
pub(super) fn elements_type(value: &Attribute) -> Option<&Type> {
    match value {
        Attribute::DenseElements(elements) => Some(elements.ty()),
        Attribute::DenseResource(resource) => Some(&resource.ty),
        _ => None,
    }
}

/// The type that the parts of a tensor of complex elements have.
pub(super) fn real_type(ty: &Type) -> Option<Type> {
    let tensor = ty.as_tensor()?;
    let Type::Complex(part) = &tensor.element else { return None };
    let mut real = tensor.clone();
    real.element = (**part).clone();
    Some(Type::Tensor(Arc::new(real)))
}

/// Attributes of arguments or results as one array, or nothing where none has any.
pub(super) fn attribute_array(all: Vec<Vec<NamedAttribute>>) -> Option<Attribute> {
    if all.iter().all(Vec::is_empty) {
        return None;
    }
    Some(Attribute::array(all.into_iter().map(dictionary).collect()))
}

/// A string attribute's bytes from text.
pub(super) fn string(text: impl Into<ByteString>) -> Attribute {
    Attribute::String(text.into())
}
