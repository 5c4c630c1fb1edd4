//! Checks that every citation in code and documents leads to a definition in the repository's own
//! documents.
//!
//! Checked are kernel rules (`K5`), sections of documents and papers, RFCs, standards, works by
//! author and year, places in the kernel's source, files under `docs/`, links between documents,
//! the tests named beside the kernel rules, the reason for each dependency, and the files and
//! commands that documents name. A failure names file, line and citation.

#![cfg(test)]

mod citations;
mod commands;
mod comments;
mod definitions;
mod dependencies;
mod fault;
mod held;
mod links;
mod markdown;
mod source;
mod verbs;
mod words;

use fault::Fault;

/// Panics with all faults, one a line, as compilers write them.
fn none(mut faults: Vec<Fault>) {
    faults.sort();
    let lines: Vec<_> =
        faults.iter().map(|f| format!("{}:{}: {}", f.path, f.line, f.message)).collect();
    assert!(faults.is_empty(), "{} lead nowhere:\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn citations_lead_to_definitions() {
    let sources = source::all();
    none(citations::check(&sources, &definitions::Definitions::of(&sources)));
}

#[test]
fn links_between_documents_lead_somewhere() {
    none(links::check(&source::all()));
}

#[test]
fn files_and_commands_in_documents_exist() {
    none(commands::check(&source::all()));
}

#[test]
fn tests_beside_the_kernel_rules_exist() {
    none(held::check(&source::all()));
}

#[test]
fn every_dependency_has_its_reason() {
    none(dependencies::check(&source::all()));
}
