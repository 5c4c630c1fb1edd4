//! The judges: `ip -j`, `tc -j`, `/proc/sys/net` and `ping`, and waiting for what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tresse_tests::pace;

/// The longest wait for anything, in seconds of an idle, fast machine.
const LIMIT: Duration = Duration::from_secs(30);

/// Runs a command line in a namespace; success and output, or success and complaint.
pub fn try_sh(netns: &str, script: &str) -> (bool, String) {
    let output = command(netns, script).output().unwrap();
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// Runs a command line in a namespace, which must succeed.
pub fn sh(netns: &str, script: &str) -> String {
    let (ok, text) = try_sh(netns, script);
    assert!(ok, "{script}: {text}");
    text
}

/// A command line in a namespace, not yet started.
pub fn command(netns: &str, script: &str) -> Command {
    let mut command = inside(netns);
    command.args(["sh", "-c", script]).stdin(Stdio::null());
    command
}

/// The beginning of a command line in a namespace. Not `ip netns exec`, which mounts and takes half
/// a second in the virtual machine.
pub fn inside(netns: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{netns}"));
    command
}

/// `ip -j -d` with these words, or another program's JSON list.
pub fn json(netns: &str, words: &str) -> Vec<Value> {
    let text = sh(netns, words);
    if text.trim().is_empty() {
        return Vec::new();
    }
    let list: Vec<Value> = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{words}: {e}"));
    list.into_iter().filter(|v| v.as_object().is_some_and(|o| !o.is_empty())).collect()
}

/// Waits until `look` is satisfied; fails with the last thing it saw.
pub fn eventually<T>(what: &str, look: impl FnMut() -> Result<T, String>) -> T {
    let seen = pace::wait(LIMIT, Duration::from_millis(20), look);
    seen.unwrap_or_else(|seen| panic!("{what}; last seen: {seen}"))
}

/// Everything that a namespace holds, counters, lifetimes and interface numbers apart: one line per
/// object, each with the command that showed it.
pub fn snapshot(netns: &str) -> BTreeSet<String> {
    const COMMANDS: [&str; 11] = [
        "ip -j -d link",
        "ip -j -d addr",
        "ip -j -d neigh",
        "ip -j -d nexthop",
        "ip -j -d -4 route show table all",
        "ip -j -d -6 route show table all",
        "ip -j -d -4 rule",
        "ip -j -d -6 rule",
        "ip -j -d -M route",
        "tc -j qdisc",
        "ip -j mptcp endpoint",
    ];
    // Every answer on a line of its own after the command: one shell, the machine is slow.
    let mut script: String =
        COMMANDS.iter().map(|words| format!("echo; echo '{words}'; {words}\n")).collect();
    script += "for i in $(ls /proc/sys/net/ipv4/conf); do case $i in all|default) continue; esac
        for w in '' ingress; do
            echo; echo \"tc -j filter show dev $i $w\"; tc -j filter show dev $i $w; done; done";
    let text = sh(netns, &script);
    let mut all = BTreeSet::new();
    let mut command = "";
    for line in text.lines() {
        if !line.starts_with(['[', '{', ' ']) {
            command = line;
            continue;
        }
        let list: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{command}: {e}"));
        for object in list.as_array().into_iter().flatten() {
            let mut object = object.clone();
            forget(&mut object);
            if object != Value::Object(serde_json::Map::new()) {
                all.insert(format!("{command}: {object}"));
            }
        }
    }
    all.extend(sysctls(netns).into_iter().map(|(file, value)| format!("{file} = {value}")));
    all
}

/// Every readable file below `/proc/sys/net`.
pub fn sysctls(netns: &str) -> BTreeMap<String, String> {
    // Some files may only be written: grep complains and goes on.
    let text = sh(netns, "grep -rs '' /proc/sys/net || test $? = 2");
    let volatile = ["nf_conntrack_count", "nf_conntrack_buckets"];
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .filter(|(file, _)| !volatile.iter().any(|v| file.ends_with(v)))
        .map(|(file, value)| (file.to_owned(), value.to_owned()))
        .collect()
}

/// Fails with what came and what went.
pub fn same(what: &str, before: &BTreeSet<String>, after: &BTreeSet<String>) {
    let list = |a: &BTreeSet<String>, b: &BTreeSet<String>, sign: &str| -> String {
        a.difference(b).map(|line| format!("\n{sign} {line}")).collect()
    };
    let text = list(before, after, "-") + &list(after, before, "+");
    assert!(text.is_empty(), "{what}:{text}");
}

/// What Tresse put into a namespace, without the numbers that may differ after a repair.
pub fn ours(netns: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for link in json(netns, "ip -j -d link") {
        if link["ifalias"].as_str().is_some_and(|a| a.starts_with("tresse:")) {
            let keys = ["ifname", "link", "mtu", "ifalias"];
            // The operational state settles up to a second after IFF_UP, which is what we set.
            let flags = link["flags"].as_array();
            let up = flags.is_some_and(|flags| flags.iter().any(|flag| flag == "UP"));
            all.insert(format!("link {} up={up}", pick(&link, &keys)));
        }
    }
    for link in json(netns, "ip -j -d addr") {
        for address in link["addr_info"].as_array().into_iter().flatten() {
            if address["local"]
                .as_str()
                .is_some_and(|a| a.starts_with("10.7") || a.starts_with("fd7"))
            {
                let keys = ["local", "prefixlen", "scope", "tentative"];
                all.insert(format!("address {} {}", link["ifname"], pick(address, &keys)));
            }
        }
    }
    for neighbour in json(netns, "ip -j -d neigh show nud permanent") {
        let keys = ["dst", "dev", "lladdr", "protocol"];
        all.insert(format!("neighbour {}", pick(&neighbour, &keys)));
    }
    let nexthops = json(netns, "ip -j -d nexthop");
    let way = |id: &Value| -> Vec<String> {
        let find = |id: &Value| nexthops.iter().find(|n| n["id"] == *id).cloned();
        let group = find(id).unwrap_or_default();
        let members = group["group"].as_array().cloned().unwrap_or_default();
        let one = |m: &Value| {
            let plain = find(&m["id"])?;
            Some(format!("{} {}", pick(&plain, &["dev", "gateway", "protocol"]), m["weight"]))
        };
        // Their order is that of their numbers.
        let mut ways: Vec<String> = members.iter().filter_map(one).collect();
        ways.sort();
        ways
    };
    for family in ["-4", "-6"] {
        for route in json(netns, &format!("ip -j -d {family} route show table main")) {
            if route["protocol"] == "78" || route["protocol"] == "tresse" {
                let keys = ["dst", "metric", "prefsrc", "metrics"];
                all.insert(format!("route {} {:?}", pick(&route, &keys), way(&route["nhid"])));
            }
        }
    }
    all
}

/// Waits until a namespace holds what it held before.
pub fn restored(what: &str, netns: &str, before: &BTreeSet<String>) {
    eventually(what, || {
        let now = ours(netns);
        let gone: Vec<_> = before.difference(&now).collect();
        let more: Vec<_> = now.difference(before).collect();
        if gone.is_empty() && more.is_empty() {
            Ok(())
        } else {
            Err(format!("missing {gone:#?}, too much {more:#?}"))
        }
    });
}

/// One answered echo request, waited for.
pub fn answers(netns: &str, address: &str) {
    eventually(&format!("{address} answers"), || {
        match try_sh(netns, &format!("ping -n -c 1 -W 1 {address} 2>&1")) {
            (true, _) => Ok(()),
            (false, text) => Err(text),
        }
    });
}

/// The interface that the kernel would send by.
pub fn way(netns: &str, address: &str) -> String {
    let route = json(netns, &format!("ip -j route get {address}")).remove(0);
    route["dev"].as_str().unwrap().to_owned()
}

/// Echo requests in the background.
pub struct Ping(Child);

/// Starts `count` echo requests at 100 per second.
pub fn flood(netns: &str, address: &str, count: u32) -> Ping {
    let script = format!("exec ping -n -q -i 0.01 -c {count} -W 3 {address}");
    Ping(command(netns, &script).stdout(Stdio::piped()).spawn().unwrap())
}

impl Ping {
    /// Waits for the end; (sent, answered).
    pub fn end(self) -> (u32, u32) {
        let output = self.0.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find(|l| l.contains("packets transmitted")).unwrap_or_default();
        let numbers: Vec<u32> =
            line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert!(numbers.len() >= 2, "ping: {text}");
        (numbers[0], numbers[1])
    }
}

fn pick(object: &Value, keys: &[&str]) -> String {
    let parts = keys.iter().filter(|k| !object[**k].is_null());
    parts.map(|k| format!("{k}={}", object[*k])).collect::<Vec<_>>().join(" ")
}

/// Drops what changes by itself.
fn forget(object: &mut Value) {
    const VOLATILE: [&str; 11] = [
        "ifindex",
        "link_index",
        "stats",
        "stats64",
        "valid_life_time",
        "preferred_life_time",
        "expires",
        "gc_timer",
        "hello_timer",
        "tcn_timer",
        "topology_change_timer",
    ];
    match object {
        Value::Object(map) => {
            // The operational state settles up to a second after the flags UP and LOWER_UP.
            if map.get("operstate").is_some_and(|state| state == "UNKNOWN") {
                map.insert("operstate".into(), "UP".into());
            }
            map.retain(|key, _| !VOLATILE.contains(&key.as_str()));
            map.values_mut().for_each(forget);
        }
        Value::Array(list) => list.iter_mut().for_each(forget),
        _ => {}
    }
}
