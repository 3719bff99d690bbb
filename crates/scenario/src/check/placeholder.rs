//! Valid values in the place of wrong ones, so that the rest of a scenario can still be checked.

use crate::quantity::Quantity;
use crate::shape::{Shape, Table};
use serde_json::{Value, json};

/// Something that fits `schema`, in the place of what did not.
pub(super) fn placeholder(schema: &Value, root: &Value) -> Value {
    match Shape::of(schema, root) {
        Shape::Text { format, .. } => {
            json!(
                format
                    .and_then(Quantity::of_format)
                    .map_or("replaced", |quantity| quantity.example)
            )
        }
        Shape::Choice(words) => json!(words[0]),
        Shape::Numbers(numbers) => json!(numbers[0]),
        Shape::Integer { minimum, .. } => json!(minimum),
        Shape::Number { minimum, .. } => json!(minimum.max(0.0)),
        Shape::Boolean => json!(false),
        Shape::List(_) => json!([]),
        Shape::Table(table) => placeholder_table(&table, root),
        Shape::Tagged { tag, variants, .. } => placeholder_variant(tag, &variants[0], root),
        Shape::TextOrTable { text, .. } => placeholder(text, root),
    }
}

/// The tag and the required keys of one of several tables.
pub(super) fn placeholder_variant(
    tag: &str,
    (word, table): &(&str, Table<'_>),
    root: &Value,
) -> Value {
    let mut value = placeholder_table(table, root);
    value[tag] = json!(word);
    value
}

/// The required keys of a table, each with something that fits.
fn placeholder_table(table: &Table<'_>, root: &Value) -> Value {
    let required = table.required.iter().map(|name| {
        let schema = &table.properties[*name];
        let constant = schema.get("const").cloned();
        ((*name).to_owned(), constant.unwrap_or_else(|| placeholder(schema, root)))
    });
    Value::Object(required.collect())
}
