//! Carries out the operations that are sent one by one: on links, addresses and policy rules.

use netlink_packet_route::route::RouteProtocol;
use tresse_base::units::Mac;
use tresse_reconcile::{LinkKind, Operation};

use super::encode::{Interfaces, NoInterface};
use super::error::{ExecuteError, already_absent};
use super::outcome::{ExecutionOutcome, OperationStatus, Tun};
use super::requests::{self, Answer, Lost, Requests};
use super::rule::{guard_rule_message, local_rule_message, rule_message, source_rule_message};
use super::sysctl;
use crate::sys::tun;

/// Carries out operations one by one.
pub(super) struct Single {
    pub(super) requests: Requests,
    pub(super) interfaces: Interfaces,
    /// Does the kernel lack dummy interfaces?
    pub(super) no_dummy: bool,
}

impl Single {
    /// Carries out the operation at `index` with a request of its own; returns the index of the
    /// next.
    pub(super) async fn carry_out(
        &mut self,
        operations: &[Operation],
        index: usize,
        outcome: &mut ExecutionOutcome,
    ) -> usize {
        let operation = &operations[index];
        match self.request(operation).await {
            Ok(answer) => outcome.take(operation, index, answer),
            Err(NoInterface(_)) if already_absent(operation, libc::ENODEV) => {
                outcome.status[index] = OperationStatus::Absent;
            }
            Err(NoInterface(name)) => {
                let error = ExecuteError::no_interface(operation, name);
                outcome.fail(index, OperationStatus::Failed, error);
            }
        }
        index + 1
    }

    async fn request<'a>(
        &mut self,
        operation: &'a Operation,
    ) -> Result<Result<Answer, Lost>, NoInterface<'a>> {
        let (requests, interfaces) = (&self.requests, &mut self.interfaces);
        Ok(match operation {
            Operation::ChangeLink { name, mtu, alias, mac } => {
                let message = requests::changed(interfaces.index(name)?, *mtu, alias, *mac);
                requests.change_link(message).await
            }
            Operation::SetLinkState { name, up } => {
                requests.change_link(requests::state(interfaces.index(name)?, *up)).await
            }
            Operation::DeleteLink { name } => {
                interfaces.clear();
                requests.delete_link(interfaces.index(name)?).await
            }
            Operation::AddAddress { interface, address } => {
                let ifindex = interfaces.index(interface)?;
                let message = requests::address(ifindex, interface, *address);
                requests.add_address(message).await
            }
            Operation::DeleteAddress { interface, address } => {
                let ifindex = interfaces.index(interface)?;
                let message = requests::address(ifindex, interface, *address);
                requests.delete_address(message).await
            }
            Operation::AddRule { rule } => requests.add_rule(rule_message(rule)).await,
            Operation::DeleteRule { rule } => requests.delete_rule(rule_message(rule)).await,
            Operation::AddSourceRule { rule } => requests.add_rule(source_rule_message(rule)).await,
            Operation::DeleteSourceRule { rule } => {
                requests.delete_rule(source_rule_message(rule)).await
            }
            Operation::AddGuardRule { rule } => requests.add_rule(guard_rule_message(rule)).await,
            Operation::DeleteGuardRule { rule } => {
                requests.delete_rule(guard_rule_message(rule)).await
            }
            Operation::AddLocalRule { ipv4 } => {
                let message = local_rule_message(*ipv4, Some(RouteProtocol::Kernel));
                requests.add_rule(message).await
            }
            Operation::DeleteLocalRule { ipv4 } => {
                requests.delete_rule(local_rule_message(*ipv4, None)).await
            }
            _ => unreachable!("carried out in batches, by files or the path manager"),
        })
    }

    /// Creates one link completely (creation, alias, addrgenmode, accept_ra), or not at all.
    pub(super) async fn add_link(
        &mut self,
        operations: &[Operation],
        index: usize,
        outcome: &mut ExecutionOutcome,
    ) -> usize {
        self.interfaces.clear();
        let operation = &operations[index];
        let Operation::AddLink { name, link, mtu, alias, mac } = operation else {
            return index + 1;
        };
        let created = match self.create(name, link, (*mtu, *mac), outcome).await {
            Ok(created) => created,
            Err(NoInterface(parent)) => {
                let error = ExecuteError::no_interface(operation, parent);
                outcome.fail(index, OperationStatus::Failed, error);
                return index + 1;
            }
        };
        let finished = match created {
            Ok(Answer { errno: 0, .. }) => {
                self.requests.change_link(requests::finished(name, *mtu, alias)).await
            }
            refused => {
                outcome.take(operation, index, refused);
                return index + 1;
            }
        };
        let error = match finished {
            Ok(Answer { errno: 0, .. }) => match no_router_advertisements(name) {
                Ok(()) => {
                    outcome.status[index] = OperationStatus::Done;
                    return index + 1;
                }
                Err(error) => error,
            },
            Ok(Answer { errno, text }) => ExecuteError::refused(operation, errno, text),
            lost => {
                outcome.take(operation, index, lost);
                return index + 1;
            }
        };
        outcome.tuns.retain(|tun| tun.name != *name);
        if let Ok(ifindex) = self.interfaces.index(name) {
            let _ = self.requests.delete_link(ifindex).await;
        }
        self.interfaces.clear();
        outcome.fail(index, OperationStatus::Failed, error);
        index + 1
    }

    async fn create<'a>(
        &mut self,
        name: &str,
        link: &'a LinkKind,
        (mtu, mac): (u32, Option<Mac>),
        outcome: &mut ExecutionOutcome,
    ) -> Result<Result<Answer, Lost>, NoInterface<'a>> {
        Ok(match link {
            LinkKind::Tun => Ok(create_tun(name, outcome)),
            LinkKind::Vxlan { ipv6 } => {
                self.requests.add_link(requests::vxlan(name, mtu, mac, *ipv6)).await
            }
            LinkKind::Vlan { parent, vid } => {
                let parent = self.interfaces.index(parent)?;
                self.requests.add_link(requests::vlan(name, parent, *vid, mtu)).await
            }
            LinkKind::Dummy => {
                if !self.no_dummy {
                    let answer = self.requests.add_link(requests::dummy(name, mtu)).await;
                    self.no_dummy =
                        answer.as_ref().is_ok_and(|answer| answer.errno == libc::EOPNOTSUPP);
                    if !self.no_dummy {
                        return Ok(answer);
                    }
                }
                self.requests.add_link(requests::bridge(name, mtu)).await
            }
        })
    }
}

/// Creates a TUN interface and holds it open. The result has the form of a kernel reply.
fn create_tun(name: &str, outcome: &mut ExecutionOutcome) -> Answer {
    let errno = match tun::create(name) {
        Ok(packets) => {
            outcome.tuns.push(Tun { name: name.to_owned(), packets });
            0
        }
        Err(error) => error.raw_os_error().unwrap_or(libc::EINVAL),
    };
    Answer { errno, text: None }
}

/// K5: keeps a new interface from accepting or soliciting router advertisements.
fn no_router_advertisements(name: &str) -> Result<(), ExecuteError> {
    let key = format!("net/ipv6/conf/{name}/accept_ra");
    let failed = |key, source| ExecuteError::Sysctl { key, value: "0".into(), source };
    match sysctl::read(&key) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => sysctl::write(&key, "0").map_err(|e| failed(key, e)),
        Err(error) => Err(failed(key, error)),
    }
}
