//! The model as JSON that may stand inside of a `script` element.
//!
//! Beyond what JSON asks for, `<`, `>` and `&` are escaped, so no string can end the element or begin
//! a comment, and so are the two line ends that old scripts do not take in strings.

use std::fmt::Write;

use crate::model::{Change, ChangeKind, Computation, Instruction, Model, Program, StepModel};

pub(crate) fn model(model: &Model) -> String {
    let mut out = Json(String::new());
    out.object(|out| {
        out.field("title", |out| out.string(&model.title));
        out.field("strings", |out| out.list(&model.strings, |out, s| out.string(s)));
        out.field("instructions", |out| instructions(out, &model.instructions));
        out.field("computations", |out| out.list(&model.computations, computation));
        out.field("programs", |out| out.list(&model.programs, program));
        out.field("texts", |out| {
            out.list(&model.texts, |out, text| {
                out.object(|out| {
                    out.field("program", |out| out.string(&text.program));
                    out.field("title", |out| out.string(&text.title));
                    out.field("kind", |out| out.string(text.kind));
                    out.field("text", |out| out.string(&text.text));
                });
            });
        });
        out.field("times", |out| {
            out.list(&model.times, |out, time| {
                out.raw("[");
                out.string(&time.module);
                out.raw(",");
                out.string(&time.instruction);
                out.raw(",");
                out.number(time.microseconds);
                out.raw("]");
            });
        });
    });
    out.0
}

/// One list per field: tens of thousands of instructions need no field names each.
fn instructions(out: &mut Json, all: &[Instruction]) {
    out.object(|out| {
        let mut column = |name: &str, of: fn(&Instruction) -> u32| {
            out.field(name, |out| out.list(all, |out, i| out.integer(u64::from(of(i)))));
        };
        column("name", |i| i.name);
        column("opcode", |i| i.opcode);
        column("shape", |i| i.shape);
        column("attributes", |i| i.attributes);
        column("value", |i| i.value);
        column("op_name", |i| i.op_name);
        column("source", |i| i.source);
        column("metadata", |i| i.metadata);
        let mut lists = |name: &str, of: fn(&Instruction) -> &[u32]| {
            out.field(name, |out| out.list(all, |out, i| out.integers(of(i))));
        };
        lists("operands", |i| &i.operands);
        lists("after", |i| &i.after);
        lists("calls", |i| &i.calls);
    });
}

fn computation(out: &mut Json, computation: &Computation) {
    out.object(|out| {
        out.field("name", |out| out.integer(computation.name.into()));
        out.field("instructions", |out| out.integers(&computation.instructions));
        if let Some(root) = computation.root {
            out.field("root", |out| out.integer(root.into()));
        }
        out.field("calls", |out| out.integers(&computation.calls));
        let mut numbers = |name: &str, values: &[f64]| {
            out.field(name, |out| out.list(values, |out, &value| out.number(value)));
        };
        numbers("flops", &computation.flops);
        numbers("transcendentals", &computation.transcendentals);
        numbers("bytes", &computation.bytes);
        let liveness = &computation.liveness;
        out.field("buffers", |out| {
            out.list(&liveness.buffers, |out, b| {
                out.list(
                    &[b.defined.into(), b.first.into(), b.last.into(), b.bytes],
                    |out, &value| out.integer(value),
                );
            });
        });
        out.field("peak", |out| out.integer(liveness.peak));
        out.field("peak_at", |out| out.integer(liveness.peak_at.into()));
        out.field("called", |out| {
            out.list(&liveness.called, |out, &(place, bytes)| {
                out.list(&[u64::from(place), bytes], |out, &value| out.integer(value));
            });
        });
    });
}

fn program(out: &mut Json, program: &Program) {
    out.object(|out| {
        out.field("name", |out| out.string(&program.name));
        out.field("module", |out| out.string(&program.module));
        out.field("steps", |out| out.list(&program.steps, step));
    });
}

fn step(out: &mut Json, step: &StepModel) {
    out.object(|out| {
        out.field("title", |out| out.string(&step.title));
        out.field("scheduled", |out| out.raw(if step.is_scheduled { "true" } else { "false" }));
        out.field("computations", |out| out.integers(&step.computations));
        out.field("runs", |out| out.list(&step.runs, |out, &runs| out.number(runs)));
        if let Some(entry) = step.entry {
            out.field("entry", |out| out.integer(entry.into()));
        }
        out.field("changes", |out| out.list(&step.changes, change));
        for (name, pairs) in
            [("renamed", &step.renamed), ("renamed_computations", &step.renamed_computations)]
        {
            out.field(name, |out| out.list(pairs, |out, &(old, new)| out.integers(&[old, new])));
        }
    });
}

fn change(out: &mut Json, change: &Change) {
    out.object(|out| {
        out.field("computation", |out| out.integer(change.computation.into()));
        let kind = match change.kind {
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            ChangeKind::Changed => "changed",
        };
        out.field("kind", |out| out.string(kind));
        out.field("added", |out| out.integers(&change.added));
        out.field("removed", |out| out.integers(&change.removed));
        out.field("changed", |out| out.integers(&change.changed));
    });
}

/// Text being made. Commas are set by what was written last.
struct Json(String);

impl Json {
    fn raw(&mut self, text: &str) {
        self.0.push_str(text);
    }

    fn separate(&mut self) {
        if !self.0.ends_with(['{', '[', ':']) && !self.0.is_empty() {
            self.0.push(',');
        }
    }

    fn object(&mut self, content: impl FnOnce(&mut Json)) {
        self.0.push('{');
        content(self);
        self.0.push('}');
    }

    fn field(&mut self, name: &str, value: impl FnOnce(&mut Json)) {
        self.separate();
        self.string(name);
        self.0.push(':');
        value(self);
    }

    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Json, &T)) {
        self.0.push('[');
        for (index, value) in items.iter().enumerate() {
            if index > 0 {
                self.0.push(',');
            }
            item(self, value);
        }
        self.0.push(']');
    }

    fn integer(&mut self, value: u64) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{value}");
    }

    fn integers(&mut self, values: &[u32]) {
        self.list(values, |out, &value| out.integer(value.into()));
    }

    /// JSON has no infinities; nothing is that dear.
    fn number(&mut self, value: f64) {
        let value = if value.is_finite() { value } else { f64::MAX };
        if value.fract() == 0.0 && value.abs() < 9e15 {
            let _ = write!(self.0, "{value:.0}");
        } else {
            let _ = write!(self.0, "{value:e}");
        }
    }

    fn string(&mut self, text: &str) {
        self.0.push('"');
        for c in text.chars() {
            match c {
                '"' => self.raw("\\\""),
                '\\' => self.raw("\\\\"),
                '\n' => self.raw("\\n"),
                '\t' => self.raw("\\t"),
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' | '\u{7f}' => {
                    let _ = write!(self.0, "\\u{:04x}", u32::from(c));
                }
                _ => self.0.push(c),
            }
        }
        self.0.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> String {
        let mut out = Json(String::new());
        out.string(text);
        out.0
    }

    #[test]
    fn strings_cannot_leave_the_script_element() {
        assert_eq!(string("</script><!--&"), r#""\u003c/script\u003e\u003c!--\u0026""#);
        assert_eq!(string("a\"b\\c\n\u{1}\u{2028}é"), "\"a\\\"b\\\\c\\n\\u0001\\u2028é\"");
    }

    #[test]
    fn numbers_are_json() {
        let number = |value| {
            let mut out = Json(String::new());
            out.number(value);
            out.0
        };
        assert_eq!(number(1234.0), "1234");
        assert_eq!(number(0.25), "2.5e-1");
        assert_eq!(number(1e30), "1e30");
        assert!(number(f64::INFINITY).parse::<f64>().is_ok_and(f64::is_finite));
        assert!(!number(f64::NAN).contains("NaN"));
    }

    #[test]
    fn an_empty_model_is_whole() {
        let text = model(&Model::default());
        let columns =
            "name opcode shape attributes value op_name source metadata operands after calls";
        let columns: Vec<String> = columns.split(' ').map(|c| format!("\"{c}\":[]")).collect();
        let expected = format!(
            "{{\"title\":\"\",\"strings\":[],\"instructions\":{{{}}},\"computations\":[],\
             \"programs\":[],\"texts\":[],\"times\":[]}}",
            columns.join(",")
        );
        assert_eq!(text, expected);
    }
}
