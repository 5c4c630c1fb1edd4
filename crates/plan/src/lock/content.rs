//! The content of the lock, `tresse.lock`, as Rust structs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::Vid;
use tresse_topology::cluster::{AddressLayout, Cluster};
use tresse_topology::coordinates::{NodeEncoding, default_layout};

use super::{place, tree};

/// The format number of `tresse.lock` that this version reads and writes.
pub const FORMAT: u32 = 1;

/// The content of `tresse.lock`, the numbers that stay as they are while the cluster grows: VIDs, addresses, labels,
/// and the number of nodes that each switch had when the paths were balanced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// [`FORMAT`].
    pub format: u32,
    /// The tree of the base VLAN, as [`super::place::cables`] writes it: its VID is fixed by the file, so new
    /// switches are added to the tree that is there.
    #[serde(default)]
    pub base: Option<String>,
    /// How the addresses of `nodes` are laid out. None in locks of earlier versions: sequential.
    #[serde(default)]
    pub layout: Option<AddressLayout>,
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
    /// Where nodes of generated fabrics are, by node name (see [`super::place`]).
    #[serde(default)]
    pub places: BTreeMap<String, String>,
    /// What the paths were balanced for.
    #[serde(default)]
    pub balance: Option<LockedBalance>,
    /// Numbers that earlier plans used and this one does not.
    #[serde(default)]
    pub retired: Retired,
}

/// A VID in the lock, with the VLAN tree that has it. Another tree gets the VID only if the links of both trees
/// together form no loop, or if the VID is retired and no other is left (K4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedVid {
    /// The VID.
    pub vid: Vid,
    /// The tree, as [`super::tree::text`] writes it.
    pub tree: String,
}

/// The VIDs, addresses and labels in the lock that earlier plans used and the present plan does not. They are kept out
/// of use for a time, because nodes and switches may still know their old meaning.
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

/// The labels of each transit node, by the address of the node and the label. Each label has its meaning as a text
/// such as `10.78.0.1 103 10.78.0.6`: out of the NIC with the first address, on VID 103, to the NIC with the second
/// address.
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

/// The number of nodes and of transit nodes on each switch for which the paths were balanced, and the numbers of its node
/// ports, as the lock stores them (see [`super::balance`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedBalance {
    /// Digest of the switches, cables and strategy that the counts belong to.
    pub of: String,
    /// By switch: the number of nodes, and the number of transit nodes.
    pub switches: BTreeMap<String, [u64; 2]>,
    /// By switch: its node ports by number ([`super::ports`]), where the number is not the port less 1 for as many ports as
    /// the switch has nodes by `switches`. Locks of earlier versions have none.
    #[serde(default)]
    pub ports: BTreeMap<String, Vec<u32>>,
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            format: FORMAT,
            base: None,
            layout: None,
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
    /// The layout of node addresses of `cluster`: as its file says, else as this lock has it, else the default of its
    /// kind. Nodes without coordinates are numbered one after the other.
    #[must_use]
    pub fn layout(&self, cluster: &Cluster) -> AddressLayout {
        if NodeEncoding::of(&cluster.kind).is_none() {
            return AddressLayout::Sequential;
        }
        let default = || default_layout(&cluster.kind, &cluster.addressing.nodes);
        cluster.addressing.layout.or_else(|| self.layout_held()).unwrap_or_else(default)
    }

    /// The layout of the node addresses in this lock; `None` if it has none.
    #[must_use]
    pub fn layout_held(&self) -> Option<AddressLayout> {
        let held = !self.nodes.is_empty();
        held.then(|| self.layout.unwrap_or(AddressLayout::Sequential))
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

    /// Whether this lock holds every VID that a plan uses, for a compatible tree.
    #[must_use]
    pub fn holds(&self, trees: &[(&str, &str)], vids: &[Vid]) -> bool {
        let known = self.vids.values().chain(&self.retired.vids);
        let known: BTreeMap<Vid, &str> = known.map(|v| (v.vid, v.tree.as_str())).collect();
        let holds =
            |text: &str, vid: &Vid| known.get(vid).is_some_and(|t| tree::compatible(t, text));
        trees.iter().zip(vids).all(|((_, text), vid)| holds(text, vid))
    }
}
