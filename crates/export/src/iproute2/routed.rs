//! Writes those parts of a node's iproute2 script that only some nodes need: routing tables with the
//! policy rules that lead to them (by arrival interface or by source address), those that keep packets of the
//! fabric inside it, MPTCP endpoints, and the
//! removal of Tresse's addresses and neighbours from NICs. (What is on an interface that Tresse created
//! vanishes with that interface.)

use tresse_reconcile::{ALL_FORWARDING, ENDPOINT_IDS, PROTOCOL, Rule, Wanted};

use super::{commands, shell};

/// `arriving FAMILY INTERFACE TABLE`: what arrives there asks that table first.
const FUNCTION: &str = r#"
# arriving FAMILY NIC TABLE: what arrives by this NIC asks this table first
arriving() {
    ip "$1" rule add iif "$2" lookup "$3" priority "$3" protocol PROTOCOL 2>/dev/null ||
        ip "$1" rule show | grep -q "^$3:.* iif $2 lookup $3 " ||
        die "no rule for NIC $2: priority $3 is somebody else's"
}
"#;

/// `guard FAMILY PRIORITY WORDS...`: the rules that keep packets of the fabric inside it.
const GUARD: &str = r#"
# guard FAMILY PRIORITY WORDS...: a rule that passes what goes from fabric to fabric, or drops the rest
guard() {
    family=$1 priority=$2
    shift 2
    ip "$family" rule show | grep -q "^$priority:.*[[:space:]]$*" ||
        ip "$family" rule add "$@" priority "$priority" protocol PROTOCOL ||
        die "no rule $*: without it this node would forward to other networks"
}
"#;

/// `forward INTERFACE`: IPv6 that comes in there is forwarded (K7).
const FORWARD: &str = r#"
# forward NIC: IPv6 by this NIC; before Linux 6.17 by all interfaces, which go on hearing routers
forward() {
    if [ -e "/proc/sys/net/ipv6/conf/$1/force_forwarding" ]; then
        keep "net/ipv6/conf/$1/force_forwarding" 1
        return
    fi
    for all in /proc/sys/net/ipv6/conf/*/accept_ra; do
        [ "$(cat "$all")" != 1 ] || keep "${all#/proc/sys/}" 2
    done
    keep ALL 1
}
"#;

/// `from FAMILY TABLE WORDS...`, and `subflows LIMIT`, which undo takes back.
const MPTCP: &str = r#"
# from FAMILY PRIORITY WORDS...: a rule for what comes from an address of a NIC
from() {
    family=$1 priority=$2
    shift 2
    ip "$family" rule show | grep -q "^$priority:" ||
        ip "$family" rule add "$@" priority "$priority" protocol PROTOCOL
}

# subflows LIMIT: where the kernel has MPTCP, a connection may have so many beside its first
subflows() {
    have=$(ip mptcp limits 2>/dev/null) || return 0
    have=${have##*subflows }
    [ "${have%% *}" -lt "$1" ] || return 0
    mkdir -p "$state"
    [ -e "$state/subflows" ] || echo "${have%% *}" >"$state/subflows"
    ip mptcp limits set subflows "$1"
}
"#;

pub(super) fn functions(wanted: &Wanted, out: &mut String) {
    if wanted.sysctls.keys().any(|key| key.ends_with("/force_forwarding")) {
        out.push_str(&FORWARD.replace("ALL", ALL_FORWARDING));
    }
    if !wanted.guard.is_empty() {
        out.push_str(&GUARD.replace("PROTOCOL", &PROTOCOL.to_string()));
    }
    if !wanted.xy.tables.is_empty() {
        out.push_str(&FUNCTION.replace("PROTOCOL", &PROTOCOL.to_string()));
    }
    if !wanted.mptcp.is_empty() {
        out.push_str(&MPTCP.replace("PROTOCOL", &PROTOCOL.to_string()));
    }
}

/// Before the kernel forwards.
pub(super) fn guard(wanted: &Wanted, out: &mut String) {
    for rule in &wanted.guard {
        let family = family(rule.is_ipv4());
        line!(out, "    guard {family} {} {}", rule.priority(), rule.words());
    }
}

/// When the kernel does not forward any more.
pub(super) fn unguard(wanted: &Wanted, out: &mut String) {
    for ipv4 in [true, false] {
        let guarded = wanted.guard.iter().any(|rule| rule.is_ipv4() == ipv4);
        if guarded || has_tables(wanted, ipv4) {
            let family = family(ipv4);
            line!(out, "    ip {family} rule flush protocol {PROTOCOL} 2>/dev/null || :");
        }
    }
}

/// Tables, then the rules that lead to them.
pub(super) fn up(wanted: &Wanted, out: &mut String) {
    let routes = commands::table_routes(wanted);
    if routes.is_empty() {
        return;
    }
    line!(out, "    ip -batch - <<'EOF'");
    out.push_str(&routes);
    line!(out, "EOF");
    for Rule { table, ipv4, interface } in wanted.rules() {
        line!(out, "    arriving {} {} {table}", family(ipv4), shell(&interface));
    }
    for rule in wanted.source_rules() {
        let family = family(rule.source.is_ipv4());
        line!(out, "    from {family} {} {}", rule.priority(), rule.words());
    }
    if wanted.subflows() > 0 {
        line!(out, "    subflows {}", wanted.subflows());
    }
    for command in commands::endpoints(wanted).lines() {
        line!(out, "    ip {command} 2>/dev/null || :");
    }
}

/// Removes our objects from NICs one by one; objects on our own interfaces vanish with these.
pub(super) fn undo(wanted: &Wanted, out: &mut String) {
    for id in wanted.mptcp.endpoints.keys().zip(ENDPOINT_IDS).map(|(_, id)| id) {
        line!(out, "    ip mptcp endpoint delete id {id} 2>/dev/null || :");
    }
    if !wanted.mptcp.endpoints.is_empty() {
        line!(out, "    [ ! -e \"$state/subflows\" ] ||");
        line!(out, "        ip mptcp limits set subflows \"$(cat \"$state/subflows\")\"");
    }
    for ipv4 in [true, false] {
        if has_tables(wanted, ipv4) {
            let family = family(ipv4);
            line!(out, "    ip {family} route flush table all proto {PROTOCOL} 2>/dev/null || :");
        }
    }
    let on_nic = |interface: &str| wanted.nics.contains_key(interface);
    for (interface, address) in wanted.addresses.iter().filter(|(nic, _)| on_nic(nic)) {
        let (len, nic) = (if address.is_ipv4() { 32 } else { 128 }, shell(interface));
        line!(out, "    ip address del {address}/{len} dev {nic} 2>/dev/null || :");
    }
    for (interface, address) in wanted.neighbours.keys().filter(|(nic, _)| on_nic(nic)) {
        line!(out, "    ip neigh del {address} dev {} 2>/dev/null || :", shell(interface));
    }
}

/// Do rules lead to tables of Tresse's own?
fn has_tables(wanted: &Wanted, ipv4: bool) -> bool {
    wanted.rules().iter().any(|rule| rule.ipv4 == ipv4)
        || wanted.source_rules().iter().any(|rule| rule.source.is_ipv4() == ipv4)
}

const fn family(ipv4: bool) -> &'static str {
    if ipv4 { "-4" } else { "-6" }
}
