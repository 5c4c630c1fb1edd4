//! The error of starting a forwarding engine or opening one of its NICs.

use std::io;

use tresse_base::units::Mac;

/// Why a forwarding engine or source engine could not be started, could not open a NIC, or cannot
/// use a table.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    /// The kernel does not know the NIC, or does not say.
    #[error(
        "forward on {interface}: the kernel has no such NIC: check its name in the cluster file"
    )]
    NoNic {
        /// The NIC.
        interface: String,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// The NIC has another MAC than the plan says (K16).
    #[error(
        "forward on {interface}: its MAC is {}, the plan says {planned}; `tresse macs` shows what \
         the cluster file needs",
        found.map_or("no Ethernet address".to_owned(), |m| m.to_string())
    )]
    Mac {
        /// The NIC.
        interface: String,
        /// Its MAC.
        found: Option<Mac>,
        /// That in the plan.
        planned: Mac,
    },
    /// The kernel refused a step.
    #[error("forward on {interface}: {step} ({advice})")]
    Refused {
        /// The NIC.
        interface: String,
        /// What was refused.
        step: &'static str,
        /// What helps.
        advice: &'static str,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// The table speaks of other NICs than the engine has.
    #[error("the table has {table} NICs, the engine {engine}: start a new engine when NICs change")]
    Nics {
        /// NICs of the table.
        table: usize,
        /// Ports of the engine.
        engine: usize,
    },
    /// More NICs than the engine counts, or none.
    #[error("forward on {found} NICs: expected 1 to {most}")]
    Count {
        /// How many were given.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// The operating system gave no thread.
    #[error("start the forwarding thread `{name}`; check the limit on tasks")]
    Thread {
        /// Its name.
        name: String,
        /// The error.
        #[source]
        source: io::Error,
    },
}

impl ForwardError {
    pub(super) fn refused(interface: &str, step: &'static str) -> impl FnOnce(io::Error) -> Self {
        let interface = interface.to_owned();
        move |source| {
            let advice = match source.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => "CAP_NET_RAW and CAP_NET_ADMIN are needed",
                Some(libc::ENOMEM) => "less memory is free than its receive ring takes",
                Some(libc::ENETDOWN) => "set the interface up",
                _ => "see the kernel's reason",
            };
            Self::Refused { interface, step, advice, source }
        }
    }
}
