//! `tresse env`: prints environment variables for libraries that choose network interfaces
//! themselves (MPI, NCCL, ...).
//!
//! A node's own address is on one interface, and routes choose the path to it. A library that uses
//! each NIC by itself would take the addresses of the NICs instead, and distant nodes have no
//! routes to those.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::IpAddr;

use clap::{Args, ValueEnum};
use serde::Serialize;
use tresse_plan::Plan;
use tresse_reconcile::NODE_INTERFACE;

use crate::fail::{Code, Failure};
use crate::input::ClusterArgs;
use crate::output;

const RINGS: &str = "large collectives over the rings of the plan (docs/mpi.md): mpirun";

/// Arguments of `tresse env`, which prints environment variables that make MPI, NCCL and others use
/// the fabric.
#[derive(Debug, Args)]
pub struct Env {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// The library to configure.
    #[arg(long = "for", value_enum)]
    library: Library,
}

/// Libraries that choose interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Library {
    /// Open MPI, over its own TCP transport.
    #[value(name = "openmpi")]
    OpenMpi,
    /// MPICH and libraries made from it, over libfabric.
    #[value(name = "mpich")]
    Mpich,
    /// UCX.
    #[value(name = "ucx")]
    Ucx,
    /// NCCL.
    #[value(name = "nccl")]
    Nccl,
    /// Gloo, and TensorPipe beside it (PyTorch).
    #[value(name = "gloo")]
    Gloo,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Advice {
    format: u32,
    r#for: Library,
    generation: String,
    /// The interface that has every node's own address.
    interface: &'static str,
    /// The prefixes of those addresses.
    prefixes: Vec<String>,
    /// The own addresses of each node.
    addresses: BTreeMap<String, Vec<IpAddr>>,
    /// The most paths that one pair uses at once. Each connection uses one of them.
    ways: usize,
    variables: BTreeMap<&'static str, String>,
    notes: Vec<String>,
}

impl Env {
    /// Computes the plan and prints the settings.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let advice = advice(&self.cluster.plan()?, self.library);
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &advice)?;
        } else {
            text(&mut out, &advice)?;
        }
        out.flush()?;
        Ok(Code::Fine)
    }
}

/// Lines for a shell: `eval "$(tresse env FILE --for openmpi)"`.
fn text(out: &mut impl Write, advice: &Advice) -> io::Result<()> {
    for note in &advice.notes {
        writeln!(out, "# {note}")?;
    }
    for (name, value) in &advice.variables {
        // Some shells take an unquoted `=` for the path of a program.
        let quote = if value.starts_with('=') { "'" } else { "" };
        writeln!(out, "export {name}={quote}{value}{quote}")?;
    }
    Ok(())
}

fn advice(plan: &Plan, library: Library) -> Advice {
    let cluster = plan.cluster();
    let own = &plan.addresses().node;
    let prefixes: Vec<String> = cluster.addressing.nodes.iter().map(ToString::to_string).collect();
    let ways = plan.detours().most_ways();
    let mut notes = Vec::new();
    if ways > 1 {
        notes.push(format!("some pairs have {ways} paths at once, and each connection takes one"));
    }
    let interface = || NODE_INTERFACE.to_owned();
    let mut variables = BTreeMap::new();
    match library {
        Library::OpenMpi => {
            variables.insert("OMPI_MCA_btl", "self,vader,tcp".into());
            variables.insert("OMPI_MCA_pml", "ob1".into());
            variables.insert("OMPI_MCA_btl_tcp_if_include", prefixes.join(","));
            if ways > 1 {
                variables.insert("OMPI_MCA_btl_tcp_links", ways.to_string());
            }
            notes.push("what starts the processes (mpirun, ssh) may use any network".into());
            notes.push(format!("{RINGS} -x LD_PRELOAD=libtresse_mpi.so"));
        }
        Library::Mpich => {
            variables.insert("FI_PROVIDER", "tcp".into());
            variables.insert("FI_TCP_IFACE", interface());
            notes.push("for MPICH over libfabric (ch4:ofi)".into());
            notes.push(format!("{RINGS} -genv LD_PRELOAD libtresse_mpi.so"));
        }
        Library::Ucx => {
            variables.insert("UCX_NET_DEVICES", interface());
            variables.insert("UCX_TLS", "self,sm,tcp".into());
            notes.push(format!(
                "newer UCX takes only the interface that the route to a peer leaves by, and so not \
                 {NODE_INTERFACE}: there use the library's own TCP (`--for openmpi`, `--for mpich`)"
            ));
        }
        Library::Nccl => {
            // `=`: this interface, not all whose names begin so.
            variables.insert("NCCL_SOCKET_IFNAME", format!("={NODE_INTERFACE}"));
            variables.insert("NCCL_IB_DISABLE", "1".into());
            notes.push(
                "NCCL_IB_DISABLE: RDMA would leave by one NIC, past the plan's routes".into(),
            );
            if ways > 1 {
                variables.insert("NCCL_NSOCKS_PERTHREAD", ways.min(16).to_string());
            }
        }
        Library::Gloo => {
            variables.insert("GLOO_SOCKET_IFNAME", interface());
            variables.insert("TP_SOCKET_IFNAME", interface());
        }
    }
    Advice {
        format: 1,
        r#for: library,
        generation: plan.generation().to_string(),
        interface: NODE_INTERFACE,
        prefixes,
        addresses: cluster.nodes.iter().map(|n| n.name.clone()).zip(own.iter().cloned()).collect(),
        ways,
        variables,
        notes,
    }
}
