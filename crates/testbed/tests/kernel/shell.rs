//! Tests of programs behind a path: how they end, and that nothing is left behind.
//!
//! Each shell is started in a new network namespace, which ends with it.

use crate::processes::{as_nobody, lives, wait_for};
use fairwind_kernel_testing::skip;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

const PATH: &str = r#"
name = "a short way"
duration = "1 h"
[path]
rate = "100 Mbit/s"
rtt = "2 ms"
[[flows]]
name = "program"
workload = { kind = "greedy" }
"#;

fn scenario(test: &str) -> PathBuf {
    let file =
        std::env::temp_dir().join(format!("fairwind-test-{}-{test}.toml", std::process::id()));
    std::fs::write(&file, PATH).expect("the machine does its part");
    file
}

/// A shell that runs `program`, in a fresh namespace, in which `before` was done.
fn shell(test: &str, before: &str, program: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    let own = env!("CARGO_BIN_EXE_fairwind-shell");
    let script = format!("ip link set lo up; {before}\nexec \"$@\"");
    command
        .args(["--signal=KILL", "60", "unshare", "--net", "sh", "-c", &script, "sh", own])
        .arg(scenario(test))
        .arg("--")
        .args(program)
        .stdin(Stdio::null());
    command
}

fn run(test: &str, program: &[&str]) -> Output {
    let output = shell(test, ":", program).output().expect("the machine does its part");
    let _ = std::fs::remove_file(scenario(test));
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether shells can run here; prints the reason if not.
fn can_run() -> bool {
    crate::is_available("a shell")
}

/// A running shell and the process number of its program, as seen from here.
struct Running {
    test: &'static str,
    shell: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn start(test: &'static str) -> Self {
        // Somebody who outlives the program under test unless the namespace ends him.
        let program = ["sh", "-c", "sleep 50 & echo ready; wait"];
        let mut shell = shell(test, ":", &program)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the machine does its part");
        let mut output = BufReader::new(shell.stdout.take().expect("the machine does its part"));
        let mut line = String::new();
        output.read_line(&mut line).expect("the machine does its part");
        assert_eq!(line, "ready\n");
        Self { test, shell, output }
    }

    /// The numbers of the processes of this shell, by the role that they were started with.
    fn processes(&self, role: &str) -> Vec<u32> {
        let mark = format!("{}", scenario(self.test).display());
        let of_shell = all_processes();
        let parents: Vec<u32> = of_shell
            .iter()
            .filter(|(_, line)| {
                line.contains(&mark) && line.starts_with(env!("CARGO_BIN_EXE_fairwind-shell"))
            })
            .map(|(process, _)| *process)
            .collect();
        if role == "shell" {
            return parents;
        }
        let below = |process: u32| ancestors(process).iter().any(|one| parents.contains(one));
        of_shell
            .iter()
            .filter(|(process, line)| line.contains(role) && below(*process))
            .map(|(process, _)| *process)
            .collect()
    }

    fn kill(&self, role: &str) {
        let found = self.processes(role);
        assert_eq!(found.len(), 1, "one process is the {role}");
        let killed = Command::new("kill")
            .args(["-9", &found[0].to_string()])
            .status()
            .expect("the machine does its part");
        assert!(killed.success());
    }

    /// Waits until everything that held the program's output has ended.
    fn await_silence(mut self) -> i32 {
        let mut rest = String::new();
        // All that inherited the pipe has to end for this to return.
        self.output.read_to_string(&mut rest).expect("the machine does its part");
        let status = self.shell.wait().expect("the machine does its part");
        let _ = std::fs::remove_file(scenario(self.test));
        status.code().unwrap_or(-1)
    }
}

fn all_processes() -> Vec<(u32, String)> {
    let all = std::fs::read_dir("/proc").expect("the machine does its part").flatten();
    let number = |name: std::ffi::OsString| name.to_str()?.parse().ok();
    all.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some((number(entry.file_name())?, text(&line).replace('\0', " ")))
    })
    .collect()
}

fn ancestors(process: u32) -> Vec<u32> {
    let parent = |process: u32| -> Option<u32> {
        let status =
            std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status"));
        let status = status.ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        line.trim().parse().ok().filter(|parent| *parent > 0)
    };
    std::iter::successors(parent(process), |process| parent(*process)).collect()
}

#[test]
fn program_keeps_arguments_and_exit_code() {
    if !can_run() {
        return;
    }
    let done = run("exit-code", &["sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!(done.status.code(), Some(7), "{}", text(&done.stderr));
    assert_eq!(text(&done.stdout), "out\n");
    assert!(text(&done.stderr).contains("err\n"));
}

#[test]
fn crashed_program_has_shell_exit_code() {
    if !can_run() {
        return;
    }
    assert_eq!(run("crash", &["sh", "-c", "kill -SEGV $$"]).status.code(), Some(139));
}

#[test]
fn missing_program_is_named() {
    if !can_run() {
        return;
    }
    let done = run("missing", &["fairwind-no-such-program"]);
    assert_eq!(done.status.code(), Some(127));
    assert!(text(&done.stderr).contains("fairwind-no-such-program: No such file"));
}

#[test]
fn program_finds_addresses_and_default_route() {
    if !can_run() {
        return;
    }
    let script = "echo $FAIRWIND_SHELL $FAIRWIND_INSIDE $FAIRWIND_OUTSIDE $FAIRWIND_OUTSIDE_IPV6; \
                  ip -o route | wc -l; ip -o link show up | wc -l";
    let done = run("environment", &["sh", "-c", script]);
    let expected = "100.64.0.0/16 100.64.0.2 100.64.0.1 fd66:6169:7277::1\n1\n2\n";
    assert_eq!(text(&done.stdout), expected, "{}", text(&done.stderr));
}

#[test]
fn shells_take_disjoint_or_nested_blocks() {
    if !can_run() {
        return;
    }
    let own = env!("CARGO_BIN_EXE_fairwind-shell");
    let file = scenario("blocks").display().to_string();
    let within = format!("{own} {file} -- printenv FAIRWIND_SHELL");
    let beside = format!(
        "{within}; {own} {file} -- sh -c 'printenv FAIRWIND_SHELL; {within}' & {within}; wait"
    );
    let script = format!("printenv FAIRWIND_SHELL; {beside}");
    let done = run("blocks", &["sh", "-c", &script]);
    let mut blocks: Vec<String> = text(&done.stdout).lines().map(str::to_owned).collect();
    blocks.sort();
    let first = blocks.iter().filter(|block| block.as_str() == "100.64.16.0/20").count();
    assert!(first >= 2, "a block is free again after its shell: {blocks:?}");
    assert!(blocks.contains(&"100.64.0.0/16".to_owned()), "{blocks:?}");
    assert!(blocks.iter().any(|block| block.ends_with("/24")), "{blocks:?}");
    assert_eq!(blocks.len(), 5, "{}", text(&done.stderr));
}

#[test]
fn full_address_range_error_gives_advice() {
    if !can_run() {
        return;
    }
    let before = "ip tuntap add dev busy mode tun; \
                  ip link set busy up; ip route add 100.64.0.0/10 dev busy";
    let done = shell("full", before, &["true"]).output().unwrap();
    let _ = std::fs::remove_file(scenario("full"));
    assert_eq!(done.status.code(), Some(125));
    assert!(text(&done.stderr).contains("no addresses left"), "{}", text(&done.stderr));
}

#[test]
fn killing_shell_ends_programs_behind_path() {
    if !can_run() {
        return;
    }
    let running = Running::start("killed-shell");
    let (keeper, inside) =
        (running.processes("shell-supervisor"), running.processes("shell-inside"));
    assert_eq!((keeper.len(), inside.len()), (1, 1));
    running.kill("shell");
    running.await_silence();
    let both = [keeper[0], inside[0]].map(|one| i32::try_from(one).expect("a process"));
    wait_for(
        "the keeper and the inside end with the shell",
        || both.map(lives),
        |lives| *lives == [false; 2],
    );
}

#[test]
fn killed_supervisor_ends_program_with_message() {
    if !can_run() {
        return;
    }
    let running = Running::start("killed-keeper");
    running.kill("shell-supervisor");
    assert_eq!(running.await_silence(), 125);
}

#[test]
fn killed_inside_ends_program_with_message() {
    if !can_run() {
        return;
    }
    let running = Running::start("killed-inside");
    running.kill("shell-inside");
    assert_eq!(running.await_silence(), 125);
}

#[test]
fn missing_rights_message_gives_advice() {
    if !can_run() {
        return;
    }
    let own = env!("CARGO_BIN_EXE_fairwind-shell");
    let file = scenario("rights");
    let done = as_nobody(0o666, &[own.as_ref(), &file])
        .args(["/mnt/0", "/mnt/1", "--", "true"])
        .output()
        .unwrap();
    let _ = std::fs::remove_file(file);
    let stderr = text(&done.stderr);
    assert_eq!(done.status.code(), Some(125), "{stderr}");
    assert!(stderr.contains("needs root") && stderr.contains("sudo"), "{stderr}");
}

#[test]
fn address_translation_ends_with_killed_shell() {
    if !can_run() {
        return;
    }
    // A way to the world, as far as a namespace without one can have it.
    let before = "ip tuntap add dev world mode tun; ip addr add 192.0.2.2/24 dev world; \
                  ip link set world up; ip route add default via 192.0.2.1";
    // A table can be seen where the shell was started: by its namespace's number in /proc.
    let forwarding = "/proc/sys/net/ipv4/conf/world/forwarding";
    let look = format!("cat {forwarding}; nft list tables ip");
    // Forwarding is what begins last and is undone last; nobody waits longer than 20 s for it.
    let until = format!(
        "becomes() {{ for i in $(seq 200); do grep -q $1 {forwarding} && return; sleep 0.1; done; }}"
    );
    let script = format!(
        "{until}; {before}; \"$@\"; {look}; echo; \"$@\" & becomes 1; kill -9 $!; becomes 0; {look}"
    );
    let own = env!("CARGO_BIN_EXE_fairwind-shell");
    let done = Command::new("timeout")
        .args(["--signal=KILL", "60", "unshare", "--net", "sh", "-c", &script, "sh", own])
        .arg(scenario("masquerade"))
        .args(["--", "sleep", "5"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let _ = std::fs::remove_file(scenario("masquerade"));
    let stderr = text(&done.stderr);
    if stderr.contains("cannot be translated here") {
        skip("address_translation_ends_with_killed_shell", stderr.trim());
        return;
    }
    assert_eq!(text(&done.stdout), "0\n\n0\n", "{stderr}");
}
