//! Checks a plan whose VLANs are known to be trees by one walk over the paths of all pairs of nodes:
//! deadlocks, path lengths and limits of switches. The effect of failures is checked elsewhere.

use std::collections::BTreeMap;

use tresse_plan::{Longer, Plan};
use tresse_topology::cluster::Link;
use tresse_topology::coordinates::too_small;
use tresse_topology::vlan::Role;
use tresse_topology::{Channel, Grid};

use super::names::pair_name;
use super::{Finding, Survey, limits};

/// All results except the effect of failures.
pub(super) struct Judged {
    pub(super) survey: Survey,
    pub(super) cycle: Option<Vec<[String; 2]>>,
    pub(super) primaries_deadlock_free: bool,
    pub(super) violations: Vec<Finding>,
    pub(super) notes: Vec<Finding>,
}

impl Judged {
    /// Walks every path of a plan whose VLANs are trees.
    pub(super) fn of(plan: &Plan) -> Self {
        let survey = Survey::of(plan);
        let cycle = survey.dependencies.cycle(plan.graph()).map(|cycle| named(plan, &cycle));
        let primaries_deadlock_free = cycle.is_none()
            || plan.cluster().routing.paths > 1
                && Survey::of_primaries(plan).dependencies.cycle(plan.graph()).is_none();
        let (mut violations, mut notes) = (Vec::new(), Vec::new());
        if let Some(cycle) = &cycle {
            let lossless = plan.cluster().routing.lossless;
            let found = deadlock(plan, cycle, lossless, primaries_deadlock_free);
            if lossless { &mut violations } else { &mut notes }.push(found);
        }
        if let Some((s, d)) = survey.not_minimal {
            notes.push(Finding {
                kind: "not-minimal",
                object: pair_name(plan, s, d),
                message: longer(plan, &survey.longer),
            });
        }
        notes.extend(without_room(plan));
        violations.extend(limits::of_switches(plan));
        limits::of_paths(plan, &survey, &mut violations, &mut notes);
        notes.extend(lags(plan));
        if !plan.cluster().links.is_empty() {
            notes.extend(silent(plan, "cables between switches, switches"));
        }
        Self { survey, cycle, primaries_deadlock_free, violations, notes }
    }
}

/// Returns a note on routes that are not the best ones, as there are too few VLANs.
fn without_room(plan: &Plan) -> Option<Finding> {
    let (routes, ends, room) = plan.without_room()?;
    if plan.count(Role::Primary) < plan.cluster().most_trees() {
        return None;
    }
    let [s, d] = ends.map(|end| plan.cluster().switch(end).name.as_str());
    let message = format!(
        "{routes} routes between switches, this one first, are not those of the lowest load: {room}, and those fit into none \
         of these. With room for more VLANs the busiest link may carry less"
    );
    Some(Finding { kind: "no-room", object: format!("{s} {d}"), message })
}

/// Returns a note on how many primaries are longer than the shortest path, and why.
pub(super) fn longer(plan: &Plan, longer: &[u64; Longer::ALL.len()]) -> String {
    let each = Longer::ALL.into_iter().zip(longer).filter(|(_, pairs)| **pairs > 0);
    let each =
        each.map(|(cause, pairs)| format!("{pairs} because {}", cause.words(plan.cluster())));
    format!(
        "{} ordered pairs, this one first, have a primary that is longer than the shortest path: \
         {}",
        longer.iter().sum::<u64>(),
        each.collect::<Vec<_>>().join("; ")
    )
}

/// Returns a note on failures of `objects` that cause no carrier loss at the nodes whose paths they
/// cut (K1).
pub(super) fn silent(plan: &Plan, objects: &str) -> Option<Finding> {
    (plan.cluster().routing.paths > 1).then(|| Finding {
        kind: "silent-failures",
        object: objects.into(),
        message: "what these leave is by the paths of the plan, to which nodes move when BFD has found the \
                  failure: in 900 ms unless `bfd` in tressed.toml says otherwise, never where that is off"
            .into(),
    })
}

/// Returns notes on `lag = true`: what it makes one link, and where one end alone has it.
pub(super) fn lags(plan: &Plan) -> Vec<Finding> {
    let cluster = plan.cluster();
    let between = |link: &Link| {
        let [a, b] = [link.a, link.b].map(|end| cluster.switch(end.switch));
        (format!("{}-{}", a.name, b.name), a.lag != b.lag)
    };
    let find = |kind, objects: Vec<String>, message: &str| {
        let (first, more) = (objects.first()?, objects.len() - 1);
        let object = if more == 0 { first.clone() } else { format!("{first} and {more} more") };
        Some(Finding { kind, object, message: message.into() })
    };
    let groups = cluster.lags.iter().map(|lag| between(cluster.link(lag.link)).0).collect();
    let group = "one link of several cables, by lag = true: a flow uses one of them, and loads count on flows that are spread \
                 evenly";
    let mut cables: BTreeMap<String, u32> = BTreeMap::new();
    for (name, _) in cluster.links.iter().map(between).filter(|(_, one_end)| *one_end) {
        *cables.entry(name).or_default() += 1;
    }
    let one_end = cables.into_iter().filter(|(_, cables)| *cables > 1).map(|(name, _)| name);
    let alone = "lag = true at one end only: its cables are no group, and a VLAN uses one of them";
    find("lag", groups, group)
        .into_iter()
        .chain(find("not-used", one_end.collect(), alone))
        .collect()
}

/// Nodes that get another address than the lock has for them.
pub(super) fn renumbered(plan: &Plan) -> Option<Finding> {
    let (nodes, all) = (plan.renumbered(), plan.cluster().nodes.len());
    let message = "another address than tresse.lock has: programs and /etc/hosts know the old ones. \
                   `[addressing] layout` and `grow_to` decide it. A rollout refuses addresses that nodes exchange: then give \
                   `nodes` and `nics` other prefixes in the same step, or run `tresse withdraw` on every node first";
    let object = format!("{nodes} of {all} nodes");
    (nodes > 0).then(|| Finding { kind: "renumbered", object, message: message.into() })
}

/// Nodes that are numbered one after the other, as their prefix has no room for coordinates.
pub(super) fn sequential(plan: &Plan) -> Option<Finding> {
    let cluster = plan.cluster();
    let asked = plan.names_layout();
    let (prefix, encoding) =
        too_small(&cluster.kind, &cluster.addressing.nodes).filter(|_| !asked)?;
    let (bits, longest) = (encoding.bits(), encoding.longest_prefix(prefix));
    let message = format!(
        "too small for node addresses by coordinates, which take {bits} bits: nodes are numbered one after the other, and \
         each has a route of its own. Give `[addressing] nodes` a /{longest} or larger before the first rollout (a later \
         change gives nodes other addresses), or write `layout = \"sequential\"` if that is what you want"
    );
    Some(Finding { kind: "sequential-addresses", object: prefix.to_string(), message })
}

fn deadlock(plan: &Plan, cycle: &[[String; 2]], lossless: bool, primaries_free: bool) -> Finding {
    let mut message =
        format!("the channel dependency graph has a cycle of {} channels", cycle.len());
    message += &match (lossless, primaries_free) {
        (true, _) => {
            let way: Vec<_> = cycle.iter().map(|[from, _]| from.as_str()).collect();
            let grid = Grid::of(&plan.cluster().kind);
            let dor = if grid.is_some_and(|grid| !grid.is_torus()) { "dor, " } else { "" };
            let way = way.join(" -> ");
            format!(" ({way}), and lossless = true: use {dor}transit, updown or stp")
        }
        (false, true) => ", made by backup paths: switches that send PAUSE can deadlock; export \
                          switches flow control off, lossless = true takes other backups"
            .into(),
        (false, false) => {
            ": switches that send PAUSE can deadlock; export switches flow control off".into()
        }
    };
    Finding { kind: "deadlock", object: format!("{} -> {}", cycle[0][0], cycle[0][1]), message }
}

fn named(plan: &Plan, cycle: &[Channel]) -> Vec<[String; 2]> {
    let name = |s: u32| plan.cluster().switches[s as usize].name.clone();
    let ends = |c: &Channel| [name(plan.graph().tail(*c)), name(plan.graph().head(*c))];
    cycle.iter().map(ends).collect()
}
