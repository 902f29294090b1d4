//! Reading a module from bytes of any kind that people have: what they are is told by content.

use prost::Message;
use rxla_base::{Diagnostic, SecondaryMap, Span};
use rxla_hlo::text::{ParseOptions, parse};
use rxla_hlo::{Instruction, Literal, Module};

use crate::proto::{
    HloModuleProto, HloModuleProtoWithConfig, HloProto, HloSnapshot, HloUnoptimizedSnapshot,
};
use crate::{from_proto, from_proto_with_config, literal};

/// What bytes hold a module as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Text,
    HloModuleProto,
    HloModuleProtoWithConfig,
    HloProto,
    HloSnapshot,
    HloUnoptimizedSnapshot,
}

/// A module with what came along.
#[derive(Clone, Debug)]
pub struct Read {
    pub module: Module,
    pub format: Format,
    /// Arguments that a snapshot ran the module on.
    pub arguments: Vec<Literal>,
    /// The result that it gave.
    pub result: Option<Literal>,
    /// Where instructions stand, for text.
    pub spans: Option<SecondaryMap<Instruction, Span>>,
    pub warnings: Vec<Diagnostic>,
}

/// Reads a module, whatever the format.
pub fn read_module(bytes: &[u8]) -> Result<Read, Vec<Diagnostic>> {
    read_module_with(bytes, &ParseOptions::default())
}

/// As [`read_module`], with options for text.
pub fn read_module_with(bytes: &[u8], options: &ParseOptions) -> Result<Read, Vec<Diagnostic>> {
    match sniff(bytes) {
        Some(Format::Text) => {
            let text = std::str::from_utf8(bytes).map_err(|error| {
                vec![Diagnostic::error(format!(
                    "the text is not UTF-8 at byte {}",
                    error.valid_up_to()
                ))]
            })?;
            let parsed = parse(text, options)?;
            Ok(Read {
                spans: Some(parsed.spans),
                warnings: parsed.warnings,
                ..plain(parsed.module, Format::Text)
            })
        }
        Some(format) => read_proto(bytes, format).map_err(|error| vec![error]),
        None => Err(vec![Diagnostic::error(
            "this is neither HLO text nor a whole proto with an HLO module",
        )]),
    }
}

fn plain(module: Module, format: Format) -> Read {
    Read { module, format, arguments: Vec::new(), result: None, spans: None, warnings: Vec::new() }
}

fn read_proto(bytes: &[u8], format: Format) -> Result<Read, Diagnostic> {
    match format {
        Format::Text => Err(Diagnostic::error("text is no proto")),
        Format::HloModuleProto => {
            let proto: HloModuleProto = decode(bytes)?;
            Ok(plain(from_proto(&proto)?, format))
        }
        Format::HloModuleProtoWithConfig => {
            let proto: HloModuleProtoWithConfig = decode(bytes)?;
            Ok(plain(from_proto_with_config(&proto)?, format))
        }
        Format::HloProto => {
            let proto: HloProto = decode(bytes)?;
            Ok(plain(from_proto(&proto.hlo_module.unwrap_or_default())?, format))
        }
        Format::HloSnapshot => {
            let proto: HloSnapshot = decode(bytes)?;
            let module = proto.hlo.and_then(|hlo| hlo.hlo_module).unwrap_or_default();
            let mut read = plain(from_proto(&module)?, format);
            read.arguments =
                proto.arguments.iter().map(literal::from_proto).collect::<Result<_, _>>()?;
            read.result = proto.result.as_ref().map(literal::from_proto).transpose()?;
            Ok(read)
        }
        Format::HloUnoptimizedSnapshot => {
            let proto: HloUnoptimizedSnapshot = decode(bytes)?;
            let mut read = plain(from_proto(&proto.hlo_module.unwrap_or_default())?, format);
            if let [inputs] = &proto.partitions[..] {
                read.arguments =
                    inputs.arguments.iter().map(literal::from_proto).collect::<Result<_, _>>()?;
            }
            Ok(read)
        }
    }
}

/// Decodes a message; the error says where it broke.
pub fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M, Diagnostic> {
    M::decode(bytes).map_err(|error| Diagnostic::error(format!("the proto is broken: {error}")))
}

/// What the bytes hold, if anything we know.
pub fn sniff(bytes: &[u8]) -> Option<Format> {
    if looks_like_text(bytes) {
        return Some(Format::Text);
    }
    // Field 1 is the name in a module and a message that holds a module in the others. What its
    // own fields are tells which.
    let outer = fields(bytes)?;
    let (_, first) = *outer.iter().find(|(number, _)| *number == 1)?;
    let has = |fields: &[(u64, &[u8])], number: u64| fields.iter().any(|&(n, _)| n == number);
    if has(&outer, 3) && outer.iter().any(|&(n, value)| n == 3 && is_computation(value)) {
        return Some(Format::HloModuleProto);
    }
    let inner = fields(first)?;
    if inner.iter().any(|&(n, value)| n == 3 && is_computation(value)) {
        // One module inside: the field that says more has another number in each.
        let partitions = outer.iter().any(|&(n, value)| n == 2 && is_inputs(value));
        return Some(if partitions {
            Format::HloUnoptimizedSnapshot
        } else if has(&outer, 2) {
            Format::HloModuleProtoWithConfig
        } else {
            Format::HloProto
        });
    }
    let (_, module) = *inner.iter().find(|(number, _)| *number == 1)?;
    let innermost = fields(module)?;
    let is_module = innermost.iter().any(|&(n, value)| n == 3 && is_computation(value));
    is_module.then_some(Format::HloSnapshot)
}

/// Text begins with a word, or a comment; a proto with a tag and a length.
fn looks_like_text(bytes: &[u8]) -> bool {
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(bytes.len());
    let rest = &bytes[start..];
    if rest.starts_with(b"HloModule") || rest.starts_with(b"//") || rest.starts_with(b"/*") {
        return true;
    }
    let head = &rest[..rest.len().min(512)];
    !head.is_empty()
        && head.iter().all(|&byte| byte == b'\n' || byte == b'\r' || byte == b'\t' || byte >= 0x20)
        && (head.starts_with(b"ENTRY") || head.starts_with(b"%") || head.contains(&b'='))
}

/// `HloComputationProto`: a name, and instructions with an opcode.
fn is_computation(bytes: &[u8]) -> bool {
    let Some(computation) = fields(bytes) else { return false };
    let instruction = computation.iter().find(|(number, _)| *number == 2);
    let Some((_, instruction)) = instruction else { return false };
    fields(instruction).is_some_and(|fields| fields.iter().any(|(number, _)| *number == 2))
}

/// `HloInputs`: nothing but literals and their descriptions.
fn is_inputs(bytes: &[u8]) -> bool {
    fields(bytes).is_some_and(|fields| {
        fields
            .iter()
            .all(|&(number, value)| number == 2 || (number == 1 && self::fields(value).is_some()))
    })
}

/// The fields of a message with their numbers, or `None` if it is none. Numbers have no bytes.
fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let number = tag >> 3;
        if number == 0 {
            return None;
        }
        match tag & 7 {
            0 => {
                varint(&mut bytes)?;
                out.push((number, &[][..]));
            }
            1 => {
                bytes = bytes.get(8..)?;
                out.push((number, &[][..]));
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let value = bytes.get(..length)?;
                out.push((number, value));
                bytes = &bytes[length..];
            }
            5 => {
                bytes = bytes.get(4..)?;
                out.push((number, &[][..]));
            }
            _ => return None,
        }
    }
    Some(out)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
