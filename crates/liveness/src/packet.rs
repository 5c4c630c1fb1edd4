//! BFD control packets (RFC 5880 section 4.1): their meaning, and which of them are malformed. The
//! bytes are read and written by [`tresse_frame::bfd`].

use std::fmt;

use thiserror::Error;
use tresse_frame::bfd::{BfdPacket, MutableBfdPacket};

/// The state of a BFD session, the field `Sta` of RFC 5880 section 4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// Held down by its operator.
    AdminDown = 0,
    /// Nothing is heard, or not yet.
    Down = 1,
    /// The other end is heard, and not known to hear us.
    Init = 2,
    /// Both ends hear each other.
    Up = 3,
}

impl SessionState {
    /// All, by number.
    pub const ALL: [Self; 4] = [Self::AdminDown, Self::Down, Self::Init, Self::Up];
}

impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AdminDown => "admin-down",
            Self::Down => "down",
            Self::Init => "init",
            Self::Up => "up",
        })
    }
}

/// The reason for a BFD session's last change of state, the field `Diag` of RFC 5880 section 4.1.
/// Reserved numbers above 8 are kept as received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Diagnostic(u8);

impl Diagnostic {
    /// Nothing to say.
    pub const NONE: Self = Self(0);
    /// Nothing was heard for the detection time.
    pub const TIME_EXPIRED: Self = Self(1);
    /// The other end said that it is down.
    pub const NEIGHBOR_DOWN: Self = Self(3);
    /// An operator holds it down.
    pub const ADMIN_DOWN: Self = Self(7);

    /// By its number, 0 to 31.
    #[must_use]
    pub fn new(number: u8) -> Option<Self> {
        (number < 32).then_some(Self(number))
    }

    /// Its number, 0 to 31.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            0 => "none",
            1 => "control detection time expired",
            2 => "echo function failed",
            3 => "neighbor signaled session down",
            4 => "forwarding plane reset",
            5 => "path down",
            6 => "concatenated path down",
            7 => "administratively down",
            8 => "reverse concatenated path down",
            other => return write!(f, "reserved {other}"),
        })
    }
}

/// The fields of a BFD control packet without authentication (RFC 5880 section 4.1). Intervals are
/// in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Why the sender's session changed last.
    pub diagnostic: Diagnostic,
    /// The sender's state.
    pub state: SessionState,
    /// The sender wants an answer with `final` at once.
    pub poll: bool,
    /// The answer to a poll.
    pub r#final: bool,
    /// The sender's forwarding goes on without its control plane.
    pub independent: bool,
    /// The sender wants no periodic packets while both ends are up.
    pub demand: bool,
    /// How many intervals without a packet are a failure; not 0.
    pub multiplier: u8,
    /// The sender's session; not 0.
    pub mine: u32,
    /// The receiver's session; 0 where the sender has not heard it.
    pub yours: u32,
    /// The least interval at which the sender would send; 0 is reserved.
    pub desired_transmit_us: u32,
    /// The least interval at which the sender can receive; 0: it wants none.
    pub required_receive_us: u32,
    /// The same of echo packets; 0: none.
    pub required_echo_us: u32,
}

/// Why received bytes are not a valid BFD control packet: the checks of RFC 5880 section 6.8.6 that
/// need no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MalformedPacket {
    /// Too short for its fixed part, or for what it says of its length.
    #[error("{bytes} bytes where {needed} are needed")]
    Short {
        /// What there is.
        bytes: usize,
        /// What there should be.
        needed: usize,
    },
    /// Of another version.
    #[error("version {0}, expected 1")]
    Version(u8),
    /// With authentication, which has not been agreed on.
    #[error("authentication, expected none")]
    Authenticated,
    /// A length that no packet without authentication has.
    #[error("length {0}, expected 24")]
    Length(u8),
    /// Multiplier 0.
    #[error("detect multiplier 0, expected 1 to 255")]
    Multiplier,
    /// The multipoint bit.
    #[error("the multipoint bit is set, expected 0")]
    Multipoint,
    /// A poll that is an answer to one.
    #[error("poll and final are both set")]
    PollAndFinal,
    /// Discriminator 0.
    #[error("my discriminator is 0")]
    Mine,
    /// No discriminator of ours in a state that needs one.
    #[error("your discriminator is 0 in state {0}")]
    Yours(SessionState),
}

impl Packet {
    /// Bytes of a packet without authentication.
    pub const LENGTH: usize = 24;

    /// Reads a packet; bytes after its length are padding of the frame.
    ///
    /// # Errors
    /// The first check of section 6.8.6 that fails.
    pub fn parse(bytes: &[u8]) -> Result<Self, MalformedPacket> {
        let Some(fixed) = BfdPacket::new(bytes) else {
            return Err(MalformedPacket::Short { bytes: bytes.len(), needed: Self::LENGTH });
        };
        let length = fixed.get_length();
        if fixed.get_version() != VERSION {
            return Err(MalformedPacket::Version(fixed.get_version()));
        }
        if usize::from(length) > bytes.len() {
            return Err(MalformedPacket::Short { bytes: bytes.len(), needed: length.into() });
        }
        if fixed.get_authentication() != 0 {
            return Err(MalformedPacket::Authenticated);
        }
        if usize::from(length) != Self::LENGTH {
            return Err(MalformedPacket::Length(length));
        }
        let packet = Self {
            diagnostic: Diagnostic(fixed.get_diagnostic()),
            state: SessionState::ALL[usize::from(fixed.get_state())],
            poll: fixed.get_poll() != 0,
            r#final: fixed.get_is_final() != 0,
            independent: fixed.get_independent() != 0,
            demand: fixed.get_demand() != 0,
            multiplier: fixed.get_multiplier(),
            mine: fixed.get_mine(),
            yours: fixed.get_yours(),
            desired_transmit_us: fixed.get_desired_transmit_us(),
            required_receive_us: fixed.get_required_receive_us(),
            required_echo_us: fixed.get_required_echo_us(),
        };
        if packet.multiplier == 0 {
            Err(MalformedPacket::Multiplier)
        } else if fixed.get_multipoint() != 0 {
            Err(MalformedPacket::Multipoint)
        } else if packet.poll && packet.r#final {
            Err(MalformedPacket::PollAndFinal)
        } else if packet.mine == 0 {
            Err(MalformedPacket::Mine)
        } else if packet.yours == 0 && matches!(packet.state, SessionState::Init | SessionState::Up)
        {
            Err(MalformedPacket::Yours(packet.state))
        } else {
            Ok(packet)
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn emit(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        let mut packet = MutableBfdPacket::new(&mut bytes).expect("it has a packet's length");
        packet.set_version(VERSION);
        packet.set_diagnostic(self.diagnostic.0);
        packet.set_state(self.state as u8);
        packet.set_poll(self.poll.into());
        packet.set_is_final(self.r#final.into());
        packet.set_independent(self.independent.into());
        packet.set_demand(self.demand.into());
        packet.set_multiplier(self.multiplier);
        packet.set_length(Self::LENGTH as u8);
        packet.set_mine(self.mine);
        packet.set_yours(self.yours);
        packet.set_desired_transmit_us(self.desired_transmit_us);
        packet.set_required_receive_us(self.required_receive_us);
        packet.set_required_echo_us(self.required_echo_us);
        bytes
    }
}

const VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Of a session that is up, by the layout of section 4.1.
    const UP: [u8; 24] = [
        0x20, 0xc0, 3, 24, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0, 4, 0x93, 0xe0, 0, 4,
        0x93, 0xe0, 0, 0, 0xc3, 0x50,
    ];

    #[test]
    fn a_packet_is_its_bytes_both_ways() {
        let packet = Packet {
            diagnostic: Diagnostic::NONE,
            state: SessionState::Up,
            poll: false,
            r#final: false,
            independent: false,
            demand: false,
            multiplier: 3,
            mine: 0x1122_3344,
            yours: 0x5566_7788,
            desired_transmit_us: 300_000,
            required_receive_us: 300_000,
            required_echo_us: 50_000,
        };
        assert_eq!(Packet::parse(&UP), Ok(packet));
        assert_eq!(packet.emit(), UP);
        let padded = [&UP[..], &[0; 22]].concat();
        assert_eq!(Packet::parse(&padded), Ok(packet), "an Ethernet frame is padded");
    }

    #[test]
    fn each_check_of_section_6_8_6_refuses() {
        let with = |changes: &[(usize, u8)]| {
            let mut bytes = UP;
            for (at, value) in changes {
                bytes[*at] = *value;
            }
            Packet::parse(&bytes).unwrap_err()
        };
        let short = |bytes, needed| MalformedPacket::Short { bytes, needed };
        assert_eq!(Packet::parse(&UP[..23]), Err(short(23, 24)));
        assert_eq!(with(&[(0, 0x40)]), MalformedPacket::Version(2));
        assert_eq!(with(&[(0, 0x00)]), MalformedPacket::Version(0));
        assert_eq!(with(&[(3, 25)]), short(24, 25));
        assert_eq!(with(&[(3, 23)]), MalformedPacket::Length(23));
        assert_eq!(with(&[(1, 0xc4)]), MalformedPacket::Authenticated);
        assert_eq!(with(&[(2, 0)]), MalformedPacket::Multiplier);
        assert_eq!(with(&[(1, 0xc1)]), MalformedPacket::Multipoint);
        assert_eq!(with(&[(1, 0xf0)]), MalformedPacket::PollAndFinal);
        assert_eq!(with(&[(4, 0), (5, 0), (6, 0), (7, 0)]), MalformedPacket::Mine);
        let nobody = [(8, 0), (9, 0), (10, 0), (11, 0)];
        assert_eq!(with(&nobody), MalformedPacket::Yours(SessionState::Up));
        assert_eq!(
            with(&[&nobody[..], &[(1, 0x80)]].concat()),
            MalformedPacket::Yours(SessionState::Init)
        );
        for state in [0x00, 0x40] {
            let mut bytes = UP;
            bytes[1] = state;
            bytes[8..12].fill(0);
            assert!(Packet::parse(&bytes).is_ok(), "down without having heard us");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same(bytes in proptest::array::uniform24(any::<u8>())) {
            if let Ok(packet) = Packet::parse(&bytes) {
                prop_assert_eq!(packet.emit(), bytes);
            }
        }
    }
}
