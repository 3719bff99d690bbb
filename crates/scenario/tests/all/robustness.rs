//! Robustness: any file gives a plan or an error, never a panic.

use crate::{THIN_AGAINST_GREEDY, document};
use fairwind_scenario::{Document, Experiment};
use proptest::prelude::*;

/// A TOML value of any kind.
fn toml_value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("true".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        Just("nan".to_owned()),
        Just("-inf".to_owned()),
        Just("1e300".to_owned()),
        Just("2024-01-01".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("[[1], {a = 2}]".to_owned()),
        Just("{ kind = \"thin\" }".to_owned()),
        Just("{ distribution = \"normal\", mean = \"1 s\" }".to_owned()),
        "[0-9]{1,25}(\\.[0-9]{1,12})? ?(ms|s|h|B|GB|Mbit/s|%|bdp|% bdp|packets)"
            .prop_map(|text| format!("\"{text}\"")),
        "\"[^\"\\\\\\p{Cc}]{0,12}\"",
    ]
}

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "name",
        "duration",
        "seed",
        "repeat",
        "path",
        "path.rate",
        "path.rtt",
        "path.queue",
        "path.queue.limit",
        "path.mtu",
        "path.loss",
        "topology",
        "flows",
        "flows.*",
        "flows.thin.count",
        "flows.thin.workload",
        "flows.thin.workload.interval",
        "flows.thin.workload.payload",
        "flows.thin.workload.packet",
        "flows.*.tcp",
        "flows.greedy.tcp.mss",
        "flows.greedy.rtt",
        "flows.greedy.start",
        "flows.greedy.start_spread",
        "measure",
        "measure.intervals",
        "measure.warmup",
        "capture",
        "sweep",
        "sweep.repeat",
        "sweep.path.rtt",
        "sweep.variant",
        "sweep.flows.*.count",
    ])
}

/// Plans; what has been planned goes through JSON.
fn exercise(document: &Document) {
    let _ = document.grid();
    let Ok(plan) = document.plan() else { return };
    for cell in &plan.cells {
        let json = serde_json::to_string(&cell.experiment).expect("an experiment is JSON");
        assert_eq!(serde_json::from_str::<Experiment>(&json).expect("and back"), cell.experiment);
    }
}

proptest! {
    #[test]
    fn any_text_is_answered(text in ".{0,200}") {
        if let Ok(document) = Document::parse("any.toml", &text) {
            exercise(&document);
        }
    }

    #[test]
    fn any_settings_are_answered(settings in prop::collection::vec((key(), toml_value()), 1..4)) {
        let mut document = document(THIN_AGAINST_GREEDY);
        for (key, value) in settings {
            let _ = document.set(key, &value);
        }
        if document.repeat() < 1000 {
            exercise(&document);
        }
    }

    #[test]
    fn any_key_path_is_answered(key in "[a-z.*\\[\\]\"0-9]{0,30}", value in toml_value()) {
        let mut document = document(THIN_AGAINST_GREEDY);
        let _ = document.set(&key, &value);
        if document.repeat() < 1000 {
            exercise(&document);
        }
    }

    #[test]
    fn any_mutilated_scenario_is_answered(cut in 0..THIN_AGAINST_GREEDY.len(), length in 1_usize..40) {
        let end = (cut + length).min(THIN_AGAINST_GREEDY.len());
        let text = [&THIN_AGAINST_GREEDY[..cut], &THIN_AGAINST_GREEDY[end..]].concat();
        if let Ok(document) = Document::parse("cut.toml", &text) {
            exercise(&document);
        }
    }
}
