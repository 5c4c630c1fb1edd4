//! Finds the names that the code of a Rust module uses: its paths, macros, and imports within functions.

use std::collections::HashSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, ExprMethodCall, ImplItemFn, Item, ItemFn, ItemImpl, ItemMod, ItemUse, Macro,
    Pat, Path, Token,
};

use crate::methods::{self, Call};
use crate::scope::{self, Import};
use crate::source::is_test;

/// What the code of one module names.
#[derive(Default)]
pub(crate) struct Uses {
    /// Paths of types, values, traits and macros.
    pub(crate) paths: Vec<Vec<String>>,
    /// Names of macros called by their name alone.
    pub(crate) macros: Vec<String>,
    /// Imports within functions.
    pub(crate) imports: Vec<Import>,
    /// Calls of methods and of associated functions.
    pub(crate) calls: Vec<Call>,
    /// The type of the `impl` around the visited code; empty outside, and in a trait.
    implemented: Vec<String>,
    /// Variables of the functions around the visited code.
    bound: Vec<HashSet<String>>,
}

impl Uses {
    /// Collects from `items`, without the `use` items among them and without child modules.
    pub(crate) fn of(items: &[Item]) -> Uses {
        let mut uses = Uses::default();
        for item in items {
            if !matches!(item, Item::Use(_)) {
                uses.visit_item(item);
            }
        }
        uses
    }

    fn add(&mut self, path: Vec<String>) {
        let Some(first) = path.first() else { return };
        let alone = path.len() == 1;
        if alone && (is_keyword(first) || self.bound.iter().any(|names| names.contains(first))) {
            return;
        }
        if let [prefix @ .., last] = &path[..]
            && !prefix.is_empty()
        {
            let of = if first == "Self" { self.implemented.clone() } else { prefix.to_vec() };
            self.calls.push(Call { name: last.clone(), of, arguments: None });
        }
        if first != "Self" {
            self.paths.push(path);
        }
    }

    /// A method is called, of `self` or of something else.
    fn add_call(&mut self, name: String, of_self: bool, arguments: Option<usize>) {
        let of = if of_self { self.implemented.clone() } else { Vec::new() };
        self.calls.push(Call { name, of, arguments });
    }

    /// Paths in tokens that are no list of expressions. A name alone counts if it is a type or
    /// constant by its first letter, or called.
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.scan(group.stream()),
                TokenTree::Ident(first) => {
                    let member = at > 0 && is_punctuation(tokens.get(at - 1), '.');
                    let mut path = vec![first.to_string()];
                    while is_punctuation(tokens.get(at + 1), ':')
                        && is_punctuation(tokens.get(at + 2), ':')
                        && let Some(TokenTree::Ident(next)) = tokens.get(at + 3)
                    {
                        path.push(next.to_string());
                        at += 3;
                    }
                    let called = matches!(tokens.get(at + 1),
                        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
                    if called && member {
                        let of_self = at > 1
                            && matches!(&tokens[at - 2], TokenTree::Ident(name) if name == "self");
                        self.add_call(path[0].clone(), of_self, None);
                    } else if path.len() > 1 || is_upper(&path[0]) || called {
                        self.add(path);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.imports.extend(scope::imports(item));
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.bound.push(variables(|found| found.visit_item_fn(item)));
        visit::visit_item_fn(self, item);
        self.bound.pop();
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if is_test(&item.attrs) {
            return;
        }
        self.bound.push(variables(|found| found.visit_impl_item_fn(item)));
        visit::visit_impl_item_fn(self, item);
        self.bound.pop();
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if is_test(&item.attrs) {
            return;
        }
        let around = std::mem::replace(&mut self.implemented, methods::names(&item.self_ty));
        visit::visit_item_impl(self, item);
        self.implemented = around;
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let of_self = matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident("self"));
        self.add_call(call.method.to_string(), of_self, Some(call.args.len()));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if path.leading_colon.is_none() {
            self.add(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_pat(&mut self, pattern: &'ast Pat) {
        // `NONE =>` may be a constant.
        if let Pat::Ident(name) = pattern
            && is_upper(&name.ident.to_string())
        {
            self.add(vec![name.ident.to_string()]);
        }
        visit::visit_pat(self, pattern);
    }

    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let syn::Meta::List(list) = &attribute.meta else { return };
        // Arguments of `#[error("..", super::MOST)]` and their like.
        self.scan(list.tokens.clone());
        // Names of functions and modules in strings, as in `#[serde(with = "seconds")]`.
        if ["serde", "schemars"].iter().any(|name| list.path.is_ident(name)) {
            for token in list.tokens.clone() {
                if let TokenTree::Literal(literal) = token
                    && let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string())
                    && let Ok(path) = text.parse::<Path>()
                {
                    self.visit_path(&path);
                }
            }
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        match call.path.get_ident() {
            Some(name) => self.macros.push(name.to_string()),
            None => self.visit_path(&call.path),
        }
        type Expressions = Punctuated<Expr, Token![,]>;
        match call.parse_body_with(Expressions::parse_terminated) {
            Ok(expressions) => {
                for expression in &expressions {
                    // The tokens are not borrowed from the file, so visit with a visitor of its own.
                    let mut inner = Uses {
                        implemented: self.implemented.clone(),
                        bound: self.bound.clone(),
                        ..Uses::default()
                    };
                    inner.visit_expr(expression);
                    self.paths.append(&mut inner.paths);
                    self.macros.append(&mut inner.macros);
                    self.calls.append(&mut inner.calls);
                }
            }
            Err(_) => self.scan(call.tokens.clone()),
        }
    }
}

/// Names that patterns bind in what `visit` visits.
fn variables(visit: impl FnOnce(&mut Variables)) -> HashSet<String> {
    let mut found = Variables::default();
    visit(&mut found);
    found.0
}

#[derive(Default)]
struct Variables(HashSet<String>);

impl<'ast> Visit<'ast> for Variables {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        let name = pattern.ident.to_string();
        if !is_upper(&name) {
            self.0.insert(name);
        }
        visit::visit_pat_ident(self, pattern);
    }
}

fn is_keyword(name: &str) -> bool {
    matches!(name, "self" | "super" | "crate" | "Self")
}

fn is_upper(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

fn is_punctuation(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == wanted)
}
