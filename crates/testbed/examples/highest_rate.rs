//! Finds the highest rate at which the router keeps time, and compares it with a plain veth pair.
//!
//! `highest_rate [--seconds N]`: one greedy connection over paths of rising rate; a path counts as
//! carried where the connection fills it to 99 % and the 99th percentile of the lateness stays within
//! its bound. Then the same kernel, in the same run, over a veth pair with tbf and nothing of ours in
//! between (needs `ip`, `tc` and `iperf3`), packets cut as small: the ratio of packets per second is
//! what a router in user space costs. Needs root, and `fairwind-host` beside the folder of examples.

#![expect(clippy::print_stdout, reason = "a program that prints a table")]

#[allow(dead_code, reason = "each example uses a part")]
mod support;

use fairwind_assembly::CaptureFiles;
use fairwind_linux::{Reaper, RunName};
use std::process::Command;
use support::{FILLED_PERCENT, Failure, filled_percent, number, run_text, seconds};

/// Where the search begins, in Mbit/s.
const FIRST_RATE: u32 = 250;
/// No machine of today goes beyond this, in Mbit/s.
const LAST_RATE: u32 = 64_000;
/// Halvings of the range between the last rate carried and the first that was not.
const HALVINGS: u32 = 4;
fn main() -> Result<(), Failure> {
    let seconds = seconds(4)?;
    println!(
        "{:>12} {:>14} {:>10} {:>10} {:>8}",
        "Mbit/s", "packets/s", "p99 us", "bound us", "filled"
    );
    let (mut carried, mut packets) = (0, 0.0);
    let mut refused = LAST_RATE;
    let mut rate = FIRST_RATE;
    let mut halvings = 0;
    while halvings <= HALVINGS && rate <= LAST_RATE {
        let trial = trial(rate, seconds)?;
        if trial.is_carried {
            carried = rate;
            packets = trial.packets_per_second.max(packets);
        } else {
            refused = rate;
        }
        let is_bracketed = refused < LAST_RATE;
        halvings += u32::from(is_bracketed);
        rate = if is_bracketed { carried.midpoint(refused) } else { rate * 2 };
    }
    println!("highest rate in time: {carried} Mbit/s, {packets:.0} packets/s in both directions");
    match veth(seconds) {
        Ok(plain) => println!(
            "plain veth pair with tbf: {plain:.0} packets/s; the router reaches {:.2} of it",
            packets / plain
        ),
        Err(reason) => println!("no plain veth pair to compare with: {reason}"),
    }
    Ok(())
}

struct Trial {
    packets_per_second: f64,
    is_carried: bool,
}

/// One greedy connection over a path of `rate` Mbit/s.
fn trial(rate: u32, seconds: u32) -> Result<Trial, Failure> {
    let text = format!(
        r#"
        name = "one greedy connection"
        duration = "{} s"
        [path]
        rate = "{rate} Mbit/s"
        rtt = "4 ms"
        queue = {{ limit = "2 bdp" }}
        [[flows]]
        name = "greedy"
        workload = {{ kind = "greedy" }}
        [measure]
        warmup = "1 s"
        "#,
        seconds + 1
    );
    let outcome = run_text(&text, CaptureFiles::default())?;
    let number = |table: &str, column: &str| number(&outcome, table, column);
    let taken = number("lateness", "packets_taken").unwrap_or(0.0);
    let packets_per_second = taken / f64::from(seconds + 1);
    let filled = filled_percent(&outcome, rate);
    println!(
        "{rate:>12} {packets_per_second:>14.0} {:>10.1} {:>10.1} {filled:>7.1}%",
        number("lateness", "lateness_p99_s").unwrap_or(0.0) * 1e6,
        number("lateness", "bound_s").unwrap_or(0.0) * 1e6,
    );
    let is_carried = filled >= FILLED_PERCENT && !outcome.lateness.exceeds_bound();
    Ok(Trial { packets_per_second, is_carried })
}

/// Packets per second, in both directions, of one greedy connection over a veth pair. Its tbf has a rate
/// that is no limit. Packets are segmented before the device, as they are before a TUN device.
fn veth(seconds: u32) -> Result<f64, Failure> {
    let run = RunName::fresh();
    let mut reaper = Reaper::start(run)?;
    let [one, other] = ["one", "other"].map(|host| run.of(host));
    // A server that nobody reached would wait for ever.
    reaper.undo(&format!("ip netns pids {other} | xargs -r kill"))?;
    shell(&format!(
        "set -e
        ip netns add {one}
        ip netns add {other}
        ip -n {one} link add veth0 type veth peer name veth0 netns {other}
        ip -n {one} link set veth0 gso_max_segs 1 up
        ip -n {other} link set veth0 gso_max_segs 1 up
        ip -n {one} addr add 10.0.0.1/30 dev veth0
        ip -n {other} addr add 10.0.0.2/30 dev veth0
        tc -n {one} qdisc add dev veth0 root tbf rate 40gbit burst 1mb limit 4mb
        ip netns exec {other} iperf3 -s -1 -D > /dev/null"
    ))?;
    let before = packets(&one)?;
    shell(&format!("ip netns exec {one} iperf3 -c 10.0.0.2 -t {seconds} > /dev/null"))?;
    Ok((packets(&one)? - before) / f64::from(seconds))
}

/// Packets that passed a namespace's device so far, in both directions.
fn packets(namespace: &str) -> Result<f64, Failure> {
    let folder = "/sys/class/net/veth0/statistics";
    let text =
        shell(&format!("ip netns exec {namespace} cat {folder}/rx_packets {folder}/tx_packets"))?;
    Ok(text.split_whitespace().filter_map(|word| word.parse::<f64>().ok()).sum())
}

fn shell(text: &str) -> Result<String, Failure> {
    let output = Command::new("/bin/sh").args(["-c", text]).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
