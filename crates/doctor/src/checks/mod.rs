//! The checks of `tresse doctor`, one function each. Each compares what the plan needs with the
//! state of this host.

mod behind;
mod fabric;
mod kernel;
mod links;

use tresse_slice::Slice;

use crate::finding::Finding;
use crate::seen::Seen;

/// Runs all checks, each after those that it depends on, and returns their findings.
#[must_use]
pub fn all(seen: &Seen<'_>) -> Vec<Finding> {
    let slice = Slice::of(seen.plan, seen.node);
    let checks: [fn(&Seen<'_>, &Slice) -> Vec<Finding>; 16] = [
        fabric::daemon,
        kernel::modules,
        links::nics,
        links::masters,
        links::twins,
        links::managers,
        kernel::reverse_paths,
        kernel::forwarding,
        behind::other_side,
        kernel::ipv6,
        kernel::pause,
        fabric::watched,
        fabric::strangers,
        links::broadcasts,
        kernel::clock,
        fabric::paths,
    ];
    let mut findings = Vec::new();
    for check in checks {
        findings.extend(check(seen, &slice));
    }
    findings
}
