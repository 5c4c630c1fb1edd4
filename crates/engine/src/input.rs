//! The inputs of the decision engine and its effects (the actions that it asks for), as plain data,
//! so that a recording of inputs can be replayed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tresse_base::id::{PathId, Vid};
use tresse_base::units::Mac;
use tresse_control::{Alert, NodeError, Reply};
use tresse_frame::announce::Announcement;
use tresse_frame::records::Origin;
use tresse_liveness::Watching;
use tresse_liveness::records::Report;
use tresse_reconcile::{Observed, Operation};

use super::forwarding::Forwarding;
use super::prepared::Prepared;
use super::pushing::Pushing;
use super::sent::{Sampled, Sent};
use super::steering::Steer;
use super::stored::Stored;

/// Identifies a control call until it is answered.
pub type CallId = u64;

/// An input of the decision engine: an operator's call, the result of an effect, a change of the
/// kernel, a received announcement, a path event, or the time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Input {
    /// The daemon has started. The first input, sent once.
    Start {
        /// The configured plan, used if no plan is stored.
        #[serde(with = "indexed::option")]
        configured: Option<Box<Prepared>>,
    },
    /// Install a plan.
    Apply {
        /// The call to answer; `None` for a reload by signal.
        call: Option<CallId>,
        /// This node's part of the plan.
        #[serde(with = "indexed")]
        prepared: Box<Prepared>,
        /// Options of the call.
        options: ApplyOptions,
    },
    /// Keep what the last apply installed.
    Confirm {
        /// The call to answer.
        call: CallId,
        /// The plan that is meant; none: whichever waits for it.
        generation: Option<String>,
    },
    /// Return to the plan before.
    Rollback {
        /// The call to answer.
        call: CallId,
    },
    /// Remove everything that was installed.
    Withdraw {
        /// The call to answer.
        call: CallId,
        /// Do without the management guard.
        force: bool,
    },
    /// Use a fused VLAN again.
    Unfuse {
        /// The call to answer.
        call: CallId,
        /// The VLAN.
        vid: Vid,
    },
    /// Use detours as they are needed, or no more.
    Detours {
        /// The call to answer.
        call: CallId,
        /// Use them?
        used: bool,
    },
    /// Change what is drained or pinned.
    Steer {
        /// The call to answer.
        call: CallId,
        /// The change.
        steer: Steer,
        /// Also if a destination would have no path left.
        force: bool,
        /// Only report the effects.
        dry_run: bool,
    },
    /// Only compare the kernel with the slice.
    Diff {
        /// The call to answer.
        call: CallId,
    },
    /// The result of [`Effect::Observe`].
    Observed(Result<Box<View>, String>),
    /// The result of [`Effect::Persist`].
    Persisted(Result<(), String>),
    /// The result of [`Effect::Execute`].
    Executed(Execution),
    /// The kernel's tables changed.
    Changed(Changes),
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
        /// Those of them that are shown to be sound again, but not trusted yet.
        #[serde(default)]
        held: BTreeSet<PathId>,
        /// Paths that are shown to be sound.
        up: BTreeSet<PathId>,
        /// Paths whose sessions are not up: what is sound of them is so by echoes.
        #[serde(default)]
        silent: BTreeSet<PathId>,
    },
    /// Other nodes say something new of the hops to their neighbours; `None`: nothing more.
    Reports(BTreeMap<Origin, Option<Report>>),
    /// What this node has sent since the last time, where [`Effect::Sample`] asks for it.
    Sent(Box<Sent>),
    /// The time returned by [`super::Engine::deadline`] has come.
    Tick,
}

/// Options of an apply, the installation of a plan: dry run, time for confirmation, and exceptions
/// from safety rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyOptions {
    /// Only compare.
    pub dry_run: bool,
    /// Roll back after this time unless confirmed.
    pub confirm_seconds: Option<u32>,
    /// Do without the management guard (K19).
    pub force: bool,
    /// Use these interfaces although they have a master (K20).
    pub force_interfaces: BTreeSet<String>,
}

/// One observation of the kernel: its objects, the interfaces that carry management traffic, and
/// the routes to management peers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// The kernel objects that concern us.
    pub observed: Observed,
    /// Interfaces that carry management traffic, each with the reason (K19).
    pub guarded: BTreeMap<String, String>,
    /// The route to each management peer, as `ip route get` prints it.
    pub management: BTreeMap<String, String>,
}

/// What is known of a change of the kernel's tables before they are looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Were events lost?
    pub overrun: bool,
    /// Interfaces that changed: `false` for one that is set up and has no carrier.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub carriers: BTreeMap<String, bool>,
}

/// The result of one [`Effect::Execute`]: which kernel operations took effect, and the errors of
/// those that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Indices of the operations that took effect, ascending.
    pub done: Vec<usize>,
    /// (index, the kernel's error message), ascending.
    pub errors: Vec<(usize, String)>,
}

/// An action that the decision engine asks the daemon's main loop to carry out. Effects are carried
/// out in the order given. At most one Observe, Persist or Execute is under way at any time; its
/// result comes back as the input Observed, Persisted or Executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Effect {
    /// Observe the kernel, with these sysctls.
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
    /// Publish an event, to clients and to the log.
    #[serde(rename = "Tell")]
    Publish {
        /// How urgent.
        alert: Alert,
        /// Kind of event.
        kind: String,
        /// The object concerned.
        object: String,
        /// The event in words.
        message: String,
    },
    /// Keep announcement sockets open on exactly these interfaces, by (name, ifindex).
    Listen(BTreeSet<(String, u32)>),
    /// Replace the forwarding table of the `packet` engine.
    Forward(Box<Forwarding>),
    /// Replace the table of the source engine behind the TUN interface.
    Push(Box<Pushing>),
    /// Replace the list of watched paths.
    Watch(Box<Watching>),
    /// Sample what this node sends, and say once a second what that was ([`Input::Sent`]); without interfaces: stop it.
    Sample(Sampled),
    /// Say to all nodes what this one knows of the hops to its neighbours.
    Originate {
        /// FNV-1a hash of the fabric's name.
        fabric: [u8; 8],
        /// This node.
        node: Origin,
        /// What it says.
        report: Box<Report>,
    },
    /// Send an announcement.
    Announce {
        /// Send on this interface.
        interface: String,
        /// Source MAC address.
        source: Mac,
        /// Its content.
        announcement: Announcement,
    },
}

/// Serializes a plan with its index, for recordings; the state file leaves the index out.
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

    /// The same for an optional plan.
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
