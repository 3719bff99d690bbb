//! The `[sweep]` table: axes of a grid, in the order of the file, and the points of the grid.

use crate::error::ScenarioError;
use crate::node::{KeyPath, Node, NodeValue};
use crate::schema::top_level_keys;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::BTreeSet;

/// More points than anybody runs: a slip in a list.
pub(crate) const MOST_POINTS: usize = 10_000;

/// The key of the label that others are compared with.
pub(crate) const REFERENCE: &str = "reference";

/// A point of the grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Position in the grid, from 0.
    pub index: usize,
    /// The label of each axis, in the order of the file.
    pub settings: Vec<(String, String)>,
    /// Index of the choice on each axis.
    pub(crate) choices: Vec<usize>,
}

/// One axis of the grid.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    /// The key path, or the name of a named axis.
    pub(crate) name: String,
    /// Its values in order, one or more.
    pub(crate) choices: Vec<Choice>,
    /// The label that others are compared with, where the file names one.
    pub(crate) reference: Option<String>,
}

/// One value of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    /// How it is called in tables.
    pub(crate) label: String,
    /// The keys that it sets.
    pub(crate) settings: Vec<Setting>,
}

/// One key path that is set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Setting {
    /// Where it is written, as printed in errors.
    pub(crate) key: String,
    /// The keys that it sets.
    pub(crate) path: KeyPath,
    /// The value.
    pub(crate) value: Node,
}

/// The sweep of a scenario, with its errors.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sweep {
    /// Axes in the order of the file.
    pub(crate) axes: Vec<Axis>,
    /// `repeat`, where it stands in the sweep.
    pub(crate) repeat: Option<Node>,
    /// `reference`: a label of an axis, or a list of them.
    reference: Option<Node>,
    /// The error.
    pub(crate) errors: Vec<ScenarioError>,
}

impl Sweep {
    /// Reads the `[sweep]` table.
    pub(crate) fn read(node: Option<&Node>) -> Self {
        let mut sweep = Self::default();
        match node {
            None => {}
            Some(Node { value: NodeValue::Table(entries), .. }) => {
                for (key, node) in entries {
                    sweep.entry(key, node);
                }
                sweep.name_references();
                sweep.check_names();
                sweep.check_size();
            }
            Some(node) => sweep.report(
                "sweep",
                node,
                "expected a table of key paths and lists".into(),
                Some("for example [sweep] with \"flows.*.count\" = [1, 2, 4]"),
            ),
        }
        sweep
    }

    fn entry(&mut self, name: &str, node: &Node) {
        if name == "repeat" {
            self.repeat = Some(node.clone());
            return;
        }
        if name == REFERENCE {
            self.reference = Some(node.clone());
            return;
        }
        let is_path = is_scenario_path(name);
        match &node.value {
            NodeValue::List(items) => self.path_axis(name, node, items),
            // `flows.thin.count = [..]` without quotes is a table in a table: the same path.
            NodeValue::Table(entries) if is_path => {
                for (step, child) in entries {
                    self.entry(&format!("{name}.{step}"), child);
                }
            }
            NodeValue::Table(entries) => self.named_axis(name, node, entries),
            _ => {
                let rule = "an axis is a list of values, or a table of named settings";
                self.report(&sweep_key(name), node, rule.into(), Some("write it as [..]"));
            }
        }
    }

    fn path_axis(&mut self, name: &str, node: &Node, items: &[Node]) {
        let key = sweep_key(name);
        if items.is_empty() {
            self.report(&key, node, "the list is empty, so nothing would be run".into(), None);
            return;
        }
        let path = match scenario_path(name) {
            Ok(path) => path,
            Err(rule) => {
                let hint = "a named axis is a table: [sweep.NAME] with LABEL = { \"key\" = value }";
                self.report(&key, node, rule, Some(hint));
                return;
            }
        };
        let choice = |item: &Node| Choice {
            label: item.as_text().map_or_else(|| item.to_string(), str::to_owned),
            settings: vec![Setting { key: key.clone(), path: path.clone(), value: item.clone() }],
        };
        self.push(name, node, items.iter().map(choice).collect());
    }

    fn named_axis(&mut self, name: &str, node: &Node, labels: &[(String, Node)]) {
        if labels.is_empty() {
            let rule = "the axis has no labels, so nothing would be run";
            self.report(&sweep_key(name), node, rule.into(), None);
            return;
        }
        let mut choices = Vec::new();
        for (label, settings) in labels {
            let key = format!("{}.{label}", sweep_key(name));
            let NodeValue::Table(entries) = &settings.value else {
                let hint =
                    "for example mFR = { \"flows.thin.tcp.modified_fast_retransmit\" = true }";
                let rule = "a label of a named axis is a table of key paths and values";
                self.report(&key, settings, rule.into(), Some(hint));
                continue;
            };
            let settings = self.label_settings(&key, entries);
            choices.push(Choice { label: label.clone(), settings });
        }
        if !choices.is_empty() {
            self.push(name, node, choices);
        }
    }

    fn label_settings(&mut self, key: &str, entries: &[(String, Node)]) -> Vec<Setting> {
        let mut settings = Vec::new();
        for (path_text, value) in entries {
            let key = format!("{key}.{}", quoted(path_text));
            match scenario_path(path_text) {
                Ok(path) => settings.push(Setting { key, path, value: value.clone() }),
                Err(rule) => self.report(&key, value, rule, None),
            }
        }
        settings
    }

    fn push(&mut self, name: &str, node: &Node, choices: Vec<Choice>) {
        let mut seen = BTreeSet::new();
        if let Some(twice) = choices.iter().find(|choice| !seen.insert(&choice.label)) {
            let rule = format!("{} is there twice", twice.label);
            self.report(&sweep_key(name), node, rule, None);
            return;
        }
        self.axes.push(Axis { name: name.to_owned(), choices, reference: None });
    }

    /// Gives each label that is named as a reference to the axis that has it.
    fn name_references(&mut self) {
        let Some(node) = self.reference.take() else { return };
        let labels = match &node.value {
            NodeValue::List(items) => items.as_slice(),
            _ => std::slice::from_ref(&node),
        };
        for label in labels {
            let text = label.as_text().map_or_else(|| label.to_string(), str::to_owned);
            if let Err(rule) = self.name_reference(&text) {
                let hint = "write a label, AXIS=LABEL, or a list with one for each of several axes";
                self.report("sweep.reference", label, rule, Some(hint));
            }
        }
    }

    fn name_reference(&mut self, text: &str) -> Result<(), String> {
        let has = |axis: &&mut Axis, label: &str| axis.choices.iter().any(|c| c.label == label);
        let mut found: Vec<(&mut Axis, &str)> =
            self.axes.iter_mut().filter(|axis| has(axis, text)).map(|axis| (axis, text)).collect();
        if found.is_empty()
            && let Some((name, label)) = text.split_once('=')
        {
            let (name, label) = (name.trim(), label.trim());
            found = self
                .axes
                .iter_mut()
                .filter(|axis| axis.name == name && has(axis, label))
                .map(|axis| (axis, label))
                .collect();
        }
        match found.as_mut_slice() {
            [(axis, _)] if axis.reference.is_some() => {
                return Err("its axis has a reference already".into());
            }
            [(axis, label)] => axis.reference = Some((*label).to_owned()),
            [] => return Err("no axis has this label".into()),
            _ => return Err("several axes have this label".into()),
        }
        Ok(())
    }

    fn check_names(&mut self) {
        let mut seen = BTreeSet::new();
        let twice = self.axes.iter().find(|axis| !seen.insert(&axis.name));
        let Some(name) = twice.map(|axis| axis.name.clone()) else { return };
        let key = sweep_key(&name);
        self.errors.push(ScenarioError {
            key,
            line: self.axes.iter().rev().find(|axis| axis.name == name).and_then(Axis::line),
            value: None,
            rule: "this axis is there twice".into(),
            hint: None,
        });
    }

    fn check_size(&mut self) {
        let points = self.axes.iter().try_fold(1_usize, |product, axis| {
            product.checked_mul(axis.choices.len()).filter(|points| *points <= MOST_POINTS)
        });
        if points.is_none() {
            let lengths: Vec<String> =
                self.axes.iter().map(|axis| axis.choices.len().to_string()).collect();
            self.errors.push(ScenarioError {
                key: "sweep".into(),
                line: self.axes.first().and_then(Axis::line),
                value: Some(lengths.join(" x ")),
                rule: format!("a grid has at most {MOST_POINTS} points"),
                hint: None,
            });
            self.axes.clear();
        }
    }

    fn report(&mut self, key: &str, node: &Node, rule: String, hint: Option<&str>) {
        self.errors.push(node.error(key, rule, hint.map(str::to_owned)));
    }
}

impl Axis {
    /// Whether each of its choices sets what `path` addresses.
    pub(crate) fn always_sets(&self, path: &KeyPath) -> bool {
        let sets = |choice: &Choice| choice.settings.iter().any(|s| s.path.covers(path));
        self.choices.iter().all(sets)
    }

    fn line(&self) -> Option<usize> {
        self.choices.iter().flat_map(|choice| &choice.settings).find_map(|s| s.value.line)
    }
}

impl Point {
    /// All points of the grid, the last axis varying fastest.
    pub(crate) fn all(axes: &[Axis]) -> Vec<Self> {
        let mut choices: Vec<Vec<usize>> = vec![Vec::new()];
        for axis in axes {
            choices = choices
                .iter()
                .flat_map(|before| {
                    (0..axis.choices.len()).map(|choice| [&before[..], &[choice]].concat())
                })
                .collect();
        }
        let point = |(index, choices): (usize, Vec<usize>)| Self {
            index,
            settings: axes
                .iter()
                .zip(&choices)
                .map(|(axis, choice)| (axis.name.clone(), axis.choices[*choice].label.clone()))
                .collect(),
            choices,
        };
        choices.into_iter().enumerate().map(point).collect()
    }

    /// The settings as a person reads them.
    pub(crate) fn text(&self) -> String {
        let setting = |(axis, label): &(String, String)| format!("{axis} = {label}");
        self.settings.iter().map(setting).collect::<Vec<_>>().join(", ")
    }
}

impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        as_map(&self.settings, serializer)
    }
}

pub(crate) fn as_map<S: Serializer>(
    settings: &[(String, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(settings.len()))?;
    for (axis, label) in settings {
        map.serialize_entry(axis, label)?;
    }
    map.end()
}

/// Whether `name` begins with a key of a scenario, so that it is a path and no named axis.
pub(crate) fn is_scenario_path(name: &str) -> bool {
    let first = name.split(['.', '[']).next().unwrap_or_default();
    top_level_keys().any(|key| key == first)
}

/// Reads a key path of the scenario that can be swept.
fn scenario_path(text: &str) -> Result<KeyPath, String> {
    let path: KeyPath = text.parse()?;
    let first = path.first();
    if ["seed", "repeat"].contains(&first) {
        return Err(format!("{first} is not swept: repeat = N runs every point with N seeds"));
    }
    if !is_scenario_path(first) {
        return Err(unknown_top_level(first));
    }
    Ok(path)
}

/// Why no key path begins with `first`.
pub(crate) fn unknown_top_level(first: &str) -> String {
    let nearest = fairwind_qdisc::tc::nearest(first, top_level_keys());
    let hint = nearest.map_or(String::new(), |key| format!("; did you mean {key}?"));
    format!("a scenario has no key \"{first}\"{hint}")
}

fn sweep_key(name: &str) -> String {
    format!("sweep.{}", quoted(name))
}

fn quoted(name: &str) -> String {
    if name.contains(['.', '*']) { format!("\"{name}\"") } else { name.to_owned() }
}
