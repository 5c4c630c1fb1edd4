//! Reads the kernel's objects (links, routes ...) into an [`Observed`]; changes nothing and decides
//! nothing.
//!
//! Dumps with strict checking: links, addresses, neighbours, forwarding entries of our tunnel, nexthops, routes of all families,
//! rules, ingress qdiscs and their filters. They are read in place: a route of this project costs
//! no allocation. If the kernel interrupts a dump, or an object refers to an interface that
//! appeared meanwhile, the whole observation starts again. Source: rtnetlink(7),
//! include/uapi/linux/{if_link,if_addr,neighbour,rtnetlink}.h.

mod fdb;
mod labels;
mod links;
mod names;
mod neighbours;
mod routes;
mod table_routes;

use std::collections::{BTreeMap, HashMap};
use std::io;

use tresse_reconcile::{Observed, ObservedLink, ObservedRoutes, PLATFORM_LABELS};

use super::channel::{Channel, DumpError, Tables};
use super::message::MalformedMessage;
use super::{mptcp, sysctl};

use self::routes::Routes;

pub(super) use neighbours::{NDA_PROTOCOL, neighbour};
pub(super) use routes::is_for_icmp;

/// How often an observation is started again before giving up.
const ATTEMPTS: u32 = 8;

/// Why the kernel's objects could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The netlink socket could not be opened, written or read.
    #[error("read {table} over a netlink socket")]
    Socket {
        /// The table.
        table: &'static str,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// A dump was refused or its replies could not be read.
    #[error("dump {table}{}", text.as_deref().map(|t| format!(" ({t})")).unwrap_or_default())]
    Dump {
        /// The table.
        table: &'static str,
        /// The kernel's extended-ACK text.
        text: Option<String>,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// A reply was malformed.
    #[error("dump {table}")]
    Malformed {
        /// The table.
        table: &'static str,
        /// The part that could not be decoded.
        #[source]
        source: MalformedMessage,
    },
    /// The tables changed during every attempt.
    #[error("dump {table}: the kernel's tables changed during each of {ATTEMPTS} attempts")]
    Unstable {
        /// The table that changed last.
        table: &'static str,
    },
    /// A sysctl exists but cannot be read.
    #[error("read /proc/sys/{key}")]
    Sysctl {
        /// Path below `/proc/sys`.
        key: String,
        /// The error.
        #[source]
        source: io::Error,
    },
}

/// Reads the kernel objects of the calling thread's network namespace: links, addresses, permanent
/// neighbours, nexthop objects, unicast routes of the main table and of this project's tables, the
/// policy rules that lead to this project's tables, label routes, filters on labelled frames and MPTCP
/// endpoints; and the values of the sysctls `sysctl_keys`. A key is a path below `/proc/sys`, in
/// which `*` stands for every name; missing files are left out.
///
/// # Errors
/// See [`ObserveError`]; a partial observation is never returned.
pub fn observe<'a>(
    sysctl_keys: impl IntoIterator<Item = &'a str>,
) -> Result<Observed, ObserveError> {
    let mut attempt = 1;
    let mut observed = loop {
        match look() {
            Err((table, DumpError::Interrupted)) if attempt == ATTEMPTS => {
                return Err(ObserveError::Unstable { table });
            }
            Err((_, DumpError::Interrupted)) => attempt += 1,
            Err((table, DumpError::Io(source))) => {
                return Err(ObserveError::Socket { table, source });
            }
            Err((table, DumpError::Malformed(source))) => {
                return Err(ObserveError::Malformed { table, source });
            }
            Err((table, DumpError::Kernel(source, text))) => {
                return Err(ObserveError::Dump { table, text, source });
            }
            Ok(observed) => break observed,
        }
    };
    for pattern in sysctl_keys {
        let failed = |source| ObserveError::Sysctl { key: pattern.to_owned(), source };
        for key in sysctl::matching(pattern).map_err(failed)? {
            if let Some(value) = sysctl::read(&key).map_err(failed)? {
                observed.sysctls.insert(key, value);
            }
        }
    }
    Ok(observed)
}

/// The routes of the main table that `source` dumps, where no route names an interface.
pub(super) fn main_routes(source: &mut impl Tables) -> Result<ObservedRoutes, DumpError> {
    routes::routes(source, &names::Names(HashMap::new())).map(|routes| routes.main)
}

type TableError = (&'static str, DumpError);

fn look() -> Result<Observed, TableError> {
    let mpls = matches!(sysctl::read(PLATFORM_LABELS), Ok(Some(_)));
    let observed = tables(&mut Channel::open().map_err(|e| ("links", e.into()))?, mpls)?;
    let mptcp = mptcp::observe().map_err(|e| ("MPTCP endpoints", e))?;
    Ok(Observed { mptcp, ..observed })
}

/// All tables that `source` dumps, without sysctls and MPTCP; label routes only if the kernel has
/// `mpls`.
pub(super) fn tables(source: &mut impl Tables, mpls: bool) -> Result<Observed, TableError> {
    let (links, names) = links::links(source).map_err(|e| ("links", e))?;
    let table_routes::Rules { rules, source_rules, guard, local, local_elsewhere } =
        table_routes::rules(source).map_err(|e| ("rules", e))?;
    let Routes { main, unreachable, tables } =
        routes::routes(source, &names).map_err(|e| ("routes", e))?;
    let fdb = match links.values().any(ObservedLink::is_tunnel) {
        true => fdb::fdb(source, &names, &links).map_err(|e| ("forwarding entries", e))?,
        false => BTreeMap::new(),
    };
    Ok(Observed {
        links,
        fdb,
        addresses: links::addresses(source, &names).map_err(|e| ("addresses", e))?,
        neighbours: neighbours::neighbours(source, &names).map_err(|e| ("neighbours", e))?,
        nexthops: routes::nexthops(source, &names).map_err(|e| ("nexthops", e))?,
        routes: main,
        sysctls: BTreeMap::new(),
        mpls,
        labels: if mpls {
            labels::labels(source, &names).map_err(|e| ("label routes", e))?
        } else {
            BTreeMap::new()
        },
        ingress: labels::ingress(source, &names).map_err(|e| ("filters", e))?,
        rules,
        table_routes: tables,
        unreachable,
        source_rules,
        guard,
        local_rules: local,
        local_elsewhere,
        mptcp: None,
    })
}
