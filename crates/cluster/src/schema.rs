//! The JSON Schema of the cluster file, for editors; made from the same declarations that read it.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::file::{File, TopologyKind};
use super::limits;

/// The JSON Schema (draft 2020-12) of the cluster file, as indented JSON with a final newline.
#[must_use]
pub fn schema() -> String {
    let settings = SchemaSettings::draft2020_12().with_transform(NoNulls);
    let mut schema = File::json_schema_in(settings);
    schema.insert("title".into(), "Tresse cluster file".into());
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// Kinds whose nodes route.
const ROUTED: [&str; 5] = ["pmesh", "ring", "direct-mesh", "direct-torus", "full-mesh"];

/// Which keys `topology` has depends on its kind.
pub(super) fn keys_of_kinds() -> Value {
    let rule = |word: &&str| {
        let (required, others) = TopologyKind::keys(word);
        let keys = [&["kind"], required, others].concat();
        let mut then = json!({ "propertyNames": { "enum": keys }, "required": required });
        let ports = match *word {
            "clique" => Some(limits::CLIQUE_PORTS),
            "irregular" => Some(limits::IRREGULAR_PORTS),
            _ => None,
        };
        if let Some(most) = ports {
            then["properties"] = json!({ "ports": { "maximum": most } });
        }
        if ROUTED.contains(word) && required.contains(&"dims") {
            then["properties"] = json!({ "dims": { "items": { "minimum": 2 } } });
        }
        json!({ "if": of_kind(&[word]), "then": then })
    };
    TopologyKind::WORDS.iter().map(rule).collect()
}

/// What a kind of topology asks of the other tables: an explicit fabric lists everything; dimension
/// orders need dimensions; PDOR on a torus of more than two needs even sizes after the first.
pub(super) fn rules_of_kinds() -> Value {
    let topology = |rule: Value| {
        json!({
            "properties": { "fabric": {
                "properties": { "topology": rule },
                "required": ["topology"],
            }},
            "required": ["fabric"],
        })
    };
    let strategy = |rule: Value| json!({ "properties": { "routing": { "properties": { "strategy": rule } } } });
    let cabled = json!({ "items": { "required": ["switch", "port"] } });
    json!([
        {
            "if": topology(of_kind(&["explicit"])),
            "then": {
                "properties": {
                    "switch": { "minItems": 1 },
                    "node": {
                        "minItems": 1,
                        "items": { "properties": { "nics": cabled }, "required": ["nics"] },
                    },
                },
                "required": ["switch", "node"],
            },
        },
        {
            "if": topology(of_kind(&ROUTED)),
            "then": strategy(json!({ "const": "xy" })),
        },
        {
            "if": topology(of_kind(&["mesh", "torus", "clique", "irregular", "explicit"])),
            "then": strategy(json!({ "not": { "const": "xy" } })),
        },
        {
            "if": topology(of_kind(&["explicit", "clique", "irregular"])),
            "then": strategy(json!({ "not": { "enum": ["dor", "pdor"] } })),
        },
        {
            "if": topology(json!({ "allOf": [
                of_kind(&["torus"]),
                {
                    "properties": { "dims": {
                        "minItems": 3,
                        "not": { "prefixItems": [true], "items": { "multipleOf": 2 } },
                    }},
                    "required": ["dims"],
                },
            ]})),
            "then": strategy(json!({ "not": { "const": "pdor" } })),
        },
    ])
}

fn of_kind(words: &[&str]) -> Value {
    json!({ "properties": { "kind": { "enum": words } }, "required": ["kind"] })
}

trait InSettings: JsonSchema {
    fn json_schema_in(settings: SchemaSettings) -> Schema {
        settings.into_generator().into_root_schema_for::<Self>()
    }
}
impl InSettings for File {}

/// TOML has no null: an optional key is absent, not null.
#[derive(Debug, Clone)]
struct NoNulls;

impl Transform for NoNulls {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        if let Some(object) = schema.as_object_mut() {
            without_null(object);
        }
    }
}

fn without_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(words)) = object.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if choices.len() == 1
            && let Some(Value::Object(only)) = choices.pop()
        {
            object.remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_describes_every_key_without_nulls() {
        let text = schema();
        let schema: Value = serde_json::from_str(&text).unwrap();
        assert!(!text.contains("null"), "{text}");
        assert!(schema["properties"]["switch"].is_object());
        let topology = &schema["$defs"]["Topology"]["properties"];
        assert_eq!(topology["dims"]["maxItems"], 6, "{text}");
        assert_eq!(schema["required"], serde_json::json!(["fabric"]));
        assert_eq!(schema["$defs"]["Link"]["required"], serde_json::json!(["a", "b"]));
        assert_eq!(topology["nodes_per_switch"]["default"], 1);
        let routing = &schema["$defs"]["Routing"]["properties"]["paths"];
        assert_eq!((&routing["minimum"], &routing["default"]), (&1.into(), &2.into()));
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            let Some(properties) = definition["properties"].as_object() else { continue };
            assert_eq!(definition["additionalProperties"], false, "{name}");
            for (key, property) in properties {
                assert!(property["description"].is_string(), "{name}.{key} has no description");
            }
        }
    }
}
