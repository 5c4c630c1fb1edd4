//! What the operator's program asks a node, and what the node answers: each a line of JSON.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// What a node is asked to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Job {
    /// Read the state of these NICs.
    Look {
        /// Their names.
        nics: Vec<String>,
    },
    /// Send echo requests.
    Echo {
        /// Own address.
        from: IpAddr,
        /// Whom to ask.
        to: IpAddr,
        /// How many requests.
        count: u32,
    },
    /// Find the largest packet that gets through unfragmented.
    Largest {
        /// Own address.
        from: IpAddr,
        /// Whom to ask.
        to: IpAddr,
        /// The largest to try, in bytes with the IP header.
        most: u32,
    },
    /// Receive what one other sends.
    Serve {
        /// Own address.
        at: IpAddr,
        /// TCP port.
        port: u16,
    },
    /// Send as much as gets through, to one that serves.
    Send {
        /// Own address.
        from: IpAddr,
        /// Whom to.
        to: IpAddr,
        /// TCP port.
        port: u16,
        /// For how long.
        seconds: u32,
    },
}

/// What a node answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "kebab-case")]
pub enum Answer {
    /// The NICs' states, in the order of their names in the job.
    Nics {
        /// The states.
        nics: Vec<NicState>,
    },
    /// What came of echo requests.
    Echo {
        /// Requests sent.
        sent: u32,
        /// Answers.
        received: u32,
        /// Mean round trip in milliseconds; `None` without answers.
        mean_ms: Option<f64>,
    },
    /// The largest packet that got through, in bytes with the IP header; `None`: none did.
    Largest {
        /// Its size.
        bytes: Option<u32>,
    },
    /// It receives.
    Serving,
    /// What was sent.
    Sent {
        /// What arrived.
        bits_per_second: f64,
        /// TCP segments sent again.
        resent: u64,
    },
    /// It could not be done.
    Failed {
        /// Why.
        why: String,
    },
}

/// A NIC as the kernel shows it. What it does not show is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NicState {
    /// Its name.
    pub name: String,
    /// Line rate in Mbit/s.
    pub speed: Option<u64>,
    /// `full` or `half`.
    pub duplex: Option<String>,
    /// MTU in bytes.
    pub mtu: Option<u32>,
    /// Whether it may be stopped by pause frames (IEEE 802.3 annex 31B).
    pub pause: Option<bool>,
    /// Bytes received and sent.
    pub bytes: u64,
    /// Frames received that were broken (checksum, length, alignment).
    pub broken: u64,
    /// Frames that came and were dropped for want of room.
    pub dropped: u64,
}
