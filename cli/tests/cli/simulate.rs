//! `tresse simulate`: the contract of its JSON, and what it refuses.

use std::fs;

use serde_json::Value;

use crate::run::{has, tresse};

const TORUS: &str = "configs/torus16.toml";
const SHORT: [&str; 4] = ["--cycles", "20000", "--warm-up", "2000"];

fn lines(args: &[&str], code: i32) -> Vec<Value> {
    let all = [&["simulate"], args, &SHORT, &["--json"]].concat();
    let text = tresse(all).exits(code).stdout;
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn loads_come_one_a_line_and_saturation_is_below_the_bound() {
    let lines = lines(&[TORUS, "--strategies", "stp,dor"], 0);
    let (last, loads): (Vec<_>, Vec<_>) =
        lines.iter().partition(|line| line.get("saturation").is_some());
    for line in &loads {
        has(line, "offered accepted latency_mean latency_p99");
        assert!(line["accepted"].as_f64() <= Some(line["offered"].as_f64().unwrap() * 1.05));
    }
    let [stp, dor] = last[..] else { panic!("{last:?}") };
    for line in [stp, dor] {
        has(line, "saturation peak_accepted bound");
        assert!(line["saturation"].as_f64() <= line["bound"].as_f64());
    }
    assert!(dor["saturation"].as_f64() > stp["saturation"].as_f64());
    // All pairs of 16 nodes over one tree: 4.267 times a node's link (the planner's bound).
    assert!((stp["bound"].as_f64().unwrap() - 15.0 / 64.0).abs() < 1e-9, "{stp}");
}

#[test]
fn a_torus_whose_buffers_stop_the_sender_deadlocks_and_transit_does_not() {
    let lossless = ["--buffers", "lossless:100", "--loads", "0.9"];
    let of = |strategy, code| {
        lines(&[&[TORUS, "--strategies", strategy][..], &lossless].concat(), code).remove(0)
    };
    let stuck = of("dor", 1);
    assert!(stuck["deadlock"].as_array().is_some_and(|circle| circle.len() > 1), "{stuck}");
    assert_eq!(of("transit", 0)["deadlock"], Value::Null);
}

#[test]
fn a_trace_is_measured_from_its_first_message_to_its_last() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    let text = |words: &str| {
        fs::write(&path, words).unwrap();
        format!("trace:{}", path.display())
    };
    let two = text("0 n00 n05 512\n# later\n9e6 n03 n01 512\n");
    let ran = tresse(["simulate", TORUS, "--traffic", &two, "--json"]).exits(0).stdout;
    let lines: Vec<Value> = ran.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["latency_mean"].as_f64() > Some(0.0), "{ran}");
    assert_eq!((&lines[0]["waiting"], &lines[1]["bound"]), (&0.into(), &Value::Null));
    for (words, problem) in [
        ("", "no message"),
        ("0 n00 n05\n", "trace:1: expected 4 words"),
        ("0 n00 n05 512\n0 n00 n99 512\n", "trace:2: the fabric has no node `n99`"),
        ("inf n00 n05 512\n", "trace:1: `inf`: expected a time"),
        ("0 n00 n00 512\n", "trace:1: `n00` sends to itself"),
        ("0 n00 n01 0\n", "trace:1: `0`: expected a size from 1"),
    ] {
        let ran = tresse(["simulate", TORUS, "--traffic", &text(words)]).exits(3);
        assert!(ran.stderr.contains(problem), "{problem}: {}", ran.stderr);
    }
    let twice = text("n00 n01\nn02 n01\n").replace("trace:", "permutation:");
    let ran = tresse(["simulate", TORUS, "--traffic", &twice]).exits(3);
    assert!(ran.stderr.contains("another node sends to `n01` already"), "{}", ran.stderr);
}

#[test]
fn a_paper_says_itself_what_is_sent() {
    for args in [["--traffic", "ring"], ["--queues", "output"], ["--buffers", "drop:134"]] {
        tresse([&["simulate", "--paper", "itb"], &args[..]].concat()).exits(2);
    }
    tresse(["simulate", "--paper", "vlan", "--networks", "2"]).exits(2);
    for paper in ["itb", "vlan"] {
        tresse(["simulate", "--paper", paper, "--transit-buffer", "64M"]).exits(2);
    }
}

#[test]
fn long_messages_saturate_at_the_bound_too() {
    let long = ["--traffic", "ring", "--message", "65536", "--queues", "output", "--json"];
    let ran = tresse([&["simulate", TORUS][..], &long].concat()).exits(0).stdout;
    let last: Value = serde_json::from_str(ran.lines().last().unwrap()).unwrap();
    assert_eq!((&last["saturation"], &last["bound"]), (&1.0.into(), &1.0.into()), "{last}");
}

#[test]
fn transit_nodes_drop_what_their_buffer_does_not_hold() {
    let line = |more: &[&str]| {
        let args = ["configs/pmesh-4x4.toml", "--traffic", "hot-spot:30", "--loads", "0.7"];
        lines(&[&args[..], more].concat(), 0).remove(0)
    };
    let lost = |line: &Value| {
        ["transit_buffer_full", "transit_waited_too_long", "dropped"]
            .map(|of| line[of].as_u64().unwrap())
    };
    let default = line(&[]);
    assert_eq!(lost(&default), [0; 3], "{default}");
    assert_eq!(line(&["--transit-buffer", "64M,1000ms"]), default);
    let full = line(&["--transit-buffer", "2K"]);
    assert!(lost(&full)[0] > 0 && lost(&full)[1..] == [0; 2], "{full}");
    let late = line(&["--transit-buffer", "64M,5us"]);
    assert!(lost(&late)[0] == 0 && lost(&late)[1] > 0 && lost(&late)[2] == 0, "{late}");
    for line in [full, late] {
        assert_eq!((&line["carried"], &line["spilled"]), (&false.into(), &0.into()), "{line}");
    }
}

#[test]
fn nodes_that_route_go_round_a_failed_switch() {
    let fail = ["configs/pmesh-4x4.toml", "--loads", "0.2", "--fail"];
    let line = |object: &str| lines(&[&fail[..], &[object]].concat(), 0).remove(0);
    // Its nodes still have their switch of the other dimension.
    let broken = line("s0");
    assert_eq!(broken["without_path"], 0, "{broken}");
    assert!(broken["accepted"].as_f64() > Some(0.19), "{broken}");
    assert!(line("n00")["without_path"].as_u64() > Some(0));
}

#[test]
fn seeds_are_measured_together_and_links_are_listed() {
    let directory = tempfile::tempdir().unwrap();
    let links = directory.path().join("links.csv").display().to_string();
    let args = [TORUS, "--loads", "0.3", "--links", &links, "--seeds"];
    let of = |seeds: &str| lines(&[&args[..], &[seeds]].concat(), 0);
    let (one, four) = (of("1"), of("4"));
    assert!(four[0]["accepted"].as_f64() > Some(0.28), "{four:?}");
    let hops = |lines: &[Value]| lines[1]["flit_hops"].as_u64().unwrap();
    assert!(hops(&four) > 3 * hops(&one), "{four:?}");
    let table = fs::read_to_string(&links).unwrap();
    // 32 cables between switches and 16 to nodes, each both ways.
    assert_eq!(table.lines().count(), 1 + 2 * (32 + 16), "{table}");
    assert!(table.starts_with("strategy,offered,link,used,buffer_peak\ndor,0.3,s00>"), "{table}");
}

#[test]
fn random_networks_of_the_second_paper_are_rerun() {
    let rows = lines(&["--paper", "itb", "--networks", "1"], 0);
    assert_eq!(rows.len(), 57);
    // Of the paper's ten networks of a size, for 512 bytes: 0.81 to 1.05, 1.00 to 1.50, 1.44 to 2.17, 2.38 to 3.25.
    for (switches, least, most) in [(8, 0.7, 1.4), (16, 0.9, 1.6), (32, 1.3, 2.2), (64, 1.7, 3.3)] {
        let wanted = |row: &&Value| {
            row["switches"] == switches && row["traffic"] == "uniform" && row["octets"] == 512
        };
        let row = rows.iter().find(wanted).unwrap();
        let factor = row["itb"][0].as_f64().unwrap() / row["ud"][0].as_f64().unwrap();
        assert!((least..most).contains(&factor), "{factor}: {row}");
        // The least, the greatest and the average of one network.
        for at in 0..3 {
            assert!((row["factor"][at].as_f64().unwrap() - factor).abs() < 1e-9, "{row}");
            assert_eq!(row["latency_increase"][at], row["latency"][0], "{row}");
        }
    }
    assert!(rows.iter().all(|row| row["spilled"] == 0));
}

#[test]
fn csv_and_picture_hold_all_strategies() {
    let directory = tempfile::tempdir().unwrap();
    let plot = directory.path().join("plot.svg").display().to_string();
    let args = ["simulate", TORUS, "--strategies", "stp,dor", "--csv", "--plot", &plot];
    let text = tresse([&args[..], &SHORT].concat()).exits(0).stdout;
    assert!(
        text.starts_with("strategy,offered,generated,accepted,") && text.contains("\ndor,"),
        "{text}"
    );
    let picture = fs::read_to_string(&plot).unwrap();
    assert!(picture.starts_with("<svg ") && picture.contains(">\nstp\n</text>"), "{picture}");
    assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
}

#[test]
fn wrong_arguments_are_told_with_what_is_possible() {
    for (args, words) in [
        (&["--traffic", "unifrom"][..], "none of uniform"),
        (&["--traffic", "hot-spot:101"], "such as hot-spot:5"),
        (&["--buffers", "lossless:5"], "at least 11 flits"),
        (&["--buffers", "drop:100"], "a frame of 134 flits"),
        (&["--transit-buffer", "3G"], "such as 64M,1000ms"),
        (&["--transit-buffer", "64M,0ms"], "a time from 1us to 60s"),
        (&["--transit-buffer", "64M", "--model", "wormhole"], "nodes drop nothing"),
        (&["--strategies", "dro"], "--strategies: `dro`: `dro` is not a routing strategy"),
        (&["--fail", "s99"], "s99"),
        (&["--loads", "0"], "expected more than 0"),
        (&["--loads=-1"], "expected more than 0"),
        (&["--warm-up", "100000"], "to measure: simulate more"),
        (&["--plot", "plot.gif"], "neither in .svg nor in .png"),
        (&["--loads", "1e300"], "at most 1000"),
        (&["--traffic", "local:0"], "no node sends anything"),
        (&["--networks", "3"], "--paper"),
    ] {
        let ran = tresse([&["simulate", TORUS], args].concat()).exits(2);
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
    }
}
