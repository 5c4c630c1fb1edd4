//! Finds the addresses from which this host may be managed at present, and the routes to them,
//! which must not change (K19). It changes nothing itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tresse_reconcile::{NODE_INTERFACE, Observed, PROTOCOL};

use tresse_linux::kernel::{self, HostRoute};

const DEFAULT_ROUTE: &str = "it carries the default route";
/// The port of sshd if its configuration names none.
const SSH_PORT: u16 = 22;
/// Configuration file of sshd, and the directory of its drop-ins.
const SSHD_CONFIG: &str = "/etc/ssh/sshd_config";
const SSHD_DROP_INS: &str = "/etc/ssh/sshd_config.d";
/// TCP_ESTABLISHED in `/proc/net/tcp`.
const ESTABLISHED: &str = "01";
/// Largest number of peers whose routes are read; of more sessions only the first ones are guarded.
const MOST_PEERS: usize = 64;

/// Returns two maps: the guarded interfaces (those that carry management traffic) with the reason
/// for each, and the management peers (SSH peers and `configured` addresses) with the route to
/// each, as `ip route get` prints it.
#[must_use]
pub fn look(
    observed: &Observed,
    configured: &[IpAddr],
) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let mut guarded = BTreeMap::new();
    for ((dst, _), route) in observed.routes.iter() {
        if let (0, Some(interface)) = (dst.len, &route.interface)
            && route.protocol != PROTOCOL
        {
            guarded.insert(interface.clone(), DEFAULT_ROUTE.to_owned());
        }
    }
    let routes = to_peers(configured, &mut guarded);
    guarded.remove("lo");
    (guarded, routes)
}

/// Returns the interfaces by which this host is managed, each with the reason: as [`look`], by questions to the kernel alone.
#[must_use]
pub fn interfaces(configured: &[IpAddr]) -> BTreeMap<String, String> {
    let mut guarded = BTreeMap::new();
    // No host has such an address, so a route there is one to everywhere (RFC 5737, RFC 3849).
    let nobody =
        [IpAddr::from([192, 0, 2, 1]), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()];
    // Not the one that a plan with a gateway makes.
    let of_plan: Vec<IpAddr> = plan_addresses();
    let routes = kernel::host_routes(&nobody).into_iter().flatten();
    for route in routes.filter(|route| !route.source.is_some_and(|from| of_plan.contains(&from))) {
        guarded.insert(route.interface, DEFAULT_ROUTE.to_owned());
    }
    to_peers(configured, &mut guarded);
    guarded.remove("lo");
    guarded
}

/// This node's own addresses in the fabric.
fn plan_addresses() -> Vec<IpAddr> {
    let all = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let own = all.filter(|entry| entry.interface_name == NODE_INTERFACE);
    let address = |entry: nix::ifaddrs::InterfaceAddress| {
        let address = entry.address?;
        let ipv4 = address.as_sockaddr_in().map(|of| IpAddr::V4(of.ip()));
        ipv4.or_else(|| address.as_sockaddr_in6().map(|of| IpAddr::V6(of.ip())))
    };
    own.filter_map(address).collect()
}

/// Adds the interfaces that lead to management peers, and returns the route to each of these.
fn to_peers(
    configured: &[IpAddr],
    guarded: &mut BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut peers: BTreeSet<IpAddr> = configured.iter().copied().collect();
    let ports = ssh_ports();
    match kernel::tcp_peers(&ports, MOST_PEERS) {
        Ok(found) => peers.extend(found),
        // A kernel without sock_diag.
        Err(_) => peers.extend(listed_peers(&ports)),
    }
    let mut routes = BTreeMap::new();
    let peers: Vec<IpAddr> = peers.into_iter().filter(|p| !p.is_loopback()).collect();
    for (peer, route) in peers.iter().zip(kernel::host_routes(&peers)) {
        match route {
            Ok(route) => {
                routes.insert(peer.to_string(), words(&route));
                guarded
                    .entry(route.interface)
                    .or_insert_with(|| format!("it leads to management peer {peer}"));
            }
            Err(error) => {
                routes.insert(peer.to_string(), format!("unreachable ({error})"));
            }
        }
    }
    routes
}

/// The peers that `/proc/net/tcp` and `tcp6` list.
fn listed_peers(ports: &BTreeSet<u16>) -> BTreeSet<IpAddr> {
    let mut peers = BTreeSet::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        if let Ok(text) = fs::read_to_string(table) {
            peers.extend(ssh_peers(&text, ports).take(MOST_PEERS));
        }
    }
    peers
}

/// The ports on which sshd may listen: the usual one, and those in its configuration.
fn ssh_ports() -> BTreeSet<u16> {
    let drop_ins = fs::read_dir(SSHD_DROP_INS).into_iter().flatten().flatten();
    let files = drop_ins.map(|entry| entry.path()).chain([SSHD_CONFIG.into()]);
    let texts = files.filter_map(|path| fs::read_to_string(path).ok());
    texts.flat_map(|text| named_ports(&text)).chain([SSH_PORT]).collect()
}

/// The ports named in lines `Port N` and `ListenAddress HOST:N` of sshd_config(5).
fn named_ports(text: &str) -> Vec<u16> {
    let port = |line: &str| {
        let (key, value) = line.trim().split_once(|c: char| c.is_whitespace() || c == '=')?;
        let value = value.split_whitespace().next()?;
        match key.to_ascii_lowercase().as_str() {
            "port" => value.parse().ok(),
            "listenaddress" => value.rsplit_once(':')?.1.parse().ok(),
            _ => None,
        }
    };
    text.lines().filter_map(port).collect()
}

/// Remote addresses of established connections to one of sshd's ports.
fn ssh_peers<'a>(table: &'a str, ports: &'a BTreeSet<u16>) -> impl Iterator<Item = IpAddr> + 'a {
    table.lines().skip(1).filter_map(move |line| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, remote, state) = (fields.next()?, fields.next()?, fields.next()?);
        let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
        if !ports.contains(&port) || state != ESTABLISHED {
            return None;
        }
        address(remote.rsplit_once(':')?.0)
    })
}

/// Decodes an address from `/proc/net/tcp`: 32-bit words in host byte order.
fn address(text: &str) -> Option<IpAddr> {
    let word = |part: &str| u32::from_str_radix(part, 16).ok().map(u32::to_ne_bytes);
    match text.len() {
        8 => Some(IpAddr::V4(Ipv4Addr::from(word(text)?))),
        32 => {
            let mut octets = [0; 16];
            for (i, octets) in octets.chunks_mut(4).enumerate() {
                octets.copy_from_slice(&word(text.get(i * 8..i * 8 + 8)?)?);
            }
            let address = Ipv6Addr::from(octets);
            Some(address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4))
        }
        _ => None,
    }
}

/// The route in the words of `ip route get`.
fn words(route: &HostRoute) -> String {
    let interface = Some(&route.interface).filter(|name| !name.is_empty());
    let words = [
        interface.map(|name| format!("dev {name}")),
        route.source.map(|source| format!("src {source}")),
        route.gateway.map(|gateway| format!("via {gateway}")),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_of_ssh_are_found_in_both_tables() {
        let ports = BTreeSet::from([22]);
        let v4 = "  sl  local_address rem_address   st\n\
                  0: 0100007F:0016 0100007F:C350 0A 0 0\n\
                  1: 0A02000A:0016 0902000A:C350 01 0 0\n\
                  2: 0A02000A:01BB 0302000A:C350 01 0 0\n";
        let found: Vec<IpAddr> = ssh_peers(v4, &ports).collect();
        assert_eq!(found, ["10.0.2.9".parse::<IpAddr>().unwrap()]);
        let v6 = "sl local\n\
                  0: B80D0120000000000000000001000000:0016 B80D0120000000000000000002000000:C350 01\n\
                  1: 0000000000000000FFFF00000A02000A:0016 0000000000000000FFFF00000902000A:C351 01\n";
        let found: Vec<String> = ssh_peers(v6, &ports).map(|a| a.to_string()).collect();
        assert_eq!(found, ["2001:db8::2", "10.0.2.9"]);
    }

    #[test]
    fn sshd_on_other_ports_is_found_by_its_configuration() {
        let text = "#Port 23\nPort 2222\n  port=2223 # second\nListenAddress 192.0.2.1:2224\n\
                    ListenAddress ::\nPortForwarding 7\n";
        assert_eq!(named_ports(text), [2222, 2223, 2224]);
    }

    #[test]
    fn a_way_is_told_in_the_words_of_ip_route_get() {
        let mut route = HostRoute { interface: "eth0".into(), gateway: None, source: None };
        assert_eq!(words(&route), "dev eth0");
        route.source = Some([10, 0, 0, 1].into());
        route.gateway = Some([10, 0, 0, 9].into());
        assert_eq!(words(&route), "dev eth0 src 10.0.0.1 via 10.0.0.9");
    }
}
