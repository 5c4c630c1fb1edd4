//! What the tests need of the machine, and what becomes of them where it is not there.

use std::panic::catch_unwind;
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use tresse_tests::pace::Stopwatch;

/// Name and body of a test.
pub type Test = (&'static str, fn());

/// A test; where something is missing it is ignored with the reason, and fails where `CI=true`.
pub fn new(name: &'static str, body: fn(), missing: &Option<String>) -> Trial {
    let ci = std::env::var("CI").is_ok_and(|v| v == "true");
    let Some(reason) = missing.clone() else {
        return Trial::test(name, move || {
            let _stopwatch = Stopwatch::start(name);
            run(body)
        });
    };
    let title = format!("{name} [{reason}]");
    Trial::test(title, move || Err(Failed::from(reason))).with_ignored_flag(!ci)
}

fn run(body: fn()) -> Result<(), Failed> {
    catch_unwind(body).map_err(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Failed::from(text.unwrap_or_else(|| "panicked".into()))
    })
}

/// What is missing here, if anything; with or without VLANs.
pub fn missing(vlans: bool) -> Option<String> {
    let works = |script: &str| {
        let output = Command::new("sh").args(["-c", script]).output();
        output.is_ok_and(|o| o.status.success())
    };
    if !works("test $(id -u) = 0 && unshare -n true") {
        return Some("needs root".into());
    }
    if let Some(program) = ["ip", "tc", "bridge", "ping", "tcpdump"]
        .into_iter()
        .find(|program| !works(&format!("command -v {program}")))
    {
        return Some(format!("needs {program}"));
    }
    let features: &[(&str, &str)] = &[
        (
            "802.1Q",
            "ip link add p0 type veth peer name p1 && ip link add link p0 p0.5 type vlan id 5",
        ),
        ("VLAN-filtering bridges", "ip link add br0 type bridge vlan_filtering 1"),
    ];
    let mut needed = features.iter().filter(|_| vlans);
    needed
        .find(|(_, script)| !works(&format!("unshare -n sh -c '{script}'")))
        .map(|(feature, _)| format!("needs {feature} in the kernel"))
}
