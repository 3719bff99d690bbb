//! The JSON Schema of the input format: for editors, for the reference page, and for the checker.

use crate::input::ScenarioInput;
use serde_json::{Value, json};
use std::sync::OnceLock;

/// The JSON Schema (draft 2020-12) of a scenario file, with descriptions and unit patterns.
pub fn json_schema() -> Value {
    schema().clone()
}

/// The schema, made once.
pub(crate) fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = schemars::schema_for!(ScenarioInput).to_value();
        remove_null(&mut schema);
        schema["properties"]["sweep"] = sweep_schema();
        // `repeat` may stand in both places; one definition serves them.
        let repeat = schema["properties"]["repeat"].clone();
        schema["properties"]["sweep"]["properties"] = json!({ "repeat": repeat });
        schema
    })
}

/// The names of the keys at the top of a scenario, the sweep's excepted.
pub(crate) fn top_level_keys() -> impl Iterator<Item = &'static str> {
    let properties = schema()["properties"].as_object().expect("a scenario is a table");
    properties.keys().map(String::as_str).filter(|key| *key != "sweep")
}

fn sweep_schema() -> Value {
    json!({
        "description": "What is varied. A dotted key path with a list of values, or a named axis: \
            a table whose labels each set several key paths. Every combination is run.",
        "type": "object",
        "additionalProperties": {
            "anyOf": [
                {
                    "description": "Values for the key path that stands before it.",
                    "type": "array",
                    "minItems": 1,
                },
                {
                    "description": "A named axis: each label is a table of key paths and values.",
                    "type": "object",
                    "additionalProperties": { "type": "object" },
                },
            ],
        },
    })
}

/// TOML has no null: an optional key is left out. So no schema offers it.
fn remove_null(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(remove_null),
        Value::Object(keys) => {
            if let Some(Value::Array(kinds)) = keys.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [kind] = kinds.as_slice() {
                    let kind = kind.clone();
                    keys.insert("type".into(), kind);
                }
            }
            if let Some(Value::Array(branches)) = keys.get_mut("anyOf") {
                branches.retain(|branch| branch["type"] != "null");
                if let [Value::Object(only)] = branches.as_mut_slice() {
                    let only = std::mem::take(only);
                    keys.remove("anyOf");
                    for (key, value) in only {
                        keys.entry(key).or_insert(value);
                    }
                }
            }
            keys.values_mut().for_each(remove_null);
        }
        _ => {}
    }
}
