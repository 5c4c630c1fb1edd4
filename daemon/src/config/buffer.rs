//! The key `transit_buffer`: what may wait in memory for a NIC that is busy, where this daemon forwards for other nodes.

use std::time::Duration;

use serde::Deserialize;
use tresse_linux::forward::TransitBuffer;

/// Value of the key `transit_buffer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BufferChoice {
    /// Memory of all NICs together.
    pub memory: Memory,
    /// What has waited for so long is dropped, 1 to 60,000 ms.
    pub wait_ms: u32,
}

/// An amount of memory in bytes, written `64M` or `1G`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Memory(pub u64);

const LEAST: u64 = 1 << 20;
const MOST: u64 = 2 << 30;

impl TryFrom<String> for Memory {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let units = [('K', 1u64 << 10), ('M', 1 << 20), ('G', 1 << 30)];
        let split = |(name, unit)| Some((text.strip_suffix(name)?, unit));
        let (number, unit) = units.into_iter().find_map(split).unwrap_or((&text, 1));
        let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
        bytes.filter(|bytes| (LEAST..=MOST).contains(bytes)).map(Self).ok_or_else(|| {
            format!("transit_buffer.memory: `{text}`, expected 1M to 2G, such as 64M")
        })
    }
}

impl Default for BufferChoice {
    fn default() -> Self {
        let TransitBuffer { memory_bytes, wait } = TransitBuffer::default();
        Self { memory: Memory(memory_bytes), wait_ms: wait.as_millis() as u32 }
    }
}

impl BufferChoice {
    /// What is wrong with it.
    pub fn fault(self) -> Option<String> {
        let fits = (1..=60_000).contains(&self.wait_ms);
        (!fits).then(|| format!("transit_buffer.wait_ms is {}, expected 1 to 60000", self.wait_ms))
    }

    /// The same for the forwarding engine.
    #[must_use]
    pub const fn buffer(self) -> TransitBuffer {
        let wait = Duration::from_millis(self.wait_ms as u64);
        TransitBuffer { memory_bytes: self.memory.0, wait }
    }
}
