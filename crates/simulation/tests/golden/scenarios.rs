//! Scenarios with every table in the list.

use crate::cases::{self, Case};
use crate::ledger::{self, Digest, Parts};
use crate::{RERUN, digests, folder};
use fairwind_scenario::{Document, Experiment, Plan};
use fairwind_simulation::{CaptureFiles, Control, Outcome, Simulation, SimulationInputs};
use std::io::Write;
use std::sync::{Arc, Mutex};

/// All cases.
pub(crate) fn all() -> Vec<Case> {
    let text = include_str!("scenarios.toml");
    cases::read(text, text)
}

/// What a case asks to be run.
pub(crate) fn plan(case: &Case) -> Plan {
    let text = case.scenario.to_string();
    ledger::dump(&case.name, "scenario.toml", || text.clone());
    let mut document = Document::parse(&case.name, &text).unwrap_or_else(|it| panic!("{it}"));
    for file in document.files() {
        let text = case.files.get(&file.file).unwrap_or_else(|| panic!("no file {}", file.file));
        document.provide(&file, text).unwrap_or_else(|it| panic!("{it}"));
    }
    document.plan().unwrap_or_else(|it| panic!("{it}"))
}

/// A file in memory that two hold.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no panic under the lock").clone()
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic under the lock").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs an experiment; also gives the captures of the sender's and of the receiver's side.
pub(crate) fn simulate(experiment: &Experiment, seed: u64) -> (Outcome, [Memory; 2]) {
    let captures = [Memory::default(), Memory::default()];
    let writer = |place: usize| Some(Box::new(captures[place].clone()) as Box<dyn Write + Send>);
    let files = CaptureFiles { sender: writer(0), receiver: writer(1) };
    let provided = SimulationInputs { captures: files, ..SimulationInputs::default() };
    let simulation = Simulation::with_inputs(experiment, seed, provided).expect("it can be built");
    let outcome = simulation.run(&Control::default()).expect("it runs");
    (outcome, captures)
}

fn run(case: &Case) -> Parts {
    let plan = plan(case);
    let is_single = plan.cells.len() * plan.seeds.len() == 1;
    let mut parts = Parts::new();
    for cell in &plan.cells {
        for (repetition, seed) in plan.seeds.iter().enumerate() {
            let run =
                if is_single { String::new() } else { format!("{}.{repetition}.", cell.index) };
            let (outcome, captures) = simulate(&cell.experiment, *seed);
            parts.extend(digests::of_tables(&case.name, &run, &outcome.tables));
            parts.push((format!("{run}counts"), counts(&outcome)));
            for (point, capture) in ["sender", "receiver"].into_iter().zip(captures) {
                parts.extend(
                    of_capture(&capture.bytes()).map(|it| (format!("{run}{point}.pcapng"), it)),
                );
            }
        }
    }
    parts
}

fn counts(outcome: &Outcome) -> String {
    format!(
        "{},{},{},{}",
        outcome.data_segments_delivered,
        outcome.packets_injected,
        outcome.packets_delivered,
        outcome.packets_in_transit
    )
}

fn of_capture(bytes: &[u8]) -> Option<String> {
    let mut digest = Digest::default();
    digest.bytes(bytes);
    (!bytes.is_empty()).then(|| format!("{}:{}", bytes.len(), digest.finish()))
}

#[test]
fn tables_of_all_scenarios_are_unchanged() {
    let cases: Vec<Case> = all().into_iter().filter(|it| ledger::is_selected(&it.name)).collect();
    let found = ledger::run_all(&cases, |case| case.name.clone(), run);
    ledger::compare(&folder().join("scenarios.txt"), &found, RERUN);
}

#[test]
fn there_are_two_hundred_scenarios() {
    assert!(all().len() >= 200, "{}", all().len());
}
