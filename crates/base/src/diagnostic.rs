//! Findings about an input, each with its place, both sides of the mismatch and, where there is
//! some, advice. Readers and the verifier collect them and go on.

use std::fmt;

use crate::{Code, Error};

/// A byte range in a source text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Span {
        // Sources beyond 4 GiB are refused by the readers; saturate rather than wrap.
        let clip = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Span { start: clip(start), end: clip(end) }
    }

    /// The smallest span holding both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Severity {
    Error,
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

/// One finding. Messages are lower case, without a full stop, with backticks round code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    pub severity: Severity,
    pub message: String,
    /// Where in the source text, if there is one, with a word on what stands there (may be empty).
    pub labels: Vec<(Span, String)>,
    /// Where, said in words: instruction name, user's source line. Used when there is no text.
    pub notes: Vec<String>,
    /// Advice, printed after `hint:`.
    pub hint: Option<String>,
}

impl Diagnostic {
    pub fn error(message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            message: message.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            hint: None,
        }
    }

    pub fn warning(message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(message) }
    }

    #[must_use]
    pub fn at(mut self, span: Span) -> Diagnostic {
        self.labels.push((span, String::new()));
        self
    }

    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push((span, text.into()));
        self
    }

    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hint = Some(hint.into());
        self
    }

    /// The diagnostic as text with line, column and caret, if `source` is given.
    pub fn render(&self, source: Option<&Source<'_>>) -> String {
        use fmt::Write;
        let mut out = format!("{}: {}\n", self.severity, self.message);
        for (span, text) in &self.labels {
            if let Some(source) = source {
                source.render_label(*span, text, &mut out);
            }
        }
        for note in &self.notes {
            _ = writeln!(out, "  {note}");
        }
        if let Some(hint) = &self.hint {
            _ = writeln!(out, "hint: {hint}");
        }
        out
    }
}

/// A named source text, to point into.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    /// Line and column of a byte offset, both from 1; the column counts characters.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }

    fn render_label(&self, span: Span, text: &str, out: &mut String) {
        use fmt::Write;
        // Longer lines are cut to a window round the caret: HLO lines reach megabytes.
        const BEFORE: usize = 60;
        const WIDTH: usize = 120;
        let (line, column) = self.position(span.start as usize);
        _ = writeln!(out, "  --> {}:{line}:{column}", self.name);
        let whole: Vec<char> =
            self.text.lines().nth(line - 1).unwrap_or("").chars().take(column + WIDTH).collect();
        let first = if column > WIDTH - 20 { column - 1 - BEFORE } else { 0 };
        let shown: String = whole.iter().skip(first).take(WIDTH).collect();
        let caret = column - 1 - first;
        let length = (span.end.saturating_sub(span.start) as usize)
            .clamp(1, shown.chars().count().saturating_sub(caret).max(1));
        let gutter = line.to_string();
        _ = writeln!(out, "{gutter:>5} | {shown}");
        _ = writeln!(out, "      | {}{} {text}", " ".repeat(caret), "^".repeat(length));
        while out.ends_with(" \n") {
            out.truncate(out.len() - 2);
            out.push('\n');
        }
    }
}

/// All diagnostics as one text, with a closing count if there are several errors.
pub fn render_all(diagnostics: &[Diagnostic], source: Option<&Source<'_>>) -> String {
    let mut out: String = diagnostics.iter().map(|d| d.render(source)).collect();
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
    if errors > 1 {
        out.push_str(&format!("{errors} errors\n"));
    }
    out
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Error {
        Error::new(Code::InvalidArgument, diagnostic.render(None).trim_end().to_owned())
    }
}
