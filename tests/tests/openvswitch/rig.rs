//! Open vSwitch in a namespace of its own: cables, daemons, the export's scripts, and a prober.
//! Everything ends with the shell that holds the namespace.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use serde_json::json;
use tresse_base::id::NodeId;
use tresse_export::{self, ExportFile, ExportOptions, Format};
use tresse_plan::Plan;
use tresse_topology::cluster::Port;

/// One frame, and how often each interface must receive it; the others never.
pub struct Probe {
    pub from: String,
    pub frame: Vec<u8>,
    pub want: BTreeMap<String, u32>,
}

/// A fabric of bridges, described but not yet running.
pub struct Rig {
    cables: Vec<(String, String)>,
    scripts: Vec<ExportFile>,
}

/// Interface of a switch port.
pub fn switch_port(port: Port) -> String {
    format!("s{}p{}", port.switch.0, port.port)
}

/// Interface of the switch port that a node's first NIC is cabled to.
pub fn switch_port_of_node(plan: &Plan, node: NodeId) -> String {
    let nic = &plan.cluster().node(node).nics[0];
    switch_port(Port { switch: nic.switch, port: nic.port })
}

/// Interface of a node's first NIC.
pub fn node_nic(node: NodeId) -> String {
    format!("n{}", node.0)
}

/// Interface of any NIC of a node.
pub fn nic_of(node: NodeId, nic: usize) -> String {
    if nic == 0 { node_nic(node) } else { format!("{}e{nic}", node_nic(node)) }
}

/// What this machine lacks.
pub fn missing() -> Option<String> {
    let has = |program: &str| {
        Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout == b"0\n");
    if !root {
        return Some("needs root".into());
    }
    [
        ("ovs-vswitchd", "needs openvswitch-switch"),
        ("ovsdb-server", "needs openvswitch-switch"),
        ("python3", "needs python3"),
    ]
    .into_iter()
    .find(|(program, _)| !has(program))
    .map(|(_, reason)| reason.into())
}

impl Rig {
    pub fn new(plan: &Plan, options: ExportOptions) -> Self {
        let cluster = plan.cluster();
        let mut cables: Vec<_> =
            cluster.cables().map(|(_, l)| (switch_port(l.a), switch_port(l.b))).collect();
        for (node, k) in cluster.nodes.iter().zip(0..) {
            for (i, nic) in node.nics.iter().enumerate() {
                let port = Port { switch: nic.switch, port: nic.port };
                cables.push((switch_port(port), nic_of(NodeId(k), i)));
            }
        }
        let scripts = tresse_export::render(plan, Format::OpenVswitch, None, options)
            .expect("a plan has switch configurations");
        Self { cables, scripts }
    }

    /// Brings all up, sends every probe, tears all down.
    pub fn run(&self, probes: &[Probe]) -> Result<(), Failed> {
        let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
        for script in &self.scripts {
            std::fs::write(directory.path().join(&script.name), &script.text)
                .map_err(|e| e.to_string())?;
        }
        let probes: Vec<_> = probes
            .iter()
            .map(|p| {
                let hex: String = p.frame.iter().map(|b| format!("{b:02x}")).collect();
                json!({"from": p.from, "frame": hex, "want": p.want})
            })
            .collect();
        let scripts: Vec<_> = self.scripts.iter().map(|s| &s.name).collect();
        let input = json!({"cables": self.cables, "scripts": scripts, "probes": probes});
        let mut child = Command::new("unshare")
            .args(["--net", "python3", "-c", include_str!("probe.py")])
            .current_dir(directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("unshare: {e}"))?;
        let mut stdin = child.stdin.take().expect("standard input is piped");
        stdin.write_all(input.to_string().as_bytes()).map_err(|e| e.to_string())?;
        drop(stdin);
        let output = child.wait_with_output().map_err(|e| e.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Err(format!("{}{}", text(&output.stdout), text(&output.stderr)).into())
    }
}
