//! The scenarios under `examples/`, and the schema that they are written to.

use fairwind_scenario::{Document, json_schema};
use serde_json::Value;
use std::collections::BTreeSet;

const EXAMPLES: [(&str, &str); 13] = [
    ("thin-against-greedy.toml", include_str!("../../../../examples/thin-against-greedy.toml")),
    ("greedy-alone.toml", include_str!("../../../../examples/greedy-alone.toml")),
    ("parking-lot.toml", include_str!("../../../../examples/parking-lot.toml")),
    ("thin-stream-variants.toml", include_str!("../../../../examples/thin-stream-variants.toml")),
    ("thin-behind-queues.toml", include_str!("../../../../examples/thin-behind-queues.toml")),
    ("web-against-greedy.toml", include_str!("../../../../examples/web-against-greedy.toml")),
    ("repeated-transfers.toml", include_str!("../../../../examples/repeated-transfers.toml")),
    ("game-server.toml", include_str!("../../../../examples/game-server.toml")),
    ("beside-cubic.toml", include_str!("../../../../examples/beside-cubic.toml")),
    (
        "satellite-short-upload.toml",
        include_str!("../../../../examples/satellite-short-upload.toml"),
    ),
    ("satellite-upload.toml", include_str!("../../../../examples/satellite-upload.toml")),
    ("thin-in-ci.toml", include_str!("../../../../examples/thin-in-ci.toml")),
    ("buffers.toml", include_str!("../../../../examples/buffers.toml")),
];

#[test]
fn every_example_checks() {
    for (file, text) in EXAMPLES {
        let plan = Document::parse(file, text).and_then(|document| document.plan());
        let plan = plan.unwrap_or_else(|errors| panic!("{errors}"));
        assert!(plan.warnings.is_empty(), "{file}: {:?}", plan.warnings);
        assert!(!plan.cells.is_empty());
    }
}

#[test]
fn every_example_is_in_the_list() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let found: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.rsplit('.').next() == Some("toml"))
        .collect();
    assert_eq!(found, EXAMPLES.iter().map(|(file, _)| (*file).to_owned()).collect());
}

#[test]
fn parking_lot_rtts_are_equal() {
    let plan = Document::parse("parking-lot.toml", EXAMPLES[2].1).unwrap().plan().unwrap();
    let network = &plan.cells[0].experiment.network;
    let delay =
        |name: &str| network.links.iter().find(|link| link.name == name).unwrap().delay.as_millis();
    let long = delay("first") + delay("second") + delay("third");
    assert_eq!(long, delay("b->r1") + delay("first"));
    assert_eq!(long, delay("c->r2") + delay("second"));
    assert_eq!(long, delay("d->r3") + delay("third"));
}

/// All property names of a schema, wherever they stand.
fn property_names(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(keys) => {
            if let Some(Value::Object(properties)) = keys.get("properties") {
                names.extend(properties.keys().cloned());
            }
            keys.values().for_each(|value| property_names(value, names));
        }
        Value::Array(items) => items.iter().for_each(|value| property_names(value, names)),
        _ => {}
    }
}

fn keys_of(value: &toml::Value, keys: &mut BTreeSet<String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table.iter().filter(|(key, _)| *key != "sweep") {
                keys.insert(key.clone());
                keys_of(value, keys);
            }
        }
        toml::Value::Array(items) => items.iter().for_each(|item| keys_of(item, keys)),
        _ => {}
    }
}

#[test]
fn schema_has_every_key_of_examples() {
    let mut known = BTreeSet::new();
    property_names(&json_schema(), &mut known);
    for (file, text) in EXAMPLES {
        let mut keys = BTreeSet::new();
        keys_of(&toml::Value::Table(text.parse().unwrap()), &mut keys);
        let unknown: Vec<_> = keys.difference(&known).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
    }
}

#[test]
fn every_property_is_described_and_none_is_null() {
    fn walk(schema: &Value, path: &str) {
        if let Some(properties) = schema["properties"].as_object() {
            for (name, property) in properties {
                let is_described =
                    property["description"].is_string() || property["const"].is_string();
                assert!(is_described, "{path}/{name} has no description");
            }
        }
        assert_ne!(schema["type"], "null", "{path} offers null, which TOML has not");
        match schema {
            Value::Object(keys) => keys.iter().for_each(|(k, v)| walk(v, &format!("{path}/{k}"))),
            Value::Array(items) => items.iter().for_each(|item| walk(item, path)),
            _ => {}
        }
    }
    let schema = json_schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    walk(&schema, "");
}

#[test]
fn quantities_carry_a_pattern_of_their_units() {
    let schema = json_schema();
    for quantity in ["Span", "BitRate", "ByteCount", "Ratio", "QueueLimit"] {
        assert!(schema["$defs"][quantity]["pattern"].is_string(), "{quantity} has no pattern");
    }
}
