//! Captures of scenarios, analysed in several ways.

use crate::cases::{self, Case};
use crate::containers::{self, Container};
use crate::ledger::{self, Digest, Parts};
use crate::{RERUN, digests, folder, scenarios};
use fairwind_analyse::trace::{Selection, TraceLimits, TraceSettings};
use fairwind_analyse::{
    AddressTranslation, Analysis, CaptureFacts, CaptureSource, ClockMode, GroupRule, Outcome,
    Progress, Settings, TimeLimit, Vantage, extract_writes,
};
use fairwind_capture::{EndOfFile, Filter, Input, Notes};
use fairwind_units::{Instant, Span};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The capture that is analysed with all settings.
const FOR_SETTINGS: [&str; 2] = ["mixed/losses", "calls/losses"];

fn all() -> Vec<Case> {
    let mut cases = cases::read(include_str!("scenarios.toml"), include_str!("captures.toml"));
    for case in &mut cases {
        case.scenario.entry("capture").or_insert_with(|| toml::Table::new().into());
    }
    cases
}

/// Capture files of one scenario, the sender's side and the receiver's; one that has none is absent.
struct Files {
    stem: String,
    captures: [Option<Vec<u8>>; 2],
    written: RefCell<BTreeSet<PathBuf>>,
}

impl Drop for Files {
    fn drop(&mut self) {
        for path in self.written.get_mut().iter() {
            // One that is still there takes room, and nothing else.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Files {
    fn of(case: &Case) -> Self {
        let plan = scenarios::plan(case);
        let (_, captures) = scenarios::simulate(&plan.cells[0].experiment, plan.seeds[0]);
        let captures = captures.map(|capture| Some(capture.bytes()).filter(|it| !it.is_empty()));
        Self { stem: case.name.replace('/', "-"), captures, written: RefCell::default() }
    }

    /// A file with the packets of one side, in some container.
    fn source(&self, side: usize, container: &Container) -> CaptureSource {
        let bytes = self.captures[side].as_ref().expect("a capture");
        let name = format!("golden-{}-{side}-{}", self.stem, container.name);
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        if self.written.borrow_mut().insert(path.clone()) {
            std::fs::write(&path, containers::packed(bytes, container)).expect("a capture file");
        }
        CaptureSource::open(vec![Input::Path(path)], EndOfFile::Final).expect("a capture")
    }
}

fn analysed(mut analysis: Analysis<CaptureSource>) -> Outcome {
    while analysis.advance(1000) != Progress::Done {}
    analysis.finish()
}

fn parts_of(case: &str, run: &str, outcome: &Outcome) -> Parts {
    let mut parts = digests::of_tables(case, &format!("{run}."), &outcome.tables);
    let odd: Vec<String> = outcome.notes.iter().map(notes).collect();
    parts.push((format!("{run}.facts"), format!("{};{}", facts(&outcome.facts), odd.join(";"))));
    parts
}

fn notes(notes: &Notes) -> String {
    let notes = notes.iter().map(|note| format!("{}:{}", note.kind.name(), note.count));
    notes.collect::<Vec<_>>().join(",")
}

fn facts(facts: &CaptureFacts) -> String {
    let offset = facts.clock_offset_nanos.map_or("-".to_owned(), |offset| offset.to_string());
    let numbers = [
        facts.origin.as_nanos(),
        facts.last.as_nanos(),
        facts.frames[0].all,
        facts.frames[1].all,
        facts.packets[0],
        facts.packets[1],
        facts.wire_bytes[0],
        facts.wire_bytes[1],
        facts.outside,
        facts.strays,
        facts.clock_steps,
        facts.one_sided,
        facts.clock_packets,
        facts.beyond_windows,
        facts.untraced,
        facts.connections,
        facts.most_open,
    ];
    numbers.map(|number| number.to_string()).join(",") + "," + &offset
}

fn filter(text: &str) -> Filter {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Everything that tables can have.
fn usual() -> Settings {
    let rule = |name: &str, text: &str| GroupRule { name: name.to_owned(), filter: filter(text) };
    Settings {
        groups: vec![rule("first", "dst port 60000"), rule("answers", "src portrange 60000-65535")],
        intervals: vec![Span::from_secs(1), Span::from_millis(300)],
        per_flow_intervals: true,
        traces: Some(traces(Selection::Matching(filter("tcp")), 400, false)),
        ..Settings::default()
    }
}

fn traces(selection: Selection, points: usize, keeps_new_data: bool) -> TraceSettings {
    let limits = TraceLimits { points, windows: 50 };
    TraceSettings { selection, max_connections: 6, limits, keeps_new_data }
}

/// Settings by their names, each with one thing that differs.
fn settings() -> Vec<(&'static str, Settings)> {
    let since = |millis: u64| Some(TimeLimit::Since(Span::from_millis(millis)));
    let at = |millis: u64| Some(TimeLimit::At(Instant::from_millis(millis)));
    let flows = ["10.0.0.3:49152>10.0.0.4:60000", "10.0.0.4:49152>10.0.0.3:60000"];
    let named = Selection::Named(flows.map(str::to_owned).into());
    vec![
        ("default", Settings::default()),
        ("warmup", Settings { warmup: Span::from_secs(1), ..usual() }),
        ("from", Settings { from: since(1200), ..usual() }),
        ("until", Settings { until: since(2500), ..usual() }),
        ("part", Settings { from: at(1000), until: at(3000), ..usual() }),
        ("over", Settings { from: since(100_000), ..usual() }),
        ("origin", Settings { origin: Some(Instant::from_millis(400)), ..usual() }),
        ("connection-from", Settings { connection_from: Span::from_millis(300), ..usual() }),
        ("connection-until", Settings { connection_until: Some(Span::from_secs(1)), ..usual() }),
        ("sender", Settings { vantage: Vantage::Sender, ..usual() }),
        ("receiver", Settings { vantage: Vantage::Receiver, ..usual() }),
        ("opener", Settings { vantage: Vantage::Opener, ..usual() }),
        ("answerer", Settings { vantage: Vantage::Answerer, ..usual() }),
        ("idle", Settings { idle_timeout: Some(Span::from_millis(90)), ..usual() }),
        ("half-open", Settings { half_open_timeout: Span::from_millis(50), ..usual() }),
        ("linger", Settings { linger: Span::ZERO, ..usual() }),
        ("silence", Settings { max_empty_rows: Some(2), ..usual() }),
        ("all-silence", Settings { max_empty_rows: None, ..usual() }),
        ("percentiles", Settings { percentiles: vec![10.0, 99.9], slowest: 3, ..usual() }),
        ("whole-traces", {
            let traces = traces(Selection::Matching(filter("dst port 60000")), 1 << 20, true);
            Settings { traces: Some(traces), ..usual() }
        }),
        ("named-traces", Settings { traces: Some(traces(named, 100, true)), ..usual() }),
    ]
}

fn run(case: &Case) -> Parts {
    let files = Files::of(case);
    let as_written = &containers::AS_WRITTEN;
    let one = |side: usize, settings: Settings| {
        let source = files.source(side, as_written);
        analysed(Analysis::of_one(source, settings).expect("settings"))
    };
    let two = |first: usize, second: usize, settings: Settings| {
        let sources = (files.source(first, as_written), files.source(second, as_written));
        analysed(Analysis::of_two(sources.0, sources.1, settings).expect("settings"))
    };
    let mut parts = Parts::new();
    for (side, name) in ["sender", "receiver"].into_iter().enumerate() {
        if files.captures[side].is_none() {
            continue;
        }
        parts.extend(parts_of(&case.name, name, &one(side, usual())));
        if let Ok(writes) = extract_writes(files.source(side, as_written), None) {
            let mut digest = Digest::default();
            digest.text(&writes.flow);
            for write in &writes.writes {
                digest.number(write.after.as_nanos());
                digest.number(write.bytes);
            }
            parts.push((
                format!("{name}.writes"),
                format!("{}:{}", writes.writes.len(), digest.finish()),
            ));
        }
    }
    if files.captures.iter().all(Option::is_some) {
        parts.extend(parts_of(&case.name, "both", &two(0, 1, usual())));
    }
    if FOR_SETTINGS.contains(&case.name.as_str()) {
        for (name, settings) in settings() {
            parts.extend(parts_of(
                &case.name,
                &format!("sender-{name}"),
                &one(0, settings.clone()),
            ));
            parts.extend(parts_of(&case.name, &format!("both-{name}"), &two(0, 1, settings)));
        }
        parts.extend(parts_of(&case.name, "swapped", &two(1, 0, usual())));
        parts.extend(parts_of(&case.name, "alone", &two(0, 0, usual())));
        parts.extend(in_containers(case, &files));
    }
    parts
}

/// The same packets in files of other kinds, by other clocks and with other addresses.
fn in_containers(case: &Case, files: &Files) -> Parts {
    let mut parts = Parts::new();
    for container in &containers::OTHERS {
        let name = container.name;
        let source = files.source(1, container);
        let outcome = analysed(Analysis::of_one(source, usual()).expect("settings"));
        parts.extend(parts_of(&case.name, &format!("receiver-{name}"), &outcome));
        for (clock, mode) in
            [("auto", ClockMode::Auto), ("same", ClockMode::Same), ("free", ClockMode::Free)]
        {
            let sources = (files.source(0, &containers::AS_WRITTEN), files.source(1, container));
            let translations = container.translation.map(|(first, second)| AddressTranslation {
                first: (first.into(), None),
                second: (second.into(), None),
            });
            let settings = Settings {
                clock: mode,
                translations: translations.into_iter().collect(),
                ..usual()
            };
            let analysis = Analysis::of_two(sources.0, sources.1, settings).expect("settings");
            parts.extend(parts_of(&case.name, &format!("{clock}-{name}"), &analysed(analysis)));
        }
    }
    parts.extend(filtered(case, files));
    parts
}

/// Only some packets of a capture.
fn filtered(case: &Case, files: &Files) -> Parts {
    let mut parts = Parts::new();
    let filters =
        [("port", "port 60001"), ("data", "tcp and greater 200"), ("not", "not port 60000")];
    for (name, text) in filters {
        let source = files.source(0, &containers::AS_WRITTEN).filtered(filter(text));
        let outcome = analysed(Analysis::of_one(source, usual()).expect("settings"));
        parts.extend(parts_of(&case.name, &format!("only-{name}"), &outcome));
    }
    parts
}

#[test]
fn tables_of_all_captures_are_unchanged() {
    let cases: Vec<Case> = all().into_iter().filter(|it| ledger::is_selected(&it.name)).collect();
    let found = ledger::run_all(&cases, |case| case.name.clone(), run);
    ledger::compare(&folder().join("captures.txt"), &found, RERUN);
}
