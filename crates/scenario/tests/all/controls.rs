//! Congestion controls with parameters.

use crate::errors::error;
use crate::{document, with};
use fairwind_scenario::{Congestion, Document, Experiment};
use serde_json::{Value, json};

fn known(text: &str) -> Document {
    let mut document = document(text);
    document.provide_control("mine");
    document
}

/// The congestion control of the group `thin` in each cell, as the resolved experiments have it.
fn resolved(document: &Document) -> Vec<Value> {
    let plan = document.plan().unwrap_or_else(|errors| panic!("{errors}"));
    let cells = plan.cells.iter();
    cells
        .map(|cell| {
            serde_json::to_value(&cell.experiment).expect("it is JSON")["flows"][0]["tcp"]["congestion"].clone()
        })
        .collect()
}

#[test]
fn parameters_are_part_of_the_experiment() {
    let text =
        with("\"cubic\"", "{ name = \"mine\", beta = 0.7, rounds = 3, fast = true, mode = \"a\" }");
    let expected = json!({ "name": "mine", "beta": 0.7, "rounds": 3, "fast": true, "mode": "a" });
    assert_eq!(resolved(&known(&text)), [expected]);
    assert_eq!(resolved(&known(&with("\"cubic\"", "{ name = \"mine\" }"))), ["mine"]);
    assert_eq!(resolved(&known(&with("\"cubic\"", "\"mine\""))), ["mine"]);
}

#[test]
fn resolved_parameters_are_read_back() {
    let document = known(&with("\"cubic\"", "{ name = \"mine\", beta = 0.7, rounds = 3 }"));
    let plan = document.plan().unwrap();
    let text = serde_json::to_string(&plan.cells[0].experiment).unwrap();
    let again: Experiment = serde_json::from_str(&text).unwrap();
    assert_eq!(again, plan.cells[0].experiment);
    let Some(Congestion::Plugged(control)) = again.flows[0].tcp.congestion else {
        panic!("it is not the endpoint's own");
    };
    assert_eq!(control.as_str(), "mine");
    assert_eq!(control.label(), "mine(beta=0.7, rounds=3)");
    assert_eq!(control.parameters()["beta"], json!(0.7));
}

#[test]
fn a_parameter_can_be_swept() {
    let sweep = "[sweep]\n\"flows.thin.tcp.congestion.beta\" = [0.5, 0.7]\n";
    let expected = [0.5, 0.7].map(|beta| json!({ "name": "mine", "beta": beta }));
    for base in ["\"mine\"", "{ name = \"mine\" }", "{ name = \"mine\", beta = 0.9 }"] {
        let text = with("\"cubic\"", base) + sweep;
        assert_eq!(resolved(&known(&text)), expected, "{base}");
    }
}

#[test]
fn a_table_replaces_name_and_parameters() {
    let text = with("\"cubic\"", "{ name = \"mine\", beta = 0.7 }");
    let axis = "[sweep.control]\nother = { \"flows.thin.tcp.congestion\" = { name = \"htcp\" } }\n\
                faster = { \"flows.thin.tcp\" = { congestion = { name = \"mine\", gain = 2 } } }\n\
                more = { \"flows.thin.tcp.congestion.gain\" = 2 }\n";
    let expected = [
        json!("htcp"),
        json!({ "name": "mine", "gain": 2 }),
        json!({ "name": "mine", "beta": 0.7, "gain": 2 }),
    ];
    assert_eq!(resolved(&known(&(text + axis))), expected);
}

#[test]
fn impossible_parameters_are_refused() {
    let refusals = [
        ("{ beta = 0.7 }", "flows[0].tcp.congestion.name: missing"),
        (
            "{ name = \"cubic\", beta = 0.7 }",
            "congestion.beta = 0.7: a congestion control of the endpoint has no",
        ),
        (
            "{ name = \"htcp\", beta = [1] }",
            "congestion.beta = [1]: a parameter is a number, a text, or true or",
        ),
        ("{ name = \"htcp\", beta = nan }", "a parameter is a number, a text, or true or false"),
        ("{ name = 3 }", "expected a congestion control such as \"cubic\", found a whole number"),
    ];
    for (table, expected) in refusals {
        let message = error(&with("\"cubic\"", table));
        assert!(message.contains(expected), "{table}: {message}");
    }
}
