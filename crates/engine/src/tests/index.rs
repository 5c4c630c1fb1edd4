//! What the index of a plan answers, and where it goes with the plan.

use tresse_control::NodeError;

use super::steer::{FLAT, host, prepared};
use super::{ApplyOptions, Input};
use crate::Index;

#[test]
fn paths_are_listed_without_planning_again() {
    let mut prepared = prepared(FLAT);
    // Nothing can be planned of this.
    prepared.cluster = "no cluster".into();
    let host = host(&prepared);
    let all = host.engine.paths(None).unwrap().paths;
    let ends: Vec<_> = all.iter().map(|p| (p.src.as_str(), p.dst.as_str(), p.rank)).collect();
    let to = |dst| (0..3).map(move |rank| ("n0", dst, rank));
    assert_eq!(ends, to("n1").chain(to("n2")).collect::<Vec<_>>());
    assert!(all.iter().filter(|path| path.weight > 0).all(|path| path.state == "active"));
    let one = host.engine.paths(Some("n2")).unwrap().paths;
    assert_eq!(one, all[3..]);
    let unknown = host.engine.paths(Some("n9"));
    assert!(matches!(unknown, Err(NodeError::Refused { object, .. }) if object == "n9"));
}

#[test]
fn a_recorded_plan_has_its_index() {
    let prepared = Box::new(prepared(FLAT));
    assert_ne!(*prepared.index, Index::default());
    let input =
        Input::Apply { call: None, prepared: prepared.clone(), options: ApplyOptions::default() };
    let json = serde_json::to_string(&input).unwrap();
    let Input::Apply { prepared: read, .. } = serde_json::from_str(&json).unwrap() else {
        panic!("{json}")
    };
    assert_eq!(*read, *prepared);
    let start = Input::Start { configured: Some(prepared.clone()) };
    let json = serde_json::to_string(&start).unwrap();
    let Input::Start { configured: Some(read) } = serde_json::from_str(&json).unwrap() else {
        panic!("{json}")
    };
    assert_eq!(*read, *prepared);
}
