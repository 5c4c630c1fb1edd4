//! What a file cannot say about a fabric whose nodes route: its cables are those of its kind, and it has
//! no VLANs.

use super::super::file::File;
use super::super::problem::{Found, ProblemKind};

/// Reports VLANs, cables, ports and nodes that carry nothing for others.
pub(super) fn refuse_foreign(file: &File, found: &mut Found) {
    if let Some(vlans) = &file.vlans {
        let message = "`vlans`: where nodes route there are none";
        found.add(ProblemKind::StrategyMismatch, &vlans.key, message, "leave it out".to_owned());
    }
    let mut refuse = |span: &std::ops::Range<usize>, what: &str| {
        let message = format!("{what}, and nodes that route are cabled by their coordinates");
        found.add(ProblemKind::StrategyMismatch, span, message, "leave it out".to_owned());
    };
    for link in file.link.iter().flat_map(|links| &links.value) {
        refuse(&link.span, "a cable between switches");
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
