//! Starts, finds and stops the virtual machine.
//!
//! Owns the machine's state directory: `lock`, `qemu.pid`, `console.log`, `initrd`, and per
//! virtio-serial port a socket and a lock file. The machine runs in the background and outlives the
//! process that started it. Only a process whose command line names our state directory is ever
//! killed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use thiserror::Error;

use super::channel::{ChannelError, GuestChannel, PORT_PREFIX, PORTS, socket_name};
use super::cpio;
use super::guest::IDLE_PARAMETER;
use super::image::{self, Image, ImageError};
use super::packages::{PackageError, run};
use super::request::RequestError;
use super::{Accel, Vm, VmOptions};

/// Why the virtual machine could not be started or stopped.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is no image to boot.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// QEMU or a tool is missing or failed.
    #[error(transparent)]
    Tool(#[from] PackageError),
    /// The state directory belongs to someone else.
    #[error("{} belongs to user {owner}, expected {expected}", path.display())]
    Owner {
        /// The state directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// Us.
        expected: u32,
    },
    /// The kernel or the guest did not come up.
    #[error("the virtual machine did not come up; its console, {}, ends:\n{tail}", console.display())]
    Boot {
        /// The console log.
        console: PathBuf,
        /// Its last lines.
        tail: String,
        /// What was waited for in vain.
        source: ChannelError,
    },
    /// The process does not end.
    #[error("QEMU (process {pid}) did not end within 5 s of SIGKILL")]
    Immortal {
        /// Its number.
        pid: i32,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl Vm {
    /// Returns the running machine, or starts one. Each step is reported to `progress`.
    pub fn start(options: &VmOptions, progress: &mut dyn FnMut(&str)) -> Result<Self, StartError> {
        prepare(&options.state_dir)?;
        let dir = &real(&options.state_dir);
        let _lock = lock(dir)?;
        if let Some(vm) = Self::find(options) {
            match vm.ping() {
                Err(RequestError::Channel(ChannelError::Closed | ChannelError::Io { .. })) => {
                    progress("the virtual machine has just switched itself off");
                    vm.end()?;
                }
                // A machine without a free port is in use, and its next request says what is wrong.
                _ => return Ok(vm),
            }
        }
        let cache = match &options.cache_dir {
            Some(dir) => dir.clone(),
            None => image::default_cache_dir()?,
        };
        let image = Image::ensure(&cache, options.refresh, progress)?;
        write_initrd(&image, options)?;
        let vm = Self { dir: dir.clone() };
        if options.accel == Accel::Kvm || (options.accel == Accel::Auto && has_kvm()) {
            progress("booting the virtual machine (kvm)");
            match vm.boot(&image, options, "kvm") {
                Err(StartError::Boot { .. }) if options.accel == Accel::Auto => {
                    progress("the kernel does not come up under kvm; emulating");
                }
                outcome => return outcome.map(|()| vm),
            }
        }
        progress("booting the virtual machine");
        vm.boot(&image, options, "tcg,thread=multi").map(|()| vm)
    }

    /// The running machine, if there is one.
    pub fn find(options: &VmOptions) -> Option<Self> {
        let vm = Self { dir: real(&options.state_dir) };
        vm.pid().map(|_| vm)
    }

    /// Ends the machine, whatever runs in it.
    pub fn stop(&self) -> Result<(), StartError> {
        let _lock = lock(&self.dir)?;
        self.end()
    }

    /// The console log, for people.
    pub fn console(&self) -> PathBuf {
        self.dir.join("console.log")
    }

    /// QEMU's process, if it runs and is ours.
    pub fn pid(&self) -> Option<i32> {
        let pid: i32 = fs::read_to_string(self.dir.join("qemu.pid")).ok()?.trim().parse().ok()?;
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line);
        line.contains(&socket_option(&self.dir, 0)).then_some(pid)
    }

    fn boot(&self, image: &Image, options: &VmOptions, accel: &str) -> Result<(), StartError> {
        let qemu = &mut qemu(&self.dir, image, options, accel);
        run(qemu)?;
        let deadline = Instant::now() + options.boot_limit;
        GuestChannel::open(&self.dir, deadline).map(drop).or_else(|source| {
            let console = self.console();
            let text = fs::read(&console).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let lines: Vec<_> = text.lines().map(str::trim_end).collect();
            let tail = lines[lines.len().saturating_sub(15)..].join("\n");
            self.end()?;
            Err(StartError::Boot { console, tail, source })
        })
    }

    fn end(&self) -> Result<(), StartError> {
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            let Some(pid) = self.pid() else { return Ok(()) };
            match kill(Pid::from_raw(pid), signal) {
                Ok(()) | Err(Errno::ESRCH) => {}
                Err(errno) => return Err(at(&self.dir.join("qemu.pid"))(errno.into())),
            }
            let deadline = Instant::now() + Duration::from_secs(5);
            while self.pid().is_some() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        match self.pid() {
            Some(pid) => Err(StartError::Immortal { pid }),
            None => Ok(()),
        }
    }
}

fn qemu(dir: &Path, image: &Image, options: &VmOptions, accel: &str) -> Command {
    let console = dir.join("console.log");
    let drive = format!(
        "file={},if=none,id=root,format=raw,readonly=on",
        escaped(&image.root().to_string_lossy())
    );
    // A kernel whose processors are stuck for two minutes panics, and its console shows where they were stuck.
    //
    // Where this machine is busy, the kernel counts too few ticks of the emulated timer as it starts, takes the timer for
    // broken and panics: `no_timer_check` leaves that test out, as kernels do by themselves under KVM.
    //
    // With random addresses every run of a program has its libraries elsewhere, and QEMU translates their code anew:
    // programs of a lab then take two to four times as long.
    let line = format!(
        "console=ttyS0 quiet panic=-1 softlockup_panic=1 watchdog_thresh=60 tsc=unstable \
         no_timer_check mitigations=off norandmaps random.trust_cpu=on \
         {IDLE_PARAMETER}{} -- {}",
        options.idle.as_secs(),
        options.init_args.join(" ")
    );
    // Emulated, "fast" string instructions go byte by byte: without them memory is filled seven times as fast.
    let cpu = if accel == "kvm" { "max" } else { "max,erms=off,fsrm=off" };
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args(["-name", "tresse-vm", "-M", "q35", "-accel", accel, "-cpu", cpu])
        .args(["-smp", &options.cpus.to_string(), "-m", &options.memory_mib.to_string()])
        .args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"])
        .args(["-serial", &format!("file:{}", escaped(&console.to_string_lossy()))])
        .arg("-kernel")
        .arg(image.kernel())
        .arg("-initrd")
        .arg(dir.join("initrd"))
        .args(["-append", &line, "-drive", &drive, "-device", "virtio-blk-pci,drive=root"])
        .args(["-device", "virtio-serial-pci,max_ports=31"]);
    if let Some(disk) = &options.disk {
        let file = escaped(&disk.to_string_lossy());
        qemu.args(["-drive", &format!("file={file},if=none,id=disk,format=raw")])
            .args(["-device", "virtio-blk-pci,drive=disk"]);
    }
    for port in 0..PORTS {
        let chardev = format!("socket,id=c{port},{},server=on,wait=off", socket_option(dir, port));
        let device = format!("virtserialport,chardev=c{port},name={PORT_PREFIX}{port}");
        qemu.args(["-chardev", &chardev, "-device", &device]);
    }
    qemu.arg("-daemonize").arg("-pidfile").arg(dir.join("qemu.pid"));
    qemu
}

fn write_initrd(image: &Image, options: &VmOptions) -> Result<(), StartError> {
    let path = options.state_dir.join("initrd");
    let mut file = File::create(&path).map_err(at(&path))?;
    let modules = fs::read(image.modules()).map_err(at(&image.modules()))?;
    let stripped = options.state_dir.join("init");
    let program = match &options.init {
        Some(program) => program.clone(),
        None => std::env::current_exe().map_err(at(Path::new("/proc/self/exe")))?,
    };
    let strip = Command::new("strip").arg("-g").arg("-o").args([&stripped, &program]).output();
    let init = if strip.is_ok_and(|s| s.status.success()) { &stripped } else { &program };
    for part in [modules, cpio::init_archive(init)?] {
        file.write_all(&part).map_err(at(&path))?;
    }
    Ok(())
}

/// Makes the state directory, readable by its owner alone: who opens a socket there is root in
/// the guest.
fn prepare(dir: &Path) -> Result<(), StartError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(at(dir))?;
    let owner = fs::metadata(dir).map_err(at(dir))?.uid();
    let expected = geteuid().as_raw();
    if owner == expected {
        return Ok(());
    }
    Err(StartError::Owner { path: dir.to_owned(), owner, expected })
}

fn lock(dir: &Path) -> Result<Flock<File>, StartError> {
    let path = dir.join("lock");
    let file = File::create(&path).map_err(at(&path))?;
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| at(&path)(errno.into()))
}

/// The name that QEMU's command line carries, whatever links the caller came by.
fn real(dir: &Path) -> PathBuf {
    fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned())
}

fn has_kvm() -> bool {
    File::options().read(true).write(true).open("/dev/kvm").is_ok()
}

fn socket_option(dir: &Path, port: usize) -> String {
    format!("path={}", escaped(&dir.join(socket_name(port)).to_string_lossy()))
}

/// QEMU's option syntax: a comma in a value is doubled.
fn escaped(value: &str) -> String {
    value.replace(',', ",,")
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> StartError + use<> {
    let path = path.to_owned();
    move |source| StartError::Io { path, source }
}
