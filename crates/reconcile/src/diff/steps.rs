//! Collects the operations that the comparisons add, and puts them into the order in which they are
//! executed.

use crate::{Object, Operation, Pending, PendingReason, Planned, Reconciliation, Refusal, Why};

/// The place of an operation in the final order.
#[derive(Clone, Copy)]
pub(super) enum Phase {
    Guard,
    Isolate,
    InterfaceSysctls,
    GlobalSysctls,
    Links,
    Filters,
    LabelInputs,
    Up,
    Addresses,
    Neighbours,
    Fdb,
    Labels,
    DropEndpoints,
    DropRules,
    TableRoutes,
    DropTableRoutes,
    Rules,
    Nexthops,
    NewGroups,
    ReplacedGroups,
    BackupRoutes,
    PrimaryRoutes,
    Unreachable,
    Endpoints,
    DropPrimaryRoutes,
    DropBackupRoutes,
    DropUnreachable,
    DropUnusedRules,
    DropUnusedTableRoutes,
    DropGroups,
    DropNexthops,
    DropLabels,
    DropFdb,
    DropNeighbours,
    DropAddresses,
    Down,
    DropLinks,
    RestoreGlobalSysctls,
    RestoreInterfaceSysctls,
    DropFilters,
    DropGuard,
}

const PHASES: usize = Phase::DropGuard as usize + 1;

pub(super) struct Steps {
    pub(super) phases: [Vec<Planned>; PHASES],
    pub(super) pending: Vec<Pending>,
    pub(super) refused: Vec<Refusal>,
    pub(super) drift: Vec<Refusal>,
}

impl Default for Steps {
    fn default() -> Self {
        let phases = std::array::from_fn(|_| Vec::new());
        Self { phases, pending: Vec::new(), refused: Vec::new(), drift: Vec::new() }
    }
}

impl Steps {
    pub(super) fn push(&mut self, phase: Phase, operation: Operation, why: Why) {
        self.phases[phase as usize].push(Planned { operation, why });
    }

    pub(super) fn wait(&mut self, object: Object, why: PendingReason) {
        self.pending.push(Pending { object, why });
    }

    pub(super) fn finish(self) -> Reconciliation {
        let Self { phases, pending, refused, drift } = self;
        let mut operations = Vec::with_capacity(phases.iter().map(Vec::len).sum());
        phases.into_iter().for_each(|phase| operations.extend(phase));
        Reconciliation { operations, pending, refused, drift }
    }
}
