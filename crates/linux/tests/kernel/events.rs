//! The subscription: what changed is told, what does not concern us is not.

use std::time::Duration;

use libtest_mimic::Trial;
use tresse_linux::kernel::{KernelEvent, KernelEvents};
use tresse_namespace::{ip, trial};
use tresse_reconcile::{METRIC_PRIMARY, NEXTHOP_BASE, Operation};

use crate::cables::cables;
use crate::forwarding::{group, nexthop, route};
use crate::interfaces::{address, done, neighbour, tresse0};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("each_change_is_told", &[], || block_on(each_change_is_told())),
        trial("k23_a_burst_is_one_answer", &[], || block_on(a_burst_is_one_answer())),
    ]
}

pub fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future);
}

pub async fn settled(events: &mut KernelEvents) -> Vec<KernelEvent> {
    let mut all = Vec::new();
    while let Ok(more) = tokio::time::timeout(Duration::from_millis(50), events.next()).await {
        all.extend(more.unwrap());
    }
    all.sort();
    all.dedup();
    all
}

/// Link-local addresses would come and go on their own schedule.
pub fn without_ipv6() {
    done(&[Operation::WriteSysctl {
        key: "net/ipv6/conf/default/disable_ipv6".into(),
        value: "1".into(),
        before: Some("0".into()),
    }]);
}

async fn each_change_is_told() {
    without_ipv6();
    cables(1);
    done(&tresse0());
    done(&[address("tresse0", "10.77.0.1")]);
    let mut events = KernelEvents::subscribe().unwrap();
    settled(&mut events).await;
    let steps: [(Vec<Operation>, KernelEvent); 5] = [
        (vec![address("eth0", "10.78.0.1")], KernelEvent::AddressChanged),
        (
            vec![neighbour("eth0", "10.78.0.2", [2, 0, 0, 0, 0, 2], false)],
            KernelEvent::NeighbourChanged,
        ),
        (
            vec![
                nexthop(NEXTHOP_BASE, "eth0", "10.78.0.2"),
                group(NEXTHOP_BASE + 1, &[(NEXTHOP_BASE, 1)], false),
            ],
            KernelEvent::NexthopChanged,
        ),
        (
            vec![route("10.77.0.2/32", METRIC_PRIMARY, "10.77.0.1", NEXTHOP_BASE + 1, false)],
            KernelEvent::RouteChanged,
        ),
        (
            vec![Operation::DeleteNeighbour {
                interface: "eth0".into(),
                address: "10.78.0.2".parse().unwrap(),
            }],
            KernelEvent::NeighbourChanged,
        ),
    ];
    for (operations, expected) in steps {
        done(&operations);
        assert_eq!(settled(&mut events).await, [expected]);
    }
    ip("neigh add 10.78.0.3 lladdr 02:00:00:00:00:01 dev eth0 nud stale");
    assert_eq!(settled(&mut events).await, [], "a learned neighbour is no event");
    std::fs::write("/proc/sys/net/ipv4/conf/eth0/forwarding", "1").unwrap();
    assert_eq!(settled(&mut events).await, [KernelEvent::SysctlChanged]);
    ip("link set far0 down");
    assert!(settled(&mut events).await.contains(&KernelEvent::LinkChanged));
}

async fn a_burst_is_one_answer() {
    without_ipv6();
    cables(1);
    let mut events = KernelEvents::subscribe().unwrap();
    settled(&mut events).await;
    let burst: Vec<_> = (1..200).map(|n| address("eth0", &format!("10.78.1.{n}"))).collect();
    done(&burst);
    assert_eq!(events.next().await.unwrap(), [KernelEvent::AddressChanged]);
    assert_eq!(settled(&mut events).await, []);
}
