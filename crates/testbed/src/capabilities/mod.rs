//! Capabilities of this machine for experiments on the kernel: what is there, what is missing, and how to get it.
//!
//! Whatever can be tried is tried: it creates namespaces, sets up queue disciplines and waits for timers, in namespaces
//! that end with the trial.
//!
//! | module | concern |
//! |---|---|
//! | `machine` | queue disciplines, address translation, clocks, processors, BPF programs |

mod machine;

use fairwind_kernel_packetdrill::availability;
use fairwind_kernel_settings::{Kernel, controls};
use fairwind_linux::{self as linux, CleanupPaths};
use fairwind_scenario::Congestion;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};

/// Path of the kernel's TUN device.
const TUN: &str = "/dev/net/tun";
/// Files for 512 thin and 512 greedy connections, both ends in one process each.
const ENOUGH_FILES: u64 = 4_096;

/// A capability that experiments on the kernel use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capability {
    /// Its name.
    pub what: &'static str,
    /// Whether it is there.
    pub state: State,
    /// The finding.
    pub found: String,
    /// Its purpose and how to get it; empty if all is well.
    pub remedy: String,
}

/// Whether something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is there.
    Ok,
    /// Not all of it is, or something else takes its place: experiments run.
    Limited,
    /// It is missing, and something is impossible without it; the remedy says what.
    Missing,
    /// It is missing, and no experiment runs on the kernel without it.
    Needed,
}

impl Capability {
    fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, state: State::Ok, found: found.into(), remedy: String::new() }
    }

    fn lacking(
        what: &'static str,
        state: State,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { what, state, found: found.into(), remedy: remedy.into() }
    }
}

/// Looks at everything; this takes about a second.
pub fn probe() -> Vec<Capability> {
    [probe_rights(), machine::probe_clocks(), machine::probe_queues(), machine::probe_programs()]
        .concat()
}

fn probe_rights() -> Vec<Capability> {
    vec![kernel(), namespaces(), user_namespaces(), tun(), control_groups(), files(), congestion()]
}

fn kernel() -> Capability {
    let Kernel { release, version, .. } = Kernel::running();
    if version == (6, 18) {
        return Capability::ok("kernel", release);
    }
    let remedy = "what scenarios may set differs a little; the profile linux-6.18 is about 6.18";
    Capability::lacking("kernel", State::Limited, release, remedy)
}

/// Tries a namespace with a TUN device: what every host of an experiment is.
fn namespaces() -> Capability {
    let what = "network namespaces";
    match availability() {
        Ok(()) => Capability::ok(what, "made one with a TUN device"),
        Err(_) if has_user_namespaces() && can_open_tun() => {
            let remedy = "as root, hosts also get names for `ip netns exec`, and scripts run on the \
                          kernel";
            Capability::lacking(what, State::Limited, "in user namespaces", remedy)
        }
        Err(error) => {
            let remedy = "for experiments on the kernel: run as root, or see the two rows below";
            Capability::lacking(what, State::Needed, error.to_string(), remedy)
        }
    }
}

/// Why no experiment at all can run on this kernel, and what to do about it; `None` if they can.
pub fn obstacle() -> Option<String> {
    if namespaces().state == State::Needed {
        let rows = [user_namespaces(), tun()];
        let lacking = rows.iter().filter(|row| row.state != State::Ok);
        let rows = lacking.map(|row| format!("{}: {} ({})", row.what, row.found, row.remedy));
        let rows = rows.collect::<Vec<_>>().join("; ");
        return Some(format!("experiments on the kernel need root here; {rows}"));
    }
    let mut program = Command::new("ip");
    program.arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if program.status().is_ok() {
        return None;
    }
    Some("experiments on the kernel need the program `ip`: install iproute2".to_owned())
}

fn user_namespaces() -> Capability {
    let what = "user namespaces";
    if has_user_namespaces() {
        return Capability::ok(what, "made one");
    }
    let remedy = if linux::read_text("/proc/sys/user/max_user_namespaces") == "0" {
        "for experiments without root: sysctl user.max_user_namespaces=15000"
    } else if linux::read_text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" {
        "for experiments without root: sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    } else {
        "for experiments without root: a kernel with CONFIG_USER_NS, and unshare of util-linux"
    };
    Capability::lacking(what, State::Missing, "refused", remedy)
}

fn has_user_namespaces() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "true"]);
    succeeds(&mut command)
}

/// Whether a command that says nothing succeeds.
fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn can_open_tun() -> bool {
    OpenOptions::new().read(true).write(true).open(TUN).is_ok()
}

fn tun() -> Capability {
    let what = "TUN devices";
    if can_open_tun() {
        return Capability::ok(what, TUN);
    }
    let (found, remedy) = if Path::new(TUN).exists() {
        (
            "not for this user",
            "for experiments on the kernel: run as root, or chmod 666 /dev/net/tun",
        )
    } else {
        (
            "no /dev/net/tun",
            "for experiments on the kernel: modprobe tun, or a kernel with CONFIG_TUN",
        )
    };
    Capability::lacking(what, State::Needed, found, remedy)
}

fn control_groups() -> Capability {
    let what = "control groups (version 2)";
    let Some(root) = CleanupPaths::usual().control_groups else {
        let remedy = "for eBPF on a run's own sockets (sock_ops): mount -t cgroup2 none DIR";
        return Capability::lacking(what, State::Missing, "not mounted", remedy);
    };
    let is_writable = linux::is_root() && fs::metadata(&root).is_ok();
    if is_writable {
        return Capability::ok(what, root.display().to_string());
    }
    let remedy = "for eBPF on a run's own sockets (sock_ops): run as root";
    Capability::lacking(
        what,
        State::Limited,
        format!("{}, not for this user", root.display()),
        remedy,
    )
}

fn files() -> Capability {
    let what = "open files";
    let limits = linux::read_text("/proc/self/limits");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap_or("");
    let mut numbers = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
    let (soft, hard) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let found = format!("{soft}, up to {hard}");
    if linux::is_root() || hard >= ENOUGH_FILES {
        return Capability::ok(what, found);
    }
    let remedy = "for a thousand connections: ulimit -Hn 4096, or limits.conf";
    Capability::lacking(what, State::Limited, found, remedy)
}

fn congestion() -> Capability {
    // Whoever may not look for them still knows the repository's by their names.
    let mut in_c = controls::loaded().unwrap_or_default();
    let names = fairwind_congestion::names();
    in_c.extend(names.iter().filter_map(|name| fairwind_congestion::kernel_name_of(name)));
    congestion_among(&Kernel::running().congestion_controls, &in_c)
}

/// Which of the congestion controls that scenarios know are there, and what else is: those in C under their kernel's
/// names.
fn congestion_among(there: &BTreeSet<String>, in_c: &[String]) -> Capability {
    let what = "congestion controls";
    let own = Congestion::OF_LINUX;
    let names: Vec<&str> = own.iter().map(Congestion::name).collect();
    let (known, missing): (Vec<&str>, Vec<&str>) =
        names.iter().copied().partition(|&name| there.contains(name));
    let others = there.iter().filter(|name| !names.contains(&name.as_str()));
    let (loaded, unknown): (Vec<&String>, Vec<&String>) =
        others.partition(|name| in_c.contains(name));
    let mut found = if known.is_empty() { "none".to_owned() } else { known.join(" ") };
    for (label, names) in [("loaded from C", loaded), ("scenarios do not know", unknown)] {
        let listed: Vec<&str> = names.into_iter().map(String::as_str).collect();
        if !listed.is_empty() {
            found = format!("{found}; {label} {}", listed.join(" "));
        }
    }
    if missing.is_empty() {
        return Capability::ok(what, found);
    }
    // CUBIC is what scenarios have on Linux where they say nothing.
    let is_default_missing = missing.contains(&Congestion::Cubic.name());
    let state = if is_default_missing { State::Missing } else { State::Limited };
    let modules = missing.iter().map(|name| format!("tcp_{name}")).collect::<Vec<_>>().join(" ");
    let keys = missing.iter().map(|name| format!("congestion = \"{name}\"")).collect::<Vec<_>>();
    let remedy = format!("for {}: modprobe -a {modules}", keys.join(" and "));
    Capability::lacking(what, state, found, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_capability_is_listed_once_with_advice() {
        let all = probe();
        let names: BTreeSet<_> = all.iter().map(|one| one.what).collect();
        assert_eq!(names.len(), all.len());
        for one in all {
            assert_eq!(one.remedy.is_empty(), one.state == State::Ok, "{one:?}");
            assert!(!one.found.is_empty(), "{one:?}");
        }
    }

    #[test]
    fn congestion_controls_are_listed_by_kind() {
        let of = |names: &[&str]| {
            let in_c = ["fw_htcp", "mine"].map(str::to_owned);
            congestion_among(&names.iter().map(|&name| name.to_owned()).collect(), &in_c)
        };
        let all = of(&["bbr", "bic", "cubic", "fw_htcp", "mine", "reno", "yeah"]);
        assert_eq!(all.state, State::Ok);
        let expected = "reno bic cubic bbr; loaded from C fw_htcp mine; scenarios do not know yeah";
        assert_eq!(all.found, expected);
        let without_bic = of(&["bbr", "cubic", "reno"]);
        let found = without_bic.found.as_str();
        assert_eq!((without_bic.state, found), (State::Limited, "reno cubic bbr"));
        assert_eq!(without_bic.remedy, "for congestion = \"bic\": modprobe -a tcp_bic");
        let alone = of(&["reno"]);
        assert_eq!(alone.state, State::Missing);
        assert!(
            alone.remedy.ends_with("modprobe -a tcp_bic tcp_cubic tcp_bbr"),
            "{}",
            alone.remedy
        );
    }
}
