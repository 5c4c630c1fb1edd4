//! `tresse env`: prints environment variables for libraries that choose network interfaces
//! themselves (MPI, NCCL, ...).

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::IpAddr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use tresse_export::{Library, shell_word};
use tresse_plan::Plan;
use tresse_reconcile::NODE_INTERFACE;

use crate::fail::{Code, Failure};
use crate::installed::InstalledArgs;
use crate::output;

/// Arguments of `tresse env`, which prints environment variables that make MPI, NCCL and others use
/// the fabric.
#[derive(Debug, Args)]
pub struct Env {
    #[command(flatten)]
    cluster: InstalledArgs,
    /// The library to configure.
    #[arg(long = "for", value_parser = libraries())]
    library: Library,
}

fn libraries() -> impl TypedValueParser<Value = Library> {
    let names = PossibleValuesParser::new(Library::ALL.map(Library::name));
    names.try_map(|name| Library::named(&name).ok_or("not one of them"))
}

/// The answer.
#[derive(Debug, Serialize)]
struct Advice {
    format: u32,
    r#for: &'static str,
    generation: String,
    /// The interface that has every node's own address.
    interface: &'static str,
    /// The prefixes of those addresses.
    prefixes: Vec<String>,
    /// The own addresses of each node.
    addresses: BTreeMap<String, Vec<IpAddr>>,
    /// The most paths that one pair uses at once. Each connection uses one of them.
    ways: usize,
    variables: BTreeMap<&'static str, String>,
    notes: Vec<String>,
}

impl Env {
    /// Computes the plan and prints the settings.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let advice = self.advice(&self.cluster.plan()?);
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &advice)?;
        } else {
            text(&mut out, &advice)?;
        }
        out.flush()?;
        Ok(Code::Fine)
    }

    fn advice(&self, plan: &Plan) -> Advice {
        let file = self.cluster.file();
        let file = std::path::absolute(&file).unwrap_or(file);
        let told = self.library.environment(plan, &file);
        let nodes = plan.cluster().nodes.iter().map(|node| node.name.clone());
        Advice {
            format: 1,
            r#for: self.library.name(),
            generation: plan.generation().to_string(),
            interface: NODE_INTERFACE,
            prefixes: told.prefixes,
            addresses: nodes.zip(plan.addresses().node.iter().cloned()).collect(),
            ways: told.ways,
            variables: told.variables,
            notes: told.notes,
        }
    }
}

/// Lines for a shell: `eval "$(tresse env FILE --for openmpi)"`.
fn text(out: &mut impl Write, advice: &Advice) -> io::Result<()> {
    for note in &advice.notes {
        writeln!(out, "# {note}")?;
    }
    for (name, value) in &advice.variables {
        writeln!(out, "export {name}={}", shell_word(value))?;
    }
    Ok(())
}
