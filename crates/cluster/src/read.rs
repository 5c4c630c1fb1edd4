//! Reading TOML into the structs of [`super::file`] without stopping at a fault: what cannot be read
//! is reported and left out. Owns types, unknown keys and spans; never looks at meaning.

use std::borrow::Cow;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use tresse_base::problem::{Found, ProblemKind};
use tresse_base::text::suggestion;

use crate::guess;

/// A value with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct At<T> {
    pub(super) value: T,
    /// The bytes of the value.
    pub(super) span: Range<usize>,
    /// The bytes of its key; of the value itself in a list.
    pub(super) key: Range<usize>,
    /// Was all of it read? Otherwise a problem within it was reported, and parts may be absent.
    pub(super) whole: bool,
}

impl<T: JsonSchema> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// Something a TOML value can be read as; `None` where a problem was reported.
pub(super) trait Read: Sized {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self>;
}

/// A table of the file.
pub(super) trait Keys {
    /// The keys that are in the file, readable or not.
    fn present(&self) -> &[&'static str];

    /// Is the key absent? One that could not be read is not: that was reported.
    fn lacks(&self, key: &str) -> bool {
        !self.present().contains(&key)
    }
}

/// Report a value of another type than `expected`; `near` is the value that it probably means.
pub(super) fn wrong_type(
    expected: &str,
    value: &Spanned<DeValue<'_>>,
    near: Option<String>,
    found: &mut Found,
) {
    let kind = match value.get_ref().type_str() {
        "array" => "list",
        kind => kind,
    };
    let message = format!("expected {expected}, found {}", article(kind));
    let help = near.map(|near| format!("did you mean `{near}`?"));
    found.add(ProblemKind::WrongType, &value.span(), message, help);
}

fn article(kind: &str) -> String {
    let an = kind.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {kind}", if an { "an" } else { "a" })
}

impl Read for String {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            wrong_type("a string", value, None, found);
        }
        text.map(Into::into)
    }
}

impl Read for bool {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            let near = guess::flag(value.get_ref()).map(|flag| flag.to_string());
            wrong_type("true or false", value, near, found);
        }
        flag
    }
}

/// A whole number as written; one that TOML's 64 bits do not hold is the nearest that they do. Which
/// numbers a key takes is the resolver's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number(pub(super) i64);

impl Read for Number {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        let Some(integer) = value.get_ref().as_integer() else {
            wrong_type("a whole number", value, guess::number(value.get_ref()), found);
            return None;
        };
        let nearest = if integer.as_str().starts_with('-') { i64::MIN } else { i64::MAX };
        Some(Self(i64::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(nearest)))
    }
}

impl JsonSchema for Number {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": u32::MAX })
    }
}

impl<T: Read> Read for Vec<At<T>> {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        let Some(array) = value.get_ref().as_array() else {
            wrong_type("a list", value, None, found);
            return None;
        };
        Some(array.iter().filter_map(|item| at(item, item.span(), found)).collect())
    }
}

/// Read one value with its place.
pub(super) fn at<T: Read>(
    value: &Spanned<DeValue<'_>>,
    key: Range<usize>,
    found: &mut Found,
) -> Option<At<T>> {
    let before = found.len();
    let read = T::read(value, found)?;
    Some(At { value: read, span: value.span(), key, whole: found.len() == before })
}

/// Read one key of the table called `what`. A problem without advice gets the value that was probably
/// meant, else the example.
pub(super) fn key<T: Read>(
    table: &DeTable<'_>,
    what: &str,
    name: &str,
    example: &str,
    found: &mut Found,
) -> Option<At<T>> {
    let (key, value) = table.get_key_value(name)?;
    let before = found.len();
    let read = at(value, key.span(), found);
    if found.len() > before {
        let near = if read.is_none() { guess::of_type(what, name, value.get_ref()) } else { None };
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("such as `{example}`"),
        };
        found.advise(before, &help);
    }
    read
}

/// Report every key of `table` that is not in `known`.
pub(super) fn refuse_unknown_keys(
    table: &DeTable<'_>,
    what: &str,
    known: &[&str],
    found: &mut Found,
) {
    for key in table.keys() {
        let name: &str = key.get_ref();
        if !known.contains(&name) {
            let message = format!("unknown key `{name}` in {what}");
            let help = suggestion(name, known.iter().copied());
            found.add(ProblemKind::UnknownKey, &key.span(), message, help);
        }
    }
}

/// A table of the file: struct, reader and JSON Schema from one declaration, each key with an example
/// for those who wrote something else. Every key is optional here; the resolver knows which must be
/// given.
macro_rules! section {
    ($(#[$meta:meta])* $name:ident, $what:literal {
        $( $(#[$field_meta:meta])* $field:ident: $type:ty = $example:literal, )*
    }) => {
        #[derive(Debug, Default, Clone, schemars::JsonSchema)]
        $(#[$meta])*
        #[schemars(deny_unknown_fields)]
        pub(super) struct $name {
            $( $(#[$field_meta])* pub(super) $field: Option<$crate::read::At<$type>>, )*
            #[schemars(skip)]
            present: Vec<&'static str>,
        }

        impl $crate::read::Keys for $name {
            fn present(&self) -> &[&'static str] {
                &self.present
            }
        }

        impl $crate::read::Read for $name {
            fn read(
                value: &toml::Spanned<toml::de::DeValue<'_>>,
                found: &mut tresse_base::problem::Found,
            ) -> Option<Self> {
                use $crate::read;
                let Some(table) = value.get_ref().as_table() else {
                    read::wrong_type(concat!("a table: ", $what), value, None, found);
                    return None;
                };
                read::refuse_unknown_keys(table, $what, &[$(stringify!($field)),*], found);
                let present = [$(stringify!($field)),*].into_iter().filter(|k| table.contains_key(*k));
                Some(Self {
                    present: present.collect(),
                    $( $field: read::key(table, $what, stringify!($field), $example, found), )*
                })
            }
        }
    };
}

/// A word out of a list: enum, reader and JSON Schema from one declaration.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident, $what:literal {
        $( $(#[$variant_meta:meta])* $variant:ident = $word:literal, )*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema)]
        #[schemars(inline)]
        pub(super) enum $name {
            $( $(#[$variant_meta])* #[schemars(rename = $word)] $variant, )*
        }

        impl $name {
            pub(super) const WORDS: &[&str] = &[$($word),*];

            pub(super) fn word(self) -> &'static str {
                match self { $( Self::$variant => $word, )* }
            }
        }

        impl $crate::read::Read for $name {
            fn read(
                value: &toml::Spanned<toml::de::DeValue<'_>>,
                found: &mut tresse_base::problem::Found,
            ) -> Option<Self> {
                let text = <String as $crate::read::Read>::read(value, found)?;
                match text.as_str() {
                    $( $word => Some(Self::$variant), )*
                    _ => {
                        let help = tresse_base::text::suggestion(
                            &text, Self::WORDS.iter().copied(),
                        );
                        let message = format!(concat!("`{}` is not ", $what), text);
                        let kind = tresse_base::problem::ProblemKind::UnknownChoice;
                        found.add(kind, &value.span(), message, help);
                        None
                    }
                }
            }
        }
    };
}

pub(super) use {choice, section};
