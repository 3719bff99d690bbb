//! The JSON Schema of the input format, for editors, the reference page and the checker; and the few forms of a value that
//! it asks for.

use crate::input::ScenarioInput;
use crate::{Congestion, NetemText, QueueLimit, QueueText};
use fairwind_units::{BitRate, ByteCount, Ratio, Span};
use serde_json::{Map, Value, json};
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
        schema["properties"]["sweep"]["properties"] =
            json!({ "repeat": repeat, "reference": reference_schema() });
        schema
    })
}

/// The names of the keys at the top of a scenario, the sweep's excepted.
pub(crate) fn top_level_keys() -> impl Iterator<Item = &'static str> {
    let properties = schema()["properties"].as_object().expect("a scenario is a table");
    properties.keys().map(String::as_str).filter(|key| *key != "sweep")
}

fn reference_schema() -> Value {
    let label = json!({ "type": ["string", "number", "boolean"] });
    json!({
        "description": "The value of an axis that its others are compared with, as `LABEL` or \
            `AXIS=LABEL`; a list for several axes. The first value of each axis by default.",
        "anyOf": [label, { "type": "array", "items": label }],
    })
}

fn sweep_schema() -> Value {
    json!({
        "description": "The sweep. A dotted key path with a list of values, or a named axis: \
            a table of labels, each of which sets several key paths. Every combination is run.",
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

/// The expected form of a value.
#[derive(Debug)]
pub(crate) enum Shape<'s> {
    /// A text; `format` names the quantity, `pattern` is set for names.
    Text { format: Option<&'s str>, pattern: Option<&'s str> },
    /// One of a few words.
    Choice(Vec<&'s str>),
    /// One of a few whole numbers.
    Numbers(Vec<i64>),
    /// A whole number within bounds.
    Integer { minimum: i64, maximum: i64 },
    /// A number within bounds.
    Number { minimum: f64, maximum: f64 },
    /// True or false.
    Boolean,
    /// A list, each item of which has the same schema.
    List(&'s Value),
    /// A table with known keys.
    Table(Table<'s>),
    /// One of several tables, distinguished by the value of one key, which is `usual` by default.
    Tagged { tag: &'s str, usual: Option<&'s str>, variants: Vec<(&'s str, Table<'s>)> },
    /// A text, or a table instead.
    TextOrTable { text: &'s Value, table: &'s Value },
}

/// The keys of a table.
#[derive(Debug, Clone)]
pub(crate) struct Table<'s> {
    pub(crate) properties: &'s Map<String, Value>,
    pub(crate) required: Vec<&'s str>,
    /// Whether further keys may have a number, a text, or true or false.
    pub(crate) has_parameters: bool,
}

impl<'s> Shape<'s> {
    /// Reads `schema`; its references are in `root`.
    ///
    /// # Panics
    /// On a form that the input types do not produce; a test walks all of them.
    pub(crate) fn of(schema: &'s Value, root: &'s Value) -> Self {
        if let Some(reference) = schema["$ref"].as_str() {
            let pointer = reference.trim_start_matches('#');
            let target = root.pointer(pointer).expect("references lead to definitions");
            return Self::of(target, root);
        }
        if let Some(branches) = schema["oneOf"].as_array() {
            return one_of(branches);
        }
        // Words that are known, and last what any other word has to be: whether that is known is a rule's.
        // A table may follow in their place.
        if let Some([_, _, .., text, table]) = schema["anyOf"].as_array().map(Vec::as_slice)
            && text["type"] == "string"
            && table["type"] == "object"
        {
            return Self::TextOrTable { text, table };
        }
        if let Some([_, .., other]) = schema["anyOf"].as_array().map(Vec::as_slice)
            && other["type"] == "string"
        {
            return Self::of(other, root);
        }
        if let Some([text, table]) = schema["anyOf"].as_array().map(Vec::as_slice) {
            return Self::TextOrTable { text, table };
        }
        if let Some(numbers) = schema["enum"].as_array() {
            return Self::Numbers(numbers.iter().filter_map(Value::as_i64).collect());
        }
        match schema["type"].as_str() {
            Some("string") => Self::Text {
                format: schema["format"].as_str(),
                pattern: schema["pattern"].as_str(),
            },
            Some("integer") => Self::Integer {
                minimum: schema["minimum"].as_i64().unwrap_or(0),
                maximum: schema["maximum"].as_i64().unwrap_or(largest(schema)),
            },
            Some("number") => Self::Number {
                minimum: schema["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY),
                maximum: schema["maximum"].as_f64().unwrap_or(f64::INFINITY),
            },
            Some("boolean") => Self::Boolean,
            Some("array") => Self::List(&schema["items"]),
            Some("object") => Self::Table(table(schema)),
            other => unreachable!("no input type has a schema of type {other:?}"),
        }
    }
}

fn largest(schema: &Value) -> i64 {
    if schema["format"] == "uint32" { i64::from(u32::MAX) } else { i64::MAX }
}

fn table(schema: &Value) -> Table<'_> {
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    Table {
        properties: schema["properties"].as_object().expect("tables have keys"),
        required: required.iter().filter_map(Value::as_str).collect(),
        has_parameters: schema["additionalProperties"].is_object(),
    }
}

fn one_of(branches: &[Value]) -> Shape<'_> {
    let words: Vec<&str> = branches.iter().filter_map(|branch| branch["const"].as_str()).collect();
    if words.len() == branches.len() {
        return Shape::Choice(words);
    }
    let tag = branches[0]["properties"]
        .as_object()
        .and_then(|keys| keys.iter().find(|(_, schema)| schema["const"].is_string()))
        .map(|(key, _)| key.as_str())
        .expect("alternatives differ by a tag");
    let variant = |branch| {
        let table: Table<'_> = table(branch);
        (table.properties[tag]["const"].as_str().expect("a tag is a word"), table)
    };
    let variants: Vec<(&str, Table<'_>)> = branches.iter().map(variant).collect();
    let is_usual = |(_, table): &&(&str, Table<'_>)| !table.required.contains(&tag);
    let usual = variants.iter().find(is_usual).map(|(word, _)| *word);
    Shape::Tagged { tag, usual, variants }
}

/// A quantity written as a text with its unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantity {
    /// Its name in a message.
    pub(crate) noun: &'static str,
    /// A text that is one.
    pub(crate) example: &'static str,
    /// The error of a text that is not one.
    pub(crate) fault: fn(&str) -> Option<String>,
}

impl Quantity {
    /// Whether it is a number with a unit.
    pub(crate) fn has_unit(self) -> bool {
        !["queue discipline", "line for netem", "congestion control"].contains(&self.noun)
    }

    /// The quantity that `format` names.
    pub(crate) fn of_format(format: &str) -> Option<Self> {
        let quantity = |noun, example, fault| Some(Self { noun, example, fault });
        match format {
            "Span" => quantity("time", "20 ms", fault::<Span>),
            "BitRate" => quantity("rate", "10 Mbit/s", fault::<BitRate>),
            "ByteCount" => quantity("size", "1500 B", fault::<ByteCount>),
            "Ratio" => quantity("share", "2 %", fault::<Ratio>),
            "Queue" => quantity("queue discipline", "fq_codel", fault::<QueueText>),
            "Netem" => quantity("line for netem", "tc: netem delay 50ms", fault::<NetemText>),
            "CongestionControl" => quantity("congestion control", "cubic", fault::<Congestion>),
            "QueueLimit" => quantity("queue limit", "1 bdp", fault::<QueueLimit>),
            _ => None,
        }
    }
}

fn fault<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Option<String> {
    text.parse::<T>().err().map(|error| error.to_string())
}
