//! TOML values that remember their lines and the order of their keys, and dotted key paths that address them.

use crate::error::ScenarioError;
use std::str::FromStr;
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

    /// Puts `node` under `key`, replacing the old node.
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

    /// An error about this value, which stands at `key`.
    pub(crate) fn error(&self, key: &str, rule: String, hint: Option<String>) -> ScenarioError {
        let value = Some(self.excerpt());
        ScenarioError { key: key.to_owned(), line: self.line, value, rule, hint }
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

/// A path of keys into a scenario: `flows.thin.count`, `flows.0.count`, `flows.*.tcp`.
///
/// In a list a step is the `name` of an element, its index from 0, or `*` for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyPath(Vec<String>);

/// Lists are never made by setting something inside them.
const LISTS: [&str; 2] = ["flows", "links"];

/// A name, or a table with a name and further keys, which belong to that name.
const NAMED: &str = "congestion";

/// A path deeper than any scenario is an error, so that recursion has a bound.
const DEEPEST: usize = 16;

impl KeyPath {
    /// The steps, one or more.
    pub(crate) fn steps(&self) -> &[String] {
        &self.0
    }

    /// First step.
    pub(crate) fn first(&self) -> &str {
        &self.0[0]
    }

    /// Whether whatever `other` addresses is addressed by this path too.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let same = |(mine, theirs): (&String, &String)| mine == "*" || mine == theirs;
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(same)
    }

    /// Merges `value` into what this path addresses under `root`; tables merge key by key, and
    /// everything else is replaced. A path that addresses nothing changes nothing.
    pub(crate) fn assign(&self, root: &mut Node, value: &Node) -> Result<(), String> {
        let mut changed = root.clone();
        assign(&mut changed, &self.0, value)?;
        *root = changed;
        Ok(())
    }
}

impl std::fmt::Display for KeyPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.join("."))
    }
}

impl FromStr for KeyPath {
    type Err = String;

    /// Reads `a.b`, `a[0].b` and `a."b.c"`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (step, after) = next_step(rest)?;
            steps.push(step);
            rest = after;
        }
        if steps.is_empty() || steps.iter().any(String::is_empty) || text.trim().ends_with('.') {
            return Err(format!("\"{text}\" is not a key path such as flows.thin.count"));
        }
        if steps.len() > DEEPEST {
            return Err(format!("a key path has at most {DEEPEST} steps"));
        }
        Ok(Self(steps))
    }
}

/// The first step of a path, and what comes behind it and its dot.
fn next_step(text: &str) -> Result<(String, &str), String> {
    if let Some(quoted) = text.strip_prefix('"') {
        let end = quoted.find('"').ok_or_else(|| format!("{text}: the quote is not closed"))?;
        let after = &quoted[end + 1..];
        return Ok((quoted[..end].to_owned(), after.strip_prefix('.').unwrap_or(after)));
    }
    if let Some(index) = text.strip_prefix('[') {
        let end = index.find(']').ok_or_else(|| format!("{text}: the bracket is not closed"))?;
        let after = &index[end + 1..];
        return Ok((index[..end].to_owned(), after.strip_prefix('.').unwrap_or(after)));
    }
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let after = &text[end..];
    Ok((text[..end].trim().to_owned(), after.strip_prefix('.').unwrap_or(after)))
}

fn assign(target: &mut Node, steps: &[String], value: &Node) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else { return merge(target, value) };
    match &mut target.value {
        NodeValue::Table(_) => assign_in_table(target, step, rest, value),
        NodeValue::List(items) => assign_in_list(items, step, rest, value),
        _ => Err(format!("there is no key \"{step}\" in {}", target.kind())),
    }
}

fn assign_in_table(
    table: &mut Node,
    step: &str,
    rest: &[String],
    value: &Node,
) -> Result<(), String> {
    if table.get(step).is_none() || (step == NAMED && rest.is_empty()) {
        if rest.is_empty() {
            table.insert(step, value.clone());
            return Ok(());
        }
        if LISTS.contains(&step) {
            return Err(format!("there are no {step} to set a key of"));
        }
        table.insert(step, Node { line: value.line, ..Node::empty_table() });
    }
    let child = table.get_mut(step).expect("it was there or has been inserted");
    if step == NAMED && child.as_text().is_some() {
        let name = std::mem::replace(child, Node { line: child.line, ..Node::empty_table() });
        child.insert("name", name);
    }
    assign(child, rest, value)
}

fn assign_in_list(
    items: &mut [Node],
    step: &str,
    rest: &[String],
    value: &Node,
) -> Result<(), String> {
    let known: Vec<String> = items
        .iter()
        .map(|item| item.get("name").and_then(Node::as_text).unwrap_or_default().to_owned())
        .collect();
    let is_name = known.iter().any(|name| name == step);
    let index = if is_name { None } else { step.parse::<usize>().ok() };
    let mut found = false;
    for (position, item) in items.iter_mut().enumerate() {
        if step == "*" || index == Some(position) || (is_name && known[position] == step) {
            assign(item, rest, value)?;
            found = true;
        }
    }
    if found {
        return Ok(());
    }
    Err(format!(
        "there is no \"{step}\"; known are {} (or * for all)",
        known.iter().filter(|name| !name.is_empty()).cloned().collect::<Vec<_>>().join(", ")
    ))
}

fn merge(target: &mut Node, value: &Node) -> Result<(), String> {
    let into_table = matches!(target.value, NodeValue::Table(_) | NodeValue::List(_));
    let is_table = matches!(value.value, NodeValue::Table(_));
    if !into_table || !is_table || changes_kind(target, value) {
        *target = value.clone();
        return Ok(());
    }
    for (key, node) in value.entries() {
        assign(target, std::slice::from_ref(key), node)?;
    }
    Ok(())
}

/// Whether this names one of the two disciplines that have the same keys.
fn is_fifo(discipline: &Node) -> bool {
    discipline.as_text().is_some_and(|name| ["pfifo", "bfifo"].contains(&name))
}

/// Whether `value` is another kind of thing than `target`, so that none of its keys would fit.
fn changes_kind(target: &Node, value: &Node) -> bool {
    ["kind", "distribution", "discipline", "form", "model", "policy"].iter().any(|tag| {
        let (old, new) = (target.get(tag), value.get(tag));
        old.zip(new)
            .is_some_and(|(old, new)| old.value != new.value && !(is_fifo(old) && is_fifo(new)))
    })
}
