//! The state file that `fuzz/` begins with.

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

/// `fuzz/` replays its seeds; this keeps the one of state files at the format of this version.
#[test]
fn the_seed_of_state_files_is_of_this_version() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/state/applied.json");
    let now = serde_json::to_vec(&applied()).unwrap();
    if std::env::var_os("TRESSE_BLESS").is_some() {
        fs::write(&path, &now).unwrap();
    }
    let seed = StateFile::new(&path).parse(&fs::read(&path).unwrap());
    assert!(seed.is_ok(), "{}: {seed:?}; TRESSE_BLESS=1 rewrites it", path.display());
    state(&now);
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
