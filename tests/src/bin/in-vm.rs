//! Runs a program of this machine, such as a test, in the virtual machine: `in-vm PROGRAM ARGS...`. The
//! program gets paths of the built `tresse` and `tressed`, variables that begin with `TRESSE_`, `COPY_`
//! and `SOAK_`, and `CI=true`, so that a missing kernel feature is a failure. Serves as cargo's runner:
//! `CARGO_TARGET_<TRIPLE>_RUNNER=in-vm cargo test --test NAME`.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use tresse_lab::vm::{ExecRequest, RequestError, Vm, VmOptions};
use tresse_tests::program;

fn main() -> ExitCode {
    match run() {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(words) => {
            eprintln!("in-vm: {words}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<i32, String> {
    let mut args = std::env::args().skip(1);
    let test = args.next().ok_or("expected a program")?;
    let options = VmOptions { init: Some(program::tresse()), ..VmOptions::default() };
    let vm = Vm::start(&options, &mut |step| eprintln!("{step}")).map_err(|e| e.to_string())?;
    let words = |e: RequestError| e.to_string();
    let mut argv = vec![vm.install(Path::new(&test)).map_err(words)?];
    argv.extend(args);
    let ours = |name: &str| ["TRESSE_", "COPY_", "SOAK_"].iter().any(|part| name.starts_with(part));
    let mut env: Vec<(String, String)> = std::env::vars().filter(|(name, _)| ours(name)).collect();
    env.push(("CI".to_owned(), "true".to_owned()));
    for (variable, path) in
        [(program::TRESSE, program::tresse()), (program::TRESSED, program::tressed())]
    {
        env.push((variable.into(), vm.install(&path).map_err(words)?));
    }
    let cwd = Some("/tmp".into());
    let request = ExecRequest { argv, env, cwd, forward_signals: true, ..ExecRequest::default() };
    vm.exec(&request, &mut io::stdout(), &mut io::stderr()).map_err(words)
}
