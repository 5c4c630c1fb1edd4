//! Drives the virtual machine by hand: `vm start`, `vm exec CMD...`, `vm run PROGRAM ARGS...`,
//! `vm put FROM TO`, `vm get PATH`, `vm stop`.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use tresse_lab::vm::{ExecRequest, ProgramInput, Vm, VmOptions, guest};

fn main() -> anyhow::Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == "guest") {
        guest::main();
    }
    let options = VmOptions { init_args: vec!["guest".into()], ..VmOptions::default() };
    let began = Instant::now();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    if words == ["stop"] {
        if let Some(vm) = Vm::find(&options) {
            vm.stop()?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let vm = Vm::start(&options, &mut |line| eprintln!("{line}"))?;
    let code = match words.as_slice() {
        ["start"] => {
            eprintln!("up after {:?}, console {}", began.elapsed(), vm.console().display());
            0
        }
        ["exec", argv @ ..] => {
            let mut request = ExecRequest::new(argv.iter().copied());
            request.stdin = ProgramInput::Inherit;
            request.forward_signals = true;
            vm.exec(&request, &mut io::stdout(), &mut io::stderr())?
        }
        ["run", program, ..] => vm.run_here(Path::new(program), &args[2..], &[])?,
        ["put", from, to] => {
            vm.put(to, 0o755, &std::fs::read(from)?)?;
            0
        }
        ["get", path] => {
            io::stdout().write_all(&vm.get(path)?)?;
            0
        }
        _ => anyhow::bail!("expected start, stop, exec, run, put or get"),
    };
    eprintln!("{:?}", began.elapsed());
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}
