//! The formats to which a plan can be exported, their names on the command line, and whether each
//! describes a switch, a node or the whole fabric.

/// A format to which a plan can be exported: the configuration language of a kind of switch (`eos`),
/// files that configure a node (`networkd`), or a description of the whole fabric (`slurm`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Switch: Linux bridge with VLAN filtering, a shell script over `ip` and `bridge`.
    Bridge,
    /// Switch: Open vSwitch, a shell script over `ovs-vsctl`.
    OpenVswitch,
    /// Switch: SONiC, a part of `config_db.json`.
    Sonic,
    /// Switch: Cisco IOS and IOS XE.
    Ios,
    /// Switch: Arista EOS.
    Eos,
    /// Switch: Juniper Junos with Enhanced Layer 2 Software.
    Junos,
    /// Switch: MikroTik RouterOS 7.
    RouterOs,
    /// Node: VLAN interfaces, addresses, neighbours, routes, a shell script over `ip`.
    Iproute2,
    /// Node: the same as systemd-networkd units.
    Networkd,
    /// Fabric: `/etc/hosts`.
    Hosts,
    /// Fabric: an MPI hostfile.
    Hostfile,
    /// Fabric: Slurm's `topology.conf`.
    Slurm,
    /// Fabric: a Graphviz drawing; an object is a VID or a tree's name to bring out.
    Dot,
    /// Fabric: a containerlab topology.
    Containerlab,
}

/// Kind of object that a format describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Switch,
    Node,
    Fabric,
}

/// All formats with their names; the first name is shown to users.
const FORMATS: &[(Format, Subject, &[&str])] = &[
    (Format::Bridge, Subject::Switch, &["bridge", "linux"]),
    (Format::OpenVswitch, Subject::Switch, &["openvswitch", "ovs"]),
    (Format::Sonic, Subject::Switch, &["sonic"]),
    (Format::Ios, Subject::Switch, &["ios", "cisco"]),
    (Format::Eos, Subject::Switch, &["eos", "arista"]),
    (Format::Junos, Subject::Switch, &["junos", "juniper"]),
    (Format::RouterOs, Subject::Switch, &["routeros", "mikrotik"]),
    (Format::Iproute2, Subject::Node, &["iproute2", "node"]),
    (Format::Networkd, Subject::Node, &["networkd"]),
    (Format::Hosts, Subject::Fabric, &["hosts"]),
    (Format::Hostfile, Subject::Fabric, &["hostfile", "mpi"]),
    (Format::Slurm, Subject::Fabric, &["slurm", "topology.conf"]),
    (Format::Dot, Subject::Fabric, &["dot", "graphviz"]),
    (Format::Containerlab, Subject::Fabric, &["containerlab", "clab"]),
];

impl Format {
    /// Returns all formats, in the order of help texts.
    pub fn all() -> impl Iterator<Item = Self> {
        FORMATS.iter().map(|f| f.0)
    }

    /// Returns its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().2[0]
    }

    /// Returns the format that has `name` among its names.
    pub(crate) fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|f| f.2.contains(&name)).map(|f| f.0)
    }

    /// Returns what the format configures or describes.
    pub(crate) fn subject(self) -> Subject {
        self.entry().1
    }

    fn entry(self) -> &'static (Self, Subject, &'static [&'static str]) {
        FORMATS.iter().find(|f| f.0 == self).expect("every format is in the table")
    }

    /// Returns the first name of every format, separated by commas.
    pub(crate) fn names() -> String {
        FORMATS.iter().map(|f| f.2[0]).collect::<Vec<_>>().join(", ")
    }
}
