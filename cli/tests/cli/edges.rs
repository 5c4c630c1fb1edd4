//! The edges: usage, closed pipes, what shells and `man` are given, this host's NICs.

use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::run::{has, root, tresse};

#[test]
fn a_wrong_command_line_exits_with_2() {
    let file = "configs/torus16.toml";
    for args in [
        &[][..],
        &["knit"],
        &["check"],
        &["check", file, "--fast"],
        &["check", file, "--lfts", file],
        &["check", file, "--topology", file],
        &["check", "--lock", file],
        &["plan", file, "--node", "n99"],
        &["paths", file, "--from", "n99"],
        &["trace", file, "n00", "n99"],
        &["trace", file, "n00", "n00"],
        &["apply", file, "--confirm", "soon"],
        &["apply", file, "--confirm", "60s", "--dry-run"],
        &["unfuse", "4095"],
        &["completion", "word-processor"],
        &["lab", "up", "configs/ring-4.toml", "--no-daemon", "--name", "../x"],
    ] {
        let ran = tresse(args).exits(2);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{args:?}");
    }
}

/// As any other error where JSON is asked for, in whatever order.
#[test]
fn with_json_a_wrong_command_line_is_an_object_too() {
    let file = "configs/torus16.toml";
    for (args, says) in [
        (&["--json"][..], "requires a subcommand but one was not provided"),
        (&["--json", "knit"], "unrecognized subcommand 'knit'"),
        (&["check", "-j"], "the following required arguments were not provided: <FILE>"),
        (&["check", file, "--fast", "--json"], "unexpected argument '--fast' found"),
        (&["design", file, "--seconds", "nan", "--json"], "a number of seconds above 0 is needed"),
    ] {
        let ran = tresse(args).exits(2);
        let answer = ran.object();
        assert_eq!(answer["errors"][0]["kind"], "usage", "{args:?}");
        let message = answer["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains(says) && !message.contains('\n'), "{args:?}: {message}");
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
    assert!(tresse(["check", "--", "--json", "x"]).exits(2).stdout.is_empty());
    assert!(tresse(["--json", "--version"]).exits(0).stdout.starts_with("tresse "));
}

/// What `check` refuses is not handed to switches or nodes either.
#[test]
fn a_plan_with_violations_goes_nowhere() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("cluster.toml");
    let text = std::fs::read_to_string(root().join("configs/torus16.toml")).unwrap();
    let text = text + "\n[[switch]]\nname = \"s[00-15]\"\nmax_vlans = 4\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let said = tresse(["check", file]).exits(1).stdout;
    assert!(
        said.contains("VIOLATION: too-many-vlans s00: the plan needs 9 VLANs, 5 more"),
        "{said}"
    );
    for args in [&["export", file, "ios"][..], &["lab", "up", file]] {
        let ran = tresse(args).exits(1);
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
        assert!(ran.stderr.contains("VIOLATION: too-many-vlans s00"), "{}", ran.stderr);
        assert!(ran.stderr.contains("and 6 more: see `tresse check`"), "{}", ran.stderr);
        assert!(ran.stderr.contains("has 16 violations"), "{}", ran.stderr);
    }
    assert!(!directory.path().join("out").exists());
}

/// For the time of a change switches have the VLANs of both plans.
#[test]
fn exports_can_keep_the_plan_before() {
    let (new, old) = ("configs/torus16-pdor.toml", "configs/torus16.toml");
    let vlans = |args: &[&str]| -> Vec<String> {
        let text = tresse(args).exits(0).stdout;
        let all = text.lines().filter(|l| l.starts_with("vlan ") || l.starts_with(" name tresse-"));
        all.map(Into::into).collect()
    };
    let before = vlans(&["export", old, "ios", "s00"]);
    let both = vlans(&["export", new, "ios", "s00", "--keep", old]);
    assert!(before.len() >= 16 && before.iter().all(|line| both.contains(line)), "{both:?}");
    assert!(both.len() > before.len(), "{both:?}");
    let reported = tresse(["export", new, "hosts", "--keep", old]).exits(2).stderr;
    assert!(reported.contains("`hosts` is not a switch configuration"), "{reported}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    for args in [
        &["paths", "configs/torus16-2nic.toml"][..],
        &["paths", "configs/torus16-2nic.toml", "--json"],
        &["plan", "configs/torus16-2nic.toml", "--json"],
        &["export", "configs/torus16-2nic.toml", "iproute2"],
        &["schema"],
        &["completion", "bash"],
        &["copy", "--help"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tresse"))
            .current_dir(root())
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut words = String::new();
        child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
        assert_eq!((child.wait().unwrap().code(), words.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    for args in
        [&["--help"][..], &["plan", "--help"], &["help", "plan"], &["--version"], &["schema"]]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tresse"));
        let ran = command.args(args).stdout(full).output().unwrap();
        let words = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{args:?}: {words}");
        assert!(words.contains("cannot write the answer: No space left"), "{args:?}: {words}");
    }
}

#[test]
fn completions_and_pages_know_every_verb() {
    let verbs = ["trace", "export", "apply", "unfuse", "macs", "env"];
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = tresse(["completion", shell]).exits(0).stdout;
        assert!(verbs.iter().all(|verb| script.contains(verb)), "{shell}");
    }
    let directory = tempfile::tempdir().unwrap();
    tresse(["man", directory.path().to_str().unwrap()]).exits(0);
    for verb in verbs {
        assert!(directory.path().join(format!("tresse-{verb}.1")).exists(), "{verb}");
    }
    assert!(directory.path().join("tresse.1").exists());
    assert!(!directory.path().join("tresse-man.1").exists());
}

#[test]
fn macs_gives_a_block_and_the_same_as_json() {
    let host = tresse(["macs", "--name", "n07", "--json"]).exits(0).object();
    assert_eq!(host["name"], "n07");
    let text = tresse(["macs", "--name", "n07"]).exits(0).stdout;
    assert!(text.starts_with("[[node]]\nname = \"n07\"\nnics = [\n"), "{text}");
    for nic in host["nics"].as_array().unwrap() {
        has(nic, "name mac rate master");
        assert!(text.contains(nic["mac"].as_str().unwrap()), "{text}");
    }
}

#[test]
fn env_tells_every_library_the_interface_of_the_node_addresses() {
    for (library, variable, value) in [
        ("openmpi", "OMPI_MCA_btl_tcp_if_include", "10.77.0.0/16"),
        ("mpich", "FI_TCP_IFACE", "tresse0"),
        ("slurm", "SLURM_MPI_TYPE", "pmix"),
        ("ucx", "UCX_NET_DEVICES", "tresse0"),
        ("nccl", "NCCL_SOCKET_IFNAME", "=tresse0"),
        ("gloo", "GLOO_SOCKET_IFNAME", "tresse0"),
    ] {
        let args = ["env", "configs/torus16.toml", "--for", library];
        let advice = tresse(args.iter().chain(&["--json"])).exits(0).object();
        has(&advice, "format for generation interface prefixes addresses ways variables notes");
        assert_eq!(advice["variables"][variable], value, "{library}");
        assert_eq!((&advice["interface"], &advice["ways"]), (&json!("tresse0"), &json!(1)));
        assert_eq!(advice["addresses"]["n05"], json!(["10.77.0.6"]));
        let text = tresse(args).exits(0).stdout;
        assert!(text.replace('\'', "").contains(&format!("export {variable}={value}\n")), "{text}");
        assert!(text.lines().all(|l| l.starts_with("export ") || l.starts_with("# ")), "{text}");
    }
    let text = tresse(["env", "configs/torus16.toml", "--for", "mpich"]).exits(0).stdout;
    assert!(
        text.contains("export TRESSE_MPI_CLUSTER=/") && text.contains("/configs/torus16.toml\n"),
        "{text}"
    );
    tresse(["env", "configs/torus16.toml", "--for", "lam"]).exits(2);
    let links = ["env", "configs/clique-reflect.toml", "--for", "openmpi", "--json"];
    let advice = tresse(links).exits(0).object();
    assert!(advice["ways"].as_u64().unwrap() > 1);
    assert_eq!(advice["variables"]["OMPI_MCA_btl_tcp_links"], advice["ways"].to_string());
}

/// The file may be left out where a machine has its own; this one has none, or another fabric's.
#[test]
fn a_file_that_is_not_named_is_this_machines() {
    if std::path::Path::new("/etc/tresse/cluster.toml").exists() {
        return;
    }
    for args in [&["trace", "n0", "n2"][..], &["paths"], &["env", "--for", "nccl"], &["cables"]] {
        let said = tresse(args).exits(3).stderr;
        assert!(
            said.contains("this machine has no plan in force and no /etc/tresse/cluster.toml"),
            "{args:?}: {said}"
        );
    }
    let usage = tresse(["trace", "n0"]).exits(2).stderr;
    assert!(usage.contains("tresse trace [OPTIONS] [FILE] <FROM> <TO>"), "{usage}");
    tresse(["trace", "configs/ring-4.toml", "n0", "n2"]).exits(0);
}

#[test]
fn a_lock_is_written_where_it_is_asked_for_and_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let lock = directory.path().join("new.lock");
    let lock = lock.to_str().unwrap();
    let plan = |more: &[&str]| {
        let args = ["plan", "configs/torus16.toml", "--lock", lock, "--json"];
        tresse(args.iter().chain(more)).exits(0).object()
    };
    let first = plan(&["--write-lock"]);
    assert_eq!(plan(&[])["vlans"], first["vlans"]);
}

/// Two fabrics in one directory: the second does not take the first one's lock.
#[test]
fn a_lock_is_not_written_over_that_of_another_fabric() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, dims: &str| {
        let path = directory.path().join(name);
        let text = format!("[fabric]\ntopology = {{ kind = \"mesh\", dims = {dims} }}\n");
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (big, small) = (write("a.toml", "[4, 4]"), write("b.toml", "[2, 3]"));
    tresse(["plan", &big, "--write-lock"]).exits(0);
    let lock = directory.path().join("tresse.lock");
    let before = std::fs::read_to_string(&lock).unwrap();
    let refused = tresse(["plan", &small, "--write-lock"]).exits(3);
    assert!(refused.stderr.contains("another fabric's"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(&lock).unwrap(), before);
    let own = directory.path().join("b.lock").display().to_string();
    tresse(["plan", &small, "--lock", &own, "--write-lock"]).exits(0);
}

#[test]
fn a_node_that_is_not_there_is_told_with_what_was_meant() {
    let file = "configs/torus16.toml";
    for (args, reported) in [
        (&["trace", file, "n0", "n05"][..], "no node `n0`: did you mean `n00`?"),
        (&["trace", file, "n00", "s05"], "no node `s05`: that is a switch: name a node"),
        (&["paths", file, "--from", "n16"], "no node `n16`: did you mean `n1"),
        (&["paths", file, "--from", "n03", "--to", "n03"], "`n03` needs no path to itself"),
        (&["plan", file, "--node", "elsewhere"], "no node `elsewhere`: its nodes are n[00-15]"),
    ] {
        let refused = tresse(args).exits(2);
        assert!(refused.stderr.contains(reported), "{}", refused.stderr);
    }
}

/// Each message says what is wrong, and none advises what is refused itself.
#[test]
fn wrong_values_are_told_with_what_is_right() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let flat =
        |wiring: &str| format!("fabric.topology = {{ kind = \"fnn\", wiring = \"{wiring}\" }}\n");
    write("empty.txt", "");
    write("prose.txt", "0: 0 1\nswitch one\n");
    let ring = "[fabric]\ntopology = { kind = \"ring\", nodes = 3 }\n[[node]]\nname = \"n0\"\n\
                nics = [{ name = \"eth0\", mac = \"01:00:00:00:00:00\" }]\n";
    let star = "[fabric]\ntopology = { kind = \"explicit\" }\n[[switch]]\nname = \"s0\"\nports = 1\n\
                [[node]]\nname = \"n0\"\nnics = [{ switch = \"s0\", port = \"x\" }]\n";
    for (name, text, told) in [
        (
            "a.toml",
            flat("empty.txt"),
            "a.toml, key `wiring`: DIR/empty.txt: there is no line `switch: ",
        ),
        (
            "b.toml",
            flat("prose.txt"),
            "DIR/prose.txt: line 2: expected `switch: pc pc ...`, found `switch one`",
        ),
        (
            "c.toml",
            flat("none.txt"),
            "c.toml, key `wiring`: cannot read DIR/none.txt: No such file",
        ),
        ("d.toml", ring.into(), "help: leave it out"),
        ("e.toml", star.into(), "`x` is not a port: the only port is 1"),
        ("tresse.lock", "format = \"one\"\n".into(), "; take the lock from a copy"),
    ] {
        let file = write(name, &text);
        let ran = match name {
            "tresse.lock" => tresse(["plan", "configs/torus16.toml", "--lock", &file]).exits(3),
            _ => tresse(["check", &file]).exits(3),
        };
        let stderr = ran.stderr.replace(&directory.path().display().to_string(), "DIR");
        assert!(stderr.contains(told), "{name}: {stderr}");
    }
}

/// Each message names the object and a remedy.
#[test]
fn what_cannot_be_used_is_told_with_a_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let bytes = write("bytes.toml", b"a = \"\xe9\"\n");
    let short = write("short.toml", b"[design]\nnics = 2\n");
    let (ring, torus) = ("configs/ring-4.toml", "configs/torus16.toml");
    for (code, args, told) in [
        (
            3,
            &["check", "configs"][..],
            "cannot read configs: Is a directory (os error 21)\n  help: name a file",
        ),
        (3, &["design", "configs"], "help: name a file in this directory"),
        (3, &["design", &bytes], "help: save the file as UTF-8"),
        (
            3,
            &["design", &short],
            "missing field `pcs`\n  help: a specification has a table [design]",
        ),
        (3, &["design", ring], "help: this is a cluster file"),
        (
            3,
            &["compare", "--prices", ring],
            ":2:2: unknown field `fabric`\n  help: such a file has lines `KEY = NUMBER` with the keys hub_port, ",
        ),
        (3, &["compare", "--measured", ring], "with the keys bandwidth, "),
        (2, &["export", torus, "ios", "s99"], "no switch `s99`: did you mean `s09`?"),
        (
            2,
            &["export", torus, "iproute2", "elsewhere"],
            "no node `elsewhere`: `tresse plan FILE` lists them",
        ),
        (2, &["export", ring, "sonic"], "this fabric has no switches: "),
        (
            1,
            &["export", torus, "ios", "-o", "Makefile"],
            "help: that is a file: name with -o a directory",
        ),
        (1, &["export", torus, "ios", "-o", "/proc/nope"], "help: name with -o a directory"),
        (1, &["compare", "--plot", "/nope/x.svg"], "help: make its directory first"),
        (1, &["bugreport", "-o", "/nope/x"], "help: make its directory first"),
        (
            3,
            &["plan", "/dev/zero"],
            "cannot read /dev/zero: it is larger than 64 MiB\n  help: check",
        ),
        (2, &["simulate", torus, "--traffic", "local:999999"], "a number of switches from 0 to 16"),
        (2, &["macs", "--name", ""], "--name: `` is not a name of 1 to"),
        (2, &["macs", "--name", "a b"], "--name: `a b` is not a name: it has a blank"),
    ] {
        let ran = tresse(args).exits(code);
        assert!(ran.stderr.contains(told) && ran.stdout.is_empty(), "{args:?}: {}", ran.stderr);
    }
}
