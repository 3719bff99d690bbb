//! Congestion controls in C in the running kernel.

use super::stage::{command, experiment, number, run, table};
use crate::is_available;
use fairwind_assembly::{CaptureFiles, Control};
use fairwind_kernel_settings::controls::{
    ControlError, ControlObject, available, load, loaded, obstacle, unload,
};
use fairwind_kernel_testing::can_run;
use fairwind_linux::CleanupPaths;
use fairwind_scenario::{Document, Experiment};
use fairwind_testbed::cleanup::{find, remove};
use fairwind_testbed::{KernelRun, Outcome, RunError};
use std::sync::Mutex;

/// They are the whole machine's: one test at a time.
pub(crate) static MACHINE: Mutex<()> = Mutex::new(());

/// Whether congestion controls can be loaded; says why, where they cannot.
fn is_loadable(test: &str) -> bool {
    is_available(test) && can_run(test, obstacle())
}

/// A control that the repository has not: Reno under another name.
fn other(kernel_name: &str) -> ControlObject {
    compiled("other", kernel_name, fairwind_congestion::source_of("reno-c").unwrap())
}

/// Of the same name as [`other`], and leaves a segment more after a loss.
fn other_version(kernel_name: &str) -> ControlObject {
    let text = fairwind_congestion::source_of("reno-c").unwrap();
    let halves = "tcp_sk(sk)->snd_cwnd >> 1U, 2U";
    assert!(text.contains(halves));
    compiled("other", kernel_name, &text.replace(halves, "tcp_sk(sk)->snd_cwnd >> 1U, 3U"))
}

fn compiled(name: &str, kernel_name: &str, text: &str) -> ControlObject {
    let folder = tempfile::tempdir().unwrap();
    let (source, object) = (folder.path().join("other.c"), folder.path().join("other.o"));
    std::fs::write(&source, text.replace("fw_reno", kernel_name)).unwrap();
    fairwind_congestion::compile_object(&source, &object).unwrap();
    ControlObject {
        name: name.to_owned(),
        kernel_name: kernel_name.to_owned(),
        object: std::fs::read(&object).unwrap(),
    }
}

#[test]
fn every_c_control_transfers_on_kernel() {
    if !is_loadable("every_c_control_transfers_on_kernel") {
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
    // What a killed run had left before may be gone, too.
    let after = available();
    assert!(after.iter().all(|name| before.contains(name)), "of the run is left: {after:?}");
}

#[test]
fn user_control_is_loaded_for_its_run() {
    if !is_loadable("user_control_is_loaded_for_its_run") {
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

/// One written for the kernel's own headers, and one that decides on everything at each acknowledgment.
#[test]
fn foreign_convention_files_transfer_on_kernel() {
    if !is_loadable("foreign_convention_files_transfer_on_kernel") {
        return;
    }
    let _alone = MACHINE.lock();
    for (kernel_name, text) in [
        ("fwt_steady", include_str!("../../../../congestion/tests/own/conventions.c")),
        ("fwt_rates", include_str!("../../../../congestion/tests/own/rates.c")),
    ] {
        let control = compiled("other", kernel_name, text);
        let outcome = run_of_other(&control, 3, &[0], "200 kB", "fairwind-test-other");
        let read = number(table(&outcome.tables, "flows"), "payload_bytes_read", 0);
        assert!((read - 200_000.0).abs() < 0.5, "{kernel_name}: {read}");
    }
}

/// An experiment of so many seconds; its flows begin at `starts` and have `other`.
fn experiment_of_other(seconds: u32, starts: &[u32], volume: &str) -> Experiment {
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
    document.experiment(&document.grid().unwrap()[0]).unwrap()
}

/// A run of it.
fn run_of_other(
    control: &ControlObject,
    seconds: u32,
    starts: &[u32],
    volume: &str,
    mark: &str,
) -> Outcome {
    begun(control, &experiment_of_other(seconds, starts, volume), mark).unwrap()
}

fn begun(control: &ControlObject, it: &Experiment, mark: &str) -> Result<Outcome, RunError> {
    let (files, controls) = (CaptureFiles::default(), std::slice::from_ref(control));
    KernelRun::with_controls(it, 1, files, command(mark), controls)?.run(&Control::default())
}

fn is_there(control: &ControlObject) -> bool {
    available().contains(&control.kernel_name)
}

#[expect(clippy::disallowed_methods, reason = "runs go on in real time")]
fn pause_for(millis: u64) {
    std::thread::sleep(std::time::Duration::from_millis(millis));
}

#[test]
fn last_of_two_runs_removes_control() {
    if !is_loadable("last_of_two_runs_removes_control") {
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
fn killed_runs_control_is_replaced_and_removed() {
    if !is_loadable("killed_runs_control_is_replaced_and_removed") {
        return;
    }
    let _alone = MACHINE.lock();
    let control = other("fwt_left");
    load(&control).unwrap();
    // The note of a run with other instructions in its control.
    let folder = std::path::Path::new("/run/fairwind/congestion");
    std::fs::create_dir_all(folder).unwrap();
    let note = folder.join("fwt_left");
    std::fs::write(&note, "other instructions").unwrap();
    run_of_other(&control, 1, &[0], "100 kB", "fairwind-test-left");
    assert!(!is_there(&control));
    assert!(!note.exists());
}

#[test]
fn only_dead_runs_controls_are_removed() {
    if !is_loadable("only_dead_runs_controls_are_removed") {
        return;
    }
    let _alone = MACHINE.lock();
    let control = other("fwt_forsaken");
    load(&control).unwrap();
    let folder = std::path::Path::new("/run/fairwind/congestion");
    let (stays, note) = (folder.join("fwt_forsaken.stays"), folder.join("fwt_forsaken"));
    let ours = || find(&CleanupPaths::usual()).into_iter().find(|one| one.path == note);
    assert_eq!(ours(), None, "it is there to stay");
    unload(&control.kernel_name).unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| run_of_other(&control, 2, &[0], "1 MB", "fairwind-test-living"));
        while !note.exists() && !run.is_finished() {
            std::thread::yield_now();
        }
        assert!(note.exists(), "the run has ended without it");
        assert_eq!(ours(), None, "a run has it");
        run.join().unwrap();
    });
    assert!(!note.exists(), "the run has taken it away");
    load(&control).unwrap();
    // As if the run had been killed.
    std::fs::rename(&stays, &note).unwrap();
    let left = ours().expect("nobody has it");
    assert_eq!(
        left.to_string(),
        format!("congestion control {} of runs that are gone", note.display())
    );
    remove(&left).unwrap();
    assert!(!is_there(&control));
    assert!(!note.exists());
}

#[test]
fn permanent_control_survives_run() {
    if !is_loadable("permanent_control_survives_run") {
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

/// One name, two programs: results of the one are never taken for those of the other.
#[test]
fn permanent_other_version_is_refused() {
    if !is_loadable("permanent_other_version_is_refused") {
        return;
    }
    let _alone = MACHINE.lock();
    let (control, loaded) = (other("fwt_version"), other_version("fwt_version"));
    load(&loaded).unwrap();
    let experiment = experiment_of_other(1, &[0], "100 kB");
    let verdict = fairwind_testbed::check(&experiment, std::slice::from_ref(&control));
    let refused = begun(&control, &experiment, "fairwind-test-version").err();
    let of_the_same = begun(&loaded, &experiment, "fairwind-test-version");
    unload("fwt_version").unwrap();
    let words = refused.expect("another version is there").to_string();
    assert!(words.contains("another version of the congestion control \"fwt_version\""), "{words}");
    assert!(words.contains("fairwind congestion unload fwt_version"), "{words}");
    let refusals: Vec<String> = verdict.refusals.iter().map(ToString::to_string).collect();
    assert!(refusals.concat().contains("another version"), "{refusals:?}");
    assert!(of_the_same.is_ok(), "{of_the_same:?}");
    assert!(
        begun(&control, &experiment, "fairwind-test-version").is_ok(),
        "nobody is in the way now"
    );
}

#[test]
fn foreign_control_with_same_name_is_refused() {
    if !is_loadable("foreign_control_with_same_name_is_refused") {
        return;
    }
    let _alone = MACHINE.lock();
    let experiment = experiment_of_other(1, &[0], "100 kB");
    // The kernel's own.
    let refused = begun(&other("cubic"), &experiment, "fairwind-test-cubic").err();
    let words = refused.expect("CUBIC is no Reno").to_string();
    assert!(words.contains("it may be another one"), "{words}");
    // The same file, loaded by other means: nobody knows that it is.
    let control = other("fwt_foreign");
    load(&control).unwrap();
    std::fs::remove_file("/run/fairwind/congestion/fwt_foreign.stays").unwrap();
    let refused = begun(&control, &experiment, "fairwind-test-foreign").err();
    unload("fwt_foreign").unwrap();
    let words = refused.expect("it may be anything").to_string();
    assert!(words.contains("unload fwt_foreign"), "{words}");
}

/// A run identifies a control by its instructions and the initial values of its variables.
#[test]
fn initial_values_distinguish_control_versions() {
    if !is_loadable("initial_values_distinguish_control_versions") {
        return;
    }
    let _alone = MACHINE.lock();
    let version = |least: u32| {
        let text = fairwind_congestion::source_of("reno-c").unwrap();
        let text = text.replace("snd_cwnd >> 1U, 2U", "snd_cwnd >> 1U, least");
        compiled("other", "fwt_variable", &format!("volatile unsigned least = {least};\n{text}"))
    };
    load(&version(2)).unwrap();
    let experiment = experiment_of_other(1, &[0], "100 kB");
    let same = begun(&version(2), &experiment, "fairwind-test-variable");
    let refused = begun(&version(3), &experiment, "fairwind-test-variable");
    unload("fwt_variable").unwrap();
    assert!(same.is_ok(), "{same:?}");
    let words = refused.expect_err("it begins with another number").to_string();
    assert!(words.contains("another version"), "{words}");
}

#[test]
fn unregistered_name_is_not_verifier_error() {
    if !is_loadable("unregistered_name_is_not_verifier_error") {
        return;
    }
    let _alone = MACHINE.lock();
    // Its table says another name than is asked for, and one that is there.
    let control = ControlObject { kernel_name: "fwt_asked".to_owned(), ..other("cubic") };
    let words = load(&control).unwrap_err().to_string();
    assert!(words.contains("does not register it as \"fwt_asked\""), "{words}");
    assert!(!words.contains("refused by the kernel's verifier"), "{words}");
}

/// Its table lives on with the connections, under the same name.
#[test]
fn control_in_use_can_be_reloaded() {
    if !is_loadable("control_in_use_can_be_reloaded") {
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
fn loaded_control_is_listed_and_removable() {
    if !is_loadable("loaded_control_is_listed_and_removable") {
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
fn verifier_log_is_reported_on_refusal() {
    if !is_loadable("verifier_log_is_reported_on_refusal") {
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
fn kernel_dctcp_keeps_queue_at_threshold() {
    if !is_loadable("kernel_dctcp_keeps_queue_at_threshold") {
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
