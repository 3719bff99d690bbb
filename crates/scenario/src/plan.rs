//! The plan of a scenario: every point of the grid, resolved, and the seeds.

use crate::document::Document;
use crate::error::{ScenarioError, ScenarioErrors};
use crate::experiment::Experiment;
use crate::sweep::{Axis, Point};

/// Number of errors after which no more points of a scenario are checked.
const ENOUGH_ERRORS: usize = 100;

/// Everything that a scenario asks to be run.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Plan {
    /// Name of the experiment.
    pub name: String,
    /// Its purpose; empty by default.
    pub description: String,
    /// How many times each cell is run.
    pub repeat: u32,
    /// The seed of each repetition, the same for all cells.
    pub seeds: Vec<u64>,
    /// The sweep.
    pub axes: Vec<PlanAxis>,
    /// The points of the grid; one where nothing is varied.
    pub cells: Vec<Cell>,
    /// Warnings: the scenario can still be run.
    pub warnings: Vec<String>,
}

/// One axis of the grid.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PlanAxis {
    /// The key path, or the name of a named axis.
    pub name: String,
    /// Its values in order.
    pub labels: Vec<String>,
    /// The one that the others are compared with, where it is not the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// One point of the grid, ready to be run.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Cell {
    /// Position in the grid, from 0.
    pub index: usize,
    /// The label of each axis, in the order of the file.
    #[serde(serialize_with = "crate::sweep::as_map")]
    pub settings: Vec<(String, String)>,
    /// The experiment.
    pub experiment: Experiment,
}

impl Document {
    /// Checks every point of the grid and resolves all of them.
    ///
    /// # Errors
    /// Everything that is wrong with the sweep and with any of the points, each error once.
    pub fn plan(&self) -> Result<Plan, ScenarioErrors> {
        let sweep = self.sweep();
        let points = Point::all(&sweep.axes);
        let mut errors = CollectedFindings::default();
        let mut warnings = CollectedFindings::default();
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
        let described = |axis: &Axis| PlanAxis {
            name: axis.name.clone(),
            labels: labels(axis),
            reference: axis.reference.clone(),
        };
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
struct CollectedFindings {
    /// The finding, at how many points it was made, and the first of them.
    findings: Vec<(ScenarioError, usize, String)>,
}

impl CollectedFindings {
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

/// Seed of one repetition, below 2^63.
///
/// It depends on nothing else, so that all points of a grid see the same seeds and can be compared
/// in pairs. The mixing is the finaliser of `SplitMix64` (Steele, Lea, Flood 2014), which spreads
/// neighbouring seeds and repetitions over the whole range.
pub fn replicate_seed(base_seed: u64, replicate: u32) -> u64 {
    const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    let step = GOLDEN_GAMMA.wrapping_mul(u64::from(replicate) + 1);
    let mut mixed = base_seed.wrapping_add(step);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) >> 1
}
