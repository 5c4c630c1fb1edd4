//! What a node says of its traffic, and how it shares it, where detours are used as they are needed.

use tresse_base::id::NodeId;
use tresse_control::DetourLine;
use tresse_frame::records::Origin;
use tresse_liveness::records::{LoadKind, Rate, Report, WireLoad};

use tresse_reconcile::PLATFORM_LABELS;

use super::steer::{cabled, prepared};
use super::{Host, Input, Prepared};
use crate::prepared::digest;
use crate::{Sent, Traffic};

/// Bytes a second of a NIC of 1 Gbit/s.
const NIC: u64 = 125_000_000;
const PEER: NodeId = NodeId(1);

/// Two nodes share one switch, and each of two others has a NIC on a switch of both.
fn adaptive() -> (Prepared, Host) {
    let prepared = prepared(
        "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1\\n1: 0 2\\n2: 1 2\\n3: 0 3\\n4: 1 3\" }\n\
         [routing]\npaths = 3\nreflect = \"adaptive\"\n",
    );
    let mut host = cabled(&prepared);
    host.kernel.observed.mpls = true;
    host.kernel.observed.sysctls.insert(PLATFORM_LABELS.into(), "0".into());
    let applied = host.apply(&prepared).unwrap();
    assert!(applied.is_ok(), "{applied:?}");
    host.settle();
    (prepared, host)
}

/// What goes by one of the pair's paths in a second.
fn traffic(prepared: &Prepared, rank: usize, bytes: u64) -> Traffic {
    let path = &prepared.index.pair(PEER)[rank];
    let (to, nexthop) = &path.nexthops[0];
    let interface = &prepared.interfaces[&nexthop.interface];
    Traffic {
        destination: to.address,
        nic: interface.parent.clone(),
        vid: interface.vid.map(|vid| vid.0),
        labels: nexthop.labels.clone(),
        bytes,
    }
}

/// A second in which the node sends so much by each path to its peer; `beyond`: what its first NIC carries beside.
fn second(prepared: &Prepared, host: &mut Host, bytes: [u64; 3], beyond: u64) {
    let traffic: Vec<_> =
        (0..3).map(|rank| traffic(prepared, rank, bytes[rank])).filter(|t| t.bytes > 0).collect();
    let mut sent = Sent { elapsed_ms: 1000, traffic, ..Sent::default() };
    for of in &sent.traffic {
        sent.carried.entry(of.nic.clone()).or_default().0 += of.bytes;
    }
    let first = prepared.wanted.nics.keys().next().unwrap().clone();
    sent.carried.entry(first).or_default().0 += beyond;
    host.run_until(host.now + 1000);
    host.input(Input::Sent(Box::new(sent)));
    host.run_until(host.now + 100);
}

/// A node says what it sends.
fn says(prepared: &Prepared, host: &mut Host, node: u32, loads: Vec<WireLoad>) {
    let origin = Origin(u64::from_be_bytes(digest(prepared.index.node(NodeId(node)))));
    let report = Report { generation: prepared.digest(), loads, ..Report::default() };
    host.input(Input::Reports([(origin, Some(report))].into()));
}

fn line(host: &Host) -> DetourLine {
    let list = host.engine.detours().unwrap();
    assert!(list.planned && list.used);
    list.pairs.into_iter().find(|pair| pair.dst == "n1").unwrap()
}

fn weights(host: &Host) -> Vec<u32> {
    line(host).paths.iter().map(|path| path.weight).collect()
}

#[test]
fn a_full_nic_brings_both_detours_in_and_an_idle_one_takes_them_out() {
    let (prepared, mut host) = adaptive();
    assert_eq!(prepared.index.pair(PEER).len(), 3);
    second(&prepared, &mut host, [NIC / 4, 0, 0], 0);
    assert_eq!(&weights(&host)[1..], [0, 0]);
    second(&prepared, &mut host, [NIC, 0, 0], 0);
    let line = line(&host);
    assert_eq!(line.why, "its own paths are full");
    assert_eq!(line.paths[0].bits_per_second, 8 * NIC);
    let both = weights(&host);
    assert!(both.iter().all(|weight| *weight > 60), "{both:?}");
    for _ in 0..4 {
        second(&prepared, &mut host, [NIC; 3], 0);
        assert_eq!(weights(&host), both, "nothing is better");
    }
    // TCP sends less for a while when flows move, so it has to be idle for two seconds more.
    for _ in 0..2 {
        second(&prepared, &mut host, [NIC / 20; 3], 0);
        assert_eq!(weights(&host), both);
    }
    second(&prepared, &mut host, [NIC / 20; 3], 0);
    assert_eq!(&weights(&host)[1..], [0, 0]);
    assert_eq!(self::line(&host).why, "its own paths do");
}

#[test]
fn a_node_says_what_it_sends_over_wires_and_by_which_kind_of_path() {
    let (prepared, mut host) = adaptive();
    second(&prepared, &mut host, [NIC / 2, NIC / 4, 0], 0);
    host.settle();
    let said = host.said.as_ref().unwrap().loads.clone();
    let of = |kind| -> Vec<u64> {
        let of = said.iter().filter(|load| load.kind == kind);
        of.map(|load| load.rate.bytes_per_second()).collect()
    };
    let about = |rates: Vec<u64>, rate: u64, count: usize| {
        assert_eq!(rates.len(), count, "{said:?}");
        assert!(rates.iter().all(|of| of.abs_diff(rate) <= rate / 16), "{rates:?}");
    };
    // Its NIC, and its peer's; the detour by a node between crosses four.
    about(of(LoadKind::Planned), NIC / 2, 2);
    about(of(LoadKind::Detour), NIC / 4, 4);
    // Next to nothing is not worth saying.
    second(&prepared, &mut host, [NIC / 2, NIC / 1000, 0], 0);
    host.settle();
    let said = &host.said.as_ref().unwrap().loads;
    assert!(said.iter().all(|load| load.kind != LoadKind::Detour), "{said:?}");
}

#[test]
fn a_detour_over_wires_that_others_fill_is_not_used() {
    let (prepared, mut host) = adaptive();
    // What the pair itself sends by each detour tells the numbers of its wires.
    let numbers = |host: &mut Host, bytes: [u64; 3]| -> Vec<u32> {
        second(&prepared, host, bytes, 0);
        host.settle();
        let said = &host.said.as_ref().unwrap().loads;
        let of = said.iter().filter(|load| load.kind == LoadKind::Detour);
        of.map(|load| load.wire).collect()
    };
    let first = numbers(&mut host, [0, NIC / 8, 0]);
    second(&prepared, &mut host, [0; 3], 0);
    let fill = |wire: &u32| WireLoad { wire: *wire, kind: LoadKind::Planned, rate: Rate::of(NIC) };
    says(&prepared, &mut host, 2, first.iter().map(fill).collect());
    host.run_until(host.now + 10_000);
    second(&prepared, &mut host, [NIC, 0, 0], 0);
    let now = weights(&host);
    assert!(now[1] == 0 && now[2] > 60, "{now:?}");
    // The others stop, and the detour has room.
    says(&prepared, &mut host, 2, Vec::new());
    for _ in 0..4 {
        second(&prepared, &mut host, [NIC, 0, NIC], 0);
    }
    let now = weights(&host);
    assert!(now[1] > 60, "{now:?}");
}

#[test]
fn what_only_nics_count_is_the_traffic_of_others_when_seen_twice() {
    let (prepared, mut host) = adaptive();
    let second_nic = prepared.wanted.nics.keys().nth(1).unwrap().clone();
    let leaves_by = |rank: usize| traffic(&prepared, rank, 0).nic == second_nic;
    assert!(!leaves_by(0), "the own path has the first NIC");
    let full = |host: &mut Host| {
        let sent = Sent {
            elapsed_ms: 1000,
            traffic: vec![traffic(&prepared, 0, NIC)],
            carried: [(second_nic.clone(), (NIC, 0))].into(),
        };
        host.run_until(host.now + 1000);
        host.input(Input::Sent(Box::new(sent)));
        host.run_until(host.now + 100);
    };
    // Seen once it may be a difference in time.
    second(&prepared, &mut host, [NIC / 8, 0, 0], 0);
    full(&mut host);
    let once = weights(&host);
    host.run_until(host.now + 10_000);
    for _ in 0..3 {
        full(&mut host);
    }
    let later = weights(&host);
    for rank in (1..3).filter(|rank| leaves_by(*rank)) {
        assert!(once[rank] > 0 && later[rank] == 0, "{rank}: {once:?}, {later:?}");
    }
    assert!((1..3).any(leaves_by), "a detour leaves by the second NIC");
}
