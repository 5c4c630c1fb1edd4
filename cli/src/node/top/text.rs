//! What `tresse top` says in words: of the node, and of what is not as planned.

use std::fmt::Write as _;

use tresse_control::{Status, waiting};

use crate::output::{self, plain};
use tresse_doctor::load::{Load, bits};

/// So many names of a list are shown.
const NAMED: usize = 8;

/// The node, and whether all is as planned.
pub fn head(status: &Status) -> String {
    let node = status.node.as_deref().unwrap_or("no plan");
    let sync = if status.in_sync { "in sync" } else { "NOT in sync" };
    let sessions = match status.sessions {
        0 => String::new(),
        all => format!(", BFD {} of {all} up", status.sessions_up),
    };
    format!("{}, {sync}, {}{sessions}", plain(node), status.activity)
}

/// A line for each thing that is not as planned.
pub fn wrong(status: &Status) -> Vec<String> {
    let lists = [
        ("NOT REACHED by any path", &status.cut),
        ("broken paths", &status.broken),
        ("on their backup", either(&status.backup_nodes, &status.backup)),
        ("without a backup", either(&status.unprotected_nodes, &status.unprotected)),
        ("drained", &status.drained),
        ("pinned", &status.pinned),
        ("weighted", &status.weighted),
    ];
    let of_list = |(what, list): (&str, &Vec<String>)| {
        let shown: Vec<_> = list.iter().take(NAMED).map(|text| plain(text)).collect();
        let more = if list.len() > shown.len() { " ..." } else { "" };
        format!("{} {what}: {}{more}", list.len(), shown.join(", "))
    };
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty()).map(of_list);
    let fused = status.fused.iter();
    let fused = fused.map(|fused| format!("FUSED VLAN {}: {}", fused.vid, plain(&fused.why)));
    let fault = status.fault.iter().map(|fault| format!("FAULT: {}", plain(fault)));
    let others = status.others.iter();
    let others = others.map(|other| format!("{} sends by ANOTHER plan", plain(&other.node)));
    let foreign = status.foreign.iter();
    let foreign = foreign.map(|line| format!("ANOTHER FABRIC is heard at {}", plain(&line.nic)));
    let drift = status.drift.iter().map(|line| plain(&output::operation(line)).into_owned());
    let waits = waiting(&status.pending);
    let waits = waits.iter().map(|line| format!("pending {}", plain(line)));
    lists.chain(fused).chain(fault).chain(others).chain(foreign).chain(drift).chain(waits).collect()
}

/// All of it as text, for what is no terminal.
pub fn screen(loads: &[Load], status: &Status) -> String {
    let mut text = head(status) + "\n\n";
    let mut table =
        output::table(["NIC", "STATE", "RECEIVES", "SENDS", "FRAMES IN", "OUT", "LOST"]);
    for load in loads {
        table.add_row([
            plain(&load.nic).into_owned(),
            load.state().into(),
            bits(load.rx),
            bits(load.tx),
            load.rx_frames.to_string(),
            load.tx_frames.to_string(),
            load.lost.to_string(),
        ]);
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{table}");
    for line in wrong(status) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Nodes by name; by address where an older daemon sends no names.
const fn either<'a>(names: &'a Vec<String>, addresses: &'a Vec<String>) -> &'a Vec<String> {
    if names.is_empty() { addresses } else { names }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_screen_names_what_is_not_as_planned() {
        let load = Load {
            nic: "eth0".into(),
            up: true,
            carrier: false,
            rx: 1_500_000,
            tx: 0,
            rx_frames: 12,
            tx_frames: 0,
            lost: 3,
        };
        let status = Status {
            node: Some("n0".into()),
            in_sync: true,
            drained: vec!["s1".into()],
            broken: (0..9).map(|n| format!("n{n} rank 0 by eth0")).collect(),
            ..Status::default()
        };
        let text = screen(&[load], &status);
        for words in
            ["n0, in sync", "no carrier", "1.5M", "9 broken paths: n0", "...", "1 drained: s1"]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
