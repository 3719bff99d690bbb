//! The whole of what a scenario asks for: every point of the grid, resolved, and the seeds.

use crate::document::Document;
use crate::error::{ScenarioError, ScenarioErrors};
use crate::experiment::Experiment;
use crate::seeds::replicate_seed;
use crate::sweep::Axis;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A scenario with so many errors gets no more of its points checked.
const ENOUGH_ERRORS: usize = 100;

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

/// Everything that a scenario asks to be run.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Plan {
    /// What the experiment is called.
    pub name: String,
    /// What it is for; empty where nothing was said.
    pub description: String,
    /// How many times each cell is run.
    pub repeat: u32,
    /// The seed of each repetition, the same for all cells.
    pub seeds: Vec<u64>,
    /// What is varied.
    pub axes: Vec<PlanAxis>,
    /// The points of the grid; one where nothing is varied.
    pub cells: Vec<Cell>,
    /// What is odd, and can be run all the same.
    pub warnings: Vec<String>,
}

/// One axis of the grid.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PlanAxis {
    /// The key path, or the name of a named axis.
    pub name: String,
    /// What it takes in turn.
    pub labels: Vec<String>,
}

/// One point of the grid, ready to be run.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Cell {
    /// Position in the grid, from 0.
    pub index: usize,
    /// The label of each axis, in the order of the file.
    #[serde(serialize_with = "as_map")]
    pub settings: Vec<(String, String)>,
    /// The experiment.
    pub experiment: Experiment,
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
    fn text(&self) -> String {
        let setting = |(axis, label): &(String, String)| format!("{axis} = {label}");
        self.settings.iter().map(setting).collect::<Vec<_>>().join(", ")
    }
}

impl Document {
    /// Checks every point of the grid and resolves all of them.
    ///
    /// # Errors
    /// Everything that is wrong with the sweep and with any of the points, each error once.
    pub fn plan(&self) -> Result<Plan, ScenarioErrors> {
        let sweep = self.sweep();
        let points = Point::all(&sweep.axes);
        let mut errors = Gathered::default();
        let mut warnings = Gathered::default();
        let mut cells = Vec::with_capacity(points.len());
        let mut checked = 0;
        for point in &points {
            let outcome = self.outcome(&sweep, point);
            errors.add(outcome.errors, point);
            warnings.add(outcome.warnings, point);
            checked += 1;
            if let Some(experiment) = outcome.experiment {
                let settings = point.settings.clone();
                cells.push(Cell { index: point.index, settings, experiment });
            }
            if errors.findings.len() >= ENOUGH_ERRORS {
                break;
            }
        }
        let mut errors = errors.finish(checked);
        errors.extend(sweep.errors.iter().cloned());
        if !errors.is_empty() {
            return Err(ScenarioErrors::new(self.file(), errors));
        }
        let warnings = warnings.finish(checked).iter().map(ToString::to_string).collect();
        Ok(self.plan_of(&sweep.axes, cells, warnings))
    }

    fn plan_of(&self, axes: &[Axis], cells: Vec<Cell>, warnings: Vec<String>) -> Plan {
        let text = |key| self.root.get(key).and_then(|node| node.as_text()).unwrap_or_default();
        let labels = |axis: &Axis| axis.choices.iter().map(|c| c.label.clone()).collect();
        let described = |axis: &Axis| PlanAxis { name: axis.name.clone(), labels: labels(axis) };
        Plan {
            name: text("name").to_owned(),
            description: text("description").to_owned(),
            repeat: self.repeat(),
            seeds: (0..self.repeat()).map(|i| replicate_seed(self.seed(), i)).collect(),
            axes: axes.iter().map(described).collect(),
            cells,
            warnings,
        }
    }
}

/// Findings of many points, each kept once.
#[derive(Default)]
struct Gathered {
    /// The finding, at how many points it was made, and the first of them.
    findings: Vec<(ScenarioError, usize, String)>,
}

impl Gathered {
    fn add(&mut self, errors: Vec<ScenarioError>, point: &Point) {
        for error in errors {
            match self.findings.iter_mut().find(|(known, ..)| *known == error) {
                Some((_, times, _)) => *times += 1,
                None => self.findings.push((error, 1, point.text())),
            }
        }
    }

    /// The findings; those that were not made at all `points` say where.
    fn finish(self, points: usize) -> Vec<ScenarioError> {
        let finding = |(mut error, times, point): (ScenarioError, usize, String)| {
            if times < points {
                error.rule = format!("{} (with {point})", error.rule);
            }
            error
        };
        self.findings.into_iter().map(finding).collect()
    }
}

fn as_map<S: Serializer>(settings: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(settings.len()))?;
    for (axis, label) in settings {
        map.serialize_entry(axis, label)?;
    }
    map.end()
}

impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        as_map(&self.settings, serializer)
    }
}
