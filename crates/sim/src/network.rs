//! A plan as what is simulated: places joined by directed channels, and the channels that a message crosses.

use tresse_fabric::id::NodeId;
use tresse_fabric::plan::Plan;
use tresse_fabric::units::Rate;
use tresse_fabric::watch::Crossing;

/// Where a channel ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A switch, by its number.
    Switch(u32),
    /// A node, by its number.
    Node(u32),
}

/// One direction of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel {
    /// Where flits come from.
    pub from: Place,
    /// Where they go.
    pub to: Place,
    /// Its rate.
    pub rate: Rate,
}

/// Places and channels. Channels are numbered: those between switches as in the plan's graph, then a pair
/// (out of the node, into it) for every NIC on a switch by node and NIC, then one for every NIC on a cable
/// to another node, out of it.
#[derive(Debug, Clone)]
pub struct Network {
    /// Nodes.
    pub nodes: usize,
    /// Switches.
    pub switches: usize,
    /// All channels.
    pub channels: Vec<Channel>,
    /// Between switches: the first so many.
    pub between: usize,
    /// By node, by NIC: the channels out of it and into it.
    nics: Vec<Vec<[u32; 2]>>,
}

impl Network {
    /// The network of a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let (cluster, graph) = (plan.cluster(), plan.graph());
        let mut channels: Vec<Channel> = (0..graph.channels() as u32)
            .map(|c| Channel {
                from: Place::Switch(graph.tail(c)),
                to: Place::Switch(graph.head(c)),
                rate: cluster.links[graph.link(c).index()].rate,
            })
            .collect();
        let between = channels.len();
        let mut nics: Vec<Vec<[u32; 2]>> =
            cluster.nodes.iter().map(|node| vec![[u32::MAX; 2]; node.nics.len()]).collect();
        for (at, node) in (0u32..).zip(&cluster.nodes) {
            for (i, nic) in node.nics.iter().enumerate() {
                let node = Place::Node(at);
                let out = channels.len() as u32;
                if let Some(peer) = nic.peer {
                    nics[at as usize][i][0] = out;
                    nics[peer.node.index()][peer.nic][1] = out;
                    channels.push(Channel {
                        from: node,
                        to: Place::Node(peer.node.0),
                        rate: nic.rate,
                    });
                } else {
                    let switch = Place::Switch(nic.switch.0);
                    nics[at as usize][i] = [out, out + 1];
                    channels.push(Channel { from: node, to: switch, rate: nic.rate });
                    channels.push(Channel { from: switch, to: node, rate: nic.rate });
                }
            }
        }
        Self { nodes: nics.len(), switches: cluster.switches.len(), channels, between, nics }
    }

    /// The rate of the slowest channel out of a node: a cycle is a flit's time there.
    #[must_use]
    pub fn base_rate(&self) -> Rate {
        let nodes = self.channels.iter().filter(|c| matches!(c.from, Place::Node(_)));
        nodes.map(|c| c.rate).min().unwrap_or(Rate::GIGABIT)
    }

    /// The channel of a crossing.
    #[must_use]
    pub fn channel(&self, crossing: Crossing) -> u32 {
        match crossing {
            Crossing::Between(channel) => channel,
            Crossing::Out(node, nic) => self.nics[node.index()][nic][0],
            Crossing::In(node, nic) => self.nics[node.index()][nic][1],
        }
    }

    /// The channels out of a node, in the order of its NICs.
    pub fn out_of(&self, node: NodeId) -> impl Iterator<Item = u32> + '_ {
        self.nics[node.index()].iter().map(|nic| nic[0])
    }

    /// A channel by the names of its ends: `s0>s1`, `n3>s3`.
    #[must_use]
    pub fn name(&self, plan: &Plan, channel: u32) -> String {
        let name = |place| match place {
            Place::Switch(at) => &plan.cluster().switches[at as usize].name,
            Place::Node(at) => &plan.cluster().nodes[at as usize].name,
        };
        let of = &self.channels[channel as usize];
        format!("{}>{}", name(of.from), name(of.to))
    }
}
