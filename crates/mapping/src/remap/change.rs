//! What came, went or moved.

use std::fmt;

use serde::Serialize;
use tresse_base::id::{LinkId, NodeId, SwitchId};
use tresse_base::units::Mac;
use tresse_topology::cluster::{Cluster, Port};

/// How a part of the fabric differs from the cluster file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It is there, and the file lacks it.
    Added,
    /// The file has it, and it is not there.
    Gone,
    /// It is elsewhere.
    Moved,
}

/// A kind of part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// A switch with its cables.
    Switch,
    /// A cable between two switches that stay.
    Cable,
    /// A node with its NICs.
    Node,
    /// A NIC of a node that stays.
    Nic,
}

/// One difference between cluster file and wires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Whether it came, went or moved.
    pub kind: ChangeKind,
    /// What it is.
    pub part: Part,
    /// Its name: `s03`, `s00:3 - s01:4`, `n07`, `n07 eth1`.
    pub name: String,
    /// Where it is now, for what came or moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Why it is taken to be gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Ordered pairs of nodes of which a path crosses it; `None` before they are counted.
    pub pairs: Option<usize>,
}

impl fmt::Display for Change {
    /// `gone: cable s00:3 - s01:4 (s00:3 leads to s09:7), 12 pairs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ChangeKind::Added => "added",
            ChangeKind::Gone => "gone",
            ChangeKind::Moved => "moved",
        };
        let part = match self.part {
            Part::Switch => "switch",
            Part::Cable => "cable",
            Part::Node => "node",
            Part::Nic => "NIC",
        };
        write!(f, "{kind}: {part} {}", self.name)?;
        match (&self.to, self.kind) {
            (Some(to), ChangeKind::Moved) => write!(f, " is {to} now")?,
            (Some(to), _) => write!(f, ", {to}")?,
            (None, _) => {}
        }
        if let Some(why) = &self.why {
            write!(f, " ({why})")?;
        }
        self.pairs.map_or(Ok(()), |pairs| write!(f, "; paths of {pairs} pairs cross it"))
    }
}

/// An end of a cable, with the port's number in the cluster file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct End {
    pub(super) switch: String,
    /// 0 if nothing says the number: the draft takes one that is free.
    pub(super) port: u32,
}

impl End {
    /// A port of the cluster file.
    pub(super) fn of(cluster: &Cluster, port: Port) -> Self {
        Self { switch: cluster.switch(port.switch).name.clone(), port: port.port }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            0 => write!(f, "{}:?", self.switch),
            port => write!(f, "{}:{port}", self.switch),
        }
    }
}

/// A NIC that was found: its name and MAC, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) name: String,
    pub(super) mac: Mac,
    pub(super) at: End,
}

/// A change with all that is needed to make it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Delta {
    SwitchAdded { name: String, cables: Vec<[End; 2]> },
    SwitchGone { switch: SwitchId, why: String },
    CableAdded([End; 2]),
    CableGone { link: LinkId, why: String },
    CableMoved { link: LinkId, to: [End; 2] },
    NodeAdded { name: String, nics: Vec<Placed> },
    NodeGone { node: NodeId, why: String },
    NicAdded { node: NodeId, nic: Placed },
    NicGone { node: NodeId, nic: usize, why: String },
    NicMoved { node: NodeId, nic: usize, to: Placed },
}

impl Delta {
    /// The change in words.
    pub(super) fn change(&self, cluster: &Cluster) -> Change {
        use ChangeKind::{Added, Gone, Moved};
        let cable = |[a, b]: &[End; 2]| format!("{a} - {b}");
        let link = |link: LinkId| {
            let link = cluster.link(link);
            cable(&[End::of(cluster, link.a), End::of(cluster, link.b)])
        };
        let node = |node: NodeId| cluster.node(node).name.clone();
        let nic =
            |id: NodeId, nic: usize| format!("{} {}", node(id), cluster.node(id).nics[nic].name);
        let at = |nic: &Placed| format!("{} at {}", nic.name, nic.at);
        let list = |words: Vec<String>| Some(words.join(", ")).filter(|words| !words.is_empty());
        let (kind, part, name, to, why) = match self {
            Self::SwitchAdded { name, cables } => {
                let to = list(cables.iter().map(cable).collect());
                (Added, Part::Switch, name.clone(), to, None)
            }
            Self::SwitchGone { switch, why } => {
                (Gone, Part::Switch, cluster.switch(*switch).name.clone(), None, Some(why))
            }
            Self::CableAdded(ends) => (Added, Part::Cable, cable(ends), None, None),
            Self::CableGone { link: id, why } => (Gone, Part::Cable, link(*id), None, Some(why)),
            Self::CableMoved { link: id, to } => {
                (Moved, Part::Cable, link(*id), Some(cable(to)), None)
            }
            Self::NodeAdded { name, nics } => {
                (Added, Part::Node, name.clone(), list(nics.iter().map(at).collect()), None)
            }
            Self::NodeGone { node: id, why } => (Gone, Part::Node, node(*id), None, Some(why)),
            Self::NicAdded { node: id, nic } => (
                Added,
                Part::Nic,
                format!("{} {}", node(*id), nic.name),
                Some(nic.at.to_string()),
                None,
            ),
            Self::NicGone { node, nic: index, why } => {
                (Gone, Part::Nic, nic(*node, *index), None, Some(why))
            }
            Self::NicMoved { node, nic: index, to } => {
                (Moved, Part::Nic, nic(*node, *index), Some(to.at.to_string()), None)
            }
        };
        Change { kind, part, name, to, why: why.cloned(), pairs: None }
    }
}
