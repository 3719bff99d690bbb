//! Shell commands that change settings of our endpoint.
//!
//! | command | meaning |
//! |---|---|
//! | `sysctl [-q] [-w] [-e] NAME=VALUE ...`, `echo VALUE > /proc/sys/...`, any command whose words are all `/proc/sys/...=VALUE` | see `sysctl` |
//! | `echo VALUE > /sys/module/tcp_cubic/parameters/...` | see `sysctl` |
//! | `ip route add`, `change`, `replace`, `append` | metrics of the route, see below |
//! | `ip link set ... mtu N`, `ifconfig DEVICE mtu N` | packet size |
//! | `sleep N` | time passes |
//! | a script of the shell: `./defaults.sh`, `source FILE`, `sh FILE` | its commands, read with [`Files`](super::Files) |
//! | `true`, `false`, `:`, `exit N` | success and failure |
//! | `ip tcp_metrics flush` | deletes the peer's Fast Open cookie; nothing else is cached between connections |
//! | `ethtool ...` | nothing: since 4.17 Linux bundles segments whatever `ethtool` switches off, and segments are verified one by one |
//! | `ip link set ... gso_max_segs 1` | segments are not bundled |
//! | `tc qdisc ... fq` | connections are paced |
//! | `tc qdisc ... pfifo limit 0` | the device takes no new data |
//! | `tc qdisc ... pfifo`, `pfifo_fast`, `noqueue`, `del`, `show`, `tc -s` | nothing: packets do not queue here |
//! | `ip link set ... up`, `gso_max_size`, `txqueuelen`, `ip addr`, `ip neigh`, `ip rule` | nothing: there is one path, without addresses |
//! | `iptables -F`, `-X`, `-Z`, `-L`, the same of `ip6tables` | nothing: nothing is filtered |
//! | `cat`, `date`, `dmesg`, `echo` without a file, `hostname`, `ip ... show`, `printf`, `set`, `ss`, `sync`, `sysctl NAME`, `uname`, `wait` | nothing: they only print |
//! | `nstat`, `grep`, and pipes behind them | nothing, but they fail if they find nothing: see `inspect` |
//! | `modprobe`, `tcpdump` | nothing |
//! | `chmod`, `dd`, `mkdir`, `rm`, `rmdir`, `touch`, `truncate` | nothing: file contents do not matter |
//! | `/tmp/sysctl_restore_...sh`, a `defaults.sh` that cannot be read | nothing: nothing needs restoring, and the profile is the default |
//!
//! `shell` describes the supported shell syntax. Any other command makes the script unsupported.
//!
//! | metric | meaning |
//! |---|---|
//! | `initcwnd N` | initial congestion window |
//! | `advmss N` | maximum announced segment size |
//! | `mtu [lock] N` | packet size; if locked, ICMP errors do not change it |
//! | `rto_min N[ms]` | minimum time-out |
//! | `reordering N` | duplicate ACKs that prove a loss |
//! | `congctl NAME` | congestion control |
//! | `initrwnd N` | initial receive window in segments |
//! | `window N` | maximum receive window |
//! | `quickack 1` | no acknowledgment waits |
//! | `features ecn` | ECN is requested and accepted |
//! | `fastopen_no_cookie 1` | data goes with the SYN without a cookie |
//! | `hoplimit`, `quickack 0`, `fastopen_no_cookie 0`, other `features` | nothing |
//!
//! A route is written as a whole: metrics that are not named have their defaults again. Addresses,
//! devices, and how the route is found do not matter; deleting and flushing changes nothing.

mod inspect;
mod shell;
mod sysctl;

use crate::outcome::{Step, Stop};
use crate::run::settings::{Files, Settings};
use fairwind_tcp::{
    AckDelay, Bundling, Config, CongestionAlgorithm, EcnFeedback, PluggedAlgorithm, Profile,
};
use fairwind_units::Span;
pub(crate) use inspect::{COUNTERS, Pipeline, View, inspect};
use shell::{Reader, Separator, SimpleCommand};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// A kernel parameter, named with dots.
    Parameter {
        name: String,
        value: String,
    },
    Route(Route),
    /// The packet size of the link, in bytes.
    LinkMtu(u16),
    /// Whether the host bundles segments.
    Segmentation(bool),
    /// Packets are paced by the queueing discipline (`fq`).
    PacingDevice,
    /// The device's queue has no room (`limit 0`).
    FullDevice,
    Sleep(Span),
    /// Cached data about peers is deleted.
    ForgetPeers,
    /// An inspection, which fails if it finds nothing.
    Inspect(Pipeline),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Sockets made from now on: they take the parameter when they are made.
    NewSockets,
    /// Connections that begin from now on.
    NewConnections,
    /// Open connections as well.
    Everything,
}

impl Change {
    pub(crate) fn scope(&self) -> Scope {
        match self {
            Self::Parameter { name, .. } => sysctl::scope(name),
            Self::FullDevice => Scope::Everything,
            _ => Scope::NewConnections,
        }
    }
}

/// Parses commands into changes, in order.
///
/// # Errors
/// If a command is not supported, or the last one fails.
pub(crate) fn parse_command(text: &str, files: &Files) -> Step<Vec<Change>> {
    let mut interpreter = Interpreter { files, changes: Vec::new(), depth: 0 };
    if interpreter.run(text, &BTreeMap::new())? {
        Ok(interpreter.changes)
    } else {
        Err(Stop::failed(format!("the command `{}` fails", text.trim())))
    }
}

/// Applies a change to the behaviour of connections.
pub(crate) fn apply(
    change: &Change,
    config: &mut Config,
    profile: Profile,
    settings: &Settings,
) -> Step<()> {
    match change {
        Change::Parameter { name, value } => sysctl::set(name, value, config, profile)?,
        Change::Route(route) => route.apply(config, profile, settings)?,
        Change::LinkMtu(mtu) => {
            config.mss = settings.mss_for_mtu(*mtu);
            config.path.mtu = Some(u32::from(*mtu));
        }
        Change::Segmentation(enabled) => set_segmentation(*enabled, config),
        Change::PacingDevice => config.sending.pacing.enabled = true,
        Change::FullDevice => config.path.is_device_full = true,
        Change::Sleep(_) | Change::ForgetPeers | Change::Inspect(_) => {}
    }
    Ok(())
}

/// Maximum depth of scripts that run scripts.
const MAX_DEPTH: u32 = 4;

struct Interpreter<'a> {
    files: &'a Files,
    changes: Vec<Change>,
    depth: u32,
}

impl Interpreter<'_> {
    /// Runs commands; returns whether the last one succeeded.
    fn run(&mut self, text: &str, variables: &BTreeMap<String, String>) -> Step<bool> {
        let mut reader = Reader::new(text, variables.clone());
        let mut separator = Separator::Always;
        let mut succeeded = true;
        while let Some((command, next)) = reader.next_command()? {
            let runs = match separator {
                Separator::Always => true,
                Separator::OnSuccess => succeeded,
                Separator::OnFailure => !succeeded,
            };
            separator = next;
            if !runs {
                continue;
            }
            if let ["exit", rest @ ..] = slices(&command.words).as_slice() {
                return Ok(rest.first().is_none_or(|status| *status == "0"));
            }
            succeeded = self.run_one(&command, reader.variables())?;
        }
        Ok(succeeded)
    }

    fn run_one(
        &mut self,
        command: &SimpleCommand,
        variables: &BTreeMap<String, String>,
    ) -> Step<bool> {
        let words = slices(&command.words);
        let Some((program, arguments)) = words.split_first() else { return Ok(true) };
        if !command.feeding.is_empty() || matches!(*program, "nstat" | "grep") {
            let pipeline = [&command.feeding[..], std::slice::from_ref(&command.words)].concat();
            self.changes.push(Change::Inspect(pipeline));
            return Ok(true);
        }
        let is_parameter = |word: &&str| word.starts_with("/proc/sys/") && word.contains('=');
        if !arguments.is_empty() && arguments.iter().all(is_parameter) {
            for word in arguments {
                self.parameter(word);
            }
            return Ok(true);
        }
        let name = program.rsplit('/').next().unwrap_or(program);
        match (name, arguments) {
            ("true" | ":", _) => return Ok(true),
            ("false", _) => return Ok(false),
            ("sysctl", _) => arguments
                .iter()
                .filter(|word| word.contains('='))
                .for_each(|word| self.parameter(word)),
            ("echo" | "printf", _) => self.echo(arguments, command.output.as_deref())?,
            ("sleep", [time]) => self.changes.push(Change::Sleep(seconds(time)?)),
            ("source" | "." | "sh" | "bash", [file, ..]) => return self.file(file, variables),
            ("ip", _) => self.ip(arguments).map_err(|stop| named(stop, &words))?,
            ("ifconfig", [.., "mtu", mtu]) => self.changes.push(Change::LinkMtu(number(mtu)?)),
            ("tc", ["qdisc", "replace" | "add" | "change", .., "root", "fq"]) => {
                self.changes.push(Change::PacingDevice);
            }
            ("tc", ["qdisc", "replace" | "add" | "change", .., "pfifo", "limit", "0"]) => {
                self.changes.push(Change::FullDevice);
            }
            _ if has_no_effect(name, arguments) => {}
            _ if program.contains('/') => return self.file(program, variables),
            _ => return Err(named(unknown(), &words)),
        }
        Ok(true)
    }

    /// `NAME=VALUE`, the name with dots or as a path.
    fn parameter(&mut self, assignment: &str) {
        let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
        let name = name.strip_prefix("/proc/sys/").unwrap_or(name).replace('/', ".");
        self.changes.push(Change::Parameter { name, value: value.trim().to_owned() });
    }

    /// `echo VALUE > FILE` sets a kernel parameter.
    fn echo(&mut self, arguments: &[&str], output: Option<&str>) -> Step<()> {
        let text: Vec<&str> =
            arguments.iter().copied().filter(|word| !matches!(*word, "-n" | "-e")).collect();
        let module = "/sys/module/tcp_cubic/parameters/";
        match output {
            None => {}
            Some(path) if path.starts_with("/dev/") => {}
            Some(path) if path.starts_with("/proc/sys/") => {
                self.parameter(&format!("{path}={}", text.join(" ")));
            }
            Some(path) if path.starts_with(module) => {
                let name = format!("tcp_cubic.{}", &path[module.len()..]);
                self.changes.push(Change::Parameter { name, value: text.join(" ") });
            }
            Some(path) => {
                return Err(Stop::unsupported(format!("a command writes to the file {path}")));
            }
        }
        Ok(())
    }

    fn ip(&mut self, arguments: &[&str]) -> Step<()> {
        let rest: Vec<&str> =
            arguments.iter().copied().skip_while(|word| word.starts_with('-')).collect();
        let Some((object, rest)) = rest.split_first() else { return Err(unknown()) };
        if matches!(rest, [] | ["show" | "list" | "get", ..]) {
            return Ok(());
        }
        match (*object, rest) {
            ("route" | "ro" | "r", _) => {
                self.changes.extend(Route::parse_command(rest)?.map(Change::Route));
            }
            ("link" | "l", ["set", .., "mtu", mtu]) => {
                self.changes.push(Change::LinkMtu(number(mtu)?));
            }
            ("link" | "l", ["set", .., "gso_max_segs", max]) => {
                self.changes.push(Change::Segmentation(*max != "1"));
            }
            ("link" | "l", ["set", .., "up"] | ["set", .., "gso_max_size" | "txqueuelen", _])
            | ("addr" | "address" | "a" | "neigh" | "neighbour" | "rule", _) => {}
            ("tcp_metrics" | "tcpmetrics", ["flush" | "delete" | "del", ..]) => {
                self.changes.push(Change::ForgetPeers);
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// A script of the shell in a file.
    fn file(&mut self, path: &str, variables: &BTreeMap<String, String>) -> Step<bool> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if name.starts_with("sysctl_restore_") {
            return Ok(true);
        }
        let Some(text) = self.files.read(path) else {
            return if name == "defaults.sh" {
                Ok(true)
            } else {
                Err(Stop::unsupported(format!(
                    "the command `{path}` is not known, nor can it be read"
                )))
            };
        };
        let first = text.lines().next().unwrap_or_default();
        let is_shell = if first.starts_with("#!") {
            first.contains("sh")
        } else {
            name.rsplit_once('.').is_some_and(|(_, extension)| extension == "sh")
        };
        if !is_shell {
            return Err(Stop::unsupported(format!("the command `{path}` is no script of a shell")));
        }
        if self.depth == MAX_DEPTH {
            return Err(Stop::unsupported(format!("the command `{path}` runs itself")));
        }
        self.depth += 1;
        let outcome = self.run(&text, variables);
        self.depth -= 1;
        outcome
    }
}

fn slices(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn has_no_effect(name: &str, arguments: &[&str]) -> bool {
    match name {
        "cat" | "date" | "dmesg" | "ethtool" | "hostname" | "modprobe" | "set" | "ss"
        | "sync" | "tcpdump" | "uname" | "wait"
        // File contents do not matter, because sent files are any bytes.
        | "chmod" | "dd" | "mkdir" | "rm" | "rmdir" | "touch" | "truncate" => true,
        "iptables" | "ip6tables" => {
            let only_looks = |word: &&str| matches!(*word, "-F" | "-X" | "-Z" | "-L" | "-S" | "-w");
            !arguments.is_empty() && arguments.iter().all(only_looks)
        }
        "tc" => queue_is_harmless(arguments),
        _ => false,
    }
}

fn queue_is_harmless(arguments: &[&str]) -> bool {
    match arguments {
        [first, ..] if first.starts_with('-') => true,
        ["qdisc", "del" | "delete" | "show" | "list" | "ls", ..] => true,
        // A queue with limit 0 drops everything.
        ["qdisc", .., "limit", "0"] => false,
        ["qdisc", "replace" | "add" | "change", rest @ ..] => {
            let place = rest.iter().position(|word| *word == "root");
            let kind = place.and_then(|place| rest.get(place + 1));
            kind.is_some_and(|kind| matches!(*kind, "fq" | "pfifo" | "pfifo_fast" | "noqueue"))
        }
        _ => false,
    }
}

/// An error without a reason; [`named`] adds the command.
fn unknown() -> Stop {
    Stop::unsupported("")
}

fn named(stop: Stop, words: &[&str]) -> Stop {
    match stop {
        Stop::Unsupported(reason) if reason.is_empty() => Stop::Unsupported(format!(
            "the command `{}` is not on the list of known ones",
            words.join(" ")
        )),
        other => other,
    }
}

fn number<N: std::str::FromStr>(value: &str) -> Step<N> {
    value.parse().map_err(|_| unknown())
}

/// `2`, `0.5` or `100ms` as a time.
fn seconds(text: &str) -> Step<Span> {
    let text = text.strip_suffix('s').unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: u32 = if whole.is_empty() { 0 } else { number(whole)? };
    let fraction: u64 = number(&format!("{fraction:0<9.9}"))?;
    Ok(Span::from_secs(u64::from(whole)) + Span::from_nanos(fraction))
}

/// The C algorithm with this name in scenarios or in a kernel.
fn plugged(name: &str) -> Option<PluggedAlgorithm> {
    let is_meant = |one: &String| {
        one == name || fairwind_congestion::kernel_name_of(one).is_some_and(|kernel| kernel == name)
    };
    fairwind_congestion::built_in(&fairwind_congestion::names().into_iter().find(is_meant)?)
}

pub(crate) fn congestion_named(name: &str, profile: Profile) -> Step<CongestionAlgorithm> {
    match name {
        "reno" => Ok(CongestionAlgorithm::Reno),
        "cubic" => Ok(profile.cubic()),
        "bic" => Ok(CongestionAlgorithm::Bic),
        "bbr" => Ok(CongestionAlgorithm::Plugged(fairwind_tcp::bbr1())),
        "bbr3" => Ok(CongestionAlgorithm::Plugged(fairwind_tcp::bbr3())),
        other => plugged(other).map(CongestionAlgorithm::Plugged).ok_or_else(|| {
            Stop::unsupported(format!("there is no congestion control \"{other}\""))
        }),
    }
}

/// `ip link set ... gso_max_segs 1`: the host sends segment by segment.
fn set_segmentation(enabled: bool, config: &mut Config) {
    if !enabled {
        config.sending.bundling = None;
    } else if config.sending.bundling.is_none() {
        config.sending.bundling = Some(Bundling::LINUX);
    }
}

/// The metrics of a route; `None` for the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Route {
    initial_window: Option<u32>,
    announced_mss: Option<u16>,
    mtu: Option<u16>,
    locks_mtu: bool,
    min_timeout: Option<Span>,
    reordering: Option<u32>,
    congestion: Option<String>,
    receive_window: Option<u32>,
    window_clamp: Option<u32>,
    switches: Vec<Switch>,
}

/// Settings of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Switch {
    QuickAcknowledgments,
    CongestionNotification,
    NoCookie,
}

impl Route {
    /// Parses the arguments of `ip route`; `None` if they set no metrics.
    fn parse_command(words: &[&str]) -> Step<Option<Self>> {
        let (verb, rest) = words.split_first().ok_or_else(unknown)?;
        match *verb {
            "add" | "change" | "chg" | "replace" | "append" | "prepend" => {}
            "del" | "delete" | "flush" => return Ok(None),
            _ => return Err(unknown()),
        }
        // The first word is the destination.
        let mut rest = rest.get(1..).ok_or_else(unknown)?;
        let mut route = Self::default();
        while let Some((key, behind)) = rest.split_first() {
            if *key == "onlink" {
                rest = behind;
                continue;
            }
            let locked = behind.strip_prefix(&["lock"]);
            route.locks_mtu |= *key == "mtu" && locked.is_some();
            let behind = locked.unwrap_or(behind);
            let (value, behind) = behind.split_first().ok_or_else(unknown)?;
            route.take(key, value)?;
            rest = behind;
        }
        Ok(Some(route))
    }

    fn take(&mut self, key: &str, value: &str) -> Step<()> {
        match (key, value) {
            (
                "via" | "dev" | "src" | "scope" | "proto" | "protocol" | "table" | "metric"
                | "preference" | "hoplimit" | "expires",
                _,
            )
            | ("quickack" | "fastopen_no_cookie", "0")
            | ("features", "tcp_usec_ts") => {}
            ("initrwnd", _) => self.receive_window = Some(number(value)?),
            ("window", _) => self.window_clamp = Some(number(value)?),
            ("quickack", "1") => self.switches.push(Switch::QuickAcknowledgments),
            ("features", "ecn") => self.switches.push(Switch::CongestionNotification),
            ("fastopen_no_cookie", "1") => self.switches.push(Switch::NoCookie),
            ("initcwnd", _) => self.initial_window = Some(number(value)?),
            ("advmss", _) => self.announced_mss = Some(number(value)?),
            ("mtu", _) => self.mtu = Some(number(value)?),
            ("rto_min", _) => self.min_timeout = Some(min_timeout(value)?),
            ("reordering", _) => self.reordering = Some(number(value)?),
            ("congctl", _) => self.congestion = Some(value.to_owned()),
            _ => return Err(unknown()),
        }
        Ok(())
    }

    fn apply(&self, config: &mut Config, profile: Profile, settings: &Settings) -> Step<()> {
        let default = settings.adapt(profile.system_config());
        let mss = self.mtu.map_or(default.mss, |mtu| settings.mss_for_mtu(mtu));
        config.mss = self.announced_mss.map_or(mss, |announced| announced.min(mss));
        config.path.mtu = self.mtu.map_or(default.path.mtu, |mtu| Some(u32::from(mtu)));
        config.path.is_mtu_locked = self.locks_mtu;
        config.initial_window = self.initial_window.unwrap_or(default.initial_window);
        config.minimum_rto = self.min_timeout.unwrap_or(default.minimum_rto);
        config.receiving.initial_window = self.receive_window;
        config.receiving.window_clamp = self.window_clamp;
        for switch in &self.switches {
            match switch {
                Switch::QuickAcknowledgments => config.ack_delay = AckDelay::None,
                Switch::CongestionNotification => {
                    let ecn = &mut config.ecn;
                    ecn.outgoing = ecn.outgoing.max(EcnFeedback::Classic);
                    ecn.incoming = ecn.incoming.max(EcnFeedback::Classic);
                }
                Switch::NoCookie => config.fast_open.client_without_cookie = true,
            }
        }
        if let Some(segments) = self.reordering {
            config.duplicate_threshold = segments;
        }
        if let Some(name) = &self.congestion {
            config.congestion = congestion_named(name, profile)?;
        }
        Ok(())
    }
}

/// `40ms`, `1s`, or bare milliseconds.
fn min_timeout(value: &str) -> Step<Span> {
    let (digits, factor) = match (value.strip_suffix("ms"), value.strip_suffix('s')) {
        (Some(digits), _) => (digits, 1),
        (None, Some(digits)) => (digits, 1000),
        (None, None) => (value, 1),
    };
    let number: u32 = number(digits)?;
    Ok(Span::from_millis(u64::from(number) * factor))
}
