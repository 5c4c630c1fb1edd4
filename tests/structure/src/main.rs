//! The command line of the structure checks: `cargo run --package tresse-structure -- COMMAND`. An arrow
//! is a dependency between files or modules of a crate, a circle a circular dependency.
//!
//! ```text
//! circles [PACKAGE]            all circles, known or not, with the names that make them
//! arrows PACKAGE [MODULE]      arrows between top-level modules, or of files with MODULE
//! shrink                       writes known.txt anew, unless it would grow
//! draw SEED [COUNT]            public items at random, 60 unless told, for a reader to explain
//! ```

use std::process::ExitCode;

use tresse_structure::draw::draw;
use tresse_structure::known::{self, Known};
use tresse_structure::survey::Survey;
use tresse_structure::{Arrows, Workspace};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let workspace = Workspace::load();
    match arguments.as_slice() {
        ["circles"] => show_circles(&workspace, ""),
        ["circles", package] => show_circles(&workspace, package),
        ["arrows", package] => show_arrows(&workspace, package, None),
        ["arrows", package, module] => show_arrows(&workspace, package, Some(module)),
        ["shrink"] => return shrink(&workspace),
        ["draw", seed] if number(seed).is_some() => show_drawn(&workspace, number(seed), 60),
        ["draw", seed, count] if number(seed).is_some() && number(count).is_some() => {
            show_drawn(&workspace, number(seed), number(count).unwrap_or(0) as usize);
        }
        _ => {
            eprintln!(
                "usage: tresse-structure circles [PACKAGE] | arrows PACKAGE [MODULE] | shrink | \
                 draw SEED [COUNT]"
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn show_circles(workspace: &Workspace, package: &str) {
    for (place, circle) in &Survey::of(workspace).circles {
        if package.is_empty() || place.package == package {
            let (kind, count) = (&place.kind, place.members.len());
            println!("{}: a circle of {count} {kind}\n{}", place.package, circle.describe());
        }
    }
}

fn show_arrows(workspace: &Workspace, package: &str, module: Option<&str>) {
    for found in workspace.packages.iter().filter(|found| found.name == package) {
        for source in found.crates() {
            let arrows = match module {
                None => Arrows::of_modules(&source),
                Some(_) => Arrows::of_files(&source),
            };
            let wanted = |name: &str| module.is_none_or(|module| name.contains(module));
            for (arrow, names) in arrows.iter() {
                if wanted(&arrow.from) || wanted(&arrow.to) {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    println!("{} --> {}: {}", arrow.from, arrow.to, names.join(", "));
                }
            }
        }
    }
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok()
}

fn show_drawn(workspace: &Workspace, seed: Option<u64>, count: usize) {
    for (k, drawn) in draw(workspace, count, seed.unwrap_or(1)).iter().enumerate() {
        println!("{}. {}", k + 1, drawn.place);
        drawn.text.lines().for_each(|line| println!("    {line}"));
    }
}

fn shrink(workspace: &Workspace) -> ExitCode {
    let text = std::fs::read_to_string(known::FILE).unwrap_or_default();
    let needed = Known::needed_by(&Survey::of(workspace));
    let growth = Known::parse(&text).map(|old| needed.growth_since(&old));
    match growth {
        Ok(None) => match std::fs::write(known::FILE, needed.render()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&format!("{}: {error}", known::FILE)),
        },
        Ok(Some(growth)) => fail(&format!("the list only shrinks: {growth}")),
        Err(error) => fail(&error),
    }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}
