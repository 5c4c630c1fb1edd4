//! One cluster file after another: the lock that both follow.

use crate::run::tresse;

fn file(folder: &std::path::Path, name: &str, dims: &str) -> String {
    let path = folder.join(name);
    let text = format!("[fabric]\ntopology = {{ kind = \"torus\", dims = {dims} }}\n");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What `--against` and `--keep` show is what the nodes compute, before and after the lock is written.
#[test]
fn the_plan_beside_an_older_one_is_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (file(folder.path(), "a", "[4, 4]"), file(folder.path(), "b", "[4, 5]"));
    let generation = |file: &str| {
        let plan = tresse(["plan", file, "--json"]).exits(0).object();
        plan["generation"].as_str().unwrap().to_owned()
    };
    tresse(["plan", &old, "--write-lock"]).exits(0);
    for _ in 0..2 {
        let ran = tresse(["plan", &new, "--against", &old, "--json"]).exits(0);
        assert_eq!(ran.stderr, "");
        assert_eq!(ran.object()["old_generation"], generation(&old));
        assert_eq!(ran.object()["new_generation"], generation(&new));
        let kept = tresse(["export", &new, "bridge", "s00", "--keep", &old]).exits(0);
        assert!(kept.stdout.contains(&generation(&new)), "{}", kept.stdout);
        tresse(["plan", &new, "--write-lock"]).exits(0);
    }
}

#[test]
fn a_lock_that_does_not_know_the_older_plan_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (file(folder.path(), "a", "[4, 4]"), file(folder.path(), "b", "[4, 5]"));
    for args in
        [&["plan", &new, "--against", &old][..], &["export", &new, "bridge", "--keep", &old]]
    {
        let ran = tresse(args).exits(0);
        assert!(ran.stderr.contains("does not hold what"), "{}", ran.stderr);
    }
    // Written in one go, both are in it.
    tresse(["plan", &new, "--against", &old, "--write-lock"]).exits(0);
    assert_eq!(tresse(["plan", &new, "--against", &old]).exits(0).stderr, "");
}

/// Another gateway is a change that no pair of nodes shows.
#[test]
fn gateways_and_networks_that_change_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, more: &str| {
        let path = folder.path().join(name);
        let text = format!("[fabric]\ntopology = {{ kind = \"ring\", nodes = 4 }}\n{more}");
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let old = write(
        "a",
        "[[node]]\nname = \"n1\"\ngateway = true\n[[node]]\nname = \"n2\"\nprefixes = \"192.168.4.0/24\"\n",
    );
    let new =
        write("b", "[[node]]\nname = \"n1\"\ngateway = 2\n[[node]]\nname = \"n3\"\ngateway = 1\n");
    let said = tresse(["plan", &new, "--against", &old]).exits(0).stdout;
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("new: ") || line.starts_with("gone: "))
        .collect();
    assert_eq!(
        lines,
        [
            "new: gateway n1 at place 2",
            "new: gateway n3 at place 1",
            "gone: 192.168.4.0/24 behind n2",
            "gone: gateway n1",
        ]
    );
}
