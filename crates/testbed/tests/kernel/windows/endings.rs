//! That nothing is left, however it ends.

use super::stage::{Group, again, told_group};
use super::{EXACT, is_rememberable};
use crate::processes::wait_for;
use fairwind_linux::{CleanupPaths, StaleKind};
use fairwind_testbed::cleanup::{find, remove};
use fairwind_windows::{WindowsOfRun, groups, orphaned, show, start, stop};
use std::process::Stdio;
use std::time::Duration;

fn is_remembered(group: &Group) -> bool {
    groups().contains(&group.number())
}

#[test]
#[ignore = "part of other tests"]
fn a_process_that_remembers_for_a_run() {
    let group = told_group().expect("a group");
    let _run = WindowsOfRun::begin(&group, &EXACT).unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
#[ignore = "part of other tests"]
fn a_process_that_starts_and_stops() {
    let group = told_group().expect("a group");
    loop {
        start(&group, &EXACT).unwrap();
        stop(&group).unwrap();
    }
}

#[test]
fn what_a_run_remembers_ends_with_its_process_when_that_is_killed() {
    if !is_rememberable("what_a_run_remembers_ends_with_its_process_when_that_is_killed") {
        return;
    }
    let group = Group::new("killed");
    let part = "windows::endings::a_process_that_remembers_for_a_run";
    let mut process = again(part, Some(&group.path)).stdout(Stdio::null()).spawn().unwrap();
    wait_for("it remembers", || is_remembered(&group), |&is| is);
    process.kill().unwrap();
    process.wait().unwrap();
    wait_for("it has ended", || is_remembered(&group), |&is| !is);
}

#[test]
fn a_start_or_stop_that_is_killed_leaves_all_or_nothing() {
    if !is_rememberable("a_start_or_stop_that_is_killed_leaves_all_or_nothing") {
        return;
    }
    let group = Group::new("halfway");
    let part = "windows::endings::a_process_that_starts_and_stops";
    let name = start(&group.path, &EXACT).unwrap();
    stop(&group.path).unwrap();
    assert!(!name.exists());
    for round in 0..12_u64 {
        let mut process = again(part, Some(&group.path)).stdout(Stdio::null()).spawn().unwrap();
        wait_for("it has begun", || is_remembered(&group), |&is| is);
        std::thread::park_timeout(Duration::from_millis(7 * round));
        process.kill().unwrap();
        process.wait().unwrap();
        match show(&group.path) {
            Ok(remembered) => {
                assert_eq!(remembered.options, EXACT);
                assert!(is_remembered(&group));
                stop(&group.path).unwrap();
            }
            Err(error) => assert!(!name.exists(), "round {round}: {error}"),
        }
        assert!(!name.exists(), "round {round}");
        wait_for("the program has left", || is_remembered(&group), |&is| !is);
    }
}

#[test]
fn what_stays_at_a_group_that_is_gone_is_found_and_goes() {
    if !is_rememberable("what_stays_at_a_group_that_is_gone_is_found_and_goes") {
        return;
    }
    let group = Group::new("gone");
    let number = group.number();
    let name = start(&group.path, &EXACT).unwrap();
    assert!(!orphaned().contains(&name));
    std::fs::remove_dir(&group.path).unwrap();
    wait_for("the program has left", || groups().contains(&number), |&is| !is);
    assert!(orphaned().contains(&name), "{name:?}");
    let left = find(&CleanupPaths::usual()).into_iter().find(|one| one.path == name).unwrap();
    assert_eq!(left.kind, StaleKind::Program);
    remove(&left).unwrap();
    assert!(!orphaned().contains(&name));
}
