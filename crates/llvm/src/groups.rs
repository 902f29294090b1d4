//! Which kernels go to LLVM as one module: what it sets up for a module costs as much as compiling a small kernel.

use std::cmp::Reverse;

use crate::machine::Effort;

/// A kernel to be compiled.
pub(crate) struct Part {
    pub(crate) index: usize,
    /// Bytes of its text.
    pub(crate) size: usize,
    /// Those with whom it may share a module; nobody if none.
    pub(crate) group: Option<Effort>,
}

/// Groups for each thread, if kernels are small. The last ones are, so that no thread is left with one when the others
/// are done.
const GROUPS_PER_THREAD: usize = 4;

/// The indices of the kernels of each group, which share an effort. The longest come first.
pub(crate) fn groups(mut parts: Vec<Part>, threads: usize) -> Vec<Vec<usize>> {
    let all: usize = parts.iter().map(|part| part.size).sum();
    let most = all / (threads.max(1) * GROUPS_PER_THREAD);
    parts.sort_by_key(|part| Reverse(part.size));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    // The group that grows, and what it has room for, by effort.
    let mut open = [(0, 0); Effort::COUNT];
    for Part { index, size, group } in parts {
        if let Some(effort) = group {
            let (group, room) = &mut open[effort as usize];
            if size <= *room {
                groups[*group].push(index);
                *room -= size;
                continue;
            }
            (*group, *room) = (groups.len(), most.saturating_sub(size));
        }
        groups.push(vec![index]);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_kernels_share_a_module() {
        let of = |parts: &[(usize, Option<Effort>)], threads| {
            let parts = parts.iter().enumerate();
            let part = |(index, &(size, group)): (usize, &(usize, _))| Part { index, size, group };
            groups(parts.map(part).collect(), threads)
        };
        const LOOPS: Option<Effort> = Some(Effort::Loops);
        const KERNEL: Option<Effort> = Some(Effort::Kernel);
        assert!(of(&[], 2).is_empty());
        assert_eq!(of(&[(10, KERNEL)], 2), [[0]]);
        // An eighth of 160 is 20.
        let parts = [
            (8, KERNEL),
            (6, LOOPS),
            (105, KERNEL),
            (7, KERNEL),
            (9, KERNEL),
            (20, KERNEL),
            (5, None),
        ];
        assert_eq!(of(&parts, 2), [vec![2], vec![5], vec![4, 0], vec![3], vec![1], vec![6]]);
        // With more threads groups are smaller.
        assert_eq!(of(&parts, 8).len(), parts.len());
    }
}
