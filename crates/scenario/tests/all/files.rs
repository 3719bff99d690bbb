//! Files named by a scenario: recorded rates, losses and delays.

use crate::{THIN_AGAINST_GREEDY, document};
use fairwind_scenario::{Document, Experiment, FileContent, NamedFile};

const RATES: &str = "rate_trace = { file = \"cell.trace\" }";

/// The usual scenario with these keys of the path, and without its rate.
fn with(keys: &str) -> String {
    let without: Vec<&str> =
        THIN_AGAINST_GREEDY.lines().filter(|line| !line.starts_with("rate =")).collect();
    let text = without.join("\n");
    assert_eq!(text.matches("[path]").count(), 1);
    text.replace("[path]", &format!("[path]\n{keys}"))
}

/// With all files provided, each with what `text` gives for what it is to hold.
fn provided(keys: &str, text: impl Fn(FileContent) -> &'static str) -> Result<Document, String> {
    let mut document = document(&with(keys));
    for named in document.files() {
        document.provide(&named, text(named.content)).map_err(|errors| errors.to_string())?;
    }
    Ok(document)
}

fn experiment(document: &Document) -> Experiment {
    let mut plan = document.plan().unwrap_or_else(|errors| panic!("{errors}"));
    plan.cells.swap_remove(0).experiment
}

fn refusal(keys: &str) -> String {
    document(&with(keys)).plan().expect_err("it is refused").to_string()
}

#[test]
fn recorded_rate_file_sets_mean_rate() {
    // 1500 B at 0, 3 and 10 ms of 10: 3600 bits per millisecond.
    let document = provided(RATES, |_| "0\n3\n10\n").expect("it is a trace");
    let named =
        NamedFile { file: "cell.trace".into(), content: FileContent::RateTrace, connection: None };
    assert_eq!(document.files().into_iter().collect::<Vec<_>>(), [named]);
    let link = &experiment(&document).network.links[0];
    assert_eq!(link.rate.expect("it follows").as_bits_per_second(), 3_600_000);
    let json = serde_json::to_value(experiment(&document)).expect("it is JSON");
    let trace = &json["network"]["links"][0]["rate_trace"];
    let whole = serde_json::json!({ "form": "opportunities", "milliseconds": [0, 3, 10] });
    assert_eq!(*trace, whole, "the experiment is whole without the file");
}

#[test]
fn a_rate_beside_a_recorded_one_stays() {
    let keys = format!("rate = \"5 Mbit/s\"\n{RATES}");
    let document = provided(&keys, |_| "10").expect("it is a trace");
    let rate = experiment(&document).network.links[0].rate.expect("it is said");
    assert_eq!(rate.as_bits_per_second(), 5_000_000);
}

#[test]
fn links_of_a_topology_have_files_too() {
    let text = "name = \"a row\"\nduration = \"1 s\"\n[topology]\nhosts = [\"a\", \"b\"]\n\
        [[topology.links]]\nfrom = \"a\"\nto = \"b\"\nrate_trace = { file = \"up.trace\" }\n\
        impairments = { loss = { model = \"recorded\", file = \"lost.txt\" } }\nqueue = \"codel\"\n\
        [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nworkload = { kind = \"greedy\" }\n";
    let mut document = document(text);
    let contents: Vec<_> = document.files().into_iter().map(|named| named.content).collect();
    assert_eq!(contents, [FileContent::Losses, FileContent::RateTrace]);
    for (named, text) in document.files().into_iter().zip(["0 1", "12"]) {
        document.provide(&named, text).expect("it is one");
    }
    let network = experiment(&document).network;
    assert_eq!(network.links[0].rate.expect("the mean").as_bits_per_second(), 1_000_000);
    assert_eq!(network.bottleneck, Some(0));
}

#[test]
fn recorded_losses_and_delays_are_read() {
    let keys = "rate = \"5 Mbit/s\"\n\
        impairments = { loss = { model = \"recorded\", file = \"lost.txt\" } }\n\
        reverse_impairments = { jitter = { deviation = \"5 ms\", file = \"experimental.dist\" } }";
    let text = |content| match content {
        FileContent::Losses => "0010 # seen\n",
        FileContent::Delays => "# measured\n-8192 0\n8192\n",
        other => panic!("nobody asks for {}", other.name()),
    };
    let document = provided(keys, text).expect("both are whole");
    let links = serde_json::to_value(experiment(&document).network.links).expect("it is JSON");
    let lost = serde_json::json!([false, false, true, false]);
    assert_eq!(links[0]["impairments"]["loss"]["lost"], lost);
    let jitter = &links[1]["impairments"]["jitter"];
    assert_eq!(jitter["table"], serde_json::json!([-8192, 0, 8192]));
    assert_eq!(jitter["distribution"], "table");
}

#[test]
fn malformed_file_is_reported_with_line() {
    let losses = "rate = \"5 Mbit/s\"\nimpairments = { loss = { model = \"recorded\", file = \"lost.txt\" } }";
    let delays = "rate = \"5 Mbit/s\"\nimpairments = { jitter = { deviation = \"1 ms\", file = \"a.dist\" } }";
    for (keys, text, expected) in [
        (RATES, "1\n2 ms\n", "cell.trace:2: a line = \"2 ms\": a whole number of milliseconds"),
        (RATES, "5\n4\n", "cell.trace:2: a line = \"4\": not less than the previous line"),
        (RATES, "", "cell.trace: a trace needs at least one instant"),
        (losses, "01\n02\n", "lost.txt:2: a line = \"02\": 1 for a packet"),
        (losses, "\n", "lost.txt: the file has no packet"),
        (delays, "1 2\n3 4.5", "a.dist:2: a line = \"3 4.5\": whole numbers"),
        (delays, "# none", "a.dist: the file has no number"),
    ] {
        let found = provided(keys, move |_| text).expect_err("it is refused");
        assert!(found.contains(expected), "expected {expected}\nfound {found}");
        assert!(found.contains("hint: "), "{found}");
    }
}

#[test]
fn named_file_excludes_inline_values() {
    let unread = refusal(RATES);
    assert!(
        unread.contains("path.rate_trace.file = \"cell.trace\": this file was not read"),
        "{unread}"
    );
    assert!(!unread.contains("path.rate:"), "the rate would follow: {unread}");
    let rate = "rate = \"5 Mbit/s\"\nimpairments = ";
    for (impairments, expected) in [
        (
            "{ loss = { model = \"recorded\", file = \"a\", lost = [true] } }",
            "loss.file = \"a\": there is lost already",
        ),
        ("{ loss = { model = \"recorded\" } }", "a loss record needs at least one packet"),
        (
            "{ jitter = { deviation = \"1 ms\", distribution = \"normal\", file = \"a\" } }",
            "jitter.file = \"a\": quantiles belong to distribution",
        ),
        (
            "{ jitter = { deviation = \"1 ms\", table = [1], file = \"a\" } }",
            "jitter.file = \"a\": there is table already",
        ),
        ("{ jitter = { deviation = \"1 ms\", distribution = \"table\" } }", "needs at least one"),
    ] {
        let found = refusal(&format!("{rate}{impairments}"));
        assert!(found.contains(expected), "expected {expected}\nfound {found}");
    }
}

#[test]
fn a_setting_from_outside_may_name_another_file() {
    let mut document = document(&with(RATES));
    document.set("path.rate_trace.file", "other.trace").expect("there is such a key");
    let names: Vec<String> = document.files().into_iter().map(|named| named.file).collect();
    assert_eq!(names, ["other.trace"]);
}
