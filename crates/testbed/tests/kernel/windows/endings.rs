//! Tests of cleanup after every kind of end.

use super::stage::{Group, again, group_from_environment};
use super::{EXACT, is_rememberable};
use crate::processes::wait_for;
use fairwind_linux::{CleanupPaths, StaleKind};
use fairwind_testbed::cleanup::{find, remove};
use fairwind_windows::{WindowsOfRun, groups, orphaned, show, start, stop};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

fn is_remembered(group: &Group) -> bool {
    groups().contains(&group.number())
}

#[test]
#[ignore = "part of other tests"]
fn remembering_process() {
    let group = group_from_environment().expect("a group");
    let _run = WindowsOfRun::begin(&group, &EXACT).unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
#[ignore = "part of other tests"]
fn starting_and_stopping_process() {
    let group = group_from_environment().expect("a group");
    loop {
        start(&group, &EXACT).unwrap();
        stop(&group).unwrap();
    }
}

#[test]
fn killed_process_ends_remembered_windows() {
    if !is_rememberable("killed_process_ends_remembered_windows") {
        return;
    }
    let group = Group::new("killed");
    let part = "windows::endings::remembering_process";
    let mut process = again(part, Some(&group.path)).stdout(Stdio::null()).spawn().unwrap();
    wait_for("it remembers", || is_remembered(&group), |&is| is);
    process.kill().unwrap();
    process.wait().unwrap();
    wait_for("it has ended", || is_remembered(&group), |&is| !is);
}

#[test]
fn killed_start_or_stop_is_atomic() {
    const NAME: &str = "killed_start_or_stop_is_atomic";
    if !is_rememberable(NAME) {
        return;
    }
    if Path::new("/dev/fairwind-clock").exists() {
        fairwind_kernel_testing::skip(NAME, "virtual time stands still while a process computes");
        return;
    }
    let group = Group::new("halfway");
    let part = "windows::endings::starting_and_stopping_process";
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
fn program_of_removed_group_is_removed() {
    if !is_rememberable("program_of_removed_group_is_removed") {
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
