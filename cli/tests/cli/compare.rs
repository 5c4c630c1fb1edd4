//! `tresse compare`: the paper's table, prices of one's own, the picture.

use std::fs;

use crate::run::{has, tresse};

#[test]
fn the_table_is_the_papers_and_prices_may_be_ones_own() {
    let answer = tresse(["compare", "--nodes", "16", "--json"]).exits(0).object();
    has(&answer, "format nodes prices measured architectures tree_break_even");
    let mesh = answer["architectures"].as_array().unwrap();
    let mesh = mesh.iter().find(|row| row["architecture"] == "p-mesh").unwrap();
    assert_eq!((&mesh["cost"], &mesh["worst_latency"]), (&360.0.into(), &225.0.into()));
    assert_eq!(answer["tree_break_even"]["with_nics"], 1080.0);
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (prices, svg) = (file("prices.toml"), file("plot.svg"));
    fs::write(&prices, "nic = 10.0\nswitch_port = 5.0\n").unwrap();
    let args = ["compare", "--nodes", "64", "--prices", &prices, "--svg", &svg, "--json"];
    let answer = tresse(args).exits(0).object();
    let switch = &answer["architectures"][3];
    assert_eq!((&switch["architecture"], &switch["cost"]), (&"switch".into(), &15.0.into()));
    let picture = fs::read_to_string(&svg).unwrap();
    assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"));
    assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    let png = file("plot.png");
    tresse(["compare", "--plot", &png]).exits(0);
    assert!(fs::read(&png).unwrap().starts_with(b"\x89PNG"));
    let wrong = tresse(["compare", "--plot", "plot.gif"]).exits(2);
    assert!(wrong.stderr.contains("neither in .svg nor in .png"), "{}", wrong.stderr);
    for (text, said) in [
        ("nik = 10.0", "unknown field `nik`"),
        ("nic = -1.0", "nic = -1.0: expected 0 to"),
        ("switch_ports = 0", "switch_ports = 0: expected 2 to"),
    ] {
        fs::write(&prices, text).unwrap();
        let wrong = tresse(["compare", "--prices", &prices]).exits(3);
        assert!(wrong.stderr.contains(said), "{}", wrong.stderr);
    }
    tresse(["compare", "--nodes", "1"]).exits(2);
}
