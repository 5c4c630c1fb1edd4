//! Power that goes at the worst moment: a virtual machine with a disk for the state file is killed while or
//! after an operator changes the plan, and started again. What was confirmed is there, all else is not.
//!
//! Run here, these tests start machines and run this very program in them with `--guest STEP`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tresse_control::ApplyRequest;
use tresse_lab::vm::{ExecRequest, Vm, VmOptions};
use tresse_tests::program;

use crate::daemon::{Daemon, Setup, request};
use crate::judge::{eventually, sh};
use crate::rig::{Rig, TWO_NICS};
use crate::trial::Test;

/// The first plan's prefix of node addresses, and the second's.
const FIRST: &str = "10.77.0.";
const SECOND: &str = "10.76.0.";
const WITHIN_S: u64 = 180;

pub fn trials() -> Vec<Test> {
    vec![
        ("power_lost_before_the_confirmation_takes_the_plan_back", || cut("applied", 0, FIRST)),
        ("power_lost_after_the_confirmation_keeps_the_plan", || cut("confirmed", 0, SECOND)),
        ("power_lost_while_plans_change_leaves_the_last_good_one", || {
            cut("changing", 350, FIRST);
        }),
        ("long_power_lost_while_plans_change_leaves_the_last_good_one", || {
            for delay_ms in [40, 900, 1600] {
                cut("changing", delay_ms, FIRST);
            }
        }),
    ]
}

/// What these need of the machine.
pub fn missing() -> Option<String> {
    let has = |program: &&str| {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
        !found.is_ok_and(|found| found.status.success())
    };
    ["qemu-system-x86_64", "/usr/sbin/mkfs.ext4"]
        .iter()
        .find(|p| has(p))
        .map(|p| format!("needs {p}"))
}

/// Cuts the power so long after a step has begun; the nodes' addresses after the next start must begin so.
fn cut(step: &'static str, delay_ms: u64, addresses: &str) {
    let home = tempfile::tempdir().unwrap();
    let disk = home.path().join("disk");
    std::fs::File::create(&disk).unwrap().set_len(64 << 20).unwrap();
    let made = Command::new("/usr/sbin/mkfs.ext4").arg("-q").arg(&disk).status().unwrap();
    assert!(made.success());

    let machine = Machine::start(home.path(), &disk, step);
    machine.says(step);
    std::thread::sleep(Duration::from_millis(delay_ms));
    machine.lose_power();

    let machine = Machine::start(home.path(), &disk, "again");
    let line = machine.says("addresses");
    let right = !line.is_empty() && line.split(' ').all(|address| address.starts_with(addresses));
    assert!(right, "{step} +{delay_ms} ms: expected {addresses}*, found {line:?}");
    machine.lose_power();
}

/// A machine that runs a step.
struct Machine {
    pid: i32,
    lines: Receiver<String>,
    runs: JoinHandle<()>,
}

impl Machine {
    fn start(home: &Path, disk: &Path, step: &'static str) -> Self {
        let options = VmOptions {
            state_dir: home.join("vm"),
            init: Some(program::tresse()),
            disk: Some(disk.to_owned()),
            idle: Duration::from_secs(WITHIN_S),
            ..VmOptions::default()
        };
        let vm = Vm::start(&options, &mut |_| {}).unwrap();
        let pid = vm.pid().unwrap();
        let (sender, lines) = channel();
        let runs = std::thread::spawn(move || run(&vm, step, &sender));
        Self { pid, lines, runs }
    }

    /// Waits for a line that begins so; the rest of it.
    fn says(&self, word: &str) -> String {
        let mut said = String::new();
        while let Ok(text) = self.lines.recv_timeout(Duration::from_secs(WITHIN_S)) {
            said += &text;
            let line = said.lines().find_map(|line| line.strip_prefix(word));
            if let Some(line) = line.filter(|_| said.ends_with('\n')) {
                return line.trim().to_owned();
            }
        }
        kill(Pid::from_raw(self.pid), Signal::SIGKILL).unwrap();
        panic!("the machine never said {word:?} but: {said}");
    }

    fn lose_power(self) {
        kill(Pid::from_raw(self.pid), Signal::SIGKILL).unwrap();
        self.runs.join().unwrap();
        let gone = || match Path::new(&format!("/proc/{}", self.pid)).exists() {
            true => Err("QEMU still runs".to_owned()),
            false => Ok(()),
        };
        eventually("the machine is off", gone);
    }
}

/// Runs a step in the guest; what it says goes to `said`.
fn run(vm: &Vm, step: &str, said: &Sender<String>) {
    let mut argv = vec![vm.install(&std::env::current_exe().unwrap()).unwrap()];
    argv.extend(["--guest".to_owned(), step.to_owned()]);
    let at = |path: PathBuf| vm.install(&path).unwrap();
    let env = vec![
        (program::TRESSE.to_owned(), at(program::tresse())),
        (program::TRESSED.to_owned(), at(program::tressed())),
    ];
    let request = ExecRequest { argv, env, cwd: Some("/tmp".into()), ..ExecRequest::default() };
    // The channel ends with the machine.
    let _ = vm.exec(&request, &mut Said(said), &mut Said(said));
}

struct Said<'a>(&'a Sender<String>);

impl Write for Said<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The step that this program is to take, where it runs in a machine.
pub fn step() -> Option<String> {
    let mut args = std::env::args().skip(1);
    (args.next().as_deref() == Some("--guest")).then(|| args.next().unwrap_or_default())
}

/// Takes it, and then waits for the end of the machine.
pub fn guest(step: &str) -> ExitCode {
    // What is not flushed by those who write it stays in memory, and is lost.
    sh_here("mkdir -p /disk && mount -o commit=300 /dev/vdb /disk");
    let rig = Rig::new(TWO_NICS);
    let setup =
        |node: usize| Setup { state: Some(format!("/disk/n{node}").into()), ..Setup::idle() };
    let mut daemons: Vec<Daemon> =
        (0..2).map(|node| Daemon::start(&rig, node, &setup(node))).collect();
    let second = TWO_NICS.replace(FIRST, SECOND);
    let within = ApplyRequest { confirm_seconds: Some(3600), ..request(&second) };
    if step == "again" {
        for daemon in &mut daemons {
            daemon.in_sync();
            eventually("the change of plans has ended", || {
                let waits = daemon.client().status().unwrap().waits;
                if waits.is_empty() { Ok(()) } else { Err(format!("{waits:?}")) }
            });
        }
        let addresses = |node: usize| {
            let found = sh(&rig.node(node), "ip -br -4 addr show tresse0");
            let found: Vec<&str> = found.split_whitespace().skip(2).collect();
            if found.is_empty() { "none".into() } else { found.join(" ") }
        };
        println!("addresses {} {}", addresses(0), addresses(1));
    } else {
        for daemon in &mut daemons {
            daemon.client().apply(&request(TWO_NICS)).unwrap();
        }
        daemons.iter_mut().for_each(|daemon| drop(daemon.in_sync()));
    }
    match step {
        "changing" => {
            println!("changing");
            loop {
                for daemon in &mut daemons {
                    daemon.client().apply(&within).unwrap();
                }
                for daemon in &mut daemons {
                    daemon.client().rollback().unwrap();
                }
            }
        }
        "applied" | "confirmed" => {
            for daemon in &mut daemons {
                daemon.client().apply(&within).unwrap();
                if step == "confirmed" {
                    daemon.client().confirm().unwrap();
                }
            }
            println!("{step}");
        }
        _ => {}
    }
    loop {
        std::thread::park();
    }
}

fn sh_here(script: &str) {
    assert!(Command::new("sh").args(["-c", script]).status().unwrap().success(), "{script}");
}
