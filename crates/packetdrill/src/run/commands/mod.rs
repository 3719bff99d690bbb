//! Commands of the shell, as far as they change what an endpoint does.
//!
//! | command | meaning |
//! |---|---|
//! | `sysctl [-q] [-w] [-e] NAME=VALUE ...`, `echo VALUE > /proc/sys/...`, `.../set_sysctls.py /proc/sys/...=VALUE ...` | see `sysctl` |
//! | `ip route ... initcwnd N`, `advmss N`, `rto_min N[ms]`, `mtu [lock] N` | initial window, segment size, least time-out, packet size |
//! | `ip link ... mtu N` | packet size |
//! | `ip tcp_metrics flush` | nothing: nothing is remembered between connections |
//! | `ethtool -K ...` | nothing: the judge takes an expected packet as several segments anyway |
//! | `tc qdisc ... root fq`, `pfifo`, `pfifo_fast`, `noqueue` | nothing: packets do not queue here |
//! | `.../defaults.sh` | nothing: the profile is the default |
//! | `true`, `:`, `sleep 0` | nothing |
//!
//! Commands are parted by `;`, `&&` and the ends of lines. Any other makes the script unsupported.

mod sysctl;

use crate::outcome::{Step, Stop};
use crate::run::settings::Settings;
use fairwind_tcp::{Config, CongestionAlgorithm, Profile};
use fairwind_units::Span;

/// Applies a command to the behaviour of connections to come.
pub(crate) fn apply(
    text: &str,
    config: &mut Config,
    profile: Profile,
    settings: &Settings,
) -> Step<()> {
    let lines = text.replace("&&", "\n").replace([';'], "\n").replace("\\\n", " ");
    for line in lines.lines() {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        apply_one(&words, config, profile, settings).map_err(|stop| match stop {
            Stop::Unsupported(reason) if reason.is_empty() => Stop::Unsupported(format!(
                "the command `{}` is not on the list of known ones",
                line.trim()
            )),
            other => other,
        })?;
    }
    Ok(())
}

/// Words that only keep a command quiet.
const SILENCERS: [&str; 4] = [">/dev/null", "2>/dev/null", "&>/dev/null", "2>&1"];

/// The words of a line without its comment; quotation marks keep a word together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted: Option<char> = None;
    for character in line.chars() {
        match quoted {
            Some(quote) if character == quote => quoted = None,
            None if character == '"' || character == '\'' => quoted = Some(character),
            None if character.is_whitespace() => words.push(String::new()),
            _ => words.last_mut().expect("there is always a last word").push(character),
        }
    }
    words.retain(|word| !word.is_empty() && !SILENCERS.contains(&word.as_str()));
    if let Some(comment) = words.iter().position(|word| word.starts_with('#')) {
        words.truncate(comment);
    }
    words
}

/// The reason is filled in by the caller, who knows the whole line.
fn unknown() -> Stop {
    Stop::unsupported("")
}

fn apply_one(
    words: &[&str],
    config: &mut Config,
    profile: Profile,
    settings: &Settings,
) -> Step<()> {
    let Some((command, arguments)) = words.split_first() else { return Ok(()) };
    let name = command.rsplit('/').next().unwrap_or(command);
    match (name, arguments) {
        ("sysctl" | "set_sysctls.py", _) => {
            let assignments = arguments.iter().filter(|word| !is_switch(word));
            assignments.map(|word| word.split_once('=').ok_or_else(unknown)).try_for_each(
                |assignment| {
                    let (name, value) = assignment?;
                    sysctl::set(name, value, config, profile)
                },
            )
        }
        ("echo", [value, ">", path]) => sysctl::set(path, value, config, profile),
        ("ip", ["route", rest @ ..]) => route(rest, config, settings),
        ("ip", ["link", "set", .., "mtu", mtu]) => {
            config.mss = settings.mss_for_mtu(number(mtu)?);
            Ok(())
        }
        ("ip", ["tcp_metrics", "flush", ..])
        | ("ethtool", ["-K", ..])
        | ("defaults.sh" | "true" | ":", _)
        | ("sleep", ["0"]) => Ok(()),
        ("tc", ["qdisc", "replace" | "add" | "change", "dev", _, "root", rest @ ..]) => {
            match rest {
                ["fq" | "pfifo" | "pfifo_fast" | "noqueue", ..] => Ok(()),
                _ => Err(unknown()),
            }
        }
        _ => Err(unknown()),
    }
}

fn is_switch(word: &str) -> bool {
    matches!(word, "-q" | "-w" | "-e" | "-qw" | "-wq")
}

/// `ip route` with metrics; addresses and devices do not matter.
fn route(words: &[&str], config: &mut Config, settings: &Settings) -> Step<()> {
    let (verb, rest) = words.split_first().ok_or_else(unknown)?;
    if !matches!(*verb, "add" | "change" | "replace" | "append") {
        return Err(unknown());
    }
    // The first word is the destination.
    let mut rest = rest.get(1..).ok_or_else(unknown)?;
    while let Some((key, behind)) = rest.split_first() {
        let behind = behind.strip_prefix(&["lock"]).unwrap_or(behind);
        let (value, behind) = behind.split_first().ok_or_else(unknown)?;
        match *key {
            "via" | "dev" | "src" | "scope" | "proto" | "table" => {}
            "initcwnd" => config.initial_window = number(value)?,
            "advmss" => config.mss = config.mss.min(number(value)?),
            "mtu" => config.mss = settings.mss_for_mtu(number(value)?),
            "rto_min" => config.minimum_rto = least_timeout(value)?,
            _ => return Err(unknown()),
        }
        rest = behind;
    }
    Ok(())
}

fn least_timeout(value: &str) -> Step<Span> {
    let (digits, factor) = match value.strip_suffix("ms") {
        Some(digits) => (digits, 1),
        None => (value.strip_suffix('s').ok_or_else(unknown)?, 1000),
    };
    let number: u32 = number(digits)?;
    Ok(Span::from_millis(u64::from(number) * factor))
}

fn number<N: std::str::FromStr>(value: &str) -> Step<N> {
    value.parse().map_err(|_| unknown())
}

/// The congestion control of this name in this profile.
pub(crate) fn congestion_named(name: &str, profile: Profile) -> Step<CongestionAlgorithm> {
    match name {
        "reno" => Ok(CongestionAlgorithm::Reno),
        "cubic" => Ok(profile.cubic()),
        other => Err(Stop::unsupported(format!("there is no congestion control \"{other}\""))),
    }
}
