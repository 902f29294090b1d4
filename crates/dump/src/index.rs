//! `index.json` of a folder of dumps: what each file is. An entry is a line, so that the entries of
//! earlier compilations and of other processes are kept by looking at lines.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

const NAME: &str = "index.json";

pub(crate) struct Entry {
    pub(crate) file: String,
    pub(crate) kind: &'static str,
    pub(crate) module: String,
    pub(crate) about: String,
}

/// Adds entries to a folder's index.
pub(crate) fn add(folder: &Path, entries: &[Entry]) {
    static ONE: Mutex<()> = Mutex::new(());
    if entries.is_empty() {
        return;
    }
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let old = std::fs::read_to_string(folder.join(NAME)).unwrap_or_default();
    let starts: Vec<String> = entries.iter().map(|entry| start(&entry.file)).collect();
    let mut lines: Vec<String> = old
        .lines()
        .filter(|line| line.starts_with(START))
        .filter(|line| !starts.iter().any(|start| line.starts_with(start)))
        .map(|line| line.trim_end_matches(',').to_owned())
        .collect();
    lines.extend(entries.iter().zip(starts).map(|(entry, start)| {
        let Entry { file: _, kind, module, about } = entry;
        format!(
            "{start}, \"kind\": \"{kind}\", \"module\": {}, \"about\": {}}}",
            quoted(module),
            quoted(about)
        )
    }));
    let text = format!("{{\"files\": [\n{}\n]}}\n", lines.join(",\n"));
    // Whole or not at all: another process may read it.
    let own = format!(".{NAME}.{}", std::process::id());
    if super::put(folder, &own, text.as_bytes())
        && let Err(error) = std::fs::rename(folder.join(&own), folder.join(NAME))
    {
        super::warn_once(&format!("cannot write the index of `{}`: {error}", folder.display()));
    }
}

const START: &str = "{\"file\": ";

fn start(file: &str) -> String {
    format!("{START}{}", quoted(file))
}

/// A string of JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", control as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
