//! Resolves a path in Rust source to the module that defines the name at its end.

use std::collections::HashSet;

use crate::source::Crate;

/// What a path names. A name can be a module and an item (a function, a type) at once.
#[derive(Clone, Default)]
pub(crate) struct Meaning {
    pub(crate) module: Option<usize>,
    pub(crate) item: Option<Definition>,
}

/// Where an item is defined.
#[derive(Clone)]
pub(crate) struct Definition {
    pub(crate) module: usize,
    pub(crate) name: String,
}

impl Meaning {
    fn is_empty(&self) -> bool {
        self.module.is_none() && self.item.is_none()
    }

    fn or(self, other: Meaning) -> Meaning {
        Meaning { module: self.module.or(other.module), item: self.item.or(other.item) }
    }
}

/// Names that are being looked up, so that imports that lead back to themselves end.
type Seen = HashSet<(usize, String)>;

impl Crate {
    /// What `path` means in `module`. Empty for what other crates define.
    pub(crate) fn resolve(&self, module: usize, path: &[String]) -> Meaning {
        self.follow(module, path, &mut Seen::new())
    }

    /// The module whose `macro_rules! name` is meant by `name!` in `module`: its own, or one of a
    /// module around it.
    pub(crate) fn resolve_macro(&self, module: usize, name: &str) -> Option<Definition> {
        let mut around = Some(module);
        while let Some(module) = around {
            if self.modules[module].scope.macros.contains(name) {
                return Some(Definition { module, name: name.to_owned() });
            }
            around = self.modules[module].parent;
        }
        None
    }

    fn follow(&self, module: usize, path: &[String], seen: &mut Seen) -> Meaning {
        let Some((first, rest)) = path.split_first() else { return Meaning::default() };
        let mut meaning = match first.as_str() {
            "crate" => Meaning { module: Some(0), item: None },
            "self" => Meaning { module: Some(module), item: None },
            "super" => Meaning { module: self.modules[module].parent, item: None },
            name => self.look_up(module, name, seen),
        };
        for name in rest {
            let Some(inside) = meaning.module else { break };
            meaning = if name == "super" {
                Meaning { module: self.modules[inside].parent, item: None }
            } else {
                let next = self.look_up(inside, name, seen);
                if next.is_empty() && meaning.item.is_none() {
                    // A macro made it, so that the module is right at least.
                    let item = Definition { module: inside, name: name.clone() };
                    return Meaning { module: None, item: Some(item) };
                }
                if next.is_empty() { Meaning { module: None, item: meaning.item } } else { next }
            };
        }
        meaning
    }

    /// What `name` means in the scope of `module`.
    fn look_up(&self, module: usize, name: &str, seen: &mut Seen) -> Meaning {
        if !seen.insert((module, name.to_owned())) {
            return Meaning::default();
        }
        let scope = &self.modules[module].scope;
        let own = || Definition { module, name: name.to_owned() };
        let mut meaning = Meaning {
            module: scope.children.get(name).copied(),
            item: scope.items.contains(name).then(own),
        };
        for import in scope.imports.iter().filter(|import| import.name.as_deref() == Some(name)) {
            meaning = meaning.or(self.follow(module, &import.path, seen));
        }
        if meaning.is_empty() {
            for glob in scope.imports.iter().filter(|import| import.name.is_none()) {
                if let Some(from) = self.follow(module, &glob.path, seen).module {
                    meaning = meaning.or(self.look_up(from, name, seen));
                }
            }
        }
        if meaning.is_empty() && scope.perhaps.contains(name) {
            meaning.item = Some(own());
        }
        seen.remove(&(module, name.to_owned()));
        meaning
    }
}
