//! Congestion controls from outside, in whole runs.

use fairwind_measure::Table;
use fairwind_scenario::Document;
use fairwind_simulation::{Control, Outcome, Simulation, SimulationInputs};
use fairwind_tcp::{
    CongestionControl, ControlFactory, Hooks, PluggedAlgorithm, RateSample, TcpSock,
};
use std::sync::Arc;

/// Asks for no window at all at every acknowledgment, and complains once.
#[derive(Debug, Default)]
struct EmptyWindowControl {
    has_complained: bool,
}

impl CongestionControl for EmptyWindowControl {
    fn hooks(&self) -> Hooks {
        Hooks::SSTHRESH.and(Hooks::CONG_AVOID)
    }

    fn ssthresh(&mut self, _: &mut TcpSock) -> u32 {
        2
    }

    fn cong_avoid(&mut self, sender: &mut TcpSock, _: u32, _: u32) {
        sender.window = 0;
    }

    fn take_fault(&mut self) -> Option<String> {
        let is_first = !std::mem::replace(&mut self.has_complained, true);
        is_first.then(|| "it is mistaken".to_owned())
    }
}

/// Has no threshold after a loss.
#[derive(Debug, Default)]
struct Reckless;

impl CongestionControl for Reckless {
    fn hooks(&self) -> Hooks {
        Hooks::SSTHRESH
    }

    fn ssthresh(&mut self, _: &mut TcpSock) -> u32 {
        0
    }
}

/// Paces at a byte per second once its first data is acknowledged.
#[derive(Debug, Default)]
struct SlowPaceControl;

impl CongestionControl for SlowPaceControl {
    fn hooks(&self) -> Hooks {
        Hooks::SSTHRESH.and(Hooks::CONG_CONTROL)
    }

    fn ssthresh(&mut self, _: &mut TcpSock) -> u32 {
        2
    }

    fn cong_control(&mut self, sender: &mut TcpSock, _: u32, _: i32, _: &RateSample) {
        sender.control.pacing.status = 1;
        sender.control.pacing.rate = 1;
    }
}

#[derive(Debug)]
struct SlowPaceFactory;

impl ControlFactory for SlowPaceFactory {
    fn name(&self) -> &'static str {
        "sluggish"
    }

    fn create(&self) -> Box<dyn CongestionControl> {
        Box::new(SlowPaceControl)
    }
}

#[derive(Debug)]
struct RecklessFactory;

impl ControlFactory for RecklessFactory {
    fn name(&self) -> &'static str {
        "reckless"
    }

    fn create(&self) -> Box<dyn CongestionControl> {
        Box::new(Reckless)
    }
}

#[derive(Debug)]
struct Factory;

impl ControlFactory for Factory {
    fn name(&self) -> &'static str {
        "mistaken"
    }

    fn create(&self) -> Box<dyn CongestionControl> {
        Box::new(EmptyWindowControl::default())
    }
}

fn run(congestion: &str) -> Outcome {
    let text = format!(
        "name = \"x\"\nduration = \"2 s\"\npath = {{ rate = \"1 Mbit/s\", rtt = \"100 ms\" }}\n\
         [[flows]]\nname = \"pair\"\ncount = 2\nworkload = {{ kind = \"greedy\" }}\n\
         tcp = {{ congestion = \"{congestion}\" }}\n"
    );
    let mut document = Document::parse("x.toml", &text).expect("it is TOML");
    document.provide_control("mistaken");
    document.provide_control("reckless");
    document.provide_control("sluggish");
    let experiment =
        document.experiment(&document.grid().expect("a grid")[0]).expect("it is valid");
    let factories: [Arc<dyn ControlFactory>; 3] =
        [Arc::new(Factory), Arc::new(RecklessFactory), Arc::new(SlowPaceFactory)];
    let controls = factories.map(PluggedAlgorithm).to_vec();
    let provided = SimulationInputs { controls, ..SimulationInputs::default() };
    let simulation = Simulation::with_inputs(&experiment, 1, provided).expect("it is possible");
    simulation.run(&Control::default()).expect("it ends")
}

fn text<'a>(table: &'a Table, column: &str, row: usize) -> &'a str {
    table.column(column).and_then(|values| values.text(row)).expect("a text")
}

fn number(table: &Table, column: &str, row: usize) -> Option<f64> {
    table.column(column).expect("a column").number(row)
}

#[test]
fn empty_window_is_reported_and_flow_continues() {
    let outcome = run("mistaken");
    let table = outcome.tables.get("control_complaints").expect("there is something to tell");
    assert_eq!(table.rows(), 2);
    let texts = [text(table, "complaint", 0), text(table, "complaint", 1)];
    assert_eq!(texts[1], "it is mistaken");
    assert_eq!(texts[0], "it asked for a window of no segments, and was given one segment");
    for row in 0..2 {
        assert_eq!(
            (text(table, "group", row), text(table, "congestion", row)),
            ("pair", "mistaken")
        );
        assert_eq!(number(table, "connections", row), Some(2.0));
    }
    // One for each acknowledgment of data: two flows, a round trip each of 100 ms and more, 2 s.
    let times = number(table, "times", 0).expect("they are counted");
    assert!((20.0..=40.0).contains(&times), "{times}");
    assert_eq!(number(table, "times", 1), None);
    let flows = outcome.tables.get("flows").expect("a table");
    assert!(number(flows, "payload_bytes_read", 0).expect("a number") > 15.0 * 1448.0);
}

#[test]
fn zero_threshold_is_reported() {
    let outcome = run("reckless");
    let table = outcome.tables.get("control_complaints").expect("there is something to tell");
    let complaint = "it asked for a window of no segments, and was given one segment";
    assert_eq!(text(table, "complaint", 0), complaint);
    let flows = outcome.tables.get("flows").expect("a table");
    let reductions = number(flows, "fast_retransmits", 0).expect("a number")
        + number(flows, "fast_retransmits", 1).expect("a number");
    assert!(number(table, "times", 0).expect("they are counted") >= reductions.max(1.0));
}

/// A segment of 1448 bytes would take 24 minutes: the flow stalls, and not silently.
#[test]
fn tiny_pacing_rate_is_reported() {
    let outcome = run("sluggish");
    let table = outcome.tables.get("control_complaints").expect("there is something to tell");
    let complaint = "it asked for a pace at which a segment takes longer than a minute";
    assert_eq!((table.rows(), text(table, "complaint", 0)), (1, complaint));
    assert_eq!(number(table, "connections", 0), Some(2.0));
    assert_eq!(number(table, "times", 0), Some(2.0), "it asked once of each, and kept to it");
    let flows = outcome.tables.get("flows").expect("a table");
    assert!(number(flows, "payload_bytes_read", 0).expect("a number") < 40.0 * 1448.0);
}

#[test]
fn well_behaved_control_has_no_complaint_table() {
    for congestion in ["cubic", "reno-c", "bbr", "bbr3"] {
        assert!(run(congestion).tables.get("control_complaints").is_none(), "{congestion}");
    }
}
