//! Carries out operations on the kernel in order, and reports exactly which took effect.
//!
//! Invariant: every operation that was sent is `Done`, `Absent` or `Failed` as the kernel itself
//! replied, or `Unknown` if the reply was lost. Links, addresses and policy rules are sent one by
//! one through rtnetlink ([`super::requests`]), and each reply is awaited. All others are sent in
//! batches. A batch holds operations of one kind only, so that after a failure no operation of
//! another kind (a route after its group) is tried. The kernel works through a batch to its end, so
//! later operations of the same batch may be `Done` after a `Failed` one.
//!
//! Only the last message of a batch asks for an ACK. The kernel reports every failure by its
//! sequence number and replies in order, so the last reply proves that all earlier ones were
//! received. The socket's queue has room for an error per message of a batch; if one is lost
//! nevertheless, the operations without proof are `Unknown`.

use std::{io, mem};

use netlink_packet_core::NLM_F_ACK;
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
use tresse_reconcile::Operation;

use super::channel::{Channel, DumpError, Reply};
use super::encode::{Interfaces, encode};
use super::error::{ExecuteError, already_absent};
use super::observe::neighbour;
use super::outcome::{ExecutionOutcome, OperationStatus};
use super::requests::{self, Answer, Lost, Requests};
use super::rule::family;
use super::single::Single;
use super::{message, mptcp, sysctl};

const BATCH_MESSAGES: usize = 512;
const BATCH_BYTES: usize = 96 * 1024;
/// Offset of the flags in `struct nlmsghdr`.
const FLAGS_AT: usize = 6;

/// Carries out `operations` in order in the calling thread's network namespace, and returns the
/// status of each. Ends at the first failure; if that happens in a batch, at the end of the batch.
/// Blocks until the kernel has replied.
///
/// An `Add...` operation without `replace` fails if its object exists, except that a new neighbour
/// replaces one that is not permanent; with `replace` it fails if the object does not exist. A link
/// that was created and cannot be completed is removed again.
#[must_use]
pub fn execute(operations: &[Operation]) -> ExecutionOutcome {
    let Some(first) = operations.first() else { return ExecutionOutcome::untried(0) };
    requests::blocking(async || carry_out(operations, first).await)
        .unwrap_or_else(|source| not_begun(operations, first, source))
}

/// The outcome if no socket, thread or runtime could be made.
fn not_begun(operations: &[Operation], first: &Operation, source: io::Error) -> ExecutionOutcome {
    let mut outcome = ExecutionOutcome::untried(operations.len());
    outcome.fail(0, OperationStatus::Failed, ExecuteError::socket(first, source));
    outcome
}

async fn carry_out(operations: &[Operation], first: &Operation) -> ExecutionOutcome {
    let (channel, requests) = match Channel::open().and_then(|c| Ok((c, Requests::open()?))) {
        Ok(opened) => opened,
        Err(source) => return not_begun(operations, first, source),
    };
    let mut outcome = ExecutionOutcome::untried(operations.len());
    let mut executor = Executor {
        channel,
        single: Single { requests, interfaces: Interfaces::default(), no_dummy: false },
        buffer: Vec::with_capacity(BATCH_BYTES),
    };
    let mut start = 0;
    while start < operations.len() && outcome.errors.is_empty() {
        let kind = mem::discriminant(&operations[start]);
        start = match &operations[start] {
            Operation::WriteSysctl { .. } => write_sysctl(operations, start, &mut outcome),
            Operation::AddEndpoint { .. }
            | Operation::DeleteEndpoint { .. }
            | Operation::LimitSubflows { .. } => of_mptcp(operations, start, &mut outcome),
            Operation::AddLink { .. } => {
                executor.single.add_link(operations, start, &mut outcome).await
            }
            Operation::ChangeLink { .. }
            | Operation::SetLinkState { .. }
            | Operation::DeleteLink { .. }
            | Operation::AddAddress { .. }
            | Operation::DeleteAddress { .. }
            | Operation::AddRule { .. }
            | Operation::DeleteRule { .. }
            | Operation::AddSourceRule { .. }
            | Operation::DeleteSourceRule { .. }
            | Operation::AddGuardRule { .. }
            | Operation::DeleteGuardRule { .. }
            | Operation::AddLocalRule { .. }
            | Operation::DeleteLocalRule { .. } => {
                executor.single.carry_out(operations, start, &mut outcome).await
            }
            _ => {
                let most = operations[start..].iter().take(BATCH_MESSAGES);
                let run = most.take_while(|o| mem::discriminant(*o) == kind);
                executor.batch(operations, start, start + run.count(), &mut outcome)
            }
        };
    }
    outcome.errors.sort_by_key(|(index, _)| *index);
    outcome
}

fn write_sysctl(operations: &[Operation], index: usize, outcome: &mut ExecutionOutcome) -> usize {
    if let Operation::WriteSysctl { key, value, .. } = &operations[index] {
        match sysctl::write(key, value) {
            Ok(()) => outcome.status[index] = OperationStatus::Done,
            Err(source) => {
                let (key, value) = (key.clone(), value.clone());
                outcome.fail(
                    index,
                    OperationStatus::Failed,
                    ExecuteError::Sysctl { key, value, source },
                );
            }
        }
    }
    index + 1
}

fn of_mptcp(operations: &[Operation], index: usize, outcome: &mut ExecutionOutcome) -> usize {
    let operation = &operations[index];
    let answer = match mptcp::execute(operation) {
        Ok(reply) => Ok(Answer { errno: reply.errno, text: reply.text }),
        // Without the generic netlink family the kernel has no MPTCP path manager.
        Err(DumpError::Kernel(error, text)) => {
            Ok(Answer { errno: error.raw_os_error().unwrap_or(0), text })
        }
        Err(error) => Err(Lost(error.to_string())),
    };
    outcome.take(operation, index, answer);
    index + 1
}

/// Carries out operations in batches, and through [`Single`] those that are sent one by one.
struct Executor {
    channel: Channel,
    single: Single,
    buffer: Vec<u8>,
}

impl Executor {
    /// Sends one batch that begins at `start` and ends before `end`; returns where the next begins.
    fn batch(
        &mut self,
        operations: &[Operation],
        start: usize,
        end: usize,
        outcome: &mut ExecutionOutcome,
    ) -> usize {
        self.buffer.clear();
        let most = BATCH_MESSAGES.min(self.channel.replies).min(end - start);
        let (mut first, mut last, mut last_at) = (0, 0, 0);
        let mut next = start;
        // The operation of each message: messages are in order, and deletions on vanished
        // interfaces have none.
        let mut sent: Vec<usize> = Vec::with_capacity(most);
        while next < start + most && self.buffer.len() < BATCH_BYTES {
            let operation = &operations[next];
            let at = self.buffer.len();
            let sequence = self.channel.next_sequence();
            let encoded =
                encode(&mut self.buffer, sequence, operation, &mut self.single.interfaces, false);
            if let Err(missing) = encoded {
                if already_absent(operation, libc::ENODEV) {
                    outcome.status[next] = OperationStatus::Absent;
                    // Keeps sequence numbers and `sent` in step.
                    sent.push(next);
                    if first == 0 {
                        first = sequence;
                    }
                    next += 1;
                    continue;
                }
                let error = ExecuteError::no_interface(operation, missing.0);
                outcome.fail(next, OperationStatus::Failed, error);
                break;
            }
            if first == 0 {
                first = sequence;
            }
            (last, last_at) = (sequence, at);
            sent.push(next);
            next += 1;
        }
        if self.buffer.is_empty() {
            return next;
        }
        set_ack(&mut self.buffer, last_at);
        let mut failures: Vec<(usize, Reply)> = Vec::new();
        let result = self.channel.send(&self.buffer).map_err(DumpError::from).and_then(|()| {
            self.channel.replies_until(last, |reply| {
                let position = reply.sequence.wrapping_sub(first) as usize;
                if let (true, Some(index)) = (reply.errno != 0, sent.get(position)) {
                    failures.push((*index, reply));
                }
            })
        });
        let unproven = match &result {
            Ok(()) => OperationStatus::Done,
            Err(_) => OperationStatus::Unknown,
        };
        for index in &sent {
            if outcome.status[*index] == OperationStatus::NotSent {
                outcome.status[*index] = unproven;
            }
        }
        for (index, reply) in failures {
            self.judge(&operations[index], index, reply, outcome);
        }
        if let Err(error) = result {
            for index in sent.iter().filter(|i| outcome.status[**i] == OperationStatus::Unknown) {
                let error = ExecuteError::unanswered(&operations[*index], error.to_string());
                outcome.errors.push((*index, error));
            }
        }
        next
    }

    /// Handles an operation that the kernel refused.
    fn judge(
        &mut self,
        operation: &Operation,
        index: usize,
        reply: Reply,
        outcome: &mut ExecutionOutcome,
    ) {
        if already_absent(operation, reply.errno) {
            outcome.status[index] = OperationStatus::Absent;
            return;
        }
        let reply = match self.over_dynamic_neighbour(operation, &reply) {
            Some(second) if second.errno == 0 => {
                outcome.status[index] = OperationStatus::Done;
                return;
            }
            Some(second) => second,
            None => reply,
        };
        let error = ExecuteError::refused(operation, reply.errno, reply.text);
        outcome.fail(index, OperationStatus::Failed, error);
    }

    /// If a learned neighbour blocks a new permanent one, replaces it.
    fn over_dynamic_neighbour(&mut self, operation: &Operation, reply: &Reply) -> Option<Reply> {
        let Operation::AddNeighbour { interface, address, replace: false, .. } = operation else {
            return None;
        };
        if reply.errno != libc::EEXIST {
            return None;
        }
        let index = self.single.interfaces.index(interface).ok()?;
        let mut message = NeighbourMessage::default();
        message.header.family = family(address.is_ipv4());
        message.header.ifindex = index;
        message.attributes = vec![NeighbourAttribute::Destination((*address).into())];
        // rtnetlink can only list all neighbours.
        let found = self.channel.ask(libc::RTM_GETNEIGH, &message::bytes(&message), neighbour);
        if found.ok()?.state == NeighbourState::Permanent {
            return None;
        }
        self.buffer.clear();
        let sequence = self.channel.next_sequence();
        encode(&mut self.buffer, sequence, operation, &mut self.single.interfaces, true).ok()?;
        set_ack(&mut self.buffer, 0);
        self.channel.send(&self.buffer).ok()?;
        let mut answer = Reply { sequence, errno: 0, text: None };
        self.channel.replies_until(sequence, |reply| answer = reply).ok()?;
        Some(answer)
    }
}

/// Asks for an ACK on the message that begins at `at`.
fn set_ack(buffer: &mut [u8], at: usize) {
    if let Some(flags) = buffer.get_mut(at + FLAGS_AT..at + FLAGS_AT + 2) {
        let with_ack = u16::from_ne_bytes([flags[0], flags[1]]) | NLM_F_ACK;
        flags.copy_from_slice(&with_ack.to_ne_bytes());
    }
}
