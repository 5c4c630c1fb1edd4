use std::collections::HashMap;
use std::os::unix::ffi::OsStringExt as _;

use super::*;

fn file(path: &str, size: u64) -> ManifestEntry {
    let kind = EntryKind::File { size: Some(size) };
    ManifestEntry { path: path.into(), mode: 0o644, changed: (1, 2), kind }
}

fn other(path: &str, kind: EntryKind) -> ManifestEntry {
    ManifestEntry { path: path.into(), mode: 0o755, changed: (1, 2), kind }
}

#[test]
fn stripes_have_each_byte_once_and_in_order() {
    for of in 1..5 {
        for total in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 7 * BLOCK + 5, 8 * BLOCK, 9 * BLOCK - 1] {
            let stripes: Vec<Stripe> = (0..of).map(|number| Stripe { number, of }).collect();
            let bytes: Vec<u64> = stripes.iter().map(|stripe| stripe.bytes(total)).collect();
            assert_eq!(bytes.iter().sum::<u64>(), total, "{total} in {of}");
            assert!(frontier(&bytes) >= total, "{total} in {of}: {bytes:?}");
            for (stripe, bytes) in stripes.iter().zip(&bytes) {
                if *bytes > 0 {
                    let last = stripe.place(bytes - 1).0;
                    assert!(last < total, "{total} in {of}");
                }
                let mut less: Vec<u64> = stripes.iter().map(|s| s.bytes(total)).collect();
                if let Some(one_less) = bytes.checked_sub(1) {
                    less[stripe.number as usize] = one_less;
                    assert_eq!(frontier(&less), stripe.place(one_less).0);
                }
            }
        }
    }
}

#[test]
fn spans_are_the_files_in_order() {
    let entries = vec![
        other("", EntryKind::Directory),
        file("a", 3),
        file("b", 0),
        other("c", EntryKind::Directory),
        file("c/d", 2 * BLOCK),
    ];
    let manifest = Manifest { entries, start: 0 };
    let content = Content::new(Path::new("/tree"), &manifest, 0);
    for of in 1..4 {
        let mut seen: HashMap<PathBuf, Vec<(u64, u64)>> = HashMap::new();
        for number in 0..of {
            let stripe = Stripe { number, of };
            let bytes = stripe.bytes(2 * BLOCK + 3);
            for span in content.spans(stripe, 0, bytes) {
                seen.entry(span.path.into()).or_default().push((span.offset, span.bytes));
            }
        }
        for (path, size) in [("/tree/a", 3), ("/tree/c/d", 2 * BLOCK)] {
            let mut spans = seen.remove(Path::new(path)).unwrap();
            spans.sort_unstable();
            let end = spans.iter().fold(0, |end, (offset, bytes)| {
                assert_eq!(*offset, end);
                end + bytes
            });
            assert_eq!(end, size);
        }
        assert!(seen.is_empty());
    }
}

#[test]
fn a_manifest_is_what_it_was() {
    let name = Name(std::ffi::OsString::from_vec(vec![b'%', 0xff, b'x', 0xc3, 0xa4]));
    let link = EntryKind::Link { to: "../%41".into() };
    let entries =
        vec![other("", EntryKind::Directory), ManifestEntry { path: name, ..other("", link) }];
    let manifest = Manifest { entries, start: 0 };
    assert_eq!(Manifest::parse(&manifest.to_bytes()).unwrap(), manifest);
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("d")).unwrap();
    std::fs::write(root.path().join("d/f"), "12345").unwrap();
    let walked = Manifest::of(root.path()).unwrap();
    assert_eq!(walked.bytes(), Some(5));
    assert_eq!(Manifest::parse(&walked.to_bytes()).unwrap(), walked);
}

#[test]
fn a_manifest_does_not_lead_out_of_its_directory() {
    let link = || EntryKind::Link { to: "/etc".into() };
    for below in [
        vec![file("../x", 1)],
        vec![file("/etc/x", 1)],
        vec![file("a/../../x", 1)],
        vec![other("l", link()), file("l/x", 1)],
        vec![file("a", 1), file("a", 1)],
        vec![file("a", 1), file("./a", 1)],
        vec![file("not/there", 1)],
        vec![file("", 1)],
        vec![file("a\0b", 1)],
        vec![file("a", u64::MAX), file("b", 1)],
        vec![other("f", EntryKind::File { size: None })],
        vec![other("l", EntryKind::Link { to: "".into() })],
    ] {
        let entries = [vec![other("", EntryKind::Directory)], below].concat();
        let manifest = Manifest { entries, start: 0 };
        assert!(Manifest::parse(&manifest.to_bytes()).is_err(), "{manifest:?}");
    }
    for entries in
        [vec![], vec![other("", link())], vec![file("x", 1)], vec![file("", 1), file("x", 1)]]
    {
        assert!(Manifest::parse(&Manifest { entries, start: 0 }.to_bytes()).is_err());
    }
}
