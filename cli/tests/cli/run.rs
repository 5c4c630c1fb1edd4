//! Running the binary, and everything worth seeing where it does not do what a test expects.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// What one run gave.
#[derive(Debug)]
pub struct Ran {
    pub line: String,
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `tresse` in the workspace's root, so that paths are the same everywhere.
pub fn tresse<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Ran {
    tresse_with(args, &[])
}

/// The same with more in its environment.
pub fn tresse_with<S: AsRef<OsStr>>(
    args: impl IntoIterator<Item = S>,
    variables: &[(&str, &str)],
) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tresse"));
    command.current_dir(root()).args(args).stdin(Stdio::null());
    command.env_remove("TRESSE_SOCKET").env("NO_COLOR", "1");
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    Ran {
        line: format!("{command:?}"),
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ran {
    /// Fails with everything said unless the exit code is this one.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}\n{}", self.line, self.stdout, self.stderr);
        self
    }

    /// Every line as a JSON object.
    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        let parse = |line| {
            serde_json::from_str(line).unwrap_or_else(|e| panic!("{}: {e}: {line}", self.line))
        };
        self.stdout.lines().map(parse).collect()
    }

    /// The one JSON object, whose format is 1.
    #[track_caller]
    pub fn object(&self) -> Value {
        let mut lines = self.lines();
        assert_eq!(lines.len(), 1, "{}", self.line);
        assert_eq!(lines[0]["format"], 1, "{}", self.line);
        lines.swap_remove(0)
    }
}

/// Fails unless `value` has all of these keys.
#[track_caller]
pub fn has(value: &Value, keys: &str) {
    for key in keys.split(' ') {
        assert!(value.get(key).is_some(), "no `{key}` in {value}");
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Cluster files in a directory, relative to the root; at least one.
pub fn cluster_files(directory: &str) -> Vec<String> {
    let mut files: Vec<_> = std::fs::read_dir(root().join(directory))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".toml") && name != "tressed.toml")
        .map(|name| format!("{directory}/{name}"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}
