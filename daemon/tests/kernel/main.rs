//! The kernel module against the real kernel: each test in a fresh network namespace, judged by
//! `ip -j`. Names that begin with `vm_` need kernel features that some kernels lack.

#![expect(clippy::unwrap_used, reason = "a panic is how these tests fail")]

mod announce;
mod bulk;
mod events;
mod forwarding;
mod interfaces;
mod namespace;
mod start;

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
    trials.extend(start::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}
