//! One node's life on the real kernel: install, restart, drift, carrier loss, crashes, rollback,
//! withdraw. Each test builds a small fabric of namespaces and VLAN-filtering bridges of its own,
//! runs one `tressed` per node and lets `ip -j`, `ping` and `tcpdump` judge.
//!
//! Most need 802.1Q: `tests/vm.sh` runs them in the virtual machine. Names begin with the K rule that they
//! prove, where there is one. Those that begin with `flat_` need no VLANs and run on any kernel; with
//! `power_` they run here and cut a virtual machine's power; with `long_` they are what the `flat_` ones
//! prove once more with VLANs, or at more moments, for `make soak`.

#![expect(clippy::unwrap_used, reason = "a panic is how these tests fail")]

mod carrier;
mod confirm;
mod crash;
mod daemon;
mod drift;
mod foreign;
mod guard;
mod judge;
mod life;
mod power;
mod rig;
mod rules;
mod trial;
mod withdraw;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    if let Some(step) = power::step() {
        return power::guest(&step);
    }
    let mut arguments = Arguments::from_args();
    // Each waits for programs one after the other most of the time. More side by side would judge the
    // machine, not the daemon.
    arguments.test_threads.get_or_insert(2);
    let (missing, missing_flat) = (trial::missing(true), trial::missing(false));
    let trials = [
        life::trials(),
        withdraw::trials(),
        crash::trials(),
        foreign::trials(),
        carrier::trials(),
        drift::trials(),
        rules::trials(),
        guard::trials(),
        confirm::trials(),
    ];
    let trials = trials.into_iter().flatten().map(|(name, body)| {
        let missing = if name.starts_with("flat_") { &missing_flat } else { &missing };
        trial::new(name, body, missing)
    });
    let missing = power::missing();
    let power = power::trials().into_iter().map(|(name, body)| trial::new(name, body, &missing));
    libtest_mimic::run(&arguments, trials.chain(power).collect()).exit_code()
}
