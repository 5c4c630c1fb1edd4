//! Asks the kernel which route packets to a host take, as `ip route get` does.

use std::io;
use std::net::IpAddr;

use netlink_packet_route::route::{RouteAttribute, RouteMessage};

use super::requests::{self, Requests};
use super::route::ip;

/// The route that packets to one host take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// The interface by which they leave.
    pub interface: String,
    /// The gateway; `None` if the host is on the link.
    pub gateway: Option<IpAddr>,
    /// The source address that the kernel gives them.
    pub source: Option<IpAddr>,
}

/// Asks the kernel of the calling thread's network namespace which route packets to each of `hosts`
/// take. One result per host, in order. Blocks until all are there.
#[must_use]
pub fn ways(hosts: &[IpAddr]) -> Vec<io::Result<Way>> {
    if hosts.is_empty() {
        return Vec::new();
    }
    let all = async || -> io::Result<Vec<io::Result<Way>>> {
        let requests = Requests::open()?;
        let mut ways = Vec::with_capacity(hosts.len());
        for host in hosts {
            ways.push(requests.route_get(*host).await.and_then(|route| way(&route)));
        }
        Ok(ways)
    };
    requests::blocking(all).and_then(|ways| ways).unwrap_or_else(|error| {
        let again = || io::Error::new(error.kind(), error.to_string());
        hosts.iter().map(|_| Err(again())).collect()
    })
}

fn way(route: &RouteMessage) -> io::Result<Way> {
    let mut way = Way { interface: String::new(), gateway: None, source: None };
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Oif(index) => {
                let name = nix::net::if_::if_indextoname(*index)?;
                way.interface = name.to_string_lossy().into_owned();
            }
            RouteAttribute::Gateway(gateway) => way.gateway = ip(gateway),
            RouteAttribute::PrefSource(source) => way.source = ip(source),
            _ => {}
        }
    }
    Ok(way)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_ourselves_is_lo() {
        let host = IpAddr::from([127, 0, 0, 1]);
        let found = ways(&[host, host]);
        assert_eq!(found.len(), 2);
        for way in found {
            assert_eq!(way.unwrap().interface, "lo");
        }
        assert!(ways(&[]).is_empty());
    }
}
