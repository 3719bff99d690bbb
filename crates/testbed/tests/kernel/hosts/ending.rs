//! Tests of killed hosts, hosts with a killed parent, names, and hosts without a parent.

use super::stage::{HOST_PROGRAM, SET_UP, Stage, command, pair, plan};
use super::{everything, finished, greedy};
use crate::is_available;
use crate::processes::{as_nobody, lives, send, wait_for};
use fairwind_hosts::HostProcess;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn kill(process: u32) {
    send("KILL", i32::try_from(process).expect("a number of a process"));
}

/// Arguments with which this program runs one test that is otherwise ignored.
fn only(test: &str) -> [&str; 4] {
    ["--exact", test, "--ignored", "--nocapture"]
}

/// Runs an ignored test as nobody, where the TUN device has this mode.
fn nobody_runs(device: u32, test: &str) -> Output {
    let this_program = std::env::current_exe().expect("a program");
    as_nobody(device, &[&this_program, &command().program])
        .args(["/mnt/0"])
        .args(only(test))
        .env(HOST_PROGRAM, "/mnt/1")
        .output()
        .expect("unshare is there")
}

#[test]
fn parent_learns_how_killed_host_ended() {
    if !is_available("parent_learns_how_killed_host_ended") {
        return;
    }
    let mut stage = Stage::begin(&pair(vec![greedy(u64::MAX)]), everything).expect("two hosts");
    kill(stage.hosts[1].process_id());
    let error = stage.listen(20, |_| false).expect_err("the end of a host");
    assert_eq!(
        error.to_string(),
        "host host2: its process has ended unexpectedly (signal: 9 (SIGKILL))"
    );
}

#[test]
fn group_interrupt_does_not_reach_hosts() {
    if !is_available("group_interrupt_does_not_reach_hosts") {
        return;
    }
    let host = HostProcess::start(&command(), &plan(1)).expect("a process");
    let group = |process: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it lives");
        let (_, rest) = stat.rsplit_once(") ").expect("a name in parentheses");
        rest.split(' ').nth(2).map(str::to_owned)
    };
    assert_eq!(group(host.process_id()), Some(host.process_id().to_string()));
    assert_ne!(group(host.process_id()), group(std::process::id()));
}

#[test]
fn namespace_name_is_reserved_while_host_lives() {
    if !is_available("namespace_name_is_reserved_while_host_lives") {
        return;
    }
    let name = format!("fairwind-test{}-host1", std::process::id());
    let place = format!("/run/netns/{name}");
    let mut named = plan(1);
    named.namespace = Some(name.clone());
    let mut host = HostProcess::start(&command(), &named).expect("a process");
    let _device = host.wait_ready(SET_UP).expect("a host");
    let seen = Command::new("ip").args(["netns", "exec", &name, "ip", "address"]).output();
    let seen = String::from_utf8(seen.expect("ip is there").stdout).expect("text");
    assert!(seen.contains("10.0.0.1/32"), "{seen}");

    let mut other = HostProcess::start(&command(), &named).expect("a process");
    let error = other.wait_ready(SET_UP).expect_err("a refusal").to_string();
    assert!(error.contains(&format!("the name {place} exists already")), "{error}");
    drop(other);
    assert!(Path::new(&place).exists(), "a name belongs to the one who had it first");

    kill(host.process_id());
    drop(host);
    assert!(!Path::new(&place).exists());
}

#[test]
fn host_ends_with_its_parent() {
    if !is_available("host_ends_with_its_parent") {
        return;
    }
    let this_program = std::env::current_exe().expect("a program");
    let mut parent = Command::new(this_program)
        .args(only("hosts::ending::waiting_parent_process"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program again");
    let lines = BufReader::new(parent.stdout.take().expect("a pipe")).lines();
    let host = lines
        .map_while(Result::ok)
        .find_map(|line| line.rsplit_once("host process ")?.1.trim().parse().ok())
        .expect("the number of a process");
    assert!(lives(host));
    kill(parent.id());
    parent.wait().expect("an end");
    wait_for("the host has ended", || lives(host), |lives| !lives);
}

#[test]
#[ignore = "part of another test"]
fn waiting_parent_process() {
    let mut host = HostProcess::start(&command(), &plan(1)).expect("a process");
    let _device = host.wait_ready(SET_UP).expect("a host");
    println!("\nhost process {}", host.process_id());
    wait_for("somebody kills this process", || (), |()| false);
}

#[test]
fn unprivileged_hosts_use_user_namespaces() {
    if !is_available("unprivileged_hosts_use_user_namespaces") {
        return;
    }
    let output = nobody_runs(0o666, "hosts::ending::two_unprivileged_hosts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains("1 passed"), "{printed}");
}

#[test]
#[ignore = "part of another test"]
fn two_unprivileged_hosts() {
    let mut stage = Stage::begin(&pair(vec![greedy(100_000)]), everything).expect("two hosts");
    assert!(stage.listen(60, |[_, receiver]| finished(receiver) == 1).expect("both live"));
    let [_, receiver] = stage.end().expect("an end");
    assert_eq!(receiver.read(0), Some(100_000));
}

#[test]
fn unopenable_device_error_gives_advice() {
    if !is_available("unopenable_device_error_gives_advice") {
        return;
    }
    let output = nobody_runs(0o600, "hosts::ending::unprivileged_host");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("chmod 0666 /dev/net/tun"), "{printed}");
}

#[test]
#[ignore = "part of another test"]
fn unprivileged_host() {
    let mut host = HostProcess::start(&command(), &plan(1)).expect("a process");
    println!("{}", host.wait_ready(SET_UP).expect_err("a refusal"));
}
