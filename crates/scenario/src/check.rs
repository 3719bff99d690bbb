//! Walks a scenario along the schema: unknown keys, wrong types, missing keys, bad units.
//!
//! What is wrong is reported and replaced by something valid, so that the semantic rules can still
//! be tried on the rest; they keep silent about keys that were replaced.

use crate::error::ScenarioError;
use crate::node::{Node, NodeValue};
use crate::schema::{Quantity, Shape, Table};
use fairwind_qdisc::tc::nearest;
use serde_json::{Map, Value, json};

/// A scenario that fits the schema, and what had to be replaced to make it so.
#[derive(Debug)]
pub(crate) struct Checked {
    /// Fits the schema.
    pub(crate) value: Value,
    /// The errors.
    pub(crate) errors: Vec<ScenarioError>,
    /// The keys with values that the author did not write.
    pub(crate) replaced: Vec<String>,
}

/// Checks `node` against `schema`.
pub(crate) fn check(node: &Node, schema: &Value) -> Checked {
    let mut checker = Checker { root: schema, errors: Vec::new(), replaced: Vec::new() };
    let value = checker.value(node, schema, "");
    let mut replaced = checker.replaced;
    replaced.extend(checker.errors.iter().map(|error| error.key.clone()));
    Checked { value, errors: checker.errors, replaced }
}

struct Checker<'s> {
    root: &'s Value,
    errors: Vec<ScenarioError>,
    /// Tables that were replaced as a whole because of one key in them.
    replaced: Vec<String>,
}

/// What Linux and other tools call some keys.
const OTHER_NAMES: [(&str, &str); 15] = [
    ("bandwidth", "rate"),
    ("delay", "rtt"),
    ("initcwnd", "initial_window"),
    ("latency", "rtt"),
    ("rack", "loss_detection"),
    ("rto_min", "minimum_rto"),
    ("tcp_early_retrans", "tail_loss_probe"),
    ("tcp_ecn", "ecn"),
    ("tcp_frto", "forward_rto"),
    ("tcp_recovery", "loss_detection"),
    ("tcp_rto_min_us", "minimum_rto"),
    ("tcp_sack", "sack"),
    ("tcp_thin_dupack", "modified_fast_retransmit"),
    ("tcp_thin_linear_timeouts", "linear_timeouts"),
    ("tlp", "tail_loss_probe"),
];

impl<'s> Checker<'s> {
    /// Checks one value; returns it, or a replacement that fits.
    fn value(&mut self, node: &Node, schema: &'s Value, key: &str) -> Value {
        let shape = Shape::of(schema, self.root);
        match (&shape, &node.value) {
            (Shape::Text { format, pattern }, NodeValue::Text(text)) => {
                self.text(node, text, *format, *pattern, key)
            }
            (Shape::Choice(words), NodeValue::Text(text)) => self.choice(node, text, words, key),
            (Shape::Numbers(numbers), NodeValue::Integer(number)) => {
                self.one_number(node, *number, numbers, key)
            }
            (Shape::Integer { minimum, maximum }, NodeValue::Integer(number)) => {
                self.integer(node, *number, (*minimum, *maximum), key)
            }
            (Shape::Number { minimum, maximum }, NodeValue::Integer(_) | NodeValue::Number(..)) => {
                self.number(node, (*minimum, *maximum), key)
            }
            (Shape::Boolean, NodeValue::Boolean(truth)) => json!(truth),
            (Shape::List(item), NodeValue::List(nodes)) => self.list(nodes, item, key),
            (Shape::Table(table), NodeValue::Table(_)) => {
                self.table_of_variant(node, table, &[], key)
            }
            (Shape::Tagged { tag, usual: Some(word), variants }, NodeValue::Table(_))
                if node.get(tag).is_none() =>
            {
                let said = Node { line: node.line, value: NodeValue::Text((*word).to_owned()) };
                let mut node = node.clone();
                node.insert(tag, said);
                self.tagged(&node, tag, variants, key)
            }
            (Shape::Tagged { tag, variants, .. }, NodeValue::Table(_)) => {
                self.tagged(node, tag, variants, key)
            }
            (Shape::TextOrTable { table, .. }, NodeValue::Table(_)) => self.value(node, table, key),
            (Shape::TextOrTable { text, .. }, _) => self.value(node, text, key),
            _ => {
                self.wrong_kind(node, &shape, key);
                placeholder(schema, self.root)
            }
        }
    }

    fn text(
        &mut self,
        node: &Node,
        text: &str,
        format: Option<&str>,
        pattern: Option<&str>,
        key: &str,
    ) -> Value {
        let quantity = format.and_then(Quantity::of_format);
        if let Some(quantity) = quantity {
            if let Some(rule) = (quantity.fault)(text) {
                self.report(node, key, rule, None);
                return json!(quantity.example);
            }
        } else if pattern.is_some() && !is_name(text) {
            let rule = "a name is made of letters, digits, - and _, and begins with a letter";
            self.report(node, key, rule.into(), None);
            return json!("replaced");
        }
        json!(text)
    }

    fn choice(&mut self, node: &Node, text: &str, words: &[&str], key: &str) -> Value {
        if words.contains(&text) {
            return json!(text);
        }
        let hint = nearest(text, words.iter().copied());
        let rule = format!("known are {}", words.join(", "));
        self.report(node, key, rule, hint.map(|word| format!("did you mean \"{word}\"?")));
        json!(words[0])
    }

    fn one_number(&mut self, node: &Node, number: i64, numbers: &[i64], key: &str) -> Value {
        if numbers.contains(&number) {
            return json!(number);
        }
        let known: Vec<String> = numbers.iter().map(i64::to_string).collect();
        self.report(node, key, format!("known are {}", known.join(", ")), None);
        json!(numbers[0])
    }

    fn integer(&mut self, node: &Node, number: i64, bounds: (i64, i64), key: &str) -> Value {
        if (bounds.0..=bounds.1).contains(&number) {
            return json!(number);
        }
        self.report(node, key, format!("it must be {}", range_text(number, bounds)), None);
        json!(bounds.0)
    }

    fn number(&mut self, node: &Node, (minimum, maximum): (f64, f64), key: &str) -> Value {
        let number = match &node.value {
            // Bounded numbers are small, so that nothing is lost.
            NodeValue::Integer(number) => i32::try_from(*number).map_or(f64::NAN, f64::from),
            NodeValue::Number(number, _) => *number,
            _ => f64::NAN,
        };
        if (minimum..=maximum).contains(&number) {
            return json!(number);
        }
        self.report(node, key, format!("it must be between {minimum} and {maximum}"), None);
        json!(minimum)
    }

    fn list(&mut self, nodes: &[Node], item: &'s Value, key: &str) -> Value {
        let check = |(index, node)| self.value(node, item, &format!("{key}[{index}]"));
        nodes.iter().enumerate().map(check).collect()
    }

    /// Checks a table that may be one of several; `others` are named where a key is one of theirs.
    fn table_of_variant(
        &mut self,
        node: &Node,
        table: &Table<'s>,
        others: &[(&str, Table<'s>)],
        key: &str,
    ) -> Value {
        let mut value = Map::new();
        let mut misspelt = Vec::new();
        for (name, child) in node.entries() {
            match table.properties.get(name) {
                Some(schema) => {
                    value.insert(name.clone(), self.value(child, schema, &join(key, name)));
                }
                None if table.has_parameters => {
                    value.insert(name.clone(), self.parameter(child, &join(key, name)));
                }
                None => misspelt.extend(self.unknown_key(child, name, table, others, key)),
            }
        }
        for name in &table.required {
            if !value.contains_key(*name) {
                let schema = &table.properties[*name];
                // One error is enough for a required key that is there with a slip of the pen.
                if !misspelt.contains(name) {
                    self.missing_key(node, &join(key, name), schema);
                }
                value.insert((*name).to_owned(), placeholder(schema, self.root));
            }
        }
        Value::Object(value)
    }

    /// Checks a parameter of a congestion control, which only the control knows.
    fn parameter(&mut self, node: &Node, key: &str) -> Value {
        match &node.value {
            NodeValue::Text(text) => json!(text),
            NodeValue::Integer(number) => json!(number),
            NodeValue::Number(number, _) if number.is_finite() => json!(number),
            NodeValue::Boolean(truth) => json!(truth),
            _ => {
                let rule = "a parameter is a number, a text, or true or false";
                self.report(node, key, rule.into(), None);
                json!(0)
            }
        }
    }

    fn tagged(
        &mut self,
        node: &Node,
        tag: &str,
        variants: &[(&'s str, Table<'s>)],
        key: &str,
    ) -> Value {
        let words: Vec<&str> = variants.iter().map(|(word, _)| *word).collect();
        let word = self.variant(node, tag, &words, &join(key, tag));
        if let Some((_, table)) = variants.iter().find(|(name, _)| Some(*name) == word) {
            return self.table_of_variant(node, table, variants, key);
        }
        self.replaced.push(key.to_owned());
        placeholder_variant(tag, &variants[0], self.root)
    }

    /// The variant that the tag of a table names, where it names one.
    fn variant<'w>(
        &mut self,
        node: &Node,
        tag: &str,
        words: &[&'w str],
        tag_key: &str,
    ) -> Option<&'w str> {
        let Some(kind) = node.get(tag) else {
            self.report_missing(node, tag_key, Some(format!("one of {}", words.join(", "))));
            return None;
        };
        let Some(text) = kind.as_text() else {
            self.wrong_kind(kind, &Shape::Choice(words.to_vec()), tag_key);
            return None;
        };
        self.choice(kind, text, words, tag_key);
        words.iter().copied().find(|word| *word == text)
    }

    /// Reports an unknown key; returns the one that was probably meant.
    fn unknown_key<'t>(
        &mut self,
        child: &Node,
        name: &str,
        table: &Table<'t>,
        others: &[(&str, Table<'_>)],
        key: &str,
    ) -> Option<&'t str> {
        let known: Vec<&str> = table.properties.keys().map(String::as_str).collect();
        let has_key = |(_, other): &&(&str, Table<'_>)| other.properties.contains_key(name);
        let elsewhere: Vec<&str> = others.iter().filter(has_key).map(|(word, _)| *word).collect();
        let linux_key = OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, key)| *key);
        let named = linux_key.and_then(|key| known.iter().copied().find(|one| *one == key));
        let meant =
            named.or_else(|| nearest(name, known.iter().copied())).filter(|_| elsewhere.is_empty());
        let rule = match elsewhere.as_slice() {
            [] => "unknown key".to_owned(),
            words => format!("only {} has this key", words.join(", ")),
        };
        let hint = meant.map_or_else(
            || format!("known keys are {}", known.join(", ")),
            |meant| format!("did you mean \"{meant}\"?"),
        );
        self.report(child, &join(key, name), rule, Some(hint));
        meant
    }

    fn missing_key(&mut self, node: &Node, key: &str, schema: &Value) {
        let description = schema["description"].as_str();
        self.report_missing(node, key, description.map(str::to_owned));
    }

    fn report_missing(&mut self, node: &Node, key: &str, hint: Option<String>) {
        let error = node.error(key, "missing; it is required".into(), hint);
        self.errors.push(ScenarioError { value: None, ..error });
    }

    fn wrong_kind(&mut self, node: &Node, shape: &Shape<'_>, key: &str) {
        let (rule, hint) = unexpected(node, shape, key);
        self.report(node, key, rule, hint);
    }

    fn report(&mut self, node: &Node, key: &str, rule: String, hint: Option<String>) {
        self.errors.push(node.error(key, rule, hint));
    }
}

fn join(key: &str, name: &str) -> String {
    let plain =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let name = if plain { name.to_owned() } else { format!("{name:?}") };
    if key.is_empty() { name } else { format!("{key}.{name}") }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// The range that a number misses. The largest number of a type is no rule of its key, so that it is told only to who
/// exceeds it.
fn range_text(number: i64, (minimum, maximum): (i64, i64)) -> String {
    match maximum {
        i64::MAX => format!("{minimum} or more"),
        maximum if maximum == i64::from(u32::MAX) && number < minimum => {
            format!("{minimum} or more")
        }
        maximum => format!("between {minimum} and {maximum}"),
    }
}

/// The rule that `node` breaks by not being of this shape, and a hint.
fn unexpected(node: &Node, shape: &Shape<'_>, key: &str) -> (String, Option<String>) {
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
            Some(format!("known keys are {}", keys.join(", ")))
        }
        Shape::Tagged { tag, variants, .. } => {
            Some(format!("for example {{ {tag} = \"{}\", .. }}", variants[0].0))
        }
        Shape::Text { .. } | Shape::Choice(_) | Shape::TextOrTable { .. } => None,
    }
}

/// Something that fits `schema`, in the place of what did not.
fn placeholder(schema: &Value, root: &Value) -> Value {
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
fn placeholder_variant(tag: &str, (word, table): &(&str, Table<'_>), root: &Value) -> Value {
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
