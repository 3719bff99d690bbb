//! Assignment of flows to groups.

use crate::dialogue::{Dialogue, Pair, cell, cells, table};
use fairwind_analyse::{Analysis, AnalysisError, ClockMode, GroupRule, Outcome, Settings};
use fairwind_units::Span;
use fairwind_wire::Flags;

fn rules(rules: &[(&str, &str)]) -> Settings {
    let rule = |&(name, filter): &(&str, &str)| GroupRule {
        name: name.to_owned(),
        filter: filter.parse().expect("a filter"),
    };
    Settings { groups: rules.iter().map(rule).collect(), ..Settings::default() }
}

fn request() -> Dialogue {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(0).client(30_000, Flags::ACK, (1, 1, 100)).server(
        50_000,
        Flags::ACK,
        (1, 101, 1000),
    );
    dialogue
}

fn groups_of_flows(settings: Settings) -> [String; 2] {
    let outcome = request().analysed_by(settings);
    [0, 1].map(|row| cell(table(&outcome, "flows"), row, "group"))
}

#[test]
fn group_rule_matches_direction_of_data() {
    let flows = groups_of_flows(rules(&[("requests", "dst port 80"), ("answers", "src port 80")]));
    assert_eq!(flows, ["requests", "answers"]);
    assert_eq!(groups_of_flows(rules(&[("requests", "dst port 80")])), ["requests", "other"]);
    assert_eq!(groups_of_flows(rules(&[("web", "port 80")])), ["web", "web"]);
    assert_eq!(groups_of_flows(Settings::default()), ["all", "all"]);
}

#[test]
fn the_first_rule_that_holds_counts() {
    let settings = rules(&[("host", "host 10.0.0.1"), ("web", "port 80")]);
    assert_eq!(groups_of_flows(settings), ["host", "host"]);
    let settings = rules(&[("web", "dst port 81"), ("web", "dst port 80"), ("rest", "tcp")]);
    assert_eq!(groups_of_flows(settings), ["web", "rest"]);
}

#[test]
fn connection_joins_group_of_first_matching_rule() {
    let settings = rules(&[("answers", "src port 80"), ("requests", "dst port 80")]);
    let outcome = request().analysed_by(settings);
    assert_eq!(cell(table(&outcome, "connections"), 0, "group"), "answers");
    let setups = table(&outcome, "setups");
    let rows = [0, 1, 2].map(|row| cells(setups, row, ["group", "completed"]));
    assert_eq!(rows, [["answers", "1"], ["requests", "0"], ["other", "0"]]);
}

#[test]
fn a_rule_about_packets_is_refused() {
    let settings = rules(&[("syn", "tcp[tcpflags] & tcp-syn != 0")]);
    let refused = Analysis::of_one(crate::dialogue::Row::of(&request()), settings);
    let error = refused.expect_err("packets of a flow have different flags");
    assert!(matches!(error, AnalysisError::GroupOfPackets { ref name, .. } if name == "syn"));
    assert!(error.to_string().contains("ask for addresses and ports only"), "{error}");
}

/// `kind`, `count` and `max_s` of the rows of a table that are about groups.
fn times_of_groups(outcome: &Outcome) -> Vec<[String; 3]> {
    let times = table(outcome, "stream_times");
    (0..times.rows())
        .filter(|&row| cell(times, row, "scope") == "group")
        .map(|row| cells(times, row, ["kind", "count", "max_s"]))
        .collect()
}

#[test]
fn group_rtts_use_flows_seen_leaving() {
    let mut dialogue = Dialogue::new();
    // Near the client; its request is retransmitted and acknowledged 220 ms after it was sent first; round trips
    // are those of the handshake and of the second request, 20 ms each.
    dialogue.set_up(0).client(30_000, Flags::ACK, (1, 1, 100));
    dialogue.client(230_000, Flags::ACK, (1, 1, 100)).server(250_000, Flags::ACK, (1, 101, 0));
    dialogue.client(260_000, Flags::ACK, (101, 1, 100));
    // What comes from the server, one segment twice, is acknowledged within 10 us.
    dialogue.server(280_000, Flags::ACK, (1, 201, 1000)).client(
        280_010,
        Flags::ACK,
        (201, 1001, 0),
    );
    dialogue.server(281_000, Flags::ACK, (1001, 201, 1000));
    dialogue.server(500_000, Flags::ACK, (1001, 201, 1000));
    dialogue.client(500_010, Flags::ACK, (201, 2001, 0));
    let outcome = dialogue.analysed();
    let transport = table(&outcome, "transport");
    let group = (0..transport.rows()).find(|&row| cell(transport, row, "scope") == "group");
    let columns = ["rtt_samples", "rtt_min_s", "rtt_max_s", "handshake_rtt_mean_s"];
    assert_eq!(cells(transport, group.unwrap(), columns), ["1", "0.02", "0.02", "0.02"]);
    assert_eq!(cells(transport, group.unwrap(), ["streams", "data_segments"]), ["2", "6"]);
    let row = |kind: &str, count: &str, max: &str| [kind, count, max].map(str::to_owned);
    let times = times_of_groups(&outcome);
    assert!(times.contains(&row("rtt", "1", "0.02")), "{times:?}");
    assert!(times.contains(&row("ack_after_1", "1", "0.22")), "{times:?}");
}

#[test]
fn group_rtts_fall_back_to_arriving_flows() {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(0).server(30_000, Flags::ACK, (1, 1, 1000));
    dialogue.client(31_000, Flags::ACK, (1, 1001, 0));
    let times = times_of_groups(&dialogue.analysed());
    assert_eq!(times, [["rtt", "1", "0.001"].map(str::to_owned)]);
}

/// `column` of the rows of a table that are about groups, by group; rows with zero are left out.
fn of_groups(outcome: &Outcome, name: &str, column: &str) -> Vec<[String; 2]> {
    let found = table(outcome, name);
    let is_of_group =
        |row: &usize| found.column("scope").is_none() || cell(found, *row, "scope") == "group";
    (0..found.rows())
        .filter(is_of_group)
        .map(|row| cells(found, row, ["group", column]))
        .filter(|[_, value]| value != "0")
        .collect()
}

fn both_taps(dialogue: &Dialogue, rules_of: &[(&str, &str)]) -> Outcome {
    let intervals = vec![Span::from_secs(10)];
    Pair::of(dialogue).analysed_by(Settings {
        clock: ClockMode::Same,
        intervals,
        ..rules(rules_of)
    })
}

/// The request has 100 bytes, its answer 1000: every table takes each direction by its own group.
#[test]
fn directions_of_connection_have_groups_of_their_own() {
    let outcome = both_taps(&request(), &[("asked", "dst port 80"), ("answered", "src port 80")]);
    let row = |group: &str, value: &str| [group, value].map(str::to_owned);
    let bytes = [row("asked", "100"), row("answered", "1000")];
    for (name, column) in [
        ("groups", "payload_bytes_sent"),
        ("passages", "payload_bytes_sent"),
        ("losses", "payload_bytes_sent"),
    ] {
        assert_eq!(of_groups(&outcome, name, column), bytes, "{name}");
    }
    let delays = of_groups(&outcome, "delays", "payload_bytes");
    assert_eq!(delays, [vec![bytes[0].clone(); 3], vec![bytes[1].clone(); 3]].concat());
    let histogram = of_groups(&outcome, "delay_histogram", "payload_bytes");
    assert!(bytes.iter().all(|row| histogram.contains(row)), "{histogram:?}");
    assert_eq!(
        of_groups(&outcome, "queueing", "ranges"),
        [row("asked", "1"), row("answered", "1")]
    );
    let flows = table(&outcome, "delays");
    let pairs = (0..flows.rows()).filter(|&at| cell(flows, at, "scope") == "flow");
    let groups: Vec<_> = pairs.map(|at| cell(flows, at, "group")).collect();
    assert_eq!(groups, ["asked", "asked", "asked", "answered", "answered", "answered"]);
}

/// Acknowledgments alone are no flow: they count where the data that they acknowledge does.
#[test]
fn direction_without_data_is_in_group_of_connection() {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(0).client(30_000, Flags::ACK, (1, 1, 100)).server(
        50_000,
        Flags::ACK,
        (1, 101, 0),
    );
    let outcome = both_taps(&dialogue, &[("asked", "dst port 80")]);
    let asked = |value: &str| [["asked".to_owned(), value.to_owned()]];
    assert_eq!(of_groups(&outcome, "losses", "packets_sent"), asked("5"));
    assert_eq!(of_groups(&outcome, "loss_runs", "packets_sent"), asked("3"));
    assert_eq!(of_groups(&outcome, "passages", "ack_packets_sent"), asked("2"));
}
