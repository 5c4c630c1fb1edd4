//! `tresse.lock`: what must not change when the cluster grows (DESIGN section 3, rule K4): the VID of
//! each VLAN tree, the addresses of nodes and NICs. Owns the text and the allocation of VIDs; the file
//! itself is read and written by the caller.
//!
//! What a plan no longer uses is `retired`: given out again only for the same tree, or when nothing
//! else is left, so that nodes and switches that still run an older plan never meet an old number with
//! a new meaning. Retired addresses are forgotten when the lock changes next.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::Vid;
use tresse_topology::cluster::Cluster;

use crate::address::Addresses;

/// The format of the lock that this version reads and writes.
pub const FORMAT: u32 = 1;

/// The content of a `tresse.lock`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// [`FORMAT`].
    pub format: u32,
    /// The tree of the base VLAN, as [`place::cables`] writes it: its VID is fixed by the file, so new
    /// switches are added to the tree that is there.
    #[serde(default)]
    pub base: Option<String>,
    /// VIDs by the name of their tree.
    #[serde(default)]
    pub vids: BTreeMap<String, LockedVid>,
    /// Node addresses by node name.
    #[serde(default)]
    pub nodes: BTreeMap<String, Vec<IpAddr>>,
    /// NIC addresses by `node/NIC`.
    #[serde(default)]
    pub nics: BTreeMap<String, Vec<IpAddr>>,
    /// Labels of in-transit nodes, by node address and label: what each means, as [`crate::label`]
    /// writes it.
    #[serde(default, with = "labels")]
    pub labels: Labels,
    /// Where nodes of generated fabrics are, by node name (see [`place`]).
    #[serde(default)]
    pub places: BTreeMap<String, String>,
    /// What the paths were balanced for.
    #[serde(default)]
    pub balance: Option<balance::Locked>,
    /// Used by plans before this one.
    #[serde(default)]
    pub retired: Retired,
}

/// A VID and the tree that it means for ever (K4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedVid {
    /// The VID.
    pub vid: Vid,
    /// The tree, as [`tree::text`] writes it.
    pub tree: String,
}

/// What was in use before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retired {
    /// VIDs and their trees, the longest retired first. They stay for good: nothing here knows when
    /// the last switch has forgotten them.
    #[serde(default)]
    pub vids: Vec<LockedVid>,
    /// Addresses of one change ago, ascending.
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
    /// Labels of one change ago, by node address.
    #[serde(default)]
    pub labels: BTreeMap<String, BTreeSet<u32>>,
}

/// See [`Lock::labels`].
pub type Labels = BTreeMap<String, BTreeMap<u32, String>>;

/// TOML's keys are text.
mod labels {
    use super::{BTreeMap, Deserialize, Labels};
    use serde::{Deserializer, Serialize, Serializer, de::Error};

    type Texts = BTreeMap<String, BTreeMap<String, String>>;

    pub fn serialize<S: Serializer>(labels: &Labels, to: S) -> Result<S::Ok, S::Error> {
        labels.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Labels, D::Error> {
        let number = |(label, meaning): (String, String)| match label.parse() {
            Ok(number @ 16..=0xf_ffff) => Ok((number, meaning)),
            _ => Err(D::Error::custom(format!("`{label}` is not a label from 16 to 1048575"))),
        };
        let node = |(node, labels): (String, BTreeMap<String, String>)| {
            Ok((node, labels.into_iter().map(number).collect::<Result<_, _>>()?))
        };
        Texts::deserialize(from)?.into_iter().map(node).collect()
    }
}

/// Why a text is not a lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// Not TOML, or not the lock's tables.
    #[error("line {line}, column {column}: {message}")]
    Malformed {
        /// Line from 1.
        line: usize,
        /// Column from 1, in characters.
        column: usize,
        /// What was expected.
        message: String,
    },
    /// Written by another version.
    #[error("lock format {found} is not {FORMAT}: use the version of tresse that wrote it")]
    Format {
        /// The format of the text.
        found: u32,
    },
    /// Two trees with one VID, or none of 802.1Q.
    #[error("tree `{tree}` has VID {vid}, which is not a VID of its own: remove the line")]
    BadVid {
        /// The tree's name.
        tree: String,
        /// The VID.
        vid: Vid,
    },
    /// An entry that says nothing.
    #[error("line {line}: {entry}: {message}; take the entry from a copy of the lock")]
    Damaged {
        /// Line from 1; 0 where it is not to be found.
        line: usize,
        /// The table and its key.
        entry: String,
        /// What is wrong.
        message: String,
    },
    /// Two nodes at one port.
    #[error("nodes `{first}` and `{second}` are both at {place}: remove the line of one")]
    PlaceTwice {
        /// A node's name.
        first: String,
        /// The other's.
        second: String,
        /// The port.
        place: String,
    },
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            format: FORMAT,
            base: None,
            vids: BTreeMap::new(),
            nodes: BTreeMap::new(),
            nics: BTreeMap::new(),
            labels: BTreeMap::new(),
            places: BTreeMap::new(),
            balance: None,
            retired: Retired::default(),
        }
    }
}

impl Lock {
    /// Read a lock.
    ///
    /// # Errors
    /// Texts that [`emit`](Self::emit) does not write, apart from order, spacing and comments.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let malformed = |error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let before = text.get(..at).unwrap_or_default();
            let line_start = before.rfind('\n').map_or(0, |n| n + 1);
            LockError::Malformed {
                line: before.matches('\n').count() + 1,
                column: before[line_start..].chars().count() + 1,
                message: error.message().to_owned(),
            }
        };
        let lock: Self = toml::from_str(text).map_err(|error| match toml::from_str(text) {
            Ok(Format { format }) if format != FORMAT => LockError::Format { found: format },
            _ => malformed(error),
        })?;
        if lock.format != FORMAT {
            return Err(LockError::Format { found: lock.format });
        }
        let mut seen = BTreeSet::new();
        let used = lock.vids.iter().map(|(name, v)| (name, v.vid));
        for (tree, vid) in used.chain(lock.retired.vids.iter().map(|v| (&v.tree, v.vid))) {
            if !(1..=4094).contains(&vid.0) || !seen.insert(vid) {
                return Err(LockError::BadVid { tree: tree.clone(), vid });
            }
        }
        let mut at: BTreeMap<&String, &String> = BTreeMap::new();
        for (second, place) in &lock.places {
            if let Some(first) = at.insert(place, second) {
                let (first, second) = (first.clone(), second.clone());
                return Err(LockError::PlaceTwice { first, second, place: place.clone() });
            }
        }
        judge::judge(&lock, text)?;
        Ok(lock)
    }

    /// The name that each node of `cluster` bears in this lock: the name at the same place, else its
    /// own, unless that one is now at another place; `None` for nodes that the lock does not know.
    #[must_use]
    pub fn names(&self, cluster: &Cluster) -> Vec<Option<&str>> {
        let at: HashMap<&str, &str> =
            self.places.iter().map(|(name, place)| (place.as_str(), name.as_str())).collect();
        let here = |k: usize| at.get(place::node(cluster, k.into())?.as_str()).copied();
        let count = cluster.nodes.len();
        let mut names: Vec<Option<&str>> =
            if at.is_empty() { vec![None; count] } else { (0..count).map(here).collect() };
        let elsewhere: HashSet<&str> = names.iter().copied().flatten().collect();
        for (name, node) in names.iter_mut().zip(&cluster.nodes).filter(|(name, _)| name.is_none())
        {
            let own = self.nodes.get_key_value(&node.name).map(|(own, _)| own.as_str());
            *name = own.filter(|own| !elsewhere.contains(own));
        }
        names
    }

    /// The text of the lock: one line per entry, sorted, so that a change shows as changed lines.
    #[must_use]
    pub fn emit(&self) -> String {
        let mut text = String::from("# written by tresse: keep it beside the cluster file\n");
        let _ = writeln!(text, "format = {}", self.format);
        if let Some(base) = &self.base {
            let _ = writeln!(text, "base = {}", quoted(base));
        }
        if !self.vids.is_empty() {
            text.push_str("\n[vids]\n");
        }
        for (name, LockedVid { vid, tree }) in &self.vids {
            let _ = writeln!(text, "{} = {{ vid = {vid}, tree = {} }}", quoted(name), quoted(tree));
        }
        for (table, entries) in [("nodes", &self.nodes), ("nics", &self.nics)] {
            if !entries.is_empty() {
                let _ = writeln!(text, "\n[{table}]");
            }
            for (name, addresses) in entries {
                let _ = writeln!(text, "{} = {}", quoted(name), list(addresses));
            }
        }
        if !self.places.is_empty() {
            text.push_str("\n[places]\n");
        }
        for (name, place) in &self.places {
            let _ = writeln!(text, "{} = {}", quoted(name), quoted(place));
        }
        if !self.labels.is_empty() {
            text.push_str("\n[labels]\n");
        }
        for (node, labels) in &self.labels {
            let each = |(label, meaning): (&u32, &String)| format!("{label} = {}", quoted(meaning));
            let labels: Vec<_> = labels.iter().map(each).collect();
            let _ = writeln!(text, "{} = {{ {} }}", quoted(node), labels.join(", "));
        }
        if let Some(balance) = &self.balance {
            let _ =
                writeln!(text, "\n[balance]\nof = {}\n\n[balance.switches]", quoted(&balance.of));
            for (switch, [nodes, transit]) in &balance.switches {
                let _ = writeln!(text, "{} = [{nodes}, {transit}]", quoted(switch));
            }
        }
        if self.retired != Retired::default() {
            text.push_str("\n[retired]\n");
            text.push_str("vids = [\n");
            for LockedVid { vid, tree } in &self.retired.vids {
                let _ = writeln!(text, "    {{ vid = {vid}, tree = {} }},", quoted(tree));
            }
            text.push_str("]\n");
            let _ = writeln!(text, "addresses = {}", list(&self.retired.addresses));
            if !self.retired.labels.is_empty() {
                text.push_str("\n[retired.labels]\n");
            }
            for (node, labels) in &self.retired.labels {
                let labels: Vec<_> = labels.iter().map(u32::to_string).collect();
                let _ = writeln!(text, "{} = [{}]", quoted(node), labels.join(", "));
            }
        }
        text
    }

    /// The lock after a plan: what the plan uses, and as retired what only this lock used. Where the
    /// plan uses exactly what this lock holds, the lock stays as it is.
    #[must_use]
    pub fn next(
        &self,
        cluster: &Cluster,
        addresses: &Addresses,
        trees: &[(&str, &str)],
        vids: &[Vid],
        labels: Labels,
    ) -> Self {
        let mut next = Self { labels, ..Self::default() };
        for ((name, tree), vid) in trees.iter().zip(vids) {
            let entry = LockedVid { vid: *vid, tree: (*tree).to_owned() };
            next.vids.insert((*name).to_owned(), entry);
        }
        for (k, node) in cluster.nodes.iter().enumerate() {
            let own = addresses.node.get(k).cloned().unwrap_or_default();
            next.nodes.insert(node.name.clone(), own);
            if let Some(place) = place::node(cluster, k.into()) {
                next.places.insert(node.name.clone(), place);
            }
            for (i, nic) in node.nics.iter().enumerate() {
                let own = addresses.nic.get(k).and_then(|nics| nics.get(i)).cloned();
                next.nics.insert(format!("{}/{}", node.name, nic.name), own.unwrap_or_default());
            }
        }
        next.retired =
            if next.same_use(self) { self.retired.clone() } else { self.retired_by(&next) };
        next
    }

    /// Does this lock know what a plan uses: each of its VIDs for a tree that goes with the plan's?
    #[must_use]
    pub fn holds(&self, trees: &[(&str, &str)], vids: &[Vid]) -> bool {
        let known = self.vids.values().chain(&self.retired.vids);
        let known: BTreeMap<Vid, &str> = known.map(|v| (v.vid, v.tree.as_str())).collect();
        let holds =
            |text: &str, vid: &Vid| known.get(vid).is_some_and(|t| tree::compatible(t, text));
        trees.iter().zip(vids).all(|((_, text), vid)| holds(text, vid))
    }

    fn same_use(&self, other: &Self) -> bool {
        (&self.vids, &self.nodes, &self.nics, &self.labels, &self.places)
            == (&other.vids, &other.nodes, &other.nics, &other.labels, &other.places)
    }

    fn retired_by(&self, next: &Self) -> Retired {
        let used: BTreeSet<Vid> = next.vids.values().map(|v| v.vid).collect();
        let before = self.retired.vids.iter().chain(self.vids.values());
        let addresses = |lock: &Self| {
            let all = lock.nodes.values().chain(lock.nics.values()).flatten();
            all.copied().collect::<BTreeSet<_>>()
        };
        Retired {
            vids: before.filter(|v| !used.contains(&v.vid)).cloned().collect(),
            addresses: addresses(self).difference(&addresses(next)).copied().collect(),
            labels: self.unused_labels(next),
        }
    }
}

impl Lock {
    fn unused_labels(&self, next: &Self) -> BTreeMap<String, BTreeSet<u32>> {
        let unused = |(node, labels): (&String, &BTreeMap<u32, String>)| {
            let used = next.labels.get(node);
            let unused = labels.keys().filter(|l| used.is_none_or(|used| !used.contains_key(l)));
            let unused: BTreeSet<u32> = unused.copied().collect();
            (!unused.is_empty()).then(|| (node.clone(), unused))
        };
        self.labels.iter().filter_map(unused).collect()
    }
}

/// A TOML string; as a key it is valid too.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn list(addresses: &[IpAddr]) -> String {
    let texts: Vec<_> = addresses.iter().map(|a| format!("\"{a}\"")).collect();
    format!("[{}]", texts.join(", "))
}

pub mod balance;
mod judge;
pub mod place;
#[cfg(test)]
mod tests;
pub mod tree;
mod vids;

pub use vids::{BaseWasTree, VidsExhausted, accept_base, allocate};
