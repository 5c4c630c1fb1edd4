//! The verbs of a node against a stand-in daemon: calls, exit codes, JSON contracts.

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::run::{Ran, has, tresse};

const FILE: &str = "configs/torus16.toml";

fn ask(args: &[&str], parameters: Value) -> (Ran, Value) {
    Daemon::answering(vec![json!({ "parameters": parameters })]).run(args)
}

fn refused(args: &[&str], error: &str, parameters: Value) -> Ran {
    let error = format!("org.tresse.Node.{error}");
    Daemon::answering(vec![json!({ "error": error, "parameters": parameters })]).run(args).0
}

fn operation() -> Value {
    json!({ "op": "add", "kind": "route", "object": "10.77.0.3/32", "why": "missing" })
}

fn pending() -> Value {
    json!({ "kind": "route", "object": "10.77.0.3/32", "why": "eth0 has no carrier" })
}

fn status(changes: &[(&str, Value)]) -> Value {
    let mut status = json!({
        "format": 1, "node": "n00", "generation": "0123456789abcdef", "in_sync": true,
        "pending": [], "drift": [], "fused": [], "backup": [], "engine": "none",
        "source": "none",
        "activity": "idle", "confirm_seconds": null, "previous": null, "unproven": [],
        "version": "0.1.0", "fault": null,
    });
    for (key, value) in changes {
        status[*key] = value.clone();
    }
    status
}

fn applied(pending: Value, confirm: Value) -> Value {
    json!({
        "generation": "0123456789abcdef", "operations": [operation()], "pending": pending,
        "confirm_seconds": confirm,
    })
}

#[test]
fn without_a_daemon_every_verb_exits_with_4_and_names_socket_and_unit() {
    for args in [
        &["status"][..],
        &["diff"],
        &["apply", FILE],
        &["confirm"],
        &["rollback"],
        &["withdraw"],
        &["reload"],
        &["unfuse", "100"],
        &["drain", "s00"],
        &["undrain", "s00"],
        &["pin", "n01", "1"],
        &["weight", "n01", "0:1", "1:3"],
        &["unpin", "n01"],
        &["bridge"],
        &["top"],
        &["monitor"],
        &["log"],
        &["paths", "--live"],
        &["counters"],
        &["cables", FILE],
    ] {
        let ran = tresse(args.iter().copied().chain(["--socket", "/nonexistent/control"])).exits(4);
        assert!(ran.stderr.contains("/nonexistent/control"), "{}", ran.stderr);
        assert!(ran.stderr.contains("systemctl status tressed"), "{}", ran.stderr);
        assert!(ran.stdout.is_empty());
    }
}

#[test]
fn status_exits_by_what_it_shows() {
    let fused = json!([{ "vid": 100, "why": "seen twice", "links": ["s00-s01"] }]);
    let vids = json!([100]);
    for (code, changes, word) in [
        (0, vec![], "in sync"),
        (0, vec![("unproven", vids)], "not proven yet: 100"),
        (1, vec![("in_sync", json!(false)), ("drift", json!([operation()]))], "add route"),
        (1, vec![("fused", fused)], "FUSED VLAN 100"),
        (1, vec![("fault", json!("disk full"))], "FAULT: disk full"),
        (5, vec![("pending", json!([pending()]))], "no carrier"),
        (
            5,
            vec![("pending", json!([pending(), pending(), pending()]))],
            "pending 3 objects (3 routes): eth0 has no carrier",
        ),
        (0, vec![("confirm_seconds", json!(42))], "rolls back in 42 s"),
        (0, vec![("node", Value::Null), ("generation", Value::Null)], "no plan"),
        (
            0,
            vec![("node", Value::Null), ("generation", Value::Null), ("withdrawn", json!(true))],
            "withdrawn, also over restarts: tresse apply FILE",
        ),
        (0, vec![("source", json!("tun"))], "labels are pushed by tressed through tresse-push"),
        (0, vec![("source", json!("kernel"))], "labels are pushed by the kernel"),
    ] {
        let (ran, call) = ask(&["status"], status(&changes));
        let ran = ran.exits(code);
        assert!(ran.stdout.contains(word), "{word}: {}", ran.stdout);
        assert_eq!(call["method"], "org.tresse.Node.GetStatus");
        let object = ask(&["status", "--json"], status(&changes)).0.exits(code).object();
        has(&object, "node generation in_sync pending drift fused backup engine source");
    }
}

#[test]
fn diff_is_one_object_per_operation() {
    let answer = |operations: Value, pending: Value| json!({ "generation": "0123456789abcdef", "operations": operations, "pending": pending });
    let two = answer(json!([operation(), operation()]), json!([]));
    let ran = ask(&["diff", "--json"], two.clone()).0.exits(1);
    assert_eq!(ran.lines(), [operation(), operation()]);
    let text = ask(&["diff"], two).0.exits(1).stdout;
    assert_eq!(text.lines().next(), Some("add route 10.77.0.3/32: missing"));
    let none = ask(&["diff", "--json"], answer(json!([]), json!([]))).0.exits(0);
    assert_eq!(none.stdout, "");
    ask(&["diff"], answer(json!([]), json!([pending()]))).0.exits(5);
}

#[test]
fn apply_sends_both_files_and_every_option() {
    let directory = tempfile::tempdir().unwrap();
    let lock = directory.path().join("x.lock");
    std::fs::write(&lock, "the lock's text").unwrap();
    let options = ["--confirm", "2m", "--force", "--force-interface", "eth0"];
    let args: Vec<_> =
        ["apply", FILE, "--lock", lock.to_str().unwrap()].into_iter().chain(options).collect();
    let (ran, call) = ask(&args, applied(json!([]), json!(120)));
    let ran = ran.exits(0);
    assert_eq!(ran.stdout, "installed generation 0123456789abcdef: 1 operation\n");
    assert!(ran.stderr.contains("rolls back in 120 s unless you run `tresse confirm`"));
    assert_eq!(call["method"], "org.tresse.Node.Apply");
    let file = std::fs::read_to_string(crate::run::root().join(FILE)).unwrap();
    let expected = json!({
        "cluster": file, "lock": "the lock's text", "dry_run": false, "confirm_seconds": 120,
        "force": true, "force_interfaces": ["eth0"],
    });
    assert_eq!(call["parameters"], expected);
}

#[test]
fn apply_shows_what_it_would_do_and_what_waits() {
    let dry = ask(&["apply", FILE, "--dry-run"], applied(json!([]), Value::Null));
    assert_eq!(dry.0.exits(0).stdout, "add route 10.77.0.3/32: missing\n");
    assert_eq!(dry.1["parameters"]["dry_run"], true);
    let ran = ask(&["apply", FILE, "--json"], applied(json!([pending()]), Value::Null)).0.exits(5);
    has(&ran.object(), "generation operations pending confirm_seconds");
}

#[test]
fn refusals_exit_as_agreed() {
    let problem = json!({ "line": 3, "column": 8, "message": "no such NIC" });
    let bad = refused(&["apply", FILE], "BadCluster", json!({ "problems": [problem] })).exits(3);
    assert!(bad.stderr.contains("configs/torus16.toml:3:8: no such NIC"), "{}", bad.stderr);
    let broken = "tests/broken/unknown-key.toml";
    let bad = refused(&["apply", broken], "BadCluster", json!({ "problems": [problem] })).exits(3);
    assert!(bad.stderr.contains(&format!("{broken}:2:1: unknown key `nam`")), "{}", bad.stderr);

    let message = "no NIC of the plan is here";
    refused(&["apply", FILE], "WrongNode", json!({ "message": message })).exits(3);
    let ran = refused(&["withdraw"], "NotPermitted", json!({ "uid": 1000 })).exits(6);
    assert!(ran.stderr.contains("user 1000"), "{}", ran.stderr);
    let partly =
        json!({ "failed": operation(), "message": "no buffer space", "left": [operation()] });
    let ran = refused(&["apply", FILE], "PartlyInstalled", partly).exits(5);
    assert!(ran.stderr.contains("left: add route"), "{}", ran.stderr);
    let failed = json!({ "failed": operation(), "message": "exists", "undone": 3 });
    refused(&["apply", FILE], "Failed", failed).exits(1);
    let way = json!({ "interface": "eth0", "message": "carries this session" });
    let ran = refused(&["apply", FILE], "WouldLockOut", way).exits(1);
    assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
    let cut = json!({ "object": "s00", "destinations": ["10.77.0.2"] });
    let ran = refused(&["drain", "s00"], "WouldCut", cut).exits(1);
    assert!(ran.stderr.contains("no other path leads to 10.77.0.2"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
    refused(&["confirm"], "NothingToConfirm", json!({})).exits(1);
    refused(&["unfuse", "100"], "NotFused", json!({ "vid": 100 })).exits(1);
}

#[test]
fn methods_without_an_answer_are_told_as_done() {
    for (args, method) in [(&["confirm"][..], "Confirm"), (&["unfuse", "100"], "Unfuse")] {
        let (ran, call) = Daemon::answering(vec![json!({})]).run(args);
        assert!(!ran.exits(0).stdout.is_empty());
        assert_eq!(call["method"], format!("org.tresse.Node.{method}"));
        let args: Vec<_> = args.iter().copied().chain(["--json"]).collect();
        let (ran, _) = Daemon::answering(vec![json!({ "parameters": {} })]).run(&args);
        has(&ran.exits(0).object(), "done");
    }
}

#[test]
fn what_is_steered_is_told() {
    let steered =
        json!({ "moved": ["10.77.0.2", "10.77.0.3"], "single": ["10.77.0.3"], "cut": [] });
    let (ran, call) = ask(&["drain", "s00", "--dry-run"], steered.clone());
    assert_eq!(call["method"], "org.tresse.Node.Drain");
    assert_eq!(call["parameters"]["dry_run"], true);
    let text = ran.exits(0).stdout;
    assert!(text.starts_with("s00 would be drained: 2 destinations"), "{text}");
    assert!(text.contains("one path: 10.77.0.3"), "{text}");
    for (args, method) in [
        (&["undrain", "s00"][..], "Undrain"),
        (&["pin", "n01", "1"], "Pin"),
        (&["weight", "n01", "0:1", "1:3"], "Weight"),
        (&["unpin", "n01"], "Unpin"),
    ] {
        let args: Vec<_> = args.iter().copied().chain(["--json"]).collect();
        let (ran, call) = ask(&args, steered.clone());
        assert_eq!(call["method"], format!("org.tresse.Node.{method}"));
        has(&ran.exits(0).object(), "moved");
    }
}

/// An older daemon sends addresses alone, and refuses parameters that it does not know.
#[test]
fn a_dry_run_names_who_moves_from_where_to_where() {
    let path = |rank: u32, nic: &str, through: &[&str]| json!({ "rank": rank, "weight": 1, "nic": nic, "through": through });
    let moves = json!([{
        "node": "n02", "before": [path(0, "eth1", &[])], "after": [path(1, "eth0", &["n03"])],
    }]);
    let steered = json!({
        "moved": ["10.77.0.3"], "single": [], "cut": [], "moves": moves,
        "single_nodes": [], "cut_nodes": [],
    });
    for args in [
        &["pin", "n02", "1"][..],
        &["unpin", "n02"],
        &["weight", "n02", "1:1"],
        &["drain", "s00"],
        &["undrain", "s00"],
    ] {
        let dry: Vec<_> = args.iter().copied().chain(["--dry-run"]).collect();
        let (ran, call) = ask(&dry, steered.clone());
        assert_eq!(call["parameters"]["dry_run"], true, "{call}");
        let text = ran.exits(0).stdout;
        assert!(text.contains("1 destination of this node would move"), "{text}");
        let line = "  n02: rank 0 by eth1 -> rank 1 by eth0 through n03\n";
        assert!(text.contains(line), "{text}");
    }
    let (ran, call) = ask(&["undrain", "s00"], steered.clone());
    assert_eq!(call["parameters"], json!({ "object": "s00" }));
    assert!(!ran.exits(0).stdout.contains("->"));
    let (_, call) = ask(&["weight", "n02", "0:1", "1:255"], steered);
    let weights = json!([{ "rank": 0, "weight": 1 }, { "rank": 1, "weight": 255 }]);
    assert_eq!(call["parameters"]["weights"], weights);
    for wrong in [&["1"][..], &["1:"], &["1:256"], &["-1:2"], &["1:2", "1:3"], &[]] {
        let args: Vec<_> = ["weight", "n02"].into_iter().chain(wrong.iter().copied()).collect();
        tresse(args).exits(2);
    }
}

#[test]
fn a_drain_that_cuts_nodes_off_names_them_and_is_not_asked_for() {
    let steered = json!({
        "moved": [], "single": [], "cut": ["10.77.0.2", "10.77.0.3"], "moves": [],
        "single_nodes": [], "cut_nodes": ["n01", "n02"],
    });
    let (ran, call) = ask(&["drain", "s00"], steered.clone());
    assert_eq!(call["parameters"]["dry_run"], true, "only what it would do was asked");
    let ran = ran.exits(1);
    assert!(ran.stderr.contains("s00: no other path leads to n[01-02]"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
    let (ran, _) = ask(&["drain", "s00", "--json"], steered.clone());
    has(&ran.exits(1).object(), "errors");
    let (ran, _) = ask(&["drain", "s00", "--dry-run"], steered);
    assert!(ran.exits(1).stdout.contains("they go on using it: n[01-02]"));
}

#[test]
fn the_other_changes_tell_what_they_did() {
    for verb in ["rollback", "reload"] {
        let (ran, _) = ask(&[verb], applied(json!([]), Value::Null));
        assert!(ran.exits(0).stdout.contains("generation 0123456789abcdef: 1 operation"));
    }
    let operations = json!({ "operations": [operation()] });
    let (ran, call) = ask(&["withdraw", "--force", "--json"], operations);
    has(&ran.exits(0).object(), "operations");
    assert_eq!(call["parameters"]["force"], true);
    let why = "link eth0.7 is not wanted, but foreign link x depends on it: remove that first";
    let left = json!([{ "op": "refused", "kind": "foreign", "object": "", "why": why }]);
    let some = json!({ "operations": [operation()], "left": left });
    let text = ask(&["withdraw"], some.clone()).0.exits(5).stdout;
    assert_eq!(text, format!("withdrawn: 1 operation\nleft: {why}\n"));
    has(&ask(&["withdraw", "--json"], some).0.exits(5).object(), "operations left");
    let counters = json!({ "counters": [{ "name": "x_total", "object": "eth0.100", "value": 7 }] });
    let line = json!({ "op": "add", "kind": "link", "object": "\u{1b}[31m", "why": "\u{9b}2J" });
    let nasty = status(&[("in_sync", json!(false)), ("drift", json!([line]))]);
    let text = ask(&["status"], nasty).0.exits(1).stdout;
    assert!(text.contains("add link \\u{1b}[31m: \\u{9b}2J\n"), "{text:?}");
    let text = ask(&["counters"], counters.clone()).0.exits(0).stdout;
    assert!(text.contains("eth0.100") && text.contains('7'), "{text}");
    has(&ask(&["counters", "--json"], counters).0.exits(0).object(), "counters");
}

#[test]
fn monitor_prints_every_event_and_ends_with_the_daemon() {
    let event = |seq: u64, more: bool| {
        json!({
            "continues": more,
            "parameters": { "event": {
                "seq": seq, "time_ms": 1000, "kind": "link", "object": "eth0",
                "message": "no carrier", "alert": "warning",
            }},
        })
    };
    let (ran, call) = Daemon::answering(vec![event(1, true), event(2, true)]).run(&["monitor"]);
    let ran = ran.exits(4);
    let line = "1970-01-01 00:00:01.000Z WARNING link eth0: no carrier\n";
    assert_eq!(ran.stdout, line.repeat(2));
    assert_eq!((&call["method"], &call["more"]), (&json!("org.tresse.Node.Monitor"), &json!(true)));
    let (ran, _) = Daemon::answering(vec![event(1, true), event(2, false)]).run(&["monitor", "-j"]);
    assert_eq!(ran.exits(0).lines()[1]["seq"], 2);
}

#[test]
fn the_log_has_the_last_events() {
    let event = |seq: u64, kind: &str, alert: &str| {
        json!({
            "seq": seq, "time_ms": 1_791_115_200_000_u64 + seq, "kind": kind, "object": "eth0",
            "message": "words", "alert": alert,
        })
    };
    let events = json!({ "events": [event(7, "link", "warning"), event(1, "started", "info")] });
    let (ran, call) = ask(&["log", "-n", "2"], events.clone());
    let lines = "2026-10-04 12:00:00.007Z WARNING link eth0: words\n\
                 2026-10-04 12:00:00.001Z started eth0: words\n";
    assert_eq!(ran.exits(0).stdout, lines);
    assert_eq!(call["method"], "org.tresse.Node.GetEvents");
    assert_eq!(call["parameters"]["last"], 2);
    assert_eq!(ask(&["log", "--json"], events).0.exits(0).lines()[1]["kind"], "started");
}

#[test]
fn a_file_that_is_not_named_is_that_of_the_plan_in_force() {
    let cluster = "[fabric]\ntopology = { kind = \"ring\", nodes = 3 }\n[[node]]\nname = \"a\"\nplace = 0\n\
                   [[node]]\nname = \"b\"\nplace = 1\n[[node]]\nname = \"c\"\nplace = 2\n";
    let plan = json!({ "generation": "8447dd613dfb6f99", "cluster": cluster, "lock": null });
    let (ran, call) = ask(&["trace", "a", "c"], plan.clone());
    assert_eq!(call["method"], "org.tresse.Node.GetPlan");
    assert!(ran.exits(0).stdout.starts_with("a (10."));
    let said = ask(&["paths", "--from", "zz"], plan.clone()).0.exits(2).stderr;
    assert!(said.contains("the cluster has no node `zz`: its nodes are a, b, c"), "{said}");
    let named = ask(&["env", "--for", "openmpi", "--json"], plan).0.exits(0).object();
    assert_eq!(named["variables"]["TRESSE_MPI_CLUSTER"], Value::Null);
    let wrong = json!({ "generation": "8447dd613dfb6f99", "cluster": "x", "lock": null });
    let said = ask(&["paths"], wrong).0.exits(3).stderr;
    assert!(said.contains("the plan in force"), "{said}");
}

#[test]
fn paths_that_are_broken_now_are_shown() {
    let line = |rank: u32, state: &str| {
        json!({
            "src": "n00", "dst": "n01", "rank": rank, "weight": 1 - rank.min(1), "minimal": true, "hops": 1,
            "segments": [{
                "from": "n00", "nic": "eth0", "vlan": 104, "switches": ["s00", "s01"], "to": "n01",
                "to_nic": "eth0",
            }],
            "state": state,
        })
    };
    let paths = json!({ "paths": [line(0, "broken"), line(1, "active")] });
    let (ran, call) = ask(&["paths", "--live", "--to", "n01"], paths);
    let text = ran.exits(1).stdout;
    assert!(
        text.starts_with("broken   n00 -> n01  rank 0  1 hops  eth0 vlan 104: s00 s01\n"),
        "{text}"
    );
    assert_eq!(call["parameters"]["to"], "n01");
    ask(&["paths", "--live"], json!({ "paths": [line(0, "active")] })).0.exits(0);
    let both = tresse(["paths", "--live", FILE]).exits(2);
    assert!(both.stderr.contains("cannot be used with"), "{}", both.stderr);
}

#[test]
fn what_is_down_has_a_date_and_what_was_down_today_is_told() {
    let state = |kind: &str, object: &str, up: bool, today: u32| {
        json!({
            "kind": kind, "object": object, "up": up, "since": 1_791_115_200_000_u64,
            "today": today, "why": "no carrier",
        })
    };
    let states = json!([
        state("link", "eth0", false, 3),
        state("link", "eth1", true, 0),
        state("path", "n01 rank 0 by eth1", true, 2),
    ]);
    let foreign = json!([{ "nic": "eth1", "mac": "02:00:00:00:00:09", "age_ms": 4000 }]);
    let now = status(&[("states", states), ("foreign", foreign)]);
    let text = ask(&["status"], now).0.exits(1).stdout;
    for line in [
        "LINK eth0 is down, since 2026-10-04 12:00:00.000Z, 3 changes today: no carrier\n",
        "path n01 rank 0 by eth1 is up, since 2026-10-04 12:00:00.000Z, 2 changes today\n",
        "ANOTHER FABRIC is heard at eth1, from 02:00:00:00:00:09, 4 s ago",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("link eth1"), "{text}");
}

/// The two NICs of n00, on s00 ports 1 and on s01.
fn neighbours(lldp: [Value; 2]) -> Value {
    let [first, second] = lldp;
    let nic = |name: &str, mac: &str, lldp: Value| {
        json!({
            "name": name, "mac": mac, "up": true, "carrier": true, "listening_ms": 9000,
            "lldp": lldp, "heard": [],
        })
    };
    let nics = [nic("eth0", "02:54:00:00:00:00", first), nic("eth1", "02:54:00:00:00:01", second)];
    json!({ "node": "n00", "nics": nics })
}

fn lldp(system: &str, port: &str) -> Value {
    json!([{
        "system": system, "chassis": "02:00:00:00:00:01", "port": port, "port_mac": null,
        "description": null, "source": "02:00:00:00:00:02", "ttl_seconds": 120, "age_ms": 5,
    }])
}

/// Announcements with a tag have crossed switches, so only those without one show what is plugged in.
#[test]
fn cables_are_judged_by_untagged_announcements() {
    const RING: &str = "configs/ring-4.toml";
    for (vid, verdict) in [(Value::Null, "ok"), (json!(100), "missing")] {
        let mut list = neighbours([json!([]), json!([])]);
        for (nic, peer) in [(0, "02:54:00:00:03:01"), (1, "02:54:00:00:01:00")] {
            list["nics"][nic]["heard"] = json!([{
                "node": null, "nic": null, "index": 1, "mac": peer, "vid": vid, "foreign": false,
                "age_ms": 5,
            }]);
        }
        let (ran, _) = ask(&["cables", RING, "--node", "n0", "--json"], list);
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        let verdicts = [&answer["nics"][0]["verdict"], &answer["nics"][1]["verdict"]];
        assert_eq!(verdicts, [verdict; 2], "{answer}");
    }
}

#[test]
fn cables_exits_by_what_is_plugged_in() {
    const TWO: &str = "configs/torus16-2nic.toml";
    let (ran, call) = ask(&["cables", TWO], neighbours([lldp("s00", "p1"), json!([])]));
    let text = ran.exits(0).stdout;
    assert_eq!(call["method"], "org.tresse.Node.ListNeighbours");
    assert!(text.starts_with("node n00\n") && text.contains("unknown"), "{text}");
    let nobody = json!({ "node": null, "nics": [] });
    let ran = ask(&["cables", TWO], nobody.clone()).0.exits(3);
    assert!(ran.stderr.contains("--node"), "{}", ran.stderr);
    let ran = ask(&["cables", TWO, "--node", "n01"], nobody.clone()).0.exits(1);
    assert!(ran.stdout.contains("missing"), "{}", ran.stdout);
    let ran = ask(&["cables", TWO, "--node", "n1"], nobody).0.exits(2);
    assert!(ran.stderr.contains("did you mean"), "{}", ran.stderr);
    let odd = neighbours([lldp("office\u{1b}[31m", "1"), json!([])]);
    let text = ask(&["cables", TWO], odd.clone()).0.exits(1).stdout;
    assert!(text.contains("extra") && !text.contains('\u{1b}'), "{text:?}");
    let object = ask(&["cables", TWO, "--json"], odd).0.exits(1).object();
    has(&object, "node nics extra order order_by fine");
    has(&object["nics"][0], "nic interface expected found by verdict with silent message");
}
