//! The kernel module against the real kernel: each test in a fresh network namespace, judged by
//! `ip -j`. Names that begin with `vm_` need kernel features that some kernels lack.

#![expect(clippy::unwrap_used, reason = "a panic is how these tests fail")]

mod announce;
mod bfd;
mod bulk;
mod cables;
mod chain;
mod events;
mod forwarding;
mod interfaces;
mod labels;
mod lldp;
mod mptcp;
mod packet;
mod push;
mod sampling;
mod table_routes;
mod transit;
mod tunnel;
mod unreachable;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    trials.extend(interfaces::trials());
    trials.extend(forwarding::trials());
    trials.extend(bulk::trials());
    trials.extend(events::trials());
    trials.extend(announce::trials());
    trials.extend(bfd::trials());
    trials.extend(lldp::trials());
    trials.extend(packet::trials());
    trials.extend(push::trials());
    trials.extend(labels::trials());
    trials.extend(transit::trials());
    trials.extend(sampling::trials());
    trials.extend(table_routes::trials());
    trials.extend(mptcp::trials());
    trials.extend(unreachable::trials());
    trials.extend(tunnel::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}
