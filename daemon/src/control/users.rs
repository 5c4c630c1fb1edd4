//! What a user may have of the control socket: so many connections, and so many calls in a time. Root may have all it
//! wants. A user who asks more waits, and keeps nobody else waiting.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;
use tresse_base::bucket::Bucket;
use tresse_control::Call;

use super::limits::Limits;

/// The users who have connections, or had some a short while ago.
#[derive(Debug, Clone)]
pub struct Users {
    limits: Limits,
    since: Instant,
    users: Rc<RefCell<BTreeMap<u32, User>>>,
}

#[derive(Debug)]
struct User {
    connections: usize,
    calls: Bucket,
    costly: Bucket,
}

impl Users {
    /// None yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, since: Instant::now(), users: Rc::default() }
    }

    /// A place for one more connection of a user; `None` if there are too many.
    pub fn enter(&self, uid: u32) -> Option<Place> {
        self.enter_at(uid, self.now())
    }

    fn enter_at(&self, uid: u32, now: u64) -> Option<Place> {
        let mut users = self.users.borrow_mut();
        users.retain(|_, user| {
            user.connections > 0 || !user.calls.is_full(now) || !user.costly.is_full(now)
        });
        let others: usize =
            users.iter().filter(|(u, _)| **u != 0).map(|(_, u)| u.connections).sum();
        let Limits { connections, all_connections, calls, costly_calls, .. } = self.limits;
        let bucket = |(burst, interval)| Bucket::new(burst, interval);
        let new = || User { connections: 0, calls: bucket(calls), costly: bucket(costly_calls) };
        let own = users.entry(uid).or_insert_with(new);
        if uid != 0 && (own.connections >= connections || others >= all_connections) {
            return None;
        }
        own.connections += 1;
        Some(Place { users: self.clone(), uid })
    }

    fn now(&self) -> u64 {
        self.since.elapsed().as_millis() as u64
    }
}

/// One of the connections that a user may have.
#[derive(Debug)]
pub struct Place {
    users: Users,
    uid: u32,
}

impl Place {
    /// The limits of this connection.
    pub const fn limits(&self) -> Limits {
        self.users.limits
    }

    /// Waits until it is this user's turn to make a call.
    pub async fn turn(&self, call: &Call) {
        while let Err(at) = self.take(call, self.users.now()) {
            tokio::time::sleep(Duration::from_millis(at.saturating_sub(self.users.now()))).await;
        }
    }

    /// Is it its turn? Else when to ask again.
    fn take(&self, call: &Call, now: u64) -> Result<(), u64> {
        let mut users = self.users.users.borrow_mut();
        let Some(user) = users.get_mut(&self.uid).filter(|_| self.uid != 0) else { return Ok(()) };
        match is_costly(call) {
            true => user.costly.take(now),
            false => user.calls.take(now),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(user) = self.users.users.borrow_mut().get_mut(&self.uid) {
            user.connections -= 1;
        }
    }
}

const fn is_costly(call: &Call) -> bool {
    matches!(call, Call::Diff | Call::ListPaths { .. } | Call::ListFailures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_so_many_connections_and_root_any_number() {
        let users = Users::new(Limits::DAEMON);
        let Limits { connections, all_connections, .. } = Limits::DAEMON;
        let held: Vec<Place> = (0..connections).filter_map(|_| users.enter(1000)).collect();
        assert_eq!(held.len(), connections);
        assert!(users.enter(1000).is_none());
        let others: Vec<Place> =
            (0..all_connections as u32).filter_map(|n| users.enter(2000 + n)).collect();
        assert_eq!(others.len(), all_connections - connections);
        let root: Vec<Place> = (0..2 * all_connections).filter_map(|_| users.enter(0)).collect();
        assert_eq!(root.len(), 2 * all_connections);
        drop((held, others));
        assert!(users.enter(1000).is_some());
    }

    #[test]
    fn a_user_who_asks_without_end_waits_also_with_a_new_connection_for_each_call() {
        let users = Users::new(Limits::DAEMON);
        let asks = |uid, call: &Call, now| users.enter_at(uid, now).unwrap().take(call, now);
        let (burst, interval) = Limits::DAEMON.costly_calls;
        assert!((0..burst).all(|_| asks(1000, &Call::Diff, 500).is_ok()));
        assert_eq!(asks(1000, &Call::ListFailures, 500), Err(500 + interval));
        assert!(asks(1000, &Call::Diff, 500 + interval).is_ok());
        assert!(asks(1000, &Call::Diff, 500 + interval).is_err());
        // Neither cheap calls nor others wait.
        assert!(asks(1000, &Call::GetStatus, 600).is_ok());
        assert!(asks(1001, &Call::Diff, 600).is_ok());
        assert!((0..1000).all(|_| asks(0, &Call::Diff, 600).is_ok()));
        asks(1001, &Call::Diff, 20_000).unwrap();
        assert!(!users.users.borrow().contains_key(&1000), "it is forgotten");
    }
}
