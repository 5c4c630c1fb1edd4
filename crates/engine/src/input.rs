//! What goes into the engine and what comes out. All of it is plain data, so that a recording of
//! inputs can be replayed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tresse_base::id::{PathId, Vid};
use tresse_base::units::Mac;
use tresse_control::{Alert, NodeError, Reply};
use tresse_frame::announce::Announcement;
use tresse_liveness::Watching;
use tresse_reconcile::{Observed, Operation};

use super::forwarding::Forwarding;
use super::prepared::Prepared;
use super::pushing::Pushing;
use super::steering::Steer;
use super::stored::Stored;

/// Names one control call until it is answered.
pub type CallId = u64;

/// One input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Input {
    /// The daemon has started; sent once, first.
    Start {
        /// The configured plan, used where the state holds none.
        #[serde(with = "indexed::option")]
        configured: Option<Box<Prepared>>,
    },
    /// Install a plan.
    Apply {
        /// Who waits for the answer; `None` for a reload by signal.
        call: Option<CallId>,
        /// The plan's slice.
        #[serde(with = "indexed")]
        prepared: Box<Prepared>,
        /// How.
        options: ApplyOptions,
    },
    /// Keep what the last apply installed.
    Confirm {
        /// Who waits.
        call: CallId,
    },
    /// Return to the previous plan.
    Rollback {
        /// Who waits.
        call: CallId,
    },
    /// Leave the kernel as it was found.
    Withdraw {
        /// Who waits.
        call: CallId,
        /// Leave the management guard out.
        force: bool,
    },
    /// Re-arm a fused VLAN.
    Unfuse {
        /// Who waits.
        call: CallId,
        /// The VLAN.
        vid: Vid,
    },
    /// Keep paths free, or no longer.
    Steer {
        /// Who waits.
        call: CallId,
        /// What changes.
        steer: Steer,
        /// Even where no way is left.
        force: bool,
        /// Answer what it would do.
        dry_run: bool,
    },
    /// Compare only.
    Diff {
        /// Who waits.
        call: CallId,
    },
    /// Answer to [`Effect::Observe`].
    Observed(Result<Box<View>, String>),
    /// Answer to [`Effect::Persist`].
    Persisted(Result<(), String>),
    /// Answer to [`Effect::Execute`].
    Executed(Execution),
    /// The kernel's tables changed; `overrun`: events were lost.
    Changed {
        /// Were events lost?
        overrun: bool,
    },
    /// An announcement arrived.
    Frame {
        /// On this interface.
        interface: String,
        /// From this MAC.
        source: Mac,
        /// Its content.
        announcement: Announcement,
    },
    /// The state of watched paths.
    PathEvent {
        /// That of the [`Watching`] which named the paths.
        generation: [u8; 8],
        /// Paths that are broken.
        down: BTreeSet<PathId>,
        /// Paths that are shown to be sound.
        up: BTreeSet<PathId>,
    },
    /// [`super::Engine::deadline`] has passed.
    Tick,
}

/// How to apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyOptions {
    /// Compare only.
    pub dry_run: bool,
    /// Arm the rollback timer.
    pub confirm_seconds: Option<u32>,
    /// Leave the management guard out (K19).
    pub force: bool,
    /// Use these interfaces although they have a master (K20).
    pub force_interfaces: BTreeSet<String>,
}

/// One look at the kernel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Everything that concerns us.
    pub observed: Observed,
    /// Interfaces that carry management traffic, and why (K19).
    pub guarded: BTreeMap<String, String>,
    /// `ip route get` of each management peer.
    pub management: BTreeMap<String, String>,
}

/// What became of the operations of one [`Effect::Execute`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Indices of the operations that took effect, ascending.
    pub done: Vec<usize>,
    /// (index, the kernel's words), ascending.
    pub errors: Vec<(usize, String)>,
}

/// What the runtime shall do, in order. At most one of Observe, Persist and Execute is under way
/// at any time; each is answered by its input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Effect {
    /// Look at the kernel, with the sysctls named.
    Observe {
        /// Paths below `/proc/sys`.
        sysctls: BTreeSet<String>,
    },
    /// Write the state file, synced to disk.
    Persist(Box<Stored>),
    /// Carry out operations in this order, stopping at the first failure.
    Execute(Vec<Operation>),
    /// Answer a control call.
    Reply(CallId, Result<Reply, NodeError>),
    /// Tell watchers and the log.
    Tell {
        /// How urgent.
        alert: Alert,
        /// Kind of event.
        kind: String,
        /// The object concerned.
        object: String,
        /// In words.
        message: String,
    },
    /// Hold announcement sockets on exactly these interfaces, by (name, ifindex).
    Listen(BTreeSet<(String, u32)>),
    /// Forward exactly this for others, by raw sockets.
    Forward(Box<Forwarding>),
    /// Push exactly this onto what the TUN interface gives.
    Push(Box<Pushing>),
    /// Watch exactly this.
    Watch(Box<Watching>),
    /// Send an announcement.
    Announce {
        /// On this interface.
        interface: String,
        /// From this MAC.
        source: Mac,
        /// Its content.
        announcement: Announcement,
    },
}

/// A plan in a recording has its index with it, which the state file has not.
mod indexed {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize as _, Serializer};

    use super::Prepared;
    use crate::index::Index;

    #[expect(clippy::borrowed_box, reason = "serde calls it with the field's own type")]
    pub fn serialize<S: Serializer>(prepared: &Box<Prepared>, to: S) -> Result<S::Ok, S::Error> {
        (&**prepared, &*prepared.index).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Box<Prepared>, D::Error> {
        let (mut prepared, index) = <(Box<Prepared>, Index)>::deserialize(from)?;
        prepared.index = Arc::new(index);
        Ok(prepared)
    }

    /// The same, where there may be none.
    pub mod option {
        use super::{Arc, Deserialize, Deserializer, Index, Prepared, Serializer};
        use serde::Serialize as _;

        pub fn serialize<S: Serializer>(
            prepared: &Option<Box<Prepared>>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            prepared.as_ref().map(|prepared| (&**prepared, &*prepared.index)).serialize(to)
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<Box<Prepared>>, D::Error> {
            let given = Option::<(Box<Prepared>, Index)>::deserialize(from)?;
            Ok(given.map(|(mut prepared, index)| {
                prepared.index = Arc::new(index);
                prepared
            }))
        }
    }
}
