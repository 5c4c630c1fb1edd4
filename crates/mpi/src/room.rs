//! Room for connections among the files that a process may have open: most of it is for the program.

use std::sync::atomic::{AtomicUsize, Ordering};

use nix::sys::resource::{Resource, getrlimit};

/// Connections of all communicators of this process.
static OPEN: AtomicUsize = AtomicUsize::new(0);
/// Rings get one of so many files.
const SHARE: u64 = 4;

/// Room for the connections of a communicator, until it is dropped.
pub struct Room(usize);

impl Room {
    /// Room for so many.
    ///
    /// # Errors
    /// A quarter of the files that this process may have open is in use for rings.
    pub fn take(count: usize, rank: usize) -> Result<Self, String> {
        let own = Self(count);
        let open = (OPEN.fetch_add(count, Ordering::Relaxed) + count) as u64;
        let most = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
        if open <= most / SHARE {
            return Ok(own);
        }
        Err(format!(
            "rank {rank} may have {most} files open, of which a quarter is for rings: there are too many communicators"
        ))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        OPEN.fetch_sub(self.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_files_are_for_the_program() {
        let (most, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        let quarter = (most / SHARE) as usize;
        let room = Room::take(quarter - 1, 0).unwrap();
        assert!(Room::take(2, 0).is_err());
        drop(Room::take(1, 0).unwrap());
        drop(room);
        assert!(Room::take(quarter, 0).is_ok());
    }
}
