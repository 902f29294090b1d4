//! Shardy's attributes from text.

use rxla_base::{Diagnostic, Span};

use super::cursor::Result;
use super::parser::Parser;
use crate::mlir::{
    AllToAllParam, Attribute, AxisRef, AxisToPropagationDetails, DimensionSharding, EdgeNodeType,
    EdgeValueRef, MeshAxis, OpShardingRule, PropagationDirection, PropagationOneStep, ReductionOp,
    SdyAttribute, SdyMesh, TensorSharding,
};

impl Parser<'_> {
    /// What follows `#sdy.name` or `#sdy<name`.
    pub(super) fn sdy_attribute(&mut self, name: &str, span: Span) -> Result<SdyAttribute> {
        Ok(match name {
            "manual_axes" => {
                SdyAttribute::ManualAxes(self.list("{", "}", |parser| Ok(parser.string()?.into()))?)
            }
            "mesh_axis" => SdyAttribute::MeshAxis(self.sdy_mesh_axis()?),
            "mesh" => SdyAttribute::Mesh(self.sdy_mesh()?),
            "sub_axis_info" => SdyAttribute::SubAxisInfo(self.sub_axis()?),
            "axis_ref" => SdyAttribute::AxisRef(self.sdy_axis_ref()?),
            "dimension_sharding" => SdyAttribute::DimensionSharding(self.sdy_dimension_sharding()?),
            "sharding" => SdyAttribute::TensorSharding(self.sdy_sharding()?),
            "sharding_per_value" => {
                self.expect("<")?;
                let shardings = self.sdy_shardings()?;
                self.expect(">")?;
                SdyAttribute::TensorShardingPerValue(shardings)
            }
            "dim_mapping" => SdyAttribute::DimMapping(self.dim_mapping()?),
            "tensor_mapping" => SdyAttribute::TensorMapping(self.tensor_mapping()?),
            "op_sharding_rule" => SdyAttribute::OpShardingRule(self.op_sharding_rule()?),
            "axis_ref_list" => SdyAttribute::AxisRefList(self.sdy_axes()?),
            "list_of_axis_ref_lists" => {
                SdyAttribute::ListOfAxisRefLists(self.list("[", "]", |parser| parser.sdy_axes())?)
            }
            "all_to_all_param" => SdyAttribute::AllToAllParam(self.all_to_all_param()?),
            "all_to_all_param_list" => {
                SdyAttribute::AllToAllParamList(
                    self.list("[", "]", |parser| parser.all_to_all_param())?,
                )
            }
            "propagation_direction" => {
                SdyAttribute::PropagationDirection(self.propagation_direction()?)
            }
            "edge_value_ref" => SdyAttribute::EdgeValueRef(self.edge_value()?),
            "axis_to_propagation_details" => {
                SdyAttribute::AxisToPropagationDetails(self.propagation_details()?)
            }
            "propagation_one_step" => SdyAttribute::PropagationOneStep(self.propagation_step()?),
            "propagation_edges" => {
                self.expect("<")?;
                let steps = self.list("[", "]", |parser| parser.propagation_step())?;
                self.expect(">")?;
                SdyAttribute::PropagationEdges(steps)
            }
            _ => return Err(self.error(span, format!("unknown attribute `{name}` of `sdy`"))),
        })
    }

    fn sdy_mesh_axis(&mut self) -> Result<MeshAxis> {
        let name = self.string()?.into();
        self.expect("=")?;
        Ok(MeshAxis { name, size: self.integer()? })
    }

    /// `<["a"=2], device_ids=[1, 0]>`.
    pub(super) fn sdy_mesh(&mut self) -> Result<SdyMesh> {
        self.expect("<")?;
        let axes = self.list("[", "]", |parser| parser.sdy_mesh_axis())?;
        let mut device_ids = Vec::new();
        if self.eat(",") {
            self.expect_keyword("device_ids")?;
            self.expect("=")?;
            device_ids = self.integer_list()?;
        }
        self.expect(">")?;
        Ok(SdyMesh { axes, device_ids })
    }

    /// `"a"` or `"a":(1)2`.
    fn sdy_axis_ref(&mut self) -> Result<AxisRef> {
        let name = self.string()?.into();
        let sub_axis = if self.eat(":") { Some(self.sub_axis()?) } else { None };
        Ok(AxisRef { name, sub_axis })
    }

    /// `{"a", "b"}`.
    pub(super) fn sdy_axes(&mut self) -> Result<Vec<AxisRef>> {
        self.list("{", "}", |parser| parser.sdy_axis_ref())
    }

    fn sdy_dimension_sharding(&mut self) -> Result<DimensionSharding> {
        self.expect("{")?;
        let (mut axes, mut is_closed) = (Vec::new(), true);
        while !self.eat("}") {
            if !axes.is_empty() {
                self.expect(",")?;
            }
            if self.eat("?") {
                is_closed = false;
                self.expect("}")?;
                break;
            }
            axes.push(self.sdy_axis_ref()?);
        }
        let mut priority = None;
        if self.peek_here() == Some(b'p') {
            let start = self.offset();
            self.move_to(start + 1);
            let digits = self.digits();
            let span = self.span_from(start);
            match digits.parse() {
                Ok(value) => priority = Some(value),
                Err(_) => return Err(self.error(span, "expected a priority such as `p0`")),
            }
        }
        Ok(DimensionSharding { axes, is_closed, priority })
    }

    /// `<@mesh, [{"a"}, {?}], replicated={"b"}, unreduced={"c"}>`.
    pub(super) fn sdy_sharding(&mut self) -> Result<TensorSharding> {
        self.expect("<")?;
        let mesh_or_ref = if self.eat_word("mesh") {
            Attribute::sdy(SdyAttribute::Mesh(self.sdy_mesh()?))
        } else if self.sees("@") {
            Attribute::symbol(self.symbol_name()?)
        } else {
            return Err(self.unexpected("a mesh: `@name` or `mesh<…>`"));
        };
        self.expect(",")?;
        let dim_shardings = self.list("[", "]", |parser| parser.sdy_dimension_sharding())?;
        let (mut replicated_axes, mut unreduced_axes) = (Vec::new(), Vec::new());
        let mut reduction_op = ReductionOp::Sum;
        while self.eat(",") {
            if replicated_axes.is_empty() && self.eat_word("replicated") {
                self.expect("=")?;
                replicated_axes = self.sdy_axes()?;
            } else if unreduced_axes.is_empty() && self.eat_word("unreduced") {
                self.expect("=")?;
                if let Some(op) = self.reduction_op() {
                    reduction_op = op;
                }
                unreduced_axes = self.sdy_axes()?;
            } else {
                return Err(self.unexpected("`replicated` or `unreduced`, each once"));
            }
        }
        self.expect(">")?;
        Ok(TensorSharding {
            mesh_or_ref,
            dim_shardings,
            replicated_axes,
            unreduced_axes,
            reduction_op,
        })
    }

    /// `sum`, `max` or `min`, if one stands next.
    fn reduction_op(&mut self) -> Option<ReductionOp> {
        let op = [ReductionOp::Sum, ReductionOp::Max, ReductionOp::Min]
            .into_iter()
            .find(|op| op.name() == self.peek_word())?;
        self.word();
        Some(op)
    }

    /// `[<@mesh, …>, …]`.
    pub(super) fn sdy_shardings(&mut self) -> Result<Vec<TensorSharding>> {
        self.list("[", "]", |parser| parser.sdy_sharding())
    }

    fn all_to_all_param(&mut self) -> Result<AllToAllParam> {
        let axes = self.sdy_axes()?;
        self.expect(":")?;
        let src_dim = self.integer()?;
        self.expect("->")?;
        Ok(AllToAllParam { axes, src_dim, tgt_dim: self.integer()? })
    }

    fn propagation_direction(&mut self) -> Result<PropagationDirection> {
        Ok(match self.peek_word() {
            "NONE" => self.word_as(PropagationDirection::None),
            "FORWARD" => self.word_as(PropagationDirection::Forward),
            "BACKWARD" => self.word_as(PropagationDirection::Backward),
            "BOTH" => self.word_as(PropagationDirection::Both),
            _ => return Err(self.unexpected("`NONE`, `FORWARD`, `BACKWARD` or `BOTH`")),
        })
    }

    /// Passes a word that means `value`.
    fn word_as<T>(&mut self, value: T) -> T {
        self.word();
        value
    }

    /// `operand-0` or `result-1`.
    fn edge_value(&mut self) -> Result<EdgeValueRef> {
        let ty = match self.peek_word() {
            "operand" => self.word_as(EdgeNodeType::Operand),
            "result" => self.word_as(EdgeNodeType::Result),
            _ => return Err(self.unexpected("`operand` or `result`")),
        };
        self.expect("-")?;
        Ok(EdgeValueRef { ty, index: self.integer()? })
    }

    /// `{"a" = operand-0 -> [result-0]}`.
    fn propagation_details(&mut self) -> Result<AxisToPropagationDetails> {
        self.expect("{")?;
        let axis_name = self.sdy_axis_ref()?;
        self.expect("=")?;
        let source = self.edge_value()?;
        self.expect("->")?;
        let targets = self.list("[", "]", |parser| parser.edge_value())?;
        self.expect("}")?;
        Ok(AxisToPropagationDetails { axis_name, source, targets })
    }

    /// `{step-0 = [{…}]}`.
    fn propagation_step(&mut self) -> Result<PropagationOneStep> {
        self.expect("{")?;
        self.expect_keyword("step")?;
        self.expect("-")?;
        let step_index = self.integer()?;
        self.expect("=")?;
        let axis_entries = self.list("[", "]", |parser| parser.propagation_details())?;
        self.expect("}")?;
        Ok(PropagationOneStep { step_index, axis_entries })
    }

    /// `<([i, j], [j, k])->([i, k]) {i=2, j=4, k=8} reduction={j}, custom>`.
    fn op_sharding_rule(&mut self) -> Result<OpShardingRule> {
        self.expect("<")?;
        let operand_mappings = self.list("(", ")", |parser| parser.tensor_mapping())?;
        self.expect("->")?;
        let result_mappings = self.list("(", ")", |parser| parser.tensor_mapping())?;
        let mut rule = OpShardingRule { operand_mappings, result_mappings, ..Default::default() };
        if self.sees("{") {
            rule.factor_sizes = self.factor_sizes()?;
        }
        rule.reduction_factors = self.factors_after("reduction")?;
        rule.need_replication_factors = self.factors_after("need_replication")?;
        rule.permutation_factors = self.factors_after("permutation")?;
        rule.blocked_propagation_factors = self.factors_after("blocked_propagation")?;
        if self.eat(",") {
            self.expect_keyword("custom")?;
            rule.is_custom_rule = true;
        }
        self.expect(">")?;
        Ok(rule)
    }

    fn factor_sizes(&mut self) -> Result<Vec<i64>> {
        let mut expected = 0;
        self.list("{", "}", |parser| {
            parser.skip_space();
            let start = parser.offset();
            let factors = parser.dim_mapping()?;
            let span = parser.span_from(start);
            if factors != [expected] {
                return Err(Box::new(
                    Diagnostic::error("factors must stand in order, one at a time")
                        .at(span)
                        .hint("they are called i, j, … z, z_1, z_2, …"),
                ));
            }
            expected += 1;
            parser.expect("=")?;
            parser.integer()
        })
    }

    fn factors_after(&mut self, keyword: &str) -> Result<Vec<i64>> {
        if !self.eat_word(keyword) {
            return Ok(Vec::new());
        }
        self.expect("=")?;
        let lists = self.list("{", "}", |parser| parser.dim_mapping())?;
        Ok(lists.concat())
    }

    fn tensor_mapping(&mut self) -> Result<Vec<Vec<i64>>> {
        self.list("[", "]", |parser| parser.dim_mapping())
    }

    /// Factors written without anything between: `ij`, `z_1z_2`; none at all is allowed.
    fn dim_mapping(&mut self) -> Result<Vec<i64>> {
        const Z: i64 = (b'z' - b'i') as i64;
        self.skip_space();
        let start = self.offset();
        let mut letters = self.peek_word();
        self.move_to(start + letters.len());
        let span = self.span_from(start);
        let mut factors = Vec::new();
        while let Some(letter) = letters.bytes().next() {
            if let Some(rest) = letters.strip_prefix("z_") {
                let length = rest.bytes().take_while(u8::is_ascii_digit).count();
                let index: Option<i64> = rest[..length].parse().ok().filter(|&n| n > 0);
                let Some(factor) = index.and_then(|index| index.checked_add(Z)) else {
                    return Err(self.error(span, "expected a positive number after `z_`"));
                };
                factors.push(factor);
                letters = &rest[length..];
                continue;
            }
            if !(b'i'..=b'z').contains(&letter) {
                return Err(self.error(span, "factors are called i, j, … z, z_1, z_2, …"));
            }
            factors.push(i64::from(letter - b'i'));
            letters = &letters[1..];
        }
        Ok(factors)
    }
}
