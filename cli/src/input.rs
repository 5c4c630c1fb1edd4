//! Reads cluster files and their locks (`tresse.lock`, which keep VLAN IDs and addresses), and
//! prints the problems of these files, each with its line.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Args;
use miette::{LabeledSpan, MietteDiagnostic, NamedSource, Report};
use tresse_base::hostlist;
use tresse_base::id::NodeId;
use tresse_base::installed::CLUSTER_FILE;
use tresse_base::problem::Problems;
use tresse_base::wiring::Wiring;
use tresse_plan::Plan;
use tresse_plan::lock::Lock;
use tresse_topology::cluster::Cluster;
use tresse_verify::{self, Survey};

use crate::fail::{self, Code, Failure};
use crate::output::{count, plain};

/// Arguments of the verbs that read a cluster file: its path, and that of its lock (`tresse.lock`),
/// which keeps VLAN IDs and addresses.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// The cluster file.
    pub file: PathBuf,
    /// The lock. Default: `tresse.lock` beside the cluster file, if there is one.
    #[arg(long)]
    pub lock: Option<PathBuf>,
}

impl ClusterArgs {
    /// Reads the files and computes the plan.
    pub fn plan(&self) -> Result<Plan, Failure> {
        let cluster = read_cluster(&self.file)?;
        let lock = self.read_lock()?;
        build(cluster, &lock, &self.file)
    }

    /// The path of the lock, which need not exist.
    pub fn lock_path(&self) -> PathBuf {
        self.lock.clone().unwrap_or_else(|| self.file.with_file_name("tresse.lock"))
    }

    /// Reads the lock; without a file it is empty.
    pub fn read_lock(&self) -> Result<Lock, Failure> {
        let Some(text) = self.lock_text()? else { return Ok(Lock::default()) };
        Lock::parse(&text).map_err(|e| {
            Failure::new(Code::BadFile, format!("{}: {e}", self.lock_path().display()))
        })
    }

    /// Reads the text of the lock. The default lock may be missing; a lock that was named must exist.
    pub fn lock_text(&self) -> Result<Option<String>, Failure> {
        let path = self.lock_path();
        match File::open(&path).and_then(|file| text_from(file, LARGEST)) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == ErrorKind::NotFound && self.lock.is_none() => Ok(None),
            Err(e) => Err(unreadable(&format!("the lock {}", path.display()), &e)),
        }
    }
}

/// Reads the text of a cluster file that the operator named.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = read_bytes(path)?;
    let name = path.display().to_string();
    tresse_cluster::text_of(&bytes, &name).map(ToOwned::to_owned).map_err(refused)
}

/// Reads the text of a cluster file. If the cluster file names a file with a wiring table (which
/// NIC is on which switch), that table is put into the text. If the file is itself a wiring table,
/// returns the text of a cluster file with this table and defaults.
pub fn cluster_text(path: &Path) -> Result<String, Failure> {
    with_wiring(read_text(path)?, path)
}

/// The text of a cluster file at `path` with the wiring table that it names.
pub fn with_wiring(text: String, path: &Path) -> Result<String, Failure> {
    tresse_cluster::with_wiring(text, |name| {
        let table = read_wiring(&path.with_file_name(name));
        table.map_err(|failure| {
            let message = format!("{}, key `wiring`: {}", path.display(), failure.message);
            Failure { message, ..failure }
        })
    })
}

/// Reads a file with a wiring table. One that is no table is refused here, where its name is known.
fn read_wiring(path: &Path) -> Result<String, Failure> {
    let text = read_text(path)?;
    match Wiring::parse(&text) {
        Ok(_) => Ok(text),
        Err(error) => {
            let (file, help) = (path.display(), tresse_cluster::WIRING_HELP);
            Err(Failure::new(Code::BadFile, format!("{file}: {error}\n  help: {help}")))
        }
    }
}

/// Reads a file that the operator named. If there is none, the error suggests a file with a similar name.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    read_up_to(path, LARGEST)
}

/// Reads a file that another program wrote, such as a trace or a dump: it may be larger than one written by hand.
pub fn read_long(path: &Path) -> Result<Vec<u8>, Failure> {
    read_up_to(path, LARGEST_DUMP)
}

/// Reads all bytes, but not more than `most`: a device such as `/dev/zero` has no end.
pub fn bytes_from(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if from.take(most + 1).read_to_end(&mut bytes)? as u64 > most {
        let words = format!("it is larger than {} MiB", most >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, words));
    }
    Ok(bytes)
}

/// As [`bytes_from`], for a text in UTF-8.
pub fn text_from(from: impl Read, most: u64) -> io::Result<String> {
    let wrong = |error| io::Error::new(ErrorKind::InvalidData, error);
    String::from_utf8(bytes_from(from, most)?).map_err(wrong)
}

fn read_up_to(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    File::open(path).and_then(|file| bytes_from(file, most)).map_err(|e| {
        match similar(path).filter(|_| e.kind() == ErrorKind::NotFound) {
            Some(near) => {
                let words = format!("cannot read {}: {e}; did you mean {near}?", path.display());
                Failure::new(Code::BadFile, words)
            }
            None if path == Path::new(CLUSTER_FILE) && e.kind() == ErrorKind::NotFound => {
                let words =
                    format!("this machine has no plan in force and no {CLUSTER_FILE}\n  help: name the cluster file");
                Failure::new(Code::BadFile, words)
            }
            None => unreadable(&path.display().to_string(), &e),
        }
    })
}

/// The failure that a file cannot be read. `what` names the file.
pub fn unreadable(what: &str, error: &io::Error) -> Failure {
    let help = tresse_base::text::read_help(error.kind());
    let help = help.map_or_else(String::new, |help| format!("\n  help: {help}"));
    Failure::new(Code::BadFile, format!("cannot read {what}: {error}{help}"))
}

/// A file in the same directory whose name is nearly the same.
fn similar(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names: Vec<_> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| Path::new(name).extension() == path.extension())
        .collect();
    let near =
        tresse_base::text::nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near).display().to_string())
}

/// Reads and parses a cluster file. If it has problems, prints all of them on standard error and
/// fails.
pub fn read_cluster(path: &Path) -> Result<Cluster, Failure> {
    parse(&cluster_text(path)?, path)
}

/// Parses the text of the cluster file at `path`. If it has problems, prints all of them on standard error and fails.
pub fn parse(text: &str, path: &Path) -> Result<Cluster, Failure> {
    tresse_cluster::parse(text, &path.display().to_string()).map_err(refused)
}

/// The largest number of problems of a file that are printed: nobody reads on.
const MOST_SHOWN: usize = 200;

/// Prints the problems of a cluster file or other input file on standard error, and returns the
/// failure with which the verb ends.
pub fn refused(problems: Problems) -> Failure {
    let Problems { file, source, problems } = problems;
    for p in problems.iter().take(MOST_SHOWN) {
        show(&file, &source, &p.to_string(), p.span.clone(), p.help.as_deref());
    }
    if problems.len() > MOST_SHOWN {
        fail::say(&format!("and {} more", count(problems.len() - MOST_SHOWN, "problem")));
    }
    let message = format!("{file} has {}", count(problems.len(), "problem"));
    Failure { problems, ..Failure::new(Code::BadFile, message) }
}

/// Prints one problem of an input file on standard error: on a terminal with the line of the file
/// and a mark below the fault, else as `file:line:column: message`, which editors and other
/// programs can parse.
pub fn show(name: &str, text: &str, message: &str, span: Range<usize>, help: Option<&str>) {
    let (name, message) = (plain(name), plain(message));
    let help = help.map(plain);
    let mut err = io::stderr().lock();
    // If standard error is closed, there is no other place to report that.
    let _ = if err.is_terminal() {
        let mut diagnostic = MietteDiagnostic::new(message)
            .with_label(LabeledSpan::new_with_span(Some("here".into()), span));
        diagnostic.help = help.map(Cow::into_owned);
        let source = NamedSource::new(name, drawable(text)).with_language("TOML");
        write!(err, "{:?}", Report::new(diagnostic).with_source_code(source))
    } else {
        let help = help.map_or_else(String::new, |help| format!("\n  help: {help}"));
        writeln!(err, "{message}{help}")
    };
}

/// The text with `?` in place of every byte of a control character. Its length stays, so that spans still fit.
fn drawable(text: &str) -> String {
    let shown = |c: char| {
        let acts = c != '\n' && c != '\t' && c.escape_debug().count() > 2;
        if acts { "?".repeat(c.len_utf8()) } else { c.to_string() }
    };
    text.chars().map(shown).collect()
}

/// Returns the byte range, in a text, of the word that begins at a line and column. Both count from
/// 1, the column in characters. The range is empty if the text has no such place.
pub fn span_at(text: &str, line: usize, column: usize) -> Range<usize> {
    let start_of_line: usize =
        text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = &text[start_of_line..];
    let rest = rest.lines().next().unwrap_or_default();
    let offset = rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(at, _)| at);
    let word = rest[offset..].split([' ', ',', ']', '}']).next().unwrap_or_default();
    let start = start_of_line + offset;
    start..start + word.len()
}

/// Computes the plan of a cluster with the VLAN IDs and addresses that the lock (`tresse.lock`)
/// keeps. Errors are reported as errors of the cluster file `path`.
pub fn build(cluster: Cluster, lock: &Lock, path: &Path) -> Result<Plan, Failure> {
    Plan::build_with(cluster, lock)
        .map_err(|e| Failure::new(Code::BadFile, format!("{}: {e}", path.display())))
}

/// The plan of a cluster file, and the plan of an older cluster file that it replaces, if one was
/// named.
pub struct Change {
    /// The plan.
    pub plan: Plan,
    /// The older plan, if one was asked for.
    pub old: Option<Plan>,
    /// The lock that both plans use.
    pub lock: Lock,
    /// Whether the lock file holds the VLAN IDs and addresses of the older plan. If it does not, both plans are as if
    /// `plan --write-lock` had been run for the older one.
    pub held: bool,
}

/// Computes the plan of a cluster and, if `old` names an older cluster file, the plan of that file,
/// both with the same lock (`tresse.lock`). VLAN IDs and addresses of the older plan that the lock
/// lacks are added to it first: otherwise the two plans could give one VLAN ID to two VLAN trees.
pub fn build_after(
    cluster: Cluster,
    mut lock: Lock,
    path: &Path,
    old: Option<&Path>,
) -> Result<Change, Failure> {
    let old = old.map(|old| build(read_cluster(old)?, &lock, old)).transpose()?;
    let held = old.as_ref().is_none_or(|old| old.is_held_by(&lock));
    if let (Some(old), false) = (&old, held) {
        lock = old.lock(&lock);
    }
    Ok(Change { plan: build(cluster, &lock, path)?, old, lock, held })
}

/// How many ranges of node names an error lists.
const MOST_RANGES: usize = 8;

/// Returns the node of this name. If there is none, the error suggests the node that may have been meant.
pub fn node_named(cluster: &Cluster, name: &str) -> Result<NodeId, Failure> {
    cluster.node_named(name).ok_or_else(|| {
        let names = || cluster.nodes.iter().map(|node| node.name.as_str());
        let help = match (cluster.switch_named(name), tresse_base::text::nearest(name, names())) {
            (Some(_), _) => "that is a switch: name a node".to_owned(),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => {
                let names: Vec<&str> = names().collect();
                let mut ranges = hostlist::collapse(&names);
                if ranges.len() > MOST_RANGES {
                    ranges.truncate(MOST_RANGES);
                    ranges.push("and more".into());
                }
                format!("its nodes are {}", ranges.join(", "))
            }
        };
        Failure::new(Code::Usage, format!("the cluster has no node `{name}`: {help}"))
    })
}

/// Warns that the lock (`tresse.lock`) does not hold the VLAN IDs and addresses of the older plan:
/// the nodes, which use this lock, would compute another plan than the one printed.
pub fn warn_unlocked(old: &Path, lock: &Path) {
    let (old, lock) = (old.display(), lock.display());
    fail::say(&format!(
        "WARNING: the lock {lock} does not hold what {old} uses, its VLAN IDs and addresses. This output \
         is as if it did, but nodes would give VLAN IDs of running trees to other trees. First run: \
         tresse plan {old} --lock {lock} --write-lock"
    ));
}

/// Fails if the existing lock (`tresse.lock`) seems to be that of another fabric, so that it is not
/// overwritten: more than half of the nodes in it are not in this cluster.
pub fn refuse_foreign_lock(before: &Lock, cluster: &Cluster, path: &Path) -> Result<(), Failure> {
    let kept: BTreeSet<&str> = before.names(cluster).into_iter().flatten().collect();
    let gone: Vec<&String> =
        before.nodes.keys().filter(|name| !kept.contains(name.as_str())).collect();
    let (Some(first), all) = (gone.first(), before.nodes.len()) else { return Ok(()) };
    if gone.len() * 2 <= all {
        return Ok(());
    }
    let (gone, lock) = (gone.len(), path.display());
    Err(Failure::new(
        Code::BadFile,
        format!(
            "{lock} holds the addresses of {all} nodes, and {gone} of them (first: `{first}`) are not in \
             this cluster file: it seems to be another fabric's lock. Name another lock with --lock; if \
             these nodes are gone for good, remove {lock} first"
        ),
    ))
}

/// The size in bytes of the largest file that is read: far more than any cluster file, lock or table has.
pub const LARGEST: u64 = 64 << 20;

/// The size in bytes of the largest trace or dump that is read.
pub const LARGEST_DUMP: u64 = 1 << 30;

/// How many violations are shown when a plan is refused.
const SHOWN: usize = 10;

/// Checks a plan before it is exported or installed in a lab. Returns what the walk over all its
/// paths found: loads, hops, channel dependencies. A plan in which `tresse check` would find a
/// violation is refused.
pub fn accept(plan: &Plan, path: &Path) -> Result<Survey, Failure> {
    tresse_verify::accept(plan).map_err(|violations| {
        let n = violations.len();
        for violation in violations.iter().take(SHOWN) {
            fail::say(&format!("VIOLATION: {violation}"));
        }
        if n > SHOWN {
            fail::say(&format!("and {} more: see `tresse check`", n - SHOWN));
        }
        let found = count(n, "violation");
        Failure::new(Code::Fault, format!("{} has {found}", path.display()))
    })
}

/// Whether [`replace`] can write a file, before anything depends on it.
pub fn replaceable(path: &Path) -> Result<(), Failure> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let written = match File::options().append(true).open(&target) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        opened => opened.map(drop),
    };
    let beside = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let beside = || tempfile_in(beside.unwrap_or(Path::new(".")));
    written.and_then(|()| beside()).map_err(|error| {
        Failure::new(Code::Fault, format!("cannot write {}: {error}", path.display()))
    })
}

/// Makes a file in a directory and removes it.
fn tempfile_in(folder: &Path) -> io::Result<()> {
    let file = folder.join(format!(".tresse.{}.new", std::process::id()));
    std::fs::write(&file, "")?;
    std::fs::remove_file(&file)
}

/// Replaces a file in one step: a reader sees the old or the new text, never a part of it. A symbolic link stays a
/// link, and the file keeps its permissions.
pub fn replace(path: &Path, text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = target.with_file_name(name);
    let write = || {
        std::fs::write(&new, &text)?;
        if let Ok(old) = std::fs::metadata(&target) {
            std::fs::set_permissions(&new, old.permissions())?;
        }
        std::fs::rename(&new, &target)
    };
    write().map_err(|e: io::Error| {
        // Remove what was written, and report the first error.
        let _ = std::fs::remove_file(&new);
        unwritable(path, &e)
    })
}

/// The failure that a file cannot be written.
pub fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let help = tresse_base::text::write_help(error.kind());
    let help = help.map_or_else(String::new, |help| format!("\n  help: {help}"));
    Failure::new(Code::Fault, format!("cannot write {}: {error}{help}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_drawn_as_marks() {
        assert_eq!(drawable("a\t\"ö\\\n"), "a\t\"ö\\\n");
        assert_eq!(drawable("\u{1b}[31m\u{202e}\u{9b}x"), "?[31m?????x");
    }

    #[test]
    fn links_and_permissions_outlive_a_replacement() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        replace(&link, "new").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        replace(&directory.path().join("fresh"), "text").unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3);
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let endless = || io::repeat(b'#');
        assert_eq!(bytes_from(endless(), 1 << 20).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let told = text_from(endless(), 1 << 20).unwrap_err().to_string();
        assert_eq!(told, "it is larger than 1 MiB");
        assert_eq!(text_from(endless().take(1 << 20), 1 << 20).unwrap().len(), 1 << 20);
        assert_eq!(text_from(&b"\xe9"[..], 9).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn a_place_becomes_the_word_there() {
        let text = "a = 1\nö = [x1, y]\n";
        let at = |line, column| &text[span_at(text, line, column)];
        assert_eq!((at(1, 1), at(2, 1), at(2, 6)), ("a", "ö", "x1"));
        assert_eq!((at(2, 99), at(9, 1), at(0, 0)), ("", "", "a"));
    }
}
