//! `tresse lab exec`: runs a program in the network namespace of a node or switch of a lab.

use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;

use clap::Args;
use tresse_base::installed::CLUSTER_VARIABLE;
use tresse_lab::blueprint::Blueprint;
use tresse_lab::netns;

use super::found::{self, Found};
use crate::fail::{Code, Failure};

#[derive(Debug, Args)]
pub struct Exec {
    /// The node or switch.
    place: String,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

impl Exec {
    pub fn run(&self, found: &Found) -> Result<Code, Failure> {
        let Blueprint { nodes, switches, .. } = &found.record.blueprint;
        let names = nodes.iter().map(|n| &n.name).chain(switches.iter().map(|s| &s.name));
        let names: Vec<&str> = names.map(String::as_str).collect();
        if !names.contains(&self.place.as_str()) {
            return Err(self.unknown(&found.directory.name, &names));
        }
        let mut command = std::process::Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        command.env("TRESSE_SOCKET", found.directory.socket(&self.place));
        let cluster = found.directory.cluster();
        if cluster.exists() {
            command.env(CLUSTER_VARIABLE, cluster);
        }
        // `tresse` is this program, wherever it is.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = std::env::current_exe()?.parent().map(Into::into);
        let all = own.into_iter().chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(all) {
            command.env("PATH", path);
        }
        let (netns, hosts) = (found.directory.netns(&self.place), found.directory.hosts());
        let ran = netns::as_host(&self.place, &netns, &hosts, || command.status())
            .map_err(found::fault)?;
        let status = ran.unwrap_or_else(|error| {
            // As shells end where a program cannot be run.
            eprintln!("tresse: {}: {error}", self.command[0]);
            std::process::exit(if error.kind() == ErrorKind::NotFound { 127 } else { 126 })
        });
        let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
        // Exit with the program's own code.
        std::process::exit(code);
    }

    fn unknown(&self, lab: &str, names: &[&str]) -> Failure {
        let help = match tresse_base::text::nearest(&self.place, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it has {}", tresse_base::hostlist::collapse(names).join(" ")),
        };
        let words = format!("the lab `{lab}` has no node or switch `{}`: {help}", self.place);
        Failure::new(Code::Usage, words)
    }
}
