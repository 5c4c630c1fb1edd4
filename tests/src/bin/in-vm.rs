//! Runs a program of this machine, such as a test, in the virtual machine: `in-vm PROGRAM ARGS...`. The
//! program gets paths of the built `tresse` and `tressed`, variables that begin with `TRESSE_`, `COPY_`
//! and `SOAK_`, and `CI=true`, so that a missing kernel feature is a failure. Serves as cargo's runner:
//! `CARGO_TARGET_<TRIPLE>_RUNNER=in-vm cargo test --test NAME`. The machine stays for the next program;
//! `in-vm` without arguments ends it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use tresse_lab::vm::{ExecRequest, RequestError, Vm, VmOptions};
use tresse_tests::program;

fn main() -> ExitCode {
    match run() {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(words) => {
            eprintln!("in-vm: {words}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<i32, String> {
    let mut args = std::env::args().skip(1);
    let tresse = program::tresse();
    let state_dir = state_dir(&tresse);
    let options = VmOptions { init: Some(tresse), state_dir, ..VmOptions::default() };
    let Some(test) = args.next() else {
        return stop(&options).map(|()| 0);
    };
    let vm = Vm::start(&options, &mut |step| eprintln!("{step}")).map_err(|e| e.to_string())?;
    let words = |e: RequestError| e.to_string();
    let mut argv = vec![vm.install(Path::new(&test)).map_err(words)?];
    argv.extend(args);
    let ours = |name: &str| ["TRESSE_", "COPY_", "SOAK_"].iter().any(|part| name.starts_with(part));
    let mut env: Vec<(String, String)> = std::env::vars().filter(|(name, _)| ours(name)).collect();
    env.push(("CI".to_owned(), "true".to_owned()));
    for (variable, path) in
        [(program::TRESSE, program::tresse()), (program::TRESSED, program::tressed())]
    {
        env.push((variable.into(), vm.install(&path).map_err(words)?));
    }
    let cwd = Some("/tmp".into());
    let request = ExecRequest { argv, env, cwd, forward_signals: true, ..ExecRequest::default() };
    let ended = vm.exec(&request, &mut io::stdout(), &mut io::stderr());
    ended.map_err(|error| format!("{error}{}", last_words(&vm)))
}

/// What a machine that has ended by itself said last.
fn last_words(vm: &Vm) -> String {
    std::thread::sleep(Duration::from_secs(1));
    if vm.pid().is_some() {
        return String::new();
    }
    let console = std::fs::read(vm.console()).unwrap_or_default();
    let console = String::from_utf8_lossy(&console);
    let lines: Vec<&str> = console.lines().map(str::trim_end).collect();
    format!("\nthe machine has ended:\n{}", lines[lines.len().saturating_sub(80)..].join("\n"))
}

/// Ends the machine and removes its state directory, whose files are large.
fn stop(options: &VmOptions) -> Result<(), String> {
    if let Some(vm) = Vm::find(options) {
        vm.stop().map_err(|e| e.to_string())?;
    }
    match std::fs::remove_dir_all(&options.state_dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", options.state_dir.display()))
        }
        _ => Ok(()),
    }
}

/// The state directory of the virtual machine for this build of `tresse`. Another checkout has another
/// machine, so none of them meets one that the other is just ending.
fn state_dir(tresse: &Path) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    tresse.hash(&mut hasher);
    VmOptions::default().state_dir.with_file_name(format!("tresse-tests-{:x}", hasher.finish()))
}
