//! Serves the daemon's metrics to Prometheus over HTTP, on a Unix socket or a loopback port (DESIGN
//! section 7). The metrics are collected from the main loop at each request. Requests change
//! nothing, so any reader is accepted; the number of connections and the time of each are limited.

mod text;

use std::cell::Cell;
use std::convert::Infallible;
use std::path::Path;
use std::rc::Rc;
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
        let readers = Rc::new(Cell::new(0));
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
                (Self::Path(socket), _) => socket
                    .listener
                    .accept()
                    .await
                    .map(|(stream, _)| serve(stream, &requests, &readers)),
                (Self::Loopback(_), Some(listener)) => {
                    listener.accept().await.map(|(stream, _)| serve(stream, &requests, &readers))
                }
                (Self::Loopback(_), None) => return,
            };
            if let Err(error) = taken {
                tracing::warn!(%error, "cannot accept a reader of metrics");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Serves one reader in a task of its own; refuses it if there are too many.
fn serve<S>(stream: S, requests: &mpsc::Sender<control::Request>, readers: &Rc<Cell<usize>>)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    if readers.get() >= READERS {
        return tracing::debug!("too many readers of metrics");
    }
    readers.set(readers.get() + 1);
    let (requests, readers) = (requests.clone(), readers.clone());
    tokio::task::spawn_local(async move {
        let service = service_fn(|request| answer(request, requests.clone()));
        let connection = http1::Builder::new()
            .max_buf_size(16 * 1024)
            .serve_connection(TokioIo::new(stream), service);
        if let Ok(Err(error)) = tokio::time::timeout(PATIENCE, connection).await {
            tracing::debug!(%error, "a reader of metrics");
        }
        readers.set(readers.get() - 1);
    });
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
