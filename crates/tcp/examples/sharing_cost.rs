//! Cost of a window cache with 100 000 peers: instructions of a look-up and of an update, and bytes per peer.
//! Run with `--release`; needs `perf` or `valgrind` for the instructions.
//!
//! Peers open and close in a scattered order. Each policy runs in two processes, one with more connections than
//! the other; the difference is the cost of one.

#![expect(clippy::print_stdout, reason = "the numbers are what this program is for")]

use fairwind_tcp::{
    CarefulResumeConfig, ClassicConfig, ConnectionId, MetricsConfig, Opener, Opening, PolicyConfig,
    ReportKind, Sharing, TcbSharingConfig, WindowCache, WindowReport,
};
use fairwind_units::{Instant, Span};
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;

type Failure = Box<dyn std::error::Error>;

const PEERS: u32 = 100_000;
/// Has no divisor in common with the number of peers.
const STRIDE: u32 = 61_803;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [name, what, connections] = arguments.as_slice() {
        remember(name, what, connections.parse()?);
        return Ok(());
    }
    println!("{:<16} {:>10} {:>10} {:>14}", "policy", "look-up", "update", "bytes a peer");
    for (name, _) in policies() {
        let look_up = instructions(name, "look-up")?;
        let update = instructions(name, "update")?;
        let bytes = bytes_per_peer(name)?;
        println!("{name:<16} {look_up:>10.0} {update:>10.0} {bytes:>14.0}");
    }
    Ok(())
}

fn policies() -> [(&'static str, PolicyConfig); 4] {
    let shared = TcbSharingConfig { ensemble: true, largest_window: None };
    [
        ("classic", PolicyConfig::Classic(ClassicConfig::REPORT)),
        ("rfc9040", PolicyConfig::TcbSharing(shared)),
        ("tcp-metrics", PolicyConfig::Metrics(MetricsConfig { threshold: false })),
        ("careful-resume", PolicyConfig::CarefulResume(CarefulResumeConfig::USUAL)),
    ]
}

fn peer(number: u32) -> IpAddr {
    Ipv4Addr::from(0x0a00_0000 + number).into()
}

fn window_report(connection: u64) -> WindowReport {
    WindowReport {
        connection: ConnectionId(connection),
        window: 320,
        initial_window: 10,
        slow_start_threshold: Some(20),
        smoothed_rtt: Some(Span::from_millis(100)),
        rtt_variation: Span::from_millis(10),
        min_rtt: Some(Span::from_millis(90)),
        retransmissions: 0,
        is_backed_off: false,
        is_open: true,
        reordering: 3,
        usual_reordering: 3,
        segment_bytes: 1448,
        is_resuming: false,
    }
}

/// A full cache, with this number of look-ups or updates.
fn remember(name: &str, what: &str, connections: u32) {
    let policy = policies().into_iter().find(|(known, _)| *known == name);
    let Some((_, policy)) = policy else { return };
    let entries = usize::try_from(PEERS).unwrap_or(usize::MAX);
    let sharing = Sharing { entries, ..Sharing::usual(policy) };
    let mut cache = WindowCache::new(&sharing);
    let mut now = Instant::ZERO;
    let mut number = 0;
    let mut next = || {
        number = (number + STRIDE) % PEERS;
        now += Span::from_micros(1);
        (now, peer(number))
    };
    for _ in 0..if what == "empty" { 0 } else { PEERS } {
        let (now, peer) = next();
        tell(&mut cache, now, peer);
    }
    for connection in 0..connections {
        let (now, peer) = next();
        if what == "look-up" {
            let connection = ConnectionId(connection.into());
            let opening = Opening { now, peer, connection, opener: Opener::Peer };
            let _ = black_box(cache.on_opening(&opening));
            cache.on_over(peer, connection);
        } else if what == "update" {
            tell(&mut cache, now, peer);
        }
    }
    black_box(cache.len());
    if what == "empty" || what == "full" {
        println!("{}", resident_bytes());
    }
}

/// Reports both kinds; the policy uses one of them.
fn tell(cache: &mut WindowCache, now: Instant, peer: IpAddr) {
    let report = window_report(1);
    cache.on_report(now, peer, &report, ReportKind::Closed);
    cache.on_report(now, peer, &report, ReportKind::Ended);
}

/// Memory that this process has in use.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

fn bytes_per_peer(name: &str) -> Result<f64, Failure> {
    let program = std::env::current_exe()?;
    let resident = |what: &str| -> Result<f64, Failure> {
        let output = Command::new(&program).args([name, what, "0"]).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
    };
    Ok((resident("full")? - resident("empty")?) / f64::from(PEERS))
}

fn instructions(name: &str, what: &str) -> Result<f64, Failure> {
    let program = std::env::current_exe()?;
    let program = program.to_str().ok_or("a path that is no text")?;
    let (few, many) = (0, 100_000);
    let counted = |count: fn(&str, &[&str]) -> Option<u64>| {
        let of = |connections: u32| count(program, &[name, what, &connections.to_string()]);
        let instructions = of(many)?.saturating_sub(of(few)?);
        #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
        let share = instructions as f64 / f64::from(many - few);
        Some(share)
    };
    counted(with_perf)
        .or_else(|| counted(with_callgrind))
        .ok_or_else(|| "neither perf nor valgrind can count instructions here".into())
}

/// Instructions that `perf stat` counts.
fn with_perf(program: &str, arguments: &[&str]) -> Option<u64> {
    let mut perf = Command::new("perf");
    perf.args(["stat", "-x", ",", "-e", "instructions:u", program]).args(arguments);
    let output = perf.output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stderr).lines().last()?.split(',').next()?.parse().ok()
}

/// Instructions that callgrind counts.
fn with_callgrind(program: &str, arguments: &[&str]) -> Option<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", program]).args(arguments);
    let output = valgrind.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(' ').next()?.parse().ok()
}
