//! How `tressed` starts and what it exits with, each test in a fresh network namespace.

#![expect(clippy::unwrap_used, reason = "a panic is how these tests fail")]

mod cases;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), cases::trials()).exit_code()
}
