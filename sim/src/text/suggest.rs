//! What somebody may have meant.

/// A cure for `word`: the candidate that is nearest, or else what `otherwise` says.
pub(super) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    match nearest(word, candidates) {
        Some(near) => format!("did you mean `{near}`?"),
        None => otherwise(),
    }
}

/// The candidate that takes the fewest changes, if they are few for a word of that length.
fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let few = (word.chars().count() / 3).max(1);
    let distances = candidates.into_iter().map(|it| (distance(word, it), it));
    let (distance, near) = distances.min()?;
    (distance <= few).then_some(near)
}

/// How many letters must be inserted, removed or replaced (Levenshtein).
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(l != *r);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn near_is_what_takes_few_changes() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("restrat", "restart"), 2);
        assert_eq!(nearest("restrat", ["reset", "restart", "rot"]), Some("restart"));
        assert_eq!(nearest("witin", ["at", "within"]), Some("within"));
        assert_eq!(nearest("on", ["by", "to"]), None);
        assert_eq!(nearest("banana", ["reset", "restart"]), None);
    }
}
