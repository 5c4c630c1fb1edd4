//! Tells on standard error what the nodes of a rollout do: a line for each group of nodes that has
//! come to the same state.

use std::collections::BTreeMap;

use crate::fail;
use crate::output;

/// The state of a node in a rollout, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// What identifies the state: a node is shown again when it changes.
    pub key: String,
    /// The words to show, which may also have times.
    pub words: String,
}

/// The states that were shown last, by node.
#[derive(Debug, Default)]
pub struct Progress(BTreeMap<String, String>);

impl Shown {
    /// A state without times.
    pub fn new(words: impl Into<String>) -> Self {
        let words = words.into();
        Self { key: words.clone(), words }
    }
}

impl Progress {
    /// Shows the nodes whose state has changed since the last call.
    pub fn show(&mut self, states: impl IntoIterator<Item = (String, Shown)>) {
        self.lines(states).iter().for_each(|line| fail::say(line));
    }

    fn lines(&mut self, states: impl IntoIterator<Item = (String, Shown)>) -> Vec<String> {
        let mut groups: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
        for (node, shown) in states {
            if self.0.get(&node) != Some(&shown.key) {
                self.0.insert(node.clone(), shown.key.clone());
                groups.entry(shown.key).or_insert((shown.words, Vec::new())).1.push(node);
            }
        }
        let line = |(words, nodes): &(String, Vec<String>)| {
            format!("{}: {words}", output::hostlist(nodes))
        };
        groups.values().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_shown_once_for_each_state_and_together() {
        let mut progress = Progress::default();
        let all = |words: &str| ["n0", "n1", "n2"].map(|n| (n.to_owned(), Shown::new(words)));
        assert_eq!(progress.lines(all("installed")), ["n[0-2]: installed"]);
        assert_eq!(progress.lines(all("installed")), [""; 0]);
        let waits = |seconds| Shown {
            key: "waits for n2".into(),
            words: format!("waits for n2, since {seconds} s"),
        };
        let states =
            |seconds| [("n0".into(), Shown::new("changed")), ("n1".into(), waits(seconds))];
        let expected = ["n0: changed", "n1: waits for n2, since 2 s"];
        assert_eq!(progress.lines(states(2)), expected);
        assert_eq!(progress.lines(states(3)), [""; 0]);
        assert_eq!(progress.lines(all("confirmed")), ["n[0-2]: confirmed"]);
    }
}
