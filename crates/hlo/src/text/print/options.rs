//! What is printed. The switches are XLA's, and so are the named sets of them, so that texts can
//! be compared with those of XLA character by character.

/// What is printed of called computations at the instruction that calls them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Subcomputations {
    /// Nothing.
    Off,
    #[default]
    NameOnly,
    FullBodies,
    /// Full bodies, but for call, conditional and while.
    NonSequentialBodies,
}

/// In which order computations and instructions are printed, unless the module is scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PrintOrder {
    /// XLA's: depth-first from what nobody uses or calls, operands and callees first.
    #[default]
    DepthFirst,
    /// That of the module, which is the order of the text it was read from; what came later but
    /// is used earlier moves up.
    Kept,
}

/// Switches of the printer. The default is what XLA's `to_string` prints.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PrintOptions {
    /// A comment `/*index=5*/` stands at every so many-th operand; 0 for none.
    pub operand_index_annotation_interval: usize,
    pub subcomputations: Subcomputations,
    pub order: PrintOrder,
    pub indent: usize,
    /// Constants of more than ten elements are printed, rather than `{...}`.
    pub large_constants: bool,
    /// Only zeros, ones and integers are printed of constants.
    pub only_essential_constants: bool,
    pub original_value: bool,
    pub metadata: bool,
    pub metadata_only_op_name: bool,
    pub backend_config: bool,
    pub infeed_outfeed_config: bool,
    /// At most four operands are printed.
    pub compact_operands: bool,
    pub layouts: bool,
    pub result_shape: bool,
    pub operand_shapes: bool,
    pub operand_names: bool,
    pub program_shape: bool,
    pub percent: bool,
    pub control_dependencies: bool,
    /// Instructions are named `tmp_0`, `tmp_1`, … by computation.
    pub canonical_names: bool,
    /// Names are printed with the number after their first `.`.
    pub ids: bool,
    /// Computations are ordered by content.
    pub canonical_computations: bool,
    /// Attributes of ops.
    pub extra_attributes: bool,
    /// An asynchronous computation of one op is printed as `add-start` rather than by name.
    pub async_sugar: bool,
    pub frontend_attributes: bool,
    pub name_after_closing_brace: bool,
    pub full_replica_groups: bool,
    pub parameter_number: bool,
    pub channel_id: bool,
    /// Source locations stand in the metadata rather than in tables.
    pub inline_stack_frames: bool,
    /// Tuple elements are printed as `%tuple#0` where they are used, and not as instructions. Such
    /// text is only for people: it cannot be read again.
    pub compact_tuple_elements: bool,
}

impl Default for PrintOptions {
    fn default() -> Self {
        PrintOptions {
            operand_index_annotation_interval: 5,
            subcomputations: Subcomputations::NameOnly,
            order: PrintOrder::DepthFirst,
            indent: 0,
            large_constants: false,
            only_essential_constants: false,
            original_value: true,
            metadata: true,
            metadata_only_op_name: false,
            backend_config: true,
            infeed_outfeed_config: true,
            compact_operands: false,
            layouts: true,
            result_shape: true,
            operand_shapes: false,
            operand_names: true,
            program_shape: true,
            percent: true,
            control_dependencies: true,
            canonical_names: false,
            ids: true,
            canonical_computations: false,
            extra_attributes: true,
            async_sugar: true,
            frontend_attributes: true,
            name_after_closing_brace: false,
            full_replica_groups: false,
            parameter_number: true,
            channel_id: true,
            inline_stack_frames: false,
            compact_tuple_elements: false,
        }
    }
}

impl PrintOptions {
    /// Every constant in full and everything in the order it has: nothing is lost.
    pub fn complete() -> PrintOptions {
        PrintOptions { large_constants: true, order: PrintOrder::Kept, ..PrintOptions::default() }
    }

    /// Brief, but enough to be read again, except for metadata and control dependencies.
    pub fn short_parsable() -> PrintOptions {
        PrintOptions {
            large_constants: true,
            metadata: false,
            operand_index_annotation_interval: 0,
            program_shape: false,
            percent: false,
            control_dependencies: false,
            ..PrintOptions::default()
        }
    }

    /// The same for modules that differ only in names, metadata and backend configuration.
    pub fn canonical() -> PrintOptions {
        PrintOptions {
            subcomputations: Subcomputations::FullBodies,
            metadata: false,
            backend_config: false,
            operand_names: false,
            operand_shapes: true,
            operand_index_annotation_interval: 0,
            program_shape: false,
            percent: false,
            control_dependencies: false,
            canonical_names: true,
            ..PrintOptions::default()
        }
    }

    /// What identifies a module for caches: canonical, without weights and numbers in names.
    pub fn fingerprint() -> PrintOptions {
        PrintOptions {
            infeed_outfeed_config: false,
            only_essential_constants: true,
            ids: false,
            canonical_computations: true,
            full_replica_groups: true,
            ..PrintOptions::canonical()
        }
    }

    /// The fingerprint of whole modules, where operand shapes follow from results.
    pub fn module_fingerprint() -> PrintOptions {
        PrintOptions { operand_shapes: false, ..PrintOptions::fingerprint() }
    }
}
