//! Metadata, origins, statistics and frontend attributes.

use std::fmt::Write;

use super::Printer;
use crate::text::escape::is_json_dictionary;
use crate::{
    FrontendAttributes, Metadata, MetadataPayload, OriginalArray, OriginalElement, OriginalValue,
    Statistics,
};

impl Printer<'_> {
    /// The fields without braces.
    pub(super) fn metadata_fields(&mut self, metadata: &Metadata) {
        let start = self.out.len();
        if self.options.metadata_only_op_name {
            self.text_field(start, "op_name", &metadata.op_name);
            return;
        }
        self.text_field(start, "op_type", &metadata.op_type);
        self.text_field(start, "op_name", &metadata.op_name);
        self.text_field(start, "source_file", &metadata.source_file);
        let lines = [
            ("source_line", metadata.source_line),
            ("source_end_line", metadata.source_end_line),
            ("source_column", metadata.source_column),
            ("source_end_column", metadata.source_end_column),
        ];
        for (name, value) in lines {
            self.integer_field(start, name, i64::from(value));
        }
        if !metadata.profile_type.is_empty() {
            self.field(start, "profile_type");
            self.integers(&metadata.profile_type);
        }
        self.text_field(start, "deduplicated_name", &metadata.deduplicated_name);
        self.text_field(start, "scheduling_name", &metadata.scheduling_name);
        self.integer_field(start, "stack_frame_id", i64::from(metadata.stack_frame_id));
        if let Some(MetadataPayload::Value(payload)) = &metadata.payload {
            self.field(start, "metadata_payload");
            self.quoted(payload);
        }
    }

    fn field(&mut self, start: usize, name: &str) {
        if self.out.len() > start {
            self.push(" ");
        }
        self.push(name);
        self.push("=");
    }

    fn text_field(&mut self, start: usize, name: &str, value: &str) {
        if !value.is_empty() {
            self.field(start, name);
            self.quoted(value.as_bytes());
        }
    }

    fn integer_field(&mut self, start: usize, name: &str, value: i64) {
        if value != 0 {
            self.field(start, name);
            self.integer(value);
        }
    }

    /// A string, without quotes if it reads as a dictionary.
    pub(super) fn string_or_dictionary(&mut self, text: &str) {
        if is_json_dictionary(text) { self.push(text) } else { self.quoted(text.as_bytes()) }
    }

    pub(in crate::text) fn frontend_attributes(&mut self, attributes: &FrontendAttributes) {
        self.push("{");
        for (index, (name, value)) in attributes.iter().enumerate() {
            if index > 0 {
                self.push(",");
            }
            self.push(name);
            self.push("=");
            self.string_or_dictionary(value);
        }
        self.push("}");
    }

    pub(super) fn statistics(&mut self, statistics: &Statistics) {
        let _ = write!(self.out, "{{visualizing_index={}", statistics.visualizing_index);
        for (name, bits) in &statistics.values {
            self.push(",");
            self.push(name);
            self.push("=");
            self.number(f64::from_bits(*bits));
        }
        self.push("}");
    }

    pub(super) fn original_array(&mut self, array: &OriginalArray) {
        // XLA does not escape names, which hold nothing to escape.
        self.push("{\"");
        self.push(&array.instruction_name);
        self.push("\"");
        if !array.index.is_empty() {
            self.push(" ");
            self.integers(&array.index);
        }
        self.push("}");
    }

    pub(in crate::text) fn original_value(&mut self, value: &OriginalValue) {
        self.push("{");
        match value {
            OriginalValue::SyntheticCall => self.push("[synthetic_call]"),
            OriginalValue::Leaves(leaves) => {
                let mut rest = &leaves[..];
                self.original_tree(&mut rest, 0);
            }
        }
        self.push("}");
    }

    /// Prints the leaves that share the first one's path up to `depth` as a tree.
    fn original_tree(&mut self, rest: &mut &[OriginalElement], depth: usize) {
        let Some(first) = rest.first() else {
            self.push("()");
            return;
        };
        if first.index.len() <= depth {
            match &first.array {
                Some(array) => self.original_array(array),
                None => self.push("{}"),
            }
            *rest = &rest[1..];
            return;
        }
        let path = first.index[..depth].to_vec();
        self.push("(");
        let mut next = 0;
        while let Some(leaf) = rest.first()
            && leaf.index.len() > depth
            && leaf.index[..depth] == path[..]
        {
            if next > 0 {
                self.push(", ");
            }
            // Elements without any leaf are empty tuples.
            if leaf.index[depth] > next {
                self.push("()");
            } else {
                self.original_tree(rest, depth + 1);
            }
            next += 1;
        }
        self.push(")");
    }
}
