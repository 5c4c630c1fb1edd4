use std::fs;
use std::io::{BufReader, PipeWriter, pipe};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use super::*;
use crate::talk::Next;

const TOKEN_TEXT: &str = "00112233445566778899aabbccddeeff";

struct Member {
    asks: PipeWriter,
    tells: Receiver<Tell>,
    port: u16,
    runs: JoinHandle<()>,
}

impl Member {
    fn new(file: &Path, source: bool) -> Self {
        let (input, mut asks) = pipe().unwrap();
        let (told, output) = pipe().unwrap();
        let runs = std::thread::spawn(move || run(BufReader::new(input), output).unwrap());
        let (send, tells) = channel();
        std::thread::spawn(move || {
            let mut told = BufReader::new(told);
            while let Ok(Some(tell)) = hear(&mut told) {
                if send.send(tell).is_err() {
                    break;
                }
            }
        });
        let address = IpAddr::from(Ipv4Addr::LOCALHOST);
        let (token, file) = (TOKEN_TEXT.into(), file.to_owned());
        say(&mut asks, &Ask::Join(Join { token, address, file, source, keep: true })).unwrap();
        let mut member = Self { asks, tells, port: 0, runs };
        if let Tell::Listens { port } = member.tell() {
            member.port = port;
        }
        member
    }

    fn tell(&self) -> Tell {
        self.tells.recv_timeout(Duration::from_secs(20)).unwrap()
    }

    fn next(&mut self, number: u32, to: Option<&Self>) {
        let next = to.map(|to| {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, to.port));
            Next { number, address }
        });
        say(&mut self.asks, &Ask::Next(next)).unwrap();
    }

    fn done(&self) -> (u64, String) {
        loop {
            match self.tell() {
                Tell::Done { octets, hash } => return (octets, hash),
                Tell::Failed { words } => panic!("{words}"),
                _ => {}
            }
        }
    }

    fn quit(mut self) {
        say(&mut self.asks, &Ask::Quit).unwrap();
        self.runs.join().unwrap();
    }
}

fn content(octets: usize) -> Vec<u8> {
    (0..octets).map(|i| (i * 31 + i / 4096) as u8).collect()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A source and so many others, in a directory.
fn ring(directory: &Path, octets: usize, others: usize) -> Vec<Member> {
    fs::write(directory.join("0"), content(octets)).unwrap();
    (0..=others).map(|i| Member::new(&directory.join(i.to_string()), i == 0)).collect()
}

#[test]
fn all_have_the_file_and_nothing_else() {
    for octets in [0, 1, 5_000_000] {
        let directory = tempfile::tempdir().unwrap();
        let mut members = ring(directory.path(), octets, 4);
        for i in 0..4 {
            let (left, right) = members.split_at_mut(i + 1);
            left[i].next(1, Some(&right[0]));
        }
        let right = blake3::hash(&content(octets)).to_hex().to_string();
        for member in &members {
            assert_eq!(member.done(), (octets as u64, right.clone()));
        }
        members.into_iter().for_each(Member::quit);
        assert_eq!(names(directory.path()), ["0", "1", "2", "3", "4"]);
        for i in 1..5 {
            assert!(fs::read(directory.path().join(i.to_string())).unwrap() == content(octets));
        }
    }
}

#[test]
fn a_member_that_is_gone_is_left_out_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut members = ring(directory.path(), 8_000_000, 3);
    let last = members.pop().unwrap();
    let gone = members.pop().unwrap();
    let [source, first] = &mut members[..] else { panic!() };
    // The one between has what it was sent, and goes before it sends it on.
    first.next(1, Some(&gone));
    source.next(1, Some(first));
    gone.done();
    gone.quit();
    first.next(2, Some(&last));
    assert_eq!(last.done().0, 8_000_000);
    for member in members.into_iter().chain([last]) {
        member.quit();
    }
    assert_eq!(names(directory.path()), ["0", "1", "2", "3"]);
}

#[test]
fn what_is_not_whole_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let alone = Member::new(&directory.path().join("new"), false);
    assert_eq!(names(directory.path()).len(), 1);
    // A stranger, and one who knows the token and goes.
    for token in [[0; TOKEN], token(TOKEN_TEXT).unwrap()] {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, alone.port)).unwrap();
        stream.write_all(&token).unwrap();
    }
    alone.quit();
    assert_eq!(names(directory.path()), [""; 0]);
}

#[test]
fn a_wrong_file_is_told() {
    let directory = tempfile::tempdir().unwrap();
    for (file, source) in [("none", true), ("", false), ("none/new", false)] {
        let member = Member::new(&directory.path().join(file), source);
        assert_eq!(member.port, 0, "{file}");
    }
    assert_eq!(names(directory.path()), [""; 0]);
}
