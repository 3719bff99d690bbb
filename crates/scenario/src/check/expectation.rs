//! What is said about a value of the wrong kind.

use crate::node::{Node, NodeValue};
use crate::quantity::Quantity;
use crate::shape::{Shape, Table};

/// The rule that `node` breaks by not being of this shape, and a hint.
pub(super) fn unexpected(node: &Node, shape: &Shape<'_>, key: &str) -> (String, Option<String>) {
    let number = matches!(node.value, NodeValue::Integer(_) | NodeValue::Number(..));
    let measured = quantity(shape).filter(|quantity| quantity.has_unit());
    if let (Some(Quantity { noun, example, .. }), true) = (measured, number) {
        let rule = format!("a {noun} needs a unit, for example \"{example}\"");
        return (rule, Some("write it as a text, in quotes".into()));
    }
    let rule = format!("expected {}, found {}", expected(shape), node.kind());
    (rule, hint(node, shape, key))
}

fn quantity(shape: &Shape<'_>) -> Option<Quantity> {
    match shape {
        Shape::Text { format, .. } => format.and_then(Quantity::of_format),
        _ => None,
    }
}

fn expected(shape: &Shape<'_>) -> String {
    match shape {
        Shape::Text { .. } => match quantity(shape) {
            Some(Quantity { noun, example, .. }) => format!("a {noun} such as \"{example}\""),
            None => "a text".into(),
        },
        Shape::Choice(words) => format!("one of {}", words.join(", ")),
        Shape::Numbers(_) | Shape::Integer { .. } => "a whole number".into(),
        Shape::Number { .. } => "a number".into(),
        Shape::Boolean => "true or false".into(),
        Shape::List(_) => "a list".into(),
        Shape::Table(_) | Shape::Tagged { .. } => "a table".into(),
        Shape::TextOrTable { .. } => "a text or a table".into(),
    }
}

fn hint(node: &Node, shape: &Shape<'_>, key: &str) -> Option<String> {
    match shape {
        Shape::Numbers(_) | Shape::Integer { .. } | Shape::Number { .. } | Shape::Boolean => {
            node.as_text().map(|_| "write it without quotes".into())
        }
        Shape::List(_) if matches!(node.value, NodeValue::Table(_)) => {
            Some(format!("write [[{key}]], once for every element"))
        }
        Shape::List(_) => Some("write it in brackets: [..]".into()),
        Shape::Table(Table { properties, .. }) => {
            let keys: Vec<&str> = properties.keys().map(String::as_str).collect();
            Some(format!("known here are {}", keys.join(", ")))
        }
        Shape::Tagged { tag, variants, .. } => {
            Some(format!("for example {{ {tag} = \"{}\", .. }}", variants[0].0))
        }
        Shape::Text { .. } | Shape::Choice(_) | Shape::TextOrTable { .. } => None,
    }
}
