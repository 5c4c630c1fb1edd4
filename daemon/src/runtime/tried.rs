//! Keeps the plan of a dry run for the apply that follows it: a rollout lets every node compute the
//! plan twice, and computing it is most of what a node does then.

use std::time::Duration;

use tokio::time::Instant;
use tresse_control::NodeError;
use tresse_engine::Prepared;

use super::Identity;
use super::prepare::prepare;

/// How long a plan is kept.
const KEPT: Duration = Duration::from_secs(60);

/// This node's part of the plan of a dry run, and what it was computed from.
pub(super) struct Tried {
    identity: Identity,
    prepared: Prepared,
    until: Instant,
}

impl Tried {
    /// When it is dropped.
    pub(super) const fn until(&self) -> Instant {
        self.until
    }

    /// Is it the plan of these texts on this node?
    fn is_of(&self, cluster: &str, lock: Option<&str>, identity: &Identity) -> bool {
        let Prepared { cluster: of_cluster, lock: of_lock, .. } = &self.prepared;
        of_cluster == cluster && of_lock.as_deref() == lock && self.identity == *identity
    }
}

/// The plan for an apply, computed unless the dry run before was of the same texts; `keep` says that
/// this is a dry run.
///
/// # Errors
/// As [`prepare`].
pub(super) fn prepared(
    tried: &mut Option<Tried>,
    (cluster, lock): (&str, Option<&str>),
    identity: Identity,
    keep: bool,
) -> Result<Prepared, NodeError> {
    let prepared = match tried.take() {
        Some(known) if known.is_of(cluster, lock, &identity) => known.prepared,
        _ => prepare(cluster, lock, &identity)?,
    };
    if keep {
        let until = Instant::now() + KEPT;
        *tried = Some(Tried { identity, prepared: prepared.clone(), until });
    }
    Ok(prepared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_of_a_dry_run_serves_the_apply_of_the_same_texts_alone() {
        let text = |paths| {
            format!(
                "[fabric]\ntopology = {{ kind = \"ring\", nodes = 4 }}\n[routing]\npaths = {paths}\n"
            )
        };
        let (one, two) = (text(1), text(2));
        let named = |name: &str| Identity::Named(name.into());
        let mut tried = None;
        let first = prepared(&mut tried, (&two, None), named("n0"), true).unwrap();
        assert!(tried.as_ref().is_some_and(|t| t.is_of(&two, None, &named("n0"))));
        let is_of = |tried: &Option<Tried>, text: &str, lock, name: &str| {
            tried.as_ref().is_some_and(|tried| tried.is_of(text, lock, &named(name)))
        };
        assert!(!is_of(&tried, &one, None, "n0"));
        assert!(!is_of(&tried, &two, Some(""), "n0"));
        assert!(!is_of(&tried, &two, None, "n1"));
        assert_eq!(prepared(&mut tried, (&two, None), named("n0"), false), Ok(first.clone()));
        assert!(tried.is_none(), "kept although nobody will ask again");
        let kept = prepared(&mut tried, (&two, None), named("n0"), true).unwrap();
        let other = prepared(&mut tried, (&one, None), named("n0"), false).unwrap();
        assert!(kept == first && other.generation != first.generation);
    }
}
