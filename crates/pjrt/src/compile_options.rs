//! `CompileOptionsProto` and `DeviceAssignmentProto`, by field number of XLA's
//! `compile_options.proto` and `xla_data.proto`. What does not concern us is skipped.

use std::collections::BTreeMap;

use rxla::flags::Flags;
use rxla::hlo::{DeviceAssignment, ElementType, Layout, Shape};
use rxla::{CompileOptions, Error, Result};

use crate::environment;
use crate::wire::{self, Field, Writer};

/// Reads a serialized `CompileOptionsProto`. No bytes are default options.
pub(crate) fn read(bytes: &[u8]) -> Result<CompileOptions> {
    let mut options = CompileOptions::default();
    let mut argument_layouts = Vec::new();
    for field in wire::fields(bytes) {
        match field? {
            (1, field) => argument_layouts.push(read_shape(field.bytes()?, 0)?),
            (2, field) => options.tupled_arguments = field.flag()?,
            (3, field) => read_build_options(field.bytes()?, &mut options)?,
            (4, field) => options.portable = field.flag()?,
            (7, field) => {
                let (name, value) = read_override(field.bytes()?)?;
                if !rxla::flags::is_option(&name) {
                    let message = format!("No such compile option: '{name}'");
                    return Err(Error::invalid_argument(message));
                }
                options.overrides.insert(name, value);
            }
            _ => {}
        }
    }
    if !argument_layouts.is_empty() {
        options.argument_layouts = Some(argument_layouts);
    }
    Ok(options)
}

fn read_build_options(bytes: &[u8], options: &mut CompileOptions) -> Result<()> {
    let count = |field: Field<'_>, what: &str| -> Result<usize> {
        let count = field.int()?;
        usize::try_from(count).map_err(|_| {
            Error::invalid_argument(format!("the compile options ask for {count} {what}"))
        })
    };
    for field in wire::fields(bytes) {
        match field? {
            (2, field) => options.result_layout = Some(read_shape(field.bytes()?, 0)?),
            (3, field) => read_debug_options(field.bytes()?, &mut options.overrides)?,
            // Zero stands for "not said".
            (4, field) => options.replicas = count(field, "replicas")?.max(1),
            (5, field) => options.partitions = count(field, "partitions")?.max(1),
            (6, field) => options.spmd_partitioning = field.flag()?,
            (9, field) => options.device_assignment = Some(read_assignment(field.bytes()?)?),
            (12, field) => read_flags(field, &mut options.propagate_sharding_to_output)?,
            (18, field) => read_flags(field, &mut options.propagate_sharding_to_parameters)?,
            _ => {}
        }
    }
    Ok(())
}

fn read_flags(field: Field<'_>, flags: &mut Vec<bool>) -> Result<()> {
    let mut list = Vec::new();
    field.ints(&mut list)?;
    flags.extend(list.into_iter().map(|flag| flag != 0));
    Ok(())
}

/// The fields of `DebugOptions` in XLA's `xla.proto` that are flags here.
const DEBUG_OPTIONS: &[(u64, &str)] = &[
    (30, "xla_disable_hlo_passes"),
    (104, "xla_disable_all_hlo_passes"),
    (109, "xla_dump_to"),
    (110, "xla_dump_hlo_module_re"),
    (111, "xla_dump_hlo_pass_re"),
    (112, "xla_dump_hlo_as_text"),
    (113, "xla_dump_hlo_as_proto"),
    (114, "xla_dump_hlo_as_dot"),
    (116, "xla_dump_hlo_as_html"),
    (118, "xla_dump_hlo_snapshots"),
    (124, "xla_enable_hlo_passes_only"),
    (131, "xla_dump_include_timestamp"),
    (132, "xla_dump_max_hlo_modules"),
    (153, "xla_dump_disable_metadata"),
    (154, "xla_dump_hlo_pipeline_re"),
    (164, "xla_dump_hlo_as_long_text"),
    (290, "xla_dump_large_constants"),
];

/// Reads a `DebugOptions`. Frameworks send all of them with what `XLA_FLAGS` and their own defaults
/// say; what differs from that was chosen for this program.
fn read_debug_options(bytes: &[u8], overrides: &mut BTreeMap<String, String>) -> Result<()> {
    let mut said: BTreeMap<&str, String> = BTreeMap::new();
    for field in wire::fields(bytes) {
        let (number, field) = field?;
        let Some(&(_, name)) = DEBUG_OPTIONS.iter().find(|(known, _)| *known == number) else {
            continue;
        };
        let text = match field {
            Field::Bytes(_) => field.text()?.to_owned(),
            // Truth values are 0 and 1, which flags take, too.
            _ => field.int()?.to_string(),
        };
        let value = said.entry(name).or_default();
        if !value.is_empty() {
            value.push(',');
        }
        value.push_str(&text);
    }
    for (name, value) in said {
        let mut flags = Flags::default();
        let usual = flags.set(name, &value).is_ok() && flags == Flags::default();
        if !usual && !environment::has(name, &value) {
            overrides.entry(name.to_owned()).or_insert(value);
        }
    }
    Ok(())
}

/// An entry of the map of overrides; the value is one of four kinds, kept as text.
fn read_override(bytes: &[u8]) -> Result<(String, String)> {
    let (mut name, mut text) = (String::new(), String::new());
    for field in wire::fields(bytes) {
        match field? {
            (1, field) => name = field.text()?.to_owned(),
            (2, field) => {
                for field in wire::fields(field.bytes()?) {
                    text = match field? {
                        (1, field) => field.text()?.to_owned(),
                        (2, field) => field.flag()?.to_string(),
                        (3, field) => field.int()?.to_string(),
                        (4, Field::Fixed64(bits)) => f64::from_bits(bits).to_string(),
                        _ => continue,
                    };
                }
            }
            _ => {}
        }
    }
    Ok((name, text))
}

/// Reads a serialized `DeviceAssignmentProto`.
pub(crate) fn read_assignment(bytes: &[u8]) -> Result<DeviceAssignment> {
    let mut assignment =
        DeviceAssignment { replica_count: 0, computation_count: 0, devices: Vec::new() };
    for field in wire::fields(bytes) {
        match field? {
            (1, field) => assignment.replica_count = field.int()?,
            (2, field) => assignment.computation_count = field.int()?,
            (3, field) => {
                let mut ids = Vec::new();
                for field in wire::fields(field.bytes()?) {
                    if let (1, field) = field? {
                        field.ints(&mut ids)?;
                    }
                }
                assignment.devices.push(ids);
            }
            _ => {}
        }
    }
    let consistent = usize::try_from(assignment.computation_count)
        .is_ok_and(|count| count == assignment.devices.len())
        && assignment
            .devices
            .iter()
            .all(|ids| usize::try_from(assignment.replica_count).is_ok_and(|c| c == ids.len()));
    if consistent {
        Ok(assignment)
    } else {
        Err(Error::invalid_argument(format!(
            "a device assignment of {} replicas of {} computations lists {:?}",
            assignment.replica_count, assignment.computation_count, assignment.devices
        )))
    }
}

/// Writes a `DeviceAssignmentProto`.
pub(crate) fn write_assignment(assignment: &DeviceAssignment) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.int(1, assignment.replica_count);
    writer.int(2, assignment.computation_count);
    for ids in &assignment.devices {
        let mut computation = Writer::default();
        computation.ints(1, ids.iter().copied());
        writer.bytes(3, &computation.0);
    }
    writer.0
}

/// Tuples in layouts are flat; deeper ones are garbage.
const DEEPEST_SHAPE: usize = 8;

/// Reads a `ShapeProto` with as much of its layout as host memory can have.
fn read_shape(bytes: &[u8], depth: usize) -> Result<Shape> {
    if depth > DEEPEST_SHAPE {
        return Err(Error::invalid_argument("a shape in the compile options is nested too deep"));
    }
    const TUPLE: i64 = 13;
    const OPAQUE: i64 = 14;
    const TOKEN: i64 = 17;
    let (mut number, mut dims, mut dynamic) = (0, Vec::new(), Vec::new());
    let (mut elements, mut layout) = (Vec::new(), None);
    for field in wire::fields(bytes) {
        match field? {
            (2, field) => number = field.int()?,
            (3, field) => field.ints(&mut dims)?,
            (4, field) => elements.push(read_shape(field.bytes()?, depth + 1)?),
            (5, field) => layout = Some(field.bytes()?),
            (6, field) => read_flags(field, &mut dynamic)?,
            _ => {}
        }
    }
    match number {
        TUPLE => return Ok(Shape::tuple(elements)),
        TOKEN => return Ok(Shape::Token),
        OPAQUE => return Ok(Shape::Opaque),
        _ => {}
    }
    let element_type =
        i32::try_from(number).ok().and_then(ElementType::from_proto_number).ok_or_else(|| {
            Error::invalid_argument(format!(
                "a shape in the compile options has element type {number}"
            ))
        })?;
    let mut shape = rxla::hlo::ArrayShape::new(element_type, dims);
    for (dimension, dynamic) in dynamic.into_iter().enumerate().take(shape.rank()) {
        shape.set_dynamic(dimension, dynamic);
    }
    if let Some(layout) = layout {
        let mut order = Vec::new();
        let mut memory_space = 0;
        for field in wire::fields(layout) {
            match field? {
                (1, field) => field.ints(&mut order)?,
                (8, field) => memory_space = field.int()?,
                _ => {}
            }
        }
        if order.len() == shape.rank() {
            let mut layout = Layout::new(order);
            layout.memory_space = memory_space;
            shape.layout = Some(Box::new(layout));
        }
    }
    Ok(Shape::Array(shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_jax_sends_is_read() {
        let assignment = DeviceAssignment {
            replica_count: 1,
            computation_count: 2,
            devices: vec![vec![1], vec![0]],
        };
        let mut build = Writer::default();
        build.int(1, -1);
        build.int(4, 1);
        build.int(5, 2);
        build.int(6, 1);
        build.bytes(9, &write_assignment(&assignment));
        build.ints(12, [1, 0]);
        let mut value = Writer::default();
        value.int(2, 1);
        let mut entry = Writer::default();
        entry.bytes(1, b"xla_dump_to");
        entry.bytes(2, &value.0);
        let mut options = Writer::default();
        options.bytes(3, &build.0);
        options.bytes(7, &entry.0);
        let read = read(&options.0).unwrap();
        assert_eq!((read.replicas, read.partitions, read.spmd_partitioning), (1, 2, true));
        assert_eq!(read.device_assignment, Some(assignment));
        assert_eq!(read.propagate_sharding_to_output, [true, false]);
        assert_eq!(read.overrides["xla_dump_to"], "true");
    }

    #[test]
    fn an_option_that_does_not_exist_is_refused() {
        let mut entry = Writer::default();
        entry.bytes(1, b"xla_dumb_to");
        let mut options = Writer::default();
        options.bytes(7, &entry.0);
        let message = read(&options.0).unwrap_err().message;
        assert_eq!(message, "No such compile option: 'xla_dumb_to'");
    }

    /// Whatever the bytes, reading ends with options or an error.
    #[test]
    fn mutations_of_a_message_are_read_or_refused() {
        let mut shape = Writer::default();
        shape.int(2, 11);
        shape.ints(3, [2, 3]);
        let mut layout = Writer::default();
        layout.ints(1, [0, 1]);
        shape.bytes(5, &layout.0);
        let assignment =
            DeviceAssignment { replica_count: 2, computation_count: 1, devices: vec![vec![0, 1]] };
        let mut build = Writer::default();
        build.bytes(2, &shape.0);
        build.int(4, 2);
        build.bytes(9, &write_assignment(&assignment));
        build.ints(18, [1, 1]);
        let mut options = Writer::default();
        options.bytes(1, &shape.0);
        options.bytes(3, &build.0);
        let (mut state, mut refused) = (1u64, 0);
        let mut random = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for _ in 0..20_000 {
            let mut bytes = options.0.clone();
            for _ in 0..1 + random(4) {
                let at = random(bytes.len());
                bytes[at] = random(256) as u8;
            }
            bytes.truncate(bytes.len() - random(2) * random(bytes.len()));
            refused += usize::from(read(&bytes).is_err());
        }
        assert!((1000..20_000).contains(&refused), "{refused} of 20000 were refused");
    }

    #[test]
    fn no_bytes_are_defaults_and_garbage_is_an_error() {
        assert_eq!(read(&[]).unwrap(), CompileOptions::default());
        assert!(read(b"garbage").is_err());
    }
}
