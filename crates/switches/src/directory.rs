//! A directory with what switches have printed, a file for each.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use tresse_mapping::pasted::{self, MOST_BYTES, PastedError};
use tresse_mapping::table::SwitchTable;

/// Endings that belong to the file, not to the switch's name.
const ENDINGS: [&str; 4] = [".txt", ".json", ".log", ".out"];

/// Why the tables of a directory cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The directory or a file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The directory or file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It is a pipe, a socket or a device, which may have no end.
    #[error("{}: it is {what}, not a file\n  help: take it out of the directory", path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// There is no file.
    #[error("{}: no file in it: it needs one for each switch, named after the switch", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// Two files are of one switch.
    #[error("{} and {} are both of the switch {name}: put both outputs into one file", first.display(), second.display())]
    Twice {
        /// The switch.
        name: String,
        /// One file.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// A file has no table.
    #[error("{}: {source}", path.display())]
    Pasted {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: PastedError,
    },
}

/// Reads a directory that has a file for each switch, named after the switch (`s1`, `s1.txt`, `s1.json`), sorted by
/// name. Hidden files are passed over.
///
/// # Errors
/// As [`DirectoryError`] lists.
pub fn pasted(directory: &Path) -> Result<Vec<SwitchTable>, DirectoryError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| DirectoryError::Unreadable { path, source }
    };
    let entries = fs::read_dir(directory).map_err(unreadable(directory))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable(directory))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') || path.is_dir() {
            continue;
        }
        if let Some(what) = other(&path).map_err(unreadable(&path))? {
            return Err(DirectoryError::NoFile { path, what });
        }
        let ending = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
        files.push((ending.unwrap_or(&name).to_owned(), path));
    }
    files.sort();
    if let Some(pair) = files.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let (name, first, second) = (pair[0].0.clone(), pair[0].1.clone(), pair[1].1.clone());
        return Err(DirectoryError::Twice { name, first, second });
    }
    if files.is_empty() {
        return Err(DirectoryError::Empty { path: directory.to_owned() });
    }
    let read = |(name, path): (String, PathBuf)| {
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(unreadable(&path))?;
        file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable(&path))?;
        pasted::read_bytes(&name, &bytes).map_err(|source| DirectoryError::Pasted { path, source })
    };
    files.into_iter().map(read).collect()
}

/// What is at this path, if it is no file: opening a pipe waits for who writes.
fn other(path: &Path) -> io::Result<Option<&'static str>> {
    let kind = fs::metadata(path)?.file_type();
    Ok(match () {
        () if kind.is_file() => None,
        () if kind.is_fifo() => Some("a pipe"),
        () if kind.is_socket() => Some("a socket"),
        () => Some("a device"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "02:54:00:00:00:01 dev p1 master br0\n";

    #[test]
    fn each_file_is_a_switch() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| fs::write(directory.path().join(name), text).unwrap();
        let names = || {
            pasted(directory.path())
                .map(|all| all.into_iter().map(|table| table.name).collect::<Vec<_>>())
        };
        assert!(matches!(names(), Err(DirectoryError::Empty { .. })));
        write("s1.lab.txt", TABLE.as_bytes());
        write("s0", &[TABLE.as_bytes(), b"gr\xfcn\n"].concat());
        write(".hidden", b"nothing");
        assert_eq!(names().unwrap(), ["s0", "s1.lab"]);
        write("s0.json", b"[]");
        assert!(names().unwrap_err().to_string().contains("both of the switch s0"));
        fs::remove_file(directory.path().join("s0")).unwrap();
        let error = names().unwrap_err().to_string();
        assert!(
            error.contains("s0.json: s0: no table") && error.contains("help: paste"),
            "{error}"
        );
        write("s0.json", &[0xff, 0xfe, b'a', 0]);
        assert!(names().unwrap_err().to_string().contains("s0.json: s0: its text is UTF-16"));
        fs::remove_file(directory.path().join("s0.json")).unwrap();
        // Neither is opened: a pipe without a writer would wait, the device has no end.
        let pipe = directory.path().join("s2");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(names().unwrap_err().to_string().contains("s2: it is a pipe, not a file"));
        fs::remove_file(&pipe).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &pipe).unwrap();
        assert!(names().unwrap_err().to_string().contains("s2: it is a device, not a file"));
        assert!(matches!(
            pasted(&directory.path().join("x")),
            Err(DirectoryError::Unreadable { .. })
        ));
    }
}
