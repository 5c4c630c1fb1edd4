//! Detours through reflectors, as users see them; `tresse reflect suggest` from files of counters.

use crate::run::tresse;

const FILE: &str = "configs/clique-reflect.toml";

#[test]
fn check_says_what_detours_bring() {
    let report = &tresse(["check", FILE, "--json"]).exits(0).lines()[0];
    let reflect = &report["reflect"];
    let number = |key: &str| reflect[key].as_f64().unwrap();
    assert_eq!(reflect["demand"], "listed");
    assert!(number("achieved") > 1.5 * number("direct"), "{reflect}");
    assert!(number("achieved") <= number("optimum") * 1.001, "{reflect}");
    // Without reflectors and other traffic there is nothing to say of it.
    let report = &tresse(["check", "configs/clique.toml", "--json"]).exits(0).lines()[0];
    assert!(report.get("reflect").is_none(), "{report}");
}

#[test]
fn paths_give_siblings_their_weight() {
    let paths = tresse(["paths", FILE, "--json", "--from", "n00", "--to", "n04"]).exits(0).lines();
    let ranks: Vec<u64> = paths.iter().map(|p| p["rank"].as_u64().unwrap()).collect();
    assert_eq!(ranks, [0, 1, 2]);
    for path in &paths[1..] {
        assert!(path["weight"].as_u64().unwrap() > 0, "{path}");
        let segments = path["segments"].as_array().unwrap();
        assert_eq!(segments.len(), 2, "{path}");
        assert_eq!(segments[0]["to"], segments[1]["from"]);
        assert_eq!(segments[0]["to_nic"], segments[1]["nic"], "out of the same NIC");
    }
    let text = tresse(["paths", FILE, "--from", "n00", "--to", "n04"]).exits(0).stdout;
    assert!(text.lines().nth(1).unwrap().contains("rank 1  weight "), "{text}");
}

/// Counters as the lab writes them, for so many bytes.
fn counters(sent: &[(&str, &str, u64)]) -> String {
    let line = |(from, to, bytes): &(&str, &str, u64)| {
        let frames = bytes / 1500;
        format!(
            "{{\"format\":1,\"from\":\"{from}\",\"to\":\"{to}\",\"vlan\":100,\"frames\":{frames},\
             \"bytes\":{bytes},\"control_frames\":0,\"interface\":\"x\"}}\n"
        )
    };
    sent.iter().map(line).collect()
}

#[test]
fn suggest_relieves_the_busy_link_by_idle_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let topology = "topology = { kind = \"clique\", ports = 6 }\n";
    let file = path("cluster.toml");
    std::fs::write(&file, format!("[fabric]\n{topology}[routing]\nstrategy = \"minimal\"\n"))
        .unwrap();
    std::fs::write(path("before"), counters(&[("s0", "s1", 1_000_000)])).unwrap();
    let gigabit = |share: u64| share * 1_250_000;
    let mut sent = vec![("s0", "s1", 1_000_000 + gigabit(98)), ("s2", "n06", gigabit(20))];
    for (from, to) in [("n00", "n03"), ("n01", "n04"), ("n02", "n05")] {
        sent.extend([(from, "s0", gigabit(33)), ("s1", to, gigabit(33))]);
    }
    sent.push(("n07", "s2", gigabit(20)));
    std::fs::write(path("after"), counters(&sent)).unwrap();
    let (before, after) = (path("before"), path("after"));
    let args =
        ["reflect", "suggest", &file, "--before", &before, "--after", &after, "--seconds", "1"];
    let json = &tresse(args.iter().chain(&["--json"])).exits(0).lines()[0];
    assert_eq!((&json["busy"][0]["from"], &json["busy"][0]["to"]), (&"s0".into(), &"s1".into()));
    let detours = json["pairs"][0]["detours"].as_array().unwrap();
    assert_eq!(detours.len(), 2, "{json}");
    assert!(detours.iter().all(|d| d["node_load"].as_f64().unwrap() < 0.1), "{json}");
    let number = |key: &str| json[key].as_f64().unwrap();
    assert!(number("achieved") > 2.5 * number("direct"), "{json}");
    let text = tresse(args).exits(0).stdout;
    assert!(text.contains("# s0 -> s1: 1 of 3 parts directly"), "{text}");
    assert!(text.contains("from = \"n[00-02]\"\nto = \"n[03-05]\"\nweight = 544"), "{text}");
    // What is to be pasted is a cluster file but for its fabric, and gives what was proposed.
    let pasted = json["text"].as_str().unwrap();
    let pasted = pasted.replace("[routing]", "[routing]\nstrategy = \"minimal\"");
    std::fs::write(&file, format!("[fabric]\n{topology}{pasted}")).unwrap();
    let report = &tresse(["check", &file, "--json"]).exits(0).lines()[0];
    assert!((report["reflect"]["achieved"].as_f64().unwrap() - number("achieved")).abs() < 1e-9);
    // Nothing is busy: nothing to paste.
    let args = ["reflect", "suggest", &file, "--after", &before, "--seconds", "1"];
    let text = tresse(args).exits(0).stdout;
    assert!(text.contains("nothing to relieve") && !text.contains("[[demand]]"), "{text}");
}

#[test]
fn suggest_refuses_what_are_no_counters() {
    let args = ["reflect", "suggest", FILE, "--after", FILE];
    let reported = tresse(args).exits(3).stderr;
    assert!(
        reported.contains("clique-reflect.toml:1: not a line of `tresse lab counters"),
        "{reported}"
    );
    tresse(["reflect", "suggest", FILE, "--after", "/dev/null", "--seconds", "0"]).exits(2);
    tresse(["reflect", "suggest", FILE, "--lab", "no-such-lab-here"]).exits(2);
}

/// Counters of another cluster, or in the wrong order, must not look like an idle cluster.
#[test]
fn suggest_refuses_counters_that_cannot_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (less, more, other, none) = (path("less"), path("more"), path("other"), path("none"));
    std::fs::write(&less, counters(&[("s0", "s1", 1_000)])).unwrap();
    std::fs::write(&more, counters(&[("s0", "s1", 9_000_000)])).unwrap();
    std::fs::write(&other, counters(&[("s0", "elsewhere", 9_000_000)])).unwrap();
    std::fs::write(&none, "").unwrap();
    let suggest = |more: &[&str]| tresse(["reflect", "suggest", FILE].iter().chain(more));
    for (before, after, said) in [
        (&more, &less, "the counter from s0 to s1 is lower in the second sample"),
        (&less, &other, "the counters name `elsewhere`"),
        (&less, &none, "the second sample has no counters"),
    ] {
        let ran = suggest(&["--before", before, "--after", after]).exits(3);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    for wrong in [["--busy", "nan"], ["--paths", "1"], ["--seconds", "1e-300"]] {
        suggest(&[&wrong[..], &["--after", &more]].concat()).exits(2);
    }
}
