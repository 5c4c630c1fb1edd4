//! Whole fabrics on the real kernel: `tresse lab`, a `tressed` per node, VLAN-filtering bridges.
//! Judged by `ping`, `ip -j`, `bridge -j` and raw sockets.
//!
//! Without root or a kernel feature the tests are reported as ignored with the reason, and fail
//! where `CI=true`; `tests/vm.sh` runs them in the virtual machine. Names that begin with `long_` are the
//! long forms of others, for `make soak`.

#![expect(clippy::unwrap_used, reason = "a panic is how these tests fail")]

mod announcements;
mod attacks;
mod bare;
mod base;
mod behind;
mod cables;
mod canary;
mod change;
mod collective;
mod copies;
mod copy;
mod counters;
mod datagrams;
mod dead;
mod discover;
mod doctor;
mod faults;
mod flat;
mod flows;
mod frr;
mod guide;
mod isolate;
mod keys;
mod lab;
mod labels;
mod lags;
mod leftovers;
mod mapping;
mod metrics;
mod mptcp;
mod names;
mod networkd;
mod planes;
mod probe;
mod reflect;
mod restart;
mod robust;
mod routed;
mod shares;
mod silent;
mod slurm;
mod spares;
mod speed;
mod steer;
mod suite;
mod switches;
mod transit;
mod uplink;
mod verdict;

use libtest_mimic::{Arguments, Trial};
use tresse_lab::probe as features;
use tresse_lab::state::Shaping;
use tresse_tests::pace::Stopwatch;

use suite::Tests;

/// Those of every module.
const TESTS: &[Tests] = &[
    change::TESTS,
    canary::TESTS,
    base::TESTS,
    announcements::TESTS,
    counters::TESTS,
    faults::TESTS,
    leftovers::TESTS,
    transit::TESTS,
    labels::TESTS,
    reflect::TESTS,
    steer::SWITCHED,
    doctor::SWITCHED,
    uplink::SWITCHED,
    mapping::TESTS,
    verdict::SWITCHED,
    behind::SWITCHED,
    planes::SWITCHED,
    lags::SWITCHED,
    speed::SWITCHED,
];

/// The same of those that need no VLANs.
const ROUTED: &[Tests] = &[
    routed::TESTS,
    attacks::TESTS,
    silent::TESTS,
    frr::TESTS,
    metrics::TESTS,
    discover::TESTS,
    bare::TESTS,
    mapping::ROUTED,
    copy::TESTS,
    dead::TESTS,
    collective::TESTS,
    slurm::TESTS,
    copies::TESTS,
    doctor::TESTS,
    robust::TESTS,
    restart::TESTS,
    steer::ROUTED,
    guide::TESTS,
    isolate::TESTS,
    keys::TESTS,
    shares::TESTS,
    networkd::TESTS,
    flat::TESTS,
    uplink::TESTS,
    spares::TESTS,
    cables::TESTS,
    mptcp::TESTS,
    labels::ROUTED,
    reflect::ROUTED,
    verdict::TESTS,
    names::TESTS,
    counters::ROUTED,
    behind::TESTS,
    speed::TESTS,
];

fn main() {
    let missing = |vlans, shape| features::probe(vlans, shape).err().map(|e| e.to_string());
    let (switched, routed) =
        (missing(true, Shaping::Rate(1_000_000)), missing(false, Shaping::None));
    let ci = std::env::var("CI").is_ok_and(|v| v == "true");
    let switched = TESTS.iter().copied().flatten().map(|test| (test, switched.clone()));
    let trials = ROUTED
        .iter()
        .copied()
        .flatten()
        .map(|test| (test, routed.clone()))
        .chain(switched)
        .map(|(&(name, body), missing)| match missing {
            None => Trial::test(name, move || {
                let _stopwatch = Stopwatch::start(name);
                body();
                Ok(())
            }),
            Some(reason) => Trial::test(format!("{name} [{reason}]"), move || Err(reason.into()))
                .with_ignored_flag(!ci),
        })
        .collect();
    let mut arguments = Arguments::from_args();
    // Labs wait most of the time: as many side by side as there are names for them. Those that measure
    // wait until they are alone.
    arguments.test_threads.get_or_insert(*lab::PLACES);
    libtest_mimic::run(&arguments, trials).exit();
}
