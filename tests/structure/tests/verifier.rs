//! The verifier takes nothing of the crate routing, which it judges: not by its name (`arrows_between_crates_point_down`
//! forbids the import), and not through the crate plan, which builds on it. A plan offers data alone: of routes,
//! trees and addresses.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use syn::visit::Visit;
use syn::{ImplItemFn, Item, ReturnType, UseTree, Visibility};
use tresse_structure::Workspace;

const ROUTING: &str = "tresse_routing";

/// Names of the crate routing that the crate plan may re-export, if the verifier names none of them.
const REEXPORTED: &[&str] = &[];

#[test]
fn the_verifier_takes_nothing_of_routing_through_the_plan() {
    let root = Workspace::load().root;
    let (mut reexports, mut methods) = (BTreeSet::new(), BTreeSet::new());
    for file in files(&root.join("crates/plan/src")) {
        let mut of_routing = BTreeSet::from([ROUTING.to_owned()]);
        for item in &file.items {
            let Item::Use(found) = item else { continue };
            let mut names = BTreeSet::new();
            if root_of(&found.tree).as_deref() == Some(ROUTING) {
                names_of(&found.tree, &mut names);
            }
            if !matches!(found.vis, Visibility::Inherited) {
                reexports.extend(names.iter().cloned());
            }
            of_routing.extend(names);
        }
        let mut public = PublicMethods { of_routing: &of_routing, found: &mut methods };
        public.visit_file(&file);
    }
    let unknown: Vec<_> = reexports.iter().filter(|n| !REEXPORTED.contains(&n.as_str())).collect();
    assert!(unknown.is_empty(), "crates/plan re-exports of the crate routing: {unknown:?}");
    // Else nothing is looked for: `Paths::detours` gives a type of the crate routing.
    assert!(methods.contains("detours"), "{methods:?}");
    let mut used = Used::default();
    files(&root.join("crates/verify/src")).iter().for_each(|file| used.visit_file(file));
    let named: Vec<_> = REEXPORTED.iter().filter(|name| used.names.contains(**name)).collect();
    assert!(named.is_empty(), "crates/verify names types of the crate routing: {named:?}");
    let called: Vec<_> = methods.intersection(&used.methods).collect();
    assert!(
        called.is_empty(),
        "crates/verify calls methods of the plan that return types of the crate routing: {called:?}"
    );
}

fn files(directory: &Path) -> Vec<syn::File> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source file");
            found.push(syn::parse_file(&text).expect("Rust"));
        }
    }
    found
}

/// The first name of a `use`; a group at the start has none.
fn root_of(tree: &UseTree) -> Option<String> {
    match tree {
        UseTree::Path(path) => Some(path.ident.to_string()),
        UseTree::Name(name) => Some(name.ident.to_string()),
        UseTree::Rename(rename) => Some(rename.ident.to_string()),
        UseTree::Group(_) | UseTree::Glob(_) => None,
    }
}

/// Names that a `use` brings into scope; a glob counts as `*`.
fn names_of(tree: &UseTree, names: &mut BTreeSet<String>) {
    let name = match tree {
        UseTree::Path(path) => return names_of(&path.tree, names),
        UseTree::Group(group) => return group.items.iter().for_each(|tree| names_of(tree, names)),
        UseTree::Name(name) => name.ident.to_string(),
        UseTree::Rename(rename) => rename.rename.to_string(),
        UseTree::Glob(_) => "*".to_owned(),
    };
    names.insert(name);
}

/// Public methods whose results have a type of the crate routing.
struct PublicMethods<'a> {
    of_routing: &'a BTreeSet<String>,
    found: &'a mut BTreeSet<String>,
}

impl Visit<'_> for PublicMethods<'_> {
    fn visit_impl_item_fn(&mut self, method: &ImplItemFn) {
        let ReturnType::Type(_, result) = &method.sig.output else { return };
        let mut used = Used::default();
        used.visit_type(result);
        let public = matches!(method.vis, Visibility::Public(_));
        if public && used.names.iter().any(|name| self.of_routing.contains(name)) {
            self.found.insert(method.sig.ident.to_string());
        }
    }
}

/// Identifiers in paths, and called methods.
#[derive(Default)]
struct Used {
    names: BTreeSet<String>,
    methods: BTreeSet<String>,
}

impl Visit<'_> for Used {
    fn visit_path_segment(&mut self, segment: &syn::PathSegment) {
        self.names.insert(segment.ident.to_string());
        syn::visit::visit_path_segment(self, segment);
    }

    fn visit_expr_method_call(&mut self, call: &syn::ExprMethodCall) {
        self.methods.insert(call.method.to_string());
        syn::visit::visit_expr_method_call(self, call);
    }
}
