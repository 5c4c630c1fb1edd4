//! Loads the files and modules of one crate by following `mod` declarations from its root file.
//! Code under `#[cfg(test)]` is not loaded.

use std::fs;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Item, Lit, Meta, MetaNameValue, Token};

use crate::scope::Scope;

/// The parsed source files and modules of one library or program, without its tests.
pub struct Crate {
    pub(crate) files: Vec<File>,
    /// The root module is the first.
    pub(crate) modules: Vec<Module>,
    /// Names of types whose methods may call each other across files: see [`SPREAD`](crate::SPREAD).
    pub(crate) spread: Vec<String>,
}

/// One source file.
pub(crate) struct File {
    /// Path relative to the directory of the crate's root file.
    pub(crate) name: String,
    /// Lines, without those of items under `#[cfg(test)]`.
    pub(crate) lines: usize,
}

/// One module: a file, or a block `mod name { .. }` in a file.
pub(crate) struct Module {
    /// `None` for the root.
    pub(crate) parent: Option<usize>,
    /// Names from the root to this module; empty for the root.
    pub(crate) path: Vec<String>,
    /// Index of the file that holds it.
    pub(crate) file: usize,
    pub(crate) items: Vec<Item>,
    pub(crate) scope: Scope,
}

impl Crate {
    /// Parses the crate whose root file is `root`. Methods of the types called `spread` may call each other
    /// across files.
    ///
    /// # Panics
    /// If a file is missing or is not Rust.
    pub fn load(root: &Path, spread: &[&str]) -> Crate {
        let spread = spread.iter().map(|&name| name.to_owned()).collect();
        let mut loaded = Crate { files: Vec::new(), modules: Vec::new(), spread };
        let directory = root.parent().expect("a file has a directory");
        loaded.load_file(root, directory, directory, None, Vec::new());
        for module in 0..loaded.modules.len() {
            let children = loaded.children(module);
            let module = &mut loaded.modules[module];
            module.scope = Scope::of(&module.items, children);
        }
        loaded
    }

    /// Lines of all files, without tests.
    pub fn lines(&self) -> usize {
        self.files.iter().map(|file| file.lines).sum()
    }

    /// Whether the module `inner` is `outer` or lies below it.
    pub(crate) fn is_within(&self, inner: usize, outer: usize) -> bool {
        let mut around = Some(inner);
        while let Some(module) = around {
            if module == outer {
                return true;
            }
            around = self.modules[module].parent;
        }
        false
    }

    fn children(&self, parent: usize) -> Vec<(String, usize)> {
        let is_child = |(_, module): &(usize, &Module)| module.parent == Some(parent);
        let name = |module: &Module| module.path.last().cloned().unwrap_or_default();
        let all = self.modules.iter().enumerate();
        all.filter(is_child).map(|(index, module)| (name(module), index)).collect()
    }

    /// Loads `file` as the module `path`; its children lie in `children`.
    fn load_file(
        &mut self,
        file: &Path,
        source: &Path,
        children: &Path,
        parent: Option<usize>,
        path: Vec<String>,
    ) {
        let text =
            fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let tests: usize = parsed.items.iter().map(test_lines).sum();
        let index = self.files.len();
        self.files.push(File {
            name: file.strip_prefix(source).unwrap_or(file).display().to_string(),
            lines: text.lines().count() - tests,
        });
        let place = Place { file, source, index };
        self.load_items(parsed.items, &place, children, parent, path);
    }

    fn load_items(
        &mut self,
        mut items: Vec<Item>,
        place: &Place<'_>,
        children: &Path,
        parent: Option<usize>,
        path: Vec<String>,
    ) {
        items.retain(|item| !is_test(attributes(item)));
        let module = self.modules.len();
        self.modules.push(Module {
            parent,
            path: path.clone(),
            file: place.index,
            items: Vec::new(),
            scope: Scope::default(),
        });
        for item in &mut items {
            let Item::Mod(declared) = item else { continue };
            let name = declared.ident.to_string();
            let child_path: Vec<String> = path.iter().cloned().chain([name.clone()]).collect();
            let below = children.join(&name);
            if let Some((_, content)) = &mut declared.content {
                let content = std::mem::take(content);
                self.load_items(content, place, &below, Some(module), child_path);
            } else {
                let file = place.find(&declared.attrs, children, &name);
                self.load_file(&file, place.source, &below, Some(module), child_path);
            }
        }
        self.modules[module].items = items;
    }
}

/// Where the items being loaded stand.
struct Place<'a> {
    file: &'a Path,
    source: &'a Path,
    index: usize,
}

impl Place<'_> {
    /// The file of `mod name;`.
    fn find(&self, attributes: &[Attribute], children: &Path, name: &str) -> PathBuf {
        if let Some(path) = attributes.iter().find_map(path_attribute) {
            return self.file.with_file_name(path);
        }
        let flat = children.join(format!("{name}.rs"));
        if flat.exists() { flat } else { children.join(name).join("mod.rs") }
    }
}

/// The value of `#[path = "value"]`.
fn path_attribute(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(MetaNameValue {
            path,
            value: Expr::Lit(ExprLit { lit: Lit::Str(value), .. }),
            ..
        }) if path.is_ident("path") => Some(value.value()),
        _ => None,
    }
}

/// Whether an item with these attributes is compiled for tests only.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<Meta>().is_ok_and(|predicate| needs_test(&predicate))
    })
}

/// `test`, or `all(..)` with `test` in it.
fn needs_test(predicate: &Meta) -> bool {
    match predicate {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => list
            .parse_args_with(syn::punctuated::Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|parts| parts.iter().any(needs_test)),
        _ => false,
    }
}

/// The lines of an item that is compiled for tests only, or of such items in a block module.
fn test_lines(item: &Item) -> usize {
    if is_test(attributes(item)) {
        let span = item.span();
        return span.end().line - span.start().line + 1;
    }
    match item {
        Item::Mod(module) => {
            module.content.iter().flat_map(|(_, items)| items).map(test_lines).sum()
        }
        _ => 0,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
