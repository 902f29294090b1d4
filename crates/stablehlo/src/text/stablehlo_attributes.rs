//! Attributes of the dialects `stablehlo` and `chlo` from text.

use std::sync::Arc;

use rxla_base::{Diagnostic, Span};

use super::cursor::Result;
use super::parser::Parser;
use crate::mlir::{
    Attribute, AxisRef, ConvDimensionNumbers, DYNAMIC, DotAlgorithm, DotDimensionNumbers,
    EnumAttribute, EnumDialect, EnumValue, GatherDimensionNumbers, Mesh, MeshAxis,
    OutputOperandAlias, RaggedDotDimensionNumbers, ReplicaGroupMeshAxes, ResultAccuracy,
    ResultAccuracyMode, ScatterDimensionNumbers, SubAxisInfo, Type,
};

/// A field of a structured attribute and where its value goes.
pub(super) enum Field<'f> {
    Integer(&'f mut i64),
    Integers(&'f mut Vec<i64>),
}

impl Parser<'_> {
    /// What follows `#stablehlo.name` or `#stablehlo<name`.
    pub(super) fn stablehlo_attribute(
        &mut self,
        dialect: &str,
        name: &str,
        span: Span,
    ) -> Result<Attribute> {
        match name {
            "scatter" => self.scatter(),
            "gather" => self.gather(),
            "dot" => {
                let mut d = DotDimensionNumbers::default();
                self.fields(&mut [
                    ("lhs_batching_dimensions", Field::Integers(&mut d.lhs_batching_dimensions)),
                    ("rhs_batching_dimensions", Field::Integers(&mut d.rhs_batching_dimensions)),
                    (
                        "lhs_contracting_dimensions",
                        Field::Integers(&mut d.lhs_contracting_dimensions),
                    ),
                    (
                        "rhs_contracting_dimensions",
                        Field::Integers(&mut d.rhs_contracting_dimensions),
                    ),
                ])?;
                Ok(Attribute::DotDimensionNumbers(Arc::new(d)))
            }
            "ragged_dot" => self.ragged_dot(),
            "dot_algorithm" => Ok(Attribute::DotAlgorithm(Arc::new(self.dot_algorithm()?))),
            "conv" => {
                self.expect("<")?;
                if self.eat_word("raw") {
                    return self.raw_convolution();
                }
                let dimensions = self.convolution_dimensions()?;
                self.expect(">")?;
                Ok(Attribute::ConvDimensionNumbers(Arc::new(dimensions)))
            }
            "output_operand_alias" => {
                let mut alias = OutputOperandAlias::default();
                self.fields(&mut [
                    ("output_tuple_indices", Field::Integers(&mut alias.output_tuple_indices)),
                    ("operand_index", Field::Integer(&mut alias.operand_index)),
                    ("operand_tuple_indices", Field::Integers(&mut alias.operand_tuple_indices)),
                ])?;
                Ok(Attribute::OutputOperandAlias(Arc::new(alias)))
            }
            "channel_handle" => {
                let (mut handle, mut ty) = (0, 0);
                self.fields(&mut [
                    ("handle", Field::Integer(&mut handle)),
                    ("type", Field::Integer(&mut ty)),
                ])?;
                Ok(Attribute::ChannelHandle { handle, ty })
            }
            "bounds" => {
                let bounds = self.list("<", ">", |parser| parser.bound())?;
                Ok(Attribute::TypeExtensions(bounds.into()))
            }
            "type_extensions" => {
                self.expect("<")?;
                self.expect_keyword("bounds")?;
                self.expect("=")?;
                let bounds = self.list("[", "]", |parser| parser.bound())?;
                self.expect(">")?;
                Ok(Attribute::TypeExtensions(bounds.into()))
            }
            "result_accuracy" => self.result_accuracy(),
            "sub_axis_info" => Ok(Attribute::SubAxisInfo(self.sub_axis()?)),
            "axis_ref" => Ok(Attribute::AxisRef(Arc::new(self.stablehlo_axis_ref()?))),
            "mesh_axis" => Ok(Attribute::MeshAxis(Arc::new(self.stablehlo_mesh_axis()?))),
            "mesh" => self.stablehlo_mesh(),
            "replica_group_mesh_axes" => self.replica_group_mesh_axes(),
            _ => self.enum_attribute(dialect, name, span),
        }
    }

    fn enum_attribute(&mut self, dialect: &str, name: &str, span: Span) -> Result<Attribute> {
        let is_enum = EnumValue::is_kind(name);
        if !is_enum {
            return Err(self.error(span, format!("unknown attribute `{name}` of `{dialect}`")));
        }
        let dialect = if dialect == "chlo" { EnumDialect::Chlo } else { EnumDialect::Stablehlo };
        // `#stablehlo.name<VALUE>` is read as well.
        let bracketed = self.eat("<");
        let value = self.enum_value(dialect, name)?;
        if bracketed {
            self.expect(">")?;
        }
        Ok(value)
    }

    /// The bare name of a value of the enumeration `kind`.
    pub(super) fn enum_value(&mut self, dialect: EnumDialect, kind: &str) -> Result<Attribute> {
        self.skip_space();
        let start = self.offset();
        let name = self.expect_word("the name of a value")?;
        let span = self.span_from(start);
        match EnumValue::from_names(kind, name) {
            Some(value) => Ok(Attribute::Enum(EnumAttribute { dialect, value })),
            None => Err(Box::new(
                Diagnostic::error(format!("`{name}` is no {}", kind.replace('_', " ")))
                    .at(span)
                    .hint(format!("values are {}", EnumValue::names(kind).join(", "))),
            )),
        }
    }

    /// `<name = value, …>` in any order, each at most once.
    pub(super) fn fields(&mut self, fields: &mut [(&str, Field<'_>)]) -> Result<()> {
        self.expect("<")?;
        self.fields_until_close(fields)
    }

    fn fields_until_close(&mut self, fields: &mut [(&str, Field<'_>)]) -> Result<()> {
        let mut seen = vec![false; fields.len()];
        while !self.eat(">") {
            self.skip_space();
            let start = self.offset();
            let name = self.peek_word();
            let Some(index) = fields.iter().position(|(field, _)| *field == name) else {
                let names: Vec<_> = fields.iter().map(|(name, _)| format!("`{name}`")).collect();
                return Err(self.unexpected(&format!("one of {}", names.join(", "))));
            };
            self.word();
            if std::mem::replace(&mut seen[index], true) {
                let span = self.span_from(start);
                return Err(self.error(span, format!("`{name}` is given twice")));
            }
            self.expect("=")?;
            match &mut fields[index].1 {
                Field::Integer(value) => **value = self.integer()?,
                Field::Integers(values) => **values = self.list("[", "]", |p| p.bound())?,
            }
            if !self.eat(",") {
                return self.expect(">");
            }
        }
        Ok(())
    }

    /// An integer or `?`.
    fn bound(&mut self) -> Result<i64> {
        if self.eat("?") { Ok(DYNAMIC) } else { self.integer() }
    }

    fn scatter(&mut self) -> Result<Attribute> {
        let mut d = ScatterDimensionNumbers::default();
        self.fields(&mut [
            ("update_window_dims", Field::Integers(&mut d.update_window_dims)),
            ("inserted_window_dims", Field::Integers(&mut d.inserted_window_dims)),
            ("input_batching_dims", Field::Integers(&mut d.input_batching_dims)),
            (
                "scatter_indices_batching_dims",
                Field::Integers(&mut d.scatter_indices_batching_dims),
            ),
            ("scatter_dims_to_operand_dims", Field::Integers(&mut d.scatter_dims_to_operand_dims)),
            ("index_vector_dim", Field::Integer(&mut d.index_vector_dim)),
        ])?;
        Ok(Attribute::ScatterDimensionNumbers(Arc::new(d)))
    }

    fn gather(&mut self) -> Result<Attribute> {
        let mut d = GatherDimensionNumbers::default();
        self.fields(&mut [
            ("offset_dims", Field::Integers(&mut d.offset_dims)),
            ("collapsed_slice_dims", Field::Integers(&mut d.collapsed_slice_dims)),
            ("operand_batching_dims", Field::Integers(&mut d.operand_batching_dims)),
            ("start_indices_batching_dims", Field::Integers(&mut d.start_indices_batching_dims)),
            ("start_index_map", Field::Integers(&mut d.start_index_map)),
            ("index_vector_dim", Field::Integer(&mut d.index_vector_dim)),
        ])?;
        Ok(Attribute::GatherDimensionNumbers(Arc::new(d)))
    }

    fn ragged_dot(&mut self) -> Result<Attribute> {
        let mut d = RaggedDotDimensionNumbers::default();
        self.fields(&mut [
            ("lhs_batching_dimensions", Field::Integers(&mut d.lhs_batching_dimensions)),
            ("rhs_batching_dimensions", Field::Integers(&mut d.rhs_batching_dimensions)),
            ("lhs_contracting_dimensions", Field::Integers(&mut d.lhs_contracting_dimensions)),
            ("rhs_contracting_dimensions", Field::Integers(&mut d.rhs_contracting_dimensions)),
            ("lhs_ragged_dimensions", Field::Integers(&mut d.lhs_ragged_dimensions)),
            ("rhs_group_dimensions", Field::Integers(&mut d.rhs_group_dimensions)),
        ])?;
        Ok(Attribute::RaggedDotDimensionNumbers(Arc::new(d)))
    }

    /// `<lhs_precision_type = …, …>`.
    pub(super) fn dot_algorithm(&mut self) -> Result<DotAlgorithm> {
        let mut open = "<";
        let mut name = |parser: &mut Self, name: &str| {
            parser.expect(open)?;
            open = ",";
            parser.expect_keyword(name)?;
            parser.expect("=")
        };
        name(self, "lhs_precision_type")?;
        let lhs_precision_type = self.ty()?;
        name(self, "rhs_precision_type")?;
        let rhs_precision_type = self.ty()?;
        name(self, "accumulation_type")?;
        let accumulation_type = self.ty()?;
        name(self, "lhs_component_count")?;
        let lhs_component_count = self.integer()?;
        name(self, "rhs_component_count")?;
        let rhs_component_count = self.integer()?;
        name(self, "num_primitive_operations")?;
        let num_primitive_operations = self.integer()?;
        name(self, "allow_imprecise_accumulation")?;
        let allow_imprecise_accumulation = self.boolean()?;
        self.expect(">")?;
        Ok(DotAlgorithm {
            lhs_precision_type,
            rhs_precision_type,
            accumulation_type,
            lhs_component_count,
            rhs_component_count,
            num_primitive_operations,
            allow_imprecise_accumulation,
        })
    }

    /// `raw` and then every field by name.
    fn raw_convolution(&mut self) -> Result<Attribute> {
        let mut d = ConvDimensionNumbers::default();
        self.fields_until_close(&mut [
            ("input_batch_dimension", Field::Integer(&mut d.input_batch_dimension)),
            ("input_feature_dimension", Field::Integer(&mut d.input_feature_dimension)),
            ("input_spatial_dimensions", Field::Integers(&mut d.input_spatial_dimensions)),
            (
                "kernel_input_feature_dimension",
                Field::Integer(&mut d.kernel_input_feature_dimension),
            ),
            (
                "kernel_output_feature_dimension",
                Field::Integer(&mut d.kernel_output_feature_dimension),
            ),
            ("kernel_spatial_dimensions", Field::Integers(&mut d.kernel_spatial_dimensions)),
            ("output_batch_dimension", Field::Integer(&mut d.output_batch_dimension)),
            ("output_feature_dimension", Field::Integer(&mut d.output_feature_dimension)),
            ("output_spatial_dimensions", Field::Integers(&mut d.output_spatial_dimensions)),
        ])?;
        Ok(Attribute::ConvDimensionNumbers(Arc::new(d)))
    }

    /// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
    pub(super) fn convolution_dimensions(&mut self) -> Result<ConvDimensionNumbers> {
        let (input_batch_dimension, input_feature_dimension, input_spatial_dimensions) =
            self.labelled_dimensions("b", "f")?;
        self.expect("x")?;
        let (
            kernel_input_feature_dimension,
            kernel_output_feature_dimension,
            kernel_spatial_dimensions,
        ) = self.labelled_dimensions("i", "o")?;
        self.expect("->")?;
        let (output_batch_dimension, output_feature_dimension, output_spatial_dimensions) =
            self.labelled_dimensions("b", "f")?;
        Ok(ConvDimensionNumbers {
            input_batch_dimension,
            input_feature_dimension,
            input_spatial_dimensions,
            kernel_input_feature_dimension,
            kernel_output_feature_dimension,
            kernel_spatial_dimensions,
            output_batch_dimension,
            output_feature_dimension,
            output_spatial_dimensions,
        })
    }

    /// Where the two letters and the numbers 0, 1, … stand in a list.
    fn labelled_dimensions(&mut self, first: &str, second: &str) -> Result<(i64, i64, Vec<i64>)> {
        let mut labels = [None, None];
        let mut spatial: Vec<(i64, i64)> = Vec::new();
        let mut position = 0;
        self.skip_space();
        let start = self.offset();
        self.list("[", "]", |parser| {
            parser.skip_space();
            let start = parser.offset();
            if parser.sees_number() {
                let number = parser.integer()?;
                spatial.push((number, position));
            } else {
                let label = parser.expect_word("a dimension")?;
                let span = parser.span_from(start);
                let index = match label {
                    _ if label == first => 0,
                    _ if label == second => 1,
                    _ => {
                        return Err(parser.error(
                            span,
                            format!("expected `{first}`, `{second}` or a number, found `{label}`"),
                        ));
                    }
                };
                if labels[index].replace(position).is_some() {
                    return Err(parser.error(span, format!("dimension `{label}` stands twice")));
                }
            }
            position += 1;
            Ok(())
        })?;
        let span = self.span_from(start);
        let [Some(one), Some(two)] = labels else {
            let missing = if labels[0].is_none() { first } else { second };
            return Err(self.error(span, format!("dimension `{missing}` is missing")));
        };
        spatial.sort_unstable();
        if !spatial.iter().enumerate().all(|(index, (number, _))| index as i64 == *number) {
            return Err(self.error(span, "spatial dimensions must be numbered 0, 1, … once each"));
        }
        Ok((one, two, spatial.into_iter().map(|(_, position)| position).collect()))
    }

    fn result_accuracy(&mut self) -> Result<Attribute> {
        self.expect("<")?;
        let (mut atol, mut rtol, mut ulps) = (0f64.to_bits(), 0f64.to_bits(), 0);
        if self.eat_word("atol") {
            self.expect("=")?;
            atol = self.double()?;
            self.expect(",")?;
        }
        if self.eat_word("rtol") {
            self.expect("=")?;
            rtol = self.double()?;
            self.expect(",")?;
        }
        if self.eat_word("ulps") {
            self.expect("=")?;
            ulps = self.integer()?;
            self.expect(",")?;
        }
        self.expect_keyword("mode")?;
        self.expect("=")?;
        self.skip_space();
        let start = self.offset();
        let mode = match self.attribute()? {
            Attribute::Enum(EnumAttribute {
                value: EnumValue::ResultAccuracyMode(mode), ..
            }) => mode,
            _ => {
                let span = self.span_from(start);
                let names: Vec<_> = ResultAccuracyMode::ALL
                    .iter()
                    .map(|mode| format!("`#stablehlo<result_accuracy_mode {}>`", mode.name()))
                    .collect();
                return Err(self.error(span, format!("expected one of {}", names.join(", "))));
            }
        };
        self.expect(">")?;
        Ok(Attribute::ResultAccuracy(Arc::new(ResultAccuracy { atol, rtol, ulps, mode })))
    }

    /// `(pre_size)size`.
    pub(super) fn sub_axis(&mut self) -> Result<SubAxisInfo> {
        self.expect("(")?;
        let pre_size = self.integer()?;
        self.expect(")")?;
        Ok(SubAxisInfo { pre_size, size: self.integer()? })
    }

    /// `<name = "a", sub_axis_info = (1)2>`.
    fn stablehlo_axis_ref(&mut self) -> Result<AxisRef> {
        self.expect("<")?;
        self.expect_keyword("name")?;
        self.expect("=")?;
        let name = self.string()?.into();
        let mut sub_axis = None;
        if self.eat(",") {
            self.expect_keyword("sub_axis_info")?;
            self.expect("=")?;
            if self.sees("#") {
                self.skip_space();
                let start = self.offset();
                let Attribute::SubAxisInfo(info) = self.attribute()? else {
                    let span = self.span_from(start);
                    return Err(self.error(span, "expected part of an axis such as `(1)2`"));
                };
                sub_axis = Some(info);
            } else {
                sub_axis = Some(self.sub_axis()?);
            }
        }
        self.expect(">")?;
        Ok(AxisRef { name, sub_axis })
    }

    /// `<name = "a", size = 2>`.
    fn stablehlo_mesh_axis(&mut self) -> Result<MeshAxis> {
        self.expect("<")?;
        self.expect_keyword("name")?;
        self.expect("=")?;
        let name = self.string()?.into();
        self.expect(",")?;
        self.expect_keyword("size")?;
        self.expect("=")?;
        let size = self.integer()?;
        self.expect(">")?;
        Ok(MeshAxis { name, size })
    }

    fn stablehlo_mesh(&mut self) -> Result<Attribute> {
        self.expect("<")?;
        self.expect_keyword("axes")?;
        self.expect("=")?;
        let axes = self.list("[", "]", |parser| {
            if !parser.sees("#") {
                return parser.stablehlo_mesh_axis();
            }
            let start = parser.offset();
            match parser.attribute()? {
                Attribute::MeshAxis(axis) => Ok((*axis).clone()),
                _ => {
                    let span = parser.span_from(start);
                    Err(parser.error(span, "expected an axis of a mesh"))
                }
            }
        })?;
        let mut device_ids = None;
        if self.eat(",") {
            self.expect_keyword("device_ids")?;
            self.expect("=")?;
            self.skip_space();
            let start = self.offset();
            let Attribute::DenseElements(elements) = self.attribute()? else {
                let span = self.span_from(start);
                return Err(self.error(span, "expected `dense<…> : tensor<…xi64>`"));
            };
            device_ids = Some(elements);
        }
        self.expect(">")?;
        Ok(Attribute::Mesh(Arc::new(Mesh { axes, device_ids })))
    }

    fn replica_group_mesh_axes(&mut self) -> Result<Attribute> {
        self.expect("<")?;
        self.expect_keyword("mesh")?;
        self.expect("=")?;
        let mesh = self.attribute()?;
        self.expect(",")?;
        self.expect_keyword("axes")?;
        self.expect("=")?;
        let axes = self.list("[", "]", |parser| parser.attribute())?.into();
        self.expect(">")?;
        Ok(Attribute::ReplicaGroupMeshAxes(Arc::new(ReplicaGroupMeshAxes { mesh, axes })))
    }

    /// `[DEFAULT, HIGH]`.
    pub(super) fn precisions(&mut self) -> Result<Attribute> {
        let values =
            self.list("[", "]", |parser| parser.enum_value(EnumDialect::Stablehlo, "precision"))?;
        Ok(Attribute::array(values))
    }

    /// Checks that a type is a tensor.
    pub(super) fn tensor_element(&mut self, ty: &Type, span: Span) -> Result<Type> {
        match ty.element() {
            Some(element) => Ok(element.clone()),
            None => Err(self.error(
                span,
                format!("expected a tensor, found `{}`", super::print::type_text(ty)),
            )),
        }
    }
}
