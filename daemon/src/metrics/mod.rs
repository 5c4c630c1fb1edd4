//! Serves the daemon's metrics to Prometheus over HTTP, on a Unix socket or a port (DESIGN section 7). The metrics are
//! collected from the main loop, once a second at most. Requests change nothing, so any reader is accepted; the number of
//! connections and the time of each are limited. Of too many readers the first one of the user who has most of them is sent
//! away. On a port nobody knows whose a reader is.

mod text;

use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use socket2::{Domain, Protocol, Socket, Type};
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
/// How old an answer may be.
const FRESH: Duration = Duration::from_secs(1);
/// Content type of the Prometheus text format.
const FORMAT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// The HTTP server from which Prometheus reads the daemon's metrics, with its listening socket.
#[derive(Debug)]
pub enum Exporter {
    /// On a Unix socket.
    Path(UnixSocket),
    /// On a port.
    Port(std::net::TcpListener),
}

impl Exporter {
    /// Starts to listen.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(at: &MetricsAt) -> Result<Self, BindError> {
        match at {
            MetricsAt::Path(path) => UnixSocket::bind(path, "metrics").map(Self::Path),
            MetricsAt::Port(address) => {
                let fail = |source| BindError::Io {
                    action: "listen for readers of metrics on",
                    path: Path::new(&address.to_string()).to_path_buf(),
                    source,
                };
                if !address.ip().is_loopback() {
                    tracing::info!(%address, "metrics are read by whoever reaches this address");
                }
                listen(*address).map(Self::Port).map_err(fail)
            }
        }
    }

    /// Serves readers until dropped. Must run in a `LocalSet`.
    pub async fn run(self, requests: mpsc::Sender<control::Request>) {
        let mut readers = Vec::new();
        let source = Source { requests, last: Rc::default() };
        let tcp = match &self {
            Self::Path(_) => None,
            Self::Port(listener) => {
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
                    serve(stream, user, &source, &mut readers);
                }),
                (Self::Port(_), Some(listener)) => listener
                    .accept()
                    .await
                    .map(|(stream, _)| serve(stream, None, &source, &mut readers)),
                (Self::Port(_), None) => return,
            };
            if let Err(error) = taken {
                tracing::warn!(%error, "cannot accept a reader of metrics");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Listens on an address that this host may get later, such as its own on the fabric.
fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    match address {
        SocketAddr::V4(_) => socket.set_freebind_v4(true)?,
        SocketAddr::V6(_) => socket.set_freebind_v6(true)?,
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(READERS as i32)?;
    Ok(socket.into())
}

/// Where metrics come from: the main loop, and the last answer that it gave.
#[derive(Clone)]
struct Source {
    requests: mpsc::Sender<control::Request>,
    last: Rc<RefCell<Option<(Instant, Bytes)>>>,
}

/// A reader, by its user where that is known, in the order in which they came.
type Reader = (Option<u32>, AbortHandle);

/// Serves one reader in a task of its own, and sends another away if there are too many.
fn serve<S>(stream: S, user: Option<u32>, source: &Source, readers: &mut Vec<Reader>)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    readers.retain(|(_, reader)| !reader.is_finished());
    if readers.len() >= READERS {
        let count = |user| readers.iter().filter(|(of, _)| *of == user).count();
        let most = readers.iter().map(|(user, _)| count(*user)).max();
        let first = readers.iter().position(|(user, _)| Some(count(*user)) == most);
        first.map(|at| readers.remove(at)).iter().for_each(|(_, reader)| reader.abort());
    }
    let source = source.clone();
    let task = tokio::task::spawn_local(async move {
        let service = service_fn(|request| answer(request, source.clone()));
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
    source: Source,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let text = |status, text: Bytes| {
        let mut response = Response::new(Full::new(text));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, FORMAT);
        response
    };
    if request.uri().path() != "/metrics" {
        return Ok(text(StatusCode::NOT_FOUND, Bytes::from_static(b"metrics are at /metrics\n")));
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut response =
            text(StatusCode::METHOD_NOT_ALLOWED, Bytes::from_static(b"metrics are only read\n"));
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Ok(response);
    }
    Ok(match read(&source).await {
        Some(metrics) => text(StatusCode::OK, metrics),
        None => text(
            StatusCode::SERVICE_UNAVAILABLE,
            Bytes::from_static(b"the daemon is about to stop\n"),
        ),
    })
}

async fn read(Source { requests, last }: &Source) -> Option<Bytes> {
    let fresh = |(at, text): &(Instant, Bytes)| (at.elapsed() < FRESH).then(|| text.clone());
    if let Some(text) = last.borrow().as_ref().and_then(fresh) {
        return Some(text);
    }
    let Ok(Reply::Status(status)) = ask(requests, Call::GetStatus).await else { return None };
    let Ok(Reply::Counters(counters)) = ask(requests, Call::GetCounters).await else { return None };
    let text = Bytes::from(text::exposition(&status, &counters.counters));
    last.replace(Some((Instant::now(), text.clone())));
    Some(text)
}
