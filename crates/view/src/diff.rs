//! What a pass changed: `rxla_diff` says which computations and instructions are the same ones.

use rxla_diff::{Computation, Graph, compare};

use crate::model::{Change, ChangeKind, StepModel, StringId};

/// Sets what changed from one step to the next, in the order of the later one; what was removed comes
/// last.
pub(crate) fn changes(
    before: &Graph,
    after: &Graph,
    step: &mut StepModel,
    mut string: impl FnMut(&str) -> StringId,
) {
    let difference = compare(before, after);
    for &(left, right) in &difference.renamed_computations {
        let names = (&before.computations[left].name, &after.computations[right].name);
        step.renamed_computations.push((string(names.0), string(names.1)));
    }
    let node = |graph: &Graph, (computation, node): (usize, usize)| -> String {
        graph.computations[computation].nodes[node].name.clone()
    };
    for &(left, right) in &difference.renamed {
        step.renamed.push((string(&node(before, left)), string(&node(after, right))));
    }
    for change in &difference.changes {
        let mut names = |computation: &Computation, nodes: &mut dyn Iterator<Item = usize>| {
            nodes.map(|node| string(&computation.nodes[node].name)).collect::<Vec<StringId>>()
        };
        let none: Vec<StringId> = Vec::new();
        let (computation, kind, added, removed, changed) = match change {
            rxla_diff::Change::Added { right, .. } => {
                let new = &after.computations[*right];
                let added = names(new, &mut (0..new.nodes.len()));
                (new, ChangeKind::Added, added, none.clone(), none)
            }
            rxla_diff::Change::Removed { left, .. } => {
                let old = &before.computations[*left];
                let removed = names(old, &mut (0..old.nodes.len()));
                (old, ChangeKind::Removed, none.clone(), removed, none)
            }
            rxla_diff::Change::Changed { left, right, added, removed, changed, .. } => {
                let (old, new) = (&before.computations[*left], &after.computations[*right]);
                let added = names(new, &mut added.iter().copied());
                let removed = names(old, &mut removed.iter().copied());
                let changed = names(new, &mut changed.iter().map(|pair| pair.right));
                (new, ChangeKind::Changed, added, removed, changed)
            }
        };
        let computation = string(&computation.name);
        step.changes.push(Change { computation, kind, added, removed, changed });
    }
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
    fn graphs_tell_what_a_pass_changed() {
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

    /// As after a pass that clones computations.
    const RENAMED: &str = "HloModule m
gone.clone {
  a.1 = f32[4] parameter(0)
  ROOT b.1 = f32[4] cosine(a.1)
}
ENTRY e {
  x = f32[4] parameter(0)
  y.1 = f32[4] call(x), to_apply=gone.clone
  z.1 = f32[4] sine(y.1)
  ROOT w = f32[4] add(z.1, z.1)
}";

    #[test]
    fn what_has_another_name_is_the_same() {
        let model = model(&[BEFORE, RENAMED]);
        let step = &model.programs[0].steps[1];
        let text = |id: u32| &*model.strings[id as usize];
        let pairs = |of: &[(u32, u32)]| -> Vec<String> {
            of.iter().map(|&(old, new)| format!("{} {}", text(old), text(new))).collect()
        };
        let [change] = &step.changes[..] else { panic!("{:?}", step.changes) };
        assert_eq!((text(change.computation), change.kind), ("gone.clone", ChangeKind::Changed));
        assert_eq!((change.added.len(), change.removed.len()), (0, 0));
        assert_eq!(change.changed.iter().map(|&id| text(id)).collect::<Vec<_>>(), ["b.1"]);
        assert_eq!(pairs(&step.renamed), ["a a.1", "b b.1", "y y.1", "z z.1"]);
        assert_eq!(pairs(&step.renamed_computations), ["gone gone.clone"]);
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
