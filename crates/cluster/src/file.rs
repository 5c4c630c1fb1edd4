//! The tables and keys of the cluster file as Rust structs (DESIGN section 3), exactly as written
//! in the file: names are not resolved and defaults not filled in. The doc comments become the
//! descriptions in the JSON Schema.

use tresse_topology::cluster::{Learning, Stp};

use crate::forms::{Gateway, LinkEnds, Networks, PortNumbers, Prefixes, Reflecting};
use crate::kinds::TopologyKind;
use crate::read::{At, Number, choice, section};
use crate::{limits, pattern};

section! {
    /// A Tresse cluster file: the same on every node.
    #[schemars(extend("required" = ["fabric"], "allOf" = crate::kinds::rules_of_kinds()))]
    File, "the cluster file" {
        /// The fabric: its name and its shape.
        fabric: Fabric = "[fabric] with topology = { kind = \"torus\", dims = [4, 4] }",
        /// How paths are chosen.
        routing: Routing = "[routing] with strategy = \"stp\"",
        /// The VLAN IDs that plans may use.
        vlans: Vlans = "[vlans] with range = \"100-199\"",
        /// Where addresses come from.
        addressing: Addressing = "[addressing] with nodes = \"10.77.0.0/16\"",
        /// Traffic to balance for, beside or instead of uniform traffic: all that is not listed is 0.
        demand: Vec<At<Traffic>> = "[[demand]] with from = \"n[0-3]\", to = \"n[4-7]\"",
        /// Switches of an explicit fabric, or overrides for generated ones.
        switch: Vec<At<Switch>> = "[[switch]] with name = \"s00\"",
        /// Nodes of an explicit fabric; names of the hosts or overrides for generated ones, or nodes beside them.
        node: Vec<At<Node>> = "[[node]] with name = \"n00\"",
        /// Cables between switches, or between nodes where an explicit fabric has no switches; beside a generated fabric they are added
        /// to it.
        link: Vec<At<Link>> = "[[link]] with a = \"s00:23\", b = \"s01:24\"",
    }
}

section! {
    /// The fabric: its name and its shape.
    #[schemars(extend("required" = ["topology"]))]
    Fabric, "[fabric]" {
        /// The name of the fabric. Default: kind and sizes, such as `torus-4x4`.
        #[schemars(extend("pattern" = pattern::name()))]
        name: String = "name = \"torus16\"",
        /// The shape: a generated one by kind and sizes, or `{ kind = "explicit" }`.
        topology: Topology = "topology = { kind = \"torus\", dims = [4, 4] }",
    }
}

section! {
    /// A kind of topology with its sizes.
    #[schemars(extend(
        "required" = ["kind"],
        "dependentRequired" = { "spares": ["uplink"] },
        "allOf" = crate::kinds::keys_of_kinds(),
    ))]
    Topology, "`topology`" {
        /// The kind of topology.
        kind: TopologyKind = "kind = \"torus\"",
        /// Sizes per dimension, dimension 0 fastest (mesh, torus, hyperx, pmesh, direct-mesh, direct-torus).
        #[schemars(length(min = 1, max = limits::DIMENSIONS), inner(range(min = 1, max = limits::SWITCHES)))]
        dims: Vec<At<Number>> = "dims = [4, 4]",
        /// Nodes on each switch that has any: on the leaves of clos, the edge switches of fat-tree, all switches elsewhere. Not
        /// where nodes route, nor in fnn. Default: 1; as many NICs as half of the ports in clique and fat-tree.
        #[schemars(range(min = 1, max = limits::NODES_PER_SWITCH), extend("default" = 1))]
        nodes_per_switch: Number = "nodes_per_switch = 1",
        /// NICs of each node; NIC i goes to the next switch in order of those with nodes. Not where nodes route, nor in fnn.
        #[schemars(range(min = 1, max = limits::NICS_PER_NODE), extend("default" = 1))]
        nics_per_node: Number = "nics_per_node = 1",
        /// Ports of each switch (clique, irregular).
        #[schemars(range(min = 2))]
        ports: Number = "ports = 8",
        /// Number of switches (irregular).
        #[schemars(range(min = 1))]
        switches: Number = "switches = 16",
        /// Number of nodes (ring, full-mesh).
        #[schemars(range(min = 2))]
        nodes: Number = "nodes = 8",
        /// Seed of the random cabling (irregular).
        seed: Number = "seed = 1",
        /// Number of spines, switches without nodes (clos).
        #[schemars(range(min = 1, max = limits::SWITCHES))]
        spines: Number = "spines = 4",
        /// Number of leaves, switches with nodes (clos).
        #[schemars(range(min = 1, max = limits::SWITCHES))]
        leaves: Number = "leaves = 8",
        /// Parallel cables between each leaf and each spine (clos).
        #[schemars(range(min = 1, max = limits::PARALLEL), extend("default" = 1))]
        cables: Number = "cables = 1",
        /// Ports of each switch, for as many nodes as half of them (fat-tree).
        #[schemars(range(min = 2, max = limits::FAT_TREE_PORTS), extend("multipleOf" = 2))]
        k: Number = "k = 6",
        /// Number of dimensions, of two switches each (hypercube).
        #[schemars(range(min = 1, max = limits::CUBE_DIMENSIONS))]
        dimensions: Number = "dimensions = 4",
        /// Number of groups, at most `routers` x `global` + 1 (dragonfly).
        #[schemars(range(min = 1, max = limits::SWITCHES))]
        groups: Number = "groups = 9",
        /// Switches in each group, each cabled to all others of it (dragonfly).
        #[schemars(range(min = 1, max = limits::SWITCHES))]
        routers: Number = "routers = 4",
        /// The most cables that each switch has to other groups (dragonfly).
        #[schemars(range(min = 1, max = limits::GLOBAL))]
        global: Number = "global = 2",
        /// An odd prime; there are 2 q^2 switches (slim-fly).
        #[schemars(extend("enum" = crate::kinds::slim_flies()))]
        q: Number = "q = 5",
        /// Sizes to keep room for in the addresses (pmesh).
        #[schemars(length(min = 1, max = limits::DIMENSIONS), inner(range(min = 2, max = limits::GROWN)))]
        grow_to: Vec<At<Number>> = "grow_to = [8, 8]",
        /// Lines that share a switch, each an untagged VLAN of its own out of `[vlans]` (pmesh).
        #[schemars(range(min = 1), extend("default" = 1))]
        lines_per_switch: Number = "lines_per_switch = 1",
        /// The wiring table that `tresse design -o` writes: its file, or the table itself (fnn).
        #[schemars(length(min = 1))]
        wiring: String = "wiring = \"wiring.txt\"",
        /// The name of a switch to which every other has one cable, for multicast and other networks: one more, or one of
        /// the wiring with ports to spare (fnn).
        #[schemars(extend("pattern" = pattern::name()))]
        uplink: String = "uplink = \"u0\"",
        /// Nodes that have one NIC, on the uplink switch: names or hostlists (fnn with uplink).
        #[schemars(length(min = 1), extend("items" = pattern::hostlist_entry()))]
        spares: Vec<At<String>> = "spares = [\"spare0\"]",
    }
}

section! {
    /// How paths are chosen.
    Routing, "[routing]" {
        /// The strategy. Default: dor on mesh and torus, minimal on clos and fat-tree, xy where nodes route, shortest where their
        /// cables are listed, direct on fnn, stp elsewhere.
        strategy: StrategyName = "strategy = \"stp\"",
        /// Paths per ordered pair of nodes: the primary and its backups.
        #[schemars(range(min = 1, max = limits::PATHS), extend("default" = 2))]
        paths: Number = "paths = 2",
        /// Refuse a plan whose channel dependency graph has a cycle.
        #[schemars(extend("default" = false))]
        lossless: bool = "lossless = false",
        /// The root switch of updown and transit.
        #[schemars(extend("pattern" = pattern::name()))]
        root: String = "root = \"s00\"",
        /// Paths through third nodes: for pairs with listed demand, weighted for it (true), or for all pairs, used while
        /// their own are full (`adaptive`).
        #[schemars(extend("default" = false))]
        reflect: Reflecting = "reflect = false",
        /// Such paths may cross the uplink of a flat neighbourhood instead.
        #[schemars(extend("default" = false))]
        use_uplink: bool = "use_uplink = false",
        /// How transit chooses among paths.
        choice: PathChoice = "choice = \"balanced\"",
        /// What counts more for minimal, updown and transit: even loads on links, or few VLANs.
        prefer: Preference = "prefer = \"balance\"",
        /// The traffic to balance for: `uniform`, from every node to every other. Other traffic is listed
        /// in `[[demand]]` tables.
        #[schemars(extend("const" = "uniform", "default" = "uniform"))]
        demand: String = "demand = \"uniform\"",
        /// Let one connection of Multipath TCP use all NICs that two nodes have paths by.
        #[schemars(extend("default" = false))]
        mptcp: bool = "mptcp = false",
    }
}

choice! {
    /// Routing strategies.
    StrategyName, "a routing strategy" {
        /// One spanning tree.
        Stp = "stp",
        /// Dimension-order routing: on mesh, torus, hypercube and hyperx.
        Dor = "dor",
        /// Partial dimension-order routing: on mesh, torus and hypercube.
        Pdor = "pdor",
        /// Minimal paths on any fabric, packed into few trees.
        Minimal = "minimal",
        /// up*/down*: balanced and free of deadlock on any fabric.
        Updown = "updown",
        /// Minimal paths on any fabric, split at in-transit nodes: free of deadlock.
        Transit = "transit",
        /// Dimension order through nodes: on every topology whose nodes route.
        Xy = "xy",
        /// One switch between any two nodes: on fnn, and explicit without links.
        Direct = "direct",
        /// Shortest paths through nodes: on explicit without switches.
        Shortest = "shortest",
    }
}

choice! {
    /// How transit chooses among paths.
    PathChoice, "a way to choose paths" {
        /// Balanced over links.
        Balanced = "balanced",
        /// As in the paper.
        Paper = "paper",
    }
}

choice! {
    /// What counts more where paths are packed into VLANs.
    Preference, "a preference" {
        /// The busiest link carries as little as possible.
        Balance = "balance",
        /// As few VLANs as possible; paths are as short.
        FewestVlans = "fewest-vlans",
    }
}

section! {
    /// The VLAN IDs that plans may use.
    Vlans, "[vlans]" {
        /// VIDs: a range such as `100-199`, or several separated by commas.
        #[schemars(extend("default" = "2-4094", "pattern" = pattern::vids()))]
        range: String = "range = \"100-199\"",
        /// The untagged VLAN that gets the base tree. Default: no untagged VLAN between switches.
        #[schemars(range(min = 1, max = 4094))]
        base: Number = "base = 1",
    }
}

section! {
    /// Where addresses come from.
    Addressing, "[addressing]" {
        /// One address per node: a prefix, or one IPv4 and one IPv6 prefix.
        #[schemars(extend("default" = "10.77.0.0/16"))]
        nodes: Prefixes = "nodes = \"10.77.0.0/16\"",
        /// One address per NIC: a prefix, or one IPv4 and one IPv6 prefix.
        #[schemars(extend("default" = "10.78.0.0/16"))]
        nics: Prefixes = "nics = \"10.78.0.0/16\"",
        /// How node addresses are laid out. Default: `coordinates` on new P-Meshes, direct tori and direct meshes
        /// whose prefixes have room, else `sequential`; `tresse.lock` keeps it.
        layout: LayoutName = "layout = \"coordinates\"",
    }
}

choice! {
    /// Layouts of node addresses.
    LayoutName, "a layout of node addresses" {
        /// By the coordinates of nodes.
        Coordinates = "coordinates",
        /// One after the other.
        Sequential = "sequential",
    }
}

section! {
    /// Traffic: from each node of one list to each of another.
    #[schemars(extend("required" = ["from", "to"]))]
    Traffic, "[[demand]]" {
        /// The nodes that send: a name or hostlist of nodes, or of switches for all nodes on them.
        #[schemars(extend("pattern" = pattern::names()))]
        from: String = "from = \"n[0-3]\"",
        /// The nodes that receive.
        #[schemars(extend("pattern" = pattern::names()))]
        to: String = "to = \"s1\"",
        /// What each of `from` sends to each of `to`, beside other entries' weights.
        #[schemars(range(min = 1, max = limits::DEMAND), extend("default" = 1))]
        weight: Number = "weight = 1",
    }
}

section! {
    /// A switch, or several by a hostlist.
    #[schemars(extend("required" = ["name"]))]
    Switch, "[[switch]]" {
        /// Name or hostlist, such as `s[00-15]`.
        #[schemars(extend("pattern" = pattern::names()))]
        name: String = "name = \"s[00-15]\"",
        /// Number of ports. Default: as many as are cabled.
        #[schemars(range(min = 1, max = limits::PORTS))]
        ports: Number = "ports = 24",
        /// How many VLANs the switch can hold.
        #[schemars(range(min = 1, max = 4094), extend("default" = 4094))]
        max_vlans: Number = "max_vlans = 64",
        /// Independent (ivl) or shared (svl) VLAN learning.
        #[schemars(extend("default" = "ivl"))]
        learning: Learning = "learning = \"ivl\"",
        /// Largest frame in bytes, header and FCS included.
        #[schemars(range(min = limits::MIN_FRAME, max = limits::MAX_FRAME), extend("default" = 1522))]
        max_frame: Number = "max_frame = 1522",
        /// How spanning tree is kept off our VLANs.
        #[schemars(extend("default" = "off"))]
        stp: Stp = "stp = \"off\"",
        /// Entries of the forwarding database.
        #[schemars(range(min = 1))]
        fdb_size: Number = "fdb_size = 8192",
        /// Ageing time of the forwarding database in seconds.
        #[schemars(range(min = limits::MIN_AGE, max = limits::MAX_AGE), extend("default" = 300))]
        fdb_age_seconds: Number = "fdb_age_seconds = 300",
        /// All cables to a switch that has this too are one link: a link aggregation group (LACP).
        #[schemars(extend("default" = false))]
        lag: bool = "lag = false",
    }
}

section! {
    /// A node, or several by a hostlist.
    #[schemars(extend("required" = ["name"]))]
    Node, "[[node]]" {
        /// Name or hostlist, such as `n[00-15]`.
        #[schemars(extend("pattern" = pattern::names()))]
        name: String = "name = \"n[00-15]\"",
        /// Which node of a generated fabric it is, from 0, where it has the name of a host; of a hostlist the first one.
        /// Default: in the order of the entries.
        #[schemars(range(min = 0))]
        place: Number = "place = 0",
        /// The NICs in order; for a generated node all of them in order, each with its name, or what differs
        /// from the generated ones.
        #[schemars(length(min = 1))]
        nics: Vec<At<Nic>> = "nics = [{ switch = \"s0\", port = 1 }]",
        /// May other pairs' frames pass through this node?
        #[schemars(extend("default" = true))]
        transit: bool = "transit = true",
        /// Does it route between the fabric and all networks that the plan does not know? Nodes that have no default route
        /// get one by it; its own way out, and forwarding there, are the operator's. Several gateways have an order: the lowest
        /// number that can be reached is used; `true` comes first.
        #[schemars(extend("default" = false))]
        gateway: Gateway = "gateway = true",
        /// Networks behind it, such as those of pods, virtual machines or storage: every node gets routes to them by it, and it
        /// forwards between them and the fabric. Its own routes to them, and forwarding there, are the operator's.
        prefixes: Networks = "prefixes = [\"192.168.10.0/24\"]",
        /// The node whose place this spare takes, with its name and addresses (fnn with spares).
        #[schemars(extend("pattern" = pattern::name()))]
        replaces: String = "replaces = \"n3\"",
    }
}

section! {
    /// A network interface of a node.
    #[schemars(extend("dependentRequired" = { "switch": ["port"], "port": ["switch"] }))]
    Nic, "`nics`" {
        /// Interface name. Default: eth0, eth1, ... in order.
        #[schemars(extend("pattern" = pattern::nic_name(), "not" = pattern::not_nic_names()))]
        name: String = "name = \"eth0\"",
        /// MAC address. Default: derived, good for lab and planning only.
        #[schemars(extend("pattern" = pattern::MAC, "not" = pattern::not_macs()))]
        mac: String = "mac = \"02:00:00:00:00:01\"",
        /// The switch it is cabled to; with a node hostlist, a name or one name per node.
        #[schemars(extend("pattern" = pattern::names()))]
        switch: String = "switch = \"s0\"",
        /// The switch port from 1; with a node hostlist also a list such as `[1-16]`.
        port: PortNumbers = "port = 1",
        /// Line rate, such as 1G, 2.5G, 100M.
        #[schemars(extend("default" = "1G", "pattern" = pattern::RATE, "not" = pattern::not_rates()))]
        rate: String = "rate = \"1G\"",
        /// IP MTU of the NIC.
        #[schemars(range(min = limits::MIN_MTU, max = limits::MAX_MTU), extend("default" = 1500))]
        mtu: Number = "mtu = 1500",
    }
}

section! {
    /// A cable between two switches or two nodes, or several by hostlists.
    #[schemars(extend("required" = ["a", "b"]))]
    Link, "[[link]]" {
        /// One end, `switch:port`, such as `s00:23`; in an explicit fabric without switches `node:nic`, such as `n1:eth0`, or a
        /// list of these where one cable joins several NICs of two nodes.
        a: LinkEnds = "a = \"s00:23\"",
        /// The other end.
        b: LinkEnds = "b = \"s01:24\"",
        /// Line rate.
        #[schemars(extend("default" = "1G", "pattern" = pattern::RATE, "not" = pattern::not_rates()))]
        rate: String = "rate = \"1G\"",
    }
}
