//! `tresse copy`: the ring it would take, and what it refuses. Copies themselves need a lab.

use crate::run::{has, tresse};

#[test]
fn the_ring_crosses_each_link_between_switches_once() {
    let ring = tresse(["copy", "configs/torus16.toml", "--ring", "--json"]).exits(0).object();
    has(&ring, "nodes rate crossings shared seconds_per_gigabyte latency");
    assert_eq!(ring["nodes"].as_array().map(Vec::len), Some(16));
    assert_eq!((&ring["crossings"], &ring["shared"]), (&16.into(), &0.into()), "{ring}");
    let two = ["copy", "configs/torus16.toml", "n07:/x", "--to", "n[01-02]", "--ring", "--json"];
    assert_eq!(tresse(two).exits(0).object()["nodes"][0], "n07");
    let without = ["copy", "configs/torus16.toml", "--ring", "--except", "n05", "--json"];
    let ring = tresse(without).exits(0).object();
    assert_eq!(ring["nodes"].as_array().map(Vec::len), Some(15));
}

#[test]
fn what_is_to_be_copied_is_named_in_full() {
    for (args, words) in [
        (&["n00"][..], "expected a node and an absolute path"),
        (&["n00:data"], "expected a node and an absolute path"),
        (&["n00:/"], "expected a node and an absolute path"),
        (&["n99:/data"], "no node `n99`"),
        (&["n00:/data", "--except", "n00"], "the source is left out"),
        (&["n00:/data", "--to", "n98"], "--to: there is no node `n98`"),
        (&[], "NODE:PATH"),
    ] {
        let ran = tresse([&["copy", "configs/torus16.toml"], args].concat()).exits(2);
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
    }
}
