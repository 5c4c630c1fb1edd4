//! Writes the daemon's metrics in the text format of Prometheus, version 0.0.4. The name of a
//! metric is that of a daemon's counter with the prefix `tresse_`; the object that the counter
//! counts for becomes labels. No metric has a series per pair of nodes while all is well: the number of series grows
//! with NICs, MPLS labels and drop reasons, and with paths and nodes that are not as planned.

use std::fmt::Write as _;

use tresse_control::{CounterLine, Status};

/// A counter: its name, its help text, and the names of the labels that the words of its object
/// become.
type Known = (&'static str, &'static str, &'static [&'static str]);

/// Every counter of the daemon.
const KNOWN: &[Known] = &[
    ("announcements_dropped_total", "Announcements dropped because the daemon was busy.", &[]),
    ("announcements_foreign_total", "Announcements of another fabric.", &[]),
    ("announcements_malformed_total", "Frames that are not announcements.", &[]),
    ("announcements_received_total", "Announcements received.", &[]),
    ("announcements_sent_total", "Announcements sent.", &[]),
    ("announcements_unsent_total", "Announcements that could not be sent.", &[]),
    ("announcements_unsigned_total", "Announcements without a tag by a key of this node.", &[]),
    (
        "announcements_wrong_vlan_total",
        "Announcements received on another VLAN than they were sent on.",
        &[],
    ),
    ("bfd_echoes_sent_total", "Echo requests to paths whose session was silent.", &[]),
    ("bfd_late_wakeups_total", "Delays of this host after which no path was judged.", &[]),
    ("bfd_malformed_total", "Damaged frames and datagrams that are not BFD control packets.", &[]),
    ("bfd_packets_received_total", "BFD control packets and echo replies accepted.", &[]),
    ("bfd_packets_sent_total", "BFD control packets sent.", &[]),
    ("bfd_paths_broken", "Paths that are broken or held down.", &[]),
    (
        "bfd_ports_taken",
        "UDP ports of BFD, by address, that another program of this host has.",
        &[],
    ),
    ("bfd_replayed_total", "Signed BFD control packets that may be copies of older ones.", &[]),
    ("bfd_sessions", "BFD sessions.", &[]),
    (
        "bfd_slowdown",
        "Factor by which this host asks for longer BFD intervals than configured, as it is slow.",
        &[],
    ),
    ("bfd_unknown_total", "BFD control packets for no session of this node.", &[]),
    ("bfd_unsent_total", "BFD control packets that could not be sent.", &[]),
    ("bfd_unsigned_total", "BFD control packets without a tag by a key of this node.", &[]),
    ("bfd_wrong_ttl_total", "BFD control packets dropped because of their TTL.", &[]),
    ("broadcasts_received_total", "Frames received for all stations.", &["interface"]),
    ("detour_changes_total", "Times that weights of paths changed for what wires carry.", &[]),
    (
        "forward_dropped_frames_total",
        "Labelled frames dropped, by reason.",
        &["interface", "reason"],
    ),
    ("forward_label_bytes_total", "Bytes forwarded for others, by label.", &["label"]),
    ("forward_label_frames_total", "Frames forwarded for others, by label.", &["label"]),
    ("forward_received_bytes_total", "Bytes of labelled frames received.", &["interface"]),
    ("forward_received_frames_total", "Labelled frames received.", &["interface"]),
    ("forward_sent_bytes_total", "Bytes of frames sent on for others.", &["interface"]),
    ("forward_sent_frames_total", "Frames sent on for others.", &["interface"]),
    ("forward_spilled_bytes_total", "Bytes that waited because the NIC was busy.", &["interface"]),
    (
        "forward_spilled_frames_total",
        "Frames that waited because the NIC was busy.",
        &["interface"],
    ),
    ("forward_waiting_bytes", "Bytes that wait for the NIC.", &["interface"]),
    ("forward_waiting_bytes_most", "The most bytes that have waited for the NIC.", &["interface"]),
    ("fused_total", "VLANs fused because they had a loop.", &[]),
    ("kernel_changes_total", "Observations of the kernel after its tables changed.", &[]),
    ("kernel_failures_total", "Operations that the kernel refused.", &[]),
    ("kernel_operations_total", "Operations done in the kernel.", &[]),
    ("kernel_overruns_total", "Times that the kernel's events were lost.", &[]),
    ("lldp_malformed_total", "Frames that are not LLDP.", &[]),
    ("lldp_received_total", "LLDP frames received.", &[]),
    ("neighbours_dropped_total", "Neighbours not remembered because there were too many.", &[]),
    ("path_changes_total", "Times that paths broke or came back.", &[]),
    ("push_bytes_total", "Bytes that came out of the TUN interface.", &["interface"]),
    (
        "push_dropped_packets_total",
        "Packets of the TUN interface dropped.",
        &["interface", "reason"],
    ),
    ("push_packets_total", "Packets that came out of the TUN interface.", &["interface"]),
    ("push_sent_bytes_total", "Bytes sent behind labels.", &["interface"]),
    ("push_sent_frames_total", "Frames sent behind labels.", &["interface"]),
    ("push_spilled_bytes_total", "Bytes that waited because the NIC was busy.", &["interface"]),
    ("push_spilled_frames_total", "Frames that waited because the NIC was busy.", &["interface"]),
    ("push_waiting_bytes", "Bytes that wait for the NIC.", &["interface"]),
    ("push_waiting_bytes_most", "The most bytes that have waited for the NIC.", &["interface"]),
    ("records", "Nodes of which this node has a record.", &[]),
    ("records_held_total", "Records that were not taken: too many, too often, or forged.", &[]),
    ("records_refused_total", "Frames of records from no neighbour, or malformed.", &[]),
    ("records_unsent_total", "Frames of records that could not be sent.", &[]),
    ("records_unsigned_total", "Frames of records without a tag by a key of this node.", &[]),
    ("repairs_total", "Repairs of drift.", &[]),
];

/// The complete text: status and counters of this node.
pub(super) fn exposition(status: &Status, counters: &[CounterLine]) -> String {
    let mut text = String::new();
    let info = [
        ("node", status.node.as_deref().unwrap_or_default()),
        ("generation", status.generation.as_deref().unwrap_or_default()),
        ("version", &status.version),
        ("engine", &status.engine),
        ("source", &status.source),
    ];
    family(&mut text, "info", "The name of this node and the plan in force.");
    series(&mut text, "info", &info, 1);
    let confirm = status.confirm_seconds.map_or(0, u64::from);
    for (name, help, value) in [
        ("in_sync", "Does the kernel hold what the plan asks for? 1: yes.", status.in_sync.into()),
        ("fault", "Did the daemon's last transaction fail? 1: yes.", status.fault.is_some().into()),
        ("withdrawn", "Was the plan withdrawn? 1: yes.", status.withdrawn.into()),
        ("pending_objects", "Objects that wait for a carrier or a proof.", count(&status.pending)),
        ("drift_objects", "Differences found and not repaired.", count(&status.drift)),
        ("fused_vlans", "VLANs out of use.", count(&status.fused)),
        ("unproven_vlans", "VLANs that are not proven yet.", count(&status.unproven)),
        ("destinations_on_backup", "Destinations reached by their backup.", count(&status.backup)),
        ("destinations_cut", "Destinations that nothing leads to.", count(&status.cut)),
        (
            "destinations_unprotected",
            "Destinations reached as planned, without the backup of the plan.",
            count(&status.unprotected),
        ),
        ("paths_broken", "Paths that are not used because they are broken.", count(&status.broken)),
        ("bfd_sessions_up", "BFD sessions that are up.", status.sessions_up.into()),
        ("confirm_seconds", "Seconds left to confirm the last apply; 0: none is due.", confirm),
    ] {
        family(&mut text, name, help);
        series(&mut text, name, &[], value);
    }
    states(&mut text, status);
    // A counter that is missing in the table is a fault that the tests find.
    for (name, help, labels) in KNOWN {
        family(&mut text, name, help);
        for line in counters.iter().filter(|line| line.name == *name) {
            let words = line.object.splitn(labels.len().max(1), ' ');
            let labels: Vec<(&str, &str)> = labels.iter().copied().zip(words).collect();
            series(&mut text, name, &labels, line.value);
        }
    }
    text
}

/// What has a name and is up or down: NICs, paths and other nodes.
fn states(text: &mut String, status: &Status) {
    let of = |kind| status.states.iter().filter(move |line| line.kind == kind);
    family(text, "nic_up", "Has this NIC of the plan carrier? 1: yes.");
    for line in of("link") {
        series(text, "nic_up", &[("interface", &line.object)], line.up.into());
    }
    family(text, "path_up", "Is this path up? 1: yes. Only paths that are down now or were today.");
    for line in of("path") {
        let (peer, rest) = line.object.split_once(" rank ").unwrap_or((&line.object, ""));
        let (rank, interface) = rest.split_once(" by ").unwrap_or((rest, ""));
        let labels = [("peer", peer), ("rank", rank), ("interface", interface)];
        series(text, "path_up", &labels, line.up.into());
    }
    family(text, "peer_same_plan", "Does that node send by the same plan as this one? 1: yes.");
    for line in of("plan") {
        series(text, "peer_same_plan", &[("peer", &line.object)], line.up.into());
    }
    family(text, "peer_state", "Nodes that are not reached as planned: 1.");
    for (state, nodes) in [
        ("backup", &status.backup_nodes),
        ("unprotected", &status.unprotected_nodes),
        ("cut", &status.cut),
    ] {
        for peer in nodes {
            series(text, "peer_state", &[("peer", peer), ("state", state)], 1);
        }
    }
}

fn count<T>(of: &[T]) -> u64 {
    of.len() as u64
}

/// Writes the lines before the series of one name. Writing to a string cannot fail.
fn family(text: &mut String, name: &str, help: &str) {
    let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
    let _ = write!(text, "# HELP tresse_{name} {help}\n# TYPE tresse_{name} {kind}\n");
}

fn series(text: &mut String, name: &str, labels: &[(&str, &str)], value: u64) {
    let _ = write!(text, "tresse_{name}");
    for (at, (label, value)) in labels.iter().enumerate() {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(text, "{}{label}=\"{value}\"", if at == 0 { '{' } else { ',' });
    }
    let _ = writeln!(text, "{} {value}", if labels.is_empty() { "" } else { "}" });
}

#[cfg(test)]
mod tests {
    use tresse_control::StateLine;

    use super::*;

    fn line(name: &str, object: &str, value: u64) -> CounterLine {
        CounterLine { name: name.into(), object: object.into(), value }
    }

    #[test]
    fn every_series_has_help_and_kind_once() {
        let counters = [
            line("forward_dropped_frames_total", "eth0 ring-full", 7),
            line("repairs_total", "", 2),
            line("forward_dropped_frames_total", "eth1 no such label", 1),
            line("forward_waiting_bytes", "eth\"0\\", 3),
        ];
        let state = |kind: &str, object: &str, up| StateLine {
            kind: kind.into(),
            object: object.into(),
            up,
            since: None,
            today: 1,
            why: String::new(),
        };
        let status = Status {
            node: Some("n0".into()),
            sessions_up: 4,
            states: vec![
                state("link", "eth0", true),
                state("path", "n1 rank 1 by eth0.100", false),
                state("plan", "n2", false),
            ],
            cut: vec!["n3".into()],
            ..Status::default()
        };
        let text = exposition(&status, &counters);
        for expected in [
            "# TYPE tresse_forward_dropped_frames_total counter\n\
             tresse_forward_dropped_frames_total{interface=\"eth0\",reason=\"ring-full\"} 7\n\
             tresse_forward_dropped_frames_total{interface=\"eth1\",reason=\"no such label\"} 1\n",
            "# TYPE tresse_forward_waiting_bytes gauge\n\
             tresse_forward_waiting_bytes{interface=\"eth\\\"0\\\\\"} 3\n",
            "tresse_repairs_total 2\n",
            "tresse_bfd_sessions_up 4\n",
            "tresse_in_sync 0\n",
            "tresse_nic_up{interface=\"eth0\"} 1\n",
            "tresse_path_up{peer=\"n1\",rank=\"1\",interface=\"eth0.100\"} 0\n",
            "tresse_peer_same_plan{peer=\"n2\"} 0\n",
            "tresse_peer_state{peer=\"n3\",state=\"cut\"} 1\n",
            "tresse_info{node=\"n0\",generation=\"\",",
        ] {
            assert!(text.contains(expected), "{text}");
        }
        for name in text.lines().filter_map(|line| line.strip_prefix("# HELP ")) {
            let name = name.split(' ').next().unwrap_or_default();
            assert_eq!(text.matches(&format!("# TYPE {name} ")).count(), 1, "{name}");
        }
    }

    #[test]
    fn the_table_is_sorted_and_kinds_follow_names() {
        assert!(KNOWN.is_sorted_by_key(|(name, ..)| *name));
        for (name, help, _) in KNOWN {
            assert!(help.ends_with('.') && !help.contains('\n'), "{name}");
        }
    }
}
