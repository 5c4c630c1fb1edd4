//! A rollout of the trial of broken rollouts: a process of its own, whose every request passes the checkpoint.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::bridge::{CHECKPOINT, LAB};
use super::checkpoint::{Checkpoint, Step};
use crate::lab::Lab;
use crate::program;

/// A rollout that runs, and its checkpoint.
#[derive(Debug)]
pub struct Rollout {
    pub checkpoint: Checkpoint,
    child: Child,
    directory: tempfile::TempDir,
}

/// What a rollout said in the end.
#[derive(Debug)]
pub struct Answer {
    /// Its exit code; `None` if it was killed.
    pub code: Option<i32>,
    /// Its JSON.
    pub json: Value,
    /// Standard error.
    pub said: String,
}

impl Rollout {
    /// Starts the rollout of a cluster file, which stops at a step.
    pub fn start(
        lab: &Lab,
        file: &str,
        step: Step,
        late: &[String],
        confirm: Duration,
    ) -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
        let at = |name: &str| directory.path().join(name);
        let checkpoint = Checkpoint::open(&at("checkpoint"), step, &lab.nodes(), late)?;
        let own = std::env::current_exe().map_err(|e| e.to_string())?;
        let script = format!("#!/bin/sh\nexec '{}' --bridge \"$@\"\n", own.display());
        fs::write(at("ssh"), script).map_err(|e| e.to_string())?;
        fs::set_permissions(at("ssh"), fs::Permissions::from_mode(0o755))
            .map_err(|e| e.to_string())?;
        let path = std::env::var("PATH").unwrap_or_default();
        let file_of = |name: &str| fs::File::create(at(name)).map_err(|e| e.to_string());
        let mut command = Command::new(program::tresse());
        command.args(["rollout", file, "--json", "--launcher", "ssh", "--confirm"]);
        command.arg(format!("{}s", confirm.as_secs()));
        command.env("PATH", format!("{}:{path}", directory.path().display()));
        command.env(CHECKPOINT, at("checkpoint")).env(LAB, lab_directory(lab));
        command.stdin(Stdio::null()).stdout(file_of("out")?).stderr(file_of("err")?);
        let child = command.spawn().map_err(|e| format!("tresse rollout: {e}"))?;
        Ok(Self { checkpoint, child, directory })
    }

    /// Waits until it has come to its step; false if it ends before, or does not come there in time.
    pub fn reached(&mut self, patience: Duration) -> bool {
        let Self { checkpoint, child, .. } = self;
        checkpoint.reached(patience, || !matches!(child.try_wait(), Ok(None)))
    }

    /// Waits until it has ended.
    pub fn wait(&mut self, patience: Duration) {
        let until = Instant::now() + patience;
        while self.ended().is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Has it ended?
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// kill -9.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Kills it. Its connections end with it, and what waits in them.
    pub fn gone(&mut self, patience: Duration) {
        self.kill();
        self.wait(patience);
        std::thread::sleep(Duration::from_millis(300));
    }

    /// SIGSTOP or SIGCONT.
    pub fn signal(&self, signal: Signal) {
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), signal);
    }

    /// Waits until it has ended.
    pub fn answer(mut self, patience: Duration) -> Result<Answer, String> {
        let until = Instant::now() + patience;
        let status = loop {
            match self.ended() {
                Some(status) => break status,
                None if Instant::now() > until => {
                    self.kill();
                    let _ = self.child.wait();
                    return Err(format!("the rollout goes on for more than {patience:?}"));
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let text = |name: &str| fs::read_to_string(self.directory.path().join(name));
        let out = text("out").unwrap_or_default();
        let json = serde_json::from_str(&out).unwrap_or(Value::Null);
        Ok(Answer { code: status.code(), json, said: text("err").unwrap_or_default() })
    }
}

fn lab_directory(lab: &Lab) -> std::path::PathBuf {
    let node = lab.nodes().first().cloned().unwrap_or_default();
    lab.directory().node(&node).parent().map(Path::to_path_buf).unwrap_or_default()
}
