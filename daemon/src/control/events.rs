//! The replies to the method Monitor: the daemon's events as a stream.

use std::future::ready;

use futures_util::stream::{empty, once, unfold};
use futures_util::{Stream, StreamExt as _};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tresse_control::{Alert, Event, MonitorReply};
use zlink::Reply;

/// Returns `hello`, and then every event if the client accepts more than one reply.
pub(super) fn watch(
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
