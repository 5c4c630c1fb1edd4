//! Reading TOML into the structs of [`super::file`] without stopping at a fault: what cannot be read
//! is reported and left out. Owns types, unknown keys and spans; never looks at meaning.

use std::borrow::Cow;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{Found, ProblemKind, suggestion};

/// A value with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct At<T> {
    pub(super) value: T,
    /// The bytes of the value.
    pub(super) span: Range<usize>,
    /// The bytes of its key; of the value itself in a list.
    pub(super) key: Range<usize>,
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

pub(super) fn wrong_type(expected: &str, value: &Spanned<DeValue<'_>>, found: &mut Found) {
    let kind = match value.get_ref().type_str() {
        "array" => "list",
        kind => kind,
    };
    let message = format!("expected {expected}, found {}", article(kind));
    found.add(ProblemKind::WrongType, &value.span(), message, None);
}

fn article(kind: &str) -> String {
    let an = kind.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {kind}", if an { "an" } else { "a" })
}

impl Read for String {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            wrong_type("a string", value, found);
        }
        text.map(Into::into)
    }
}

impl Read for bool {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            wrong_type("true or false", value, found);
        }
        flag
    }
}

impl Read for u32 {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        let Some(integer) = value.get_ref().as_integer() else {
            wrong_type("a whole number", value, found);
            return None;
        };
        let number = Self::from_str_radix(integer.as_str(), integer.radix()).ok();
        if number.is_none() {
            let message = format!("{integer} is out of range");
            let help = format!("a whole number from 0 to {}", Self::MAX);
            found.add(ProblemKind::OutOfRange, &value.span(), message, help);
        }
        number
    }
}

impl<T: Read> Read for Vec<At<T>> {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        let Some(array) = value.get_ref().as_array() else {
            if value.get_ref().is_table() {
                let message = "expected a list, found one table";
                let help =
                    "a list of tables has double brackets: `[[switch]]`, `[[node]]`, `[[link]]`";
                found.add(ProblemKind::WrongType, &value.span(), message, help.to_owned());
            } else {
                wrong_type("a list", value, found);
            }
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
    Some(At { value: T::read(value, found)?, span: value.span(), key })
}

/// Read one key of a table.
pub(super) fn key<T: Read>(table: &DeTable<'_>, name: &str, found: &mut Found) -> Option<At<T>> {
    let (key, value) = table.get_key_value(name)?;
    at(value, key.span(), found)
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

/// A table of the file: struct, reader and JSON Schema from one declaration. Every key is optional
/// here; the resolver knows which must be given.
macro_rules! section {
    ($(#[$meta:meta])* $name:ident, $what:literal {
        $( $(#[$field_meta:meta])* $field:ident: $type:ty, )*
    }) => {
        #[derive(Debug, Default, Clone, schemars::JsonSchema)]
        $(#[$meta])*
        #[schemars(deny_unknown_fields)]
        pub(super) struct $name {
            $( $(#[$field_meta])* pub(super) $field: Option<$crate::cluster::read::At<$type>>, )*
            #[schemars(skip)]
            present: Vec<&'static str>,
        }

        impl $crate::cluster::read::Keys for $name {
            fn present(&self) -> &[&'static str] {
                &self.present
            }
        }

        impl $crate::cluster::read::Read for $name {
            fn read(
                value: &toml::Spanned<toml::de::DeValue<'_>>,
                found: &mut $crate::cluster::problem::Found,
            ) -> Option<Self> {
                use $crate::cluster::read;
                let Some(table) = value.get_ref().as_table() else {
                    read::wrong_type(concat!("a table: ", $what), value, found);
                    return None;
                };
                read::refuse_unknown_keys(table, $what, &[$(stringify!($field)),*], found);
                let present = [$(stringify!($field)),*].into_iter().filter(|k| table.contains_key(*k));
                Some(Self {
                    present: present.collect(),
                    $( $field: read::key(table, stringify!($field), found), )*
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

        impl $crate::cluster::read::Read for $name {
            fn read(
                value: &toml::Spanned<toml::de::DeValue<'_>>,
                found: &mut $crate::cluster::problem::Found,
            ) -> Option<Self> {
                let text = <String as $crate::cluster::read::Read>::read(value, found)?;
                match text.as_str() {
                    $( $word => Some(Self::$variant), )*
                    _ => {
                        let help = $crate::cluster::problem::suggestion(
                            &text, Self::WORDS.iter().copied(),
                        );
                        let message = format!(concat!("`{}` is not ", $what), text);
                        let kind = $crate::cluster::problem::ProblemKind::UnknownChoice;
                        found.add(kind, &value.span(), message, help);
                        None
                    }
                }
            }
        }
    };
}

pub(super) use {choice, section};
