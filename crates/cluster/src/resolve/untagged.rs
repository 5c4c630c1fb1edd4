//! Reports tables and keys that a fabric without VLANs cannot have: `[vlans]` itself; in a flat neighbourhood
//! `[[link]]`, because the strategy `direct` uses no cable between switches; where nodes route `[[link]]`, `port` and
//! `transit = false`, because coordinates determine the cables, or `[[link]]` alone, and every node forwards packets.

use tresse_base::problem::{Found, ProblemKind};

use crate::file::File;

/// Reports the table `[vlans]` if it is present.
pub(super) fn refuse_vlans(file: &File, flat: bool, found: &mut Found) {
    if let Some(vlans) = &file.vlans {
        let message = match flat {
            true => "`vlans`: strategy `direct` has none",
            false => "`vlans`: where nodes route there are none",
        };
        found.add(ProblemKind::StrategyMismatch, &vlans.key, message, "leave it out".to_owned());
    }
}

/// Reports cables between the switches of a flat neighbourhood.
pub(super) fn refuse_links(file: &File, found: &mut Found) {
    for link in file.link.iter().flat_map(|links| &links.value) {
        let message = "strategy `direct` uses no cable between switches";
        let help = "leave it out, or strategy = \"minimal\" or \"stp\"".to_owned();
        found.add(ProblemKind::StrategyMismatch, &link.span, message, help);
    }
}

/// Reports cables, ports and nodes without transit in a fabric whose nodes route. `listed`: the file lists the cables between
/// nodes.
pub(super) fn refuse_cables(file: &File, listed: bool, found: &mut Found) {
    let mut refuse = |span: &std::ops::Range<usize>, what: &str| {
        let (by, help) = match listed {
            true => ("by [[link]]", "leave it out"),
            false => (
                "by their coordinates",
                "leave it out, or list all cables: topology explicit without [[switch]]",
            ),
        };
        let message = format!("{what}, and nodes that route are cabled {by}");
        found.add(ProblemKind::StrategyMismatch, span, message, help.to_owned());
    };
    for link in file.link.iter().flat_map(|links| &links.value).filter(|_| !listed) {
        refuse(&link.span, "a cable of its own");
    }
    let entries = || file.node.iter().flat_map(|nodes| &nodes.value);
    for nic in entries().flat_map(|n| &n.value.nics).flat_map(|nics| &nics.value) {
        if let Some(port) = &nic.value.port {
            refuse(&port.span, "a port of its own");
        }
    }
    for transit in entries().filter_map(|node| node.value.transit.as_ref()) {
        if !transit.value {
            let message = "transit = false: nodes that route carry each other's packets";
            let help = "leave it out".to_owned();
            found.add(ProblemKind::StrategyMismatch, &transit.span, message, help);
        }
    }
}
