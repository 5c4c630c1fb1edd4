//! The text of `tresse --help`, which lists the verbs in groups.

use std::fmt::Write as _;

use clap::Command;

/// The groups of verbs in `tresse --help`, in order, each with its verbs.
pub const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Plan",
        &[
            "plan", "check", "paths", "trace", "design", "schedule", "compare", "export", "env",
            "schema", "fmt",
        ],
    ),
    (
        "Run",
        &[
            "up", "apply", "confirm", "rollback", "withdraw", "reload", "rollout", "replace",
            "drain", "undrain", "pin", "weight", "unpin",
        ],
    ),
    (
        "Look",
        &[
            "status", "wait", "failures", "diff", "counters", "log", "monitor", "top", "cables",
            "probe", "discover", "remap", "macs",
        ],
    ),
    ("Mend", &["doctor", "unfuse", "bugreport"]),
    ("Move files", &["copy", "scatter", "gather", "allgather"]),
    ("Study", &["simulate", "lab", "reflect"]),
    ("Other", &["bridge", "completion", "help"]),
];

/// Returns the clap command of `tresse` with a help text that lists its verbs in the groups of
/// [`GROUPS`]. clap by itself would print one list without groups.
pub fn grouped(command: Command) -> Command {
    let styles = command.get_styles();
    let (header, literal) = (*styles.get_header(), *styles.get_literal());
    let about = |verb: &str| match command.find_subcommand(verb) {
        Some(found) => found.get_about().map(ToString::to_string).unwrap_or_default(),
        // clap adds this verb when it parses.
        None => "Print the help of a verb".to_owned(),
    };
    let width = GROUPS.iter().flat_map(|(_, verbs)| *verbs).map(|verb| verb.len()).max();
    let width = width.unwrap_or(0);
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    // Writing to a string cannot fail.
    for (group, verbs) in GROUPS {
        let _ = writeln!(text, "\n{header}{group}:{header:#}");
        for verb in verbs {
            let _ = writeln!(text, "  {literal}{verb:<width$}{literal:#}  {}", about(verb));
        }
    }
    let _ = write!(text, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    command.help_template(text)
}
