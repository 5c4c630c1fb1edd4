//! Resolves the table `[routing]`: the strategy that chooses the paths, and its options. Checks that the strategy is
//! defined on the kind of topology.

use tresse_base::problem::{Found, ProblemKind};
use tresse_topology::cluster::{Choice, Prefer, ReflectMode, Routing, Strategy, TopologyShape};

use super::shape::Shape;
use super::values::within;
use crate::file::{PathChoice, Preference, Routing as Table, StrategyName};
use crate::kinds::TopologyKind;
use crate::limits;
use crate::read::{At, Keys};

/// Returns the resolved table, and the strategy if it is known. After a bad strategy the table holds the default,
/// from which callers must conclude nothing.
pub(super) fn routing(
    table: Option<&At<Table>>,
    absent: bool,
    shape: &Shape,
    found: &mut Found,
) -> (Routing, Option<Strategy>) {
    let fallback = match shape {
        Shape::Generated {
            kind: TopologyShape::Mesh { .. } | TopologyShape::Torus { .. }, ..
        } => Strategy::Dor,
        Shape::Generated {
            kind: TopologyShape::Clos { .. } | TopologyShape::FatTree { .. },
            ..
        } => Strategy::Minimal,
        Shape::Generated { kind: TopologyShape::Cabled { .. }, .. } => Strategy::Shortest,
        Shape::Generated { kind, .. } if kind.is_routed() => Strategy::Xy,
        Shape::Unknown(Some(kind)) if kind.is_routed() => Strategy::Xy,
        _ if shape.is_fnn() => Strategy::Direct,
        _ => Strategy::Stp,
    };
    let Some(table) = table.map(|t| &t.value) else {
        let routing = Routing {
            strategy: fallback,
            paths: 2,
            lossless: false,
            reflect: ReflectMode::Off,
            use_uplink: false,
            choice: Choice::Balanced,
            prefer: Prefer::Balance,
            mptcp: false,
        };
        return (routing, absent.then_some(fallback));
    };
    refuse_root(table, found);
    refuse_demand(table, found);
    let strategy = match &table.strategy {
        Some(name) => strategy(name, shape, found),
        None => table.lacks("strategy").then_some(fallback),
    };
    let routing = Routing {
        strategy: strategy.unwrap_or(fallback),
        paths: within(table.paths.as_ref(), "paths", 1..=limits::PATHS, 2, found),
        lossless: table.lossless.as_ref().is_some_and(|l| l.value),
        reflect: table.reflect.as_ref().map_or(ReflectMode::Off, |reflect| reflect.value.0),
        use_uplink: table.use_uplink.as_ref().is_some_and(|uplink| uplink.value),
        choice: match table.choice.as_ref().map(|choice| choice.value) {
            Some(PathChoice::Paper) => Choice::Paper,
            Some(PathChoice::Balanced) | None => Choice::Balanced,
        },
        prefer: match table.prefer.as_ref().map(|prefer| prefer.value) {
            Some(Preference::FewestVlans) => Prefer::FewestVlans,
            Some(Preference::Balance) | None => Prefer::Balance,
        },
        mptcp: table.mptcp.as_ref().is_some_and(|mptcp| mptcp.value),
    };
    refuse_choice(table, strategy, found);
    refuse_prefer(table, strategy, found);
    refuse_reflectors(table, strategy, found);
    refuse_uplink(table, shape, found);
    refuse_mptcp(table, shape, found);
    (routing, strategy)
}

fn strategy(name: &At<StrategyName>, shape: &Shape, found: &mut Found) -> Option<Strategy> {
    let strategy = match name.value {
        StrategyName::Stp => Strategy::Stp,
        StrategyName::Dor => Strategy::Dor,
        StrategyName::Pdor => Strategy::Pdor,
        StrategyName::Updown => Strategy::Updown { root: None },
        StrategyName::Minimal => Strategy::Minimal,
        StrategyName::Transit => Strategy::Transit { root: None },
        StrategyName::Xy => Strategy::Xy,
        StrategyName::Direct => Strategy::Direct,
        StrategyName::Shortest => Strategy::Shortest,
    };
    if let Some((message, help)) = mismatch(name.value, strategy, shape) {
        found.add(ProblemKind::StrategyMismatch, &name.span, message, help);
        return None;
    }
    Some(strategy)
}

/// Returns the name that a strategy has in the cluster file, such as `dor` or `updown`.
#[must_use]
pub const fn strategy_name(strategy: Strategy) -> &'static str {
    let name = match strategy {
        Strategy::Stp => StrategyName::Stp,
        Strategy::Dor => StrategyName::Dor,
        Strategy::Pdor => StrategyName::Pdor,
        Strategy::Updown { .. } => StrategyName::Updown,
        Strategy::Minimal => StrategyName::Minimal,
        Strategy::Transit { .. } => StrategyName::Transit,
        Strategy::Xy => StrategyName::Xy,
        Strategy::Direct => StrategyName::Direct,
        Strategy::Shortest => StrategyName::Shortest,
    };
    name.word()
}

/// Reports dimension-order strategies on topologies without dimensions, and others that a topology does not have.
fn mismatch(name: StrategyName, strategy: Strategy, shape: &Shape) -> Option<(String, String)> {
    let cabled = matches!(shape, Shape::Generated { kind: TopologyShape::Cabled { .. }, .. });
    match (strategy, shape) {
        (Strategy::Shortest, _) if cabled => return None,
        (_, Shape::Unknown(Some(TopologyKind::Explicit) | None))
            if strategy == Strategy::Shortest =>
        {
            return None;
        }
        (Strategy::Shortest, _) => {
            let message = "strategy `shortest` needs cables between nodes, each listed as [[link]]";
            let help = "leave it out, or topology explicit without [[switch]]";
            return Some((message.to_owned(), help.to_owned()));
        }
        _ if cabled => {
            let message =
                format!("nodes route over the cables between them: not strategy `{}`", name.word());
            return Some((message, "strategy = \"shortest\", or leave it out".to_owned()));
        }
        _ => {}
    }
    let routed = match shape {
        Shape::Generated { kind, .. } => kind.is_routed().then(|| TopologyKind::of(kind).word()),
        Shape::Unknown(Some(kind)) => kind.is_routed().then(|| kind.word()),
        Shape::Explicit | Shape::Unknown(None) => None,
    };
    let flat = match shape {
        _ if shape.is_fnn() => Some(true),
        Shape::Explicit | Shape::Unknown(Some(TopologyKind::Explicit) | None) => None,
        _ => Some(false),
    };
    match (strategy, flat) {
        (Strategy::Direct, None | Some(true)) => return None,
        (Strategy::Direct, Some(false)) => {
            let message = "strategy `direct` needs switches without cables between them";
            let help = "leave it out, or topology fnn, or explicit without links";
            return Some((message.to_owned(), help.to_owned()));
        }
        (_, Some(true)) => {
            let message = format!(
                "topology `fnn` has no paths between switches: not strategy `{}`",
                name.word()
            );
            return Some((message, "strategy = \"direct\", or leave it out".to_owned()));
        }
        _ => {}
    }
    match (strategy, routed, shape) {
        (Strategy::Xy, Some(_), _) | (Strategy::Xy, None, Shape::Unknown(None)) => return None,
        (Strategy::Xy, None, _) => {
            let help = "strategy = \"transit\" or \"stp\", or topology pmesh, direct-mesh, \
                        direct-torus, ring or full-mesh";
            let message = "strategy `xy` needs nodes that route";
            return Some((message.to_owned(), help.to_owned()));
        }
        (_, Some(word), _) => {
            let message =
                format!("the nodes of topology `{word}` route: not strategy `{}`", name.word());
            return Some((message, "strategy = \"xy\", or leave it out".to_owned()));
        }
        _ => {}
    }
    let kind = match shape {
        Shape::Explicit => TopologyKind::Explicit,
        Shape::Generated { kind, .. } => TopologyKind::of(kind),
        Shape::Unknown(kind) => (*kind)?,
    };
    let others = match (strategy, kind) {
        (Strategy::Dor, _) if kind.has_dor() => return None,
        (Strategy::Pdor, _) if kind.has_pdor() => return None,
        (Strategy::Pdor, TopologyKind::Hyperx) => "\"dor\", ",
        (Strategy::Dor | Strategy::Pdor, _) => "",
        _ => return None,
    };
    let fits = match strategy {
        Strategy::Dor => "mesh, torus, hypercube or hyperx",
        _ => "mesh, torus or hypercube",
    };
    Some((
        format!("strategy `{}` is not defined on topology `{}`", name.word(), kind.word()),
        format!(
            "strategy = {others}\"minimal\", \"transit\", \"updown\" or \"stp\", or topology {fits}"
        ),
    ))
}

/// Reports `root` for a strategy whose trees have no root.
fn refuse_root(table: &Table, found: &mut Found) {
    let rooted = [StrategyName::Updown, StrategyName::Transit];
    let Some(root) = &table.root else { return };
    let fits = match &table.strategy {
        Some(name) => rooted.contains(&name.value),
        None => !table.lacks("strategy"),
    };
    if !fits {
        let help = "leave it out, or strategy = \"updown\"".to_owned();
        let message = "`root` belongs to strategy updown or transit";
        found.add(ProblemKind::UnknownKey, &root.key, message, help);
    }
}

/// Reports `choice` for a strategy other than transit.
fn refuse_choice(table: &Table, strategy: Option<Strategy>, found: &mut Found) {
    let Some(choice) = &table.choice else { return };
    if strategy.is_some_and(|strategy| !matches!(strategy, Strategy::Transit { .. })) {
        let message = format!("`choice = \"{}\"` belongs to strategy transit", choice.value.word());
        let help = "leave it out, or strategy = \"transit\"".to_owned();
        found.add(ProblemKind::UnknownKey, &choice.key, message, help);
    }
}

/// Reports `prefer` for a strategy that packs no paths into trees, or the paths of the paper.
fn refuse_prefer(table: &Table, strategy: Option<Strategy>, found: &mut Found) {
    let Some((prefer, strategy)) = table.prefer.as_ref().zip(strategy) else { return };
    let packs = [StrategyName::Minimal, StrategyName::Updown, StrategyName::Transit];
    let written = prefer.value.word();
    let paper = table.choice.as_ref().is_some_and(|choice| choice.value == PathChoice::Paper);
    let (message, help) = if !packs.iter().any(|name| name.word() == strategy_name(strategy)) {
        (
            format!(
                "`prefer = \"{written}\"` belongs to strategy minimal, updown or transit, not `{}`",
                strategy_name(strategy)
            ),
            "leave it out, or strategy = \"minimal\"",
        )
    } else if paper && prefer.value == Preference::FewestVlans {
        (
            format!(
                "`prefer = \"{written}\"` chooses among paths, and `choice = \"paper\"` draws them"
            ),
            "leave one of them out",
        )
    } else {
        return;
    };
    found.add(ProblemKind::UnknownKey, &prefer.key, message, help.to_owned());
}

/// Reports `reflect` for a strategy of one tree. One tree has one path between any two switches, so a detour
/// crosses every link that it should relieve.
fn refuse_reflectors(table: &Table, strategy: Option<Strategy>, found: &mut Found) {
    let Some(reflect) = &table.reflect else { return };
    let written = match reflect.value.0 {
        ReflectMode::Off => return,
        ReflectMode::Demand => "reflect = true",
        ReflectMode::Adaptive => "reflect = \"adaptive\"",
    };
    if matches!(strategy, Some(Strategy::Xy | Strategy::Shortest)) {
        let message = format!("{written} has no detours where nodes route");
        found.add(ProblemKind::StrategyMismatch, &reflect.key, message, "leave it out".to_owned());
    }
    if strategy == Some(Strategy::Stp) {
        let message = format!("{written} has no detours on one tree, that of strategy `stp`");
        let help = "strategy = \"minimal\", \"updown\" or \"transit\"".to_owned();
        found.add(ProblemKind::StrategyMismatch, &reflect.key, message, help);
    }
}

/// Reports `use_uplink` where there is none, or nothing that would use it.
fn refuse_uplink(table: &Table, shape: &Shape, found: &mut Found) {
    let Some(uplink) = table.use_uplink.as_ref().filter(|uplink| uplink.value) else { return };
    let no_uplink = match shape {
        Shape::Generated { kind: TopologyShape::Fnn { uplink, .. }, .. } => uplink.is_none(),
        Shape::Unknown(kind) => !matches!(kind, None | Some(TopologyKind::Fnn)),
        Shape::Generated { .. } | Shape::Explicit => true,
    };
    let reflects = table.reflect.as_ref().is_some_and(|of| of.value.0 != ReflectMode::Off);
    let (message, help) = match (no_uplink, reflects) {
        (true, _) => (
            "use_uplink = true needs the uplink of a flat neighbourhood",
            "leave it out, or topology = { kind = \"fnn\", uplink = \"u0\", ... }",
        ),
        (false, false) => (
            "use_uplink = true is about detours, and there are none without `reflect`",
            "reflect = true, or reflect = \"adaptive\"",
        ),
        (false, true) => return,
    };
    found.add(ProblemKind::StrategyMismatch, &uplink.key, message.to_owned(), help.to_owned());
}

/// Reports a `demand` other than "uniform". Other traffic is listed in the file itself, since every node plans from
/// the text of this one file.
fn refuse_demand(table: &Table, found: &mut Found) {
    let Some(demand) = table.demand.as_ref().filter(|d| d.value != "uniform") else { return };
    let message = format!("`demand` is \"uniform\" or left out, not `{}`", demand.value);
    let help = "list other traffic in this file: [[demand]] with from = \"n[0-3]\", \
                to = \"n[4-7]\", weight = 1"
        .to_owned();
    found.add(ProblemKind::UnknownChoice, &demand.span, message, help);
}

/// Reports `mptcp` if nodes route: packets from the address of one NIC may then leave by any NIC.
fn refuse_mptcp(table: &Table, shape: &Shape, found: &mut Found) {
    let Some(mptcp) = table.mptcp.as_ref().filter(|mptcp| mptcp.value) else { return };
    let routed = match shape {
        Shape::Generated { kind, .. } => kind.is_routed(),
        Shape::Unknown(kind) => kind.is_some_and(|kind| kind.is_routed()),
        Shape::Explicit => false,
    };
    if routed {
        let message = "mptcp = true is not yet planned where nodes route";
        found.add(ProblemKind::NotYet, &mptcp.key, message, "leave it out".to_owned());
    }
}
