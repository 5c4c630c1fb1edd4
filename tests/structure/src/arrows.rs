//! Finds the dependencies within a crate, called arrows: which file or module uses names that another
//! one defines.

use std::collections::{BTreeMap, BTreeSet};

use crate::methods::Methods;
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
        for (module, used) in used(source) {
            let arrow = Arrow { from: place(module), to: place(used.module) };
            if arrow.from != arrow.to {
                arrows.entry(arrow).or_default().insert(used.name);
            }
        }
        Arrows(arrows)
    }
}

/// The items of this crate that each module uses.
fn used(source: &Crate) -> Vec<(usize, Definition)> {
    let methods = Methods::of(source);
    let (mut found, mut perhaps) = (Vec::new(), Vec::new());
    for module in 0..source.modules.len() {
        let uses = Uses::of(&source.modules[module].items);
        let known = uses.calls.iter().filter_map(|call| methods.known(source, module, call));
        found.extend(known.chain(named(source, module, &uses)).map(|used| (module, used)));
        let calls = uses.calls.iter().flat_map(|call| methods.perhaps(source, module, call));
        perhaps.extend(calls.map(|(of, method)| (module, of, method)));
    }
    // Code has a value of a type only if it uses what leads to that type: calls of other code are of some
    // other type with a method of the same name.
    loop {
        let reached = reached(source.modules.len(), &found);
        let (calls, others): (Vec<_>, Vec<_>) =
            perhaps.into_iter().partition(|(module, of, _)| reached[*module].contains(of));
        if calls.is_empty() {
            return found;
        }
        found.extend(calls.into_iter().map(|(module, _, method)| (module, method)));
        perhaps = others;
    }
}

/// The modules that each of `modules` modules reaches along what they use, itself among them.
fn reached(modules: usize, used: &[(usize, Definition)]) -> Vec<BTreeSet<usize>> {
    let mut next = vec![BTreeSet::new(); modules];
    for (module, used) in used {
        next[*module].insert(used.module);
    }
    let from = |start: usize| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(at) = open.pop() {
            if seen.insert(at) {
                open.extend(&next[at]);
            }
        }
        seen
    };
    (0..modules).map(from).collect()
}

/// The items of this crate that the code of `module` names.
fn named<'a>(
    source: &'a Crate,
    module: usize,
    uses: &'a Uses,
) -> impl Iterator<Item = Definition> + 'a {
    let own_imports = source.modules[module].scope.imports.iter();
    let imported =
        own_imports.chain(&uses.imports).filter_map(move |import| imported(source, module, import));
    let named = uses.paths.iter().filter_map(move |path| source.resolve(module, path).item);
    let macros = uses.macros.iter().filter_map(move |name| {
        let defined = source.resolve_macro(module, name);
        defined.or_else(|| source.resolve(module, std::slice::from_ref(name)).item)
    });
    imported.chain(named).chain(macros)
}

/// What an import uses: nothing if it only names a module, or hands on what a child defines.
fn imported(source: &Crate, module: usize, import: &Import) -> Option<Definition> {
    let Meaning { module: named, item } = source.resolve(module, &import.path);
    match (item, named) {
        (Some(item), _) => {
            let hands_on = import.reexport && source.is_within(item.module, module);
            (!hands_on).then_some(item)
        }
        (None, Some(named)) if import.reexport && !source.is_within(named, module) => {
            let name = import.name.as_deref().unwrap_or("*").to_owned();
            Some(Definition { module: named, name })
        }
        _ => None,
    }
}
