//! Rules by arriving interface or source address, and the routes of their tables.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use tresse_fabric::reconcile::{FromRule, ObservedTurn, PROTOCOL, Rule, TurnKey};

use super::super::channel::{DumpError, Tables};
use super::super::message::Message;
use super::super::rule::{RTM_GETRULE, RTM_NEWRULE, RULE_HEADER, SeenRule};
use super::super::turn::SeenTurn;
use super::Names;

/// By arriving interface, and by source address.
type Rules = (BTreeSet<Rule>, BTreeSet<FromRule>);

/// The rules of ours. One of somebody else that is like ours is another one to the kernel, which goes
/// by the protocol too, also when one is deleted.
pub(super) fn rules(source: &mut impl Tables) -> Result<Rules, DumpError> {
    let (mut rules, mut from) = Rules::default();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut body = [0; RULE_HEADER];
        body[0] = family as u8;
        let result = source.dump(RTM_GETRULE, &body, |message| {
            if message.kind == RTM_NEWRULE {
                let seen = SeenRule::parse(message.payload)?;
                rules.extend(seen.arriving);
                from.extend(seen.from);
            }
            Ok(())
        });
        match result {
            // A kernel without rules, or without this family.
            Err(DumpError::Kernel(source, _)) if lacks(&source) => {}
            result => result?,
        }
    }
    Ok((rules, from))
}

fn lacks(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP))
}

/// Adds the route that a message tells of, if it is of a table of ours; of several alike ours, or else
/// the first.
pub(super) fn turn(
    message: &Message<'_>,
    names: &Names,
    turns: &mut BTreeMap<TurnKey, ObservedTurn>,
) -> Result<(), DumpError> {
    let Some(SeenTurn { key, protocol, way }) = SeenTurn::parse(message.payload)? else {
        return Ok(());
    };
    let interface = way.map(|(index, _)| names.name(index)).transpose()?.map(str::to_owned);
    let found = ObservedTurn { protocol, interface, via: way.map(|(_, via)| via) };
    let kept = turns.entry(key).or_insert_with(|| found.clone());
    if kept.protocol != PROTOCOL {
        *kept = found;
    }
    Ok(())
}
