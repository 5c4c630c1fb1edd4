//! Asks the kernel which route packets to a host take, as `ip route get` does.

use std::io;
use std::net::IpAddr;

use netlink_packet_route::route::{RouteAttribute, RouteMessage};

use super::requests::{self, Requests};
use super::route::ip;

/// The route that packets to one host take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRoute {
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
pub fn host_routes(hosts: &[IpAddr]) -> Vec<io::Result<HostRoute>> {
    if hosts.is_empty() {
        return Vec::new();
    }
    let all = async || -> io::Result<Vec<io::Result<HostRoute>>> {
        let requests = Requests::open()?;
        let mut routes = Vec::with_capacity(hosts.len());
        for host in hosts {
            routes.push(requests.route_get(*host).await.and_then(|message| host_route(&message)));
        }
        Ok(routes)
    };
    requests::blocking(all).and_then(|routes| routes).unwrap_or_else(|error| {
        let again = || io::Error::new(error.kind(), error.to_string());
        hosts.iter().map(|_| Err(again())).collect()
    })
}

fn host_route(message: &RouteMessage) -> io::Result<HostRoute> {
    let mut route = HostRoute { interface: String::new(), gateway: None, source: None };
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Oif(index) => {
                let name = nix::net::if_::if_indextoname(*index)?;
                route.interface = name.to_string_lossy().into_owned();
            }
            RouteAttribute::Gateway(gateway) => route.gateway = ip(gateway),
            RouteAttribute::PrefSource(source) => route.source = ip(source),
            _ => {}
        }
    }
    Ok(route)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_route_to_ourselves_is_lo() {
        let host = IpAddr::from([127, 0, 0, 1]);
        let found = host_routes(&[host, host]);
        assert_eq!(found.len(), 2);
        for route in found {
            assert_eq!(route.unwrap().interface, "lo");
        }
        assert!(host_routes(&[]).is_empty());
    }
}
