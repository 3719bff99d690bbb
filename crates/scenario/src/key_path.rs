//! Dotted key paths such as `flows.*.count`, and setting what they address.

use crate::node::{Node, NodeValue};
use std::str::FromStr;

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
        _ => Err(format!("it addresses nothing: before \"{step}\" there is {}", target.kind())),
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
            return Err(format!("it addresses nothing: there are no {step}"));
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
        "it addresses nothing: there is no \"{step}\", only {} (or * for all)",
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
