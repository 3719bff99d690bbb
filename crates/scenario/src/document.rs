//! A scenario file: read, changed from outside, and made into experiments.

use crate::check::check;
use crate::error::{ScenarioError, ScenarioErrors};
use crate::experiment::Experiment;
use crate::input::ScenarioInput;
use crate::named_file::{self, NamedFile, Recordings};
use crate::node::{KeyPath, Node, NodeValue};
use crate::schema::schema;
use crate::sweep::{Axis, Point, REFERENCE, Sweep, is_scenario_path};
use crate::{resolve, rules};
use std::collections::BTreeSet;
use toml::de::{DeTable, DeValue};

/// A scenario file that is TOML; whether it is also a scenario is found by [`Document::plan`].
#[derive(Debug, Clone)]
pub struct Document {
    file: String,
    /// Everything but the sweep.
    pub(crate) root: Node,
    /// The `[sweep]` table as written.
    sweep: Option<Node>,
    /// What the files hold that were provided.
    recordings: Recordings,
}

/// One point's experiment, or its errors.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) experiment: Option<Experiment>,
    pub(crate) errors: Vec<ScenarioError>,
    pub(crate) warnings: Vec<ScenarioError>,
}

impl Document {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// All places where `text` is not TOML, with their lines.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, ScenarioErrors> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let errors = errors.iter().map(|error| syntax_error(error, text)).collect();
            return Err(ScenarioErrors::new(file_name, errors));
        }
        let mut root = Node::from_toml_document(table.get_ref(), text);
        let sweep = root.remove("sweep");
        Ok(Self { file: file_name.to_owned(), root, sweep, recordings: Recordings::default() })
    }

    /// Sets what `key_path` addresses (`flows.thin.count`, `path.rate`, `sweep.repeat`) to a TOML
    /// value; anything else than a TOML value is a text, so that `20 ms` needs no quotes.
    ///
    /// A key that the grid varies is no longer varied, unless the value is a list: then that is
    /// the axis. A list of labels for a named axis (`sweep.variant`) keeps only these, and a table for
    /// one of its labels (`sweep.variant.new`) takes the place of what the label sets.
    ///
    /// # Errors
    /// A key path that addresses nothing. Whether the value fits is found by [`Document::plan`].
    pub fn set(&mut self, key_path: &str, value_text: &str) -> Result<(), ScenarioErrors> {
        let value = value_of(value_text);
        self.try_set(key_path, &value).map_err(|rule| {
            ScenarioErrors::new(&self.file, vec![value.error(key_path, rule, None)])
        })
    }

    fn try_set(&mut self, key_path: &str, value: &Node) -> Result<(), String> {
        let path: KeyPath = key_path.parse()?;
        if path.to_string() == "repeat" || path.to_string() == "sweep.repeat" {
            self.sweep_entry_removed("repeat");
            self.root.insert("repeat", value.clone());
            return Ok(());
        }
        if let ("sweep", [_, name @ ..]) = (path.first(), path.steps()) {
            if !self.set_label(name, value)? {
                self.set_axis(&name.join("."), value)?;
            }
            self.forget_reference(name);
            return Ok(());
        }
        if !is_scenario_path(path.first()) {
            return Err(crate::sweep::unknown_top_level(path.first()));
        }
        let name = path.to_string();
        let mut root = self.root.clone();
        path.assign(&mut root, value)?;
        let sweep = Sweep::read(self.sweep.as_ref());
        // Setting what every point sets again would change nothing, and say nothing.
        let again = |axis: &&Axis| axis.name != name && axis.always_sets(&path);
        if let Some(Axis { name, .. }) = sweep.axes.iter().find(again) {
            return Err(format!("every point of the axis {name} sets it again; set that instead"));
        }
        let varied = sweep.axes.iter().any(|axis| axis.name == name);
        if varied && matches!(value.value, NodeValue::List(_)) {
            self.set_axis(&name, value)?;
        } else {
            self.root = root;
            self.sweep_entry_removed(&name);
        }
        self.forget_reference(path.steps());
        Ok(())
    }

    fn set_axis(&mut self, name: &str, value: &Node) -> Result<(), String> {
        if name.is_empty() {
            return Err("name the axis: sweep.NAME".into());
        }
        let existing = self.sweep.as_mut().and_then(|sweep| sweep.get_mut(name));
        let named = existing.filter(|axis| matches!(axis.value, NodeValue::Table(_)));
        if let (Some(axis), NodeValue::List(labels), false) =
            (named, &value.value, is_scenario_path(name))
        {
            return keep_labels(axis, labels);
        }
        // An axis that is there under this name keeps its place in the order.
        if self.sweep.as_ref().is_none_or(|sweep| sweep.get(name).is_none()) {
            self.sweep_entry_removed(name);
        }
        self.sweep.get_or_insert_with(Node::empty_table).insert(name, value.clone());
        Ok(())
    }

    /// Gives a label of a named axis other settings (`sweep.variant.new`), if the steps lead to one and the value is a
    /// table.
    fn set_label(&mut self, steps: &[String], value: &Node) -> Result<bool, String> {
        let (Some(sweep), NodeValue::Table(_)) = (&mut self.sweep, &value.value) else {
            return Ok(false);
        };
        if steps.first().is_none_or(|first| is_scenario_path(first)) {
            return Ok(false);
        }
        for end in 1..steps.len() {
            let label = steps[end..].join(".");
            match sweep.get_mut(&steps[..end].join(".")) {
                Some(axis) if axis.get(&label).is_some() => {
                    axis.insert(&label, value.clone());
                    return Ok(true);
                }
                Some(Node { value: NodeValue::Table(labels), .. }) => {
                    let known: Vec<&str> = labels.iter().map(|(known, _)| known.as_str()).collect();
                    return Err(unknown_label(&label, &known));
                }
                _ => {}
            }
        }
        Ok(false)
    }

    /// Lets the reference go that an axis with other values, set from outside, does not have.
    fn forget_reference(&mut self, steps: &[String]) {
        let wrong = |error: &ScenarioError| error.key == "sweep.reference";
        let is_asked = steps.first().is_some_and(|first| first == REFERENCE);
        if !is_asked && Sweep::read(self.sweep.as_ref()).errors.iter().any(wrong) {
            self.sweep_entry_removed(REFERENCE);
        }
    }

    /// Takes an axis out of the sweep, whether its path was written with quotes or without.
    fn sweep_entry_removed(&mut self, name: &str) {
        let Some(sweep) = &mut self.sweep else { return };
        if sweep.remove(name).is_some() {
            return;
        }
        let mut node = sweep;
        let steps: Vec<&str> = name.split('.').collect();
        for step in &steps[..steps.len() - 1] {
            match node.get_mut(step) {
                Some(child) => node = child,
                None => return,
            }
        }
        node.remove(steps[steps.len() - 1]);
    }

    /// The files that the scenario names at any point of the grid. Their text must be given by
    /// [`provide`](Self::provide): this crate opens no file.
    pub fn files(&self) -> BTreeSet<NamedFile> {
        let sweep = self.sweep();
        let mut files = BTreeSet::new();
        for point in Point::all(&sweep.axes) {
            let mut root = self.root.clone();
            apply(&sweep, &point, &mut root);
            named_file::gather(&root, &mut files);
        }
        files
    }

    /// Takes the text of one of the [`files`](Self::files).
    ///
    /// # Errors
    /// The first line that does not belong into such a file.
    pub fn provide(&mut self, file: &NamedFile, text: &str) -> Result<(), ScenarioErrors> {
        self.recordings.provide(file, text)
    }

    /// Registers a congestion control from outside the repository, compiled elsewhere.
    pub fn provide_control(&mut self, name: &str) {
        self.recordings.provide_control(name);
    }

    /// The points of the grid, in the order of the file: the last axis varies fastest.
    ///
    /// # Errors
    /// Everything that is wrong with `[sweep]` itself.
    pub fn grid(&self) -> Result<Vec<Point>, ScenarioErrors> {
        let sweep = self.sweep();
        if sweep.errors.is_empty() {
            return Ok(Point::all(&sweep.axes));
        }
        Err(ScenarioErrors::new(&self.file, sweep.errors))
    }

    /// The experiment at a point of the grid.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn experiment(&self, point: &Point) -> Result<Experiment, ScenarioErrors> {
        let outcome = self.outcome(&self.sweep(), point);
        outcome.experiment.ok_or_else(|| ScenarioErrors::new(&self.file, outcome.errors))
    }

    /// How many times each point is run; 1 where nothing (valid) is said.
    pub fn repeat(&self) -> u32 {
        let repeat = self.root.get("repeat").or_else(|| self.sweep.as_ref()?.get("repeat"));
        match repeat.map(|node| &node.value) {
            Some(NodeValue::Integer(repeat)) => u32::try_from(*repeat).unwrap_or(1).max(1),
            _ => 1,
        }
    }

    /// The seed that the repetitions' seeds are derived from; 1 where nothing (valid) is said.
    pub fn seed(&self) -> u64 {
        match self.root.get("seed").map(|node| &node.value) {
            Some(NodeValue::Integer(seed)) => u64::try_from(*seed).unwrap_or(1),
            _ => 1,
        }
    }

    /// The file as its author calls it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The sweep, with its errors.
    pub(crate) fn sweep(&self) -> Sweep {
        let mut sweep = Sweep::read(self.sweep.as_ref());
        if let (Some(inside), Some(_)) = (&sweep.repeat, self.root.get("repeat")) {
            let (rule, hint) = ("repeat is there already, at the top", "write it once");
            sweep.errors.push(inside.error("sweep.repeat", rule.into(), Some(hint.into())));
        }
        sweep
    }

    /// Sets what `point` says, checks the result, and resolves it.
    pub(crate) fn outcome(&self, sweep: &Sweep, point: &Point) -> Outcome {
        let mut root = self.root.clone();
        // `repeat` in the sweep is checked as the same key at the top is.
        if let Some(repeat) = sweep.repeat.as_ref().filter(|_| root.get("repeat").is_none()) {
            root.insert("repeat", repeat.clone());
        }
        let mut errors = apply(sweep, point, &mut root);
        let checked = check(&root, schema());
        errors.extend(checked.errors.iter().cloned());
        let mut input: ScenarioInput = match serde_json::from_value(checked.value) {
            Ok(input) => input,
            Err(error) => {
                errors.push(whole_file_error(format!("the scenario cannot be read: {error}")));
                return Outcome { experiment: None, errors, warnings: Vec::new() };
            }
        };
        input.complete(&self.recordings);
        let findings = rules::check(&input, &root, &checked.replaced, &self.recordings);
        errors.extend(findings.errors);
        let experiment = errors.is_empty().then(|| resolve::resolve(&input, &self.recordings));
        Outcome { experiment, errors, warnings: findings.warnings }
    }
}

/// Sets what `point` says; returns the settings that address nothing.
fn apply(sweep: &Sweep, point: &Point, root: &mut Node) -> Vec<ScenarioError> {
    let mut errors = Vec::new();
    for (axis, choice) in sweep.axes.iter().zip(&point.choices) {
        let settings = axis.choices.get(*choice).map_or(&[][..], |choice| &choice.settings);
        for setting in settings {
            if let Err(rule) = setting.path.assign(root, &setting.value) {
                let error = setting.value.error(&setting.key, rule, None);
                errors.push(ScenarioError { value: None, ..error });
            }
        }
    }
    errors
}

fn unknown_label(label: &str, known: &[&str]) -> String {
    format!("the axis has no label \"{label}\", only {}", known.join(", "))
}

/// Leaves the labels of an axis that are wanted, in that order; new ones where labels name a value of one key.
fn keep_labels(axis: &mut Node, labels: &[Node]) -> Result<(), String> {
    let known: Vec<&str> = axis.entries().iter().map(|(label, _)| label.as_str()).collect();
    let named = named_key(axis);
    let mut kept = Vec::new();
    for label in labels {
        let label = label.as_text().map_or_else(|| label.to_string(), str::to_owned);
        let there = axis.get(&label).cloned();
        let node = there
            .or_else(|| Some(naming(named.as_ref()?, &label)))
            .ok_or_else(|| unknown_label(&label, &known))?;
        kept.push((label, node));
    }
    axis.value = NodeValue::Table(kept);
    Ok(())
}

/// The key that two labels or more set to their own name, and nothing else: others can be made like them.
fn named_key(axis: &Node) -> Option<String> {
    let keys = axis.entries().iter().filter_map(|(label, settings)| match settings.entries() {
        [(key, value)] if value.as_text() == Some(label) => Some(key),
        _ => None,
    });
    match keys.collect::<Vec<_>>()[..] {
        [first, ref others @ ..]
            if !others.is_empty() && others.iter().all(|key| *key == first) =>
        {
            Some(first.clone())
        }
        _ => None,
    }
}

fn naming(key: &str, label: &str) -> Node {
    let value = Node { line: None, value: NodeValue::Text(label.to_owned()) };
    Node { line: None, value: NodeValue::Table(vec![(key.to_owned(), value)]) }
}

fn value_of(text: &str) -> Node {
    DeValue::parse(text.trim()).map_or_else(
        |_| Node { line: None, value: NodeValue::Text(text.to_owned()) },
        |value| Node::from_toml_value(value.get_ref()),
    )
}

fn syntax_error(error: &toml::de::Error, text: &str) -> ScenarioError {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
    let rule = format!("this is not TOML: {}", error.message().replace('\n', "; "));
    ScenarioError { line: Some(line), ..whole_file_error(rule) }
}

fn whole_file_error(rule: String) -> ScenarioError {
    ScenarioError { key: String::new(), line: None, value: None, rule, hint: None }
}
