//! Helpers for tests of the kernel's network state: they run each test in a new network namespace, check
//! which kernel features it needs, and read the resulting state with `ip -j`.
//!
//! For test programs built on `libtest-mimic`. Linked into tests only.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use nix::sched::{CloneFlags, unshare};
use serde_json::Value;

/// A kernel feature, besides network namespaces, without which a test cannot run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// 802.1Q VLAN interfaces (module 8021q).
    Vlan,
    /// `encap mpls` and label routes (modules mpls_iptunnel and mpls_router).
    Mpls,
    /// Filters by source MAC (module cls_flower).
    Flower,
    /// Multipath TCP (CONFIG_MPTCP).
    Mptcp,
}

/// Makes a test with this name that runs `body` in a new network namespace. If it is not run as root, or
/// the kernel lacks a feature of `needs`, the test is ignored, with the reason in its title; with
/// `CI=true` it fails instead.
pub fn trial(name: &str, needs: &'static [Feature], body: fn()) -> Trial {
    let missing = missing(needs);
    let ci = std::env::var("CI").is_ok_and(|v| v == "true");
    let title = match &missing {
        Some(reason) => format!("{name} [{reason}]"),
        None => name.to_owned(),
    };
    let ignored = missing.is_some() && !ci;
    Trial::test(title, move || match missing {
        Some(reason) => Err(Failed::from(reason)),
        None => isolated(body),
    })
    .with_ignored_flag(ignored)
}

fn isolated(body: fn()) -> Result<(), Failed> {
    let thread = std::thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).expect("root makes a namespace");
        ip("link set lo up");
        catch_unwind(AssertUnwindSafe(body)).map_err(|panic| {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            Failed::from(text.unwrap_or_else(|| "panicked".into()))
        })
    });
    thread.join().map_err(|_| Failed::from("could not make a network namespace"))?
}

fn missing(needs: &[Feature]) -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("needs root".into());
    }
    needs.iter().find(|f| !has(**f)).map(|f| format!("needs {f:?} in the kernel"))
}

fn has(feature: Feature) -> bool {
    let probe = match feature {
        Feature::Vlan => {
            "ip link add p0 type veth peer name p1 && ip link add link p0 p0.5 type vlan id 5"
        }
        Feature::Mpls => {
            "ip link add p0 type veth peer name p1 && ip link set p0 up && ip link set p1 up && \
             ip addr add 10.0.0.1/24 dev p0 && \
             ip nexthop add id 1 encap mpls 100 via 10.0.0.2 dev p0 onlink"
        }
        Feature::Mptcp => "ip mptcp limits",
        Feature::Flower => {
            "ip link add p0 type veth peer name p1 && tc qdisc add dev p0 clsact && \
             tc filter add dev p0 ingress pref 1 protocol mpls_uc flower action drop"
        }
    };
    std::thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).is_ok()
            && Command::new("sh").args(["-c", probe]).output().is_ok_and(|o| o.status.success())
    })
    .join()
    .unwrap_or(false)
}

/// Runs `ip` with arguments split at spaces and returns its standard output. Panics with the error
/// message of `ip` if it fails.
pub fn ip(words: &str) -> String {
    let (ok, text) = try_ip(words);
    assert!(ok, "ip {words}: {text}");
    text
}

/// Runs `tc` with arguments split at spaces and returns its standard output. Panics with the error
/// message of `tc` if it fails.
pub fn tc(words: &str) -> String {
    let output = Command::new("tc").args(words.split_whitespace()).output().expect("tc runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tc {words}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs `ip` with arguments split at spaces. Returns whether it succeeded, and its standard output, or
/// its error message if it failed.
pub fn try_ip(words: &str) -> (bool, String) {
    let output = Command::new("ip").args(words.split_whitespace()).output().expect("ip runs");
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// Runs `ip -j -d` with arguments split at spaces and returns the objects that it lists as JSON. Panics
/// if it fails.
pub fn ip_json(words: &str) -> Vec<Value> {
    let text = ip(&format!("-j -d {words}"));
    if text.trim().is_empty() {
        return Vec::new();
    }
    serde_json::from_str::<Vec<Value>>(&text)
        .unwrap_or_else(|e| panic!("ip -j {words}: {e}: {text}"))
        .into_iter()
        .filter(|v| v.as_object().is_some_and(|o| !o.is_empty()))
        .collect()
}

/// Calls `condition` every millisecond until it returns true. Panics with `what`, the name of the
/// condition, if that takes longer than a minute.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
