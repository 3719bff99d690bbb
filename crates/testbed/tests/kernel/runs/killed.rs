//! Tests of runs in a killed process, router included. Only the reaper is left to clean up. If it is killed
//! as well, a later search for leftovers cleans up.

use super::stage::{path, run};
use crate::is_available;
use crate::processes::{marked, parent, send, stop, wait_for};
use fairwind_linux::{CleanupPaths, RunName, StaleKind};
use fairwind_testbed::cleanup::{find, remove};
use std::process::{Child, Command, Stdio};

/// Mark on the command lines of the killed run's hosts.
const MARK: &str = "fairwind-test-process-killed";

/// A separate process with a run that has created its hosts.
struct RunProcess {
    process: Child,
    names: Vec<String>,
}

impl RunProcess {
    fn begin() -> Self {
        let program = std::env::current_exe().expect("this program");
        let process = Command::new(program)
            .args(["--exact", "runs::killed::waiting_run_process", "--ignored"])
            .stdout(Stdio::null())
            .spawn()
            .expect("this program again");
        let id = process.id();
        let names = wait_for("the hosts have names", || names_of(id), |names| names.len() == 2);
        Self { process, names }
    }

    fn run(&self) -> RunName {
        self.names[0].parse().expect("the name of a run")
    }

    fn hosts(&self) -> Vec<i32> {
        marked(MARK).into_iter().filter(|&host| parent(host) == Some(self.id())).collect()
    }

    fn id(&self) -> u32 {
        self.process.id()
    }

    fn kill(&mut self) {
        self.process.kill().expect("it lives");
        self.process.wait().expect("it has ended");
    }
}

/// Names of namespaces that runs of a process have made.
fn names_of(process: u32) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/run/netns") else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&format!("fairwind-{process}."))).collect()
}

#[test]
#[ignore = "part of other tests"]
fn waiting_run_process() {
    let flows = "[[flows]]\nname = \"greedy\"\nworkload = { kind = \"greedy\" }\n";
    let _ = run(&path("60 s", flows), MARK);
}

#[test]
fn reaper_cleans_up_after_killed_run() {
    if !is_available("reaper_cleans_up_after_killed_run") {
        return;
    }
    let mut process = RunProcess::begin();
    let hosts = process.hosts();
    assert_eq!(hosts.len(), 2);
    process.kill();
    let id = process.id();
    wait_for("the names are gone", || names_of(id), Vec::is_empty);
    let left = || marked(MARK).into_iter().filter(|host| hosts.contains(host)).collect::<Vec<_>>();
    wait_for("the hosts are gone", left, Vec::is_empty);
    assert!(!process.run().is_alive());
}

#[test]
fn cleanup_without_reaper_removes_only_leftovers() {
    let test = "what_a_run_has_left_whose_guardian_was_killed_too_is_found_and_removed";
    if !is_available(test) {
        return;
    }
    let mut process = RunProcess::begin();
    let run = process.run().to_string();
    let of_the_run = || -> Vec<_> {
        find(&CleanupPaths::usual()).into_iter().filter(|resource| resource.run == run).collect()
    };
    assert_eq!(of_the_run(), [], "a living run has left nothing");
    let reapers = marked("fairwind-reaper").into_iter();
    let reaper = reapers.filter(|&one| marked(&run).contains(&one)).collect::<Vec<_>>();
    assert_eq!(reaper.len(), 1);
    send("KILL", reaper[0]);
    // A run that ends closes its sockets before its hosts are ended with it. A host that notices
    // takes its name back, and may be quick enough; one that stands still cannot be.
    let hosts = process.hosts();
    assert_eq!(hosts.len(), 2);
    hosts.into_iter().for_each(stop);
    process.kill();
    // Whoever lives in a namespace is ended with it; here it is nobody, once the hosts are dead.
    wait_for("only two names are left", of_the_run, |left| {
        left.len() == 2 && left.iter().all(|one| one.kind == StaleKind::Namespace)
    });
    for resource in of_the_run() {
        remove(&resource).expect("root may");
    }
    assert_eq!(of_the_run(), []);
    assert_eq!(names_of(process.id()), [""; 0]);
}
