//! The daemon's configuration file `tressed.toml`: paths, sockets and safety settings of this host.
//! It never describes the fabric.

mod buffer;
mod keys;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tresse_base::text::{read_help, suggestion};
use tresse_base::units::Prefix;
use tresse_frame::keys::Keys;
use tresse_liveness::Timing;

pub use self::buffer::BufferChoice;
pub use self::keys::KeyFileError;

/// Path of the daemon's configuration file, unless another one is given on the command line.
pub const DEFAULT_PATH: &str = "/etc/tresse/tressed.toml";

/// The content of the daemon's configuration file `tressed.toml`. Every key is optional.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Config {
    /// The cluster file, used if no plan is stored, and at Reload.
    pub cluster: Option<PathBuf>,
    /// The lock; default: `tresse.lock` beside the cluster file, if it exists.
    pub lock: Option<PathBuf>,
    /// This node's name; default: found by the MAC addresses of the host's NICs (K21).
    pub node: Option<String>,
    /// Path of the control socket.
    pub socket: PathBuf,
    /// Directory of the state file.
    pub state_dir: PathBuf,
    /// Addresses whose routes must not change, so that the host stays reachable (K19).
    pub management: Vec<IpAddr>,
    /// Networks behind this node that packets of the fabric may be forwarded to.
    pub forward_to: Vec<Prefix>,
    /// Hide addresses of this node that are not of the fabric from it.
    pub isolate: bool,
    /// File of the keys by which nodes know each other's packets; `None`: no packet is signed.
    pub key_file: Option<PathBuf>,
    /// Refuse what cannot be guarded, instead of warning.
    pub strict: bool,
    /// Period of announcements; default: a third of the switches' ageing time.
    pub announce_seconds: Option<u32>,
    /// Prove each VLAN before it carries traffic (K5)? False only for fabrics under test.
    pub canary: bool,
    /// What forwards labelled frames of other nodes.
    pub engine: EngineChoice,
    /// What may wait for busy NICs where this daemon forwards those frames.
    pub transit_buffer: BufferChoice,
    /// What pushes labels onto this node's own packets.
    pub source: SourceChoice,
    /// How BFD watches paths.
    pub bfd: BfdChoice,
    /// Where Prometheus reads metrics; `None`: nowhere.
    pub metrics: Option<MetricsAt>,
}

/// Value of the key `metrics`: where the HTTP server for Prometheus listens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum MetricsAt {
    /// A Unix socket, open to all local users.
    Path(PathBuf),
    /// An address of this host and a port; beyond loopback whoever reaches it may read.
    Port(SocketAddr),
}

impl TryFrom<String> for MetricsAt {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.starts_with('/') {
            return Ok(Self::Path(text.into()));
        }
        match text.parse::<SocketAddr>() {
            Ok(at) if at.port() != 0 => Ok(Self::Port(at)),
            _ => Err(format!(
                "metrics: `{text}`, expected a path, or an address and a port (127.0.0.1:9820)"
            )),
        }
    }
}

/// Value of the key `bfd`: whether BFD watches this node's paths, and how fast it detects a
/// failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BfdChoice {
    /// Watch paths?
    pub enabled: bool,
    /// Sending interval of both ends of a session, 10 to 1,000 ms.
    pub interval_ms: u16,
    /// A path is broken after this many intervals without a packet, 2 to 255.
    pub multiplier: u8,
}

impl Default for BfdChoice {
    fn default() -> Self {
        Self { enabled: true, interval_ms: 300, multiplier: 3 }
    }
}

impl BfdChoice {
    /// The timing of a BFD session.
    #[must_use]
    pub const fn timing(self) -> Timing {
        Timing {
            interval: Duration::from_millis(self.interval_ms as u64),
            multiplier: self.multiplier,
        }
    }
}

/// Value of the key `source`: what pushes MPLS labels onto this node's own packets, the kernel or
/// the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceChoice {
    /// The kernel if it can, else the daemon.
    #[default]
    Auto,
    /// The kernel's routes.
    Kernel,
    /// The daemon, which reads the packets from a TUN interface.
    Tun,
}

/// Value of the key `engine`: what forwards MPLS frames of other nodes, the kernel or the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineChoice {
    /// The kernel if it can, else the daemon through raw sockets.
    #[default]
    Auto,
    /// The kernel's label routes.
    Kernel,
    /// The daemon, through raw sockets.
    Packet,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            cluster: None,
            lock: None,
            node: None,
            socket: tresse_control::DEFAULT_SOCKET.into(),
            state_dir: "/var/lib/tresse".into(),
            management: Vec::new(),
            forward_to: Vec::new(),
            isolate: false,
            key_file: None,
            strict: false,
            announce_seconds: None,
            canary: true,
            engine: EngineChoice::Auto,
            transit_buffer: BufferChoice::default(),
            source: SourceChoice::Auto,
            bfd: BfdChoice::default(),
            metrics: None,
        }
    }
}

/// Why the configuration file `tressed.toml` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}{}", path.display(), help(error))]
    Read {
        /// The file.
        path: PathBuf,
        /// The error.
        error: std::io::Error,
    },
    /// It is not TOML, or a value has the wrong type.
    #[error("{}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The error, with line and column.
        message: String,
    },
    /// It has unknown keys; all are listed.
    #[error("{}: {}", path.display(), keys.join("; "))]
    UnknownKeys {
        /// The file.
        path: PathBuf,
        /// One sentence per key.
        keys: Vec<String>,
    },
}

const KEYS: [&str; 17] = [
    "cluster",
    "lock",
    "node",
    "socket",
    "state_dir",
    "management",
    "forward_to",
    "isolate",
    "key_file",
    "strict",
    "announce_seconds",
    "canary",
    "engine",
    "transit_buffer",
    "source",
    "bfd",
    "metrics",
];

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::Read { path: path.to_path_buf(), error })?;
        Self::parse(&text, path)
    }

    /// Parses a configuration; `path` is named in errors.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let syntax = |error: toml::de::Error| ConfigError::Syntax {
            path: path.to_path_buf(),
            message: error.to_string(),
        };
        let table: toml::Table = text.parse().map_err(syntax)?;
        let unknown: Vec<String> = table
            .keys()
            .filter(|key| !KEYS.contains(&key.as_str()))
            .map(|key| {
                let help =
                    suggestion(key, KEYS).map_or_else(String::new, |help| format!(", {help}"));
                format!("unknown key `{key}`{help}")
            })
            .collect();
        if !unknown.is_empty() {
            return Err(ConfigError::UnknownKeys { path: path.to_path_buf(), keys: unknown });
        }
        let config: Self = toml::from_str(text).map_err(syntax)?;
        let bfd = config.bfd;
        if let Some(all) = config.forward_to.iter().find(|to| to.len == 0) {
            let message = format!(
                "forward_to: {all} is every network: set `gateway = true` for this node in the cluster file"
            );
            return Err(ConfigError::Syntax { path: path.to_path_buf(), message });
        }
        let wrong = match bfd {
            BfdChoice { interval_ms: 10..=1000, multiplier: 2.., .. } => None,
            BfdChoice { multiplier: 2.., .. } => {
                Some(format!("bfd.interval_ms is {}, expected 10 to 1000", bfd.interval_ms))
            }
            _ => Some(format!("bfd.multiplier is {}, expected 2 to 255", bfd.multiplier)),
        };
        match wrong.or_else(|| config.transit_buffer.fault()) {
            Some(message) => Err(ConfigError::Syntax { path: path.to_path_buf(), message }),
            None => Ok(config),
        }
    }

    /// The keys of the fabric; without a file of keys, none.
    ///
    /// # Errors
    /// [`KeyFileError`].
    pub fn keys(&self) -> Result<Keys, KeyFileError> {
        self.key_file.as_deref().map_or_else(|| Ok(Keys::default()), keys::load)
    }

    /// The lock to use with the configured cluster file.
    #[must_use]
    pub fn lock_path(&self) -> Option<PathBuf> {
        let beside = || Some(self.cluster.as_ref()?.with_file_name("tresse.lock"));
        self.lock.clone().or_else(beside)
    }
}

/// What to do about a file that cannot be read, for the end of a message.
fn help(error: &std::io::Error) -> String {
    read_help(error.kind()).map_or_else(String::new, |help| format!(": {help}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_read_and_an_empty_file_is_fine() {
        let text = r#"
            cluster = "/etc/tresse/cluster.toml"
            lock = "/etc/tresse/tresse.lock"
            node = "n00"
            socket = "/run/x"
            state_dir = "/var/lib/x"
            management = ["192.0.2.1", "2001:db8::1"]
            forward_to = ["172.17.0.0/16"]
            isolate = true
            key_file = "/etc/tresse/fabric.key"
            strict = true
            announce_seconds = 30
            canary = false
            engine = "packet"
            transit_buffer = { memory = "16M", wait_ms = 50 }
            source = "tun"
            bfd = { interval_ms = 50, multiplier = 4 }
            metrics = "127.0.0.1:9820"
        "#;
        let config = Config::parse(text, Path::new("x")).unwrap();
        assert_eq!((config.management.len(), config.forward_to.len()), (2, 1));
        assert!(!config.canary && config.strict && config.isolate);
        assert_eq!(config.engine, EngineChoice::Packet);
        assert_eq!(config.source, SourceChoice::Tun);
        assert_eq!(config.transit_buffer.buffer().memory_bytes, 16 << 20);
        assert_eq!(config.transit_buffer.wait_ms, 50);
        assert_eq!(config.bfd, BfdChoice { enabled: true, interval_ms: 50, multiplier: 4 });
        assert_eq!(Config::parse("", Path::new("x")).unwrap(), Config::default());
        let written: toml::Table = text.parse().unwrap();
        assert!(KEYS.iter().all(|key| written.contains_key(*key)));
    }

    #[test]
    fn unknown_keys_are_refused_with_the_nearest_one() {
        let text = "clusters = 1\nstatedir = 2\nnode = \"n0\"";
        let error = Config::parse(text, Path::new("tressed.toml")).unwrap_err().to_string();
        assert!(error.contains("`clusters`, did you mean `cluster`?"), "{error}");
        assert!(error.contains("`statedir`, did you mean `state_dir`?"), "{error}");
        let error = Config::parse("foo = 1", Path::new("t")).unwrap_err().to_string();
        assert!(error.contains("`foo`, one of: cluster, lock, node, "), "{error}");
        let error = Config::load(Path::new("/")).unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot read /: Is a directory (os error 21): name a file in this directory"
        );
        let error = Config::parse("strict = 1", Path::new("t")).unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("boolean"), "{error}");
        for (text, expected) in [
            ("bfd = { interval_ms = 9 }", "bfd.interval_ms is 9, expected 10 to 1000"),
            ("bfd = { interval_ms = 1001 }", "bfd.interval_ms is 1001, expected 10 to 1000"),
            ("bfd = { multiplier = 1 }", "bfd.multiplier is 1, expected 2 to 255"),
            ("bfd = { interval = 9 }", "unknown field `interval`"),
            (
                "transit_buffer = { memory = \"64\" }",
                "transit_buffer.memory: `64`, expected 1M to 2G, such as 64M",
            ),
            ("transit_buffer = { memory = \"3G\" }", "expected 1M to 2G"),
            (
                "transit_buffer = { wait_ms = 0 }",
                "transit_buffer.wait_ms is 0, expected 1 to 60000",
            ),
            ("transit_buffer = { bytes = 9 }", "unknown field `bytes`"),
            ("metrics = \"127.0.0.1:0\"", "expected a path, or an address and a port"),
            ("metrics = \"9820\"", "expected a path, or an address and a port"),
        ] {
            let error = Config::parse(text, Path::new("t")).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
