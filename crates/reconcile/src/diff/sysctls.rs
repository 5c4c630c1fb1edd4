//! Compares the wanted with the observed sysctls (files below `/proc/sys`), and adds the operations
//! that write or restore them. The sysctls of single interfaces are written before those of the
//! whole network namespace (K7: `accept_ra` before `all/forwarding`), and restored in the reverse
//! order.

use tresse_base::id::Label;

use super::context::{Context, leftover};
use super::foreign::is_our_label;
use super::steps::{Phase, Steps};
use crate::{
    Object, Operation, PLATFORM_LABELS, PendingReason, Refusal, Why, label_input, sysctl_interface,
};

/// Adds the operations on sysctls whose file exists now.
pub(super) fn sysctls(context: &Context<'_>, steps: &mut Steps) {
    let Context { wanted, observed, saved, interfaces } = context;
    for (key, value) in &wanted.sysctls {
        let interface = sysctl_interface(key);
        let state = interface.and_then(|name| interfaces.find(name));
        if state.is_some_and(|s| s.new) {
            continue;
        }
        let absent = match (interface, state.and_then(|s| s.hold.as_ref())) {
            (Some(name), _) if state.is_none() => Some(PendingReason::Absent(name.into())),
            (_, Some(reason @ (PendingReason::Absent(_) | PendingReason::Refused(_)))) => {
                Some(reason.clone())
            }
            _ => None,
        };
        match observed.sysctls.get(key) {
            Some(now) if holds(key, now, value) => {}
            // A kernel without MPLS has no such file, and accepts no labels.
            None if value == "0" && interface.is_some_and(|i| *key == label_input(i)) => {}
            _ if absent.is_some() => {
                let reason = absent.unwrap_or(PendingReason::NoFile);
                steps.wait(Object::Sysctl(key.clone()), reason);
            }
            None => steps.wait(Object::Sysctl(key.clone()), PendingReason::NoFile),
            Some(now) => {
                let phase = match interface {
                    Some(name) if *key == label_input(name) => Phase::LabelInputs,
                    Some(_) => Phase::InterfaceSysctls,
                    None => Phase::GlobalSysctls,
                };
                let why = Why::Changed { from: now.clone() };
                steps.push(phase, write(key, value, Some(now)), why);
            }
        }
    }
    let leaving: Vec<&String> = leftover(context).collect();
    for (key, original) in &saved.sysctls {
        let interface = sysctl_interface(key);
        if wanted.sysctls.contains_key(key)
            || interface.is_some_and(|name| leaving.iter().any(|l| *l == name))
        {
            continue;
        }
        if let Some(label) = lost_with(context, key, original) {
            let (object, user) = (Object::Sysctl(key.clone()), Object::Label(label, None));
            steps.refused.push(Refusal::InUse { object, user });
            continue;
        }
        if let Some(now) = observed.sysctls.get(key).filter(|now| *now != original) {
            let phase = match interface {
                Some(_) => Phase::RestoreInterfaceSysctls,
                None => Phase::RestoreGlobalSysctls,
            };
            steps.push(phase, write(key, original, Some(now)), Why::Restored);
        }
    }
}

/// Adds the sysctls of an interface that was just created, to be written before it is set up (K5).
pub(super) fn of_new_link(context: &Context<'_>, name: &str, steps: &mut Steps) {
    for directory in
        ["net/ipv4/conf", "net/ipv4/neigh", "net/ipv6/conf", "net/ipv6/neigh", "net/mpls/conf"]
    {
        let prefix = format!("{directory}/{name}/");
        for (key, value) in context.wanted.sysctls.range(prefix.clone()..) {
            if !key.starts_with(&prefix) {
                break;
            }
            // 0 is the initial value, and a kernel without MPLS has no such file.
            if value == "0" && *key == label_input(name) {
                continue;
            }
            steps.push(Phase::Links, write(key, value, None), Why::Missing);
        }
    }
}

fn write(key: &str, value: &str, before: Option<&String>) -> Operation {
    Operation::WriteSysctl { key: key.into(), value: value.into(), before: before.cloned() }
}

/// The first foreign label route that restoring the original value would delete.
fn lost_with(context: &Context<'_>, key: &str, original: &str) -> Option<Label> {
    let limit = original.parse().ok().filter(|_| key == PLATFORM_LABELS)?;
    let mut above = context.observed.labels.range(Label(limit)..);
    above.find(|(_, route)| is_our_label(route).is_none()).map(|(label, _)| *label)
}

/// Is the present value good enough? `platform_labels` is raised and never lowered while a plan is
/// installed, because lowering it deletes foreign label routes.
fn holds(key: &str, now: &str, value: &str) -> bool {
    now == value
        || key == PLATFORM_LABELS
            && match (now.parse::<u32>(), value.parse::<u32>()) {
                (Ok(now), Ok(value)) => now >= value,
                _ => false,
            }
}
