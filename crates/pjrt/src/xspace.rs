//! Traces as `XSpace`, the proto that profilers of JAX and TensorFlow show; field numbers are those of
//! `xplane.proto`.
//!
//! A device is a plane with a line for programs and one for their instructions, named as XLA names
//! them, so that tools find what they look for. What the host does (compilations, passes, code
//! generation, copies) is a plane with a line for each thread; its name is one of a device, since converters to
//! other formats know no other planes.

use rustc_hash::FxHashMap;
use rxla::trace::{Event, Kind, Trace, epoch};

use crate::wire::Writer;

/// Statistics that are numbers.
const NUMBERS: &[&str] = &["flops", "bytes_accessed", "rewrites", "ir_bytes"];

/// Statistics that tools look for at each event rather than at its kind.
const AT_EVENTS: &[&str] = &["hlo_op", "hlo_module"];

/// The bytes of an `XSpace`.
pub(crate) fn serialize(trace: &Trace) -> Vec<u8> {
    let on_device = |event: &&Event| matches!(event.kind, Kind::Program | Kind::Op);
    let mut devices: Vec<u32> =
        trace.events.iter().filter(on_device).map(|event| event.device.unwrap_or(0)).collect();
    devices.sort_unstable();
    devices.dedup();
    let mut space = Writer::default();
    for device in devices {
        let own: Vec<&Event> = trace
            .events
            .iter()
            .filter(on_device)
            .filter(|event| event.device.unwrap_or(0) == device)
            .collect();
        let mut plane = Plane::new(i64::from(device), &format!("/device:CUSTOM:RXLA:{device}"));
        for (kind, name) in [(Kind::Program, "XLA Modules"), (Kind::Op, "XLA Ops")] {
            let own = own.iter().copied().filter(|event| event.kind == kind);
            plane.lines(own.collect(), trace, |number, _| match number {
                0 => name.to_owned(),
                number => format!("{name} {}", number + 1),
            });
        }
        space.bytes(1, &plane.finish());
    }
    let host: Vec<&Event> = trace.events.iter().filter(|event| !on_device(event)).collect();
    if !host.is_empty() {
        let mut plane = Plane::new(1 << 20, "/device:CUSTOM:RXLA host");
        plane.lines(host, trace, |number, thread| format!("{thread} {}", number + 1));
        space.bytes(1, &plane.finish());
    }
    space.0
}

struct Plane {
    id: i64,
    name: String,
    out: Writer,
    lines: i64,
    /// Kinds of events by name and details.
    kinds: FxHashMap<(String, usize), i64>,
    /// Statistics, and texts that they refer to, by name.
    stats: FxHashMap<String, i64>,
    /// Entries of the two maps, in order.
    kind_entries: Vec<Vec<u8>>,
    stat_entries: Vec<Vec<u8>>,
}

impl Plane {
    fn new(id: i64, name: &str) -> Plane {
        Plane {
            id,
            name: name.to_owned(),
            out: Writer::default(),
            lines: 0,
            kinds: FxHashMap::default(),
            stats: FxHashMap::default(),
            kind_entries: Vec::new(),
            stat_entries: Vec::new(),
        }
    }

    /// Adds events as a line for each thread; `name` is given the line's number and the thread's name.
    fn lines(&mut self, events: Vec<&Event>, trace: &Trace, name: impl Fn(usize, &str) -> String) {
        let mut threads: Vec<u32> = events.iter().map(|event| event.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        for (number, thread) in threads.into_iter().enumerate() {
            let own: Vec<&Event> =
                events.iter().copied().filter(|event| event.thread == thread).collect();
            let begin = own.iter().map(|event| event.start).min().unwrap_or(0);
            let known = trace.threads.iter().find(|(known, _)| *known == thread);
            let thread_name = known.map_or("thread", |(_, name)| name);
            self.lines += 1;
            let mut line = Writer::default();
            line.int(1, self.lines);
            line.bytes(2, name(number, thread_name).as_bytes());
            line.int(3, (epoch() + begin) as i64);
            for event in own {
                let mut out = Writer::default();
                out.int(1, self.kind(event));
                out.int(2, (event.start - begin).saturating_mul(1000) as i64);
                out.int(3, event.duration.saturating_mul(1000) as i64);
                for (name, value) in event.details.as_deref().unwrap_or_default() {
                    if AT_EVENTS.contains(name) {
                        let mut stat = Writer::default();
                        stat.int(1, self.stat(name));
                        stat.int(7, self.stat(value));
                        out.bytes(4, &stat.0);
                    }
                }
                line.bytes(4, &out.0);
            }
            self.out.bytes(3, &line.0);
        }
    }

    /// The number of an event's kind, which has its name and what is known of it.
    fn kind(&mut self, event: &Event) -> i64 {
        let details = event.details.as_deref().unwrap_or_default();
        // Details are one list for all events of an instruction.
        let key = (event.name.to_string(), details.as_ptr().addr());
        if let Some(&known) = self.kinds.get(&key) {
            return known;
        }
        let id = self.kinds.len() as i64 + 1;
        self.kinds.insert(key, id);
        let mut kind = Writer::default();
        kind.int(1, id);
        kind.bytes(2, event.name.as_bytes());
        for (name, value) in details {
            let mut stat = Writer::default();
            stat.int(1, self.stat(name));
            match value.parse::<u64>() {
                Ok(number) if NUMBERS.contains(name) => stat.int(3, number as i64),
                _ => stat.bytes(5, value.as_bytes()),
            }
            kind.bytes(5, &stat.0);
        }
        let mut entry = Writer::default();
        entry.int(1, id);
        entry.bytes(2, &kind.0);
        self.kind_entries.push(entry.0);
        id
    }

    /// The number of a statistic, or of a text that one refers to.
    fn stat(&mut self, name: &str) -> i64 {
        if let Some(&known) = self.stats.get(name) {
            return known;
        }
        let id = self.stats.len() as i64 + 1;
        self.stats.insert(name.to_owned(), id);
        let mut stat = Writer::default();
        stat.int(1, id);
        stat.bytes(2, name.as_bytes());
        let mut entry = Writer::default();
        entry.int(1, id);
        entry.bytes(2, &stat.0);
        self.stat_entries.push(entry.0);
        id
    }

    fn finish(self) -> Vec<u8> {
        let mut plane = Writer::default();
        plane.int(1, self.id);
        plane.bytes(2, self.name.as_bytes());
        plane.0.extend(self.out.0);
        for entry in &self.kind_entries {
            plane.bytes(4, entry);
        }
        for entry in &self.stat_entries {
            plane.bytes(5, entry);
        }
        plane.0
    }
}
