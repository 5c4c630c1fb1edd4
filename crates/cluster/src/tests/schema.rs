//! The JSON Schema against the parser: it accepts what the parser accepts, and refuses all that a
//! schema can.

use proptest::prelude::*;
use serde_json::Value;

use super::super::{parse, schema};
use super::mutated::mutated;
use super::{files, name};

/// Broken files that no schema can refuse, and why.
const PARSER_ONLY: &[(&str, &str)] = &[
    ("latin1", "is no text"),
    ("duplicate-key", "is no TOML"),
    ("duplicate-tables", "is no TOML"),
    ("integer-64", "is no TOML"),
    ("syntax", "is no TOML"),
    ("syntax-open", "is no TOML"),
    ("syntax-words", "is no TOML"),
    ("syntax-and-more", "is no TOML"),
    ("flat-wiring", "a table within a string"),
    ("flat-links", "two keys of other tables"),
    ("flat-uplink", "ports of several entries"),
    ("flat-uplink-name", "a name out of a table within a string"),
    ("uplink-none", "a key of another table"),
    ("uplink-unused", "two keys of one table"),
    ("flat-spares", "names out of a table within a string"),
    ("later-keys", "is in the format, and planned by a later version"),
    ("clique-ports", "a product of two keys"),
    ("irregular-ports", "a sum of three keys"),
    ("hyperx-cables", "a product of a list"),
    ("hypercube-vids", "a count out of two tables"),
    ("dragonfly-groups", "a product of two keys"),
    ("root-unknown", "a name in another table"),
    ("root-misplaced", "a key that another key allows"),
    ("choice-misplaced", "a key that another key allows"),
    ("prefer-misplaced", "a key that another key allows"),
    ("layout-misplaced", "a key that another table allows"),
    ("layout-room", "bits of addresses"),
    ("reflect-stp", "a key that another key allows"),
    ("too-large", "a product of a list"),
    ("default-vids", "a count out of two tables"),
    ("too-few-vids", "a count out of two tables"),
    ("count-mismatch", "the lengths of two hostlists"),
    ("duplicate-names", "two entries beside each other"),
    ("duplicate-override", "two entries beside each other"),
    ("duplicate-mac", "two entries beside each other"),
    ("duplicate-vids", "two ranges beside each other"),
    ("unknown-names", "a name in another table"),
    ("self-link", "a name in another key"),
    ("mixed-rates", "keys of several entries"),
    ("port-in-use", "ports of several entries"),
    ("pmesh-base", "bits of addresses"),
    ("lines-too-many", "a sum of quotients of a list"),
    ("lines-vids", "a count out of two tables"),
    ("nodes-exceed-ports", "ports of several entries"),
    ("disconnected", "the graph of all entries"),
    ("cabled-open", "a name in another key"),
    ("cabled-parts", "the graph of all entries"),
    ("link-list", "a key that another table allows"),
    ("ring-nics", "a count out of two tables"),
    ("prefix-one-family", "two keys beside each other"),
    ("prefix-overlap", "two keys beside each other"),
    ("prefix-too-small", "a count out of two tables"),
    ("mtu-ipv6", "a key in another table"),
];

fn validator() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn json(text: &str) -> Option<Value> {
    toml::from_str(text).ok()
}

#[test]
fn the_schema_accepts_every_example() {
    let validator = validator();
    for (path, text) in files("configs") {
        if let Err(error) = validator.validate(&json(&text).unwrap()) {
            panic!("{}: {} {error}", path.display(), error.instance_path());
        }
    }
}

#[test]
fn the_schema_refuses_every_broken_file_but_those_that_only_the_parser_can() {
    let validator = validator();
    let mut accepted = Vec::new();
    for (path, text) in files("tests/broken") {
        if json(&text).is_none_or(|value| validator.is_valid(&value)) {
            accepted.push(name(&path).replace(".toml", ""));
        }
    }
    // A file that is no text was read with marks in place of the bytes.
    accepted.push("latin1".into());
    accepted.sort();
    accepted.dedup();
    let mut expected: Vec<_> = PARSER_ONLY.iter().map(|(file, _)| (*file).to_owned()).collect();
    expected.sort();
    assert_eq!(accepted, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_schema_accepts_what_the_parser_accepts(bytes in mutated()) {
        let text = String::from_utf8_lossy(&bytes);
        if parse(&text, "x").is_ok() {
            let value = json(&text).unwrap();
            let reported = VALIDATOR.with(|v| v.validate(&value).map_err(|e| e.to_string()));
            prop_assert_eq!(reported, Ok(()));
        }
    }
}

thread_local! {
    static VALIDATOR: jsonschema::Validator = validator();
}
