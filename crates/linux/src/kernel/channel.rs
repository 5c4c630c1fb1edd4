//! A netlink socket for requests and dumps, rtnetlink or generic, with strict checking, extended
//! and capped ACKs, and large buffers.
//!
//! A channel is used for one observation or one execution only, so that the rest of an abandoned
//! dump never mixes with the next. Source: netlink(7).

use std::io;
use std::os::fd::AsRawFd as _;

use netlink_packet_core::{
    DecodeError, NLM_F_ACK_TLVS, NLM_F_CAPPED, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST,
    NLMSG_DONE, NLMSG_ERROR,
};
use netlink_sys::Socket;
use netlink_sys::protocols::{NETLINK_GENERIC, NETLINK_ROUTE};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, setsockopt, sockopt};

use super::ahead;
use super::message::{MalformedMessage, Message, Messages, attributes, text, word, write_message};

pub(super) const NLMSGERR_ATTR_MSG: u16 = 1;
const NLMSGHDR: usize = 16;
const RECEIVE_BYTES: usize = 64 * 1024;
/// A dump with more datagrams than this (each of up to 32 KiB) is received in a second thread.
const SHORT: usize = 32;
const RECEIVE_QUEUE_BYTES: usize = 4 * 1024 * 1024;
/// Upper bound of the bytes that a queued error message occupies in the kernel (sk_buff, shared
/// info, text).
const ERROR_QUEUE_BYTES: usize = 2048;

/// A netlink socket with its sequence numbers and receive buffer.
pub(super) struct Channel {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
    /// Number of replies that fit into the socket's queue.
    pub replies: usize,
}

/// The kernel's reply to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub sequence: u32,
    /// 0: success.
    pub errno: i32,
    /// Text of the extended ACK (NLMSGERR_ATTR_MSG).
    pub text: Option<String>,
}

/// Why a dump is incomplete.
#[derive(Debug, thiserror::Error)]
pub(super) enum DumpError {
    #[error("the kernel's tables changed during the dump")]
    Interrupted,
    #[error("{0}")]
    Kernel(io::Error, Option<String>),
    #[error(transparent)]
    Malformed(#[from] MalformedMessage),
    #[error(transparent)]
    Io(io::Error),
}

impl From<DecodeError> for DumpError {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error.into())
    }
}

impl From<io::Error> for DumpError {
    /// ENOBUFS means that messages of the dump were lost.
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOBUFS) => Self::Interrupted,
            _ => Self::Io(error),
        }
    }
}

/// Progress of one dump.
pub(super) struct Dump {
    pub sequence: u32,
    pub interrupted: bool,
}

impl Dump {
    /// Reads one datagram; true if the dump is complete.
    pub fn take(
        &mut self,
        datagram: &[u8],
        each: &mut impl FnMut(&Message<'_>) -> Result<(), DumpError>,
    ) -> Result<bool, DumpError> {
        for message in Messages(datagram) {
            let message = message?;
            if message.sequence != self.sequence {
                continue;
            }
            self.interrupted |= message.flags & NLM_F_DUMP_INTR != 0;
            if message.kind != NLMSG_DONE && message.kind != NLMSG_ERROR {
                each(&message)?;
                continue;
            }
            let reply = reply(&message)?;
            return match reply.errno {
                0 if self.interrupted => Err(DumpError::Interrupted),
                0 => Ok(true),
                libc::EINTR | libc::EAGAIN => Err(DumpError::Interrupted),
                errno => Err(DumpError::Kernel(io::Error::from_raw_os_error(errno), reply.text)),
            };
        }
        Ok(false)
    }
}

/// A source of dumps: the kernel, or a recording.
pub(super) trait Tables {
    /// See [`Channel::dump`].
    fn dump(
        &mut self,
        kind: u16,
        body: &[u8],
        each: impl FnMut(&Message<'_>) -> Result<(), DumpError>,
    ) -> Result<(), DumpError>;
}

impl Tables for Channel {
    fn dump(
        &mut self,
        kind: u16,
        body: &[u8],
        each: impl FnMut(&Message<'_>) -> Result<(), DumpError>,
    ) -> Result<(), DumpError> {
        Self::dump(self, kind, body, each)
    }
}

impl Channel {
    /// Opens a socket for rtnetlink.
    pub fn open() -> io::Result<Self> {
        Self::of(NETLINK_ROUTE)
    }

    /// Opens a socket for generic netlink.
    pub fn generic() -> io::Result<Self> {
        Self::of(NETLINK_GENERIC)
    }

    /// Opens a socket for one of the protocols of netlink(7).
    pub fn of(protocol: isize) -> io::Result<Self> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.set_ext_ack(true)?;
        socket.set_cap_ack(true)?;
        socket.set_netlink_get_strict_chk(true)?;
        raise_receive_queue(&socket, RECEIVE_QUEUE_BYTES)?;
        let replies = (socket.get_rx_buf_sz()? / ERROR_QUEUE_BYTES).max(1);
        Ok(Self { socket, sequence: 0, buffer: vec![0; RECEIVE_BYTES], replies })
    }

    /// The next sequence number.
    pub fn next_sequence(&mut self) -> u32 {
        self.sequence += 1;
        self.sequence
    }

    /// Dumps one table; `each` gets every message of it.
    pub fn dump(
        &mut self,
        kind: u16,
        body: &[u8],
        mut each: impl FnMut(&Message<'_>) -> Result<(), DumpError>,
    ) -> Result<(), DumpError> {
        let sequence = self.next_sequence();
        let mut request = Vec::with_capacity(NLMSGHDR + body.len());
        write_message(&mut request, kind, NLM_F_REQUEST | NLM_F_DUMP, sequence, |b| {
            b.extend_from_slice(body);
        });
        self.send(&request)?;
        let mut progress = Dump { sequence, interrupted: false };
        let mut take = |datagrams: &[u8]| progress.take(datagrams, &mut each);
        for _ in 0..SHORT {
            let length = match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
                Ok(length) => length,
                Err(Errno::EINTR) => continue,
                Err(errno) => return Err(io::Error::from(errno).into()),
            };
            if take(&self.buffer[..length])? {
                return Ok(());
            }
        }
        ahead::receive(&self.socket, RECEIVE_BYTES, take)
    }

    /// Sends one datagram of requests. On return the kernel has processed all of them.
    pub fn send(&self, requests: &[u8]) -> io::Result<()> {
        loop {
            match self.socket.send(requests, 0) {
                Ok(sent) if sent == requests.len() => return Ok(()),
                Ok(_) => return Err(io::Error::other("netlink took part of a datagram")),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the queued replies, up to and including the reply to request `last`.
    ///
    /// # Errors
    /// `WouldBlock` or `ENOBUFS` if replies were lost.
    pub fn replies_until(
        &mut self,
        last: u32,
        mut each: impl FnMut(Reply),
    ) -> Result<(), DumpError> {
        loop {
            let length =
                match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT) {
                    Ok(length) => length,
                    Err(Errno::EINTR) => continue,
                    Err(errno) => return Err(io::Error::from(errno).into()),
                };
            for message in Messages(&self.buffer[..length]) {
                let message = message?;
                if message.kind != NLMSG_ERROR {
                    continue;
                }
                let reply = reply(&message)?;
                let done = reply.sequence == last;
                each(reply);
                if done {
                    return Ok(());
                }
            }
        }
    }

    /// Sends one request and returns the message that answers it, or the kernel's error.
    pub fn ask<T>(
        &mut self,
        kind: u16,
        body: &[u8],
        read: impl Fn(&Message<'_>) -> Result<T, MalformedMessage>,
    ) -> Result<T, DumpError> {
        let sequence = self.next_sequence();
        let mut request = Vec::new();
        write_message(&mut request, kind, NLM_F_REQUEST, sequence, |b| b.extend_from_slice(body));
        self.send(&request)?;
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT)
                .map_err(io::Error::from)?;
            for message in Messages(&self.buffer[..length]) {
                let message = message?;
                if message.sequence != sequence {
                    continue;
                }
                if message.kind == NLMSG_ERROR {
                    let reply = reply(&message)?;
                    return Err(DumpError::Kernel(
                        io::Error::from_raw_os_error(reply.errno),
                        reply.text,
                    ));
                }
                return Ok(read(&message)?);
            }
        }
    }
}

/// Enlarges the receive queue beyond `net.core.rmem_max`, if CAP_NET_ADMIN allows it.
pub(super) fn raise_receive_queue(socket: &Socket, bytes: usize) -> io::Result<()> {
    match setsockopt(socket, sockopt::RcvBufForce, &bytes) {
        Ok(()) => Ok(()),
        Err(Errno::EPERM) => Ok(setsockopt(socket, sockopt::RcvBuf, &bytes)?),
        Err(errno) => Err(errno.into()),
    }
}

fn reply(message: &Message<'_>) -> Result<Reply, MalformedMessage> {
    let payload = message.payload;
    if payload.len() < 4 {
        return Ok(Reply { sequence: message.sequence, errno: 0, text: None });
    }
    let errno = (word(payload, 0) as i32).wrapping_neg();
    let tlvs = match (message.kind, message.flags & NLM_F_ACK_TLVS != 0) {
        (_, false) => None,
        (NLMSG_DONE, true) => Some(4),
        (_, true) if message.flags & NLM_F_CAPPED != 0 || payload.len() < 8 => Some(4 + NLMSGHDR),
        (_, true) => Some(4 + (word(payload, 4) as usize).next_multiple_of(4)),
    };
    let text = match tlvs {
        Some(tlvs) => extended(payload, tlvs)?,
        None => None,
    };
    Ok(Reply { sequence: message.sequence, errno, text })
}

/// The text of an extended ACK whose attributes begin at `tlvs`.
pub(super) fn extended(payload: &[u8], tlvs: usize) -> Result<Option<String>, MalformedMessage> {
    let mut found = None;
    for attribute in attributes(payload, tlvs, "extended ACK")? {
        let attribute = attribute?;
        if attribute.kind() == NLMSGERR_ATTR_MSG {
            found = Some(text(attribute.value()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_carry_errno_and_text() {
        let mut payload = Vec::new();
        payload.extend_from_slice(&(-libc::EPERM).to_ne_bytes());
        payload.extend_from_slice(&[0; NLMSGHDR]);
        super::super::message::write_attribute(&mut payload, NLMSGERR_ATTR_MSG, b"no way\0");
        let flags = NLM_F_CAPPED | NLM_F_ACK_TLVS;
        let message = Message { kind: NLMSG_ERROR, flags, sequence: 7, payload: &payload };
        let expected = Reply { sequence: 7, errno: libc::EPERM, text: Some("no way".into()) };
        assert_eq!(reply(&message), Ok(expected));
        assert!(reply(&Message { payload: &payload[..9], ..message }).is_err());
    }
}
