//! The methods of `org.tresse.Node`, as one connection sees them.
//!
//! Doc comments of methods are part of the interface description that clients read.

use std::future::ready;

use futures_util::stream::{empty, once, unfold};
use futures_util::{Stream, StreamExt as _};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, oneshot};
use tresse_control::{
    Alert, Applied, ApplyRequest, CounterLine, Counters, Difference, Event, FusedLine, HeardLine,
    Introduced, LldpLine, MonitorReply, NeighbourList, NicLine, NodeError, OperationLine, PathLine,
    PathList, PendingLine, Problem, SegmentLine, Status, Steered, Withdrawn,
};
use zlink::connection::socket::{FetchPeerCredentials, Socket};
use zlink::{Connection, Reply};

use super::permission::may_change;
use super::request::{Change, Request};
use crate::engine::{Reply as Outcome, Steer};

/// The service of one connection.
#[derive(Debug, Clone)]
pub struct Node {
    pub(super) requests: mpsc::Sender<Request>,
    pub(super) events: broadcast::Sender<Event>,
}

#[zlink::service(
    interface = "org.tresse.Node",
    vendor = "Tresse",
    product = "tressed",
    version = env!("CARGO_PKG_VERSION"),
    url = "https://tresse.example/",
    types = [
        Alert, CounterLine, Event, FusedLine, HeardLine, LldpLine, NicLine, OperationLine, PathLine,
        PendingLine, Problem, SegmentLine
    ]
)]
impl<Sock> Node
where
    Sock::ReadHalf: FetchPeerCredentials,
{
    /// What this node holds and does.
    #[zlink(rename = "GetStatus")]
    async fn status(&self) -> Result<Status, NodeError> {
        self.ask(Request::Status).await
    }

    /// Paths from this node, by destination and rank.
    #[zlink(rename = "ListPaths")]
    async fn paths(&self, to: Option<String>) -> Result<PathList, NodeError> {
        self.ask(|answer| Request::Paths(to, answer)).await?
    }

    /// Who is heard on each NIC of this host: by LLDP, and by announcements of the fabric.
    #[zlink(rename = "ListNeighbours")]
    async fn neighbours(&self) -> Result<NeighbourList, NodeError> {
        self.ask(Request::Neighbours).await
    }

    /// Tell on every NIC of this host which one it is: by LLDP, to the other end of its cable and to all
    /// stations beyond. Others list it for half a minute. For `tresse discover`.
    async fn introduce(
        &self,
        #[zlink(connection)] conn: &mut Connection<Sock>,
    ) -> Result<Introduced, NodeError> {
        permit(conn).await?;
        self.ask(Request::Introduce).await
    }

    /// Counters since the daemon started.
    #[zlink(rename = "GetCounters")]
    async fn counters(&self) -> Result<Counters, NodeError> {
        self.ask(Request::Counters).await
    }

    /// What separates the kernel from the slice.
    async fn diff(&self) -> Result<Difference, NodeError> {
        match self.change(Change::Diff).await? {
            Outcome::Difference(difference) => Ok(difference),
            other => Err(unexpected(&other)),
        }
    }

    /// Install what a cluster file asks for, or list what that would do (dry_run). With
    /// confirm_seconds it is rolled back unless Confirm comes in time.
    #[expect(clippy::too_many_arguments, reason = "each is a named parameter of the interface")]
    async fn apply(
        &self,
        cluster: String,
        lock: Option<String>,
        dry_run: Option<bool>,
        confirm_seconds: Option<u32>,
        force: Option<bool>,
        force_interfaces: Option<Vec<String>>,
        #[zlink(connection)] conn: &mut Connection<Sock>,
    ) -> Result<Applied, NodeError> {
        // A dry run as well: planning what anybody sends would keep the daemon from its work.
        permit(conn).await?;
        let request =
            ApplyRequest { cluster, lock, dry_run, confirm_seconds, force, force_interfaces };
        applied(self.change(Change::Apply(Box::new(request))).await?)
    }

    /// Keep what the last Apply installed.
    async fn confirm(
        &self,
        #[zlink(connection)] conn: &mut Connection<Sock>,
    ) -> Result<(), NodeError> {
        permit(conn).await?;
        self.change(Change::Confirm).await.map(drop)
    }

    /// Return to the previous plan.
    async fn rollback(
        &self,
        #[zlink(connection)] conn: &mut Connection<Sock>,
    ) -> Result<Applied, NodeError> {
        permit(conn).await?;
        applied(self.change(Change::Rollback).await?)
    }

    /// Leave the kernel as it was found and forget the plan.
    async fn withdraw(
        &self,
        force: Option<bool>,
        #[zlink(connection)] conn: &mut Connection<Sock>,
    ) -> Result<Withdrawn, NodeError> {
        permit(conn).await?;
        match self.change(Change::Withdraw { force: force == Some(true) }).await? {
            Outcome::Withdrawn(withdrawn) => Ok(withdrawn),
            other => Err(unexpected(&other)),
        }
    }

    /// Read the configured cluster file again and apply it.
    async fn reload(
        &self,
        #[zlink(connection)] conn: &mut Connection<Sock>,
    ) -> Result<Applied, NodeError> {
        permit(conn).await?;
        applied(self.change(Change::Reload).await?)
    }

    /// Take a fused VLAN into use again, after a new canary.
    async fn unfuse(
        &self,
        vid: u16,
        #[zlink(connection)] conn: &mut Connection<Sock>,
    ) -> Result<(), NodeError> {
        permit(conn).await?;
        self.change(Change::Unfuse { vid }).await.map(drop)
    }

    /// Keep this node's paths off a switch, a node, a link, a port or a NIC, or answer what that would do
    /// (dry_run). Refused where a destination would have no other way, unless forced.
    async fn drain(
        &self,
        object: String,
        dry_run: Option<bool>,
        force: Option<bool>,
        #[zlink(connection)] conn: &mut Connection<Sock>,
    ) -> Result<Steered, NodeError> {
        permit(conn).await?;
        let (dry_run, force) = (dry_run == Some(true), force == Some(true));
        let change = Change::Steer { steer: Steer::Drain(object), force, dry_run };
        steered(self.change(change).await?)
    }

    /// Use again what was drained.
    async fn undrain(
        &self,
        object: String,
        #[zlink(connection)] conn: &mut Connection<Sock>,
    ) -> Result<Steered, NodeError> {
        permit(conn).await?;
        let steer = Steer::Undrain(object);
        steered(self.change(Change::Steer { steer, force: true, dry_run: false }).await?)
    }

    /// Use one path to a node, by its rank, as long as it is whole.
    async fn pin(
        &self,
        to: String,
        rank: u32,
        dry_run: Option<bool>,
        #[zlink(connection)] conn: &mut Connection<Sock>,
    ) -> Result<Steered, NodeError> {
        permit(conn).await?;
        let (steer, dry_run) = (Steer::Pin { to, rank }, dry_run == Some(true));
        steered(self.change(Change::Steer { steer, force: true, dry_run }).await?)
    }

    /// Use all paths to a node again.
    async fn unpin(
        &self,
        to: String,
        #[zlink(connection)] conn: &mut Connection<Sock>,
    ) -> Result<Steered, NodeError> {
        permit(conn).await?;
        let steer = Steer::Unpin(to);
        steered(self.change(Change::Steer { steer, force: true, dry_run: false }).await?)
    }

    /// Events from now on; the first is `hello`. A gap in `seq` means that the watcher was too
    /// slow.
    #[zlink(more)]
    async fn monitor(&self, more: bool) -> impl Stream<Item = Reply<MonitorReply>> + Unpin {
        watch(self.events.subscribe(), more)
    }
}

impl Node {
    async fn ask<T>(
        &self,
        make: impl FnOnce(oneshot::Sender<T>) -> Request,
    ) -> Result<T, NodeError> {
        let (answer, answered) = oneshot::channel();
        let stopping = || NodeError::Internal { message: "the daemon is stopping".into() };
        self.requests.send(make(answer)).await.map_err(|_| stopping())?;
        answered.await.map_err(|_| stopping())
    }

    async fn change(&self, change: Change) -> Result<Outcome, NodeError> {
        self.ask(|answer| Request::Change(change, answer)).await?
    }
}

async fn permit<Sock>(conn: &mut Connection<Sock>) -> Result<(), NodeError>
where
    Sock: Socket,
    Sock::ReadHalf: FetchPeerCredentials,
{
    let peer = conn.peer_credentials().await.map_err(|error| NodeError::Internal {
        message: format!("the caller's credentials: {error}"),
    })?;
    if may_change(peer) {
        Ok(())
    } else {
        Err(NodeError::NotPermitted { uid: peer.unix_user_id().as_raw() })
    }
}

/// `hello`, then (where the client takes more than one answer) every event.
fn watch(
    events: broadcast::Receiver<Event>,
    more: bool,
) -> impl Stream<Item = Reply<MonitorReply>> + Unpin {
    let answer = |event, more| Reply::new(Some(MonitorReply { event })).set_continues(Some(more));
    let hello = Event {
        seq: 0,
        time_ms: unix_ms(),
        kind: "hello".into(),
        object: String::new(),
        message: "listening".into(),
        alert: Alert::Info,
    };
    let follow = unfold(events, move |mut events| async move {
        loop {
            match events.recv().await {
                Ok(event) => return Some((answer(event, true), events)),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    });
    let follow = if more { follow.left_stream() } else { empty().right_stream() };
    Box::pin(once(ready(answer(hello, more))).chain(follow))
}

/// Milliseconds since the Unix epoch.
pub(crate) fn unix_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

fn applied(reply: Outcome) -> Result<Applied, NodeError> {
    match reply {
        Outcome::Applied(applied) => Ok(applied),
        other => Err(unexpected(&other)),
    }
}

fn steered(reply: Outcome) -> Result<Steered, NodeError> {
    match reply {
        Outcome::Steered(steered) => Ok(steered),
        other => Err(unexpected(&other)),
    }
}

fn unexpected(reply: &Outcome) -> NodeError {
    NodeError::Internal { message: format!("the engine answered something else: {reply:?}") }
}
