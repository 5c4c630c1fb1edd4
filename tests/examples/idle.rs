//! What an idle `tressed` takes: memory, wake-ups and processor time over half a minute, on a node
//! of a torus of 1,000 switches. Needs root and 802.1Q: `tests/idle.sh` runs it in the virtual
//! machine where this kernel lacks that.
//!
//! `idle [SECONDS] [SIZES...]`, by default 30 and 10 10 10. The node's only cable ends in nothing, so
//! that the daemon's own timers are all that can wake it. A wake-up is a voluntary context switch
//! (proc(5)); the announcements sent meanwhile tell how many timers were due.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tresse_control::{ApplyRequest, Client};
use tresse_tests::program;

const NAMESPACE: &str = "tresse-idle";
/// The virtual machine is slow, and the plan has hundreds of interfaces.
const LIMIT: Duration = Duration::from_secs(300);

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(30), |a| a.parse())?;
    let sizes: Vec<String> = arguments.collect();
    let sizes = if sizes.is_empty() { "10, 10, 10".to_owned() } else { sizes.join(", ") };
    let text = |strategy: &str| {
        format!(
            "[fabric]\nname = \"idle\"\ntopology = {{ kind = \"torus\", dims = [{sizes}] }}\n\
             [routing]\nstrategy = \"{strategy}\"\npaths = 1\n"
        )
    };
    let home = tempfile::tempdir()?;
    let result = measure(home.path(), &text("dor"), &text("pdor"), seconds);
    let _ = ip(&["netns", "delete", NAMESPACE]);
    result
}

fn measure(home: &Path, first: &str, second: &str, seconds: u64) -> Outcome<()> {
    let cluster = tresse_cluster::parse(first, "first").map_err(|e| e.to_string())?;
    let node = &cluster.nodes[0];
    let mac = node.nics[0].mac.to_string();
    ip(&["netns", "add", NAMESPACE])?;
    // IPv6 would chat on a cable with nobody else.
    let quiet = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6";
    inside(&["sh", "-c", quiet]).status()?;
    for words in [
        &["link", "add", "eth0", "address", &mac, "type", "veth", "peer", "name", "far0"][..],
        &["link", "set", "eth0", "up"],
        &["link", "set", "far0", "up"],
    ] {
        ip(&[&["-n", NAMESPACE], words].concat())?;
    }
    std::fs::write(home.join("cluster.toml"), first)?;
    let socket = home.join("control");
    let config = format!(
        "node = {:?}\ncluster = {:?}\nsocket = {socket:?}\nstate_dir = {:?}\n",
        node.name,
        home.join("cluster.toml"),
        home.join("state"),
    );
    std::fs::write(home.join("tressed.toml"), config)?;
    let mut command = inside(&[]);
    command.arg(program::tressed()).arg("--config").arg(home.join("tressed.toml"));
    let daemon = Daemon(command.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?);

    settled(&socket)?;
    println!(
        "one node of {}: {} VLAN interfaces, {} routes",
        cluster.nodes.len(),
        count(&["link", "show", "type", "vlan"])?,
        count(&["route", "show"])?,
    );
    println!("at first:                {}", daemon.memory()?);
    let announced = || -> Outcome<u64> {
        let lines = Client::connect(&socket)?.counters()?.counters;
        let line = lines.iter().find(|l| l.name == "announcements_sent_total");
        Ok(line.map_or(0, |l| l.value))
    };
    let (sent, before) = (announced()?, daemon.run()?);
    std::thread::sleep(Duration::from_secs(seconds));
    let after = daemon.run()?;
    let sent = announced()? - sent;
    println!(
        "idle for {seconds} s: {} wake-ups for {sent} announcements, {:.4} s CPU",
        after.wakes - before.wakes,
        (after.processor - before.processor).as_secs_f64()
    );
    println!("after that:              {}", daemon.memory()?);

    let request = ApplyRequest { cluster: second.into(), ..ApplyRequest::default() };
    Client::connect(&socket)?.apply(&request)?;
    settled(&socket)?;
    println!("with the plan before:    {}", daemon.memory()?);
    Ok(())
}

/// Killed when dropped.
struct Daemon(Child);

/// What the daemon ran so far.
struct Run {
    wakes: u64,
    processor: Duration,
}

impl Daemon {
    fn status(&self, key: &str) -> Outcome<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(':'));
        let number = line.and_then(|l| l.split_whitespace().next());
        Ok(number.ok_or_else(|| format!("no {key} in /proc/PID/status"))?.parse()?)
    }

    fn memory(&self) -> Outcome<String> {
        let mib = |key| Ok::<_, Box<dyn std::error::Error>>(self.status(key)? as f64 / 1024.0);
        Ok(format!(
            "{:.1} MiB resident (its own {:.1}, of files {:.1}), {:.1} at most",
            mib("VmRSS")?,
            mib("RssAnon")?,
            mib("RssFile")?,
            mib("VmHWM")?
        ))
    }

    fn run(&self) -> Outcome<Run> {
        let schedstat = std::fs::read_to_string(format!("/proc/{}/schedstat", self.0.id()))?;
        let spent = schedstat.split_whitespace().next().ok_or("schedstat is empty")?;
        let processor = Duration::from_nanos(spent.parse()?);
        Ok(Run { wakes: self.status("voluntary_ctxt_switches")?, processor })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until the kernel holds all of the plan, every VLAN proven.
fn settled(socket: &Path) -> Outcome<()> {
    let deadline = Instant::now() + LIMIT;
    loop {
        let seen = match Client::connect(socket).and_then(|mut client| client.status()) {
            Ok(status) if status.generation.is_some() && status.activity == "idle" => {
                if status.in_sync && status.unproven.is_empty() {
                    return Ok(());
                }
                format!("{} VLANs not proven, fault {:?}", status.unproven.len(), status.fault)
            }
            Ok(status) => status.activity,
            Err(error) => error.to_string(),
        };
        if Instant::now() > deadline {
            return Err(format!("tressed does not settle; last seen: {seen}").into());
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn inside(words: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", NAMESPACE]).args(words);
    command
}

fn ip(words: &[&str]) -> Outcome<()> {
    let status = Command::new("ip").args(words).status()?;
    if status.success() { Ok(()) } else { Err(format!("ip {}: {status}", words.join(" ")).into()) }
}

/// How many objects `ip` lists in the namespace.
fn count(words: &[&str]) -> Outcome<usize> {
    let output = Command::new("ip").args(["-o", "-n", NAMESPACE]).args(words).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().count())
}
