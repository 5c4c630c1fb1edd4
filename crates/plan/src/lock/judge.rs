//! Checks the entries of a lock whose TOML tables are right: the texts of trees and cables, and the addresses and
//! meanings of labels. A damaged entry is an error and is never skipped: otherwise its tree would get another VID, or
//! its label another meaning.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::content::Lock;
use super::emit::quoted;
use super::error::LockError;
use super::tree;

/// The first entry that no version of tresse wrote.
pub(super) fn judge(lock: &Lock, text: &str) -> Result<(), LockError> {
    let used = lock.vids.iter().map(|(name, vid)| (format!("vids.{name}"), &vid.tree));
    let retired = lock.retired.vids.iter().map(|vid| ("retired.vids".to_owned(), &vid.tree));
    for (entry, of) in used.chain(retired) {
        if let Err(message) = tree::judge(of) {
            return Err(damaged(text, of, entry, message));
        }
    }
    if let Some(base) = &lock.base
        && let Err(message) = tree::judge(base)
    {
        return Err(damaged(text, base, "base".into(), message));
    }
    for (node, labels) in &lock.labels {
        if node.parse::<IpAddr>().is_err() {
            let message = format!("`{node}` is not the address of a node");
            return Err(damaged(text, node, "labels".into(), message));
        }
        if let Some((label, meaning)) = labels.iter().find(|(_, meaning)| !is_meaning(meaning)) {
            let message = format!("`{meaning}` is not `ADDRESS VID ADDRESS`");
            return Err(damaged(text, meaning, format!("labels.{node}.{label}"), message));
        }
    }
    for (switch, ports) in lock.balance.iter().flat_map(|balance| &balance.ports) {
        let mut seen = BTreeSet::new();
        let bad = |port: &&u32| **port == 0 || !seen.insert(**port);
        if let Some(port) = ports.iter().find(bad) {
            let message = format!("{port} is not a port from 1 that is listed once");
            return Err(damaged(text, switch, format!("balance.ports.{switch}"), message));
        }
    }
    Ok(())
}

/// `10.78.0.1 103 10.78.0.6`, or with `-` where frames have no tag.
fn is_meaning(meaning: &str) -> bool {
    let words: Vec<&str> = meaning.split(' ').collect();
    let [from, vid, to] = words[..] else { return false };
    let address = |word: &str| word.parse::<IpAddr>().is_ok();
    let tag = vid == "-" || vid.parse::<u16>().is_ok_and(|vid| (1..=4094).contains(&vid));
    address(from) && address(to) && tag
}

fn damaged(text: &str, value: &str, entry: String, message: String) -> LockError {
    let quoted = quoted(value);
    let line = text.lines().position(|line| line.contains(&quoted)).map_or(0, |line| line + 1);
    LockError::Damaged { line, entry, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(entries: &str) -> String {
        Lock::parse(&format!("format = 1\n{entries}")).unwrap_err().to_string()
    }

    #[test]
    fn damaged_entries_are_named_with_their_line() {
        let help = "take the entry from a copy of the lock";
        for (entries, expected) in [
            (
                "[vids]\n\"T0\" = { vid = 7, tree = \"a:1-b:1\" }",
                "line 3: vids.T0: `a:1-b:1` is no tree",
            ),
            (
                "[vids]\n\"T0\" = { vid = 7, tree = \"a:1~b\" }",
                "line 3: vids.T0: `a:1~b` is no tree",
            ),
            (
                "[vids]\n\"T0\" = { vid = 7, tree = \"a:1~b:1 b:2~c:1 a:2~c:2\" }",
                "line 3: vids.T0: the cables of `a:1~b:1 b:2~c:1 a:2~c:2` are a loop",
            ),
            (
                "[vids]\n\"VL(-,1)\" = { vid = 7, tree = \"torus 4x4 at 9,0 order 0,1\" }",
                "line 3: vids.VL(-,1): `torus 4x4 at 9,0 order 0,1` is no tree",
            ),
            ("base = \"0:1~\"", "line 2: base: `0:1~` is no tree"),
            (
                "[retired]\nvids = [{ vid = 9, tree = \"x\" }]",
                "line 3: retired.vids: `x` is no tree",
            ),
            (
                "[labels]\n\"n0\" = { 16 = \"10.78.0.1 103 10.78.0.6\" }",
                "line 3: labels: `n0` is not the address of a node",
            ),
            (
                "[labels]\n\"10.77.0.1\" = { 16 = \"10.78.0.1 5000 10.78.0.6\" }",
                "line 3: labels.10.77.0.1.16: `10.78.0.1 5000 10.78.0.6` is not `ADDRESS VID ADDRESS`",
            ),
            (
                "[balance]\nof = \"\"\nswitches = {}\nports = { \"leaf0\" = [1, 5, 1] }",
                "line 5: balance.ports.leaf0: 1 is not a port from 1 that is listed once",
            ),
        ] {
            let reported = reported(entries);
            assert!(reported.starts_with(expected) && reported.ends_with(help), "{reported}");
        }
    }

    #[test]
    fn meanings_without_a_tag_are_sound() {
        let text = "format = 1\n[labels]\n\"10.77.0.1\" = { 16 = \"10.78.0.1 - 10.78.0.6\" }";
        assert_eq!(Lock::parse(text).unwrap().labels.len(), 1);
    }
}
