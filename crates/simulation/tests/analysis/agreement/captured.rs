//! A scenario simulated with captures, and their analysis.

use fairwind_analyse::{
    Analysis, CaptureSource, GroupRule, NextPacket, Outcome, PacketSource, Progress, Settings,
    TimeLimit, Vantage,
};
use fairwind_assembly::FIRST_RECEIVER_PORT;
use fairwind_capture::{EndOfFile, Input, Packet};
use fairwind_measure::Tables;
use fairwind_scenario::{Document, Experiment, Workload};
use fairwind_simulation::{CaptureFiles, Control, Simulation};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// Which captures are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taps {
    Sender,
    Receiver,
    Both,
    /// The sender's capture, given for both.
    Alone,
}

/// A simulation that is over.
pub(crate) struct Simulated {
    name: String,
    experiment: Experiment,
    pub(crate) tables: Tables,
}

/// The experiment that a scenario's text describes.
fn experiment(text: &str) -> Experiment {
    let document = Document::parse("test.toml", text).unwrap_or_else(|it| panic!("{it}"));
    let point = &document.grid().expect("a grid")[0];
    document.experiment(point).unwrap_or_else(|it| panic!("{it}"))
}

impl Simulated {
    /// Simulates a scenario; its captures are called by `name`.
    pub(crate) fn run(name: &str, text: &str, seed: u64) -> Self {
        let experiment = experiment(text);
        let create = |point| {
            let file = File::create(path(name, point)).expect("a file");
            Some(Box::new(std::io::BufWriter::new(file)) as Box<dyn Write + Send>)
        };
        let files = CaptureFiles { sender: create("sender"), receiver: create("receiver") };
        let simulation = Simulation::with_captures(&experiment, seed, files).expect("it holds");
        let tables = simulation.run(&Control::default()).expect("it runs").tables;
        Self { name: name.to_owned(), experiment, tables }
    }

    /// The names of the groups that the scenario has.
    pub(crate) fn groups(&self) -> Vec<String> {
        self.experiment.flows.iter().map(|group| group.name.clone()).collect()
    }

    /// What the captures tell, asked as the scenario asks.
    pub(crate) fn analyse(&self, taps: Taps) -> Outcome {
        let open = |point| {
            let inputs = vec![Input::Path(path(&self.name, point))];
            CaptureSource::open(inputs, EndOfFile::Final).expect("a capture")
        };
        let settings = self.settings();
        let analysis = match taps {
            Taps::Sender => Analysis::of_one(open("sender"), settings),
            Taps::Receiver => Analysis::of_one(open("receiver"), settings),
            Taps::Alone => Analysis::of_two(open("sender"), open("sender"), settings),
            Taps::Both => Analysis::of_two(open("sender"), open("receiver"), settings),
        };
        let mut analysis = analysis.expect("the settings hold");
        while analysis.advance(10_000) != Progress::Done {}
        analysis.finish()
    }

    /// Stream offsets where the payload of each data packet to the receiver begins and ends, in the order of
    /// a point's capture; the scenario has one flow.
    pub(crate) fn data_packets(&self, point: &str) -> Vec<(u64, u64)> {
        let inputs = vec![Input::Path(path(&self.name, point))];
        let mut capture = CaptureSource::open(inputs, EndOfFile::Final).expect("a capture");
        let (mut packet, mut packets, mut first) = (Packet::EMPTY, Vec::new(), None);
        while capture.next(&mut packet) == NextPacket::Packet {
            let segment = &packet.segment;
            if segment.payload_bytes > 0 && segment.destination_port >= FIRST_RECEIVER_PORT {
                let first = *first.get_or_insert(segment.sequence);
                let start = u64::from(segment.sequence.distance_from(first));
                packets.push((start, start + u64::from(segment.payload_bytes)));
            }
        }
        packets
    }

    /// Groups are identified by the receiver's port.
    fn settings(&self) -> Settings {
        let measure = &self.experiment.measure;
        let groups =
            (FIRST_RECEIVER_PORT..).zip(&self.experiment.flows).flat_map(|(port, group)| {
                let rule = |name: String, direction| GroupRule {
                    name,
                    filter: format!("{direction} port {port}").parse().expect("a filter"),
                };
                let answers = matches!(group.workload, Workload::RequestResponse { .. });
                let responses = answers.then(|| rule(format!("{}-responses", group.name), "src"));
                std::iter::once(rule(group.name.clone(), "dst")).chain(responses)
            });
        Settings {
            groups: groups.collect(),
            warmup: measure.warmup,
            until: Some(TimeLimit::Since(self.experiment.duration)),
            intervals: measure.intervals.clone(),
            per_flow_intervals: measure.per_flow_intervals,
            percentiles: measure.percentiles.clone(),
            vantage: Vantage::Auto,
            ..Settings::default()
        }
    }
}

fn path(name: &str, point: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("agreed-{name}-{point}.pcapng"))
}
