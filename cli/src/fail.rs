//! How the verbs of `tresse` end: exit codes (DESIGN section 8) and error messages on standard
//! error.

use std::error::Error;
use std::ffi::OsString;
use std::io::{ErrorKind as IoErrorKind, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use serde::Serialize;
use tresse_base::problem::Problem;
use tresse_control::{ClientError, NodeError};

use crate::output;

/// The exit codes of `tresse`, on which scripts may rely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// Fine, or in sync.
    Fine = 0,
    /// A check found a fault, or there is drift.
    Fault = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The cluster or a configuration file is wrong.
    BadFile = 3,
    /// No daemon answers.
    Unreachable = 4,
    /// Only a part was installed.
    Partly = 5,
    /// The caller may not do this.
    NotPermitted = 6,
}

impl Code {
    const fn kind(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Fault => "fault",
            Self::Usage => "usage",
            Self::BadFile => "file",
            Self::Unreachable => "unreachable",
            Self::Partly => "partly",
            Self::NotPermitted => "not-permitted",
        }
    }
}

/// Why a verb failed: the message, the exit code, and the problems of the cluster file, if any.
#[derive(Debug)]
pub struct Failure {
    /// The exit code of the process.
    pub code: Code,
    /// The message for standard error; empty if everything was printed before.
    pub message: String,
    /// The problems of the cluster file, for `--json`. They were printed on standard error before.
    pub problems: Vec<Problem>,
}

impl Failure {
    /// A failure with a message and no problems of a file.
    pub fn new(code: Code, message: impl std::fmt::Display) -> Self {
        Self { code, message: message.to_string(), problems: Vec::new() }
    }
}

impl From<std::io::Error> for Failure {
    /// An error of writing the answer. A closed pipe is not a failure: the reader has seen enough.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == IoErrorKind::BrokenPipe {
            Self::new(Code::Fine, "")
        } else {
            Self::new(Code::Fault, format!("cannot write the answer: {error}"))
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let code = match &error {
            ClientError::Unreachable { source, .. }
                if source.kind() == IoErrorKind::PermissionDenied =>
            {
                Code::NotPermitted
            }
            ClientError::Unreachable { .. }
            | ClientError::Protocol { .. }
            | ClientError::TimedOut { .. } => Code::Unreachable,
            ClientError::Node(error) => match error {
                NodeError::BadCluster { .. } | NodeError::WrongNode { .. } => Code::BadFile,
                NodeError::NotPermitted { .. } => Code::NotPermitted,
                NodeError::PartlyInstalled { .. } => Code::Partly,
                _ => Code::Fault,
            },
        };
        let mut message = error.to_string();
        if let Some(source) = error.source() {
            message.push_str(&format!(" ({source})"));
        }
        if let ClientError::Node(NodeError::PartlyInstalled { left, .. }) = &error {
            for line in left {
                message.push_str(&format!("\n  left: {}", output::operation(line)));
            }
        }
        if let ClientError::Node(NodeError::WouldCut { .. }) = &error {
            message.push_str("\n  help: --force drains it anyway, and these nodes go on using it");
        }
        if let ClientError::Node(NodeError::WouldLockOut { .. }) = &error {
            message.push_str("\n  help: --force goes on without this check");
        }
        if code == Code::Unreachable {
            message.push_str(
                "\n  help: `systemctl status tressed` shows whether the daemon runs; \
                 --socket or TRESSE_SOCKET names another socket",
            );
        }
        Self::new(code, message)
    }
}

/// The answer of `--json` if a verb fails.
#[derive(Debug, Serialize)]
struct Refusal<'a, E> {
    format: u32,
    errors: &'a [E],
}

/// An error that has no place in a file: a file that cannot be read, or a daemon that does not answer.
#[derive(Debug, Serialize)]
struct Whole<'a> {
    kind: &'static str,
    message: &'a str,
}

/// Turns the result of a verb into the exit code of the process. On failure prints the message on
/// standard error and, with `json`, the error as JSON on standard output.
pub fn finish(result: Result<Code, Failure>, json: bool) -> ExitCode {
    let code = match result {
        Ok(code) => code,
        Err(failure) => {
            if !failure.message.is_empty() {
                say(&format!("tresse: {}", failure.message));
            }
            if json && failure.code != Code::Fine {
                // The message is on standard error already; a closed standard output changes nothing.
                let _ = refuse(&failure);
            }
            failure.code
        }
    };
    ExitCode::from(code as u8)
}

/// Prints clap's message: what is wrong with the command line, or the help or version text that was
/// requested. Returns the exit code: 2 for a wrong command line, else 0.
pub fn usage(error: &clap::Error, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    if let Err(failed) = print(error) {
        return finish(Err(failed.into()), false);
    }
    if error.use_stderr() && wants_json(arguments) {
        let _ = refuse(&Failure::new(Code::Usage, wrong(error)));
    }
    ExitCode::from(error.exit_code() as u8)
}

/// Prints clap's message. If standard error is closed, a message for it is lost; a text that was
/// requested must reach standard output.
fn print(error: &clap::Error) -> std::io::Result<()> {
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    if error.use_stderr() { Ok(()) } else { printed }
}

/// What the parser found wrong, in one line without the usage.
fn wrong(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a verb or an argument is missing".into();
    }
    let text = error.to_string();
    let said = text.split("\n\nUsage:").next().unwrap_or_default();
    let said = said.split("\n\nFor more information").next().unwrap_or_default();
    let words: Vec<_> = said.split_whitespace().collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

/// Whether `--json` is among the arguments, alone or among short flags. A parser that fails does not tell.
fn wants_json(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut own = arguments.take_while(|argument| argument != "--");
    own.any(|argument| {
        let text = argument.to_string_lossy();
        let short = text.strip_prefix('-').filter(|flags| flags.chars().all(char::is_alphabetic));
        text == "--json" || short.is_some_and(|flags| flags.contains('j'))
    })
}

fn refuse(failure: &Failure) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if failure.problems.is_empty() {
        let errors = &[Whole { kind: failure.code.kind(), message: &failure.message }];
        return output::json_line(&mut out, &Refusal { format: 1, errors });
    }
    output::json_line(&mut out, &Refusal { format: 1, errors: &failure.problems })
}

/// Prints a line on standard error, with control characters escaped. If standard error is closed, the line is lost.
pub fn say(message: &str) {
    let _ = writeln!(std::io::stderr(), "{}", output::plain(message));
}
