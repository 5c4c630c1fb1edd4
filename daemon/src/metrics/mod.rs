//! Serves the daemon's metrics to Prometheus over HTTP, on a Unix socket or a loopback port (DESIGN
//! section 7). The metrics are collected from the main loop at each request. Requests change
//! nothing, so any reader is accepted; the number of connections and the time of each are limited. Of too many readers the
//! first one of the user who has most of them is sent away. On a port nobody knows whose a reader is.

mod text;

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tresse_control::{Call, Reply};

use crate::config::MetricsAt;
use crate::control::{self, BindError, UnixSocket, ask};

/// Largest number of readers at a time.
const READERS: usize = 16;
/// Longest time that one connection may last.
const PATIENCE: Duration = Duration::from_secs(10);
/// Content type of the Prometheus text format.
const FORMAT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// The HTTP server from which Prometheus reads the daemon's metrics, with its listening socket.
#[derive(Debug)]
pub enum Exporter {
    /// On a Unix socket.
    Path(UnixSocket),
    /// On a loopback port.
    Loopback(std::net::TcpListener),
}

impl Exporter {
    /// Starts to listen.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(at: &MetricsAt) -> Result<Self, BindError> {
        match at {
            MetricsAt::Path(path) => UnixSocket::bind(path, "metrics").map(Self::Path),
            MetricsAt::Loopback(address) => {
                let fail = |source| BindError::Io {
                    action: "listen for readers of metrics on",
                    path: Path::new(&address.to_string()).to_path_buf(),
                    source,
                };
                let listener = std::net::TcpListener::bind(address).map_err(fail)?;
                listener.set_nonblocking(true).map_err(fail)?;
                Ok(Self::Loopback(listener))
            }
        }
    }

    /// Serves readers until dropped. Must run in a `LocalSet`.
    pub async fn run(self, requests: mpsc::Sender<control::Request>) {
        let mut readers = Vec::new();
        let tcp = match &self {
            Self::Path(_) => None,
            Self::Loopback(listener) => {
                let listener = listener.try_clone().and_then(TcpListener::from_std);
                match listener {
                    Ok(listener) => Some(listener),
                    Err(error) => return tracing::warn!(%error, "metrics cannot be read"),
                }
            }
        };
        loop {
            let taken = match (&self, &tcp) {
                (Self::Path(socket), _) => socket.listener.accept().await.map(|(stream, _)| {
                    let user = stream.peer_cred().ok().map(|peer| peer.uid());
                    serve(stream, user, &requests, &mut readers);
                }),
                (Self::Loopback(_), Some(listener)) => listener
                    .accept()
                    .await
                    .map(|(stream, _)| serve(stream, None, &requests, &mut readers)),
                (Self::Loopback(_), None) => return,
            };
            if let Err(error) = taken {
                tracing::warn!(%error, "cannot accept a reader of metrics");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// A reader, by its user where that is known, in the order in which they came.
type Reader = (Option<u32>, AbortHandle);

/// Serves one reader in a task of its own, and sends another away if there are too many.
fn serve<S>(
    stream: S,
    user: Option<u32>,
    requests: &mpsc::Sender<control::Request>,
    readers: &mut Vec<Reader>,
) where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    readers.retain(|(_, reader)| !reader.is_finished());
    if readers.len() >= READERS {
        let count = |user| readers.iter().filter(|(of, _)| *of == user).count();
        let most = readers.iter().map(|(user, _)| count(*user)).max();
        let first = readers.iter().position(|(user, _)| Some(count(*user)) == most);
        first.map(|at| readers.remove(at)).iter().for_each(|(_, reader)| reader.abort());
    }
    let requests = requests.clone();
    let task = tokio::task::spawn_local(async move {
        let service = service_fn(|request| answer(request, requests.clone()));
        let connection = http1::Builder::new()
            .max_buf_size(16 * 1024)
            .serve_connection(TokioIo::new(stream), service);
        if let Ok(Err(error)) = tokio::time::timeout(PATIENCE, connection).await {
            tracing::debug!(%error, "a reader of metrics");
        }
    });
    readers.push((user, task.abort_handle()));
}

async fn answer(
    request: Request<Incoming>,
    requests: mpsc::Sender<control::Request>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let text = |status, text: String| {
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, FORMAT);
        response
    };
    if request.uri().path() != "/metrics" {
        return Ok(text(StatusCode::NOT_FOUND, "metrics are at /metrics\n".into()));
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "metrics are only read\n".into());
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Ok(response);
    }
    Ok(match read(&requests).await {
        Some(metrics) => text(StatusCode::OK, metrics),
        None => text(StatusCode::SERVICE_UNAVAILABLE, "the daemon is about to stop\n".into()),
    })
}

async fn read(requests: &mpsc::Sender<control::Request>) -> Option<String> {
    let Ok(Reply::Status(status)) = ask(requests, Call::GetStatus).await else { return None };
    let Ok(Reply::Counters(counters)) = ask(requests, Call::GetCounters).await else { return None };
    Some(text::exposition(&status, &counters.counters))
}
