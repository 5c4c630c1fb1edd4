//! Keeps the connections whose peers have not yet proved that they are members, and limits their
//! number.

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard};

use crate::wrong;

/// Most such connections at once.
const MOST: usize = 64;

/// The connections whose peers have not yet proved that they know the token of the run, oldest
/// first.
#[derive(Debug, Default)]
pub struct Strangers(Mutex<MemberState>);

#[derive(Debug, Default)]
struct MemberState {
    next: u64,
    ended: bool,
    all: VecDeque<(u64, TcpStream)>,
}

impl Strangers {
    /// Adds a connection and returns its number. If there are too many, the oldest is closed.
    ///
    /// # Errors
    /// Too many descriptors, or [`end`](Self::end) was called.
    pub fn enter(&self, stream: &TcpStream) -> io::Result<u64> {
        let stream = stream.try_clone()?;
        let mut state = self.state();
        if state.ended {
            return Err(wrong("no further connection is accepted"));
        }
        let number = state.next;
        state.next += 1;
        state.all.push_back((number, stream));
        if state.all.len() > MOST
            && let Some((_, oldest)) = state.all.pop_front()
        {
            // The peer may be gone already.
            drop(oldest.shutdown(Shutdown::Both));
        }
        Ok(number)
    }

    /// Removes a connection whose peer has proved itself or has failed to.
    pub fn leave(&self, number: u64) {
        self.state().all.retain(|(it, _)| *it != number);
    }

    /// Closes all connections and refuses new ones.
    pub fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        state.all.iter().for_each(|(_, stream)| drop(stream.shutdown(Shutdown::Both)));
    }

    fn state(&self) -> MutexGuard<'_, MemberState> {
        self.0.lock().expect("nobody panics with it")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_oldest_makes_room_for_the_newest() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let strangers = Strangers::default();
        let mut ends = Vec::new();
        for _ in 0..=MOST {
            let end = TcpStream::connect(address).unwrap();
            strangers.enter(&listener.accept().unwrap().0).unwrap();
            end.set_nonblocking(true).unwrap();
            ends.push(end);
        }
        ends[0].set_nonblocking(false).unwrap();
        assert_eq!(ends[0].read(&mut [0]).unwrap(), 0);
        for end in &mut ends[1..] {
            assert_eq!(end.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        }
        strangers.end();
        for end in &mut ends {
            end.set_nonblocking(false).unwrap();
            assert_eq!(end.read(&mut [0]).unwrap(), 0);
        }
        assert!(strangers.enter(&ends[0]).is_err());
    }
}
