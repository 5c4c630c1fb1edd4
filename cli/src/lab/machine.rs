//! Runs a verb of `tresse lab` in the virtual machine, with the same arguments, output and exit
//! code as in this machine's kernel.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use tresse_lab::state::Directory;
use tresse_lab::vm::{ExecRequest, ProgramInput, Vm, VmOptions};

use super::arguments::{Lab, LabVerb};
use crate::fail::{Code, Failure};
use crate::input;

/// Returns the virtual machine in which to run the verb of `tresse lab`; `None` to run it in this
/// machine's kernel. `up --vm` starts the virtual machine if none runs. Other verbs without `--vm`
/// use a running one if this kernel has no such lab.
pub fn choose(lab: &Lab) -> Result<Option<Vm>, Failure> {
    if std::env::var_os(INSIDE).is_some() {
        return Ok(None);
    }
    let options = VmOptions { accel: lab.accel, ..VmOptions::default() };
    if lab.vm {
        if !matches!(lab.verb, LabVerb::Up(_)) {
            let none = || Failure::new(Code::Usage, "no virtual machine is running");
            return Vm::find(&options).ok_or_else(none).map(Some);
        }
        let terminal = io::stderr().is_terminal();
        let mut progress = |step: &str| {
            if terminal {
                eprintln!("{step}");
            }
        };
        let started = Vm::start(&options, &mut progress);
        return started.map(Some).map_err(|e| Failure::new(Code::Fault, e));
    }
    let native = match &lab.verb {
        LabVerb::Up(_) | LabVerb::Supervise { .. } => true,
        LabVerb::Status => !Directory::all().is_empty(),
        _ => Directory::find(lab.name.as_deref()).is_ok(),
    };
    Ok(if native { None } else { Vm::find(&options) })
}

/// Runs this process's own command line in the virtual machine, and then exits with the exit code
/// that it had there. Returns only on failure.
pub fn run(lab: &Lab, vm: &Vm) -> Result<Code, Failure> {
    let fault = |e: tresse_lab::vm::RequestError| Failure::new(Code::Fault, e);
    let own = std::env::current_exe()?;
    let mut argv = vec![vm.install(&own).map_err(fault)?];
    // What follows `--` belongs to the program that `exec` runs.
    let mut options = true;
    for argument in std::env::args().skip(1) {
        options &= argument != "--";
        if !(options && argument == "--vm") {
            argv.push(argument);
        }
    }
    let mut cwd = DIRECTORY.to_owned();
    if let LabVerb::Up(up) = &lab.verb {
        // A directory of its own, so that files of the same name of other labs are not in it.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        cwd = format!("{DIRECTORY}/{}-{}", now.as_nanos(), std::process::id());
        let daemon = up.daemon()?;
        for path in [up.cluster.file.clone(), up.cluster.lock_path()] {
            if !path.is_file() {
                continue;
            }
            let bytes = match path == up.cluster.file {
                true => input::cluster_text(&path)?.into_bytes(),
                false => std::fs::read(&path)?,
            };
            let there = format!("{cwd}/{}", file_name(&path));
            vm.put(&there, 0o644, &bytes).map_err(fault)?;
            replace(&mut argv, &path, &file_name(&path));
        }
        if let Some(path) = &up.key {
            let there = format!("{cwd}/{}", file_name(path));
            vm.put(&there, 0o400, &std::fs::read(path)?).map_err(fault)?;
            replace(&mut argv, path, &file_name(path));
        }
        if let Some(path) = daemon {
            let there = vm.install(&path).map_err(fault)?;
            if let Some(given) = &up.tressed {
                replace(&mut argv, given, &there);
            } else {
                argv.extend(["--tressed".into(), there]);
            }
        }
    }
    vm.put(&format!("{cwd}/.keep"), 0o644, b"").map_err(fault)?;
    let stdin = if matches!(lab.verb, LabVerb::Exec(_)) {
        ProgramInput::Inherit
    } else {
        ProgramInput::Null
    };
    let request = ExecRequest {
        argv,
        env: vec![(INSIDE.into(), "1".into())],
        cwd: Some(cwd),
        stdin,
        forward_signals: true,
        ..ExecRequest::default()
    };
    let code = vm.exec(&request, &mut io::stdout(), &mut io::stderr()).map_err(fault)?;
    if matches!(lab.verb, LabVerb::Down(_)) && code == 0 && empty(vm) {
        vm.stop().map_err(|e| Failure::new(Code::Fault, e))?;
    }
    std::process::exit(code);
}

/// Whether no lab is left in the virtual machine.
fn empty(vm: &Vm) -> bool {
    let list = ExecRequest::new(["sh", "-c", "ls -A /run/tresse-lab 2>/dev/null"]);
    vm.output(&list).is_ok_and(|(_, out, _)| out.is_empty())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Replaces arguments that name this file, alone or after `--option=`.
fn replace(argv: &mut [String], path: &Path, with: &str) {
    let text = path.to_string_lossy();
    for argument in argv.iter_mut().skip(1) {
        if *argument == text {
            *argument = with.into();
        } else if let Some((option, value)) = argument.split_once('=')
            && value == text
        {
            *argument = format!("{option}={with}");
        }
    }
}

/// The variable that is set inside the virtual machine.
const INSIDE: &str = "TRESSE_LAB_INSIDE";
const DIRECTORY: &str = "/tmp/lab";
