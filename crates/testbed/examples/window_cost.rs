//! Cost of remembered windows in the kernel: nanoseconds of the eBPF program for each call and each connection, from the
//! kernel's statistics of eBPF programs (`kernel.bpf_stats_enabled`). The cost of the statistics is included.
//!
//!     make bench-windows
//!
//! Connections over the loopback are opened to addresses of 127.0.0.0/8, each to another one. Both ends look up their
//! peer when the connection is established, and store it when it ends. The accepting ends have one peer, 127.0.0.1.
//! Needs root.

#![expect(clippy::print_stdout, reason = "this is what it is for")]

use fairwind_linux::{CleanupPaths, Reaper, RunName};
use fairwind_units::Span;
use fairwind_windows::{RememberedWindow, SharedOpenings, Trust, WindowOptions, WindowsOfRun};
use std::error::Error;
use std::io::Read as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

/// Connections of a measurement.
const CONNECTIONS: u32 = 10_000;
/// Peers that are remembered.
const PEERS: [u32; 2] = [1_000, 100_000];
/// Whether the kernel counts what programs take.
const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(peers) = std::env::args().nth(1) {
        return connect(peers.parse()?);
    }
    let run = RunName::fresh();
    let mut reaper = Reaper::start(run)?;
    let before = std::fs::read_to_string(STATISTICS)?;
    reaper.undo(&format!("echo {} > {STATISTICS}", before.trim()))?;
    std::fs::write(STATISTICS, "1")?;
    let root = CleanupPaths::usual().control_groups.ok_or("no control groups of version 2")?;
    let group = root.join(run.of("cost"));
    std::fs::create_dir(&group)?;
    println!("{CONNECTIONS} connections, both ends:");
    for peers in PEERS {
        measure(&group, peers)?;
    }
    Ok(())
}

/// The address of a peer.
fn peer(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 1, 0, 0)) + number)
}

fn measure(group: &Path, peers: u32) -> Result<(), Box<dyn Error>> {
    let options = WindowOptions {
        entries: peers,
        trust: Trust::Exact,
        beginning: SharedOpenings::All,
        largest_window: None,
        ..WindowOptions::default()
    };
    let run = WindowsOfRun::begin(group, &options)?;
    let window = |number| RememberedWindow {
        peer: peer(number).into(),
        packets: 10,
        age: Span::ZERO,
        least_rtt: None,
    };
    (0..peers).try_for_each(|number| run.remember(window(number)))?;
    let enter = "echo 0 > \"$0/cgroup.procs\" && exec \"$1\" \"$2\"";
    let program = std::env::current_exe()?;
    let mut child = Command::new("/bin/sh");
    child.args(["-c", enter]).arg(group).arg(program).arg(peers.to_string());
    if !child.status()?.success() {
        return Err("the connections failed".into());
    }
    let (calls, nanoseconds) = run.runs();
    let counts = run.remembered()?.counts;
    let each = |count: u64| {
        f64::from(u32::try_from(nanoseconds / 100).unwrap_or(u32::MAX)) * 100.0
            / f64::from(u32::try_from(count.max(1)).unwrap_or(u32::MAX))
    };
    println!(
        "{peers} peers: {calls} calls, {:.0} ns for each, {:.0} ns for each end of a connection; {counts:?}",
        each(calls),
        each(u64::from(CONNECTIONS) * 2),
    );
    Ok(())
}

/// Opens connections one after another, the peers in a scattered order.
fn connect(peers: u32) -> Result<(), Box<dyn Error>> {
    const STEP: u32 = 7_919;
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let port = listener.local_addr()?.port();
    for number in (0..CONNECTIONS).map(|number| number.wrapping_mul(STEP) % peers) {
        let mut ours = TcpStream::connect((peer(number), port))?;
        let (theirs, _) = listener.accept()?;
        drop(theirs);
        ours.read_to_end(&mut Vec::new())?;
    }
    Ok(())
}
