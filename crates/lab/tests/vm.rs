//! The virtual machine judged by what runs in it.
//!
//! All tests share one machine, which ends itself a minute after the last of them. They are
//! ignored by default because they boot QEMU and, the first time, fetch packages by apt.

#![expect(clippy::unwrap_used, reason = "a failed test is a panic")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tresse_lab::vm::{ExecRequest, ProgramInput, RequestError, Vm, VmOptions};

/// The example is the guest's init.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/vm")
}

/// Brings the example up to date: `cargo test --test vm` does not.
fn build_program() {
    let mut cargo = Command::new(env!("CARGO"));
    // The same packages as `make test` builds: other ones would have other features, and compile anew.
    cargo.args(["build", "--quiet", "--locked", "--workspace", "--example", "vm"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    assert!(cargo.status().unwrap().success());
}

fn options() -> VmOptions {
    VmOptions {
        state_dir: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("vm"),
        init: Some(program()),
        init_args: vec!["guest".into()],
        idle: Duration::from_secs(60),
        ..VmOptions::default()
    }
}

static VM: LazyLock<Vm> = LazyLock::new(|| {
    if let Some(old) = Vm::find(&options()) {
        old.stop().unwrap();
    }
    build_program();
    Vm::start(&options(), &mut |line| eprintln!("{line}")).unwrap()
});

fn shell(script: &str) -> (i32, String) {
    let request = ExecRequest::new(["sh", "-c", script]);
    let (code, out, err) = VM.output(&request).unwrap();
    (code, String::from_utf8_lossy(&[out, err].concat()).into_owned())
}

fn until(what: &str, mut condition: impl FnMut() -> Result<(), String>) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(seen) = condition() {
        assert!(Instant::now() < deadline, "{what}; last seen: {seen}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
#[ignore = "boots a virtual machine (QEMU, Debian packages)"]
fn namespaces_ping_through_a_vlan_filtering_bridge() {
    let (code, text) = shell(
        "set -e
         ip netns add pa; ip netns add pb; ip netns add psw
         ip -n psw link add br0 up type bridge vlan_filtering 1 vlan_default_pvid 0 stp_state 0
         for n in a b; do
           ip -n p$n link add eth0 type veth peer name p$n netns psw
           ip -n psw link set p$n up master br0
           bridge -n psw vlan add dev p$n vid 10
           ip -n p$n link set eth0 up
           ip -n p$n link add eth0.10 link eth0 type vlan id 10
           ip -n p$n link add eth0.20 link eth0 type vlan id 20
           ip -n p$n link set eth0.10 up
           ip -n p$n link set eth0.20 up
         done
         ip -n pa addr add 10.1.0.1/24 dev eth0.10; ip -n pb addr add 10.1.0.2/24 dev eth0.10
         ip -n pa addr add 10.2.0.1/24 dev eth0.20; ip -n pb addr add 10.2.0.2/24 dev eth0.20
         ip netns exec pa ping -c 3 -i 0.2 -W 5 10.1.0.2
         ! ip netns exec pa ping -c 2 -i 0.2 -W 1 10.2.0.2
         ip netns del pa; ip netns del pb; ip netns del psw",
    );
    eprintln!("{text}");
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("3 packets transmitted, 3 received, 0% packet loss"), "{text}");
    assert!(text.contains("2 packets transmitted, 0 received"), "{text}");
}

#[test]
#[ignore = "boots a virtual machine (QEMU, Debian packages)"]
fn streams_and_exit_codes_are_kept_apart() {
    let mut request = ExecRequest::new(["sh", "-c", "cat; echo $A $PWD >&2; exit 7"]);
    request.env = vec![("A".into(), "b c".into())];
    request.cwd = Some("/usr".into());
    let input: Vec<u8> = (0..2_000_000u32).map(|i| (i * 7) as u8).collect();
    request.stdin = ProgramInput::Bytes(input.clone());
    let (code, out, err) = VM.output(&request).unwrap();
    assert_eq!((code, err.as_slice()), (7, &b"b c /usr\n"[..]));
    assert!(out == input, "{} of {} bytes", out.len(), input.len());
    assert_eq!(shell("kill -9 $$").0, 137);
    let missing = VM.output(&ExecRequest::new(["no-such-program"])).unwrap_err();
    assert!(missing.to_string().contains("no-such-program: No such file"), "{missing}");
}

#[test]
#[ignore = "boots a virtual machine (QEMU, Debian packages)"]
fn input_that_nobody_reads_does_not_block() {
    let mut request = ExecRequest::new(["true"]);
    request.stdin = ProgramInput::Bytes(vec![0; 3_000_000]);
    assert_eq!(VM.output(&request).unwrap().0, 0);
}

#[test]
#[ignore = "boots a virtual machine (QEMU, Debian packages)"]
fn daemon_left_behind_does_not_hold_the_call() {
    let _ = VM.pid();
    let began = Instant::now();
    assert_eq!(shell("setsid sleep 60 & echo done"), (0, "done\n".into()));
    assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
}

#[test]
#[ignore = "boots a virtual machine (QEMU, Debian packages)"]
fn files_survive_the_way_in_and_out() {
    let bytes: Vec<u8> = (0..5_000_003u32).map(|i| (i.wrapping_mul(i) >> 5) as u8).collect();
    VM.put("/tmp/new/dir/file", 0o640, &bytes).unwrap();
    assert!(VM.get("/tmp/new/dir/file").unwrap() == bytes);
    assert_eq!(shell("stat -c %a /tmp/new/dir/file").1, "640\n");
    VM.put("/tmp/new/empty", 0o644, &[]).unwrap();
    assert!(VM.get("/tmp/new/empty").unwrap().is_empty());
    let error = VM.put("/proc/nothing/here", 0o644, &bytes).unwrap_err();
    assert!(matches!(error, RequestError::Guest { .. }), "{error}");
    let error = VM.get("/nowhere").unwrap_err();
    assert!(error.to_string().contains("/nowhere: No such file"), "{error}");
}

#[test]
#[ignore = "boots a virtual machine (QEMU, Debian packages)"]
fn more_clients_than_ports_take_turns() {
    let _ = VM.pid();
    std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..24).map(|i| scope.spawn(move || shell(&format!("sleep 0.2; echo {i}")))).collect();
        for (i, client) in clients.into_iter().enumerate() {
            assert_eq!(client.join().unwrap(), (0, format!("{i}\n")));
        }
    });
}

#[test]
#[ignore = "boots a virtual machine (QEMU, Debian packages)"]
fn time_limit_kills_the_program() {
    let mut request = ExecRequest::new(["sleep", "4242"]);
    request.timeout = Some(Duration::from_secs(1));
    let error = VM.output(&request).unwrap_err();
    assert!(matches!(error, RequestError::Timeout { .. }), "{error}");
    until("sleep ends", || match shell("pgrep -f '^sleep 4242'") {
        (1, _) => Ok(()),
        seen => Err(format!("{seen:?}")),
    });
}

/// The guest must not take the next client's words for the rest of the frame.
#[test]
#[ignore = "boots a virtual machine (QEMU, Debian packages)"]
fn client_that_dies_within_a_frame_leaves_its_port_usable() {
    let _ = VM.pid();
    let state = options().state_dir;
    let lock = std::fs::File::create(state.join("0.lock")).unwrap();
    lock.lock().unwrap();
    let mut stream = UnixStream::connect(state.join("0.sock")).unwrap();
    let header = br#"{"kind":"exec","argv":["cat"],"env":[],"cwd":null,"stdin":true}"#;
    let mut bytes = b"TRESSEhi\x07\0\0\0\0\0\0\0\x01\0\0\0".to_vec();
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(header);
    let stdin = br#"{"kind":"stdin"}"#;
    bytes.extend((stdin.len() as u32).to_le_bytes());
    bytes.extend((1u32 << 20).to_le_bytes());
    bytes.extend(stdin);
    stream.write_all(&bytes).unwrap();
    let mut welcome = [0; 20];
    stream.read_exact(&mut welcome).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    drop((stream, lock));
    assert_eq!(shell("echo here"), (0, "here\n".into()));
}

#[test]
#[ignore = "boots a virtual machine (QEMU, Debian packages)"]
fn killed_client_takes_its_program_along_and_frees_its_port() {
    let _ = VM.pid();
    let state = options().state_dir;
    // The example looks for its machine below XDG_RUNTIME_DIR, under another name.
    let runtime = state.with_file_name("runtime");
    std::fs::create_dir_all(&runtime).unwrap();
    // Not the one of an earlier run, which had its machine elsewhere if the checkout has moved since.
    let named = runtime.join("tresse-vm");
    let _ = std::fs::remove_file(&named);
    std::os::unix::fs::symlink(&state, &named).unwrap();
    for signal in ["KILL", "INT"] {
        let mut client = Command::new(program())
            .args(["exec", "sleep", "4343"])
            .env("XDG_RUNTIME_DIR", &runtime)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let running = || shell("pgrep -f '^sleep 4343'");
        until("sleep starts", || match running() {
            (0, _) => Ok(()),
            seen => Err(format!("{seen:?}; client {:?}", client.id())),
        });
        let kill = format!("kill -{signal} {}", client.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let status = client.wait().unwrap();
        if signal == "INT" {
            assert_eq!(status.code(), Some(130));
        }
        until("sleep ends", || match running() {
            (1, _) => Ok(()),
            seen => Err(format!("{seen:?}")),
        });
    }
}
