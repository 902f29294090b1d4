//! What a pass changed: computations and instructions are the same ones if their names are.

use rustc_hash::FxHashMap;

use crate::model::{Change, ChangeKind, Computation, InstructionId, Model, StepModel, StringId};

/// Changes from one step to the next, in the text order of the later one; what was removed comes last.
pub(crate) fn changes(model: &Model, before: &StepModel, after: &StepModel) -> Vec<Change> {
    let computation = |id: u32| &model.computations[id as usize];
    let old: FxHashMap<StringId, u32> =
        before.computations.iter().map(|&id| (computation(id).name, id)).collect();
    let mut changes = Vec::new();
    for &id in &after.computations {
        let new = computation(id);
        let change = match old.get(&new.name) {
            // Costs and callees may differ while the text is the same.
            Some(&old) if old == id => continue,
            Some(&old) => compare(model, computation(old), new),
            None => Change {
                computation: new.name,
                kind: ChangeKind::Added,
                added: names(model, new),
                removed: Vec::new(),
                changed: Vec::new(),
            },
        };
        let is_empty =
            change.added.is_empty() && change.removed.is_empty() && change.changed.is_empty();
        if !is_empty {
            changes.push(change);
        }
    }
    let kept: FxHashMap<StringId, u32> =
        after.computations.iter().map(|&id| (computation(id).name, id)).collect();
    for &id in &before.computations {
        let gone = computation(id);
        if !kept.contains_key(&gone.name) {
            changes.push(Change {
                computation: gone.name,
                kind: ChangeKind::Removed,
                added: Vec::new(),
                removed: names(model, gone),
                changed: Vec::new(),
            });
        }
    }
    changes
}

fn names(model: &Model, computation: &Computation) -> Vec<StringId> {
    computation.instructions.iter().map(|&i| model.instructions[i as usize].name).collect()
}

fn compare(model: &Model, before: &Computation, after: &Computation) -> Change {
    let by_name = |computation: &Computation| -> FxHashMap<StringId, InstructionId> {
        let ids = computation.instructions.iter();
        ids.map(|&id| (model.instructions[id as usize].name, id)).collect()
    };
    let (old, new) = (by_name(before), by_name(after));
    let mut change = Change {
        computation: after.name,
        kind: ChangeKind::Changed,
        added: Vec::new(),
        removed: Vec::new(),
        changed: Vec::new(),
    };
    for &id in &after.instructions {
        let name = model.instructions[id as usize].name;
        match old.get(&name) {
            None => change.added.push(name),
            Some(&old) if old != id => change.changed.push(name),
            Some(_) => {}
        }
    }
    for &id in &before.instructions {
        let name = model.instructions[id as usize].name;
        if !new.contains_key(&name) {
            change.removed.push(name);
        }
    }
    change
}

#[cfg(test)]
mod tests {
    use rxla_hlo::text::{ParseOptions, parse};

    use crate::model::{ChangeKind, Model};
    use crate::{Builder, Options, Step};

    fn model(texts: &[&str]) -> Model {
        let mut builder = Builder::default();
        for text in texts {
            let module = parse(text, &ParseOptions::default()).expect("the text is right").module;
            builder.add(&Step { program: "m", title: "step", module: &module });
        }
        builder.model(&Options::default())
    }

    const BEFORE: &str = "HloModule m
gone {
  a = f32[4] parameter(0)
  ROOT b = f32[4] negate(a)
}
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] call(x), to_apply=gone
  z = f32[4] sine(y)
  ROOT w = f32[4] add(z, z)
}";

    const AFTER: &str = "HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  b.1 = f32[4] negate(x)
  z = f32[4] sine(b.1)
  ROOT w = f32[4] add(z, z)
}";

    #[test]
    fn names_tell_what_a_pass_changed() {
        let model = model(&[BEFORE, AFTER, AFTER]);
        let steps = &model.programs[0].steps;
        assert!(steps[0].changes.is_empty() && steps[2].changes.is_empty());
        let text = |ids: &[u32]| -> Vec<&str> {
            ids.iter().map(|&id| &*model.strings[id as usize]).collect()
        };
        let [entry, gone] = &steps[1].changes[..] else { panic!("{:?}", steps[1].changes) };
        assert_eq!((text(&[entry.computation]), entry.kind), (vec!["e"], ChangeKind::Changed));
        assert_eq!(text(&entry.added), ["b.1"]);
        assert_eq!(text(&entry.removed), ["y"]);
        // The one that uses another operand, but not the one after it.
        assert_eq!(text(&entry.changed), ["z"]);
        assert_eq!((text(&[gone.computation]), gone.kind), (vec!["gone"], ChangeKind::Removed));
        assert_eq!(text(&gone.removed), ["a", "b"]);
    }

    #[test]
    fn what_stays_is_stored_once() {
        let model = model(&[BEFORE, BEFORE]);
        let steps = &model.programs[0].steps;
        assert_eq!(steps[0].computations, steps[1].computations);
        assert_eq!(model.computations.len(), 2);
        assert_eq!(model.instructions.len(), 6);
    }
}
