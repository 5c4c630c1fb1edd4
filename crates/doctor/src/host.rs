//! Reads the state of this machine from iproute2, `/proc/sys` and network managers. What cannot be
//! read is absent, never guessed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::process::{Command, Stdio};

use serde::Deserialize;
use tresse_base::units::{Mac, Prefix};

/// An interface of this machine, as `ip -j -d -s -s link` prints it.
#[derive(Debug, Clone, Deserialize)]
pub struct Link {
    pub(crate) ifname: String,
    #[serde(default)]
    pub(crate) address: String,
    pub(crate) mtu: u32,
    #[serde(default)]
    flags: Vec<String>,
    pub(crate) master: Option<String>,
    #[serde(default)]
    linkinfo: LinkInfo,
    #[serde(default)]
    stats64: Stats,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct LinkInfo {
    info_kind: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Stats {
    #[serde(default)]
    rx: Received,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Received {
    /// Frames for other hosts; versions of iproute2 differ in the name.
    #[serde(default, alias = "otherhost")]
    otherhost_dropped: u64,
}

impl Link {
    pub(crate) fn mac(&self) -> Option<Mac> {
        self.address.parse().ok()
    }

    pub(crate) fn is_up(&self) -> bool {
        self.has("UP")
    }

    pub(crate) fn has_carrier(&self) -> bool {
        self.has("LOWER_UP")
    }

    pub(crate) fn kind(&self) -> Option<&str> {
        self.linkinfo.info_kind.as_deref()
    }

    /// How many frames for other hosts arrived here, which shows that a switch floods.
    pub(crate) fn of_others(&self) -> u64 {
        self.stats64.rx.otherhost_dropped
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|found| found == flag)
    }
}

/// Returns all interfaces of this machine by name; `None` if `ip` does not run.
#[must_use]
pub fn links() -> Option<BTreeMap<String, Link>> {
    let text = output("ip", &["-j", "-d", "-s", "-s", "link", "show"])?;
    let links: Vec<Link> = serde_json::from_str(&text).ok()?;
    Some(links.into_iter().map(|link| (link.ifname.clone(), link)).collect())
}

/// Returns the addresses of all interfaces of this machine, each with its interface.
pub(crate) fn addresses() -> Vec<(String, IpAddr)> {
    let text = output("ip", &["-j", "address", "show"]).unwrap_or_default();
    let links: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap_or_default();
    let mut all = Vec::new();
    for link in &links {
        let name = link["ifname"].as_str().unwrap_or_default();
        for address in link["addr_info"].as_array().into_iter().flatten() {
            let local = address["local"].as_str().and_then(|text| text.parse().ok());
            all.extend(local.map(|address| (name.to_owned(), address)));
        }
    }
    all
}

/// Returns the interfaces by which routes of the main table lead to a network or to parts of it, other than those of Tresse. Wider
/// ones come after the unreachable route of Tresse.
pub(crate) fn ways_to(network: &Prefix) -> Vec<String> {
    let family = if network.address.is_ipv4() { "-4" } else { "-6" };
    let to = network.to_string();
    let which: &[&str] = if network.len == 0 { &["default"] } else { &["root", &to] };
    let words = [&["-j", family, "route", "show"], which].concat();
    let text = output("ip", &words).unwrap_or_default();
    let routes: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap_or_default();
    let others = routes.iter().filter(|route| {
        let is_ours = matches!(route["protocol"].as_str(), Some("78" | "tresse"));
        !is_ours && matches!(route["type"].as_str(), None | Some("unicast"))
    });
    let ways: BTreeSet<String> =
        others.filter_map(|route| Some(route["dev"].as_str()?.to_owned())).collect();
    ways.into_iter().collect()
}

/// Returns the value of a sysctl, given by its path below `/proc/sys`; `None` if it cannot be read.
pub(crate) fn sysctl(path: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/sys/{path}")).ok().map(|text| text.trim().to_owned())
}

/// Returns whether the running kernel has a module: loaded, built in, or as a file that can be
/// loaded.
pub(crate) fn has_module(name: &str) -> bool {
    if fs::exists(format!("/sys/module/{name}")).unwrap_or(false) {
        return true;
    }
    let Ok(release) = fs::read_to_string("/proc/sys/kernel/osrelease") else { return false };
    let file = format!("/{}.ko", name.replace('-', "_"));
    ["modules.builtin", "modules.dep"].iter().any(|list| {
        let path = format!("/lib/modules/{}/{list}", release.trim());
        let lines = fs::read_to_string(path).unwrap_or_default();
        lines.lines().any(|line| line.split(':').next().is_some_and(|l| l.contains(&file)))
    })
}

/// Returns the firewall chains of this machine, of iptables and nft, whose policy drops forwarded
/// packets.
pub(crate) fn forward_drops(ipv4: bool) -> Vec<String> {
    let tool = if ipv4 { "iptables" } else { "ip6tables" };
    let rules = output(tool, &["-S", "FORWARD"]).unwrap_or_default();
    let mut drops = Vec::new();
    if rules.lines().any(|line| line == "-P FORWARD DROP" || line == "-P FORWARD REJECT") {
        drops.push(format!("{tool} FORWARD"));
    }
    let tables = output("nft", &["list", "chains"]).unwrap_or_default();
    let mut table = "";
    for line in tables.lines().map(str::trim) {
        if let Some(named) = line.strip_prefix("table ") {
            table = named.trim_end_matches(" {");
        }
        let family = table.split(' ').next().unwrap_or_default();
        let concerns = family == "inet" || family == if ipv4 { "ip" } else { "ip6" };
        let found = format!("nft table {table}");
        let is_forward = line.contains("hook forward") && line.contains("policy drop");
        // A table that iptables made is in the list already.
        let listed = table.ends_with(" filter") && drops.iter().any(|drop| drop.starts_with(tool));
        if concerns && is_forward && !listed && !drops.contains(&found) {
            drops.push(found);
        }
    }
    drops
}

/// Returns the interfaces that a network manager of this machine manages, each with the manager's
/// name.
pub(crate) fn managed() -> BTreeMap<String, &'static str> {
    let mut managed = BTreeMap::new();
    let devices = output("nmcli", &["-t", "-f", "DEVICE,STATE", "device"]).unwrap_or_default();
    for (device, state) in devices.lines().filter_map(|line| line.split_once(':')) {
        if !state.starts_with("unmanaged") {
            managed.insert(device.to_owned(), "NetworkManager");
        }
    }
    let listed = output("networkctl", &["list", "--no-legend", "--no-pager"]).unwrap_or_default();
    for line in listed.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [_, name, .., setup] = words[..]
            && !matches!(setup, "unmanaged" | "linger")
        {
            managed.insert(name.to_owned(), "systemd-networkd");
        }
    }
    managed
}

/// Returns whether a NIC sends or obeys pause frames (802.3x); `None` if its driver does not report
/// that.
pub(crate) fn pauses(nic: &str) -> Option<bool> {
    let text = output("ethtool", &["-a", nic])?;
    let on = |line: &str| {
        let (name, value) = line.split_once(':')?;
        matches!(name.trim(), "RX" | "TX").then(|| value.trim() == "on")
    };
    let found: Vec<bool> = text.lines().filter_map(on).collect();
    (!found.is_empty()).then(|| found.contains(&true))
}

/// Returns whether this machine's clock is synchronised over the network (NTP); `None` if unknown.
pub(crate) fn clock_synchronised() -> Option<bool> {
    let text = output("timedatectl", &["show", "-p", "NTPSynchronized", "--value"])?;
    match text.trim() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

/// Sends one ICMP echo request with an IP packet of `bytes` bytes that must not be fragmented, and
/// returns whether it is answered within a second.
#[must_use]
pub fn answers(to: IpAddr, bytes: u32) -> bool {
    let header = if to.is_ipv4() { 28 } else { 48 };
    let size = bytes.saturating_sub(header).to_string();
    let to = to.to_string();
    output("ping", &["-n", "-q", "-c", "1", "-W", "1", "-M", "do", "-s", &size, &to]).is_some()
}

/// The output of a program, or `None` if it does not exist or fails.
fn output(program: &str, words: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stderr(Stdio::null()).env("LC_ALL", "C");
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}
