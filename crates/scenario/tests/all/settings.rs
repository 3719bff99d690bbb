//! Settings from outside the file.

use crate::{THIN_AGAINST_GREEDY, document};
use fairwind_scenario::{Document, Plan};

const SWEPT: &str = "\n[sweep]\nrepeat = 5\n\"flows.*.count\" = [1, 2]\n\
    [sweep.variant]\nTCP = {}\nLT = { \"flows.thin.tcp.linear_timeouts\" = true }\n";

fn swept() -> Document {
    document(&format!("{THIN_AGAINST_GREEDY}{SWEPT}"))
}

fn planned(settings: &[(&str, &str)]) -> Plan {
    let mut document = swept();
    for (key, value) in settings {
        document.set(key, value).expect("the setting addresses something");
    }
    document.plan().unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn a_value_is_toml_or_else_a_text() {
    let plan = planned(&[
        ("path.rtt", "20 ms"),
        ("path.rate", "\"2 Mbit/s\""),
        ("flows.thin.tcp.nagle", "true"),
        ("measure.intervals", "[\"1 s\", \"2 s\"]"),
        ("flows[1].workload", "{ volume = \"1 MB\" }"),
        ("description", "1 Mbit/s = little"),
    ]);
    let experiment = &plan.cells[0].experiment;
    assert_eq!(experiment.network.links[0].delay.as_millis(), 10);
    assert_eq!(experiment.flows[0].tcp.nagle, Some(true));
    assert_eq!(experiment.measure.intervals.len(), 2);
    assert_eq!(experiment.description, "1 Mbit/s = little");
    let workload = serde_json::to_value(&experiment.flows[1].workload).unwrap();
    assert_eq!(workload["volume"], "1 MB");
}

#[test]
fn setting_replaces_swept_axis() {
    let fixed = planned(&[("flows.*.count", "4")]);
    assert_eq!((fixed.cells.len(), fixed.cells[0].experiment.flows[0].count), (2, 4));
    let varied = planned(&[("flows.*.count", "[4, 5, 6]")]);
    let names: Vec<_> = varied.axes.iter().map(|axis| axis.name.as_str()).collect();
    assert_eq!(names, ["flows.*.count", "variant"]);
    assert_eq!(varied.cells.len(), 6);
}

#[test]
fn settings_change_repeat_axes_and_labels() {
    let plan = planned(&[
        ("repeat", "2"),
        ("sweep.variant", "[\"LT\"]"),
        ("sweep.path.rtt", "[\"10 ms\"]"),
    ]);
    assert_eq!(plan.seeds.len(), 2);
    assert_eq!(plan.cells.len(), 2);
    assert_eq!(plan.cells[0].settings.last().unwrap().1, "10 ms");
    assert_eq!(planned(&[("sweep.repeat", "1")]).repeat, 1);
}

#[test]
fn label_of_a_named_axis_takes_other_settings() {
    let plan = planned(&[
        ("sweep.variant.LT", "{ \"flows.thin.tcp.linear_timeouts\" = true, duration = \"9 s\" }"),
        ("sweep.variant.TCP", "{ duration = \"7 s\" }"),
    ]);
    let axis = plan.axes.iter().find(|axis| axis.name == "variant").unwrap();
    assert_eq!(axis.labels, ["TCP", "LT"]);
    let duration = |label: &str| {
        let of_label =
            |cell: &&fairwind_scenario::Cell| cell.settings.iter().any(|(_, value)| value == label);
        plan.cells.iter().find(of_label).unwrap().experiment.duration.as_secs_f64()
    };
    assert_eq!((duration("LT"), duration("TCP")), (9.0, 7.0));
}

#[test]
fn keys_by_their_names_elsewhere_are_known() {
    for (written, meant) in [("rack", "loss_detection"), ("tcp_frto", "forward_rto")] {
        let text =
            THIN_AGAINST_GREEDY.replacen("tcp = {", &format!("tcp = {{ {written} = false,"), 1);
        assert_ne!(text, THIN_AGAINST_GREEDY);
        let errors = document(&text).plan().unwrap_err().to_string();
        assert!(errors.contains(&format!("did you mean \"{meant}\"?")), "{errors}");
    }
}

#[test]
fn labels_may_set_further_keys() {
    let named = |variants: &str, labels: &str| {
        let text = format!("{THIN_AGAINST_GREEDY}\n[sweep.variant]\n{variants}");
        let mut document = document(&text);
        document.set("sweep.variant", labels)?;
        let plan = document.plan().unwrap_or_else(|errors| panic!("{errors}"));
        let control = |cell: &fairwind_scenario::Cell| {
            serde_json::to_value(cell.experiment.flows[0].tcp.congestion).unwrap()
        };
        Ok::<_, fairwind_scenario::ScenarioErrors>(
            plan.cells.iter().map(control).collect::<Vec<_>>(),
        )
    };
    let key = "flows.thin.tcp.congestion";
    let two = format!("reno = {{ \"{key}\" = \"reno\" }}\ncubic = {{ \"{key}\" = \"cubic\" }}\n");
    let others =
        "none = {}\nmore = { \"flows.thin.tcp.congestion\" = \"bbr\", duration = \"9 s\" }\n";
    let with_another = named(&format!("{others}{two}"), "[\"cubic\", \"vegas\"]").unwrap();
    assert_eq!(with_another, ["cubic", "vegas"]);
    let one = "reno = { \"flows.thin.tcp.congestion\" = \"reno\" }\n";
    let elsewhere = "cubic = { \"flows.greedy.tcp.congestion\" = \"cubic\" }\n";
    for axis in [one.to_owned(), format!("{one}{others}"), format!("{one}{elsewhere}")] {
        let error = named(&axis, "[\"reno\", \"vegas\"]").unwrap_err();
        assert!(error.to_string().contains("no label \"vegas\""), "{error}");
    }
}

#[test]
fn a_setting_that_addresses_nothing_names_itself() {
    let mut document = swept();
    let error =
        |document: &mut Document, key, value| document.set(key, value).unwrap_err().to_string();
    let text = error(&mut document, "flows.thing.count", "3");
    assert_eq!(
        text,
        "test.toml: flows.thing.count = 3: there is no \"thing\"; \
         known are thin, greedy (or * for all)"
    );
    assert!(
        error(&mut document, "flows.thin.count", "3").contains("the axis flows.*.count sets it")
    );
    assert!(document.set("flows.thin.tcp.linear_timeouts", "false").is_ok());
    assert!(error(&mut document, "pth.rate", "3").contains("did you mean path?"));
    assert!(error(&mut document, "", "3").contains("not a key path"));
    assert!(error(&mut document, "flows..count", "3").contains("not a key path"));
    assert!(error(&mut document, "name.more", "3").contains("no key \"more\" in a text"));
    assert!(error(&mut document, "sweep.variant", "[\"mFR\"]").contains("only TCP, LT"));
    assert!(error(&mut document, "sweep.variant.mFR", "{}").contains("only TCP, LT"));
    assert!(error(&mut document, "sweep", "{}").contains("name the axis"));
}

#[test]
fn an_error_in_a_setting_has_no_line() {
    let mut document = swept();
    document.set("path.rtt", "20").unwrap();
    let errors = document.plan().unwrap_err();
    assert_eq!(
        errors.to_string(),
        "test.toml: path.rtt = 20: a time needs a unit, for example \"20 ms\"\n  \
         hint: write it as a text, in quotes"
    );
}
