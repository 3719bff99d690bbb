//! Tests of runs that fail: full disks, killed and stopped hosts.

use super::stage::{path, run, run_with};
use crate::is_available;
use crate::processes::{marked, send, wait_for};
use fairwind_assembly::{CaptureFiles, Control};
use fairwind_testbed::{Outcome, RunError};
use std::sync::Arc;
use std::thread::JoinHandle;

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

/// A run in its own thread.
struct RunThread {
    control: Arc<Control>,
    thread: JoinHandle<Result<Outcome, RunError>>,
}

impl RunThread {
    /// Lets a run of a minute begin with one flow, called `name`, and hosts with this mark.
    fn begin(name: &str, mark: &'static str) -> Self {
        let experiment = path("60 s", &GREEDY.replace("greedy\"\n", &format!("{name}\"\n")));
        let control = Arc::new(Control::default());
        let of_the_run = control.clone();
        let thread = std::thread::spawn(move || {
            run_with(&experiment, mark, CaptureFiles::default(), &of_the_run)
        });
        wait_for("the run begins", || control.fraction(), |&fraction| fraction > 0.0);
        Self { control, thread }
    }

    /// Sends a signal to one of its hosts, and gives its number and what the run says at its end.
    fn signal_a_host(self, signal: &str, mark: &str) -> (i32, String) {
        let host = marked(mark)[0];
        send(signal, host);
        let error = self.thread.join().unwrap().expect_err("a host is missing").to_string();
        assert!(self.control.fraction() < 1.0, "it waited for the end of the experiment");
        assert_eq!(marked(mark), [0; 0]);
        (host, error)
    }
}

#[test]
fn cancelled_run_ends_and_cleans_up() {
    if !is_available("cancelled_run_ends_and_cleans_up") {
        return;
    }
    let mark = "fairwind-test-cancelled";
    let run = RunThread::begin("cancelled", mark);
    assert_eq!(names("cancelled-sender").len(), 1);
    run.control.cancel();
    let error = run.thread.join().unwrap().expect_err("it was cancelled");
    assert!(matches!(error, RunError::Cancelled), "{error}");
    assert_eq!(marked(mark), [0; 0]);
    assert_eq!(names("cancelled-sender"), [""; 0]);
}

#[test]
fn killed_host_ends_run_with_name() {
    if !is_available("killed_host_ends_run_with_name") {
        return;
    }
    let mark = "fairwind-test-killed";
    let (_, error) = RunThread::begin("killed", mark).signal_a_host("KILL", mark);
    assert!(error.contains("killed-sender") || error.contains("killed-receiver"), "{error}");
    assert!(error.contains("signal: 9"), "{error}");
    assert_eq!(names("killed-sender"), [""; 0]);
}

#[test]
fn stopped_host_ends_run_with_name() {
    if !is_available("stopped_host_ends_run_with_name") {
        return;
    }
    let mark = "fairwind-test-still";
    let (host, error) = RunThread::begin("still", mark).signal_a_host("STOP", mark);
    assert!(error.contains(&format!("its process {host} is stopped")), "{error}");
}

#[test]
fn unsupported_scenario_is_refused_before_start() {
    let text = format!("{GREEDY}\ntcp = {{ profile = \"linux-3.16\" }}");
    let experiment = path("60 s", &text);
    let error = run(&experiment, "fairwind-test-refused").expect_err("it is another kernel");
    assert!(matches!(error, RunError::Refused(_)), "{error}");
    assert!(error.to_string().contains("profile"), "{error}");
}

#[test]
fn concurrent_runs_are_isolated() {
    if !is_available("concurrent_runs_are_isolated") {
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
