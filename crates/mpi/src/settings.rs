//! What the environment sets. All ranks have to set the same.

use std::path::PathBuf;

use tresse_control::DEFAULT_SOCKET;

/// The kinds of collectives that go over rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// `MPI_Bcast`; its size is that of the buffer.
    Bcast,
    /// `MPI_Allgather` and `MPI_Allgatherv`; the size of all blocks together.
    Allgather,
    /// `MPI_Gather`; the size of all blocks together.
    Gather,
    /// `MPI_Scatter`; the size of all blocks together.
    Scatter,
    /// `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block`; the size of what is reduced.
    ReduceScatter,
    /// `MPI_Allreduce`; the size of the buffer.
    Allreduce,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::Bcast,
        Self::Allgather,
        Self::Gather,
        Self::Scatter,
        Self::ReduceScatter,
        Self::Allreduce,
    ];

    /// Its name in MPI, without `MPI_`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bcast => "Bcast",
            Self::Allgather => "Allgather",
            Self::Gather => "Gather",
            Self::Scatter => "Scatter",
            Self::ReduceScatter => "Reduce_scatter",
            Self::Allreduce => "Allreduce",
        }
    }
}

/// Fewer bytes never go over rings by default. With 16 ranks rings pay from 16 to 64 KiB on
/// (`tests/mpi-rings.sh sizes`).
const LEAST: u64 = 32 << 10;
/// Says that every rank has the library.
const EVERYWHERE: &str = "TRESSE_MPI_EVERYWHERE";

/// The settings of this rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `TRESSE_MPI`: whether rings are used at all.
    pub on: bool,
    /// `TRESSE_MPI_EVERYWHERE`: every rank has this library, as the user says.
    pub everywhere: bool,
    /// `TRESSE_MPI_REPORT`: whether rank 0 says at the end how many collectives went over rings.
    pub report: bool,
    /// `TRESSE_MPI_BCAST` and so on, or `TRESSE_MPI_THRESHOLD` for all: bytes from which rings are used, by
    /// [`Kind`]. `None`: by the number of ranks and the rate of links.
    pub thresholds: [Option<u64>; 6],
    /// `TRESSE_MPI_BOTH_WAYS`: bytes below which a broadcast over opposite rings goes to half of the ranks by each.
    /// `None`: what fills a ring.
    pub both_ways: Option<u64>,
    /// `TRESSE_MPI_CLUSTER`: the cluster file. `None`: that of the plan in force.
    pub cluster: Option<PathBuf>,
    /// `TRESSE_SOCKET`: the daemon's control socket.
    pub socket: PathBuf,
}

/// A variable of the environment that is not understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{name}={value}: expected {expected}")]
pub struct SettingsError {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What it may be.
    pub expected: &'static str,
}

impl Settings {
    /// Reads the settings, asking `variable` for each.
    ///
    /// # Errors
    /// A value that is not understood.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let flag = |name: &str, default: bool| flag(name, variable(name), default);
        let bytes = |name: &str| match variable(name).as_deref() {
            None | Some("") => Ok(None),
            Some("off") => Ok(Some(u64::MAX)),
            Some(value) => match size(value) {
                Some(bytes) => Ok(Some(bytes)),
                None => Err(wrong(name, value, "a number of bytes, also with K or M, or off")),
            },
        };
        let all = bytes("TRESSE_MPI_THRESHOLD")?;
        let mut thresholds = [None; 6];
        for (kind, threshold) in Kind::ALL.into_iter().zip(&mut thresholds) {
            let name = format!("TRESSE_MPI_{}", kind.name().to_uppercase());
            *threshold = bytes(&name)?.or(all);
        }
        let path = |name: &str| variable(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        Ok(Self {
            on: flag("TRESSE_MPI", true)?,
            everywhere: flag(EVERYWHERE, false)?,
            report: flag("TRESSE_MPI_REPORT", false)?,
            thresholds,
            both_ways: bytes("TRESSE_MPI_BOTH_WAYS")?,
            cluster: path("TRESSE_MPI_CLUSTER"),
            socket: path("TRESSE_SOCKET").unwrap_or_else(|| DEFAULT_SOCKET.into()),
        })
    }

    /// Those of a rank that uses no rings, as its variables are not understood.
    #[must_use]
    pub fn off(variable: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            on: false,
            everywhere: flag(EVERYWHERE, variable(EVERYWHERE), false).unwrap_or(false),
            report: false,
            thresholds: [None; 6],
            both_ways: None,
            cluster: None,
            socket: PathBuf::new(),
        }
    }

    /// The fewest bytes from which rings are used for a kind, where `filling` bytes fill a ring.
    ///
    /// A ring pays when what it saves on links is more than its way round takes. It saves more where the MPI would send
    /// the same bytes several times (a broadcast) than where it sends each once (a gather).
    #[must_use]
    pub fn threshold(&self, kind: Kind, filling: u64) -> u64 {
        let bytes = match kind {
            Kind::Bcast => filling / 4,
            Kind::Allgather | Kind::Allreduce | Kind::ReduceScatter => filling,
            Kind::Gather | Kind::Scatter => 2 * filling,
        };
        self.thresholds[kind as usize].unwrap_or(bytes.max(LEAST))
    }

    /// What all ranks have to set alike, as one number.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let words =
            self.thresholds.iter().chain([&self.both_ways]).map(|it| it.unwrap_or(u64::MAX - 1));
        digest(words.flat_map(u64::to_le_bytes))
    }
}

/// FNV-1a: the same in every program, where that of the standard library may change.
pub fn digest(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn flag(name: &str, value: Option<String>, default: bool) -> Result<bool, SettingsError> {
    match value.as_deref() {
        None | Some("") => Ok(default),
        Some("1" | "on" | "yes" | "true") => Ok(true),
        Some("0" | "off" | "no" | "false") => Ok(false),
        Some(value) => Err(wrong(name, value, "1 or 0")),
    }
}

/// `64K`, `1M`, `4096`.
fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 1 << 10),
        b'M' | b'm' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn wrong(name: &str, value: &str, expected: &'static str) -> SettingsError {
    SettingsError { name: name.to_owned(), value: value.to_owned(), expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_mistakes_named() {
        let set = |name: &'static str, value: &'static str| {
            Settings::read(|asked| (asked == name).then(|| value.to_owned()))
        };
        let none = Settings::read(|_| None).unwrap();
        assert!(none.on && !none.everywhere && !none.report);
        assert_eq!(none.threshold(Kind::Bcast, 1), 32 << 10);
        assert_eq!(none.threshold(Kind::Bcast, 4 << 20), 1 << 20);
        assert_eq!(none.threshold(Kind::Gather, 4 << 20), 8 << 20);
        assert_eq!(set("TRESSE_MPI_BCAST", "2M").unwrap().threshold(Kind::Bcast, 64), 2 << 20);
        assert_eq!(set("TRESSE_MPI_THRESHOLD", "0").unwrap().threshold(Kind::Gather, 64), 0);
        assert_eq!(
            set("TRESSE_MPI_REDUCE_SCATTER", "off").unwrap().threshold(Kind::ReduceScatter, 2),
            u64::MAX
        );
        assert!(!set("TRESSE_MPI", "off").unwrap().on);
        assert_ne!(none.digest(), set("TRESSE_MPI_BCAST", "1").unwrap().digest());
        assert_eq!(none.digest(), set("TRESSE_MPI_REPORT", "1").unwrap().digest());
        let both = |name: &str| Some(if name == EVERYWHERE { "1" } else { "x" }.to_owned());
        assert!(Settings::read(both).is_err() && Settings::off(both).everywhere);
        assert!(!Settings::off(|_| None).everywhere && !Settings::off(|_| Some("x".into())).on);
        let error = set("TRESSE_MPI_GATHER", "x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "TRESSE_MPI_GATHER=x: expected a number of bytes, also with K or M, or off"
        );
    }
}
