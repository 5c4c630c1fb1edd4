//! Export for a node without the daemon: a shell script that calls `ip` of iproute2. It creates the same
//! interfaces, addresses and routes in the kernel as the daemon `tressed` (DESIGN section 5), or removes
//! them.
//!
//! Nothing watches a node configured like this: drift is not repaired, no test frame proves that a VLAN
//! works before it is used (K5), and only the kernel's own failover works.

pub mod commands;
mod routed;

use tresse_plan::Plan;
use tresse_reconcile::{
    ALIAS_PREFIX, FILTER_COOKIE, PLATFORM_LABELS, PREF_DROP, PREF_PASS, PROTOCOL, Wanted,
    force_forwarding, sysctl_interface,
};
use tresse_slice::Slice;

use super::ExportFile;
use super::spell::shell;

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
    // The script makes the kernel pop labels; there is no packet engine.
    let wanted = &slice.without_daemon();
    line!(out, "set -eu");
    line!(out, ": \"${{state:=/run/tresse-script}}\"");
    out.push_str(FUNCTIONS);
    if !(wanted.label_sources.is_empty() && wanted.labels.is_empty()) {
        let cookie: String = FILTER_COOKIE.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = LABEL_FUNCTIONS.replace("COOKIE", &cookie);
        let text = text.replace("PASS", &PREF_PASS.to_string());
        out.push_str(&text.replace("DROP", &PREF_DROP.to_string()));
    }
    routed::functions(wanted, &mut out);
    undo(wanted, &mut out);
    line!(out);
    line!(out, "up() {{");
    links(wanted, &mut out);
    filters(wanted, &mut out);
    routed::guard(wanted, &mut out);
    sysctls(wanted, &mut out);
    batches(wanted, &mut out);
    labels(wanted, &mut out);
    routed::up(wanted, &mut out);
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

/// The filter on labelled frames: `clear` removes it, `drop_rest` completes it (K11). `raise` never
/// lowers a limit that others may rely on; `fits` checks whether undoing that would lose a label
/// route.
const LABEL_FUNCTIONS: &str = r#"
# raise KEY VALUE: as keep, for a limit
raise() {
    [ ! -e "/proc/sys/$1" ] || [ "$(cat "/proc/sys/$1")" -ge "$2" ] || keep "$1" "$2"
}

# fits LIMIT: no label route is lost with it
fits() { ip -f mpls route | awk -v limit="$1" '$1 + 0 >= limit { exit 1 }'; }

# clear INTERFACE
clear() {
    for pref in PASS DROP; do
        tc filter del dev "$1" ingress pref $pref 2>/dev/null || :
    done
}

# pass INTERFACE HANDLE MAC
pass() {
    tc filter add dev "$1" ingress pref PASS handle "$2" protocol mpls_uc flower src_mac "$3" \
        action pass cookie COOKIE
}

# drop_rest INTERFACE
drop_rest() {
    tc filter add dev "$1" ingress pref DROP handle 1 protocol mpls_uc flower \
        action drop cookie COOKIE
}
"#;

fn filters(wanted: &Wanted, out: &mut String) {
    for (interface, sources) in &wanted.label_sources {
        let interface = shell(interface);
        line!(out, "    tc qdisc add dev {interface} clsact 2>/dev/null || :");
        line!(out, "    clear {interface}");
        for (mac, handle) in sources.iter().zip(1..) {
            line!(out, "    pass {interface} {handle} {mac}");
        }
        line!(out, "    drop_rest {interface}");
    }
}

/// After the neighbours that they lead to.
fn labels(wanted: &Wanted, out: &mut String) {
    if wanted.labels.is_empty() {
        return;
    }
    line!(out, "    ip -f mpls -batch - <<'EOF'");
    out.push_str(&commands::labels(wanted));
    line!(out, "EOF");
}

fn undo(wanted: &Wanted, out: &mut String) {
    let ipv6 = wanted.routes.keys().any(|(dst, _)| !dst.address.is_ipv4());
    line!(out);
    line!(out, "undo() {{");
    line!(out, "    ip -4 route flush proto {PROTOCOL} 2>/dev/null || :");
    if ipv6 {
        line!(out, "    ip -6 route flush proto {PROTOCOL} 2>/dev/null || :");
    }
    line!(out, "    ip nexthop flush proto {PROTOCOL} >/dev/null 2>&1 || :");
    if !wanted.labels.is_empty() {
        line!(out, "    ip -f mpls route show proto {PROTOCOL} | while read -r label rest; do");
        line!(out, "        ip -f mpls route del \"$label\"");
        line!(out, "    done");
    }
    for interface in wanted.label_sources.keys().filter(|i| !wanted.links.contains_key(*i)) {
        line!(out, "    clear {}", shell(interface));
    }
    routed::undo(wanted, out);
    line!(out, "    ip -o link show | while read -r _ name rest; do");
    line!(out, "        case $rest in");
    line!(out, "        *\"alias {ALIAS_PREFIX}\"*)");
    line!(out, "            name=${{name%:}}");
    line!(out, "            ip link del dev \"${{name%%@*}}\" ;;");
    line!(out, "        esac");
    line!(out, "    done");
    line!(out, "    [ ! -e \"$state/sysctls\" ] || while read -r key value; do");
    if !wanted.labels.is_empty() {
        line!(out, "        [ \"$key\" != {PLATFORM_LABELS} ] || fits \"$value\" || continue");
    }
    line!(out, "        [ ! -e \"/proc/sys/$key\" ] || echo \"$value\" >\"/proc/sys/$key\"");
    line!(out, "    done <\"$state/sysctls\"");
    routed::unguard(wanted, out);
    line!(out, "    rm -rf \"$state\"");
    line!(out, "}}");
}

fn links(wanted: &Wanted, out: &mut String) {
    for (name, (mac, mtu)) in &wanted.nics {
        line!(out, "    nic {} {mac} {mtu}", shell(name));
    }
    for (name, link) in &wanted.links {
        let (quoted, alias) = (shell(name), shell(&link.alias));
        // The next command where the kernel refuses one.
        let commands = commands::link(name, &link.kind);
        for (at, command) in commands.iter().enumerate() {
            let indent = if at == 0 { "    " } else { "        " };
            let next = if at + 1 < commands.len() { " 2>/dev/null ||" } else { "" };
            line!(out, "{indent}link {quoted} {} {alias} {command}{next}", link.mtu);
        }
    }
}

/// Before the interfaces come up: nothing may be sent first (K5).
fn sysctls(wanted: &Wanted, out: &mut String) {
    for (key, value) in &wanted.sysctls {
        let ours = key.split('/').any(|part| wanted.links.contains_key(part));
        if let Some(interface) = sysctl_interface(key).filter(|i| *key == force_forwarding(i)) {
            line!(out, "    forward {}", shell(interface));
            continue;
        }
        let function = match key.as_str() {
            PLATFORM_LABELS => "raise",
            _ if ours => "put",
            _ => "keep",
        };
        line!(out, "    {function} {} {}", shell(key), shell(value));
    }
}

/// Addresses, then interfaces up, neighbours, nexthops, groups and routes, each after what it needs.
fn batches(wanted: &Wanted, out: &mut String) {
    line!(out, "    ip -batch - <<'EOF'");
    out.push_str(&commands::addresses(wanted));
    out.push_str(&commands::neighbours(wanted));
    line!(out, "EOF");
    if !wanted.fdb.is_empty() {
        line!(out, "    bridge -batch - <<'EOF'");
        out.push_str(&commands::fdb(wanted));
        line!(out, "EOF");
    }
    line!(
        out,
        "    # A NIC without carrier takes no nexthop: its part is left out, run again later."
    );
    line!(out, "    ip -force -batch - <<'EOF'");
    out.push_str(&commands::routes(wanted));
    line!(out, "EOF");
}
