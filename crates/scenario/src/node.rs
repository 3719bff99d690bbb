//! A TOML value that remembers its line and the order of its keys.

use toml::de::{DeTable, DeValue};

/// A value and the line it was written in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// Line in the file, from 1; `None` for what was set from outside.
    pub(crate) line: Option<usize>,
    /// The value.
    pub(crate) value: NodeValue,
}

/// The value of a node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeValue {
    Text(String),
    Integer(i64),
    /// A number that is no 64-bit integer, with its digits as written.
    Number(f64, String),
    Boolean(bool),
    /// A date or time, which no key of a scenario takes.
    Date(String),
    List(Vec<Node>),
    /// Keys in the order of the file.
    Table(Vec<(String, Node)>),
}

impl Node {
    /// An empty table that stands in no file.
    pub(crate) fn empty_table() -> Self {
        Self { line: None, value: NodeValue::Table(Vec::new()) }
    }

    /// A value with neither line nor file.
    pub(crate) fn from_toml_value(value: &DeValue<'_>) -> Self {
        Self { line: None, value: convert(value, &|_| None) }
    }

    /// The table of a document; lines are counted in `text`.
    pub(crate) fn from_toml_document(table: &DeTable<'_>, text: &str) -> Self {
        let breaks: Vec<usize> = text.match_indices('\n').map(|(offset, _)| offset).collect();
        let line = move |offset: usize| Some(breaks.partition_point(|end| *end < offset) + 1);
        Self { line: Some(1), value: convert_table(table, &line) }
    }

    /// The value under `key`, where this is a table that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The value under `key` to be changed, where this is a table that has it.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        let NodeValue::Table(entries) = &mut self.value else { return None };
        entries.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// Takes `key` out of this table.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Self> {
        let NodeValue::Table(entries) = &mut self.value else { return None };
        let index = entries.iter().position(|(name, _)| name == key)?;
        Some(entries.remove(index).1)
    }

    /// Puts `node` under `key`, in the place of what was there.
    pub(crate) fn insert(&mut self, key: &str, node: Self) {
        if let Some(existing) = self.get_mut(key) {
            *existing = node;
        } else if let NodeValue::Table(entries) = &mut self.value {
            entries.push((key.to_owned(), node));
        }
    }

    /// The keys and values of a table; nothing for anything else.
    pub(crate) fn entries(&self) -> &[(String, Self)] {
        match &self.value {
            NodeValue::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The text, where this is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The node at `key` (as printed in errors), or else the nearest one that encloses it.
    /// The flag tells whether it is the node itself.
    pub(crate) fn locate(&self, key: &str) -> (&Self, bool) {
        let mut node = self;
        for step in key.split(['.', '[']).filter(|step| !step.is_empty()) {
            let child = match &node.value {
                NodeValue::List(items) => {
                    step.trim_end_matches(']').parse().ok().and_then(|i: usize| items.get(i))
                }
                _ => node.get(step),
            };
            match child {
                Some(child) => node = child,
                None => return (node, false),
            }
        }
        (node, true)
    }

    /// The value as TOML would write it, cut to a line's length.
    pub(crate) fn excerpt(&self) -> String {
        const LONGEST: usize = 60;
        if let NodeValue::Text(text) = &self.value
            && let Some((first, _)) = text.trim().split_once('\n')
        {
            let cut: String = first.trim_end().chars().take(LONGEST).collect();
            return format!("\"{cut} ...\"");
        }
        let text = self.to_string();
        match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        }
    }

    /// What kind of value this is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            NodeValue::Text(_) => "a text",
            NodeValue::Integer(_) => "a whole number",
            NodeValue::Number(..) => "a number",
            NodeValue::Boolean(_) => "true or false",
            NodeValue::Date(_) => "a date",
            NodeValue::List(_) => "a list",
            NodeValue::Table(_) => "a table",
        }
    }
}

impl std::fmt::Display for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.value {
            NodeValue::Text(text) => write!(f, "{text:?}"),
            NodeValue::Integer(number) => write!(f, "{number}"),
            NodeValue::Boolean(truth) => write!(f, "{truth}"),
            NodeValue::Number(_, digits) | NodeValue::Date(digits) => write!(f, "{digits}"),
            NodeValue::List(items) => {
                write!(f, "[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
                }
                write!(f, "]")
            }
            NodeValue::Table(entries) if entries.is_empty() => write!(f, "{{}}"),
            NodeValue::Table(entries) => {
                write!(f, "{{ ")?;
                for (index, (key, node)) in entries.iter().enumerate() {
                    write!(f, "{}{key} = {node}", if index == 0 { "" } else { ", " })?;
                }
                write!(f, " }}")
            }
        }
    }
}

type LineOf<'l> = &'l dyn Fn(usize) -> Option<usize>;

fn convert(value: &DeValue<'_>, line: LineOf<'_>) -> NodeValue {
    match value {
        DeValue::String(text) => NodeValue::Text(text.clone().into_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| number_beyond(number.as_str()), NodeValue::Integer),
        DeValue::Float(number) => number_beyond(number.as_str()),
        DeValue::Boolean(truth) => NodeValue::Boolean(*truth),
        DeValue::Datetime(date) => NodeValue::Date(date.to_string()),
        DeValue::Array(items) => NodeValue::List(
            items
                .iter()
                .map(|item| Node {
                    line: line(item.span().start),
                    value: convert(item.get_ref(), line),
                })
                .collect(),
        ),
        DeValue::Table(table) => convert_table(table, line),
    }
}

fn number_beyond(digits: &str) -> NodeValue {
    NodeValue::Number(digits.parse().unwrap_or(f64::NAN), digits.to_owned())
}

fn convert_table(table: &DeTable<'_>, line: LineOf<'_>) -> NodeValue {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    NodeValue::Table(
        entries
            .into_iter()
            .map(|(key, value)| {
                let node =
                    Node { line: line(key.span().start), value: convert(value.get_ref(), line) };
                (key.get_ref().clone().into_owned(), node)
            })
            .collect(),
    )
}
