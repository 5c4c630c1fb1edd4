//! Broadcast frames sent on VLANs and counted at every node's first NIC, by raw sockets.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::json;
use tresse_base::id::NodeId;

use super::lab::Lab;

/// The prober; ends with this value.
pub struct Probe {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// (sender, VLAN, receiver) to copies.
pub type Copies = BTreeMap<(NodeId, u16, NodeId), u32>;

impl Probe {
    pub fn new(lab: &Lab) -> Self {
        let cluster = lab.now.plan.cluster();
        let station = |node: &tresse_topology::cluster::Node| {
            let nic = &node.nics[0];
            let netns = lab.directory.netns(&node.name);
            json!({"netns": netns, "interface": nic.name, "mac": nic.mac.to_string()})
        };
        let stations: Vec<_> = cluster.nodes.iter().map(station).collect();
        let mut child = Command::new("python3")
            .args(["-c", include_str!("probe.py")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut probe = Self { child, input, output };
        let ready = probe.ask(&json!(stations).to_string());
        assert_eq!(ready.trim(), "ready");
        probe
    }

    /// Sends one frame per (node, VLAN), VLAN 0 untagged, and listens for `seconds`.
    pub fn round(&mut self, frames: &[(NodeId, u16)], seconds: f64) -> Copies {
        let send: Vec<_> = frames.iter().map(|(node, vid)| json!([node.0, vid])).collect();
        let answer = self.ask(&json!({"send": send, "seconds": seconds}).to_string());
        let copies: Vec<(i64, i64, u32, u32)> = serde_json::from_str(&answer).unwrap();
        copies
            .into_iter()
            .map(|(from, vid, to, copies)| {
                let from = u32::try_from(from).expect("a frame of an earlier round still circles");
                ((NodeId(from), vid as u16, NodeId(to)), copies)
            })
            .collect()
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        answer
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
