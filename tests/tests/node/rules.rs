//! Rules of the kernel's that decide whether frames arrive: K2, K6, K7, K16.

use std::process::{Child, Stdio};

use crate::daemon::Daemon;
use crate::judge::{answers, command, eventually, json, ours, restored, sh, sysctls};
use crate::life::Monitor;
use crate::rig::{Rig, TWO_NICS, dual_stack};
use crate::trial::Test;

pub fn trials() -> Vec<Test> {
    vec![
        ("k02_asymmetric_paths_pass_loose_rp_filter", asymmetric_paths),
        ("k06_k07_only_interfaces_of_ours_are_configured", only_ours_is_configured),
        ("k16_admin_down_and_up_sends_no_arp", no_arp),
    ]
}

fn asymmetric_paths() {
    for strict_default in [false, true] {
        let rig = Rig::new(TWO_NICS);
        if strict_default {
            for node in 0..2 {
                sh(
                    &rig.node(node),
                    "for s in all default; do echo 1 >/proc/sys/net/ipv4/conf/$s/rp_filter; done",
                );
            }
        }
        let mut daemons = Daemon::all(&rig, 2);
        for node in 0..2 {
            for interface in ["eth0.2", "eth1.2"] {
                let words = format!("ip -j -4 addr show {interface}");
                let address = &json(&rig.node(node), &words)[0]["addr_info"][0];
                assert_eq!(
                    (&address["prefixlen"], &address["scope"]),
                    (&32.into(), &"link".into())
                );
                let file = format!("cat /proc/sys/net/ipv4/conf/{interface}/rp_filter");
                assert_eq!(sh(&rig.node(node), &file).trim(), "2");
            }
        }
        // The other node answers by its backup, over the other NIC.
        daemons.remove(1).kill();
        sh(&rig.node(1), "ip route del 10.77.0.1/32 metric 7800");
        let dev = |node: usize, peer: &str| {
            json(&rig.node(node), &format!("ip -j route get {peer}"))[0]["dev"].clone()
        };
        assert_eq!((dev(0, "10.77.0.2"), dev(1, "10.77.0.1")), ("eth1.2".into(), "eth0.2".into()));
        answers(&rig.node(0), "10.77.0.2");
        answers(&rig.node(1), "10.77.0.1");
    }
}

fn only_ours_is_configured() {
    let rig = Rig::new(&dual_stack(TWO_NICS));
    let before = sysctls(&rig.node(0));
    let _daemons = Daemon::all(&rig, 2);
    let after = sysctls(&rig.node(0));
    let whole_namespace = [
        "/proc/sys/net/ipv4/fib_multipath_hash_policy",
        "/proc/sys/net/ipv6/fib_multipath_hash_policy",
    ];
    for (file, value) in &after {
        let of_ours = ["/eth0.2/", "/eth1.2/", "/tresse0/"].iter().any(|part| file.contains(part));
        if of_ours {
            continue;
        }
        let was = before.get(file);
        if whole_namespace.contains(&file.as_str()) {
            assert_eq!(value, "1", "{file}");
        } else {
            assert_eq!(was, Some(value), "{file}");
        }
    }
    for interface in ["eth0.2", "eth1.2"] {
        for (file, value) in [
            ("ipv4/conf", "rp_filter 2"),
            ("ipv4/conf", "arp_ignore 1"),
            ("ipv4/conf", "arp_announce 2"),
            ("ipv4/conf", "accept_redirects 0"),
            // For pairs of others whose planned paths are all broken.
            ("ipv4/conf", "forwarding 1"),
            ("ipv4/neigh", "mcast_solicit 0"),
            ("ipv6/neigh", "mcast_solicit 0"),
            ("ipv6/conf", "accept_ra 0"),
        ] {
            let (name, value) = value.split_once(' ').unwrap();
            let path = format!("/proc/sys/net/{file}/{interface}/{name}");
            assert_eq!(after.get(&path).map(String::as_str), Some(value), "{path}");
        }
    }
}

/// tcpdump on a switch port.
struct Capture {
    child: Child,
    path: std::path::PathBuf,
}

impl Capture {
    fn start(rig: &Rig, port: &str, filter: &str) -> Self {
        let path = rig.directory.path().join(format!("{port}.txt"));
        let file = std::fs::File::create(&path).unwrap();
        let script = format!("exec tcpdump -n -e -l -i {port} '{filter}'");
        let words = path.with_extension("err");
        let errors = std::fs::File::create(&words).unwrap();
        let child = command(&rig.switch(), &script).stdout(file).stderr(errors).spawn().unwrap();
        eventually("tcpdump listens", || {
            let text = std::fs::read_to_string(&words).unwrap();
            if text.contains("listening on") { Ok(()) } else { Err(text) }
        });
        Self { child, path }
    }

    fn end(mut self) -> String {
        let pid = self.child.id();
        sh_here(&format!("kill -INT {pid}"));
        self.child.wait().unwrap();
        std::fs::read_to_string(&self.path).unwrap().trim().to_owned()
    }
}

fn sh_here(script: &str) {
    let status =
        std::process::Command::new("sh").args(["-c", script]).stdin(Stdio::null()).status();
    assert!(status.unwrap().success(), "{script}");
}

fn no_arp() {
    let rig = Rig::new(&dual_stack(TWO_NICS));
    let mut daemons = Daemon::all(&rig, 2);
    answers(&rig.node(0), "10.77.0.2");
    answers(&rig.node(0), "fd77::2");
    let before = ours(&rig.node(0));
    let solicits = "arp or (vlan and (arp or (icmp6 and ip6[40] == 135)))";
    let captures: Vec<_> = ["eth0", "eth1"]
        .map(|nic| Capture::start(&rig, &rig.port(0, nic), solicits))
        .into_iter()
        .collect();
    let monitor = Monitor::start(&rig, "neigh route");
    for address in ["10.77.0.2", "fd77::2"] {
        let script = format!("ping -n -q -i 0.01 -c 400 -W 1 {address} >/dev/null");
        let mut ping = command(&rig.node(0), &script).spawn().unwrap();
        sh(&rig.node(0), "ip link set eth1 down; sleep 0.3; ip link set eth1 up; sleep 0.3");
        sh(&rig.node(0), "ip neigh flush dev eth0.2 nud permanent");
        ping.wait().unwrap();
        restored("eth1 is up again", &rig.node(0), &before);
        daemons[0].in_sync();
    }
    let seen: Vec<_> = captures.into_iter().map(Capture::end).collect();
    assert_eq!(seen, ["", ""]);
    // Neighbours are told before the routes that need them.
    let text = monitor.end();
    let first = |word: &str| {
        let mut lines = text.lines();
        lines.position(|l| l.contains(word) && l.contains("eth1.2") && !l.contains("Deleted"))
    };
    let neighbour = first("10.78.0.4 dev eth1.2 lladdr");
    let route = first("10.77.0.2 nhid");
    assert!(neighbour.is_some() && neighbour < route, "{text}");
}
