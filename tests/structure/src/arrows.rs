//! Finds the dependencies within a crate, called arrows: which file or module uses names that another
//! one defines.

use std::collections::{BTreeMap, BTreeSet};

use crate::resolve::{Definition, Meaning};
use crate::scope::Import;
use crate::source::Crate;
use crate::uses::Uses;

/// All arrows (dependencies) between the files of a crate, or between its top-level modules, each with
/// the names that are used.
pub struct Arrows(BTreeMap<Arrow, BTreeSet<String>>);

/// An arrow, that is a dependency within a crate: code of the file or module `from` uses a name that the
/// file or module `to` defines.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrow {
    /// The file or module that uses.
    pub from: String,
    /// The file or module that defines.
    pub to: String,
}

impl Arrows {
    /// Arrows between the files of a crate.
    pub fn of_files(source: &Crate) -> Arrows {
        let file = |module: usize| source.files[source.modules[module].file].name.clone();
        Arrows::between(source, file)
    }

    /// Arrows between the top-level modules of a crate; the root file is `crate`.
    pub fn of_modules(source: &Crate) -> Arrows {
        let top = |module: usize| {
            source.modules[module].path.first().map_or_else(|| "crate".to_owned(), Clone::clone)
        };
        Arrows::between(source, top)
    }

    /// The arrows, each with the names that are used, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&Arrow, &BTreeSet<String>)> {
        self.0.iter()
    }

    fn between(source: &Crate, place: impl Fn(usize) -> String) -> Arrows {
        let mut arrows: BTreeMap<Arrow, BTreeSet<String>> = BTreeMap::new();
        for module in 0..source.modules.len() {
            for used in used_by(source, module) {
                let arrow = Arrow { from: place(module), to: place(used.module) };
                if arrow.from != arrow.to {
                    arrows.entry(arrow).or_default().insert(used.name);
                }
            }
        }
        Arrows(arrows)
    }
}

/// The items of this crate that the code of `module` uses.
fn used_by(source: &Crate, module: usize) -> Vec<Definition> {
    let uses = Uses::of(&source.modules[module].items);
    let own_imports = source.modules[module].scope.imports.iter();
    let imported =
        own_imports.chain(&uses.imports).filter_map(|import| imported(source, module, import));
    let named = uses.paths.iter().filter_map(|path| source.resolve(module, path).item);
    let macros = uses.macros.iter().filter_map(|name| {
        let defined = source.resolve_macro(module, name);
        defined.or_else(|| source.resolve(module, std::slice::from_ref(name)).item)
    });
    imported.chain(named).chain(macros).collect()
}

/// What an import uses: nothing if it only names a module, or hands on what a child defines.
fn imported(source: &Crate, module: usize, import: &Import) -> Option<Definition> {
    let Meaning { module: named, item } = source.resolve(module, &import.path);
    match (item, named) {
        (Some(item), _) => {
            let hands_on = import.reexport && is_within(source, item.module, module);
            (!hands_on).then_some(item)
        }
        (None, Some(named)) if import.reexport && !is_within(source, named, module) => {
            let name = import.name.as_deref().unwrap_or("*").to_owned();
            Some(Definition { module: named, name })
        }
        _ => None,
    }
}

/// Whether `inner` is `outer` or lies below it.
fn is_within(source: &Crate, inner: usize, outer: usize) -> bool {
    let mut around = Some(inner);
    while let Some(module) = around {
        if module == outer {
            return true;
        }
        around = source.modules[module].parent;
    }
    false
}
