//! Congestion controls in C in the running kernel.

use super::stage::{command, experiment, number, run, table};
use crate::is_available;
use fairwind_assembly::{CaptureFiles, Control};
use fairwind_scenario::Document;
use fairwind_testbed::controls::{
    ControlError, ControlObject, available, load, loaded, obstacle, unload,
};
use fairwind_testbed::{KernelRun, Outcome};
use std::sync::Mutex;

/// They are the whole machine's: one test at a time.
pub(crate) static MACHINE: Mutex<()> = Mutex::new(());

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

/// A run of so many seconds whose flows begin at `starts` and have `other`.
fn run_of_other(
    control: &ControlObject,
    seconds: u32,
    starts: &[u32],
    volume: &str,
    mark: &str,
) -> Outcome {
    let group = |start: &u32| {
        format!(
            "[[flows]]\nname = \"at-{start}\"\nstart = \"{start} s\"\ntcp = {{ congestion = \"other\" }}\n\
             workload = {{ kind = \"greedy\", volume = \"{volume}\" }}\n"
        )
    };
    let groups: String = starts.iter().map(group).collect();
    let text = format!(
        "name = \"own\"\nduration = \"{seconds} s\"\n[path]\nrate = \"5 Mbit/s\"\nrtt = \"20 ms\"\n{groups}"
    );
    let mut document = Document::parse("own.toml", &text).unwrap();
    document.provide_control("other");
    let experiment = document.experiment(&document.grid().unwrap()[0]).unwrap();
    let (files, controls) = (CaptureFiles::default(), std::slice::from_ref(control));
    let run = KernelRun::with_controls(&experiment, 1, files, command(mark), controls);
    run.unwrap().run(&Control::default()).unwrap()
}

fn is_there(control: &ControlObject) -> bool {
    available().contains(&control.kernel_name)
}

#[expect(clippy::disallowed_methods, reason = "runs go on in real time")]
fn pause_for(millis: u64) {
    std::thread::sleep(std::time::Duration::from_millis(millis));
}

#[test]
fn of_two_runs_at_once_the_last_removes_what_both_have() {
    if !is_loadable("of_two_runs_at_once_the_last_removes_what_both_have") {
        return;
    }
    let _alone = MACHINE.lock();
    let control = &other("fwt_shared");
    std::thread::scope(|scope| {
        let long =
            scope.spawn(|| run_of_other(control, 5, &[0, 4], "100 kB", "fairwind-test-long"));
        let short = scope.spawn(|| run_of_other(control, 1, &[0], "100 kB", "fairwind-test-short"));
        short.join().unwrap();
        assert!(is_there(control), "the other one has it");
        let outcome = long.join().unwrap();
        for row in [0, 1] {
            let read = number(table(&outcome.tables, "flows"), "payload_bytes_read", row);
            assert!((read - 100_000.0).abs() < 0.5, "flow {row}: {read}");
        }
    });
    assert!(!is_there(control), "nobody has it any more");
}

#[test]
fn what_a_killed_run_has_left_is_replaced_and_removed() {
    if !is_loadable("what_a_killed_run_has_left_is_replaced_and_removed") {
        return;
    }
    let _alone = MACHINE.lock();
    let control = other("fwt_left");
    load(&control).unwrap();
    // As a run notes it whose control had other instructions.
    let folder = std::path::Path::new("/run/fairwind/congestion");
    std::fs::create_dir_all(folder).unwrap();
    let note = folder.join("fwt_left");
    std::fs::write(&note, "other instructions").unwrap();
    run_of_other(&control, 1, &[0], "100 kB", "fairwind-test-left");
    assert!(!is_there(&control));
    assert!(!note.exists());
}

#[test]
fn what_was_loaded_to_stay_stays_when_a_run_had_it() {
    if !is_loadable("what_was_loaded_to_stay_stays_when_a_run_had_it") {
        return;
    }
    let _alone = MACHINE.lock();
    let control = other("fwt_kept");
    load(&control).unwrap();
    run_of_other(&control, 1, &[0], "100 kB", "fairwind-test-kept");
    let stayed = is_there(&control);
    unload(&control.kernel_name).unwrap();
    assert!(stayed);
}

/// Its table lives on with the connections, under the same name.
#[test]
fn one_that_connections_still_have_is_removed_and_loaded_and_removed_again() {
    if !is_loadable("one_that_connections_still_have_is_removed_and_loaded_and_removed_again") {
        return;
    }
    let _alone = MACHINE.lock();
    let control = &other("fwt_held");
    let waits_for = |whether: bool| {
        for _ in 0..400 {
            if is_there(control) == whether {
                return;
            }
            pause_for(10);
        }
        panic!("it is never {}", if whether { "there" } else { "gone" });
    };
    std::thread::scope(|scope| {
        let run = scope.spawn(|| run_of_other(control, 3, &[0], "10 MB", "fairwind-test-held"));
        waits_for(true);
        // The connection is there, and lasts as long as the run.
        pause_for(1_500);
        unload(&control.kernel_name).unwrap();
        assert!(!is_there(control));
        load(control).unwrap();
        assert!(is_there(control));
        unload(&control.kernel_name).unwrap();
        assert!(!is_there(control));
        assert!(matches!(unload(&control.kernel_name), Err(ControlError::NotLoaded { .. })));
        run.join().unwrap();
    });
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

/// Both ends are the kernel's, in their own word on what a packet's mark is answered by: 20 packets of 1500 bytes wait
/// 12 ms at 20 Mbit/s. Our end in the simulator keeps the same queue.
#[test]
fn dctcp_in_the_kernel_keeps_the_queue_at_the_threshold_of_marks() {
    if !is_loadable("dctcp_in_the_kernel_keeps_the_queue_at_the_threshold_of_marks") {
        return;
    }
    let _alone = MACHINE.lock();
    let text = "name = \"marks\"\nduration = \"5 s\"\n[path]\nrate = \"20 Mbit/s\"\nrtt = \"20 ms\"\n\
                queue = { discipline = \"codel\", ecn = true, target = \"100 ms\", ce_threshold = \"12 ms\" }\n\
                [[flows]]\nname = \"greedy\"\nworkload = { kind = \"greedy\" }\n\
                tcp = { congestion = \"dctcp\" }\n[measure]\nwarmup = \"2 s\"\n";
    let outcome = run(&experiment(text), "fairwind-test-dctcp").unwrap();
    let queues = table(&outcome.tables, "queues");
    let marks = number(queues, "marks_packets", 0);
    assert!(marks > 10.0, "{marks} packets were marked");
    assert!(number(queues, "drops_packets", 0) < 0.5, "none was dropped");
    let mean = number(queues, "sojourn_mean_s", 0);
    assert!((0.002..0.020).contains(&mean), "{mean} s in the queue");
}
