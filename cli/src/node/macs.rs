//! `tresse macs`: prints this machine's NICs, with their MAC addresses, as a `[[node]]` block for the
//! cluster file (K21).
//!
//! Reads sysfs only. A NIC is an Ethernet interface of a device, or one end of a veth pair. VLAN
//! interfaces, bridges, bonds, TAP interfaces and the interfaces that Tresse made are left out.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use serde::Serialize;
use tresse_base::units::{Mac, Rate};
use tresse_plan::lock;
use tresse_reconcile::ALIAS_PREFIX;

use crate::fail::{Code, Failure};
use crate::output;

/// Where the kernel lists interfaces.
const INTERFACES: &str = "/sys/class/net";

/// Arguments of `tresse macs`, which prints this machine's NICs as a block of a cluster file.
#[derive(Debug, Args)]
pub struct Macs {
    /// The node's name in the cluster file; default: this machine's name.
    #[arg(long)]
    name: Option<String>,
}

/// This machine.
#[derive(Debug, Serialize)]
struct Host {
    format: u32,
    name: String,
    nics: Vec<Nic>,
}

/// One NIC of this machine.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Nic {
    name: String,
    mac: Mac,
    /// Line rate; the kernel knows it only while the link is up.
    rate: Option<Rate>,
    /// The bond or bridge that the NIC belongs to; such a NIC cannot be part of a fabric (K20).
    master: Option<String>,
}

impl Macs {
    /// Lists the NICs and prints them.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let nics = scan(Path::new(INTERFACES)).map_err(|e| {
            Failure::new(Code::Fault, format!("cannot list the interfaces in {INTERFACES}: {e}"))
        })?;
        let name = self.name()?;
        let host = Host { format: 1, name, nics };
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &host)?;
        } else {
            text(&mut out, &host)?;
        }
        out.flush()?;
        Ok(Code::Fine)
    }
}

impl Macs {
    /// The node's name. The block would be of no use with a name that the cluster file refuses.
    fn name(&self) -> Result<String, Failure> {
        let (name, from, code) = match &self.name {
            Some(name) => (name.clone(), "--name", Code::Usage),
            None => (host_name(), "this machine's name", Code::Fault),
        };
        match tresse_cluster::name_fault(&name) {
            None => Ok(name),
            Some(fault) => {
                let help = if self.name.is_none() {
                    "\n  help: give the node a name with --name"
                } else {
                    ""
                };
                Err(Failure::new(code, format!("{from}: {fault}{help}")))
            }
        }
    }
}

fn text(out: &mut impl Write, host: &Host) -> io::Result<()> {
    writeln!(out, "[[node]]\nname = {}\nnics = [", lock::quoted(&host.name))?;
    for nic in &host.nics {
        let rate = nic.rate.map_or_else(String::new, |rate| format!(", rate = \"{rate}\""));
        let note = match &nic.master {
            Some(master) => {
                format!(" # part of {}: not for the fabric as it is", output::plain(master))
            }
            None => String::new(),
        };
        let (name, mac) = (lock::quoted(&nic.name), nic.mac);
        writeln!(out, "    {{ name = {name}, mac = \"{mac}\"{rate} }},{note}")?;
    }
    writeln!(out, "]")
}

fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let first = name.trim().split('.').next().unwrap_or_default();
    if first.is_empty() { "n0".into() } else { first.into() }
}

/// The NICs below `root`, sorted by name; `eth2` comes before `eth10`.
fn scan(root: &Path) -> io::Result<Vec<Nic>> {
    let mut nics = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        nics.extend(nic(&entry.path(), name));
    }
    nics.sort_by_cached_key(|nic| {
        let stem = nic.name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (stem, number) = nic.name.split_at(stem);
        (stem.to_owned(), number.parse::<u64>().unwrap_or(0), nic.name.clone())
    });
    Ok(nics)
}

/// The interface in `path`, if it is a NIC. An interface that cannot be read is skipped: it may have been removed
/// meanwhile.
fn nic(path: &Path, name: String) -> Option<Nic> {
    let read = |file: &str| fs::read_to_string(path.join(file)).map(|t| t.trim().to_owned()).ok();
    let ethernet = read("type")? == "1";
    let virtual_kind = ["bridge", "bonding", "tun_flags"].iter().any(|d| path.join(d).exists());
    let ours = read("ifalias").is_some_and(|alias| alias.starts_with(ALIAS_PREFIX));
    if !ethernet || virtual_kind || ours {
        return None;
    }
    if !path.join("device").exists() && !is_veth(path, &read) {
        return None;
    }
    let mac: Mac = read("address")?.parse().ok()?;
    let rate = read("speed")
        .and_then(|speed| speed.parse::<i64>().ok())
        .and_then(|megabits| u64::try_from(megabits).ok())
        .filter(|megabits| (1..u64::from(u32::MAX)).contains(megabits))
        .map(|megabits| Rate(megabits * 1_000_000));
    let master = fs::read_link(path.join("master"))
        .ok()
        .and_then(|target| Some(target.file_name()?.to_string_lossy().into_owned()));
    Some(Nic { name, mac, rate, master })
}

fn is_veth(path: &Path, read: &impl Fn(&str) -> Option<String>) -> bool {
    // VLAN and macvlan interfaces name their kind; older kernels name none for a veth pair.
    let kind = read("uevent").unwrap_or_default();
    let kind = kind.lines().find_map(|line| line.strip_prefix("DEVTYPE="));
    let stacked = fs::read_dir(path).is_ok_and(|mut entries| {
        entries.any(|e| e.is_ok_and(|e| e.file_name().to_string_lossy().starts_with("lower_")))
    });
    kind.is_none_or(|kind| kind == "veth") && !stacked && read("iflink") != read("ifindex")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(root: &Path, name: &str, files: &[(&str, &str)]) {
        let path = root.join(name);
        fs::create_dir_all(&path).unwrap();
        let plain =
            [("type", "1"), ("address", "02:00:00:00:00:01"), ("ifindex", "7"), ("iflink", "7")];
        for (file, text) in plain.iter().chain(files) {
            if text.is_empty() {
                fs::create_dir_all(path.join(file)).unwrap();
            } else {
                fs::write(path.join(file), format!("{text}\n")).unwrap();
            }
        }
    }

    #[test]
    fn cards_and_veths_are_nics_and_nothing_else_is() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        interface(root, "lo", &[("type", "772")]);
        interface(root, "eth10", &[("device", ""), ("speed", "2500")]);
        interface(root, "eth2", &[("device", ""), ("speed", "-1")]);
        interface(root, "veth0", &[("iflink", "8"), ("speed", "10000")]);
        interface(
            root,
            "eth2.100",
            &[("iflink", "3"), ("uevent", "DEVTYPE=vlan"), ("lower_eth2", "")],
        );
        interface(root, "ours", &[("iflink", "3"), ("ifalias", "tresse:vlan")]);
        interface(root, "mv0", &[("iflink", "3"), ("lower_eth2", "")]);
        interface(root, "br0", &[("bridge", "")]);
        interface(root, "dummy0", &[]);
        let found = scan(root).unwrap();
        let seen: Vec<_> =
            found.iter().map(|n| (n.name.as_str(), n.rate.map(|r| r.to_string()))).collect();
        assert_eq!(
            seen,
            [("eth2", None), ("eth10", Some("2.5G".into())), ("veth0", Some("10G".into()))]
        );
    }

    #[test]
    fn the_block_is_toml_that_the_cluster_file_takes() {
        let mac = "02:00:00:00:00:01".parse().unwrap();
        let nic =
            Nic { name: "eth0".into(), mac, rate: Some(Rate::GIGABIT), master: Some("br0".into()) };
        let mut block = Vec::new();
        text(&mut block, &Host { format: 1, name: "n0".into(), nics: vec![nic] }).unwrap();
        let file = format!(
            "[fabric]\nname = \"x\"\ntopology = {{ kind = \"torus\", dims = [3] }}\n{}",
            String::from_utf8(block).unwrap()
        );
        let cluster = tresse_cluster::parse(&file, "x").unwrap();
        assert_eq!(cluster.nodes[0].nics[0].mac, mac);
        // A name that the cluster file refuses reaches the terminal as a TOML escape.
        let odd = Host { format: 1, name: "a\"\u{1b}[31m".into(), nics: vec![] };
        let mut block = Vec::new();
        text(&mut block, &odd).unwrap();
        assert!(block.starts_with(
            br#"[[node]]
name = "a\"\u001B[31m"
"#
        ));
    }
}
