//! Orders in which each item comes after what it needs.

/// The indices in such an order, ties as they stand, or an item that needs itself, however
/// indirectly. `needs[i]` are valid indices.
///
/// An explicit stack: chains of a hundred thousand instructions are real.
pub(crate) fn in_order(needs: &[Vec<usize>]) -> Result<Vec<usize>, usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        New,
        Open,
        Done,
    }
    let mut state = vec![Visit::New; needs.len()];
    let mut order = Vec::with_capacity(needs.len());
    let mut stack: Vec<(usize, usize)> = Vec::new();
    for start in 0..needs.len() {
        if state[start] != Visit::New {
            continue;
        }
        state[start] = Visit::Open;
        stack.push((start, 0));
        while let Some((current, next)) = stack.last_mut() {
            let Some(&need) = needs[*current].get(*next) else {
                state[*current] = Visit::Done;
                order.push(*current);
                stack.pop();
                continue;
            };
            *next += 1;
            match state[need] {
                Visit::New => {
                    state[need] = Visit::Open;
                    stack.push((need, 0));
                }
                Visit::Open => return Err(need),
                Visit::Done => {}
            }
        }
    }
    Ok(order)
}
