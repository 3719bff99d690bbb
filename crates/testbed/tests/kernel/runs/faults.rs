//! Runs that somebody breaks.

use super::stage::{path, processes, run, run_with, wait_for};
use crate::is_available;
use fairwind_assembly::{CaptureFiles, Control};
use fairwind_testbed::RunError;
use std::sync::Arc;

const GREEDY: &str = r#"
    [[flows]]
    name = "greedy"
    workload = { kind = "greedy" }
"#;

/// Names of hosts' namespaces that this process has made and that are still there. Tests run side
/// by side, so only hosts with this name count.
fn names(host: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/run/netns") else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let begin = format!("fairwind-{}.", std::process::id());
    names.filter(|name| name.starts_with(&begin) && name.ends_with(host)).collect()
}

#[test]
fn a_cancelled_run_ends_at_once_and_leaves_nothing() {
    if !is_available("a_cancelled_run_ends_at_once_and_leaves_nothing") {
        return;
    }
    let experiment = path("60 s", &GREEDY.replace("greedy\"\n", "cancelled\"\n"));
    let control = Arc::new(Control::default());
    let running = control.clone();
    let mark = "fairwind-test-cancelled";
    let run =
        std::thread::spawn(move || run_with(&experiment, mark, CaptureFiles::default(), &running));
    wait_for("the run begins", || control.fraction() > 0.0);
    assert_eq!(names("cancelled-sender").len(), 1);
    control.cancel();
    let error = run.join().unwrap().expect_err("it was cancelled");
    assert!(matches!(error, RunError::Cancelled), "{error}");
    assert_eq!(processes(mark), [0; 0]);
    assert_eq!(names("cancelled-sender"), [""; 0]);
}

#[test]
fn a_host_that_is_killed_ends_the_run_and_is_named() {
    if !is_available("a_host_that_is_killed_ends_the_run_and_is_named") {
        return;
    }
    let experiment = path("60 s", &GREEDY.replace("greedy\"\n", "killed\"\n"));
    let mark = "fairwind-test-killed";
    let control = Arc::new(Control::default());
    let running = control.clone();
    let run =
        std::thread::spawn(move || run_with(&experiment, mark, CaptureFiles::default(), &running));
    wait_for("the run begins", || control.fraction() > 0.0);
    let victim = processes(mark)[0].to_string();
    let killed = std::process::Command::new("kill").args(["-KILL", &victim]).status().unwrap();
    assert!(killed.success());
    let error = run.join().unwrap().expect_err("a host is gone").to_string();
    assert!(error.contains("killed-sender") || error.contains("killed-receiver"), "{error}");
    assert!(error.contains("signal: 9"), "{error}");
    assert_eq!(processes(mark), [0; 0]);
    assert_eq!(names("killed-sender"), [""; 0]);
}

#[test]
fn a_host_that_stands_still_ends_the_run_and_is_named() {
    if !is_available("a_host_that_stands_still_ends_the_run_and_is_named") {
        return;
    }
    let experiment = path("120 s", &GREEDY.replace("greedy\"\n", "still\"\n"));
    let mark = "fairwind-test-still";
    let control = Arc::new(Control::default());
    let running = control.clone();
    let run =
        std::thread::spawn(move || run_with(&experiment, mark, CaptureFiles::default(), &running));
    wait_for("the run begins", || control.fraction() > 0.0);
    let victim = processes(mark)[0].to_string();
    let stopped = std::process::Command::new("kill").args(["-STOP", &victim]).status().unwrap();
    assert!(stopped.success());
    let error = run.join().unwrap().expect_err("a host says nothing").to_string();
    assert!(error.contains(&format!("its process {victim} is stopped")), "{error}");
    assert!(control.fraction() < 1.0, "it did not wait for the end of the experiment");
    assert_eq!(processes(mark), [0; 0]);
}

#[test]
fn what_the_kernel_cannot_do_is_refused_before_anything_runs() {
    let text = format!("{GREEDY}\ntcp = {{ profile = \"linux-3.16\" }}");
    let experiment = path("60 s", &text);
    let error = run(&experiment, "fairwind-test-refused").expect_err("it is another kernel");
    assert!(matches!(error, RunError::Refused(_)), "{error}");
    assert!(error.to_string().contains("profile"), "{error}");
}

#[test]
fn two_runs_at_once_do_not_meet() {
    if !is_available("two_runs_at_once_do_not_meet") {
        return;
    }
    let one = std::thread::spawn(|| run(&path("2 s", GREEDY), "fairwind-test-first"));
    let other = std::thread::spawn(|| run(&path("2 s", GREEDY), "fairwind-test-second"));
    for run in [one, other] {
        let outcome = run.join().unwrap().unwrap();
        assert_eq!(outcome.lateness.packets.unmeasured, 0);
        assert_eq!(outcome.lateness.packets.refused, 0);
    }
}
