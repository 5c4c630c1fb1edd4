//! Metrics, alerts and the dashboard, judged by Prometheus' own `promtool` and by `curl`.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::lab::{Lab, eventually};
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_metrics_are_what_prometheus_reads", are_read),
    ("routed_metrics_are_read_beside_readers_that_never_end", are_read_beside_others),
    ("routed_alerts_and_dashboard_ask_for_metrics_that_there_are", are_asked_for),
];

const CONFIGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../configs");
/// Labels, a TUN interface, sessions: whatever is counted is there.
const FLAT: &str = "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 2 3 4\\n2: 4 5 0\\n\
                    3: 1 3 5\\n\" }\n";

fn up() -> Lab {
    let lab = Lab::up(FLAT, &["--bfd-ms", "100", "--engine", "packet", "--source", "tun"]);
    eventually("in sync", 60, || lab.in_sync());
    lab
}

fn read(lab: &Lab, node: &str, path: &str, more: &[&str]) -> (u16, String) {
    let mut curl = Command::new("curl");
    curl.args(["-sS", "-w", "\n%{http_code}", "--unix-socket"]);
    curl.arg(lab.directory.node(node).join("metrics")).args(more);
    let output = curl.arg(format!("http://tressed{path}")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (body, code) = text.rsplit_once('\n').unwrap();
    (code.parse().unwrap(), body.to_owned())
}

fn are_read() {
    let lab = up();
    for node in ["n0", "n1"] {
        let (code, text) = read(&lab, node, "/metrics", &[]);
        assert_eq!(code, 200);
        let said = promtool(&["check", "metrics"], &text);
        assert_eq!(said, "", "{text}");
        assert!(text.contains("\ntresse_in_sync 1\n"), "{text}");
        // Each counter of the control socket is there.
        let id = lab.now.plan.cluster().node_named(node).unwrap();
        for counter in lab.client(id).counters().unwrap().counters {
            let counter = counter.name;
            let series = format!("# TYPE tresse_{counter} ");
            assert!(text.contains(&series), "{counter} is listed nowhere: add it to the table");
        }
    }
    assert_eq!(read(&lab, "n0", "/", &[]).0, 404);
    assert_eq!(read(&lab, "n0", "/metrics", &["-X", "POST"]).0, 405);
    assert_eq!(read(&lab, "n0", "/metrics", &["-I"]).0, 200);
}

/// As `nobody`, 64 readers that never end their requests, and come again as soon as they are sent away.
const SLOW: &str = r#"
import os, socket, sys, time
os.setgid(65534)
os.setuid(65534)
def begin():
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(b'GET /metrics HTTP/1.1\r\n')
    s.setblocking(False)
    return s
readers = [begin() for n in range(64)]
print('begun', flush=True)
while True:
    for at, s in enumerate(readers):
        try:
            ended = s.recv(100) == b''
        except BlockingIOError:
            ended = False
        except OSError:
            ended = True
        if ended:
            s.close()
            readers[at] = begin()
    time.sleep(0.01)
"#;

fn are_read_beside_others() {
    let lab = up();
    let mut command = Command::new("python3");
    command.args(["-c", SLOW]).arg(lab.directory.node("n0").join("metrics"));
    let mut others = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(others.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let answers: Vec<u16> = (0..50).map(|_| read(&lab, "n0", "/metrics", &[]).0).collect();
    assert!(others.try_wait().unwrap().is_none());
    others.kill().unwrap();
    others.wait().unwrap();
    assert_eq!(answers, [200; 50]);
}

fn are_asked_for() {
    let lab = up();
    let (_, text) = read(&lab, "n0", "/metrics", &[]);
    let reported: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let rules = std::fs::read_to_string(format!("{CONFIGS}/prometheus/tresse.rules.yml")).unwrap();
    let dashboard = std::fs::read_to_string(format!("{CONFIGS}/grafana/tresse.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let asked: Vec<String> = targets.map(|t| t["expr"].as_str().unwrap().to_owned()).collect();
    assert!(asked.len() >= panels.len());
    let words = rules.lines().filter(|line| line.contains("expr:")).map(str::to_owned);
    for expression in asked.iter().cloned().chain(words) {
        for name in expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
            assert!(
                !name.starts_with("tresse_") || reported.contains(name),
                "{name}: {expression}"
            );
        }
    }
    // What Grafana puts in for its variables.
    let filled = asked.iter().map(|expression| {
        let expression = expression.replace("$__rate_interval", "5m").replace("$instance", ".*");
        format!("      - {{ record: x, expr: {expression:?} }}\n")
    });
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let filled: String = filled.collect();
    write!(file, "groups:\n  - name: dashboard\n    rules:\n{filled}").unwrap();
    let path = |name: &str| format!("{CONFIGS}/prometheus/{name}");
    promtool(&["check", "rules", file.path().to_str().unwrap()], "");
    promtool(&["check", "rules", &path("tresse.rules.yml")], "");
    promtool(&["test", "rules", &path("tresse.test.yml")], "");
}

/// What it says against the text, where it finds it correct.
fn promtool(words: &[&str], input: &str) -> String {
    let mut child = Command::new("promtool")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "{words:?}: {said}{}",
        String::from_utf8_lossy(&output.stdout)
    );
    said
}
