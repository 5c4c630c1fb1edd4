use std::fs;
use std::io::{BufReader, PipeWriter, pipe};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use super::*;
use crate::talk::{PartRole, Send as Stage};

const TOKEN_TEXT: &str = "00112233445566778899aabbccddeeff";

struct Member {
    asks: PipeWriter,
    reports: Receiver<MemberReport>,
    port: u16,
    reported: u32,
    runs: JoinHandle<()>,
}

impl Member {
    fn new(parts: Vec<PartRole>, stripes: u32) -> Self {
        let (input, mut asks) = pipe().unwrap();
        let (reported, output) = pipe().unwrap();
        let runs = std::thread::spawn(move || run(BufReader::new(input), output, None).unwrap());
        let (send, reports) = channel();
        std::thread::spawn(move || {
            let mut reported = BufReader::new(reported);
            while let Ok(Some(report)) = hear(&mut reported) {
                if send.send(report).is_err() {
                    break;
                }
            }
        });
        let address = IpAddr::from(Ipv4Addr::LOCALHOST);
        let token = TOKEN_TEXT.into();
        // One that fails at once does not hear it.
        drop(say(
            &mut asks,
            &MemberRequest::Join(Join { token, address, parts, stripes, keep: true }),
        ));
        let mut member = Self { asks, reports, port: 0, reported: 0, runs };
        // It is alive before.
        let mut reported = std::iter::repeat_with(|| member.report());
        if let Some(MemberReport::Listens { port, .. }) =
            reported.find(|it| !matches!(it, MemberReport::Has { .. }))
        {
            member.port = port;
        }
        member
    }

    fn report(&self) -> MemberReport {
        self.reports.recv_timeout(Duration::from_secs(20)).unwrap()
    }

    fn send(&mut self, to: &Self, streams: &[u32]) {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, to.port));
        self.reported += 1;
        let (number, streams) = (self.reported, streams.to_vec());
        let stage = Stage { to: to.port.into(), number, address, streams };
        say(&mut self.asks, &MemberRequest::Send(stage)).unwrap();
    }

    fn start(&mut self) {
        say(&mut self.asks, &MemberRequest::Start).unwrap();
    }

    fn done(&self) -> (u64, String) {
        loop {
            match self.report() {
                MemberReport::Done { bytes, hash, .. } => return (bytes, hash),
                MemberReport::Failed { words } => panic!("{words}"),
                _ => {}
            }
        }
    }

    fn failed(&self) -> String {
        loop {
            match self.report() {
                MemberReport::Failed { words } => return words,
                MemberReport::Done { .. } => panic!("done"),
                _ => {}
            }
        }
    }

    fn quit(mut self) {
        // One that has failed may be gone.
        drop(say(&mut self.asks, &MemberRequest::Quit));
        drop(self.asks);
        self.runs.join().unwrap();
    }
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 31 + i / 4096) as u8).collect()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn source(path: &Path) -> PartRole {
    PartRole::Source { path: path.into(), piece: None, copy: None }
}

fn target(path: &Path) -> PartRole {
    PartRole::Target { path: path.into(), input: false }
}

/// One that has `0` of a directory, and so many others that are to have it under their number.
fn ring(directory: &Path, others: usize, stripes: u32) -> Vec<Member> {
    let part = |i: usize| match i {
        0 => source(&directory.join("0")),
        _ => target(&directory.join(i.to_string())),
    };
    (0..=others).map(|i| Member::new(vec![part(i)], stripes)).collect()
}

/// Each sends to the next one.
fn link(members: &mut [Member], streams: &[u32]) {
    for i in 1..members.len() {
        let (left, right) = members.split_at_mut(i);
        left[i - 1].send(&right[0], streams);
    }
}

#[test]
fn all_have_the_file_and_nothing_else() {
    for stripes in [1, 3] {
        for bytes in [0, 1, 5_000_000] {
            let directory = tempfile::tempdir().unwrap();
            fs::write(directory.path().join("0"), content(bytes)).unwrap();
            let mut members = ring(directory.path(), 4, stripes);
            link(&mut members, &(0..stripes).collect::<Vec<_>>());
            members[0].start();
            let right = blake3::hash(&content(bytes)).to_hex().to_string();
            for member in &members {
                assert_eq!(member.done(), (bytes as u64, right.clone()));
            }
            members.into_iter().for_each(Member::quit);
            assert_eq!(names(directory.path()), ["0", "1", "2", "3", "4"]);
            for i in 1..5 {
                let own = fs::read(directory.path().join(i.to_string())).unwrap();
                assert!(own == content(bytes));
            }
        }
    }
}

#[test]
fn stripes_come_by_different_members() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("0"), content(7_000_000)).unwrap();
    let mut members = ring(directory.path(), 2, 2);
    let [source, left, right] = &mut members[..] else { panic!() };
    source.send(left, &[0]);
    source.send(right, &[1]);
    left.send(right, &[0]);
    right.send(left, &[1]);
    source.start();
    assert_eq!((left.done().0, right.done().0), (7_000_000, 7_000_000));
    members.into_iter().for_each(Member::quit);
    assert!(fs::read(directory.path().join("2")).unwrap() == content(7_000_000));
}

#[test]
fn a_directory_is_what_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("0");
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::create_dir(root.join("closed")).unwrap();
    for (name, bytes) in [("a/one", 2_000_000), ("a/b/two", 3), ("empty", 0), ("closed/x", 9)] {
        fs::write(root.join(name), content(bytes)).unwrap();
    }
    symlink("../nowhere", root.join("a/link")).unwrap();
    fs::set_permissions(root.join("a/b/two"), fs::Permissions::from_mode(0o751)).unwrap();
    fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    fs::File::open(root.join("a/b")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    let mut members = ring(directory.path(), 2, 2);
    link(&mut members, &[0, 1]);
    members[0].start();
    for member in &members {
        assert_eq!(member.done().0, 2_000_012);
    }
    members.into_iter().for_each(Member::quit);
    assert_eq!(names(directory.path()), ["0", "1", "2"]);
    let was = crate::content::Manifest::of(&root).unwrap();
    for i in 1..3 {
        let copy = directory.path().join(i.to_string());
        assert_eq!(crate::content::Manifest::of(&copy).unwrap(), was);
        assert!(fs::read(copy.join("a/one")).unwrap() == content(2_000_000));
    }
}

#[test]
fn all_have_what_each_had() {
    let directory = tempfile::tempdir().unwrap();
    let path = |node: usize, part: usize| directory.path().join(format!("{node}-{part}"));
    let part = |node: usize, part: usize| match node == part {
        true => {
            fs::write(path(node, part), content(1_000_000 + part)).unwrap();
            source(&path(node, part))
        }
        false => target(&path(node, part)),
    };
    let mut members: Vec<Member> =
        (0..4).map(|node| Member::new((0..4).map(|p| part(node, p)).collect(), 1)).collect();
    for from in 0..4 {
        let to = (from + 1) % 4;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, members[to].port));
        // All but what the next one has itself.
        let streams = (0..4_u32).map(|back| (from as u32 + 4 - back) % 4);
        let streams = streams.filter(|stream| *stream != to as u32).collect();
        let stage = Stage { to: to as u32, number: 1, address, streams };
        say(&mut members[from].asks, &MemberRequest::Send(stage)).unwrap();
    }
    members.iter_mut().for_each(Member::start);
    for member in &members {
        let bytes: u64 = (0..4).map(|_| member.done().0).sum();
        assert_eq!(bytes, 4_000_006);
    }
    members.into_iter().for_each(Member::quit);
    for (node, part) in (0..4).flat_map(|node| (0..4).map(move |part| (node, part))) {
        assert!(fs::read(path(node, part)).unwrap() == content(1_000_000 + part));
    }
    assert_eq!(names(directory.path()).len(), 16);
}

#[test]
fn a_piece_is_a_piece_and_the_source_has_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("all"), content(1_000_001)).unwrap();
    let piece = |piece: u32, copy: Option<&str>| PartRole::Source {
        path: path("all"),
        piece: Some((piece, 2)),
        copy: copy.map(path),
    };
    let mut source = Member::new(vec![piece(0, Some("own")), piece(1, None)], 1);
    let other = Member::new(vec![PartRole::Away, target(&path("other"))], 1);
    source.send(&other, &[1]);
    source.start();
    assert_eq!((source.done().0, source.done().0, other.done().0), (500_000, 500_001, 500_001));
    [source, other].into_iter().for_each(Member::quit);
    assert!(fs::read(path("own")).unwrap() == content(1_000_001)[..500_000]);
    assert!(fs::read(path("other")).unwrap() == content(1_000_001)[500_000..]);
    assert_eq!(names(directory.path()), ["all", "other", "own"]);
}

#[test]
fn input_comes_to_all() {
    for bytes in [0, 2_500_000] {
        let directory = tempfile::tempdir().unwrap();
        let path = |i: usize| directory.path().join(i.to_string());
        let part = |i: usize| PartRole::Target { path: path(i), input: i == 0 };
        let mut members: Vec<Member> = (0..3).map(|i| Member::new(vec![part(i)], 2)).collect();
        link(&mut members, &[0, 1]);
        members[0].start();
        let all = content(bytes);
        for piece in all.chunks(INPUT as usize).chain([&[][..]]) {
            let asks = &mut members[0].asks;
            say(asks, &MemberRequest::Input { bytes: piece.len() as u32 }).unwrap();
            asks.write_all(piece).unwrap();
        }
        for member in &members {
            assert_eq!(member.done().0, bytes as u64);
        }
        members.into_iter().for_each(Member::quit);
        for i in 0..3 {
            assert!(fs::read(path(i)).unwrap() == all);
        }
        assert_eq!(names(directory.path()), ["0", "1", "2"]);
    }
}

#[test]
fn a_member_that_is_gone_is_left_out() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("0"), content(8_000_000)).unwrap();
    let mut members = ring(directory.path(), 3, 1);
    let last = members.pop().unwrap();
    let gone = members.pop().unwrap();
    let [source, first] = &mut members[..] else { panic!() };
    // The one between has what it was sent, and goes before it sends it on.
    first.send(&gone, &[0]);
    source.send(first, &[0]);
    source.start();
    gone.done();
    gone.quit();
    first.send(&last, &[0]);
    assert_eq!(last.done().0, 8_000_000);
    for member in members.into_iter().chain([last]) {
        member.quit();
    }
    assert_eq!(names(directory.path()), ["0", "1", "2", "3"]);
}

/// A source that says so many bytes of a file itself, by the frames.
fn send_some(member: &Member, bytes: &[u8], of: u64) -> TcpStream {
    use crate::content::{EntryKind, Manifest, ManifestEntry};
    let kind = EntryKind::File { size: Some(of) };
    let entry = ManifestEntry { path: "".into(), mode: 0o640, changed: (7, 0), kind };
    send_as(member, &Manifest { entries: vec![entry], start: 0 }, bytes)
}

/// The same of a manifest.
fn send_as(member: &Member, manifest: &crate::content::Manifest, bytes: &[u8]) -> TcpStream {
    use crate::frame::{Hello, RecordHeader, What};
    let (of, manifest) = (manifest.bytes().unwrap(), manifest.to_bytes());
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, member.port)).unwrap();
    proof::greet(&mut stream, &proof::parse(TOKEN_TEXT).unwrap()).unwrap();
    let hello = Hello::read(&mut stream, 1, 1).unwrap();
    let at = hello.has[0];
    let record =
        |what, bytes: usize| RecordHeader { stream: 0, what, bytes: bytes as u32 }.to_bytes();
    stream.write_all(&record(What::Manifest, manifest.len())).unwrap();
    stream.write_all(&manifest).unwrap();
    let rest = &bytes[at as usize..];
    stream.write_all(&record(What::Data { at }, rest.len())).unwrap();
    stream.write_all(rest).unwrap();
    if bytes.len() as u64 == of {
        stream.write_all(&record(What::End { total: of }, 32)).unwrap();
        stream.write_all(blake3::hash(bytes).as_bytes()).unwrap();
    }
    stream
}

fn wait_until_it_has(member: &Member, wanted: u64) {
    while !matches!(member.report(), MemberReport::Has { bytes, .. } if bytes == wanted) {}
}

#[test]
fn what_was_missed_is_gone_on_with() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new");
    let member = Member::new(vec![target(&path)], 1);
    let all = content(1_000_000);
    drop(send_some(&member, &all[..700_000], 1_000_000));
    wait_until_it_has(&member, 700_000);
    member.quit();
    assert_eq!(names(directory.path()), [".new.tresse"]);
    // Two runs at once: the second one is refused.
    let member = Member::new(vec![target(&path)], 1);
    let other = Member::new(vec![target(&path)], 1);
    assert_eq!(other.port, 0);
    other.quit();
    // The bytes that it has are not sent again: these would be wrong.
    let mut rest = vec![0; 1_000_000];
    rest[700_000..].copy_from_slice(&all[700_000..]);
    let right = blake3::hash(&all);
    let mut stream = send_some(&member, &rest[..999_999], 1_000_000);
    use crate::frame::{RecordHeader, What};
    let data = RecordHeader { stream: 0, what: What::Data { at: 999_999 }, bytes: 1 };
    stream.write_all(&[&data.to_bytes()[..], &all[999_999..]].concat()).unwrap();
    let end = RecordHeader { stream: 0, what: What::End { total: 1_000_000 }, bytes: 32 };
    stream.write_all(&[&end.to_bytes()[..], right.as_bytes()].concat()).unwrap();
    assert_eq!(member.done(), (1_000_000, right.to_hex().to_string()));
    member.quit();
    assert!(fs::read(&path).unwrap() == all);
    assert_eq!(names(directory.path()), ["new"]);
}

#[test]
fn what_is_left_and_not_as_it_was_comes_to_nobody() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("0"), content(1_000_000)).unwrap();
    let mut members = ring(directory.path(), 1, 1);
    // The source does not know the end: the member keeps what it has.
    let part = members.pop().unwrap();
    let manifest = crate::content::Manifest::of(&directory.path().join("0")).unwrap();
    drop(send_as(&part, &manifest, &content(700_000)));
    wait_until_it_has(&part, 700_000);
    part.quit();
    let kept = directory.path().join(".1.tresse/content");
    let mut bytes = fs::read(&kept).unwrap();
    bytes[350_000] ^= 1;
    fs::write(&kept, bytes).unwrap();
    let target = |i: usize| target(&directory.path().join(i.to_string()));
    members.extend((1..3).map(|i| Member::new(vec![target(i)], 1)));
    link(&mut members, &[0]);
    members[0].start();
    assert!(members[1].failed().contains("is not as it was"));
    let (left, right) = members.split_at_mut(2);
    left[0].send(&right[0], &[0]);
    assert_eq!(right[0].done().0, 1_000_000);
    members.into_iter().for_each(Member::quit);
    assert_eq!(names(directory.path()), ["0", "2"]);
}

#[test]
fn another_file_is_begun_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("1");
    let member = Member::new(vec![target(&path)], 1);
    drop(send_some(&member, &[7; 700_000], 1_000_000));
    wait_until_it_has(&member, 700_000);
    member.quit();
    fs::write(directory.path().join("0"), content(1_000_000)).unwrap();
    let mut members = ring(directory.path(), 1, 1);
    link(&mut members, &[0]);
    members[0].start();
    assert_eq!(members[1].done().0, 1_000_000);
    members.into_iter().for_each(Member::quit);
    assert!(fs::read(path).unwrap() == content(1_000_000));
    assert_eq!(names(directory.path()), ["0", "1"]);
}

#[test]
fn a_wrong_checksum_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let member = Member::new(vec![target(&directory.path().join("new"))], 1);
    let mut stream = send_some(&member, &content(99), 100);
    use crate::frame::{RecordHeader, What};
    let data = RecordHeader { stream: 0, what: What::Data { at: 99 }, bytes: 1 };
    stream.write_all(&[&data.to_bytes()[..], &[1]].concat()).unwrap();
    let end = RecordHeader { stream: 0, what: What::End { total: 100 }, bytes: 32 };
    stream.write_all(&[&end.to_bytes()[..], &[1; 32]].concat()).unwrap();
    assert!(member.failed().contains("the checksum differs from the source's"));
    member.quit();
    assert_eq!(names(directory.path()), [""; 0]);
}

#[test]
fn strangers_hold_nobody() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("0"), content(1_000_000)).unwrap();
    let mut members = ring(directory.path(), 1, 1);
    let at = (Ipv4Addr::LOCALHOST, members[1].port);
    // Some say nothing, some what is wrong, and some know the token and then say what cannot be.
    let mut strangers: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(at).unwrap()).collect();
    for (i, stranger) in strangers.iter_mut().enumerate().skip(80) {
        if i < 90 {
            stranger.write_all(&[3; 100]).unwrap();
        } else {
            proof::greet(stranger, &proof::parse(TOKEN_TEXT).unwrap()).unwrap();
            stranger.write_all(&[3; 100]).unwrap();
        }
    }
    link(&mut members, &[0]);
    members[0].start();
    assert_eq!(members[1].done().0, 1_000_000);
    members.into_iter().for_each(Member::quit);
}

#[test]
fn a_source_that_changes_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("0");
    // It takes a while to read.
    fs::File::create(&path).unwrap().set_len(8 << 30).unwrap();
    let mut member = Member::new(vec![source(&path)], 1);
    member.start();
    // It has started when it has done what it was asked after that.
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let stage = Stage { to: 7, number: 7, address: nobody, streams: vec![0] };
    say(&mut member.asks, &MemberRequest::Send(stage)).unwrap();
    while !matches!(member.report(), MemberReport::Lost { number: 7, .. }) {}
    fs::write(&path, content(1000)).unwrap();
    let words = member.failed();
    assert!(words.contains("changed") || words.contains("shorter"), "{words}");
    member.quit();
}

#[test]
fn a_directory_and_a_file_do_not_replace_each_other() {
    for directory_is_sent in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("0"), directory.path().join("1"));
        let (a_directory, a_file) = if directory_is_sent { (&from, &to) } else { (&to, &from) };
        fs::create_dir(a_directory).unwrap();
        fs::write(a_file, "x").unwrap();
        let mut members = ring(directory.path(), 1, 1);
        link(&mut members, &[0]);
        members[0].start();
        assert!(members[1].failed().contains(" is copied"));
        members.into_iter().for_each(Member::quit);
        assert_eq!(names(directory.path()), ["0", "1"]);
    }
}

#[test]
fn a_directory_does_not_replace_a_link() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("0"), directory.path().join("1"));
    fs::create_dir(&from).unwrap();
    symlink(&from, &to).unwrap();
    let mut members = ring(directory.path(), 1, 1);
    link(&mut members, &[0]);
    members[0].start();
    assert!(members[1].failed().contains("is a symbolic link"));
    members.into_iter().for_each(Member::quit);
    assert_eq!(fs::read_link(to).unwrap(), from);
}

#[test]
fn a_wrong_file_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("full")).unwrap();
    fs::write(at("full/x"), "").unwrap();
    for part in [
        source(&at("none")),
        target(&at("full")),
        target(Path::new("/")),
        target(&at("none/new")),
        PartRole::Source { path: at("full"), piece: Some((0, 2)), copy: None },
        source(Path::new("/dev/null")),
        // Said to be empty.
        source(Path::new("/proc/self/status")),
    ] {
        let member = Member::new(vec![part.clone()], 1);
        assert_eq!(member.port, 0, "{part:?}");
        member.quit();
    }
    assert_eq!(names(directory.path()), ["full"]);
}
