//! `--launcher manual`: another program starts the members (the processes on the nodes), and they
//! connect to this process by TCP.

use std::io::{BufRead as _, BufReader, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use tresse_ring::proof::{self, Token};
use tresse_ring::strangers::Strangers;

use super::link::Event;
use crate::fail::{Code, Failure};

/// The longest time that a connection may take to prove its token and name its node.
const PATIENCE: Duration = Duration::from_secs(5);
/// After this many seconds without an answer, the machine at the other end counts as gone.
const GONE: u32 = 60;

/// Listens on `address` and prints on standard error, for each node, the command that must be run
/// there. A thread accepts the connections of the members (the processes on the nodes) and sends an
/// [`Event::Connected`] for each that proves to know `token` and names its node.
pub fn wait_for(
    address: Option<SocketAddr>,
    names: &[String],
    token: Token,
    send: Sender<(usize, Event)>,
) -> Result<(), Failure> {
    let words = "--launcher manual: name with --listen the address of this machine that the nodes connect to";
    let address = address.ok_or_else(|| Failure::new(Code::Usage, words))?;
    let listener = TcpListener::bind(address)
        .map_err(|e| Failure::new(Code::Usage, format!("--listen {address}: {e}")))?;
    let address = listener.local_addr()?;
    for name in names {
        let token = proof::text(&token);
        eprintln!(
            "on {name}: TRESSE_TOKEN={token} tresse ring-member --connect {address} --node {name}"
        );
    }
    let names = names.to_vec();
    std::thread::spawn(move || {
        let strangers = Arc::new(Strangers::default());
        loop {
            let accepted = listener.accept();
            let accepted = accepted.and_then(|(stream, _)| Ok((strangers.enter(&stream)?, stream)));
            let Ok((number, stream)) = accepted else {
                // No file descriptor is left, or the connection is gone again.
                std::thread::sleep(Duration::from_millis(50));
                continue;
            };
            let (names, send, strangers) = (names.clone(), send.clone(), strangers.clone());
            std::thread::spawn(move || {
                let introduced = introduced(&stream, &names, &token);
                strangers.leave(number);
                if let Some(at) = introduced {
                    let _ = send.send((at, Event::Connected(stream)));
                }
            });
        }
    });
    Ok(())
}

/// Turns on TCP keep-alive for a connection, so that the kernel closes the connection if the machine
/// at the other end has not answered for 60 seconds.
pub fn keep_alive(stream: &TcpStream) -> std::io::Result<()> {
    setsockopt(stream, sockopt::KeepAlive, &true)?;
    setsockopt(stream, sockopt::TcpKeepIdle, &(GONE / 3))?;
    setsockopt(stream, sockopt::TcpKeepInterval, &(GONE / 6))?;
    setsockopt(stream, sockopt::TcpUserTimeout, &(GONE * 1000))?;
    Ok(())
}

/// Which member has connected; `None` if it proves no token or names no node of the run.
fn introduced(mut stream: &TcpStream, names: &[String], token: &Token) -> Option<usize> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    proof::welcome(&mut stream, token).ok()?;
    let mut line = String::new();
    // A member sends nothing more before it is asked.
    BufReader::new(stream.take(1024)).read_line(&mut line).ok()?;
    stream.set_read_timeout(None).ok()?;
    keep_alive(stream).ok()?;
    names.iter().position(|it| it == line.trim_end())
}
