//! The names in scope of a Rust module: its items, imports and child modules, and names that its
//! macros may define.

use std::collections::{HashMap, HashSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::{Item, ItemUse, UseTree, Visibility};

/// The names of one module.
#[derive(Default)]
pub(crate) struct Scope {
    pub(crate) children: HashMap<String, usize>,
    /// Items defined here, macros included.
    pub(crate) items: HashSet<String>,
    /// `macro_rules!` defined here, which child modules see without importing them.
    pub(crate) macros: HashSet<String>,
    pub(crate) imports: Vec<Import>,
    /// Identifiers in macro calls and macro bodies, which may define items.
    pub(crate) perhaps: HashSet<String>,
}

/// One name, or all names of a module, that a `use` brings into scope.
pub(crate) struct Import {
    /// `None` for a glob import.
    pub(crate) name: Option<String>,
    pub(crate) path: Vec<String>,
    /// Whether it has a visibility of its own, as in `pub use` and `pub(crate) use`.
    pub(crate) reexport: bool,
}

impl Scope {
    pub(crate) fn of(items: &[Item], children: Vec<(String, usize)>) -> Scope {
        let mut scope = Scope { children: children.into_iter().collect(), ..Scope::default() };
        for item in items {
            scope.add(item);
        }
        scope
    }

    fn add(&mut self, item: &Item) {
        let name = match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Union(item) => &item.ident,
            Item::Macro(item) => {
                identifiers(&item.mac.tokens, &mut self.perhaps);
                let Some(name) = &item.ident else { return };
                self.macros.insert(name.to_string());
                name
            }
            Item::Use(item) => {
                self.imports.extend(imports(item));
                return;
            }
            _ => return,
        };
        self.items.insert(name.to_string());
    }
}

/// All that a `use` item imports; nothing for a path that starts with `::`.
pub(crate) fn imports(item: &ItemUse) -> Vec<Import> {
    let mut found = Vec::new();
    if item.leading_colon.is_none() {
        let reexport = !matches!(item.vis, Visibility::Inherited);
        flatten(&item.tree, &mut Vec::new(), reexport, &mut found);
    }
    found
}

fn flatten(tree: &UseTree, prefix: &mut Vec<String>, reexport: bool, found: &mut Vec<Import>) {
    let whole = |prefix: &[String], last: String| {
        let mut path = prefix.to_vec();
        if last != "self" {
            path.push(last);
        }
        path
    };
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, reexport, found);
            prefix.pop();
        }
        UseTree::Name(name) => {
            let path = whole(prefix, name.ident.to_string());
            found.push(Import { name: path.last().cloned(), path, reexport });
        }
        UseTree::Rename(rename) => {
            let path = whole(prefix, rename.ident.to_string());
            found.push(Import { name: Some(rename.rename.to_string()), path, reexport });
        }
        UseTree::Glob(_) => found.push(Import { name: None, path: prefix.clone(), reexport }),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, prefix, reexport, found);
            }
        }
    }
}

fn identifiers(tokens: &TokenStream, found: &mut HashSet<String>) {
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(name) => {
                found.insert(name.to_string());
            }
            TokenTree::Group(group) => identifiers(&group.stream(), found),
            _ => {}
        }
    }
}
