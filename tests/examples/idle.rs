//! What an idle `tressed` takes: memory, wake-ups and processor time over half a minute, on a node
//! of a torus of 1,000 switches. Needs root and 802.1Q: `tests/idle.sh` runs it in the virtual
//! machine where this kernel lacks that.
//!
//! `idle [SECONDS] [SIZES...]`, by default 30 and 10 10 10. The node's only cable ends in nothing, so
//! that the daemon's own timers are all that can wake it. A wake-up is a voluntary context switch
//! (proc(5)); the announcements sent meanwhile tell how many timers were due.

use std::path::Path;
use std::time::Duration;

use tresse_control::ApplyRequest;
use tresse_tests::idle::{Daemon, Outcome, count, ip, namespace};

const NAMESPACE: &str = "tresse-idle";

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
    namespace(NAMESPACE)?;
    for words in [
        &["link", "add", "eth0", "address", &mac, "type", "veth", "peer", "name", "far0"][..],
        &["link", "set", "eth0", "up"],
        &["link", "set", "far0", "up"],
    ] {
        ip(&[&["-n", NAMESPACE], words].concat())?;
    }
    let daemon = Daemon::start(NAMESPACE, home, &node.name, first)?;
    daemon.settled()?;
    println!(
        "one node of {}: {} VLAN interfaces, {} routes",
        cluster.nodes.len(),
        count(NAMESPACE, &["link", "show", "type", "vlan"])?,
        count(NAMESPACE, &["route", "show"])?,
    );
    println!("at first:                {}", daemon.memory()?);
    let announced = || daemon.counter("announcements_sent_total");
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
    daemon.client()?.apply(&request)?;
    daemon.settled()?;
    println!("with the plan before:    {}", daemon.memory()?);
    Ok(())
}
