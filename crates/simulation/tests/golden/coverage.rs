//! Coverage: the cases set every key of a scenario, and every named value of a key.

use crate::scenarios;
use serde_json::Value;
use std::collections::BTreeSet;

/// What no case can set, and why.
const EXEMPT: [(&str, &str); 0] = [];

/// Places of a schema that cases should reach, or have reached.
#[derive(Default)]
struct Places(BTreeSet<String>);

/// The schema that a reference leads to, with its own place.
fn resolved<'a>(root: &'a Value, place: &str, schema: &'a Value) -> (String, &'a Value) {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => {
            let place = reference.trim_start_matches('#').to_owned();
            let schema = root.pointer(&place).unwrap_or_else(|| panic!("no {reference}"));
            resolved(root, &place, schema)
        }
        None => (place.to_owned(), schema),
    }
}

fn branches(schema: &Value) -> impl Iterator<Item = (String, &Value)> {
    ["anyOf", "oneOf", "allOf"].into_iter().flat_map(move |kind| {
        let list = schema.get(kind).and_then(Value::as_array).into_iter().flatten();
        list.enumerate().map(move |(number, branch)| (format!("/{kind}/{number}"), branch))
    })
}

/// Values by name: of an enumeration, or of a constant.
fn named(schema: &Value) -> impl Iterator<Item = &Value> {
    schema.get("enum").and_then(Value::as_array).into_iter().flatten().chain(schema.get("const"))
}

impl Places {
    /// Everything below a place of the schema.
    fn gather(&mut self, root: &Value, place: &str, schema: &Value, seen: &mut BTreeSet<String>) {
        let (place, schema) = resolved(root, place, schema);
        if !seen.insert(place.clone()) {
            return;
        }
        for value in named(schema) {
            self.0.insert(format!("{place} = {value}"));
        }
        if schema["type"] == "boolean" && !has_default(schema) {
            self.0.extend([format!("{place} = true"), format!("{place} = false")]);
        }
        for (key, below) in schema["properties"].as_object().into_iter().flatten() {
            let below_place = format!("{place}/properties/{key}");
            self.0.insert(below_place.clone());
            self.gather(root, &below_place, below, seen);
        }
        for (step, branch) in branches(schema) {
            self.gather(root, &format!("{place}{step}"), branch, seen);
        }
        if let Some(items) = schema.get("items") {
            self.gather(root, &format!("{place}/items"), items, seen);
        }
    }

    /// Everything that a value sets.
    fn reach(&mut self, root: &Value, place: &str, schema: &Value, value: &Value) {
        let (place, schema) = resolved(root, place, schema);
        if named(schema).any(|named| named == value) || value.is_boolean() {
            self.0.insert(format!("{place} = {value}"));
        }
        for (key, value) in value.as_object().into_iter().flatten() {
            let Some(below) = schema["properties"].get(key) else { continue };
            let below_place = format!("{place}/properties/{key}");
            if below.get("default") != Some(value) {
                self.0.insert(below_place.clone());
            }
            self.reach(root, &below_place, below, value);
        }
        for (step, branch) in branches(schema) {
            if fits(root, branch, value) {
                self.reach(root, &format!("{place}{step}"), branch, value);
            }
        }
        if let Some(items) = schema.get("items") {
            for value in value.as_array().into_iter().flatten() {
                self.reach(root, &format!("{place}/items"), items, value);
            }
        }
    }
}

fn has_default(schema: &Value) -> bool {
    schema.get("default").is_some()
}

/// Whether a value can be meant by a branch: its type and its constants fit, and it has no key that the branch lacks.
fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    let (_, schema) = resolved(root, "", schema);
    let is_of_type = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer" | "number") => value.is_number(),
        _ => true,
    };
    let mut names = named(schema).peekable();
    let is_named = names.peek().is_none() || named(schema).any(|named| named == value);
    let keys_fit = match (schema["properties"].as_object(), value.as_object()) {
        (Some(properties), Some(keys)) => keys.iter().all(|(key, value)| {
            properties.get(key).is_some_and(|below| {
                let (_, below) = resolved(root, "", below);
                below.get("const").is_none_or(|constant| constant == value)
            })
        }),
        _ => true,
    };
    let mut inner = branches(schema).peekable();
    let has_branch =
        inner.peek().is_none() || branches(schema).any(|(_, branch)| fits(root, branch, value));
    is_of_type && is_named && keys_fit && has_branch
}

#[test]
fn cases_set_every_key_and_every_named_value() {
    let schema = fairwind_scenario::json_schema();
    let mut wanted = Places::default();
    wanted.gather(&schema, "", &schema, &mut BTreeSet::new());
    let mut reached = Places::default();
    for case in scenarios::all() {
        let value = serde_json::to_value(&case.scenario).expect("TOML is JSON");
        reached.reach(&schema, "", &schema, &value);
    }
    let exempt: BTreeSet<&str> = EXEMPT.iter().map(|(place, _)| *place).collect();
    let missing: Vec<&String> =
        wanted.0.difference(&reached.0).filter(|place| !exempt.contains(place.as_str())).collect();
    assert!(missing.is_empty(), "{} places: {missing:#?}", missing.len());
    let needless: Vec<&&str> = exempt.iter().filter(|it| reached.0.contains(**it)).collect();
    assert!(needless.is_empty(), "cases set what is exempt: {needless:?}");
}
