//! Many objects at once.

use std::time::Instant;

use libtest_mimic::Trial;
use tresse_base::units::{Mac, Prefix};
use tresse_linux::kernel::{ExecutionOutcome, OperationStatus, execute, observe};
use tresse_namespace::trial;
use tresse_reconcile::{METRIC_PRIMARY, NEXTHOP_BASE, Operation, PROTOCOL};

use crate::cables::cables;
use crate::forwarding::{group, nexthop};
use crate::interfaces::{address, done, tresse0};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("what_was_executed_is_observed", &[], bulk_round_trip),
        trial("every_refusal_of_a_batch_is_heard", &[], every_refusal_is_heard),
    ]
}

const ROUTES: u32 = 20_000;
const NEIGHBOURS: u32 = 3_000;
const G: u32 = NEXTHOP_BASE + 16;

fn prepared() -> Vec<Operation> {
    cables(1);
    done(&tresse0());
    done(&[address("tresse0", "10.77.0.1")]);
    done(&[nexthop(NEXTHOP_BASE, "eth0", "10.78.0.2"), group(G, &[(NEXTHOP_BASE, 1)], false)]);
    let hosts: Prefix = "10.80.0.0/13".parse().unwrap();
    (0..ROUTES)
        .map(|n| Operation::AddRoute {
            dst: Prefix::host(hosts.nth(u128::from(n)).unwrap()),
            metric: METRIC_PRIMARY,
            group: G,
            src: Some("10.77.0.1".parse().unwrap()),
            mtu: Some(1500),
            advmss: Some(1460),
            replace: false,
        })
        .collect()
}

fn bulk_round_trip() {
    let mut operations: Vec<_> = (0..NEIGHBOURS)
        .map(|n| Operation::AddNeighbour {
            interface: "eth0".into(),
            address: "10.78.0.0/16".parse::<Prefix>().unwrap().nth(u128::from(n) + 2).unwrap(),
            mac: Mac([2, 0, 0, 0, (n >> 8) as u8, n as u8]),
            replace: false,
        })
        .collect();
    operations.extend(prepared());
    let begin = Instant::now();
    done(&operations);
    let installed = begin.elapsed();
    let observed = observe([]).unwrap();
    eprintln!("installed in {installed:?}, read back in {:?}", begin.elapsed() - installed);
    let ours = observed.routes.iter().filter(|(_, r)| r.protocol == PROTOCOL);
    assert_eq!(ours.count(), ROUTES as usize);
    assert_eq!(observed.neighbours.len(), NEIGHBOURS as usize);
    for operation in &operations {
        match operation {
            Operation::AddRoute { dst, metric, group, .. } => {
                assert_eq!(observed.routes[&(*dst, *metric)].nexthop, Some(*group));
            }
            Operation::AddNeighbour { interface, address, mac, .. } => {
                assert_eq!(observed.neighbours[&(interface.clone(), *address)].mac, *mac);
            }
            _ => {}
        }
    }
}

fn every_refusal_is_heard() {
    let operations = prepared();
    done(&operations[..2000]);
    let ExecutionOutcome { status, errors, .. } = execute(&operations[..2000]);
    assert_eq!(errors.len(), 512, "a whole batch fails, and no second is sent");
    assert!(status[..512].iter().all(|s| *s == OperationStatus::Failed));
    assert!(status[512..].iter().all(|s| *s == OperationStatus::NotSent));
    assert!(errors.iter().all(|(_, e)| e.errno() == Some(libc::EEXIST)));
}
