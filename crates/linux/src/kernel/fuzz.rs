//! Feeds arbitrary bytes to every netlink decoder: used by `fuzz/`, and by tests that replay its
//! findings. Opens no socket.

use tresse_reconcile::ObservedRoutes;

use super::channel::{Dump, DumpError, Tables};
use super::events::event;
use super::filter::{Filter, Seen};
use super::label::LabelRoute;
use super::message::{Message, Messages, bytes as written};
use super::mptcp;
use super::nexthop::{Nexthop, RTM_NEWNEXTHOP};
use super::observe::{main_routes, tables};

/// Gives `bytes` to every netlink decoder as one datagram: as replies to all dumps, as events, and
/// as nexthop objects, label routes and filters. Each of the last three must be the same after it
/// is encoded and decoded again.
///
/// # Panics
/// If a decoder panics, or an object is another one after encoding and decoding.
pub fn netlink(bytes: &[u8]) {
    let _ = tables(&mut Recording(bytes), true);
    for message in Messages(bytes).flatten() {
        let _ = event(&message);
        let _ = mptcp::endpoint(message.payload);
        if message.kind == RTM_NEWNEXTHOP
            && let Ok(nexthop) = Nexthop::parse(message.payload)
        {
            let mut written = Vec::new();
            nexthop.emit(&mut written);
            assert_eq!(Nexthop::parse(&written), Ok(nexthop));
        }
        if message.kind == libc::RTM_NEWROUTE
            && let Ok(Some(route)) = LabelRoute::parse(message.payload)
        {
            assert_eq!(LabelRoute::parse(&written(&route.message())), Ok(Some(route)));
        }
        if message.kind == libc::RTM_NEWTFILTER
            && let Ok(Seen::Ours(filter)) = Filter::parse(message.payload)
        {
            let mut written = Vec::new();
            filter.emit(1, &mut written);
            assert_eq!(Filter::parse(&written), Ok(Seen::Ours(filter)));
        }
    }
}

/// Reads the routes of a recorded dump of one family, whose sequence number is 1, for the benchmark
/// `examples/dump.rs`.
///
/// # Errors
/// Why the recording cannot be read, in words.
pub fn routes(recording: &[u8]) -> Result<ObservedRoutes, String> {
    let read = main_routes(&mut Once(Some(recording)));
    read.map_err(|error| error.to_string())
}

/// Answers the first dump with all recorded messages, the others with none.
struct Once<'a>(Option<&'a [u8]>);

impl Tables for Once<'_> {
    fn dump(
        &mut self,
        _kind: u16,
        _body: &[u8],
        mut each: impl FnMut(&Message<'_>) -> Result<(), DumpError>,
    ) -> Result<(), DumpError> {
        let recorded = self.0.take().unwrap_or_default();
        Dump { sequence: 1, interrupted: false }.take(recorded, &mut each).map(drop)
    }
}

/// Answers each dump with the recorded messages that belong to it; their sequence number is 1.
struct Recording<'a>(&'a [u8]);

impl Tables for Recording<'_> {
    fn dump(
        &mut self,
        kind: u16,
        _body: &[u8],
        mut each: impl FnMut(&Message<'_>) -> Result<(), DumpError>,
    ) -> Result<(), DumpError> {
        /// NEW, DEL, GET and SET of one object are four consecutive numbers.
        const VERBS: u16 = 3;
        let mut of_this = |message: &Message<'_>| match message.kind & !VERBS == kind & !VERBS {
            true => each(message),
            false => Ok(()),
        };
        Dump { sequence: 1, interrupted: false }.take(self.0, &mut of_this).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use tresse_reconcile::PROTOCOL;

    use super::*;

    /// Dumped from a namespace of a real kernel, with a VLAN interface and a label nexthop added.
    #[test]
    fn seed_is_read_whole() {
        let seed = include_bytes!("../../../../fuzz/seeds/netlink/namespace");
        let observed =
            tables(&mut Recording(seed), true).map_err(|(table, e)| format!("{table}: {e}"));
        let observed = observed.unwrap();
        assert!(observed.links["eth0.100"].is_ours() && observed.links["eth0.100"].kind.is_some());
        let group = &observed.nexthops[&0x5400_0003];
        assert_eq!(group.group, [(0x5400_0001, 3), (0x5400_0002, 1)]);
        assert_eq!(observed.nexthops[&0x5400_0009].labels.len(), 2);
        let ours = observed.routes.values().filter(|r| r.protocol == PROTOCOL);
        assert_eq!(ours.count(), 2, "{:?}", observed.routes);
        assert!(observed.neighbours.values().any(|n| n.protocol == PROTOCOL));
    }

    /// Label routes, ours and foreign, and an interface with our filters and a foreign one.
    #[test]
    fn seed_of_labels_is_read_whole() {
        let seed = include_bytes!("../../../../fuzz/seeds/netlink/labels");
        netlink(seed);
        let observed =
            tables(&mut Recording(seed), true).map_err(|(table, e)| format!("{table}: {e}"));
        let observed = observed.unwrap();
        assert_eq!(observed.labels.keys().map(|l| l.0).collect::<Vec<_>>(), [16, 17, 18, 19]);
        assert_eq!(observed.labels.values().filter(|l| l.via.is_some()).count(), 3);
        let filters = &observed.ingress["eth0"];
        assert_eq!((filters.passed.len(), filters.dropped.len()), (2, 1));
        assert!(filters.foreign && filters.taken.is_none(), "{filters:?}");
    }

    /// Rules and routes of tables beside the main one, ours and foreign.
    #[test]
    fn seed_of_rules_is_read_whole() {
        let seed = include_bytes!("../../../../fuzz/seeds/netlink/rules");
        netlink(seed);
        let observed =
            tables(&mut Recording(seed), true).map_err(|(table, e)| format!("{table}: {e}"));
        let observed = observed.unwrap();
        let rules: Vec<_> = observed.rules.iter().map(ToString::to_string).collect();
        assert_eq!(rules, ["IPv6 iif eth0 lookup 7800", "IPv4 iif eth0 lookup 7800"]);
        let ways = observed
            .table_routes
            .iter()
            .map(|(key, table_route)| (key.0, key.2, table_route.via.is_some()));
        let expected = [(7800, 7800, true), (7800, 7800, true), (7801, 0, false)];
        assert_eq!(ways.collect::<Vec<_>>(), expected);
        assert!(observed.table_routes.values().all(|table_route| table_route.protocol == PROTOCOL));
    }
}
