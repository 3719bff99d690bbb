//! `[sweep]`: the order of the grid, labels, named axes, seeds.

use crate::{THIN_AGAINST_GREEDY, document, plan};
use fairwind_scenario::{Profile, replicate_seed};

fn swept(sweep: &str) -> String {
    format!("{THIN_AGAINST_GREEDY}\n[sweep]\n{sweep}")
}

#[test]
fn scenario_without_sweep_has_one_point() {
    let plan = plan(THIN_AGAINST_GREEDY);
    assert_eq!((plan.cells.len(), plan.axes.len(), plan.repeat), (1, 0, 1));
    assert!(plan.cells[0].settings.is_empty());
}

#[test]
fn last_axis_varies_fastest() {
    let text = swept("\"path.rtt\" = [\"10 ms\", \"20 ms\"]\n\"flows.*.count\" = [2, 1]\n");
    let points = document(&text).grid().unwrap();
    let labels: Vec<_> = points
        .iter()
        .map(|point| (point.index, point.settings[0].1.as_str(), point.settings[1].1.as_str()))
        .collect();
    assert_eq!(
        labels,
        [(0, "10 ms", "2"), (1, "10 ms", "1"), (2, "20 ms", "2"), (3, "20 ms", "1")]
    );
    assert_eq!(points[0].settings[0].0, "path.rtt");
}

#[test]
fn reference_is_a_label_of_one_axis() {
    let axes = "\"path.rtt\" = [\"10 ms\", \"20 ms\"]\n\"flows.*.count\" = [2, 1]\n";
    let references = |reference: &str| -> Vec<Option<String>> {
        let plan = plan(&swept(&format!("reference = {reference}\n{axes}")));
        plan.axes.into_iter().map(|axis| axis.reference).collect()
    };
    let (long, one) = (Some("20 ms".to_owned()), Some("1".to_owned()));
    assert_eq!(references("\"20 ms\""), [long.clone(), None]);
    assert_eq!(references("1"), [None, one.clone()]);
    assert_eq!(references("[\"20 ms\", 1]"), [long.clone(), one.clone()]);
    assert_eq!(references("\"flows.*.count = 1\""), [None, one]);
    assert_eq!(
        plan(&swept(axes)).axes.iter().filter_map(|axis| axis.reference.as_ref()).count(),
        0
    );
    let wrong = |text: &str| document(&swept(text)).plan().unwrap_err().to_string();
    assert!(wrong(&format!("reference = \"30 ms\"\n{axes}")).contains("no axis has this label"));
    let twice = format!("reference = [\"10 ms\", \"20 ms\"]\n{axes}");
    assert!(wrong(&twice).contains("its axis has a reference already"));
    let alike = "\"flows.thin.count\" = [2, 1]\n\"flows.greedy.count\" = [2, 1]\n";
    assert!(wrong(&format!("reference = 1\n{alike}")).contains("several axes have this label"));
}

#[test]
fn axis_set_from_outside_lets_its_reference_go() {
    let axes = "reference = \"20 ms\"\n\"path.rtt\" = [\"10 ms\", \"20 ms\"]\n";
    let reference = |setting: &str| {
        let mut document = document(&swept(axes));
        document.set("sweep.path.rtt", setting).unwrap();
        document.plan().unwrap().axes[0].reference.clone()
    };
    assert_eq!(reference("[\"20 ms\", \"30 ms\"]").as_deref(), Some("20 ms"));
    assert_eq!(reference("[\"30 ms\", \"40 ms\"]"), None);
    let mut document = document(&swept(axes));
    document.set("path.rtt", "30 ms").unwrap();
    assert!(document.plan().unwrap().axes.is_empty());
}

#[test]
fn star_sets_all_name_sets_one() {
    let counts = |sweep: &str| {
        let plan = plan(&swept(sweep));
        let flows = &plan.cells[0].experiment.flows;
        (flows[0].count, flows[1].count)
    };
    assert_eq!(counts("\"flows.*.count\" = [3]"), (3, 3));
    assert_eq!(counts("\"flows.greedy.count\" = [3]"), (8, 3));
    assert_eq!(counts("\"flows.0.count\" = [3]"), (3, 8));
    assert_eq!(counts("flows.thin.count = [3]"), (3, 8));
}

#[test]
fn sweep_merges_tables_and_replaces_workloads() {
    let text = swept(
        "\"flows.thin.tcp\" = [{ congestion = \"reno\" }]\n\
         \"flows.thin.workload\" = [{ interval = \"1 s\" }, { kind = \"greedy\" }]\n",
    );
    let plan = plan(&text);
    let tcp = plan.cells[0].experiment.flows[0].tcp;
    assert_eq!(tcp.profile, Some(Profile::Linux3_16));
    assert_eq!(tcp.modified_fast_retransmit, Some(true));
    let workload = serde_json::to_value(&plan.cells[0].experiment.flows[0].workload).unwrap();
    assert_eq!(workload["interval"], "1 s");
    assert_eq!(workload["size"]["payload"], "120 B");
    let workload = serde_json::to_value(&plan.cells[1].experiment.flows[0].workload).unwrap();
    assert_eq!(workload["kind"], "greedy");
}

#[test]
fn a_named_axis_sets_several_keys_by_label() {
    let text = swept(
        "\"flows.*.count\" = [1, 2]\n[sweep.variant]\nTCP = {}\n\
         mFR = { \"flows.thin.tcp.modified_fast_retransmit\" = false, \"path.rtt\" = \"1 s\" }\n",
    );
    let plan = plan(&text);
    assert_eq!(plan.axes[1].name, "variant");
    assert_eq!(plan.axes[1].labels, ["TCP", "mFR"]);
    assert_eq!(plan.cells.len(), 4);
    let changed = &plan.cells[3].experiment;
    assert_eq!(changed.flows[0].tcp.modified_fast_retransmit, Some(false));
    assert_eq!(changed.network.links[0].delay.as_millis(), 500);
    let json = serde_json::to_string(&plan.cells[3]).unwrap();
    assert!(json.contains(r#""settings":{"flows.*.count":"2","variant":"mFR"}"#), "{json}");
}

#[test]
fn key_may_be_set_only_in_sweep() {
    let text = swept("\"path.rate\" = [\"2 Mbit/s\"]").replace("rate = \"1 Mbit/s\"\n", "");
    assert_eq!(plan(&text).cells[0].settings, [("path.rate".to_owned(), "2 Mbit/s".to_owned())]);
}

#[test]
fn repeat_is_top_level_or_in_sweep() {
    assert_eq!(plan(&swept("repeat = 3")).seeds.len(), 3);
    let at_the_top = format!("repeat = 2\nseed = 9\n{THIN_AGAINST_GREEDY}");
    let plan = plan(&at_the_top);
    assert_eq!(plan.seeds, [replicate_seed(9, 0), replicate_seed(9, 1)]);
}

#[test]
fn seeds_are_distinct_and_below_2_63() {
    let mut seeds = std::collections::BTreeSet::new();
    for base in 0..100 {
        for replicate in 0..100 {
            let seed = replicate_seed(base, replicate);
            assert!(seed < 1 << 63);
            assert!(seeds.insert(seed), "seed {base}/{replicate} is there twice");
        }
    }
    // The reference SplitMix64 begins so for seed 0; ours keeps its upper 63 bits.
    assert_eq!(replicate_seed(0, 0), 0xe220_a839_7b1d_cdaf >> 1);
    assert_eq!(replicate_seed(0, 1), 0x6e78_9e6a_a1b9_65f4 >> 1);
}

#[test]
fn single_point_makes_an_experiment() {
    let document = document(&swept("\"flows.*.count\" = [1, 7]"));
    let points = document.grid().unwrap();
    assert_eq!(document.experiment(&points[1]).unwrap().flows[0].count, 7);
}
