//! Fetches and unpacks Debian packages with apt, together with all packages that they depend on.
//!
//! Nothing is installed on the host: apt works with an empty status file and downloads into a
//! directory of ours; `dpkg-deb` unpacks without running maintainer scripts. An ordinary user can
//! do all of it. The packages come from this machine's apt sources, so the tree has the host's C
//! library and runs programs built here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;

/// Why Debian packages could not be fetched or unpacked.
#[derive(Debug, Error)]
pub enum PackageError {
    /// A program is missing on the host.
    #[error("{program} is not installed; run: apt-get install {INSTALL}")]
    Missing {
        /// The program looked for.
        program: String,
    },
    /// A program failed.
    #[error("`{command}` failed: {stderr}")]
    Failed {
        /// The command line, shortened.
        command: String,
        /// The end of what it said.
        stderr: String,
    },
    /// The meta package of the kernel names no kernel.
    #[error("apt has no kernel package for {meta}: add a Debian source and run `apt-get update`")]
    NoKernel {
        /// The meta package.
        meta: &'static str,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
}

/// The host's apt with its status, cache and log in a directory of this program, so that the host's
/// own apt state does not change.
#[derive(Debug)]
pub struct Apt {
    dir: PathBuf,
}

impl Apt {
    /// Prepares the directory.
    pub fn new(dir: &Path) -> Result<Self, PackageError> {
        let partial = dir.join("archives/partial");
        fs::create_dir_all(&partial).map_err(io(&partial))?;
        let status = dir.join("status");
        fs::write(&status, "").map_err(io(&status))?;
        Ok(Self { dir: dir.to_owned() })
    }

    /// The package of the kernel that the meta package stands for today.
    pub fn kernel(&self) -> Result<String, PackageError> {
        let text = run(Command::new("apt-cache").args(["depends", "--important", KERNEL_META]))?;
        text.lines()
            .filter_map(|line| line.trim().strip_prefix("Depends: linux-image-"))
            .map(|version| format!("linux-image-{version}"))
            .next()
            .ok_or(PackageError::NoKernel { meta: KERNEL_META })
    }

    /// Downloads one package without its dependencies.
    pub fn download(&self, package: &str) -> Result<PathBuf, PackageError> {
        let into = self.dir.join("single");
        fs::create_dir_all(&into).map_err(io(&into))?;
        run(self.apt().args(["download", package]).current_dir(&into))?;
        let found = debs(&into)?;
        found.into_iter().next_back().ok_or_else(|| PackageError::Failed {
            command: format!("apt-get download {package}"),
            stderr: "no package arrived".into(),
        })
    }

    /// Downloads packages and all they depend on, sorted by file name.
    pub fn download_closure(&self, packages: &[&str]) -> Result<Vec<PathBuf>, PackageError> {
        run(self.apt().args(["install", "--download-only", "--yes"]).args(packages))?;
        debs(&self.dir.join("archives"))
    }

    fn apt(&self) -> Command {
        let mut apt = Command::new("apt-get");
        apt.arg("-qq").env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
        for (key, file) in [
            ("Dir::State::status", "status"),
            ("Dir::State::extended_states", "extended_states"),
            ("Dir::Cache", ""),
            ("Dir::Cache::archives", "archives"),
            ("Dir::Log", "log"),
        ] {
            apt.arg("-o").arg(format!("{key}={}", self.dir.join(file).display()));
        }
        for option in
            ["Debug::NoLocking=true", "APT::Sandbox::User=root", "APT::Install-Recommends=false"]
        {
            apt.args(["-o", option]);
        }
        apt
    }
}

/// Unpacks a Debian package into a directory tree. `/bin`, `/sbin` and `/lib` of the tree may be
/// symbolic links into `/usr`; they stay links.
pub fn unpack(package: &Path, tree: &Path) -> Result<(), PackageError> {
    let mut unpacker = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(missing("dpkg-deb"))?;
    let mut tar = Command::new("tar");
    tar.args(["-x", "--keep-directory-symlink", "--no-same-owner", "-C"]).arg(tree);
    if let Some(stream) = unpacker.stdout.take() {
        tar.stdin(stream);
    }
    let outcome = run(&mut tar);
    let status = unpacker.wait().map_err(io(package))?;
    outcome?;
    if status.success() {
        return Ok(());
    }
    Err(PackageError::Failed {
        command: format!("dpkg-deb --fsys-tarfile {}", package.display()),
        stderr: status.to_string(),
    })
}

/// Runs a command to its end. Returns its standard output, or as an error the end of its standard
/// error.
pub fn run(command: &mut Command) -> Result<String, PackageError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stderr(Stdio::piped()).output().map_err(missing(&program))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let args: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
    let line: String = format!("{program} {}", args.join(" ")).chars().take(200).collect();
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = text.lines().collect();
    let stderr = lines[lines.len().saturating_sub(8)..].join("; ");
    Err(PackageError::Failed { command: line, stderr })
}

pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> PackageError + use<> {
    let path = path.to_owned();
    move |source| PackageError::Io { path, source }
}

fn missing(program: &str) -> impl FnOnce(std::io::Error) -> PackageError + use<> {
    let program = program.to_owned();
    move |source| match source.kind() {
        std::io::ErrorKind::NotFound => PackageError::Missing { program },
        _ => PackageError::Io { path: program.into(), source },
    }
}

fn debs(dir: &Path) -> Result<Vec<PathBuf>, PackageError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(io(dir))? {
        let path = entry.map_err(io(dir))?.path();
        if path.extension().is_some_and(|e| e == "deb") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Names of the Debian packages that the host needs to build and run the virtual machine, separated
/// by spaces. [`PackageError::Missing`] tells the user to install them.
pub const INSTALL: &str = "qemu-system-x86 squashfs-tools kmod dpkg tar xz-utils libc-bin binutils";
const KERNEL_META: &str = "linux-image-cloud-amd64";
