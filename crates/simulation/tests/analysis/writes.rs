//! An application's writes from a capture, against the application that made them.

use fairwind_analyse::{CaptureSource, Write, Writes, WritesError, extract_writes};
use fairwind_capture::{EndOfFile, Filter, Input};
use fairwind_scenario::{Document, Experiment};
use fairwind_simulation::{CaptureFiles, Control, Simulation};
use std::fs::File;
use std::path::PathBuf;

const WIDE: &str = r#"
    name = "writes"
    duration = "20 s"
    [path]
    rate = "100 Mbit/s"
    rtt = "40 ms"
    [capture]
    points = ["sender"]
"#;

/// A group of one flow with this workload.
fn group(name: &str, workload: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nworkload = {{ {workload} }}\n")
}

fn experiment(groups: &str) -> Experiment {
    let text = format!("{WIDE}{groups}");
    let mut document = Document::parse("test.toml", &text).unwrap_or_else(|it| panic!("{it}"));
    for named in document.files() {
        let text = std::fs::read_to_string(&named.file).expect("it was written");
        document.provide(&named, &text).unwrap_or_else(|it| panic!("{it}"));
    }
    let point = &document.grid().expect("a grid")[0];
    document.experiment(point).unwrap_or_else(|it| panic!("{it}"))
}

fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs these groups, and opens what was captured near the senders.
fn captured(name: &str, groups: &str) -> CaptureSource {
    let path = place(&format!("writes-{name}.pcapng"));
    let files = CaptureFiles {
        sender: Some(Box::new(File::create(&path).expect("a file"))),
        receiver: None,
    };
    let simulation = Simulation::with_captures(&experiment(groups), 7, files).expect("it holds");
    simulation.run(&Control::default()).expect("it runs");
    CaptureSource::open(vec![Input::Path(path)], EndOfFile::Final).expect("a capture")
}

fn writes(name: &str, groups: &str, filter: Option<&str>) -> Result<Writes, WritesError> {
    let filter: Option<Filter> = filter.map(|text| text.parse().expect("a filter"));
    extract_writes(captured(name, groups), filter.as_ref())
}

/// Milliseconds and bytes.
fn times_and_bytes(writes: &Writes) -> Vec<(u64, u64)> {
    let all = writes.writes.iter();
    all.map(|write| (write.after.as_nanos() / 1_000_000, write.bytes)).collect()
}

const LIST: &str = "{ at = \"0 s\", size = \"10 B\" }, { at = \"100 ms\", size = \"5 kB\" }, \
    { at = \"300 ms\", size = \"1448 B\" }, { at = \"301 ms\", size = \"7 B\" }, { at = \"2 s\", size = \"2896 B\" }, \
    { at = \"2050 ms\", size = \"9 B\" }";

#[test]
fn large_writes_are_joined_and_small_ones_separate() {
    let groups = group("listed", &format!("kind = \"replay\", writes = [{LIST}]"));
    let found = writes("listed", &groups, None).expect("it carries data");
    let expected = [(0, 10), (100, 5000), (300, 1448), (301, 7), (2000, 2896), (2050, 9)];
    assert_eq!(times_and_bytes(&found), expected);
}

#[test]
fn replayed_capture_writes_the_same() {
    let original = group("game", "kind = \"profile\", application = \"Age of Conan\"");
    let first = writes("game", &original, None).expect("it carries data");
    assert!(first.writes.len() > 100, "{}", first.writes.len());
    let line = |write: &Write| format!("{:.9},{}\n", write.after.as_secs_f64(), write.bytes);
    let list = place("writes-game.csv");
    let text: String = first.writes.iter().map(line).collect();
    std::fs::write(&list, text).expect("it is written");
    let replay = format!("kind = \"replay\", file = \"{}\"", list.display());
    let again = writes("again", &group("game", &replay), None).expect("it carries data");
    assert_eq!(again.writes, first.writes);
}

#[test]
fn default_connection_has_most_payload() {
    let groups = group("small", "kind = \"replay\", writes = [{ at = \"1 s\", size = \"30 B\" }]")
        + &group("large", "kind = \"replay\", writes = [{ at = \"2 s\", size = \"40 B\" }]");
    assert_eq!(
        times_and_bytes(&writes("two", &groups, None).expect("there are two")),
        [(2000, 40)]
    );
    let found = writes("two", &groups, None).expect("there are two");
    let (from, _) = found.flow.split_once('>').expect("from one end to another");
    let (host, _) = from.rsplit_once(':').expect("an address and a port");
    let other = format!("not host {host}");
    assert_eq!(
        times_and_bytes(&writes("two", &groups, Some(&other)).expect("the other")),
        [(1000, 30)]
    );
    let nobody = writes("two", &groups, Some("port 9")).expect_err("there is none");
    assert_eq!(nobody.to_string(), "no connection that carries data matches `port 9`");
    let packets = writes("two", &groups, Some("tcp[13] & 2 != 0")).expect_err("of packets");
    assert!(packets.to_string().contains("selects packets"), "{packets}");
}

#[test]
fn retransmitted_data_is_one_write() {
    let lossy = |text: &str| text.replace("rtt =", "loss = \"5 %\"\n    rtt =");
    let groups = group("thin", "kind = \"thin\", payload = \"100 B\", interval = \"50 ms\"");
    let path = place("writes-lossy.pcapng");
    let text = lossy(&format!("{WIDE}{groups}"));
    let document = Document::parse("test.toml", &text).unwrap_or_else(|it| panic!("{it}"));
    let experiment = document.experiment(&document.grid().expect("a grid")[0]).expect("it holds");
    let sender = Some(Box::new(File::create(&path).expect("a file")) as _);
    let files = CaptureFiles { sender, receiver: None };
    let simulation = Simulation::with_captures(&experiment, 7, files).expect("it holds");
    simulation.run(&Control::default()).expect("it runs");
    let source = CaptureSource::open(vec![Input::Path(path)], EndOfFile::Final).expect("a capture");
    let found = extract_writes(source, None).expect("it carries data");
    let bytes: u64 = found.writes.iter().map(|write| write.bytes).sum();
    assert_eq!(bytes, 400 * 100, "every byte was written once");
    // What waited behind a loss is late, and several writes may have left together; nothing else is.
    let is_whole =
        |write: &&Write| write.after.as_nanos().is_multiple_of(50_000_000) && write.bytes == 100;
    let whole = found.writes.iter().filter(is_whole).count();
    assert!(whole > 320 && whole < 400, "{whole} of 400 are as they were written");
}
