//! Parses the arguments `NODE:PATH` of the verbs that move files, and replaces the placeholders in
//! their paths: `{node}` stands for the node on which the file is, and `{from}` for the node that
//! it comes from.

use std::path::{Path, PathBuf};

use crate::fail::{Code, Failure};

/// Splits an argument `NODE:PATH` into the name of the node and the path. Returns `None` if it
/// names no node: it has no colon, or a `/` before the first one.
pub fn on_node(text: &str) -> Option<(&str, &str)> {
    let (node, path) = text.split_once(':')?;
    (!node.contains('/')).then_some((node, path))
}

/// Splits an argument `NODE:PATH` into the name of the node and the path; an argument that names no
/// node is an error of the command line.
pub fn place(text: &str) -> Result<(&str, &str), Failure> {
    on_node(text).ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{text}`: expected a node and an absolute path"))
    })
}

/// Checks that a path is absolute and names a file or directory, and returns it. A `/` at its end
/// is refused, unless `directory` is set.
pub fn absolute(text: &str, directory: bool) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(text);
    let named = path.file_name().is_some() && (directory || !text.ends_with('/'));
    if !path.is_absolute() || !(named || (directory && text.ends_with('/'))) {
        let words = format!("`{text}`: expected an absolute path, such as /data/file");
        return Err(Failure::new(Code::Usage, words));
    }
    Ok(path)
}

/// Returns a path in which `{node}` is replaced by the name of a node.
pub fn of_node(path: &Path, node: &str) -> PathBuf {
    replaced(path, "{node}", node)
}

/// Returns the path that a file gets on the receiving `node`: the path `target`, with `{node}` and
/// `{from}` replaced by the names of the receiving and the source node. If `target` ends with `/`,
/// it is a directory, and the file in it has the name of the `source` file.
pub fn target(target: &str, source: &Path, node: &str, from: &str) -> PathBuf {
    let path = if target.ends_with('/') {
        Path::new(target).join(source.file_name().unwrap_or_default())
    } else {
        PathBuf::from(target)
    };
    replaced(&of_node(&path, node), "{from}", from)
}

/// Returns the target path for verbs that collect the file `source` of several nodes, changed such
/// that these files get different names. A target that contains `{from}` (the source node) is
/// returned unchanged. To a directory, a target that ends with `/`, the name of the source file and
/// `.{from}` are appended, unless that name contains `{node}` and so differs already. Any other
/// target is an error.
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
                "`{text}`: the files of all nodes would get this name: put {{from}} in it, or end it with `/` for a directory"
            );
            Err(Failure::new(Code::Usage, words))
        }
    }
}

fn replaced(path: &Path, what: &str, with: &str) -> PathBuf {
    match path.to_str() {
        Some(text) => PathBuf::from(text.replace(what, with)),
        // A path that is not UTF-8 contains no placeholder.
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_paths_on_a_node() {
        let to = |text: &str| target(text, Path::new("/data/model.bin"), "n1", "n0");
        assert_eq!(to("/x/"), Path::new("/x/model.bin"));
        assert_eq!(to("/x/y"), Path::new("/x/y"));
        assert_eq!(to("/x/{node}/{from}/"), Path::new("/x/n1/n0/model.bin"));
    }

    #[test]
    fn targets_differ_for_each_source() {
        let source = Path::new("/data/log");
        assert_eq!(apart("/x/", source).unwrap(), "/x/log.{from}");
        assert_eq!(apart("/x/{from}", source).unwrap(), "/x/{from}");
        assert_eq!(apart("/x/{from}/", source).unwrap(), "/x/{from}/");
        assert!(apart("/x/y", source).is_err());
        assert!(apart("x/", source).is_err());
    }
}
