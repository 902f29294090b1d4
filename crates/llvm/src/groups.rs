//! Which kernels go to LLVM as one module: what it sets up for a module costs as much as compiling a small kernel.

use std::cmp::Reverse;

use crate::machine::Effort;

/// A kernel to be compiled.
pub(crate) struct Part {
    pub(crate) index: usize,
    /// Bytes of its text.
    pub(crate) size: usize,
    pub(crate) effort: Effort,
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
    for Part { index, size, effort } in parts {
        let (group, room) = &mut open[effort as usize];
        if size > *room {
            (*group, *room) = (groups.len(), most.max(size));
            groups.push(Vec::new());
        }
        groups[*group].push(index);
        *room -= size;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_kernels_share_a_module() {
        let part =
            |(index, &(size, effort)): (usize, &(usize, Effort))| Part { index, size, effort };
        let of = |parts: &[(usize, Effort)], threads| {
            groups(parts.iter().enumerate().map(part).collect(), threads)
        };
        use Effort::{Glue, Kernel};
        assert!(of(&[], 2).is_empty());
        assert_eq!(of(&[(10, Kernel)], 2), [[0]]);
        // An eighth of 160 is 20.
        let parts = [(8, Kernel), (6, Glue), (110, Kernel), (7, Kernel), (9, Kernel), (20, Kernel)];
        assert_eq!(of(&parts, 2), [vec![2], vec![5], vec![4, 0], vec![3], vec![1]]);
        // With more threads groups are smaller.
        assert_eq!(of(&parts, 8).len(), parts.len());
    }
}
