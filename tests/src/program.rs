//! Runs the `tresse` that was built together with this test or demonstration, and finds its daemons.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use nix::unistd::Pid;

/// Name of the environment variable with the path of the `tresse` to run.
pub const TRESSE: &str = "TRESSE_BIN";
/// Name of the environment variable with the path of the `tressed` to run.
pub const TRESSED: &str = "TRESSED_BIN";

/// Returns the path of the built `tresse`: the value of the environment variable `TRESSE_BIN`, else the
/// file `tresse` in the directory of this program or in its parent directory.
///
/// # Panics
/// If there is no such file.
#[must_use]
pub fn tresse() -> PathBuf {
    built(TRESSE, "tresse")
}

/// Returns the path of the built `tressed`: the value of the environment variable `TRESSED_BIN`, else
/// the file `tressed` in the directory of this program or in its parent directory.
///
/// # Panics
/// If there is no such file.
#[must_use]
pub fn tressed() -> PathBuf {
    built(TRESSED, "tressed")
}

fn built(variable: &str, name: &str) -> PathBuf {
    if let Some(path) = std::env::var_os(variable) {
        return path.into();
    }
    let own = std::env::current_exe().expect("a running program has a path");
    let mut places = own.ancestors().skip(1).take(2).map(|d| d.join(name));
    places.find(|p| p.is_file()).unwrap_or_else(|| panic!("{name} is not built: run `cargo build`"))
}

/// Runs `tresse` with these arguments and returns its exit code and standard output. Its standard error
/// goes to that of this program.
///
/// # Panics
/// If `tresse` cannot be started.
pub fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    let mut command = Command::new(tresse());
    command.args(args).stdin(Stdio::null()).stderr(Stdio::inherit());
    command.output().expect("tresse starts")
}

/// Runs `tresse` with these arguments and returns its standard output.
///
/// # Errors
/// If the exit code is not 0: the command line, the exit code and the standard output.
pub fn output(args: &[&str]) -> Result<String, String> {
    let output = run(args);
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!(
            "tresse {}: {}\n{}",
            args.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stdout)
        ))
    }
}

/// Runs `tresse` with these arguments and returns its last line of standard output. Nothing is shown.
///
/// # Errors
/// If the exit code is not 0: the command line, the exit code, standard output and standard error.
pub fn last_line(args: &[&str]) -> Result<String, String> {
    let output = Command::new(tresse()).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("tresse {}: {e}", args.join(" ")))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        return Ok(said.lines().last().unwrap_or_default().into());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("tresse {}: {}\n{said}{errors}", args.join(" "), output.status))
}

/// Returns the process id of a running `tressed` whose configuration file has a path that ends with
/// `config`; `None` if there is none.
#[must_use]
pub fn daemon(config: &str) -> Option<Pid> {
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|entry| {
        let words = std::fs::read(entry.path().join("cmdline")).ok()?;
        let words: Vec<&[u8]> = words.split(|b| *b == 0).collect();
        let is_it = words.get(1) == Some(&&b"--config"[..])
            && words.get(2).is_some_and(|path| path.ends_with(config.as_bytes()));
        let pid = entry.file_name().to_str()?.parse().ok()?;
        is_it.then_some(Pid::from_raw(pid))
    });
    pids.next()
}
