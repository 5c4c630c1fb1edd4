//! Checks that nothing grows during the soak test: memory and file descriptors of the daemons, and the
//! list of network namespaces.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use tresse_lab::netns;

/// The resident memory and the number of open file descriptors of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Resident set.
    pub kib: u64,
    /// Open descriptors.
    pub descriptors: usize,
}

impl Usage {
    /// Of a running process.
    ///
    /// # Errors
    /// It is gone.
    pub fn of(pid: i32) -> Result<Self, String> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"));
        let status = status.map_err(|e| format!("process {pid}: {e}"))?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
        let kib = line.and_then(|l| l.split_whitespace().next()?.parse().ok());
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
        let descriptors = descriptors.map_err(|e| format!("process {pid}: {e}"))?.count();
        Ok(Self { kib: kib.ok_or("a process without memory")?, descriptors })
    }
}

/// Finds daemons that use more and more memory or file descriptors: it stores the first measured usage
/// of each daemon under each strategy, and compares later measurements with it. Strategies are kept
/// apart because each needs its own number of sockets and routes.
#[derive(Debug, Default)]
pub struct Growth(BTreeMap<(i32, String), Usage>);

impl Growth {
    /// Half as much memory again and 8 MiB, and two descriptors, are no growth: allocators keep
    /// what they had, a control call may be under way. Nor are `lazily` descriptors: those that the daemon opens when
    /// it first needs them, one for each interface that it watches paths by.
    ///
    /// # Errors
    /// What has grown, and from what.
    pub fn judge(
        &mut self,
        pid: i32,
        strategy: &str,
        now: Usage,
        lazily: usize,
    ) -> Result<(), String> {
        let first = *self.0.entry((pid, strategy.into())).or_insert(now);
        let most = first.descriptors + 2 + lazily;
        if now.kib > first.kib * 3 / 2 + 8192 || now.descriptors > most {
            return Err(format!("grew under {strategy}: first {first:?}, now {now:?}"));
        }
        Ok(())
    }
}

/// Returns the named network namespaces of this machine.
#[must_use]
pub fn namespaces() -> BTreeSet<String> {
    let entries = netns::path("").read_dir().into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_growth_is_found() {
        let usage = |kib, descriptors| Usage { kib, descriptors };
        let mut growth = Growth::default();
        growth.judge(7, "dor", usage(10_000, 20), 0).unwrap();
        growth.judge(7, "dor", usage(20_000, 22), 0).unwrap();
        let grew = growth.judge(7, "dor", usage(24_000, 20), 0).unwrap_err();
        assert!(grew.starts_with("grew under dor: first"), "{grew}");
        assert!(growth.judge(7, "dor", usage(10_000, 23), 0).is_err());
        growth.judge(7, "dor", usage(10_000, 23), 1).unwrap();
        // Another strategy, another daemon: another first.
        growth.judge(7, "stp", usage(24_000, 30), 0).unwrap();
        growth.judge(8, "dor", usage(24_000, 30), 0).unwrap();
        assert_eq!(Usage::of(i32::MAX).unwrap_err(), {
            "process 2147483647: No such file or directory (os error 2)"
        });
        assert!(Usage::of(std::process::id() as i32).unwrap().descriptors >= 3);
    }
}
