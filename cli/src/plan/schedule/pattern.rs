//! The messages of a pattern.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tresse_topology::cluster::Cluster;

use crate::fail::{Code, Failure};
use crate::input;

/// Which nodes send to which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    AllToAll,
    Rows,
    Columns,
    /// Those that a file lists.
    Permutation(PathBuf),
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.split_once(':')) {
            ("all-to-all", _) => Ok(Self::AllToAll),
            ("rows", _) => Ok(Self::Rows),
            ("columns", _) => Ok(Self::Columns),
            (_, Some(("permutation", file))) if !file.is_empty() => {
                Ok(Self::Permutation(file.into()))
            }
            _ => Err("expected all-to-all, rows, columns or permutation:FILE".into()),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllToAll => f.write_str("all-to-all"),
            Self::Rows => f.write_str("rows"),
            Self::Columns => f.write_str("columns"),
            Self::Permutation(file) => write!(f, "permutation:{}", file.display()),
        }
    }
}

impl Pattern {
    /// Its messages, from node to node, of the first `nodes`. `row`: the nodes of a row.
    pub fn messages(
        &self,
        cluster: &Cluster,
        nodes: usize,
        row: Option<u32>,
    ) -> Result<Vec<(u32, u32)>, Failure> {
        let nodes = nodes as u32;
        let all = |talk: &dyn Fn(u32, u32) -> bool| {
            let to = |from| (0..nodes).filter(move |to| from != *to).map(move |to| (from, to));
            (0..nodes).flat_map(to).filter(|(from, to)| talk(*from, *to)).collect()
        };
        match self {
            Self::AllToAll => Ok(all(&|_, _| true)),
            Self::Rows => {
                let width = width(nodes, row)?;
                Ok(all(&|a, b| a / width == b / width))
            }
            Self::Columns => {
                let width = width(nodes, row)?;
                Ok(all(&|a, b| a % width == b % width))
            }
            Self::Permutation(pairs) => permutation(pairs, cluster),
        }
    }
}

/// The nodes of a row.
fn width(nodes: u32, row: Option<u32>) -> Result<u32, Failure> {
    let width = row.unwrap_or(nodes.isqrt());
    if width * width == nodes || row.is_some() && nodes.is_multiple_of(width) {
        return Ok(width);
    }
    let message = format!(
        "{nodes} nodes make no rows of {width}\n  help: --row N, where {nodes} is a multiple of N"
    );
    Err(Failure::new(Code::Usage, message))
}

/// Lines FROM TO: each node sends once and receives once at most.
fn permutation(pairs: &Path, cluster: &Cluster) -> Result<Vec<(u32, u32)>, Failure> {
    let text = input::read_text(pairs)?;
    let (mut messages, mut seen) = (Vec::new(), [BTreeSet::new(), BTreeSet::new()]);
    for (line, number) in text.lines().zip(1..) {
        let words: Vec<&str> =
            line.split('#').next().unwrap_or_default().split_whitespace().collect();
        let bad = |what: String| {
            let place = format!("{}:{number}: {what}", pairs.display());
            Failure::new(Code::BadFile, format!("{place}\n  help: a line is FROM TO, two nodes"))
        };
        let [from, to] = words[..] else {
            if words.is_empty() {
                continue;
            }
            return Err(bad(format!("found {} words", words.len())));
        };
        let node = |name| input::node_named(cluster, name).map_err(|error| bad(error.message));
        let (from_id, to_id) = (node(from)?, node(to)?);
        if from_id == to_id {
            return Err(bad(format!("`{from}` needs no message to itself")));
        }
        for ((seen, node), (name, does)) in
            seen.iter_mut().zip([from_id, to_id]).zip([(from, "sends"), (to, "receives")])
        {
            if !seen.insert(node) {
                return Err(bad(format!("`{name}` {does} twice, so this is no permutation")));
            }
        }
        messages.push((from_id.0, to_id.0));
    }
    Ok(messages)
}
