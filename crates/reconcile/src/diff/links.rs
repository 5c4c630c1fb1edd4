//! Compares the wanted with the observed interfaces that we create (VLAN interfaces, `tresse0`,
//! `tresse-push`, `tresse-gw`), and adds the operations that make them equal.

use super::context::{Context, leftover};
use super::foreign::Hangers;
use super::steps::{Phase, Steps};
use crate::{Object, ObservedLink, Operation, Refusal, WantedLink, Why};

/// Adds the operations on interfaces of ours.
pub(super) fn links(context: &Context<'_>, steps: &mut Steps) {
    let Context { wanted, observed, .. } = context;
    for (name, link) in &wanted.links {
        let Some(state) = context.interfaces.find(name) else { continue };
        let present = observed.links.get(name);
        if let Some(reason) = &state.hold
            && !state.fused
            && !present.is_some_and(|p| p.up)
        {
            steps.wait(Object::Link(name.clone()), reason.clone());
        }
        if state.is_refused() {
            continue;
        }
        match present {
            None if state.new => add(context, name, link, steps),
            None => continue,
            Some(present) => change(name, link, present, steps),
        }
        let up = present.is_some_and(|p| p.up);
        let name = name.clone();
        if link.up && !up && state.hold.is_none() {
            steps.push(Phase::Up, Operation::SetLinkState { name, up: true }, Why::Missing);
        } else if !link.up && up {
            let why = Why::Changed { from: "up".into() };
            steps.push(Phase::Down, Operation::SetLinkState { name, up: false }, why);
        }
    }
    remove(context, steps);
}

fn add(context: &Context<'_>, name: &str, link: &WantedLink, steps: &mut Steps) {
    let operation = Operation::AddLink {
        name: name.into(),
        link: link.kind.clone(),
        mtu: link.mtu,
        alias: link.alias.clone(),
        mac: link.mac,
    };
    steps.push(Phase::Links, operation, Why::Missing);
    super::sysctls::of_new_link(context, name, steps);
}

fn change(name: &str, link: &WantedLink, present: &ObservedLink, steps: &mut Steps) {
    let alias = present.alias.as_deref().unwrap_or_default();
    let mac = link.mac.filter(|mac| present.mac != Some(*mac));
    if present.mtu == link.mtu && alias == link.alias && mac.is_none() {
        return;
    }
    let (name, mtu, alias) = (name.to_owned(), link.mtu, link.alias.clone());
    let mut from =
        format!("mtu {} alias {}", present.mtu, present.alias.as_deref().unwrap_or("none"));
    if let Some(found) = present.mac.filter(|_| mac.is_some()) {
        from = format!("{from} address {found}");
    }
    let operation = Operation::ChangeLink { name, mtu, alias, mac };
    steps.push(Phase::Links, operation, Why::Changed { from });
}

fn remove(context: &Context<'_>, steps: &mut Steps) {
    let leftover: Vec<&String> = leftover(context).collect();
    if leftover.is_empty() {
        return;
    }
    let hangers = Hangers::new(context.observed);
    for name in leftover {
        if let Some(user) = hangers.any(name) {
            let object = Object::Link(name.clone());
            steps.refused.push(Refusal::InUse { object, user: user.clone() });
        } else {
            let operation = Operation::DeleteLink { name: name.clone() };
            steps.push(Phase::DropLinks, operation, Why::Leftover);
        }
    }
}
