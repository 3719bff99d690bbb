//! What a JSON Schema expects, in the few forms that the input types produce.

use serde_json::{Map, Value};

/// What is expected of a value.
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
    /// One of several tables, told apart by the value of one key, which is `usual` where it is left out.
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
    /// Reads `schema`, whose references are found in `root`.
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

/// Lets the tag of the first alternative be left out: changes the schema of a type with a tag.
pub(crate) fn first_is_usual(schema: &mut schemars::Schema) {
    let first = schema.pointer_mut("/oneOf/0");
    let Some(first) = first.and_then(Value::as_object_mut) else { return };
    let properties = first.get("properties").and_then(Value::as_object).cloned();
    let is_tag = |key: &Value| {
        let property = key.as_str().and_then(|key| properties.as_ref()?.get(key));
        property.is_some_and(|property| property["const"].is_string())
    };
    if let Some(required) = first.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|key| !is_tag(key));
    }
}
