//! The fixed part of a BFD control packet (RFC 5880 section 4.1), as a packet type that `pnet_macros`
//! makes, because pnet has none. All numbers are in network byte order.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | version (3 bits), diagnostic (5 bits) |
//! | 1 | 1 | state (2 bits), poll, final, control plane independent, authentication, demand, multipoint |
//! | 2 | 1 | detect multiplier |
//! | 3 | 1 | length, 24 without authentication |
//! | 4 | 4 | my discriminator |
//! | 8 | 4 | your discriminator |
//! | 12 | 4 | desired minimum transmit interval, us |
//! | 16 | 4 | required minimum receive interval, us |
//! | 20 | 4 | required minimum echo receive interval, us |
//!
//! What the fields mean, and which packets are malformed, is decided by the crate `liveness`.

pub use self::format::{BfdPacket, MutableBfdPacket};

/// The fields of the table above, and what follows them.
mod format {
    use pnet_macros::packet;
    use pnet_macros_support::types::{u1, u2, u3, u5, u32be};

    #[packet]
    pub struct Bfd {
        pub version: u3,
        pub diagnostic: u5,
        pub state: u2,
        pub poll: u1,
        pub is_final: u1,
        pub independent: u1,
        pub authentication: u1,
        pub demand: u1,
        pub multipoint: u1,
        pub multiplier: u8,
        pub length: u8,
        pub mine: u32be,
        pub yours: u32be,
        pub desired_transmit_us: u32be,
        pub required_receive_us: u32be,
        pub required_echo_us: u32be,
        #[payload]
        pub rest: Vec<u8>,
    }
}
