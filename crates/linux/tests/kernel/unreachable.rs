//! Addresses of the fabric that no route leads to are refused, whatever the default route.

use std::process::Command;

use libtest_mimic::Trial;
use tresse_base::units::Prefix;
use tresse_linux::kernel::observe;
use tresse_namespace::{ip, trial};
use tresse_reconcile::{
    GuardRule, METRIC_ICMP, METRIC_UNREACHABLE, Nexthop, Refusal, Saved, Wanted, WantedRoute,
    reconcile,
};

use crate::cables::cables;
use crate::interfaces::done;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("unreachable_routes_come_before_the_default_route", &[], before_the_default),
        trial("who_is_cut_off_is_sent_icmp_alone", &[], icmp_alone),
        trial("k15_a_foreign_unreachable_route_stays", &[], foreign_stays),
    ]
}

fn wanted() -> Wanted {
    let prefixes = ["10.77.0.0/16", "fd77::/64"].map(|prefix| prefix.parse::<Prefix>().unwrap());
    Wanted { unreachable: prefixes.into(), ..Wanted::default() }
}

/// Does the kernel have a way to this address?
fn leads_to(address: &str) -> bool {
    let get = Command::new("ip").args(["route", "get", address]).output().unwrap();
    get.status.success()
}

fn node() {
    cables(1);
    ip("link set lo up");
    ip("address add 192.0.2.1/24 dev eth0");
    ip("-6 address add 2001:db8::1/64 dev eth0 nodad");
    ip("route add default via 192.0.2.2");
    ip("-6 route add default via 2001:db8::2");
}

fn before_the_default() {
    node();
    let foreign = ["10.77.9.9", "fd77::9:9"];
    assert!(foreign.iter().all(|address| leads_to(address)));
    let look = || observe([]).unwrap();
    let plan = |wanted: &Wanted| reconcile(wanted, &look(), &Saved::default());
    let operations: Vec<_> = plan(&wanted()).operations.into_iter().map(|p| p.operation).collect();
    assert_eq!(operations.len(), 2);
    done(&operations);
    assert_eq!(plan(&wanted()).operations, []);
    assert!(foreign.iter().all(|address| !leads_to(address)));
    assert!(["10.76.9.9", "2001:db9::1"].iter().all(|address| leads_to(address)));
    // More specific ones come first, as those of the plan do.
    ip("route add 10.77.9.9/32 via 192.0.2.2");
    assert!(leads_to("10.77.9.9"));
    let operations = plan(&Wanted::default()).operations.into_iter().map(|p| p.operation);
    done(&operations.collect::<Vec<_>>());
    assert!(look().unreachable.is_empty() && leads_to(foreign[1]));
}

fn foreign_stays() {
    node();
    ip("route add unreachable 10.77.0.0/16 metric 4294967295 proto static");
    let reconciled = reconcile(&wanted(), &observe([]).unwrap(), &Saved::default());
    let dst = "10.77.0.0/16".parse().unwrap();
    let refused = Refusal::ForeignRoute { dst, metric: METRIC_UNREACHABLE, protocol: 4 };
    assert_eq!((reconciled.refused, reconciled.operations.len()), (vec![refused], 1));
    let nothing = reconcile(&Wanted::default(), &observe([]).unwrap(), &Saved::default());
    assert_eq!(nothing.operations, []);
}

fn icmp_alone() {
    node();
    ip("address add 10.77.0.1/32 dev eth0");
    ip("-6 address add fd77::1/128 dev eth0 nodad");
    std::fs::write("/proc/sys/net/ipv4/conf/eth0/rp_filter", "2").unwrap();
    let look = || observe([]).unwrap();
    let mac = look().links["eth0"].mac.unwrap();
    let peers = [("10.77.0.1", "10.77.0.9", true), ("fd77::1", "fd77::9", false)];
    let mut wanted = Wanted { nics: [("eth0".into(), (mac, 1500))].into(), ..wanted() };
    let nexthop = |via: &str| {
        let (interface, via) = ("eth0".to_owned(), via.parse().unwrap());
        vec![Nexthop { interface, via, labels: Vec::new(), weight: 1 }]
    };
    for (src, dst, ipv4) in peers {
        let src = src.parse().unwrap();
        let route = WantedRoute { src, mtu: 1500, advmss: 1400, nexthops: nexthop(dst) };
        wanted.routes.insert((Prefix::host(dst.parse().unwrap()), METRIC_ICMP), route);
        wanted.guard.insert(GuardRule::Icmp { ipv4 });
    }
    let reconciled = |wanted: &Wanted| reconcile(wanted, &look(), &Saved::default());
    let change = |wanted: &Wanted| {
        let operations = reconciled(wanted).operations.into_iter().map(|p| p.operation);
        done(&operations.collect::<Vec<_>>());
        assert_eq!(reconciled(wanted).operations, []);
    };
    change(&wanted);
    let gets = |words: &str| {
        let get = Command::new("ip").args(["route", "get"]).args(words.split(' ')).output();
        get.unwrap().status.success()
    };
    for (src, dst, ipv4) in peers {
        let icmp = if ipv4 { "icmp" } else { "ipv6-icmp" };
        assert!(gets(&format!("{dst} ipproto {icmp}")), "{dst}");
        assert!(!gets(&format!("{dst} ipproto udp")) && !leads_to(dst), "{dst}");
        // The reverse path of what comes in: IPv4 alone looks at it.
        assert!(gets(&format!("{src} from {dst} iif eth0 ipproto {icmp}")), "{dst}");
        assert_eq!(gets(&format!("{src} from {dst} iif eth0 ipproto udp")), !ipv4, "{dst}");
    }
    let rules = ip("rule show") + &ip("-6 rule show");
    for words in ["7992:\tfrom all ipproto icmp lookup 7992", "ipproto ipv6-icmp lookup 7992"] {
        assert!(rules.contains(words), "{rules}");
    }
    change(&Wanted::default());
    assert!(look().guard.is_empty() && look().routes.keys().all(|key| key.1 != METRIC_ICMP));
}
