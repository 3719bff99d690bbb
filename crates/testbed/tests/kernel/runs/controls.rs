//! Congestion controls in C in the running kernel.

use super::stage::{command, experiment, number, run, table};
use crate::is_available;
use fairwind_assembly::{CaptureFiles, Control};
use fairwind_scenario::Document;
use fairwind_testbed::KernelRun;
use fairwind_testbed::controls::{
    ControlError, ControlObject, available, load, loaded, obstacle, unload,
};
use std::sync::Mutex;

/// They are the whole machine's: one test at a time.
static MACHINE: Mutex<()> = Mutex::new(());

/// Whether congestion controls can be loaded; says why, where they cannot.
fn is_loadable(test: &str) -> bool {
    if !is_available(test) {
        return false;
    }
    let obstacle = obstacle();
    if let Some(reason) = &obstacle {
        println!("skipped: {test}: {reason}");
    }
    obstacle.is_none()
}

/// A control that the repository has not: Reno under another name.
fn other(kernel_name: &str) -> ControlObject {
    let folder = tempfile::tempdir().unwrap();
    let (source, object) = (folder.path().join("other.c"), folder.path().join("other.o"));
    let text = fairwind_congestion::source_of("reno-c").unwrap().replace("fw_reno", kernel_name);
    std::fs::write(&source, text).unwrap();
    fairwind_congestion::compile_object(&source, &object).unwrap();
    ControlObject {
        name: "other".to_owned(),
        kernel_name: kernel_name.to_owned(),
        object: std::fs::read(&object).unwrap(),
    }
}

#[test]
fn every_algorithm_in_c_is_taken_by_the_kernel_and_carries_a_transfer() {
    if !is_loadable("every_algorithm_in_c_is_taken_by_the_kernel_and_carries_a_transfer") {
        return;
    }
    let _alone = MACHINE.lock();
    let names = fairwind_congestion::names();
    let before = available();
    let group = |name: &String| {
        format!(
            "[[flows]]\nname = \"{name}\"\nworkload = {{ kind = \"greedy\", volume = \"200 kB\" }}\n\
             tcp = {{ congestion = \"{name}\" }}\n"
        )
    };
    let groups: String = names.iter().map(group).collect();
    let text = format!(
        "name = \"all\"\nduration = \"6 s\"\n[path]\nrate = \"20 Mbit/s\"\nrtt = \"20 ms\"\n\
         queue = {{ limit = \"40 packets\" }}\n{groups}"
    );
    let outcome = run(&experiment(&text), "fairwind-test-controls").unwrap();
    let flows = table(&outcome.tables, "flows");
    for (row, name) in names.iter().enumerate() {
        let read = number(flows, "payload_bytes_read", row);
        assert!((read - 200_000.0).abs() < 0.5, "{name}: {read} bytes were read");
    }
    assert_eq!(available(), before, "what was loaded for the run is gone with it");
}

#[test]
fn a_control_of_ones_own_is_loaded_for_the_run_that_asks_for_it() {
    if !is_loadable("a_control_of_ones_own_is_loaded_for_the_run_that_asks_for_it") {
        return;
    }
    let _alone = MACHINE.lock();
    let text = "name = \"own\"\nduration = \"2 s\"\n[path]\nrate = \"5 Mbit/s\"\nrtt = \"20 ms\"\n\
                [[flows]]\nname = \"own\"\nworkload = { kind = \"greedy\", volume = \"100 kB\" }\n\
                tcp = { congestion = \"other\" }\n";
    let mut document = Document::parse("own.toml", text).unwrap();
    document.provide_control("other");
    let experiment = document.experiment(&document.grid().unwrap()[0]).unwrap();
    let begin = |controls: &[ControlObject]| {
        let files = CaptureFiles::default();
        KernelRun::with_controls(&experiment, 1, files, command("fairwind-test-own"), controls)
    };
    let refused = begin(&[]).err().unwrap().to_string();
    assert!(refused.contains("there is no congestion control \"other\""), "{refused}");
    let outcome = begin(&[other("fwt_own")]).unwrap().run(&Control::default()).unwrap();
    let read = number(table(&outcome.tables, "flows"), "payload_bytes_read", 0);
    assert!((read - 100_000.0).abs() < 0.5, "{read}");
    assert!(!available().contains(&"fwt_own".to_owned()));
}

#[test]
fn what_is_loaded_stays_is_listed_and_can_be_removed() {
    if !is_loadable("what_is_loaded_stays_is_listed_and_can_be_removed") {
        return;
    }
    let _alone = MACHINE.lock();
    let control = other("fwt_stays");
    load(&control).unwrap();
    assert!(loaded().unwrap().contains(&control.kernel_name));
    assert_eq!(load(&control), Err(ControlError::Taken(control.kernel_name.clone())));
    unload(&control.kernel_name).unwrap();
    assert!(!available().contains(&control.kernel_name));
    assert!(matches!(unload(&control.kernel_name), Err(ControlError::NotLoaded { .. })));
    assert!(matches!(unload("cubic"), Err(ControlError::NotLoaded { .. })));
}

#[test]
fn the_verifiers_words_are_told_where_it_refuses_a_control() {
    if !is_loadable("the_verifiers_words_are_told_where_it_refuses_a_control") {
        return;
    }
    let _alone = MACHINE.lock();
    let folder = tempfile::tempdir().unwrap();
    let (source, object) = (folder.path().join("bad.c"), folder.path().join("bad.o"));
    let text = fairwind_congestion::source_of("reno-c").unwrap().replace("fw_reno", "fwt_bad");
    let halves = "return max(tcp_sk(sk)->snd_cwnd >> 1U, 2U);";
    assert!(text.contains(halves));
    let text = text.replace(halves, "tcp_sk(sk)->srtt_us = 0; return 2;");
    std::fs::write(&source, text).unwrap();
    fairwind_congestion::compile_object(&source, &object).unwrap();
    let control = ControlObject {
        name: "bad".to_owned(),
        kernel_name: "fwt_bad".to_owned(),
        object: std::fs::read(&object).unwrap(),
    };
    let refused = load(&control).unwrap_err().to_string();
    assert!(refused.contains("no write support to tcp_sock"), "{refused}");
    assert!(refused.contains("bad is refused by the kernel's verifier"), "{refused}");
}
