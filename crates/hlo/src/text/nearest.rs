//! The known name that a misspelt one was probably meant to be.

/// The name of `known` that takes the fewest edits to reach, if they are few enough.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer words are no misspelling, and the distance takes quadratic time.
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    // One edit turns any letter into any other: that is no misspelling.
    let allowed = match word.chars().count() {
        0..=2 => 0,
        length => 1 + length / 4,
    };
    known
        .into_iter()
        .filter(|name| name.len() <= LONGEST)
        .map(|name| (distance(word, name), name))
        .filter(|&(distance, _)| distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// Number of characters to insert, remove, replace or swap with a neighbour.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut before = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for i in 0..from.len() {
        let mut row = vec![i + 1; to.len() + 1];
        for j in 0..to.len() {
            let replaced = last[j] + usize::from(from[i] != to[j]);
            row[j + 1] = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j] {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = last;
        last = row;
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_nearest() {
        let known = ["add", "and", "subtract", "all-reduce", "all-reduce-start"];
        assert_eq!(nearest("subtarct", known), Some("subtract"));
        assert_eq!(nearest("all_reduce", known), Some("all-reduce"));
        assert_eq!(nearest("frobnicate", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
