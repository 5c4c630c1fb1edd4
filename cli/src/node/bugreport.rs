//! `tresse bugreport`: collects what is needed to analyse a fault into one text file. Read it before you send it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use serde::Serialize;
use tresse_base::installed::{CLUSTER_FILE, CLUSTER_VARIABLE};
use tresse_control::Client;

use crate::connection::NodeArgs;
use crate::fail::{self, Code, Failure};
use crate::{input, output};

/// The most bytes of one file or program's output that are taken, from its end.
const MOST: usize = 1 << 20;

/// Programs that are run. They change nothing and show the network only: no keys, no environment, no command lines.
const PROGRAMS: &[&[&str]] = &[
    &["uname", "-srvm"],
    &["ip", "-d", "-s", "link"],
    &["ip", "address"],
    &["ip", "neigh", "show", "nud", "all"],
    &["ip", "rule"],
    &["ip", "-6", "rule"],
    &["ip", "route", "show", "table", "all"],
    &["ip", "-6", "route", "show", "table", "all"],
    &["ip", "-f", "mpls", "route"],
    &["ip", "nexthop"],
    &["ip", "mptcp", "endpoint"],
    &["tc", "-s", "qdisc"],
    &["bridge", "-d", "vlan"],
    &["bridge", "-d", "fdb"],
    &["nstat", "-az"],
    &["systemctl", "status", "--no-pager", "--lines=0", "tressed"],
    &["journalctl", "--no-pager", "-b", "-u", "tressed", "-n", "2000", "-o", "short-iso-precise"],
];

/// Directories below `/proc/sys` whose values decide what happens to frames.
const SYSCTLS: &[&str] = &["net/ipv4/conf", "net/ipv6/conf", "net/mpls"];
const SYSCTL_NAMES: &[&str] = &[
    "rp_filter",
    "arp_ignore",
    "arp_announce",
    "forwarding",
    "accept_local",
    "disable_ipv6",
    "ignore_routes_with_linkdown",
    "input",
    "platform_labels",
    "force_forwarding",
];

/// Arguments of `tresse bugreport`, which collects what is needed to analyse a fault into one file.
#[derive(Debug, Args)]
pub struct Bugreport {
    #[command(flatten)]
    node: NodeArgs,
    /// The daemon's configuration file.
    #[arg(long, value_name = "FILE", default_value = "/etc/tresse/tressed.toml")]
    config: PathBuf,
    /// The cluster file, with the lock beside it.
    #[arg(long, value_name = "FILE", env = CLUSTER_VARIABLE, default_value = CLUSTER_FILE)]
    cluster: PathBuf,
    /// Write the report to this file. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Bugreport {
    /// Collects all sections. A section that cannot be read says why.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let sections = self.sections();
        let text = match json {
            true => format!("{}\n", serde_json::json!({ "format": 1, "sections": sections })),
            false => text(&sections),
        };
        match &self.output {
            None => {
                let mut out = output::stdout();
                out.write_all(text.as_bytes())?;
                out.flush()?;
            }
            Some(path) => {
                fs::write(path, text).map_err(|e| input::unwritable(path, &e))?;
                fail::say(&format!(
                    "{}: addresses, MACs and names of this network are in it; read it before you \
                     send it",
                    path.display()
                ));
            }
        }
        Ok(Code::Fine)
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![
            Section::new("tresse", env!("CARGO_PKG_VERSION").into()),
            self.asked("status", |client| json(client.status())),
            self.asked("plan", |client| json(client.plan())),
            self.asked("diff", |client| json(client.diff())),
            self.asked("paths", |client| json(client.paths(None))),
            self.asked("neighbours", |client| json(client.neighbours())),
            self.asked("counters", |client| json(client.counters())),
        ];
        let lock = self.cluster.with_file_name("tresse.lock");
        sections.extend([&self.config, &self.cluster, &lock].map(|path| file(path)));
        sections.extend(PROGRAMS.iter().map(|words| program(words)));
        sections.push(Section::new("sysctls", sysctls()));
        sections
    }

    fn asked(&self, name: &str, ask: impl Fn(&mut Client) -> Result<String, String>) -> Section {
        let connected = self.node.connect().map_err(|failure| failure.message);
        let answer = connected.and_then(|mut client| ask(&mut client));
        Section::new(name, answer.unwrap_or_else(|error| format!("not known: {error}")))
    }
}

/// One part of the report.
#[derive(Debug, Serialize)]
struct Section {
    name: String,
    text: String,
}

impl Section {
    fn new(name: &str, text: String) -> Self {
        Self { name: name.into(), text }
    }
}

fn json<T: Serialize, E: std::fmt::Display>(answer: Result<T, E>) -> Result<String, String> {
    let answer = answer.map_err(|error| error.to_string())?;
    serde_json::to_string_pretty(&answer).map_err(|error| error.to_string())
}

fn file(path: &Path) -> Section {
    let text = File::open(path).and_then(|file| input::bytes_from(file, input::LARGEST));
    let text = text.map(|bytes| end(&bytes));
    let text = text.unwrap_or_else(|error| format!("not read: {error}"));
    Section::new(&path.display().to_string(), text)
}

fn program(words: &[&str]) -> Section {
    let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let text = match output {
        Ok(output) => end(&output.stdout) + &end(&output.stderr),
        Err(error) => format!("not run: {error}"),
    };
    Section::new(&words.join(" "), text)
}

fn sysctls() -> String {
    let mut text = String::new();
    for directory in SYSCTLS {
        read(&Path::new("/proc/sys").join(directory), &mut text);
    }
    text
}

fn read(directory: &Path, text: &mut String) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            read(&path, text);
        } else if SYSCTL_NAMES.contains(&name.as_ref())
            && let Ok(value) = fs::read_to_string(&path)
        {
            let key = path.strip_prefix("/proc/sys").unwrap_or(&path);
            let _ = writeln!(text, "{} = {}", key.display(), value.trim());
        }
    }
}

/// The last bytes of a text, at most [`MOST`].
fn end(bytes: &[u8]) -> String {
    let from = bytes.len().saturating_sub(MOST);
    String::from_utf8_lossy(&bytes[from..]).into_owned()
}

fn text(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections {
        let _ = writeln!(text, "==== {}\n{}\n", section.name, section.text.trim_end());
    }
    text
}
