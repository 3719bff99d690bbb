//! Which flows are in which group.

use crate::dialogue::{Dialogue, cell, cells, table};
use fairwind_analyse::{Analysis, AnalysisError, GroupRule, Settings};
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
fn a_rule_is_asked_about_the_direction_of_the_data() {
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
fn a_connection_is_in_the_group_of_the_first_rule_for_either_direction() {
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
