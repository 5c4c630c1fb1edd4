//! A small virtual machine that runs a lab where the host's kernel cannot.
//!
//! Debian's cloud kernel in QEMU, a read-only userland of Debian packages with a writable layer in
//! memory over it, and a channel over virtio-serial to run programs and move files. Needs no
//! privilege and no network in the guest; the machine is a background process that ends itself
//! after idle time.
//!
//! ```text
//!  host process --+  port sockets   +-- QEMU (daemon) ------------------------------+
//!  host process --+-- 0.sock ... ---|-- virtio-serial -- server -- programs         |
//!  host process --+  (one client    |                    ^ child of PID 1 (init)    |
//!                     per port)     |  /dev/vda: squashfs userland, kernel modules  |
//!                                   +-----------------------------------------------+
//! ```
//!
//! | module | owns |
//! |---|---|
//! | `packages` | apt and dpkg |
//! | `recipe` | what an image holds |
//! | `image` | the cache directory |
//! | `cpio` | the initramfs |
//! | `boot` | QEMU and the state directory |
//! | `channel` | the host's end of a port |
//! | `wire` | the protocol between host and guest |
//! | `client` | programs run in the guest |
//! | `feed` | their standard input and signals |
//! | `transfer` | files in and out |
//! | [`guest`] | PID 1 and the server in the guest |

mod boot;
mod channel;
mod client;
mod cpio;
mod feed;
pub mod guest;
mod image;
mod packages;
mod recipe;
mod request;
mod transfer;
mod wire;

use std::path::PathBuf;
use std::time::Duration;

pub use boot::StartError;
pub use channel::ChannelError;
pub use client::ExecRequest;
pub use image::ImageError;
pub use packages::{INSTALL, PackageError};
pub use request::{ProgramInput, RequestError};

/// How QEMU executes the guest's instructions: emulation (tcg) or hardware (kvm).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Accel {
    /// KVM where it works, else emulation.
    Auto,
    /// Emulation: the same everywhere.
    #[default]
    Tcg,
    /// KVM or failure.
    Kvm,
}

impl std::str::FromStr for Accel {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "auto" => Ok(Self::Auto),
            "tcg" => Ok(Self::Tcg),
            "kvm" => Ok(Self::Kvm),
            _ => Err(format!("unknown accelerator `{word}`, expected auto, tcg or kvm")),
        }
    }
}

/// Options of the virtual machine. All but `state_dir` are used only when it is started.
#[derive(Debug, Clone)]
pub struct VmOptions {
    /// Where sockets, lock and log are; one machine per directory.
    pub state_dir: PathBuf,
    /// Where images are kept; `None` for the user's cache.
    pub cache_dir: Option<PathBuf>,
    /// The program to be PID 1: one that calls [`guest::main`] when given `init_args`; `None`
    /// for the calling program.
    pub init: Option<PathBuf>,
    /// Arguments that make `init` the guest.
    pub init_args: Vec<String>,
    /// Execution of the guest.
    pub accel: Accel,
    /// Memory.
    pub memory_mib: u32,
    /// Processors.
    pub cpus: u32,
    /// The guest switches off after this long without a client; zero for never.
    pub idle: Duration,
    /// A raw disk image, `/dev/vdb` in the guest: what is written there outlives the machine.
    pub disk: Option<PathBuf>,
    /// Ask apt for newer packages even if there is an image.
    pub refresh: bool,
    /// How long the guest may take to answer its first greeting.
    pub boot_limit: Duration,
}

impl Default for VmOptions {
    fn default() -> Self {
        Self {
            state_dir: default_state_dir(),
            cache_dir: None,
            init: None,
            init_args: vec!["lab".into(), "guest".into()],
            accel: Accel::default(),
            memory_mib: 1024,
            cpus: 2,
            idle: Duration::from_secs(15 * 60),
            disk: None,
            refresh: false,
            boot_limit: Duration::from_secs(120),
        }
    }
}

/// The handle of a virtual machine that was running when the handle was made; it may have ended
/// since.
#[derive(Debug, Clone)]
pub struct Vm {
    dir: PathBuf,
}

/// `$XDG_RUNTIME_DIR/tresse-vm`, else `/run/tresse-vm` for root and a directory of the user's own
/// under `/tmp` for others.
fn default_state_dir() -> PathBuf {
    let user = nix::unistd::geteuid();
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|d| !d.is_empty()) {
        Some(dir) => PathBuf::from(dir).join("tresse-vm"),
        None if user.is_root() => "/run/tresse-vm".into(),
        None => format!("/tmp/tresse-vm-{user}").into(),
    }
}
