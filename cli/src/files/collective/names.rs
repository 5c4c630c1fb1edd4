//! What files are called where: `{node}` is the node that has a file, or gets it, `{from}` the one that it is of.

use std::path::{Path, PathBuf};

use crate::fail::{Code, Failure};

/// `NODE:PATH`, or `None` where there is no node in front.
pub fn on_node(text: &str) -> Option<(&str, &str)> {
    let (node, path) = text.split_once(':')?;
    (!node.contains('/')).then_some((node, path))
}

/// A path that has to be absolute and have a name, and may end with `/` where `directory`.
pub fn absolute(text: &str, directory: bool) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(text);
    let named = path.file_name().is_some() && (directory || !text.ends_with('/'));
    if !path.is_absolute() || !(named || (directory && text.ends_with('/'))) {
        let words = format!("`{text}`: expected an absolute path, such as /data/file");
        return Err(Failure::new(Code::Usage, words));
    }
    Ok(path)
}

/// A path on a node.
pub fn of_node(path: &Path, node: &str) -> PathBuf {
    replaced(path, "{node}", node)
}

/// Where what another node has is put on a node. A target that ends with `/` is a directory for it.
pub fn target(target: &str, source: &Path, node: &str, from: &str) -> PathBuf {
    let path = if target.ends_with('/') {
        Path::new(target).join(source.file_name().unwrap_or_default())
    } else {
        PathBuf::from(target)
    };
    replaced(&of_node(&path, node), "{from}", from)
}

/// The same where several nodes have a file of the same name: they are told apart by `{from}`, which is put behind
/// the name where it stands nowhere and the target is a directory.
pub fn apart(text: &str, source: &Path) -> Result<String, Failure> {
    let _ = absolute(text, true)?;
    let named = source.file_name().is_some_and(|name| name.to_string_lossy().contains("{node}"));
    if text.contains("{from}") || (named && text.ends_with('/')) {
        return Ok(text.to_owned());
    }
    match (text.ends_with('/'), source.file_name()) {
        (true, Some(name)) => Ok(format!("{text}{}.{{from}}", name.to_string_lossy())),
        _ => {
            let words = format!(
                "`{text}`: all would get this name: put {{from}} in it, or end it with `/` for a directory"
            );
            Err(Failure::new(Code::Usage, words))
        }
    }
}

fn replaced(path: &Path, what: &str, with: &str) -> PathBuf {
    match path.to_str() {
        Some(text) => PathBuf::from(text.replace(what, with)),
        // Such a name has no place to replace.
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_nodes() {
        let to = |text: &str| target(text, Path::new("/data/model.bin"), "n1", "n0");
        assert_eq!(to("/x/"), Path::new("/x/model.bin"));
        assert_eq!(to("/x/y"), Path::new("/x/y"));
        assert_eq!(to("/x/{node}/{from}/"), Path::new("/x/n1/n0/model.bin"));
    }

    #[test]
    fn several_are_told_apart() {
        let source = Path::new("/data/log");
        assert_eq!(apart("/x/", source).unwrap(), "/x/log.{from}");
        assert_eq!(apart("/x/{from}", source).unwrap(), "/x/{from}");
        assert_eq!(apart("/x/{from}/", source).unwrap(), "/x/{from}/");
        assert!(apart("/x/y", source).is_err());
        assert!(apart("x/", source).is_err());
    }
}
