//! Files below `/proc/sys`, read and written as text. `/proc/sys/net` shows the calling thread's
//! network namespace.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The present value without its newline; `None` where the file does not exist.
pub(super) fn read(key: &str) -> io::Result<Option<String>> {
    match fs::read_to_string(path(key)?) {
        Ok(text) => Ok(Some(text.trim_end().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
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
}
