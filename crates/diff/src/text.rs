//! A difference in words.

use std::fmt::Write;

use rxla_hlo::Module;
use rxla_hlo::text::{PrintOptions, print_instruction};

use crate::compare::{Change, Difference, compare};
use crate::graph::{Computation, Details, Graph};

/// How much is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Detail {
    /// A line for each computation.
    Computations,
    /// And a line for each instruction.
    #[default]
    Instructions,
}

/// What differs between two modules, and whether something does: for each computation `- removed`,
/// `+ added` and, in pairs, `< as it was`, `> as it is` with the reason; a sum at the end.
pub fn show(
    left: &Module,
    right: &Module,
    details: Details,
    detail: Detail,
) -> (String, Difference) {
    let graphs = (Graph::new(left, details), Graph::new(right, details));
    let difference = compare(&graphs.0, &graphs.1);
    let show = Show {
        left: (left, &graphs.0),
        right: (right, &graphs.1),
        options: options(details),
        detail,
    };
    (show.text(&difference), difference)
}

struct Show<'a> {
    left: (&'a Module, &'a Graph),
    right: (&'a Module, &'a Graph),
    options: PrintOptions,
    detail: Detail,
}

fn options(details: Details) -> PrintOptions {
    PrintOptions {
        operand_index_annotation_interval: 0,
        percent: false,
        metadata: details == Details::Everything,
        inline_stack_frames: true,
        backend_config: details != Details::Meaning,
        ..PrintOptions::default()
    }
}

impl Show<'_> {
    fn text(&self, difference: &Difference) -> String {
        let mut out = String::new();
        if difference.header {
            let _ = writeln!(out, "module");
            let _ = writeln!(out, "  < {}", self.left.1.header);
            let _ = writeln!(out, "  > {}", self.right.1.header);
        }
        if difference.entry {
            let _ = writeln!(out, "only one of them has an entry");
        }
        let (mut added, mut removed, mut changed) = (0, 0, 0);
        for change in &difference.changes {
            match change {
                Change::Added { right, copy_of } => {
                    let computation = &self.right.1.computations[*right];
                    added += computation.nodes.len();
                    let copy = copy_of.map(|place| &self.left.1.computations[place]);
                    self.whole(&mut out, "added", '+', self.right.0, computation, copy);
                }
                Change::Removed { left, copy_of } => {
                    let computation = &self.left.1.computations[*left];
                    removed += computation.nodes.len();
                    let copy = copy_of.map(|place| &self.right.1.computations[place]);
                    self.whole(&mut out, "removed", '-', self.left.0, computation, copy);
                }
                Change::Changed { added: a, removed: r, changed: c, .. } => {
                    added += a.len();
                    removed += r.len();
                    changed += c.len();
                    self.changed(&mut out, change);
                }
            }
        }
        let same = difference.same;
        let renamed = match difference.same_but_renamed {
            0 => String::new(),
            1 => ", 1 of them under another name".to_owned(),
            renamed => format!(", {renamed} of them under other names"),
        };
        let _ = if difference.is_none() {
            writeln!(out, "the same: {}{renamed}", count(same))
        } else {
            writeln!(
                out,
                "{} added, {removed} removed, {changed} changed; {same} the same{renamed}",
                count(added)
            )
        };
        out
    }

    /// A computation that the other side does not have.
    fn whole(
        &self,
        out: &mut String,
        what: &str,
        sign: char,
        module: &Module,
        computation: &Computation,
        copy_of: Option<&Computation>,
    ) {
        let copy = copy_of.map_or_else(String::new, |of| format!(", a copy of {}", of.name));
        let count = count(computation.nodes.len());
        let _ = writeln!(out, "{}: computation {what}, {count}{copy}", computation.name);
        // A copy has nothing new.
        if copy_of.is_none() && self.detail == Detail::Instructions {
            for place in 0..computation.nodes.len() {
                self.line(out, sign, module, computation, place, "");
            }
        }
    }

    fn changed(&self, out: &mut String, change: &Change) {
        let Change::Changed { left, right, added, removed, changed, root, thread } = change else {
            return;
        };
        let (old, new) = (&self.left.1.computations[*left], &self.right.1.computations[*right]);
        let name = match old.name == new.name {
            true => new.name.clone(),
            false => format!("{}, now {}", old.name, new.name),
        };
        let counts =
            [(added.len(), "added"), (removed.len(), "removed"), (changed.len(), "changed")];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let mut said: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
        if *root {
            said.push("another root".to_owned());
        }
        if *thread {
            said.push("another thread".to_owned());
        }
        let _ = writeln!(out, "{name}: {}", said.join(", "));
        if self.detail == Detail::Computations {
            return;
        }
        for &place in removed {
            self.line(out, '-', self.left.0, old, place, "");
        }
        for pair in changed {
            self.line(out, '<', self.left.0, old, pair.left, "");
            let reasons = format!("  // {}", pair.reasons.join(", "));
            self.line(out, '>', self.right.0, new, pair.right, &reasons);
        }
        for &place in added {
            self.line(out, '+', self.right.0, new, place, "");
        }
    }

    fn line(
        &self,
        out: &mut String,
        sign: char,
        module: &Module,
        computation: &Computation,
        place: usize,
        note: &str,
    ) {
        let text = print_instruction(module, computation.nodes[place].id, &self.options);
        let root = if computation.root == Some(place) { "ROOT " } else { "" };
        let _ = writeln!(out, "  {sign} {root}{text}{note}");
    }
}

fn count(instructions: usize) -> String {
    match instructions {
        1 => "1 instruction".to_owned(),
        many => format!("{many} instructions"),
    }
}
