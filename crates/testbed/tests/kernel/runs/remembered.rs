//! Hosts that remember the windows of their connections.

use super::captures::{Shared, packets};
use super::stage::{experiment, run, run_with};
use crate::is_available;
use crate::processes::wait_for;
use fairwind_assembly::{CaptureFiles, Control};
use fairwind_kernel_testing::can_run;
use fairwind_linux::CleanupPaths;
use fairwind_scenario::Experiment;
use fairwind_testbed::{KernelRun, RunError};
use fairwind_windows::{groups, obstacle};
use fairwind_wire::bytes::parse;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Stdio};

/// Whether windows can be remembered; says why, where they cannot.
fn is_rememberable(test: &str) -> bool {
    let reason = obstacle().map(|reason| reason.to_string()).or_else(|| {
        let none = CleanupPaths::usual().control_groups.is_none();
        none.then(|| "no control groups of version 2 are mounted".to_owned())
    });
    can_run(test, reason) && is_available(test)
}

/// Two transfers of 40 full packets, one after the other, over a path that is long enough for flights to be told apart.
fn transfers(sharing: &str) -> Experiment {
    experiment(&format!(
        r#"
        name = "remembered"
        duration = "3 s"
        [path]
        rate = "1 Gbit/s"
        rtt = "100 ms"
        queue = {{ limit = "200 packets" }}
        [[flows]]
        name = "web"
        workload = {{ kind = "transfers", volume = "57920 B", transfers = 2, pause = "300 ms" }}
        tcp = {{ sharing = {sharing} }}
        [capture]
        "#
    ))
}

/// How many packets with data each connection's first flight has, at the host that sends them: those within half a round
/// trip of the first.
fn first_flights(sharing: &str) -> Vec<usize> {
    const HALF: u128 = 50_000_000;
    let file = Shared::default();
    let files = CaptureFiles { sender: Some(Box::new(file.clone())), receiver: None };
    run_with(&transfers(sharing), "fairwind-test-remembered", files, &Control::default()).unwrap();
    let mut connections: BTreeMap<_, Vec<u128>> = BTreeMap::new();
    for (at, bytes) in packets(&file) {
        let segment = parse(&bytes).unwrap().segment;
        if segment.payload_bytes > 1000 {
            let ports = (segment.source_port, segment.destination_port);
            connections.entry(ports).or_default().push(at);
        }
    }
    let mut times: Vec<_> = connections.into_values().collect();
    times.sort();
    times.iter().map(|times| times.iter().filter(|at| *at - times[0] < HALF).count()).collect()
}

#[test]
fn remembered_table_lists_final_windows() {
    if !is_rememberable("remembered_table_lists_final_windows") {
        return;
    }
    let sharing = r#"{ policy = "classic", collect = "end" }"#;
    let files = CaptureFiles { sender: Some(Box::new(Shared::default())), receiver: None };
    let control = Control::default();
    let experiment = transfers(sharing);
    let outcome = run_with(&experiment, "fairwind-test-remembered", files, &control).unwrap();
    let table = outcome.tables.get("remembered").unwrap();
    let column = |name| table.column(name).unwrap();
    let server = |row: &usize| column("host").text(*row) == Some("web-sender");
    let row = (0..table.rows()).find(server).expect("it has sent");
    assert!(column("window_packets").number(row).unwrap() >= 20.0);
    let age = column("age_s").number(row).unwrap();
    assert!((0.5..3.0).contains(&age), "the second transfer is over after a second: {age}");
    let peer = column("peer").text(row).unwrap().parse::<std::net::IpAddr>().unwrap();
    assert!(peer.is_ipv4());
}

#[test]
fn a_host_begins_with_the_window_of_the_transfer_before() {
    if !is_rememberable("a_host_begins_with_the_window_of_the_transfer_before") {
        return;
    }
    assert_eq!(first_flights(r#"{ policy = "off" }"#), [10, 10]);
    let exact = first_flights(r#"{ policy = "classic", collect = "end" }"#);
    assert!(exact.len() == 2 && exact[0] == 10 && exact[1] >= 20, "{exact:?}");
    let bounded = r#"{ policy = "classic", collect = "end", largest_window = 17 }"#;
    assert_eq!(first_flights(bounded), [10, 17]);
    let brief = r#"{ policy = "classic", collect = "end", lifetime = "100 ms" }"#;
    assert_eq!(first_flights(brief), [10, 10]);
}

/// Control groups in which hosts of runs of a process remember.
fn groups_of(process: u32) -> Vec<String> {
    let root = CleanupPaths::usual().control_groups.unwrap();
    let names = std::fs::read_dir(root).unwrap().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let of_process = format!("fairwind-{process}.");
    names.filter(|name| name.starts_with(&of_process) && name.ends_with("-windows")).collect()
}

#[test]
#[ignore = "part of another test"]
fn a_run_that_remembers_until_it_is_killed() {
    let _ = run(&transfers(r#"{ policy = "classic" }"#), "fairwind-test-remembered-killed");
}

#[test]
fn a_run_that_is_killed_leaves_no_control_groups() {
    if !is_rememberable("a_run_that_is_killed_leaves_no_control_groups") {
        return;
    }
    let part = "runs::remembered::a_run_that_remembers_until_it_is_killed";
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", part, "--ignored"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let id = process.id();
    let numbers = || {
        let root = CleanupPaths::usual().control_groups.unwrap();
        let path = |name| std::fs::metadata(root.join(name)).map_or(0, |about| about.ino());
        groups_of(id).into_iter().map(path).collect::<Vec<_>>()
    };
    let all_remember = |made: &Vec<u64>| {
        let remembering = groups();
        made.len() == 2 && made.iter().all(|number| remembering.contains(number))
    };
    let made = wait_for("both hosts have groups", numbers, all_remember);
    process.kill().unwrap();
    process.wait().unwrap();
    wait_for("the groups are gone", || groups_of(id), Vec::is_empty);
    assert!(!groups().iter().any(|number| made.contains(number)));
}

#[test]
fn a_run_leaves_no_control_groups() {
    if !is_rememberable("a_run_leaves_no_control_groups") {
        return;
    }
    run(&transfers(r#"{ policy = "classic" }"#), "fairwind-test-remembered").unwrap();
    wait_for("the control groups are gone", || groups_of(std::process::id()), Vec::is_empty);
}

#[test]
fn what_the_program_does_not_know_is_refused_by_name() {
    let refused = |sharing: &str| {
        let command = super::stage::command("fairwind-test-remembered");
        let run = KernelRun::new(&transfers(sharing), 1, CaptureFiles::default(), command);
        match run.err() {
            Some(RunError::Refused(refusals)) => refusals.to_string(),
            other => panic!("it was not refused: {other:?}"),
        }
    };
    let told = refused(r#"{ policy = "classic", sample_every = "1 s", forgetfulness = "10 %" }"#);
    assert!(told.contains("does not know sample_every"), "{told}");
    assert!(told.contains("does not know forgetfulness"), "{told}");
    let told = refused(r#"{ policy = "careful-resume" }"#);
    assert!(told.contains("RFC 9959") && told.contains("\"classic\""), "{told}");
}
