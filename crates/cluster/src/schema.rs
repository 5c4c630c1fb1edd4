//! Generates the JSON Schema of the cluster file, for editors, from the same Rust declarations by which the file is
//! read.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use crate::file::File;

/// Returns the JSON Schema (draft 2020-12) of the cluster file, as indented JSON with a final newline.
#[must_use]
pub fn schema() -> String {
    let settings = SchemaSettings::draft2020_12().with_transform(NoNulls);
    let mut schema = File::json_schema_in(settings);
    schema.insert("$id".into(), "urn:tresse:cluster-file:1".into());
    schema.insert("title".into(), "Tresse cluster file".into());
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
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
