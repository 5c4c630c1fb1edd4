//! Environment variables for libraries that choose network interfaces themselves (MPI, NCCL, ...).
//!
//! A node's own address is on one interface, and routes choose the path to it. A library that uses each NIC by itself
//! would take the addresses of the NICs instead, and distant nodes have no routes to those.

use std::collections::BTreeMap;
use std::path::Path;

use tresse_base::installed::CLUSTER_FILE;
use tresse_plan::Plan;
use tresse_reconcile::NODE_INTERFACE;

/// Begins the note on how an MPI program is started with our library.
const RINGS: &str = "large collectives over the rings of the plan (docs/mpi.md): ";

/// A library that chooses interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// Open MPI, over its own TCP transport.
    OpenMpi,
    /// MPICH and libraries made from it, over libfabric.
    Mpich,
    /// Open MPI started by Slurm.
    Slurm,
    /// UCX.
    Ucx,
    /// NCCL.
    Nccl,
    /// Gloo, and TensorPipe beside it (PyTorch).
    Gloo,
}

/// What a library is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// The prefixes of the nodes' own addresses.
    pub prefixes: Vec<String>,
    /// The most paths that one pair uses at once. Each connection uses one of them.
    pub ways: usize,
    /// The variables.
    pub variables: BTreeMap<&'static str, String>,
    /// What variables cannot say.
    pub notes: Vec<String>,
}

impl Library {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::OpenMpi, Self::Mpich, Self::Slurm, Self::Ucx, Self::Nccl, Self::Gloo];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "openmpi",
            Self::Mpich => "mpich",
            Self::Slurm => "slurm",
            Self::Ucx => "ucx",
            Self::Nccl => "nccl",
            Self::Gloo => "gloo",
        }
    }

    /// The library of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|library| library.name() == name)
    }

    /// The variables that make it use the fabric of a plan, which `file` (an absolute path) describes.
    #[must_use]
    pub fn environment(self, plan: &Plan, file: &Path) -> Environment {
        let nodes = &plan.cluster().addressing.nodes;
        let mut it = Environment {
            prefixes: nodes.iter().map(ToString::to_string).collect(),
            ways: plan.detours().most_ways(),
            variables: BTreeMap::new(),
            notes: Vec::new(),
        };
        if it.ways > 1 {
            let note =
                format!("some pairs have {} paths at once, and each connection takes one", it.ways);
            it.notes.push(note);
        }
        match self {
            Self::OpenMpi => {
                it.open_mpi();
                it.note("what starts the processes (mpirun, ssh) may use any network");
                let exported = if it.cluster_file(file) { "-x TRESSE_MPI_CLUSTER " } else { "" };
                it.note(format!("{RINGS}mpirun {exported}-x LD_PRELOAD=libtresse_mpi.so"));
            }
            Self::Slurm => {
                it.open_mpi();
                it.set("SLURM_MPI_TYPE", "pmix");
                it.cluster_file(file);
                it.note("for Open MPI with PMIx; hosts in the order of a ring: tresse export FILE hostfile");
                it.note(format!("{RINGS}srun --export=ALL,LD_PRELOAD=libtresse_mpi.so"));
            }
            Self::Mpich => {
                it.set("FI_PROVIDER", "tcp");
                it.set("FI_TCP_IFACE", NODE_INTERFACE);
                it.cluster_file(file);
                it.note("for MPICH over libfabric (ch4:ofi)");
                it.note(format!("{RINGS}mpirun -genv LD_PRELOAD libtresse_mpi.so"));
            }
            Self::Ucx => {
                it.set("UCX_NET_DEVICES", NODE_INTERFACE);
                it.set("UCX_TLS", "self,sm,tcp");
                it.note(format!(
                    "newer UCX takes only the interface that the route to a peer leaves by, and so not \
                     {NODE_INTERFACE}: there use the library's own TCP (`--for openmpi`, `--for mpich`)"
                ));
            }
            Self::Nccl => {
                // `=`: this interface, not all whose names begin so.
                it.set("NCCL_SOCKET_IFNAME", format!("={NODE_INTERFACE}"));
                it.set("NCCL_IB_DISABLE", "1");
                it.note("NCCL_IB_DISABLE: RDMA would leave by one NIC, past the plan's routes");
                if it.ways > 1 {
                    it.set("NCCL_NSOCKS_PERTHREAD", it.ways.min(16).to_string());
                }
            }
            Self::Gloo => {
                it.set("GLOO_SOCKET_IFNAME", NODE_INTERFACE);
                it.set("TP_SOCKET_IFNAME", NODE_INTERFACE);
            }
        }
        it
    }
}

impl Environment {
    fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.variables.insert(name, value.into());
    }

    fn note(&mut self, words: impl Into<String>) {
        self.notes.push(words.into());
    }

    fn open_mpi(&mut self) {
        self.set("OMPI_MCA_btl", "self,vader,tcp");
        self.set("OMPI_MCA_pml", "ob1");
        self.set("OMPI_MCA_btl_tcp_if_include", self.prefixes.join(","));
        if self.ways > 1 {
            self.set("OMPI_MCA_btl_tcp_links", self.ways.to_string());
        }
    }

    /// Names the cluster file to the library for MPI programs, if it would look for another. Returns whether it would.
    fn cluster_file(&mut self, file: &Path) -> bool {
        let other = file != Path::new(CLUSTER_FILE);
        if other {
            self.set("TRESSE_MPI_CLUSTER", file.display().to_string());
        }
        other
    }
}
