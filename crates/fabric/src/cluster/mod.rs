//! The cluster file: from text to a resolved [`Cluster`] or to all of its problems (DESIGN section
//! 3), its JSON Schema and its canonical form; and the fabrics that tests and benchmarks ask for by
//! kind and size.

mod file;
mod format;
mod generated;
mod hostlist;
mod limits;
mod model;
mod problem;
mod read;
mod resolve;
mod schema;
#[cfg(test)]
mod tests;

use toml::de::{DeTable, DeValue};

pub use format::format;
pub use hostlist::{HostlistError, expand};
pub use model::{
    Addressing, Cluster, Kind, Learning, Link, Nic, Node, Port, Routing, Stp, Strategy, Switch,
    Vlans,
};
pub use problem::{Problem, ProblemKind, Problems};
pub use schema::schema;

use problem::Found;
use read::Read;

/// Read a cluster file. `file_name` only names it in problems.
///
/// # Errors
/// Everything that is wrong with the file, in its order; only faults of TOML itself hide others.
pub fn parse(text: &str, file_name: &str) -> Result<Cluster, Problems> {
    let mut found = Found::default();
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let span = error.span().unwrap_or_default();
        let key = text.get(span.clone()).filter(|_| error.message() == "duplicate key");
        let key = key.map_or_else(String::new, |key| format!(" `{key}`"));
        let message = format!("{}{key}", error.message().trim());
        found.add(ProblemKind::Syntax, &span, message, None);
    }
    if !found.is_empty() {
        return Err(found.into_problems(text, file_name));
    }
    let span = table.span();
    let table = toml::Spanned::new(span, DeValue::Table(table.into_inner()));
    let file = file::File::read(&table, &mut found).unwrap_or_default();
    let cluster = resolve::resolve(&file, &mut found);
    if found.is_empty() { Ok(cluster) } else { Err(found.into_problems(text, file_name)) }
}
