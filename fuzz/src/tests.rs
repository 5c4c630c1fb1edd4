//! Every input that is kept, one file each.

use std::path::{Path, PathBuf};

use super::*;

/// Directories of inputs of a target, below the repository.
fn directories(name: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all = vec![format!("fuzz/seeds/{name}"), format!("fuzz/regressions/{name}")];
    if name == "cluster" {
        // The examples are its seeds.
        all = vec!["configs".into(), "tests/broken".into(), format!("fuzz/regressions/{name}")];
    }
    let all = all.into_iter().map(|directory| root.join(directory));
    let (seeds, rest): (Vec<_>, Vec<_>) =
        all.partition(|directory| !directory.to_string_lossy().contains("regressions"));
    for directory in &seeds {
        assert!(directory.is_dir(), "{name} has no seeds in {}", directory.display());
    }
    seeds.into_iter().chain(rest.into_iter().filter(|directory| directory.is_dir())).collect()
}

fn replay(name: &str) {
    let judge = target(name).unwrap();
    let mut count = 0;
    for directory in directories(name) {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                // Printed where the judge panics.
                println!("{}", path.display());
                judge(&std::fs::read(&path).unwrap());
                count += 1;
            }
        }
    }
    assert!(count > 0, "{name} has no inputs");
}

macro_rules! replays {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*

        #[test]
        fn every_target_is_replayed() {
            let names = TARGETS.map(|(name, _)| name);
            assert_eq!(names.as_slice(), [$(stringify!($name)),*]);
        }
    };
}

replays! {
    announcement bfd broadcast cluster config control engine forward lfts lldp lock mib mpi netlink pasted probe records ring state
}

#[test]
fn text_ends_before_the_first_byte_that_is_none() {
    assert_eq!(text(b"ab\xffcd"), "ab");
    assert_eq!(text("gr\u{fc}n".as_bytes()), "gr\u{fc}n");
}
