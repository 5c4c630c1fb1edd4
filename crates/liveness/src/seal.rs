//! Signs BFD control packets, and takes those alone that are signed by a node of the fabric and no copy of older ones
//! (RFC 5880, section 6.7). The authentication section is not one of the RFC, whose hashes are MD5 and SHA-1; numbers
//! big endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 24 | 1 | type, 250 (not assigned) |
//! | 25 | 1 | length of the section, 52 |
//! | 26 | 1 | number of the key |
//! | 27 | 1 | zero |
//! | 28 | 8 | instance: a random number of the sender, another one whenever it has lost count |
//! | 36 | 8 | number of the packet, counted between the two ends of the path |
//! | 44 | 8 | challenge: a random number, which the receiver is to repeat |
//! | 52 | 8 | answer: a challenge that was heard of the receiver; 0: none yet |
//! | 60 | 16 | the tag, over the two ends of the path, the destination port and all that comes before |
//!
//! Of the instance that is known a packet is taken if its number is new: greater than all before, or among the last 64
//! and not heard yet, as packets of one session go by several paths at once. A sender that was started anew is another
//! instance. It is taken once it answers a challenge that none has answered before. So no clock is needed, nothing is
//! stored, and what was recorded on the wire is of no use. Who has heard nothing of a sender yet takes its first packet,
//! which may be an old one: all it can do is to begin a session, as the discriminators are not those of before.
//!
//! A packet of an instance that is not known may be genuine or old. The challenges of the last few of these are answered
//! in turn with that of the known one, so that nobody who plays old packets hides the genuine ones. Whoever knows an
//! instance has to speak, or it could never show that it was started anew: so a peer is [forgotten](Seal::forget) with
//! its last session.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use tresse_frame::keys::{Keys, Purpose, TAG};

use crate::{Datagram, Dropped, Secrets};

/// Bytes of a packet without the section.
const PLAIN: usize = 24;
const SECTION: usize = TAG_AT - PLAIN + TAG;
const NUMBERS_AT: usize = 28;
const TAG_AT: usize = 60;
const TYPE: u8 = 250;
/// So many instances that may be a peer's are answered.
const STRANGERS: usize = 3;
/// The bit `A` of the second byte, and the place of the packet's length (RFC 5880, section 4.1).
const AUTHENTICATED: u8 = 4;
const LENGTH_AT: usize = 3;

/// The two ends of a path: this node's address and the peer's.
type Ends = (IpAddr, IpAddr);

/// What signs, and what was heard of each peer.
pub struct Seal {
    keys: Keys,
    secrets: Secrets,
    peers: HashMap<Ends, Peer>,
}

struct Peer {
    /// This end's, for this peer.
    instance: u64,
    /// How many packets were sent.
    sent: u64,
    /// What the peer is to repeat.
    challenge: u64,
    heard: Option<Heard>,
    /// Instances that may be the peer's, with their challenges; the last one heard comes last.
    strangers: Vec<(u64, u64)>,
}

/// What was taken of a peer.
struct Heard {
    instance: u64,
    challenge: u64,
    /// The greatest number, and which of the 64 up to it were taken: it by the lowest bit.
    last: u64,
    seen: u64,
}

/// What a packet shows of its age.
struct Stamp {
    instance: u64,
    number: u64,
    challenge: u64,
    answer: u64,
}

impl Seal {
    /// Without a key. `secrets`: whoever can guess one can play an old packet again.
    #[must_use]
    pub fn new(secrets: Secrets) -> Self {
        Self { keys: Keys::default(), secrets, peers: HashMap::new() }
    }

    /// Signs by these keys, and takes what is signed by them, from now on.
    pub fn set_keys(&mut self, keys: Keys) {
        self.keys = keys;
    }

    /// Forgets all other peers.
    pub fn retain(&mut self, ends: &HashSet<Ends>) {
        self.peers.retain(|of, _| ends.contains(of));
    }

    /// Forgets what was heard of a peer, as it has ended its last session here.
    pub fn forget(&mut self, ends: Ends) {
        if let Some(peer) = self.peers.get_mut(&ends) {
            peer.heard = None;
            peer.strangers.clear();
        }
    }

    /// A packet as it is sent to a port, of a session on a path with these ends: signed, if this node signs.
    #[must_use]
    pub fn sign(&mut self, ends: Ends, port: u16, packet: &[u8; PLAIN]) -> Vec<u8> {
        let mut bytes = packet.to_vec();
        if !self.keys.signs() {
            return bytes;
        }
        let Self { peers, secrets, .. } = self;
        let peer = peers.entry(ends).or_insert_with(|| Peer::new(secrets));
        peer.sent += 1;
        let numbers = [peer.instance, peer.sent, peer.challenge, peer.answer()];
        bytes[1] |= AUTHENTICATED;
        bytes[LENGTH_AT] = (PLAIN + SECTION) as u8;
        bytes.extend([TYPE, SECTION as u8, self.keys.number(), 0]);
        bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        let tag = self.keys.sign(Purpose::Bfd, &[&header(ends, port), &bytes]);
        bytes.extend(tag.into_iter().flat_map(|(_, tag)| tag));
        bytes
    }

    /// The packet of a datagram for a path with these ends, without what it was signed with.
    ///
    /// # Errors
    /// [`Dropped::Unsigned`], [`Dropped::Replayed`].
    pub fn open(&mut self, ends: Ends, datagram: &Datagram<'_>) -> Result<Vec<u8>, Dropped> {
        let bytes = datagram.payload;
        if bytes.get(1).is_none_or(|flags| flags & AUTHENTICATED == 0) {
            let taken = self.keys.takes_unsigned();
            return if taken { Ok(bytes.to_vec()) } else { Err(Dropped::Unsigned) };
        }
        let (covered, tag) = bytes.split_at_checked(TAG_AT).ok_or(Dropped::Unsigned)?;
        let tag: [u8; TAG] = tag.try_into().map_err(|_| Dropped::Unsigned)?;
        let [kind, length, key, zero, ..] = covered[PLAIN..] else { return Err(Dropped::Unsigned) };
        let lengths = (covered[LENGTH_AT].into(), length.into());
        if lengths != (PLAIN + SECTION, SECTION) || (kind, zero) != (TYPE, 0) {
            return Err(Dropped::Unsigned);
        }
        let header = header((ends.1, ends.0), datagram.port());
        if !self.keys.takes(Purpose::Bfd, &(key, tag), &[&header, covered]) {
            return Err(Dropped::Unsigned);
        }
        let mut numbers = covered[NUMBERS_AT..]
            .chunks_exact(8)
            .map(|eight| u64::from_be_bytes(eight.try_into().expect("a chunk has eight bytes")));
        let [instance, number, challenge, answer] =
            std::array::from_fn(|_| numbers.next().expect("four of them come before the tag"));
        if !self.is_new(ends, &Stamp { instance, number, challenge, answer }) {
            return Err(Dropped::Replayed);
        }
        let mut packet = bytes[..PLAIN].to_vec();
        packet[1] &= !AUTHENTICATED;
        packet[LENGTH_AT] = PLAIN as u8;
        Ok(packet)
    }

    /// Notes that a packet of a peer was heard; false if it may be a copy.
    fn is_new(&mut self, ends: Ends, stamp: &Stamp) -> bool {
        let Self { peers, secrets, .. } = self;
        let peer = peers.entry(ends).or_insert_with(|| Peer::new(secrets));
        let Stamp { instance, number, challenge, answer } = *stamp;
        let new = Heard { instance, challenge, last: number, seen: 1 };
        match &mut peer.heard {
            None => peer.heard = Some(new),
            Some(heard) if heard.instance == instance => {
                let taken = heard.is_new(number);
                if taken {
                    heard.challenge = challenge;
                }
                return taken;
            }
            Some(heard) if answer == peer.challenge => {
                *heard = new;
                peer.challenge = secrets();
                peer.strangers.clear();
            }
            Some(_) => {
                peer.strangers.retain(|(other, _)| *other != instance);
                peer.strangers.push((instance, challenge));
                if peer.strangers.len() > STRANGERS {
                    peer.strangers.remove(0);
                }
                return false;
            }
        }
        true
    }
}

impl Heard {
    fn is_new(&mut self, number: u64) -> bool {
        if let Some(ahead) = number.checked_sub(self.last).filter(|ahead| *ahead > 0) {
            let shift = u32::try_from(ahead).unwrap_or(u32::MAX);
            self.seen = self.seen.checked_shl(shift).unwrap_or(0) | 1;
            self.last = number;
            return true;
        }
        let bit = u32::try_from(self.last - number).ok().and_then(|by| 1_u64.checked_shl(by));
        let new = bit.is_some_and(|bit| self.seen & bit == 0);
        self.seen |= bit.unwrap_or(0);
        new
    }
}

impl Peer {
    fn new(secrets: &mut Secrets) -> Self {
        let (instance, challenge) = (secrets(), secrets());
        Self { instance, sent: 0, challenge, heard: None, strangers: Vec::new() }
    }

    /// The challenge that the next packet answers.
    fn answer(&self) -> u64 {
        let known = self.heard.iter().map(|heard| heard.challenge);
        let all: Vec<u64> = known.chain(self.strangers.iter().map(|(_, of)| *of)).collect();
        let turn = self.sent % all.len().max(1) as u64;
        all.get(turn as usize).copied().unwrap_or(0)
    }
}

/// What a tag covers besides the packet: the ends that it is from and to, and the port.
fn header((from, to): Ends, port: u16) -> Vec<u8> {
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    [octets(from), octets(to), port.to_be_bytes().to_vec()].concat()
}

#[cfg(test)]
mod tests {
    use tresse_base::random::Random;

    use super::*;
    use crate::{MULTI_HOP_PORT, SINGLE_HOP_PORT};

    const PACKET: [u8; PLAIN] = [
        0x20, 0xc0, 3, 24, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0, 4, 0x93, 0xe0, 0, 4,
        0x93, 0xe0, 0, 0, 0, 0,
    ];

    fn seal(keys: &[&str], seed: u64) -> Seal {
        let mut random = Random::new(seed);
        let mut seal = Seal::new(Box::new(move || random.number()));
        let line = |key: &&str| if *key == "none" { (*key).to_owned() } else { key.repeat(32) };
        let lines: Vec<String> = keys.iter().map(line).collect();
        seal.set_keys(Keys::parse(&lines.join("\n")).unwrap());
        seal
    }

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    /// From A to B.
    fn datagram(payload: &[u8]) -> Datagram<'_> {
        let (from, ttl, multi_hop) = (49152, 255, false);
        Datagram { ifindex: 1, source: A, destination: B, from, ttl, multi_hop, payload }
    }

    fn from_a(a: &mut Seal) -> Vec<u8> {
        a.sign((A, B), SINGLE_HOP_PORT, &PACKET)
    }

    fn from_b(b: &mut Seal) -> Vec<u8> {
        b.sign((B, A), SINGLE_HOP_PORT, &PACKET)
    }

    fn to_a(a: &mut Seal, bytes: &[u8]) -> Result<Vec<u8>, Dropped> {
        a.open((A, B), &Datagram { source: B, destination: A, ..datagram(bytes) })
    }

    #[test]
    fn what_is_signed_is_taken_once_from_its_sender_by_its_port() {
        let (mut a, mut b) = (seal(&["01"], 1), seal(&["01"], 2));
        let bytes = from_a(&mut a);
        assert_eq!(bytes.len(), PLAIN + SECTION);
        for ends in [(A, B), (B, B), (A, A)] {
            assert_eq!(b.open(ends, &datagram(&bytes)), Err(Dropped::Unsigned));
        }
        let by_other = Datagram { multi_hop: true, ..datagram(&bytes) };
        assert_eq!(b.open((B, A), &by_other), Err(Dropped::Unsigned));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(b.open((B, A), &datagram(&changed)), Err(Dropped::Unsigned), "byte {at}");
            assert_eq!(
                b.open((B, A), &datagram(&bytes[..at])),
                Err(Dropped::Unsigned),
                "{at} bytes"
            );
        }
        assert_eq!(b.open((B, A), &datagram(&bytes)), Ok(PACKET.to_vec()));
        assert_eq!(b.open((B, A), &datagram(&bytes)), Err(Dropped::Replayed));
        assert_eq!(b.open((B, A), &datagram(&PACKET)), Err(Dropped::Unsigned));
        let by_others = a.sign((A, B), MULTI_HOP_PORT, &PACKET);
        assert!(b.open((B, A), &Datagram { multi_hop: true, ..datagram(&by_others) }).is_ok());
    }

    #[test]
    fn packets_overtake_each_other_and_none_counts_twice() {
        let (mut a, mut b) = (seal(&["01"], 1), seal(&["01"], 2));
        let sent: Vec<Vec<u8>> = (0..200).map(|_| from_a(&mut a)).collect();
        for at in [0, 70, 7, 69, 71, 135, 72, 199] {
            assert!(b.open((B, A), &datagram(&sent[at])).is_ok(), "{at}");
            assert_eq!(b.open((B, A), &datagram(&sent[at])), Err(Dropped::Replayed), "{at}");
        }
        assert!(b.open((B, A), &datagram(&sent[136])).is_ok(), "among the last 64");
        assert_eq!(b.open((B, A), &datagram(&sent[134])), Err(Dropped::Replayed), "long ago");
    }

    #[test]
    fn a_node_that_was_started_anew_is_heard_again_and_its_old_packets_are_not() {
        let (mut a, mut b) = (seal(&["01"], 1), seal(&["01"], 2));
        let mut recorded = Vec::new();
        for _ in 0..100 {
            recorded.push(from_a(&mut a));
            assert!(b.open((B, A), &datagram(recorded.last().unwrap())).is_ok());
            let back = from_b(&mut b);
            assert!(to_a(&mut a, &back).is_ok());
        }
        let mut a = seal(&["01"], 3);
        assert_eq!(b.open((B, A), &datagram(&from_a(&mut a))), Err(Dropped::Replayed));
        let back = from_b(&mut b);
        assert!(to_a(&mut a, &back).is_ok());
        let shown = from_a(&mut a);
        assert!(b.open((B, A), &datagram(&shown)).is_ok());
        assert!(b.open((B, A), &datagram(&from_a(&mut a))).is_ok());
        assert_eq!(b.open((B, A), &datagram(&shown)), Err(Dropped::Replayed));
        for old in &recorded {
            assert_eq!(b.open((B, A), &datagram(old)), Err(Dropped::Replayed));
        }
    }

    /// Both were started anew, and somebody plays old packets of one to the other, many between two genuine ones.
    #[test]
    fn old_packets_that_come_first_keep_nobody_out() {
        let old: Vec<Vec<u8>> = (10..12).map(|seed| from_a(&mut seal(&["01"], seed))).collect();
        let (mut a, mut b) = (seal(&["01"], 3), seal(&["01"], 2));
        assert!(b.open((B, A), &datagram(&old[0])).is_ok());
        let flood = |b: &mut Seal| {
            for of in old.iter().cycle().take(100) {
                assert!(b.open((B, A), &datagram(of)).is_err());
            }
        };
        let exchanges = (0..20).find(|_| {
            flood(&mut b);
            let taken = b.open((B, A), &datagram(&from_a(&mut a))).is_ok();
            flood(&mut b);
            let _ = to_a(&mut a, &from_b(&mut b));
            taken
        });
        assert!(exchanges.is_some_and(|count| count <= 4), "{exchanges:?}");
        flood(&mut b);
        assert!(b.open((B, A), &datagram(&from_a(&mut a))).is_ok());
    }

    /// Its plan was withdrawn and applied again, or its peer's.
    #[test]
    fn who_was_forgotten_is_heard_again() {
        let (mut a, mut b) = (seal(&["01"], 1), seal(&["01"], 2));
        for _ in 0..100 {
            assert!(b.open((B, A), &datagram(&from_a(&mut a))).is_ok());
            assert!(to_a(&mut a, &from_b(&mut b)).is_ok());
        }
        // One end forgets, and the other goes on.
        a.retain(&HashSet::new());
        assert_eq!(b.open((B, A), &datagram(&from_a(&mut a))), Err(Dropped::Replayed));
        assert!(to_a(&mut a, &from_b(&mut b)).is_ok());
        let taken = (0..2).filter(|_| b.open((B, A), &datagram(&from_a(&mut a))).is_ok());
        assert!(taken.count() > 0);
        // A peer that has ended its session says nothing until the other begins one.
        let mut anew = seal(&["01"], 3);
        b.forget((B, A));
        assert!(b.open((B, A), &datagram(&from_a(&mut anew))).is_ok());
    }

    #[test]
    fn keys_change_step_by_step() {
        let steps: [&[&str]; 4] = [&["none"], &["none", "01"], &["01", "none"], &["01"]];
        let next: [&[&str]; 4] = [&["01"], &["01", "02"], &["02", "01"], &["02"]];
        for steps in [steps, next] {
            for two in steps.windows(2) {
                for (from, to) in [(two[0], two[1]), (two[1], two[0])] {
                    let (mut a, mut b) = (seal(from, 1), seal(to, 2));
                    assert!(b.open((B, A), &datagram(&from_a(&mut a))).is_ok(), "{from:?} {to:?}");
                }
            }
            let (mut a, mut b) = (seal(steps[0], 1), seal(steps[3], 2));
            assert_eq!(b.open((B, A), &datagram(&from_a(&mut a))), Err(Dropped::Unsigned));
        }
    }
}
