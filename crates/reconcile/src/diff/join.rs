//! Merges two tables that are sorted by the same key, such as wanted and observed, in one pass.

use std::cmp::Ordering;

/// Merges two iterators sorted by the same key; each item has the values of both sides, if present.
pub(super) fn join<'a, K: Ord + 'a, A, B>(
    a: impl Iterator<Item = (&'a K, A)>,
    b: impl Iterator<Item = (&'a K, B)>,
) -> impl Iterator<Item = (&'a K, Option<A>, Option<B>)> {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || {
        let order = match (a.peek(), b.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((x, _)), Some((y, _))) => x.cmp(y),
        };
        match order {
            Ordering::Less => a.next().map(|(key, x)| (key, Some(x), None)),
            Ordering::Greater => b.next().map(|(key, y)| (key, None, Some(y))),
            Ordering::Equal => a.next().zip(b.next()).map(|((k, x), (_, y))| (k, Some(x), Some(y))),
        }
    })
}
