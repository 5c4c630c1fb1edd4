//! What an earlier run measured, kept in a file beside the cluster file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::finding::{Earlier, Finding, Verdict};
use crate::targets::Kind;

/// The form of the file.
const FORMAT: u32 = 1;

/// What an earlier run measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    format: u32,
    /// The fabric's name.
    pub fabric: String,
    /// When it was measured: seconds since 1970.
    pub at: u64,
    /// By kind and name of the target. A name without its kind is not unique.
    targets: BTreeMap<String, Earlier>,
}

impl Baseline {
    /// What these findings have; those that are not ok are left out.
    #[must_use]
    pub fn of(fabric: &str, at: u64, findings: &[Finding]) -> Self {
        let good = findings.iter().filter(|finding| finding.verdict == Verdict::Ok);
        let targets = good.map(|finding| {
            let mbits = finding.mbits.iter().flatten().copied().reduce(f64::min);
            let earlier = Earlier { mbits, round_trip_ms: finding.round_trip_ms };
            (key(finding.kind, &finding.object), earlier)
        });
        Self { format: FORMAT, fabric: fabric.to_owned(), at, targets: targets.collect() }
    }

    /// The same, with what an earlier one has instead, where that has something; whether that adds to the earlier one.
    #[must_use]
    pub fn after(mut self, earlier: Self) -> (Self, bool) {
        let had = earlier.targets.len();
        self.targets.extend(earlier.targets);
        let adds = self.targets.len() > had;
        (self, adds)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// In words, why it is none of this fabric.
    pub fn read(text: &str, fabric: &str) -> Result<Self, String> {
        let read: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if read.format != FORMAT {
            return Err(format!("its format is {}, and this version reads {FORMAT}", read.format));
        }
        if read.fabric != fabric {
            return Err(format!("it is of the fabric `{}`, and this is `{fabric}`", read.fabric));
        }
        Ok(read)
    }

    /// What it has of a target.
    #[must_use]
    pub fn find(&self, kind: Kind, name: &str) -> Option<Earlier> {
        self.targets.get(&key(kind, name)).copied()
    }
}

fn key(kind: Kind, name: &str) -> String {
    let kind = match kind {
        Kind::Cable => "cable",
        Kind::Path => "path",
        Kind::Through => "through",
        Kind::Together => "together",
    };
    format!("{kind} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_good_is_kept_and_found_again() {
        let finding = |object: &str, verdict| Finding {
            kind: Kind::Cable,
            object: object.into(),
            verdict,
            sent: Some(100),
            lost: Some(0),
            round_trip_ms: Some(0.5),
            largest: Some(1500),
            mbits: [Some(940.0), Some(930.0)],
            promised_mbits: 941.0,
            before_mbits: None,
            cause: None,
        };
        let all = [finding("a", Verdict::Ok), finding("b", Verdict::Slow)];
        let text = serde_json::to_string(&Baseline::of("ring-4", 7, &all)).unwrap();
        let read = Baseline::read(&text, "ring-4").unwrap();
        let earlier = Earlier { mbits: Some(930.0), round_trip_ms: Some(0.5) };
        assert_eq!(read.find(Kind::Cable, "a"), Some(earlier));
        assert_eq!((read.find(Kind::Cable, "b"), read.find(Kind::Through, "a")), (None, None));
        assert!(Baseline::read(&text, "ring-5").unwrap_err().contains("of the fabric `ring-4`"));
        let more =
            Baseline::of("ring-4", 8, &[finding("a", Verdict::Ok), finding("c", Verdict::Ok)]);
        let (both, adds) = more.clone().after(read.clone());
        assert!(adds && both.find(Kind::Cable, "c").is_some() && !more.after(both).1);
        let other = text.replace("\"format\":1", "\"format\":2");
        assert!(Baseline::read(&other, "ring-4").unwrap_err().contains("format is 2"));
        assert!(Baseline::read("{", "ring-4").is_err());
    }
}
