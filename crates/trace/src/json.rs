//! Traces as JSON for Perfetto and chrome://tracing.

use std::fmt::Write;

use super::{Event, Kind, Trace};

/// The number under which the threads of the process stand; devices have those after it.
const PROCESS: u32 = 1;

/// The trace as one JSON object. What ran on devices stands with the devices, the rest with the
/// threads that did it.
pub fn chrome_json(trace: &Trace) -> String {
    let mut out = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    let mut devices: Vec<u32> = trace.events.iter().filter_map(|event| event.device).collect();
    devices.sort_unstable();
    devices.dedup();
    let mut named = |process: u32, name: &str| {
        meta(&mut out, "process_name", process, 0, name);
        for (thread, name) in &trace.threads {
            let mut events = trace.events.iter();
            if events.any(|event| event.thread == *thread && self::process(event) == process) {
                meta(&mut out, "thread_name", process, *thread, name);
            }
        }
    };
    named(PROCESS, "rxla");
    for device in devices {
        named(PROCESS + 1 + device, &format!("rxla device {device}"));
    }
    for event in &trace.events {
        write_event(&mut out, event);
    }
    // The format has no comma after the last one.
    if out.ends_with(",\n") {
        out.truncate(out.len() - 2);
    }
    let _ = write!(out, "\n],\"otherData\":{{\"lost_events\":\"{}\"}}}}\n", trace.lost);
    out
}

fn meta(out: &mut String, what: &str, process: u32, thread: u32, name: &str) {
    let _ = write!(out, "{{\"name\":\"{what}\",\"ph\":\"M\",\"pid\":{process},\"tid\":{thread},");
    out.push_str("\"args\":{\"name\":");
    text(out, name);
    out.push_str("}},\n");
}

/// The process under which an event stands.
fn process(event: &Event) -> u32 {
    match (event.kind, event.device) {
        (Kind::Op | Kind::Program, Some(device)) => PROCESS + 1 + device,
        _ => PROCESS,
    }
}

fn write_event(out: &mut String, event: &Event) {
    let micros = |nanos: u64| format!("{}.{:03}", nanos / 1000, nanos % 1000);
    out.push_str("{\"name\":");
    text(out, &event.name);
    let _ = write!(
        out,
        ",\"cat\":\"{}\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{}",
        event.kind.name(),
        process(event),
        event.thread,
        micros(event.start),
        micros(event.duration)
    );
    if let Some(details) = &event.details {
        out.push_str(",\"args\":{");
        for (index, (name, value)) in details.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            text(out, name);
            out.push(':');
            text(out, value);
        }
        out.push('}');
    }
    out.push_str("},\n");
}

/// A string of JSON.
fn text(out: &mut String, value: &str) {
    out.push('"');
    for letter in value.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        let mut out = String::new();
        text(&mut out, "a\"b\\c\n\u{1}é");
        assert_eq!(out, "\"a\\\"b\\\\c\\n\\u0001é\"");
    }

    #[test]
    fn an_empty_trace_is_valid() {
        let json = chrome_json(&Trace::default());
        assert!(json.contains("\"args\":{\"name\":\"rxla\"}}\n],"), "{json}");
    }
}
