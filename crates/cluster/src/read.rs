//! Reads TOML into the structs of [`super::file`] without stopping at a fault: a value of the wrong type and an
//! unknown key are reported and left out. Each value keeps its byte range in the file, for later messages. What the
//! values mean is not checked here.

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
    /// The byte range of the value.
    pub(super) span: Range<usize>,
    /// The byte range of its key; in a list, of the value itself.
    pub(super) key: Range<usize>,
    /// Whether all of the value was read. If not, a problem within it was reported, and parts may be absent.
    pub(super) whole: bool,
}

impl<T> At<T> {
    /// Another form of the value at the same place.
    pub(super) fn with<U>(&self, value: U) -> At<U> {
        let (span, key) = (self.span.clone(), self.key.clone());
        At { value, span, key, whole: self.whole }
    }
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

/// A type that a TOML value can be read as. `None` means that a problem was reported.
pub(super) trait Read: Sized {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self>;
}

/// A table of the file.
pub(super) trait Keys {
    /// Returns the keys that are in the file, readable or not.
    fn present(&self) -> &[&'static str];

    /// Whether the key is absent. A key whose value could not be read is not absent: it was reported.
    fn lacks(&self, key: &str) -> bool {
        !self.present().contains(&key)
    }
}

/// Reports a value of another type than `expected`. `near` is the value that was probably meant.
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

/// A whole number. The resolver checks the range of each key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number {
    /// The number; one beyond 64 bits is the nearest 64-bit number here.
    pub(super) near: i64,
    /// The number in decimal, for messages; one beyond 64 bits as written.
    pub(super) text: String,
}

impl Read for Number {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        let Some(integer) = value.get_ref().as_integer() else {
            wrong_type("a whole number", value, guess::number(value.get_ref()), found);
            return None;
        };
        let digits = integer.as_str();
        Some(match i64::from_str_radix(digits, integer.radix()) {
            Ok(near) => Self { near, text: near.to_string() },
            Err(_) => {
                let near = if digits.starts_with('-') { i64::MIN } else { i64::MAX };
                Self { near, text: integer.to_string() }
            }
        })
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

/// Reads one value with its place.
pub(super) fn at<T: Read>(
    value: &Spanned<DeValue<'_>>,
    key: Range<usize>,
    found: &mut Found,
) -> Option<At<T>> {
    let before = found.len();
    let read = T::read(value, found)?;
    Some(At { value: read, span: value.span(), key, whole: found.len() == before })
}

/// Reads one key of the table called `what`. A problem without advice gets as advice the value that was probably
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

/// Reports every key of `table` that is not in `known`.
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

/// Declares a table of the file: struct, reader and JSON Schema in one. Each key has an example, which is shown
/// if its value is wrong. Every key is optional here; the resolver checks which are required.
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

/// Declares a choice of words: enum, reader and JSON Schema in one.
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

            pub(super) const fn word(self) -> &'static str {
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
