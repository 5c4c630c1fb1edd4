//! The size of the packets of a load measurement: one that no route of the pairs has to send in fragments.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use nix::sys::socket::{getsockopt, sockopt};

use super::{LoadError, PORT, Traffic};
use crate::held;
use crate::netns;
use crate::state::{Directory, LabState};

/// The largest packet that is sent if none is asked for.
const LARGEST: usize = 1500;

/// The size of the packets to send: `asked`, or the largest, up to 1500 bytes, that the routes of all pairs take. Where
/// nodes have IPv6 addresses alone, their routes are not asked.
///
/// # Errors
/// [`LoadError::TooLarge`], and what keeps the routes from being asked.
pub fn packet_bytes(
    directory: &Directory,
    record: &LabState,
    traffic: &Traffic,
    asked: Option<usize>,
) -> Result<usize, LoadError> {
    let record = &held::now(directory, record)?;
    let nodes = &record.blueprint.nodes;
    let address = |node: usize| nodes[node].addresses.first().copied().filter(IpAddr::is_ipv4);
    let mut least = asked.unwrap_or(LARGEST);
    for (src, node) in nodes.iter().enumerate() {
        let Some(from) = address(src) else { continue };
        let mtus = || {
            let socket = UdpSocket::bind(SocketAddr::new(from, 0))?;
            let to = traffic.round(src).into_iter().filter_map(|dst| Some((dst, address(dst)?)));
            let mtu = |(dst, to)| {
                // Nothing is sent.
                socket.connect(SocketAddr::new(to, PORT))?;
                Ok((getsockopt(&socket, sockopt::IpMtu)? as usize, dst))
            };
            to.map(mtu).collect::<io::Result<Vec<(usize, usize)>>>()
        };
        let failed = |source| LoadError::Socket { node: node.name.clone(), source };
        let mtus = netns::inside(&directory.netns(&node.name), mtus)?.map_err(failed)?;
        let Some((mtu, dst)) = mtus.into_iter().min().filter(|(mtu, _)| *mtu < least) else {
            continue;
        };
        if let Some(bytes) = asked {
            let (src, dst) = (node.name.clone(), nodes[dst].name.clone());
            return Err(LoadError::TooLarge { bytes, src, dst, mtu });
        }
        least = mtu;
    }
    Ok(least)
}
