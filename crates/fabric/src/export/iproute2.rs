//! A node without the daemon: a shell script over iproute2's `ip` that makes the same objects as
//! `tressed` (DESIGN section 5), and takes them away again.
//!
//! What it cannot do is watch: no drift repair, no canary (K5), no failover but the kernel's own.

use std::collections::BTreeMap;

use super::ExportFile;
use super::spell::shell;
use crate::plan::Plan;
use crate::reconcile::{ALIAS_PREFIX, Leg, LinkKind, NEXTHOP_BASE, PROTOCOL, Wanted};
use crate::slice::Slice;

pub(super) fn render(plan: &Plan, slice: &Slice) -> Vec<ExportFile> {
    let name = format!("{}.node.sh", slice.node);
    let mut out = String::new();
    line!(out, "#!/bin/sh");
    line!(out, "# {name}: node {} of fabric {}", slice.node, plan.cluster().name);
    line!(out, "# Generation {}, written by `tresse export iproute2`.", slice.generation);
    line!(out, "#");
    line!(out, "# sh {name} up     make the fabric's kernel objects; again: changes nothing");
    line!(out, "# sh {name} undo   remove everything with our mark, of any generation");
    line!(out, "#");
    line!(
        out,
        "# Before another generation's script: undo. The same objects as tressed makes, but"
    );
    line!(out, "# nothing watches them: no repair, no canary before the first frame, no BFD.");
    line!(out, "set -eu");
    line!(out, ": \"${{state:=/run/tresse-script}}\"");
    out.push_str(FUNCTIONS);
    undo(&slice.wanted, &mut out);
    line!(out);
    line!(out, "up() {{");
    links(&slice.wanted, &mut out);
    sysctls(&slice.wanted, &mut out);
    batches(&slice.wanted, &mut out);
    line!(out, "}}");
    line!(out);
    line!(out, "case ${{1:-up}} in");
    line!(out, "up) up ;;");
    line!(out, "undo) undo ;;");
    line!(out, "*) echo \"usage: $0 [up|undo]\" >&2; exit 2 ;;");
    line!(out, "esac");
    vec![ExportFile { name, text: out }]
}

/// `nic` checks a NIC (K16, K9) and never changes more than its being down; `link` makes an
/// interface or refuses one that is not ours; `put` writes a sysctl, keeping the first old value of
/// those that outlive our interfaces.
const FUNCTIONS: &str = r#"
die() { echo "$0: $*" >&2; exit 1; }

# nic NAME MAC MTU
nic() {
    have=$(ip -o link show dev "$1") || die "NIC $1 is missing"
    case $have in
    *"link/ether $2 "*) ;;
    *) die "NIC $1 does not have the MAC address $2 of the plan" ;;
    esac
    mtu=${have#* mtu }
    [ "${mtu%% *}" -ge "$3" ] || die "NIC $1 needs an MTU of at least $3"
    case $have in
    *[\<,]UP[\>,]*) ;;
    *) ip link set dev "$1" up ;;
    esac
}

# link NAME MTU ALIAS ADD-ARGUMENTS...
link() {
    name=$1 mtu=$2 alias=$3
    shift 3
    if ip link show dev "$name" >/dev/null 2>&1; then
        case $(ip -d link show dev "$name") in
        *"alias tresse:"*) ;;
        *) die "interface $name exists and is not ours" ;;
        esac
    else
        ip link add "$@" || return 1
    fi
    ip link set dev "$name" alias "$alias" addrgenmode none mtu "$mtu"
}

# put KEY VALUE: below /proc/sys; goes away with the interface
put() { [ ! -e "/proc/sys/$1" ] || echo "$2" >"/proc/sys/$1"; }

# keep KEY VALUE: as put, and undo writes the old value back
keep() {
    [ -e "/proc/sys/$1" ] || return 0
    mkdir -p "$state"
    grep -qs "^$1 " "$state/sysctls" || echo "$1 $(cat "/proc/sys/$1")" >>"$state/sysctls"
    echo "$2" >"/proc/sys/$1"
}
"#;

fn undo(wanted: &Wanted, out: &mut String) {
    let ipv6 = wanted.routes.keys().any(|(dst, _)| !dst.address.is_ipv4());
    line!(out);
    line!(out, "undo() {{");
    line!(out, "    ip -4 route flush proto {PROTOCOL} 2>/dev/null || :");
    if ipv6 {
        line!(out, "    ip -6 route flush proto {PROTOCOL} 2>/dev/null || :");
    }
    line!(out, "    ip nexthop flush proto {PROTOCOL} >/dev/null 2>&1 || :");
    line!(out, "    ip -o link show | while read -r _ name rest; do");
    line!(out, "        case $rest in");
    line!(out, "        *\"alias {ALIAS_PREFIX}\"*)");
    line!(out, "            name=${{name%:}}");
    line!(out, "            ip link del dev \"${{name%%@*}}\" ;;");
    line!(out, "        esac");
    line!(out, "    done");
    line!(out, "    [ ! -e \"$state/sysctls\" ] || while read -r key value; do");
    line!(out, "        echo \"$value\" >\"/proc/sys/$key\"");
    line!(out, "    done <\"$state/sysctls\"");
    line!(out, "    rm -rf \"$state\"");
    line!(out, "}}");
}

fn links(wanted: &Wanted, out: &mut String) {
    for (name, (mac, mtu)) in &wanted.nics {
        line!(out, "    nic {} {mac} {mtu}", shell(name));
    }
    for (name, link) in &wanted.links {
        let (quoted, alias) = (shell(name), shell(&link.alias));
        match &link.kind {
            LinkKind::Vlan { parent, vid } => line!(
                out,
                "    link {quoted} {} {alias} link {} name {quoted} type vlan id {vid}",
                link.mtu,
                shell(parent)
            ),
            LinkKind::Dummy => {
                line!(
                    out,
                    "    link {quoted} {} {alias} name {quoted} type dummy 2>/dev/null ||",
                    link.mtu
                );
                line!(out, "        link {quoted} {} {alias} name {quoted} type bridge", link.mtu);
            }
        }
    }
}

/// Before the interfaces come up: nothing may be sent first (K5).
fn sysctls(wanted: &Wanted, out: &mut String) {
    for (key, value) in &wanted.sysctls {
        let ours = key.split('/').any(|part| wanted.links.contains_key(part));
        line!(out, "    {} {} {}", if ours { "put" } else { "keep" }, shell(key), shell(value));
    }
}

/// Addresses, then interfaces up, neighbours, nexthops, groups and routes, each after what it needs.
fn batches(wanted: &Wanted, out: &mut String) {
    let mut ids: BTreeMap<&Leg, u32> = BTreeMap::new();
    let mut groups: BTreeMap<&[Leg], u32> = BTreeMap::new();
    for route in wanted.routes.values() {
        groups.insert(&route.legs, 0);
    }
    let mut plain: Vec<Leg> = groups.keys().flat_map(|legs| legs.iter()).cloned().collect();
    plain.iter_mut().for_each(|leg| leg.weight = 1);
    plain.sort_unstable();
    plain.dedup();
    for (leg, id) in plain.iter().zip(NEXTHOP_BASE..) {
        ids.insert(leg, id);
    }
    for (id, group) in (NEXTHOP_BASE + 0x80_0000..).zip(groups.values_mut()) {
        *group = id;
    }
    line!(out, "    ip -batch - <<'EOF'");
    for (interface, address) in &wanted.addresses {
        let (len, flags) = if address.is_ipv4() { (32, "") } else { (128, " nodad") };
        let scope = if wanted.links.get(interface).is_some_and(|l| l.kind == LinkKind::Dummy) {
            ""
        } else {
            " scope link"
        };
        line!(
            out,
            "address replace {address}/{len} dev {}{scope}{flags} noprefixroute",
            shell(interface)
        );
    }
    for (name, link) in &wanted.links {
        line!(out, "link set dev {} {}", shell(name), if link.up { "up" } else { "down" });
    }
    for ((interface, address), neighbour) in &wanted.neighbours {
        line!(
            out,
            "neigh replace {address} lladdr {} dev {} nud permanent protocol {PROTOCOL}",
            neighbour.mac,
            shell(interface)
        );
    }
    line!(out, "EOF");
    line!(
        out,
        "    # A NIC without carrier takes no nexthop: its part is left out, run again later."
    );
    line!(out, "    ip -force -batch - <<'EOF'");
    for (leg, id) in &ids {
        let labels: Vec<_> = leg.labels.iter().map(|l| l.0.to_string()).collect();
        let encap = if labels.is_empty() {
            String::new()
        } else {
            format!("encap mpls {} ", labels.join("/"))
        };
        line!(
            out,
            "nexthop replace id {id} {encap}via {} dev {} onlink protocol {PROTOCOL}",
            leg.via,
            shell(&leg.interface)
        );
    }
    for (legs, id) in &groups {
        let members: Vec<_> = legs
            .iter()
            .map(|leg| format!("{},{}", ids[&Leg { weight: 1, ..leg.clone() }], leg.weight))
            .collect();
        line!(out, "nexthop replace id {id} group {} protocol {PROTOCOL}", members.join("/"));
    }
    for ((dst, metric), route) in &wanted.routes {
        line!(
            out,
            "route replace {dst} nhid {} src {} metric {metric} mtu {} advmss {} protocol {PROTOCOL}",
            groups[route.legs.as_slice()],
            route.src,
            route.mtu,
            route.advmss
        );
    }
    line!(out, "EOF");
}
