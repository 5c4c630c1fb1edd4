//! Compares the wanted with the observed forwarding entries (FDB) of the VXLAN interface to gateways, which is ours with all that
//! is on it, and adds the operations that make them equal.

use super::context::Context;
use super::join::join;
use super::steps::{Phase, Steps};
use crate::{Object, Operation, Why};

/// Adds the operations on forwarding entries.
pub(super) fn fdb(context: &Context<'_>, steps: &mut Steps) {
    let Context { wanted, observed, interfaces, .. } = context;
    for ((interface, mac), want, have) in join(wanted.fdb.iter(), observed.fdb.iter()) {
        let (interface, mac) = (interface.clone(), *mac);
        match (want, have) {
            (None, Some(_)) => {
                let operation = Operation::DeleteFdb { interface, mac };
                steps.push(Phase::DropFdb, operation, Why::Leftover);
            }
            (Some(at), have) if have != Some(at) => {
                if let Some(reason) = interfaces.hold(&interface) {
                    steps.wait(Object::Fdb(interface, mac), reason);
                    continue;
                }
                let why = have.map_or(Why::Missing, |at| Why::Changed { from: at.to_string() });
                let replace = have.is_some();
                let operation = Operation::AddFdb { interface, mac, at: *at, replace };
                steps.push(Phase::Fdb, operation, why);
            }
            _ => {}
        }
    }
}
