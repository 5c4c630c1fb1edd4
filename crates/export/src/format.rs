//! The formats to which a plan can be exported, and their names on the command line.

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
    /// Fabric: an MPI hostfile, in the order of a ring.
    Hostfile,
    /// Fabric: rules by which Open MPI uses its ring algorithms.
    OpenMpiRules,
    /// Fabric: Slurm's `topology.conf`.
    Slurm,
    /// Fabric: a Graphviz drawing; an object is a VID or a tree's name to bring out.
    Dot,
    /// Fabric: a containerlab topology.
    Containerlab,
}

/// All formats with their names; the first name is shown to users.
const FORMATS: &[(Format, &[&str])] = &[
    (Format::Bridge, &["bridge", "linux"]),
    (Format::OpenVswitch, &["openvswitch", "ovs"]),
    (Format::Sonic, &["sonic"]),
    (Format::Ios, &["ios", "cisco"]),
    (Format::Eos, &["eos", "arista"]),
    (Format::Junos, &["junos", "juniper"]),
    (Format::RouterOs, &["routeros", "mikrotik"]),
    (Format::Iproute2, &["iproute2", "node"]),
    (Format::Networkd, &["networkd"]),
    (Format::Hosts, &["hosts"]),
    (Format::Hostfile, &["hostfile", "mpi"]),
    (Format::OpenMpiRules, &["openmpi-rules"]),
    (Format::Slurm, &["slurm", "topology.conf"]),
    (Format::Dot, &["dot", "graphviz"]),
    (Format::Containerlab, &["containerlab", "clab"]),
];

impl Format {
    /// Returns all formats, in the order of help texts.
    pub fn all() -> impl Iterator<Item = Self> {
        FORMATS.iter().map(|f| f.0)
    }

    /// Returns its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().1[0]
    }

    /// Returns the format that has `name` among its names.
    pub(crate) fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|f| f.1.contains(&name)).map(|f| f.0)
    }

    fn entry(self) -> &'static (Self, &'static [&'static str]) {
        FORMATS.iter().find(|f| f.0 == self).expect("every format is in the table")
    }

    /// Returns the first name of every format, separated by commas.
    pub(crate) fn names() -> String {
        FORMATS.iter().map(|f| f.1[0]).collect::<Vec<_>>().join(", ")
    }
}
