//! `tresse lab`: a cluster on one machine.

mod machine;
mod measure;
mod up;

use std::io::Write;
use std::os::unix::process::ExitStatusExt;

use clap::{Args, Subcommand};
use serde::Serialize;
use tresse_lab::blueprint::Blueprint;
use tresse_lab::fault::{self, FaultError};
use tresse_lab::netns;
use tresse_lab::state::{Directory, Phase, Record, StateError};
use tresse_lab::{down, vm};

use crate::fail::{Code, Failure};
use crate::output;

/// A cluster on one machine: a namespace per node and switch.
#[derive(Debug, Args)]
pub struct Lab {
    /// The lab's name; `up` takes the fabric's, other verbs the only lab there is.
    #[arg(long, global = true)]
    name: Option<String>,
    /// In the small virtual machine; found by itself where no lab of this name runs natively.
    #[arg(long, global = true)]
    vm: bool,
    /// How the virtual machine executes: tcg (the same everywhere), kvm or auto.
    #[arg(long, global = true, default_value = "tcg")]
    accel: vm::Accel,
    #[command(subcommand)]
    verb: LabVerb,
}

#[derive(Debug, Subcommand)]
enum LabVerb {
    /// Build the cluster of a file.
    Up(up::Up),
    /// Ask all ordered pairs of nodes.
    Ping(measure::Ping),
    /// Frames per directed link and VLAN.
    Counters(measure::Counters),
    /// Uniform all-to-all traffic, and what arrives of it.
    Load(measure::Load),
    /// Run a program in a node or switch.
    Exec(Exec),
    /// Make a link (`s00-s01`, `s00:3`), a switch or a node fail.
    Fail(Fail),
    /// Undo failures.
    Heal(Heal),
    /// Show the labs there are.
    Status,
    /// Remove the lab and all that runs in it.
    Down(Down),
    /// The server inside the virtual machine.
    #[command(hide = true)]
    Guest,
}

#[derive(Debug, Args)]
struct Exec {
    /// Node or switch.
    place: String,
    /// Program and arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

#[derive(Debug, Args)]
struct Fail {
    /// Link, switch or node.
    object: String,
    /// Frames vanish, the carrier stays.
    #[arg(long)]
    silent: bool,
}

#[derive(Debug, Args)]
struct Heal {
    /// What `fail` was given; everything if left out.
    object: Option<String>,
}

#[derive(Debug, Args)]
struct Down {
    /// Every lab.
    #[arg(long)]
    all: bool,
}

impl Lab {
    /// Runs the verb here or in the virtual machine.
    pub fn run(self, json: bool) -> Result<Code, Failure> {
        if matches!(self.verb, LabVerb::Guest) {
            vm::guest::main();
        }
        if let Some(machine) = machine::choose(&self)? {
            return machine::run(&self, &machine);
        }
        match self.verb {
            LabVerb::Up(ref verb) => verb.run(self.name.as_deref(), json),
            LabVerb::Ping(ref verb) => verb.run(&self.lab()?, json),
            LabVerb::Counters(ref verb) => verb.run(&self.lab()?, json),
            LabVerb::Load(ref verb) => verb.run(&self.lab()?, json),
            LabVerb::Exec(ref verb) => verb.run(&self.lab()?),
            LabVerb::Fail(ref verb) => verb.run(&self.lab()?),
            LabVerb::Heal(ref verb) => verb.run(&self.lab()?),
            LabVerb::Status => status(json),
            LabVerb::Down(ref verb) => verb.run(self.name.as_deref()),
            LabVerb::Guest => unreachable!("served above"),
        }
    }

    fn lab(&self) -> Result<Found, Failure> {
        let directory = Directory::find(self.name.as_deref()).map_err(state)?;
        let record = directory.load_up().map_err(state)?;
        Ok(Found { directory, record })
    }
}

/// A finished lab.
struct Found {
    directory: Directory,
    record: Record,
}

/// A lab that is not there is a wrong command line.
fn state(error: StateError) -> Failure {
    let code = match error {
        StateError::Io { .. } | StateError::Format { .. } | StateError::Unfinished { .. } => {
            Code::Fault
        }
        _ => Code::Usage,
    };
    Failure::new(code, error)
}

impl Exec {
    fn run(&self, found: &Found) -> Result<Code, Failure> {
        let Blueprint { nodes, switches, .. } = &found.record.blueprint;
        let mut names = nodes.iter().map(|n| &n.name).chain(switches.iter().map(|s| &s.name));
        if !names.any(|n| *n == self.place) {
            return Err(Failure::new(Code::Usage, format!("no node or switch `{}`", self.place)));
        }
        let mut command = std::process::Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        command.env("TRESSE_SOCKET", found.directory.socket(&self.place));
        // `tresse` is this program, wherever it is.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = std::env::current_exe()?.parent().map(Into::into);
        let all = own.into_iter().chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(all) {
            command.env("PATH", path);
        }
        let status = netns::inside(&found.directory.netns(&self.place), || command.status())
            .map_err(|e| Failure::new(Code::Fault, e))?
            .map_err(|e| Failure::new(Code::Usage, format!("{}: {e}", self.command[0])))?;
        let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
        // The program's own code, whatever it is.
        std::process::exit(code);
    }
}

fn failed(error: FaultError) -> Failure {
    let code = match error {
        FaultError::Unknown { .. } | FaultError::Whole { .. } => Code::Usage,
        _ => Code::Fault,
    };
    Failure::new(code, error)
}

impl Fail {
    fn run(&self, found: &Found) -> Result<Code, Failure> {
        fault::fail(&found.directory, &self.object, self.silent).map_err(failed)?;
        Ok(Code::Fine)
    }
}

impl Heal {
    fn run(&self, found: &Found) -> Result<Code, Failure> {
        fault::heal(&found.directory, self.object.as_deref()).map_err(failed)?;
        Ok(Code::Fine)
    }
}

impl Down {
    fn run(&self, name: Option<&str>) -> Result<Code, Failure> {
        let labs =
            if self.all { Directory::all() } else { vec![Directory::find(name).map_err(state)?] };
        let mut faults = Vec::new();
        for lab in labs {
            faults.extend(down::down(&lab).err().unwrap_or_default());
        }
        if faults.is_empty() {
            return Ok(Code::Fine);
        }
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Err(Failure::new(Code::Fault, lines.join("\n")))
    }
}

/// One lab in `lab status`.
#[derive(Debug, Serialize)]
struct StatusLine<'a> {
    format: u32,
    name: &'a str,
    phase: Phase,
    generation: &'a str,
    nodes: usize,
    switches: usize,
    cables: usize,
    daemons: bool,
    failed: Vec<&'a str>,
}

fn status(json: bool) -> Result<Code, Failure> {
    let mut out = output::stdout();
    let records: Vec<Record> =
        Directory::all().iter().map(Directory::load).collect::<Result<_, _>>().map_err(state)?;
    let lines = records.iter().map(|record| StatusLine {
        format: 1,
        name: &record.name,
        phase: record.phase,
        generation: &record.blueprint.generation,
        nodes: record.blueprint.nodes.len(),
        switches: record.blueprint.switches.len(),
        cables: record.blueprint.cables.len(),
        daemons: record.daemons,
        failed: record.faults.iter().map(|f| f.object.as_str()).collect(),
    });
    let mut table =
        output::table(["LAB", "PHASE", "NODES", "SWITCHES", "CABLES", "GENERATION", "FAILED"]);
    for line in lines {
        if json {
            output::json_line(&mut out, &line)?;
        } else {
            let phase = if line.phase == Phase::Up { "up" } else { "unfinished" };
            table.add_row([
                line.name.to_owned(),
                phase.into(),
                line.nodes.to_string(),
                line.switches.to_string(),
                line.cables.to_string(),
                line.generation.into(),
                line.failed.join(" "),
            ]);
        }
    }
    if !json && !table.is_empty() {
        writeln!(out, "{}", table.trim_fmt())?;
    }
    Ok(Code::Fine)
}
