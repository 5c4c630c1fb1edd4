//! `tresse doctor` on all nodes at once, as a part of `tresse up`.

use std::collections::BTreeMap;
use std::process::{Output, Stdio};

use serde::Deserialize;
use tresse_base::hostlist;
use tresse_plan::Plan;

use super::nodes::{FleetArgs, machine};
use crate::fail::{self, Code, Failure};
use crate::output::plain;

/// So many nodes are asked at once.
const AT_ONCE: usize = 32;

/// What `tresse doctor --json` prints.
#[derive(Debug, Deserialize)]
struct Answer {
    findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
struct Finding {
    check: String,
    verdict: String,
    object: String,
    cause: String,
    fix: String,
}

/// Says what keeps nodes from working as planned, by their own checks but for those of paths.
pub fn examine(args: &FleetArgs, plan: &Plan) -> Result<(), Failure> {
    let names = args.nodes(plan.cluster())?;
    let mut found = BTreeMap::<String, Vec<&str>>::new();
    for some in names.chunks(AT_ONCE) {
        let ask = |name: &String| {
            let machine = machine(plan.cluster(), name);
            let mut command = args.launcher().command(args.lab(), machine, "doctor")?;
            Ok(command.args(["--local", "--json"]).stdin(Stdio::null()).output()?)
        };
        let answers: Vec<Result<Output, Failure>> = std::thread::scope(|scope| {
            let asked: Vec<_> = some.iter().map(|name| scope.spawn(move || ask(name))).collect();
            let lost = || Err(Failure::new(Code::Fault, "it was not asked"));
            asked.into_iter().map(|asked| asked.join().unwrap_or_else(|_| lost())).collect()
        });
        for (name, answer) in some.iter().zip(answers) {
            match answer.and_then(read) {
                Ok(findings) => {
                    for finding in findings.iter().filter(|finding| finding.verdict != "fine") {
                        found.entry(finding.words()).or_default().push(name);
                    }
                }
                Err(failure) => {
                    let words = format!("`tresse doctor` cannot be run: {}", failure.message);
                    found.entry(plain(&words).into_owned()).or_default().push(name);
                }
            }
        }
    }
    for (words, nodes) in found {
        fail::say(&format!("{}: {words}", hostlist::collapse(&nodes).join(",")));
    }
    Ok(())
}

fn read(output: Output) -> Result<Vec<Finding>, Failure> {
    match serde_json::from_slice::<Answer>(&output.stdout) {
        Ok(answer) => Ok(answer.findings),
        Err(_) => Err(Failure::new(Code::Fault, String::from_utf8_lossy(&output.stderr).trim())),
    }
}

impl Finding {
    fn words(&self) -> String {
        let Self { check, verdict, object, cause, fix } = self;
        let object = if object.is_empty() { String::new() } else { format!(" {object}") };
        let words = format!("{} {check}{object}: {cause}", verdict.to_uppercase());
        format!("{}\n  help: {}", plain(&words), plain(fix))
    }
}
