//! Tests of kernel settings: scripts under `tests/settings` hold with their scenario keys, and only with
//! them.

use super::is_available;
use fairwind_hosts::{SocketOption, SocketSettings};
use fairwind_kernel_packetdrill::{KernelOptions, run_script};
use fairwind_kernel_settings::{HostSettings, Kernel, Settings, of};
use fairwind_kernel_testing::skip;
use fairwind_packetdrill::{Outcome, RunOptions};
use fairwind_tcp::Profile;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Real time is never quite on time: a script may be tried so often.
const TRIES: u32 = 3;

/// A script with the tables that it is about.
struct Case {
    name: String,
    /// `tcp` or `receiver_tcp`: the end that the kernel plays.
    table: String,
    keys: String,
    script: String,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings");
    let files = std::fs::read_dir(folder).expect("the folder of scripts");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files.iter().map(|file| case(file)).collect()
}

fn case(file: &Path) -> Case {
    let script = std::fs::read_to_string(file).expect("a text");
    let line = script.lines().nth(1).and_then(|line| line.strip_prefix("// "));
    let (table, keys) = line.and_then(|line| line.split_once(": ")).expect("tables in line 2");
    Case {
        name: file.file_stem().expect("a name").to_string_lossy().into_owned(),
        table: table.to_owned(),
        keys: keys.to_owned(),
        script: script.clone(),
    }
}

impl Case {
    /// Kernel settings for these keys.
    fn settings(&self, keys: &str) -> (HostSettings, SocketSettings) {
        let text = format!(
            "name = \"one\"\nduration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"100 ms\"\n\
             queue = {{ limit = \"1 bdp\" }}\n[[flows]]\nname = \"one\"\n\
             workload = {{ kind = \"greedy\" }}\n{} = {{ {keys} }}",
            self.table
        );
        let document = fairwind_scenario::Document::parse(&self.name, &text);
        let plan = document.and_then(|document| document.plan()).expect("a scenario");
        let settings = of(&plan.cells[0].experiment, &Kernel::running());
        let Settings { mut hosts, mut groups, .. } = settings.expect("the kernel has it");
        let group = groups.remove(0);
        match self.table.as_str() {
            "tcp" => (hosts.remove(0), group.sender),
            _ => (hosts.remove(1), group.receiver),
        }
    }

    /// The script with these keys' settings: commands before it, options after its socket was made.
    fn with(&self, keys: &str) -> String {
        let (host, socket) = self.settings(keys);
        let mut commands = String::from("`");
        for one in &host.sysctls {
            let _ = write!(commands, "sysctl -q -w {}=\"{}\"; ", one.name, one.value);
        }
        let route = host.route_attributes.join(" ");
        let _ = write!(commands, "ip route replace default dev tun0 {route}");
        if !host.device_attributes.is_empty() {
            let _ = write!(commands, "; ip link set dev tun0 {}", host.device_attributes.join(" "));
        }
        commands.push_str("`\n");
        let options = options(&socket);
        let lines = self.script.lines().flat_map(|line| {
            let made = if line.contains(" socket(") { options.as_str() } else { "" };
            [line, "\n", made]
        });
        commands + &lines.collect::<String>()
    }

    /// Why the script does not hold with these keys.
    fn what_is_wrong(&self, keys: &str, tries: u32) -> Option<String> {
        let text = self.with(keys);
        let mut last = String::new();
        for _ in 0..tries {
            let options = RunOptions::strict(Profile::Linux6_18);
            let kernel = KernelOptions::default();
            match run_script(&self.name, &text, &options, &kernel).expect("the kernel is there") {
                Outcome::Passed => return None,
                Outcome::Failed(failure) => {
                    last = format!("{failure}\n{}", failure.dialogue_text());
                }
                Outcome::Unsupported(unsupported) => return Some(unsupported.to_string()),
            }
        }
        Some(last)
    }
}

fn options(socket: &SocketSettings) -> String {
    let mut lines = String::new();
    if let Some(name) = &socket.congestion {
        let length = name.len();
        let _ = writeln!(lines, "+0 setsockopt(3, 6, TCP_CONGESTION, \"{name}\", {length}) = 0");
    }
    for SocketOption { level, number, value, .. } in &socket.options {
        let _ = writeln!(lines, "+0 setsockopt(3, {level}, {number}, [{value}], 4) = 0");
    }
    lines
}

#[test]
fn every_key_has_its_kernel_effect() {
    if !is_available("every_key_has_its_kernel_effect") {
        return;
    }
    if Kernel::running().version < (6, 18) {
        skip("every_key_has_its_kernel_effect", "the scripts are about Linux 6.18");
        return;
    }
    let mut wrong = Vec::new();
    for case in cases() {
        if let Some(reason) = case.what_is_wrong(&case.keys, TRIES) {
            wrong.push(format!("{} does not hold with {}:\n{reason}", case.name, case.keys));
        } else if case.what_is_wrong("", 1).is_none() {
            wrong.push(format!("{} holds without {}, too", case.name, case.keys));
        }
    }
    assert!(wrong.is_empty(), "{} of the keys:\n{}", wrong.len(), wrong.join("\n\n"));
}
