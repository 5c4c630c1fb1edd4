//! `tresse`, the operator's command. The source has one file or folder per verb (subcommand), in a
//! folder per group of verbs.
//!
//! Standard output carries data, standard error carries messages for people (DESIGN section 8).

mod completion;
mod connection;
mod duration;
mod fail;
mod files;
mod fleet;
mod help;
mod input;
mod installed;
mod lab;
mod node;
mod output;
mod plan;
mod plot;
mod study;
mod verbs;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};

use crate::verbs::Verb;

/// All the wires, all the time: one fast network out of cheap switches and multi-NIC nodes.
#[derive(Debug, Parser)]
#[command(name = "tresse", version, max_term_width = 100)]
struct Cli {
    /// Print JSON (one object, or one per line).
    #[arg(long, short = 'j', global = true)]
    json: bool,
    #[command(subcommand)]
    verb: Verb,
}

fn main() -> ExitCode {
    match parse() {
        Ok(cli) => fail::finish(cli.verb.run::<Cli>(cli.json), cli.json),
        Err(error) => fail::usage(&error, std::env::args_os().skip(1)),
    }
}

fn parse() -> Result<Cli, clap::Error> {
    let mut command = help::grouped(Cli::command());
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_verb_is_in_one_group_of_the_help() {
        let mut command = Cli::command();
        command.build();
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let shown: BTreeSet<&str> = shown.map(clap::Command::get_name).collect();
        let grouped: Vec<&str> =
            help::GROUPS.iter().flat_map(|(_, verbs)| *verbs).copied().collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), shown);
        assert_eq!(grouped.len(), shown.len(), "a verb is in two groups");
    }

    #[test]
    fn the_help_fits_a_terminal_of_80_columns_and_names_all_verbs() {
        let text = help::grouped(Cli::command()).render_long_help().to_string();
        for (group, verbs) in help::GROUPS {
            assert!(text.contains(&format!("\n{group}:\n")), "{text}");
            for verb in verbs {
                assert!(text.contains(&format!("\n  {verb} ")), "{verb}: {text}");
            }
        }
        assert!(text.contains("\nOptions:\n") && !text.contains('{'), "{text}");
        for line in text.lines().skip(1) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
