//! Reads and changes MPTCP endpoints and limits over generic netlink, with messages that
//! netlink-packet-route lacks.
//!
//! Source: include/uapi/linux/{genetlink,mptcp_pm}.h, net/mptcp/pm_netlink.c. A message's type is
//! the number that the kernel assigned to the generic netlink family `mptcp_pm`; after the netlink
//! header:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | command |
//! | 1 | 1 | version |
//! | 2 | 2 | reserved |
//! | 4 | | attributes, host byte order |

use std::net::IpAddr;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_REQUEST, NlasIterator, parse_ip, parse_u8, parse_u16, parse_u32,
};
use tresse_reconcile::{MPTCP_ENABLED, ObservedEndpoint, ObservedMptcp, Operation};

use super::channel::{Channel, DumpError, Reply};
use super::message::{MalformedMessage, attributes, write_attribute, write_message};
use super::sysctl;

/// Bytes of `struct genlmsghdr`.
const HEADER: usize = 4;
const NLA_F_NESTED: u16 = 0x8000;

const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

const MPTCP_PM_NAME: &[u8] = b"mptcp_pm\0";
const MPTCP_PM_CMD_ADD_ADDR: u8 = 1;
const MPTCP_PM_CMD_DEL_ADDR: u8 = 2;
const MPTCP_PM_CMD_GET_ADDR: u8 = 3;
const MPTCP_PM_CMD_SET_LIMITS: u8 = 5;
const MPTCP_PM_CMD_GET_LIMITS: u8 = 6;
const MPTCP_PM_ATTR_ADDR: u16 = 1;
const MPTCP_PM_ATTR_SUBFLOWS: u16 = 3;
const MPTCP_PM_ADDR_ATTR_FAMILY: u16 = 1;
const MPTCP_PM_ADDR_ATTR_ID: u16 = 2;
const MPTCP_PM_ADDR_ATTR_ADDR4: u16 = 3;
const MPTCP_PM_ADDR_ATTR_ADDR6: u16 = 4;
const MPTCP_PM_ADDR_ATTR_PORT: u16 = 5;
const MPTCP_PM_ADDR_ATTR_FLAGS: u16 = 6;
const MPTCP_PM_ADDR_ATTR_IF_IDX: u16 = 7;
const MPTCP_PM_ADDR_FLAG_SUBFLOW: u32 = 2;

/// Reads the kernel's MPTCP endpoints and limits; `None` if it has no MPTCP, or if the caller may
/// not read them.
pub(super) fn observe() -> Result<Option<ObservedMptcp>, DumpError> {
    // A request for a family that does not exist makes the kernel look for a module each time.
    if !matches!(sysctl::read(MPTCP_ENABLED), Ok(Some(_))) {
        return Ok(None);
    }
    let found = Manager::open().and_then(|mut manager| manager.observe());
    match found {
        Err(DumpError::Kernel(error, _))
            if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EPERM)) =>
        {
            Ok(None)
        }
        found => found.map(Some),
    }
}

/// Carries out one operation on endpoints or limits and returns the kernel's reply.
pub(super) fn execute(operation: &Operation) -> Result<Reply, DumpError> {
    let mut manager = Manager::open()?;
    let mut request = Vec::new();
    let sequence = manager.channel.next_sequence();
    let flags = NLM_F_REQUEST | NLM_F_ACK;
    write_message(&mut request, manager.family, flags, sequence, |b| write(operation, b));
    manager.channel.send(&request)?;
    let mut answer = Reply { sequence, errno: 0, text: None };
    manager.channel.replies_until(sequence, |reply| answer = reply)?;
    Ok(answer)
}

/// The kernel's MPTCP path manager.
struct Manager {
    channel: Channel,
    /// Its family number in generic netlink.
    family: u16,
}

impl Manager {
    /// Fails with ENOENT if the kernel has none.
    fn open() -> Result<Self, DumpError> {
        let mut channel = Channel::generic()?;
        let mut body = header(CTRL_CMD_GETFAMILY, 2);
        write_attribute(&mut body, CTRL_ATTR_FAMILY_NAME, MPTCP_PM_NAME);
        let family = channel.ask(GENL_ID_CTRL, &body, |message| family(message.payload))?;
        Ok(Self { channel, family })
    }

    fn observe(&mut self) -> Result<ObservedMptcp, DumpError> {
        let body = header(MPTCP_PM_CMD_GET_LIMITS, 1);
        let subflows = self.channel.ask(self.family, &body, |message| limit(message.payload))?;
        let mut found = ObservedMptcp { subflows, ..ObservedMptcp::default() };
        self.channel.dump(self.family, &header(MPTCP_PM_CMD_GET_ADDR, 1), |message| {
            let (id, endpoint) = endpoint(message.payload)?;
            found.endpoints.insert(id, endpoint);
            Ok(())
        })?;
        Ok(found)
    }
}

fn header(command: u8, version: u8) -> Vec<u8> {
    vec![command, version, 0, 0]
}

/// Writes the body of the message for an operation.
fn write(operation: &Operation, body: &mut Vec<u8>) {
    let (command, id, address) = match operation {
        Operation::AddEndpoint { id, address } => (MPTCP_PM_CMD_ADD_ADDR, *id, *address),
        Operation::DeleteEndpoint { id, address } => (MPTCP_PM_CMD_DEL_ADDR, *id, *address),
        Operation::LimitSubflows { limit, .. } => {
            body.extend(header(MPTCP_PM_CMD_SET_LIMITS, 1));
            write_attribute(body, MPTCP_PM_ATTR_SUBFLOWS, &limit.to_ne_bytes());
            return;
        }
        _ => unreachable!("other operations are not the path manager's"),
    };
    let mut nested = Vec::new();
    let (family, kind, bytes) = match address {
        IpAddr::V4(a) => (libc::AF_INET, MPTCP_PM_ADDR_ATTR_ADDR4, a.octets().to_vec()),
        IpAddr::V6(a) => (libc::AF_INET6, MPTCP_PM_ADDR_ATTR_ADDR6, a.octets().to_vec()),
    };
    write_attribute(&mut nested, MPTCP_PM_ADDR_ATTR_FAMILY, &(family as u16).to_ne_bytes());
    write_attribute(&mut nested, kind, &bytes);
    write_attribute(&mut nested, MPTCP_PM_ADDR_ATTR_ID, &[id]);
    if command == MPTCP_PM_CMD_ADD_ADDR {
        let flags = MPTCP_PM_ADDR_FLAG_SUBFLOW.to_ne_bytes();
        write_attribute(&mut nested, MPTCP_PM_ADDR_ATTR_FLAGS, &flags);
    }
    body.extend(header(command, 1));
    write_attribute(body, MPTCP_PM_ATTR_ADDR | NLA_F_NESTED, &nested);
}

/// Reads the family's number from the reply to CTRL_CMD_GETFAMILY.
fn family(payload: &[u8]) -> Result<u16, MalformedMessage> {
    for attribute in attributes(payload, HEADER, "genlmsghdr")? {
        let attribute = attribute?;
        if attribute.kind() == CTRL_ATTR_FAMILY_ID {
            return Ok(parse_u16(attribute.value())?);
        }
    }
    Err(MalformedMessage::without("CTRL_ATTR_FAMILY_ID"))
}

/// Reads the number of subflows allowed from the reply to MPTCP_PM_CMD_GET_LIMITS.
fn limit(payload: &[u8]) -> Result<u32, MalformedMessage> {
    for attribute in attributes(payload, HEADER, "genlmsghdr")? {
        let attribute = attribute?;
        if attribute.kind() == MPTCP_PM_ATTR_SUBFLOWS {
            return Ok(parse_u32(attribute.value())?);
        }
    }
    Err(MalformedMessage::without("MPTCP_PM_ATTR_SUBFLOWS"))
}

/// Reads one endpoint with its id from the reply to MPTCP_PM_CMD_GET_ADDR.
pub(super) fn endpoint(payload: &[u8]) -> Result<(u8, ObservedEndpoint), MalformedMessage> {
    let (mut id, mut address, mut flags, mut more) = (None, None, 0, false);
    for outer in attributes(payload, HEADER, "genlmsghdr")? {
        let outer = outer?;
        if outer.kind() != MPTCP_PM_ATTR_ADDR {
            continue;
        }
        for attribute in NlasIterator::new(outer.value()) {
            let attribute = attribute?;
            match attribute.kind() {
                MPTCP_PM_ADDR_ATTR_ID => id = Some(parse_u8(attribute.value())?),
                MPTCP_PM_ADDR_ATTR_ADDR4 | MPTCP_PM_ADDR_ATTR_ADDR6 => {
                    address = Some(parse_ip(attribute.value())?);
                }
                MPTCP_PM_ADDR_ATTR_FLAGS => flags = parse_u32(attribute.value())?,
                MPTCP_PM_ADDR_ATTR_PORT => more |= parse_u16(attribute.value())? != 0,
                MPTCP_PM_ADDR_ATTR_IF_IDX => {
                    more |= parse_u32(attribute.value())? != 0;
                }
                _ => {}
            }
        }
    }
    let id = id.ok_or_else(|| MalformedMessage::without("MPTCP_PM_ADDR_ATTR_ID"))?;
    let address = address.ok_or_else(|| MalformedMessage::without("MPTCP_PM_ADDR_ATTR_ADDR"))?;
    let plain = flags == MPTCP_PM_ADDR_FLAG_SUBFLOW && !more;
    Ok((id, ObservedEndpoint { address, plain }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn add(address: &str) -> Vec<u8> {
        let mut body = Vec::new();
        write(&Operation::AddEndpoint { id: 78, address: address.parse().unwrap() }, &mut body);
        body
    }

    #[test]
    fn endpoints_are_the_kernels_bytes() {
        #[rustfmt::skip]
        let expected = [
            1, 1, 0, 0,
            36, 0, 1, 0x80,
            6, 0, 1, 0, 2, 0, 0, 0,
            8, 0, 3, 0, 10, 78, 0, 1,
            5, 0, 2, 0, 78, 0, 0, 0,
            8, 0, 6, 0, 2, 0, 0, 0,
        ];
        assert_eq!(add("10.78.0.1"), expected);
        let mut body = Vec::new();
        write(&Operation::LimitSubflows { limit: 3, before: 2 }, &mut body);
        assert_eq!(body, [5, 1, 0, 0, 8, 0, 3, 0, 3, 0, 0, 0]);
        assert_eq!(limit(&body), Ok(3));
    }

    #[test]
    fn endpoints_are_read_as_written_and_others_are_told_apart() {
        for address in ["10.78.0.1", "fd78::1"] {
            let found = ObservedEndpoint { address: address.parse().unwrap(), plain: true };
            assert_eq!(endpoint(&add(address)), Ok((78, found)));
        }
        // With the flag `backup` too, on an interface, with a port.
        let mut flags = add("10.78.0.1");
        flags[36] = 6;
        assert!(!endpoint(&flags).unwrap().1.plain);
        for (kind, value) in [(5, &[0, 80][..]), (7, &[3, 0, 0, 0])] {
            let mut more = add("10.78.0.1");
            write_attribute(&mut more, kind, value);
            more[4] = u8::try_from(more.len() - 4).unwrap();
            assert!(!endpoint(&more).unwrap().1.plain, "{kind}");
        }
    }

    #[test]
    fn damaged_replies_are_refused() {
        let whole = add("10.78.0.1");
        for length in 0..29 {
            assert!(endpoint(&whole[..length]).is_err(), "{length}");
        }
        let mut longer = whole.clone();
        longer[4] = 200;
        assert!(endpoint(&longer).is_err());
        let mut narrow = whole;
        narrow[16] = 6;
        assert!(endpoint(&narrow).is_err());
        assert!(limit(&[6, 1, 0, 0]).is_err() && limit(&[6, 1, 0, 0, 6, 0, 3, 0, 1, 0]).is_err());
        assert_eq!(family(&[1, 2, 0, 0, 6, 0, 1, 0, 27, 0, 0, 0]), Ok(27));
        assert!(family(&[1, 2, 0, 0]).is_err() && family(&[1]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (family(&bytes), limit(&bytes), endpoint(&bytes));
        }
    }
}
