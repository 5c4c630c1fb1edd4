//! Values of the cluster file that have a form of their own: one or several, a word or a flag, a number or a list of them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;
use tresse_base::problem::{Found, ProblemKind};
use tresse_base::text::suggestion;
use tresse_topology::cluster::{Learning, ReflectMode, Stp};

use crate::read::{At, Number, Read, wrong_type};
use crate::{limits, pattern};

/// One prefix, or a list.
#[derive(Debug, Clone)]
pub(super) struct Prefixes(pub(super) Vec<At<String>>);

impl Read for Prefixes {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        one_or_list(value, "a prefix or a list of prefixes", found).map(Self)
    }
}

impl JsonSchema for Prefixes {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Prefixes".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let (v4, v6) = (pattern::ipv4_prefix(), pattern::IPV6_PREFIX);
        let prefix = json!({ "type": "string", "anyOf": [{ "pattern": v4 }, { "pattern": v6 }] });
        let at_most_one = |pattern: &str| json!({ "contains": { "pattern": pattern }, "minContains": 0, "maxContains": 1 });
        json_schema!({ "oneOf": [
            prefix,
            {
                "type": "array",
                "items": prefix,
                "minItems": 1,
                "maxItems": 2,
                "allOf": [at_most_one(&v4), at_most_one(v6)],
            },
        ]})
    }
}

/// A network, or a list of them.
#[derive(Debug, Clone)]
pub(super) struct Networks(pub(super) Vec<At<String>>);

impl Read for Networks {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        one_or_list(value, "a prefix or a list of prefixes", found).map(Self)
    }
}

impl JsonSchema for Networks {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Networks".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let (v4, v6) = (pattern::ipv4_prefix(), pattern::IPV6_PREFIX);
        let prefix = json!({ "type": "string", "anyOf": [{ "pattern": v4 }, { "pattern": v6 }] });
        json_schema!({ "oneOf": [prefix, { "type": "array", "items": prefix, "minItems": 1 }] })
    }
}

/// `gateway`: yes, no, or a place among several.
#[derive(Debug, Clone)]
pub(super) enum Gateway {
    Is(bool),
    Place(Number),
}

impl Read for Gateway {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        match value.get_ref() {
            DeValue::Boolean(is) => Some(Self::Is(*is)),
            DeValue::Integer(_) => Read::read(value, found).map(Self::Place),
            _ => {
                wrong_type("true, false or a place among gateways", value, None, found);
                None
            }
        }
    }
}

impl JsonSchema for Gateway {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Gateway".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let place = json!({ "type": "integer", "minimum": 1, "maximum": limits::GATEWAY_ORDER });
        json_schema!({ "oneOf": [{ "type": "boolean" }, place] })
    }
}

/// One end of a cable, or a list: several NICs of one node.
#[derive(Debug, Clone)]
pub(super) struct LinkEnds(pub(super) Vec<At<String>>);

impl Read for LinkEnds {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        one_or_list(value, "an end or a list of ends", found).map(Self)
    }
}

impl JsonSchema for LinkEnds {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "LinkEnds".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let end = json!({ "type": "string", "pattern": pattern::link_end() });
        let nic = json!({ "type": "string", "pattern": pattern::nic_end() });
        json_schema!({ "anyOf": [end, nic, { "type": "array", "items": nic, "minItems": 1 }] })
    }
}

/// A text or a list of texts.
fn one_or_list(
    value: &Spanned<DeValue<'_>>,
    what: &str,
    found: &mut Found,
) -> Option<Vec<At<String>>> {
    match value.get_ref() {
        DeValue::String(text) => Some(vec![At {
            value: text.to_string(),
            span: value.span(),
            key: value.span(),
            whole: true,
        }]),
        DeValue::Array(_) => Read::read(value, found),
        _ => {
            wrong_type(what, value, None, found);
            None
        }
    }
}

/// `reflect`: yes, no, or `adaptive`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reflecting(pub(super) ReflectMode);

impl Read for Reflecting {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        match value.get_ref() {
            DeValue::Boolean(true) => Some(Self(ReflectMode::Demand)),
            DeValue::Boolean(false) => Some(Self(ReflectMode::Off)),
            DeValue::String(_) => word(
                value,
                "true, false or `adaptive`",
                &[("adaptive", ReflectMode::Adaptive)],
                found,
            )
            .map(Self),
            _ => {
                wrong_type("true, false or \"adaptive\"", value, None, found);
                None
            }
        }
    }
}

impl JsonSchema for Reflecting {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Reflecting".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": [true, false, "adaptive"] })
    }
}

/// A port number, or a hostlist of them.
#[derive(Debug, Clone)]
pub(super) enum PortNumbers {
    One(Number),
    List(String),
}

impl Read for PortNumbers {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        match value.get_ref() {
            DeValue::String(text) => Some(Self::List(text.to_string())),
            DeValue::Integer(_) => Read::read(value, found).map(Self::One),
            _ => {
                wrong_type("a port number", value, None, found);
                None
            }
        }
    }
}

impl JsonSchema for PortNumbers {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "PortNumbers".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [
            { "type": "integer", "minimum": 1, "maximum": limits::PORTS },
            { "type": "string", "pattern": pattern::ports() },
        ]})
    }
}

/// Read a word that has a serde name: the model's own enums.
fn word<T: Copy>(
    value: &Spanned<DeValue<'_>>,
    what: &str,
    words: &[(&str, T)],
    found: &mut Found,
) -> Option<T> {
    let text = String::read(value, found)?;
    let hit = words.iter().find(|(word, _)| *word == text).map(|(_, v)| *v);
    if hit.is_none() {
        let help = suggestion(&text, words.iter().map(|(word, _)| *word));
        let message = format!("`{text}` is not {what}");
        found.add(ProblemKind::UnknownChoice, &value.span(), message, help);
    }
    hit
}

impl Read for Learning {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        word(value, "a way of VLAN learning", &[("ivl", Self::Ivl), ("svl", Self::Svl)], found)
    }
}

impl Read for Stp {
    fn read(value: &Spanned<DeValue<'_>>, found: &mut Found) -> Option<Self> {
        word(value, "a spanning tree setting", &[("off", Self::Off), ("mstp", Self::Mstp)], found)
    }
}
