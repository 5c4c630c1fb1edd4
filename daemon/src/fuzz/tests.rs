//! The seeds of `fuzz/` and what it once found, one file each.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use tresse_base::id::NodeId;
use tresse_engine::{Intent, Prepared};
use tresse_plan::Plan;

use super::*;

/// Two switches with a node each.
const CLUSTER: &str = r#"[fabric]
name = "t"
topology = { kind = "mesh", dims = [2] }
[routing]
strategy = "dor"
[vlans]
range = "100-109"
[addressing]
nodes = "10.77.0.0/24"
nics = "10.78.0.0/24"
"#;

fn each(target: &str, body: impl Fn(&[u8])) {
    let fuzz = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    assert!(fuzz.join("seeds").join(target).is_dir(), "{target} has no seed");
    let files = ["seeds", "regressions"].map(|kind| fs::read_dir(fuzz.join(kind).join(target)));
    for file in files.into_iter().flatten().flatten() {
        let path = file.unwrap().path();
        eprintln!("{}", path.display());
        body(&fs::read(path).unwrap());
    }
}

#[test]
fn labelled_frames_are_judged_as_a_slow_reading_judges_them() {
    each("forward", tresse_frame::forward::fuzz::forward);
}

#[test]
fn control_packets_have_an_effect_where_they_are_planned() {
    each("bfd", bfd);
}

#[test]
fn what_clients_send_is_answered_or_refused() {
    each("control", control);
}

#[test]
fn netlink_messages_are_read_or_refused() {
    each("netlink", netlink);
}

#[test]
fn state_files_are_read_or_refused() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/state/applied.json");
    let now = serde_json::to_vec(&applied()).unwrap();
    if std::env::var_os("TRESSE_BLESS").is_some() {
        fs::write(&path, &now).unwrap();
    }
    let seed = StateFile::new(&path).parse(&fs::read(&path).unwrap());
    assert!(seed.is_ok(), "{}: {seed:?}; TRESSE_BLESS=1 rewrites it", path.display());
    state(&now);
    each("state", state);
}

/// The state of a node with a plan, one before it, and an apply under way.
fn applied() -> Stored {
    let cluster = tresse_cluster::parse(CLUSTER, "cluster.toml").unwrap();
    let plan = Plan::build(cluster).unwrap();
    let prepared = Arc::new(Prepared::new(&plan, NodeId(0), CLUSTER.into(), None));
    Stored {
        current: Some(prepared.clone()),
        previous: Some(prepared),
        intent: Some(Intent::Apply { generation: plan.generation().into() }),
        ..Stored::default()
    }
}

#[test]
fn configurations_are_read_or_refused() {
    each("config", |bytes| {
        let _ = std::str::from_utf8(bytes).map(config);
    });
}
