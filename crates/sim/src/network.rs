//! The simulated network of a plan: nodes and switches joined by directed channels, and the
//! channels that each message crosses.

use std::collections::BTreeMap;

use tresse_base::id::NodeId;
use tresse_base::units::Rate;
use tresse_plan::Plan;
use tresse_topology::path::Crossing;

/// One end of a simulated channel: a switch or a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChannelEnd {
    /// A switch, by its number.
    Switch(u32),
    /// A node, by its number.
    Node(u32),
}

/// One direction of a cable in a simulation: its two ends and its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulatedChannel {
    /// Where flits come from.
    pub from: ChannelEnd,
    /// Where they go.
    pub to: ChannelEnd,
    /// Its rate.
    pub rate: Rate,
}

/// The nodes, switches and channels (directions of cables) of a simulation. Channels are numbered:
/// first those between switches, as in the plan's graph; then those of the NICs, by node and NIC. A
/// NIC on a switch has two, out of the node and into it; a NIC cabled to another node has one, out
/// of the node.
#[derive(Debug, Clone)]
pub struct SimulatedNetwork {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of switches.
    pub switches: usize,
    /// All channels.
    pub channels: Vec<SimulatedChannel>,
    /// Number of channels between switches, which come first.
    pub between: usize,
    /// By node, by NIC: the channels out of it and into it.
    nics: Vec<Vec<[u32; 2]>>,
}

impl SimulatedNetwork {
    /// Returns the network of a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let (cluster, graph) = (plan.cluster(), plan.graph());
        let mut channels: Vec<SimulatedChannel> = (0..graph.channels() as u32)
            .map(|c| SimulatedChannel {
                from: ChannelEnd::Switch(graph.tail(c)),
                to: ChannelEnd::Switch(graph.head(c)),
                rate: cluster.links[graph.link(c).index()].rate,
            })
            .collect();
        let between = channels.len();
        let mut nics: Vec<Vec<[u32; 2]>> =
            cluster.nodes.iter().map(|node| vec![[u32::MAX; 2]; node.nics.len()]).collect();
        for (at, node) in (0u32..).zip(&cluster.nodes) {
            for (i, nic) in node.nics.iter().enumerate() {
                let node = ChannelEnd::Node(at);
                let out = channels.len() as u32;
                if let Some(peer) = nic.peer {
                    nics[at as usize][i][0] = out;
                    nics[peer.node.index()][peer.nic][1] = out;
                    channels.push(SimulatedChannel {
                        from: node,
                        to: ChannelEnd::Node(peer.node.0),
                        rate: nic.rate,
                    });
                } else {
                    let switch = ChannelEnd::Switch(nic.switch.0);
                    nics[at as usize][i] = [out, out + 1];
                    channels.push(SimulatedChannel { from: node, to: switch, rate: nic.rate });
                    channels.push(SimulatedChannel { from: switch, to: node, rate: nic.rate });
                }
            }
        }
        Self { nodes: nics.len(), switches: cluster.switches.len(), channels, between, nics }
    }

    /// Returns the most common rate of channels out of nodes, the highest if several are equally
    /// common. A cycle is a flit's time at that rate.
    #[must_use]
    pub fn base_rate(&self) -> Rate {
        let mut counts: BTreeMap<Rate, usize> = BTreeMap::new();
        for channel in self.channels.iter().filter(|c| matches!(c.from, ChannelEnd::Node(_))) {
            *counts.entry(channel.rate).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        most.map_or(Rate::GIGABIT, |(rate, _)| rate)
    }

    /// Returns the channel of a crossing.
    #[must_use]
    pub fn channel(&self, crossing: Crossing) -> u32 {
        match crossing {
            Crossing::Between(channel) => channel,
            Crossing::Out(node, nic) => self.nics[node.index()][nic][0],
            Crossing::In(node, nic) => self.nics[node.index()][nic][1],
        }
    }

    /// Returns the channels out of a node, in the order of its NICs.
    pub fn out_of(&self, node: NodeId) -> impl Iterator<Item = u32> + '_ {
        self.nics[node.index()].iter().map(|nic| nic[0])
    }

    /// Names a channel by its ends: `s0>s1`, `n3>s3`; with ports (`s0:6>s1:6`) or NIC
    /// (`n3:eth1>s3`) if other channels have the same ends.
    #[must_use]
    pub fn name(&self, plan: &Plan, channel: u32) -> String {
        let (cluster, graph) = (plan.cluster(), plan.graph());
        let of = &self.channels[channel as usize];
        let [mut from, mut to] = [of.from, of.to].map(|place| match place {
            ChannelEnd::Switch(at) => cluster.switches[at as usize].name.clone(),
            ChannelEnd::Node(at) => cluster.nodes[at as usize].name.clone(),
        });
        if (channel as usize) < self.between {
            let link = &cluster.links[graph.link(channel).index()];
            let others =
                graph.out(graph.tail(channel)).filter(|c| graph.head(*c) == graph.head(channel));
            if others.count() > 1 {
                let forth = link.a.switch.0 == graph.tail(channel);
                let (a, b) = if forth { (link.a, link.b) } else { (link.b, link.a) };
                (from, to) = (format!("{from}:{}", a.port), format!("{to}:{}", b.port));
            }
        } else {
            for (place, name) in [(of.from, &mut from), (of.to, &mut to)] {
                let ChannelEnd::Node(at) = place else { continue };
                let nics = &self.nics[at as usize];
                let ends = |c: &&u32| {
                    let other = self.channels.get(**c as usize);
                    other.is_some_and(|other| (other.from, other.to) == (of.from, of.to))
                };
                let own = nics.iter().position(|nic| nic.contains(&channel));
                if let (Some(own), true) = (own, nics.iter().flatten().filter(ends).count() > 1) {
                    *name = format!("{name}:{}", cluster.nodes[at as usize].nics[own].name);
                }
            }
        }
        format!("{from}>{to}")
    }
}
