//! Reads and writes the files below `/proc/sys` as text. `/proc/sys/net` shows the calling thread's
//! network namespace.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The present value without its newline; `None` if the file does not exist.
pub(super) fn read(key: &str) -> io::Result<Option<String>> {
    match fs::read_to_string(path(key)?) {
        Ok(text) => Ok(Some(text.trim_end().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The keys that match a pattern with at most one part `*`.
pub(super) fn matching(pattern: &str) -> io::Result<Vec<String>> {
    let Some((directory, rest)) = pattern.split_once("/*/") else {
        return Ok(vec![pattern.to_owned()]);
    };
    let entries = match fs::read_dir(path(directory)?) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let key = |entry: io::Result<fs::DirEntry>| {
        Ok(format!("{directory}/{}/{rest}", entry?.file_name().to_string_lossy()))
    };
    entries.map(key).collect()
}

/// Writes one value.
pub(super) fn write(key: &str, value: &str) -> io::Result<()> {
    fs::OpenOptions::new()
        .write(true)
        .open(path(key)?)
        .and_then(|mut file| io::Write::write_all(&mut file, value.as_bytes()))
}

fn path(key: &str) -> io::Result<PathBuf> {
    let relative = Path::new(key);
    if relative.components().all(|c| matches!(c, Component::Normal(_))) && !key.is_empty() {
        Ok(Path::new("/proc/sys").join(relative))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a path below /proc/sys"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_below_proc_sys() {
        assert!(path("net/ipv4/conf/eth0.100/rp_filter").is_ok());
        for key in ["", "/etc/passwd", "../etc/passwd", "net/../../x"] {
            assert!(path(key).is_err(), "{key}");
        }
    }

    #[test]
    fn a_pattern_is_every_name_at_its_place() {
        let keys = matching("net/ipv4/conf/*/forwarding").unwrap();
        for name in ["all", "default", "lo"] {
            assert!(keys.contains(&format!("net/ipv4/conf/{name}/forwarding")), "{keys:?}");
        }
        assert_eq!(matching("net/ipv9/conf/*/forwarding").unwrap(), [""; 0]);
        assert_eq!(matching("net/ipv4/ip_forward").unwrap(), ["net/ipv4/ip_forward"]);
    }
}
