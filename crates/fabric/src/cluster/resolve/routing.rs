//! `[routing]`: which strategy, and whether it is defined on the topology.

use super::super::file::{Routing as Table, StrategyName, TopologyKind};
use super::super::limits;
use super::super::problem::{Found, ProblemKind};
use super::super::read::{At, Keys};
use super::super::{Kind, Routing, Strategy};
use super::shape::Shape;
use super::within;

/// The table resolved, and its strategy where that is known: after a bad one the default stands in, and
/// nothing may be concluded from it.
pub(super) fn routing(
    table: Option<&At<Table>>,
    absent: bool,
    shape: &Shape,
    found: &mut Found,
) -> (Routing, Option<Strategy>) {
    let fallback = match shape {
        Shape::Generated { kind: Kind::Mesh { .. } | Kind::Torus { .. }, .. } => Strategy::Dor,
        _ => Strategy::Stp,
    };
    let Some(table) = table.map(|t| &t.value) else {
        let routing = Routing { strategy: fallback, paths: 2, lossless: false };
        return (routing, absent.then_some(fallback));
    };
    refuse_later_keys(table, found);
    refuse_root(table, found);
    let strategy = match &table.strategy {
        Some(name) => strategy(name, shape, found),
        None => table.lacks("strategy").then_some(fallback),
    };
    let routing = Routing {
        strategy: strategy.unwrap_or(fallback),
        paths: within(table.paths.as_ref(), "paths", 1..=limits::PATHS, 2, found),
        lossless: table.lossless.as_ref().is_some_and(|l| l.value),
    };
    (routing, strategy)
}

fn strategy(name: &At<StrategyName>, shape: &Shape, found: &mut Found) -> Option<Strategy> {
    let strategy = match name.value {
        StrategyName::Stp => Strategy::Stp,
        StrategyName::Dor => Strategy::Dor,
        StrategyName::Pdor => Strategy::Pdor,
        StrategyName::Updown => Strategy::Updown { root: None },
        later => {
            let message = format!("strategy `{}` is not yet planned by this version", later.word());
            let help =
                "planned today: stp, updown on any fabric; dor, pdor on mesh and torus".to_owned();
            found.add(ProblemKind::NotYet, &name.span, message, help);
            return None;
        }
    };
    if let Some((message, help)) = mismatch(name.value, strategy, shape) {
        found.add(ProblemKind::StrategyMismatch, &name.span, message, help);
        return None;
    }
    Some(strategy)
}

/// Dimension orders need dimensions; PDOR on a torus of more than two needs even sizes after the
/// first (vlan-minimal-paths section 3.3.2).
fn mismatch(name: StrategyName, strategy: Strategy, shape: &Shape) -> Option<(String, String)> {
    let kind = match (strategy, shape) {
        (Strategy::Stp | Strategy::Updown { .. }, _) => return None,
        (_, Shape::Explicit) => TopologyKind::Explicit,
        (_, Shape::Unknown(Some(kind))) if kind.has_no_dimensions() => *kind,
        (_, Shape::Generated { kind: Kind::Clique { .. }, .. }) => TopologyKind::Clique,
        (_, Shape::Generated { kind: Kind::Irregular { .. }, .. }) => TopologyKind::Irregular,
        (Strategy::Pdor, Shape::Generated { kind: Kind::Torus { dims }, .. })
            if dims.len() > 2 && dims[1..].iter().any(|n| n % 2 == 1) =>
        {
            let even: Vec<_> =
                dims.iter().enumerate().map(|(d, n)| if d == 0 { *n } else { n + n % 2 }).collect();
            return Some((
                format!(
                    "strategy `pdor` needs even sizes after the first on a torus, not {dims:?}"
                ),
                format!("dims = {even:?}, or strategy = \"dor\""),
            ));
        }
        _ => return None,
    };
    Some((
        format!("strategy `{}` is not defined on topology `{}`", name.word(), kind.word()),
        "strategy = \"updown\" or \"stp\", or topology mesh or torus".to_owned(),
    ))
}

/// Only trees from a root have one.
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

fn refuse_later_keys(table: &Table, found: &mut Found) {
    let set = |flag: &Option<At<bool>>| flag.as_ref().filter(|f| f.value).map(|f| f.key.clone());
    let choice = table.choice.as_ref().map_or("", |c| c.value.word());
    let choice = format!("choice = \"{choice}\"");
    let later = [
        ("reflect", set(&table.reflect)),
        (choice.as_str(), table.choice.as_ref().map(|c| c.key.clone())),
        ("demand", table.demand.as_ref().filter(|d| d.value != "uniform").map(|d| d.key.clone())),
        ("mptcp", set(&table.mptcp)),
    ];
    for (name, span) in later.into_iter().filter_map(|(name, span)| Some((name, span?))) {
        let message = format!("`{name}` is not yet planned by this version");
        found.add(ProblemKind::NotYet, &span, message, "leave it out".to_owned());
    }
}
