//! Builds and caches the image of the virtual machine: kernel, boot modules and a read-only
//! userland of Debian packages.
//!
//! Owns the cache directory. An image is a directory `<kernel>-<digest>`, with the digest of the
//! lists in `recipe` (packages, files, kernel modules). It is built in a temporary directory under
//! a lock and then renamed, so that a killed or a second run never leaves half an image. After that
//! apt is not asked again unless a refresh is wanted.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::fcntl::{Flock, FlockArg};
use thiserror::Error;

use super::cpio;
use super::packages::{self, Apt, PackageError, io, run};
use super::recipe::{BOOT_MODULES, FILES, LEFT_OUT, LINKS, PACKAGES, digest};

/// A built image of the virtual machine: the directory with its kernel, boot modules and userland.
#[derive(Debug, Clone)]
pub struct Image {
    /// Directory that holds the three files.
    pub dir: PathBuf,
}

/// Why the image of the virtual machine could not be built or found.
#[derive(Debug, Error)]
pub enum ImageError {
    /// Packages could not be resolved, fetched or unpacked.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The kernel package lacks what it should have.
    #[error("{}: no {what} in the kernel package", path.display())]
    Kernel {
        /// Where it was expected.
        path: PathBuf,
        /// What was expected.
        what: &'static str,
    },
    /// Neither `XDG_CACHE_HOME` nor `HOME` says where a cache may be kept.
    #[error("no cache directory: XDG_CACHE_HOME and HOME are both unset")]
    NoCache,
}

impl Image {
    /// The newest cached image, built first if there is none or `refresh` asks for a look at
    /// apt's present state.
    pub fn ensure(
        cache: &Path,
        refresh: bool,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Self, ImageError> {
        fs::create_dir_all(cache).map_err(io(cache))?;
        let suffix = format!("-{}", digest());
        if !refresh && let Some(image) = newest(cache, &suffix)? {
            return Ok(image);
        }
        let lock_path = cache.join("lock");
        let lock = File::create(&lock_path).map_err(io(&lock_path))?;
        let _lock = Flock::lock(lock, FlockArg::LockExclusive)
            .map_err(|(_, errno)| io(&lock_path)(errno.into()))?;
        if !refresh && let Some(image) = newest(cache, &suffix)? {
            return Ok(image);
        }
        let work = cache.join("building");
        remove_tree(&work)?;
        let apt = Apt::new(&work.join("apt"))?;
        let package = apt.kernel()?;
        let kernel = package.trim_start_matches("linux-image-").to_owned();
        let dir = cache.join(format!("{kernel}{suffix}"));
        if !dir.join(ROOT).exists() {
            build(&apt, &package, &kernel, &work, &dir, progress)?;
        }
        remove_tree(&work)?;
        Ok(Self { dir })
    }

    /// The compressed kernel.
    pub fn kernel(&self) -> PathBuf {
        self.dir.join(KERNEL)
    }

    /// Modules that mount the root, as a cpio archive.
    pub fn modules(&self) -> PathBuf {
        self.dir.join(MODULES)
    }

    /// The userland, a squashfs.
    pub fn root(&self) -> PathBuf {
        self.dir.join(ROOT)
    }
}

/// Returns the directory where images are cached unless the caller names another:
/// `$XDG_CACHE_HOME/tresse` if that variable is set, otherwise `/var/cache/tresse` for root and
/// `~/.cache/tresse` for others.
pub fn default_cache_dir() -> Result<PathBuf, ImageError> {
    if let Some(dir) = std::env::var_os("XDG_CACHE_HOME").filter(|d| !d.is_empty()) {
        return Ok(Path::new(&dir).join("tresse"));
    }
    if nix::unistd::geteuid().is_root() {
        return Ok("/var/cache/tresse".into());
    }
    let home = std::env::var_os("HOME").filter(|d| !d.is_empty()).ok_or(ImageError::NoCache)?;
    Ok(Path::new(&home).join(".cache/tresse"))
}

fn build(
    apt: &Apt,
    package: &str,
    kernel: &str,
    work: &Path,
    dir: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<(), ImageError> {
    progress(&format!("fetching {package}"));
    let tree = work.join("root");
    let boot = work.join("kernel");
    let out = work.join("image");
    for dir in [&tree, &boot, &out] {
        fs::create_dir_all(dir).map_err(io(dir))?;
    }
    packages::unpack(&apt.download(package)?, &boot)?;
    prepare_modules(&boot, kernel)?;
    let vmlinuz = boot.join(format!("boot/vmlinuz-{kernel}"));
    if !vmlinuz.exists() {
        return Err(ImageError::Kernel { path: vmlinuz, what: "kernel" });
    }
    let to = out.join(KERNEL);
    fs::copy(&vmlinuz, &to).map_err(io(&to))?;
    let to = out.join(MODULES);
    fs::write(&to, boot_modules(&boot, kernel)?).map_err(io(&to))?;

    progress("fetching the userland packages");
    let debs = apt.download_closure(PACKAGES)?;
    for directory in ["bin", "sbin", "lib", "lib64"] {
        let path = tree.join("usr").join(directory);
        fs::create_dir_all(&path).map_err(io(&path))?;
        let link = tree.join(directory);
        symlink(format!("usr/{directory}"), &link).map_err(io(&link))?;
    }
    for (done, deb) in debs.iter().enumerate() {
        if done % 20 == 0 {
            progress(&format!("unpacking package {} of {}", done + 1, debs.len()));
        }
        packages::unpack(deb, &tree)?;
    }
    let modules = tree.join("usr/lib/modules");
    fs::rename(boot.join("lib/modules"), &modules).map_err(io(&modules))?;
    finish_root(&tree)?;

    progress("packing the userland");
    run(Command::new("mksquashfs")
        .arg(&tree)
        .arg(out.join(ROOT))
        .args(["-all-root", "-comp", "lz4", "-noappend", "-no-progress", "-quiet", "-wildcards"])
        .arg("-e")
        .args(LEFT_OUT))?;
    fs::rename(&out, dir).map_err(io(dir))?;
    Ok(())
}

/// What maintainer scripts would have done, as far as the tests' programs need it.
fn finish_root(tree: &Path) -> Result<(), PackageError> {
    for (path, text) in FILES {
        let path = tree.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(io(parent))?;
        }
        fs::write(&path, text).map_err(io(&path))?;
    }
    for (path, target) in LINKS {
        let path = tree.join(path);
        if !path.exists() && !path.is_symlink() {
            symlink(target, &path).map_err(io(&path))?;
        }
    }
    for directory in ["proc", "sys", "dev", "run", "tmp", "root", "mnt", "opt", "var/tmp"] {
        let path = tree.join(directory);
        fs::create_dir_all(&path).map_err(io(&path))?;
    }
    run(Command::new("ldconfig").env("PATH", ADMIN_PATH).arg("-r").arg(tree))?;
    Ok(())
}

fn prepare_modules(boot: &Path, kernel: &str) -> Result<(), ImageError> {
    let modules = boot.join("lib/modules").join(kernel);
    if !modules.exists() {
        return Err(ImageError::Kernel { path: modules, what: "module tree" });
    }
    run(Command::new("find")
        .arg(&modules)
        .args(["-name", "*.ko.xz", "-exec", "xz", "-d", "{}", "+"]))?;
    run(Command::new("depmod").env("PATH", ADMIN_PATH).arg("-b").arg(boot).arg(kernel))?;
    Ok(())
}

/// The modules that mount the root as `/modules/NN-name.ko`, in the order they are to be loaded.
fn boot_modules(boot: &Path, kernel: &str) -> Result<Vec<u8>, ImageError> {
    let listing = run(Command::new("modprobe")
        .env("PATH", ADMIN_PATH)
        .arg("-d")
        .arg(boot)
        .args(["-S", kernel, "--show-depends", "-a"])
        .args(BOOT_MODULES))?;
    let mut seen = Vec::new();
    for path in listing.lines().filter_map(|line| line.strip_prefix("insmod ")) {
        let path = PathBuf::from(path.trim());
        if !seen.contains(&path) {
            seen.push(path);
        }
    }
    let mut archive = cpio::Archive::default();
    archive.directory("modules");
    for (order, path) in seen.iter().enumerate() {
        let bytes = fs::read(path).map_err(io(path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        archive.file(&format!("modules/{order:02}-{name}"), 0o644, &bytes);
    }
    Ok(archive.finish())
}

fn newest(cache: &Path, suffix: &str) -> Result<Option<Image>, PackageError> {
    let mut best = None;
    for entry in fs::read_dir(cache).map_err(io(cache))? {
        let entry = entry.map_err(io(cache))?;
        if !entry.file_name().to_string_lossy().ends_with(suffix) {
            continue;
        }
        let root = entry.path().join(ROOT);
        if let Ok(when) = fs::metadata(&root).and_then(|m| m.modified()) {
            best = best.max(Some((when, entry.path())));
        }
    }
    Ok(best.map(|(_, dir)| Image { dir }))
}

fn remove_tree(path: &Path) -> Result<(), PackageError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io(path)(error)),
        _ => Ok(()),
    }
}

const KERNEL: &str = "vmlinuz";
const MODULES: &str = "modules.cpio";
const ROOT: &str = "root.squashfs";
const ADMIN_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
