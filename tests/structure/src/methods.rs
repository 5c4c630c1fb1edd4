//! Which file has the methods of a type: those in inherent `impl` blocks that stand in another module than
//! the type. A call of such a method is an arrow to the module of the `impl`, though no path names it.

use std::collections::{HashMap, HashSet};

use syn::visit::{self, Visit};
use syn::{ImplItem, Item, ItemImpl, Type, Visibility};

use crate::resolve::Definition;
use crate::source::{Crate, is_test};

/// Types whose methods may call each other across files, each with its package and the reason. Their files
/// are one state machine, cut by concern; calls from any other file are arrows as always.
pub const SPREAD: [(&str, &str, &str); 2] = [
    ("tresse-engine", "Engine", "each input may lead to each step of a transaction"),
    ("tresse-sim", "Engine", "each event of the simulation may lead to each other one"),
];

/// The methods of a crate that stand in another module than their type.
pub(crate) struct Methods {
    /// By name.
    all: HashMap<String, Vec<Method>>,
    /// The modules that define a type of [`SPREAD`] or have methods of it.
    spread: HashMap<TypeAt, HashSet<usize>>,
}

/// Module and name of a type.
type TypeAt = (usize, String);

/// A method that stands in another module than its type.
struct Method {
    of: TypeAt,
    /// The module with the `impl`.
    module: usize,
    /// The module in which it can be seen, and in all modules below.
    seen_in: usize,
    /// How many arguments a call of it has beside `self`; `None` for a function without `self`.
    arguments: Option<usize>,
}

/// A call of a method or associated function.
pub(crate) struct Call {
    pub(crate) name: String,
    /// The type, as code of the module writes it: of the `impl` around a call of `self.name()`, or as in
    /// `Type::name()`. Empty if only a compiler knows it.
    pub(crate) of: Vec<String>,
    /// How many arguments `receiver.name(..)` has; `None` where that is not known.
    pub(crate) arguments: Option<usize>,
}

impl Methods {
    pub(crate) fn of(source: &Crate) -> Methods {
        let mut methods = Methods { all: HashMap::new(), spread: HashMap::new() };
        for (module, content) in source.modules.iter().enumerate() {
            let mut blocks = Blocks(Vec::new());
            content.items.iter().for_each(|item| blocks.visit_item(item));
            for block in blocks.0 {
                methods.add(source, module, block);
            }
        }
        methods
    }

    fn add(&mut self, source: &Crate, module: usize, block: &ItemImpl) {
        let Some(defined) = type_of(source, module, &names(&block.self_ty)) else { return };
        if defined.module == module {
            return;
        }
        let of = (defined.module, defined.name);
        if source.spread.contains(&of.1) {
            self.spread.entry(of.clone()).or_default().extend([of.0, module]);
        }
        for item in &block.items {
            if let ImplItem::Fn(method) = item
                && !is_test(&method.attrs)
            {
                let name = method.sig.ident.to_string();
                let seen_in = seen_in(source, module, &method.vis);
                let arguments = method.sig.receiver().map(|_| method.sig.inputs.len() - 1);
                let method = Method { of: of.clone(), module, seen_in, arguments };
                self.all.entry(name).or_default().push(method);
            }
        }
    }

    /// The method that a call in `module` means, if the type is known.
    pub(crate) fn known(&self, source: &Crate, module: usize, call: &Call) -> Option<Definition> {
        let of = type_of(source, module, &call.of).map(|of| (of.module, of.name))?;
        let meant = self.all.get(&call.name)?.iter().find(|method| method.of == of)?;
        (!self.are_spread(module, meant)).then(|| meant.definition(&call.name))
    }

    /// The methods that a call in `module` of a value of unknown type may mean, each with the module of its
    /// type: those of this name that `module` can see and that take as many arguments.
    pub(crate) fn perhaps(
        &self,
        source: &Crate,
        module: usize,
        call: &Call,
    ) -> Vec<(usize, Definition)> {
        let all = self.all.get(&call.name).filter(|_| call.of.is_empty()).into_iter().flatten();
        let fits = |method: &&Method| {
            source.is_within(module, method.seen_in)
                && !self.are_spread(module, method)
                && method.arguments.is_some_and(|n| call.arguments.is_none_or(|m| m == n))
        };
        all.filter(fits).map(|method| (method.of.0, method.definition(&call.name))).collect()
    }

    /// Whether `module` and the method belong to one type of [`SPREAD`].
    fn are_spread(&self, module: usize, method: &Method) -> bool {
        self.spread.get(&method.of).is_some_and(|modules| modules.contains(&module))
    }
}

impl Method {
    fn definition(&self, name: &str) -> Definition {
        Definition { module: self.module, name: format!("{}::{name}", self.of.1) }
    }
}

/// Where the type is defined that is written so in `module`; an alias is followed to what it stands for.
fn type_of(source: &Crate, module: usize, path: &[String]) -> Option<Definition> {
    let defined = source.resolve(module, path).item?;
    let alias = source.modules[defined.module].items.iter().find_map(|item| match item {
        Item::Type(alias) if alias.ident == defined.name => Some(names(&alias.ty)),
        _ => None,
    });
    let meant = alias.and_then(|alias| type_of(source, defined.module, &alias));
    meant.or(Some(defined))
}

/// The module in which an item of `module` with this visibility can be seen.
fn seen_in(source: &Crate, module: usize, visibility: &Visibility) -> usize {
    match visibility {
        Visibility::Public(_) => 0,
        Visibility::Inherited => module,
        Visibility::Restricted(restricted) => {
            let path = restricted.path.segments.iter().map(|s| s.ident.to_string());
            source.resolve(module, &path.collect::<Vec<_>>()).module.unwrap_or(0)
        }
    }
}

/// The path of a type, empty for a reference, a tuple and the like.
pub(crate) fn names(written: &Type) -> Vec<String> {
    match written {
        Type::Path(path) => path.path.segments.iter().map(|s| s.ident.to_string()).collect(),
        _ => Vec::new(),
    }
}

/// Inherent `impl` blocks, those within functions too.
struct Blocks<'ast>(Vec<&'ast ItemImpl>);

impl<'ast> Visit<'ast> for Blocks<'ast> {
    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {}

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if item.trait_.is_none() && !is_test(&item.attrs) {
            self.0.push(item);
        }
        visit::visit_item_impl(self, item);
    }
}
