//! Measures the accuracy of the router's delays and rates, and compares it with the required accuracy.
//!
//! `accuracy [--seconds N]`: requests and responses on an otherwise idle path with a round-trip time
//! of 100 ms, each of them timed by the captures of both ends, to the nanosecond; then one greedy
//! connection over paths of several rates, N seconds each. Needs root, and `fairwind-host` beside the
//! folder of examples.

#![expect(clippy::print_stdout, reason = "a program that prints a table")]

#[allow(dead_code, reason = "each example uses a part")]
mod support;

use fairwind_assembly::CaptureFiles;
use fairwind_wire::bytes::parse;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use support::{FILLED_PERCENT, Failure, filled_percent, number, run_text, seconds};

/// One way over the path of the thin flows, in microseconds.
const ONE_WAY: f64 = 50_000.0;
/// What the median and the 99th percentile of a delay's error may be, in microseconds.
const DELAY_BOUNDS: [f64; 2] = [100.0, 1_000.0];
fn main() -> Result<(), Failure> {
    let seconds = seconds(10)?;
    delays(seconds)?;
    println!(
        "\n{:>8} {:>7} {:>8} {:>8} {:>10} {:>10} {:>10}  reached",
        "Mbit/s", "RTT ms", "filled", "bound", "late p99", "bound us", "max us"
    );
    for rate in [1, 10, 100, 250] {
        greedy(rate, 20, seconds)?;
    }
    greedy(250, 162, seconds.max(20))
}

/// Times requests and responses.
fn delays(seconds: u32) -> Result<(), Failure> {
    let text = format!(
        r#"
        name = "requests and responses on an idle path"
        duration = "{} s"
        [path]
        rate = "1 Gbit/s"
        rtt = "100 ms"
        queue = {{ limit = "100 packets" }}
        [[flows]]
        name = "thin"
        count = 8
        start_spread = "100 ms"
        start_pattern = "random"
        workload = {{ kind = "request-response", request = "100 B", response = "100 B", pause = "15 ms" }}
        [capture]
        "#,
        seconds.max(20)
    );
    let (sender, receiver) = (File::default(), File::default());
    let files = CaptureFiles {
        sender: Some(Box::new(sender.clone())),
        receiver: Some(Box::new(receiver.clone())),
    };
    run_text(&text, files)?;
    let (near, far) = (sender.messages()?, receiver.messages()?);
    let times = |from: &Messages, to: &Messages, is_request: bool| -> Vec<f64> {
        let wanted = from.iter().filter(|(message, _)| message.is_request == is_request);
        wanted.filter_map(|(message, begun)| Some(to.get(message)? - begun)).collect()
    };
    println!(
        "{:<44} {:>8} {:>10} {:>10} {:>10}  reached (bounds {} and {} us)",
        "", "samples", "median us", "p99 us", "max us", DELAY_BOUNDS[0], DELAY_BOUNDS[1]
    );
    let error = |times: Vec<f64>, due: f64| times.into_iter().map(|time| time - due).collect();
    judge("requests, one way, error", error(times(&near, &far, true), ONE_WAY), true);
    judge("responses, one way, error", error(times(&far, &near, false), ONE_WAY), true);
    judge("from request to response, error", error(exchanges(&near, true), 2.0 * ONE_WAY), true);
    judge("  of it: the answering host and its process", exchanges(&far, true), false);
    judge(
        "the asking host, beyond its pause of 15 ms",
        error(exchanges(&near, false), 15_000.0),
        false,
    );
    Ok(())
}

/// Prints median and 99th percentile of exact values, in microseconds.
fn judge(what: &str, mut values: Vec<f64>, has_bounds: bool) {
    values.sort_by(f64::total_cmp);
    let of_percent = |percent: usize| values.get(values.len() * percent / 100).copied();
    let [median, p99] = [50, 99].map(|percent| of_percent(percent).unwrap_or(f64::NAN));
    let most = values.last().copied().unwrap_or(f64::NAN);
    let reached = median < DELAY_BOUNDS[0] && p99 < DELAY_BOUNDS[1];
    let reached = if has_bounds { yes_or_no(reached) } else { "" };
    println!("{what:<44} {:>8} {median:>10.1} {p99:>10.1} {most:>10.1}  {reached}", values.len());
}

fn yes_or_no(answer: bool) -> &'static str {
    if answer { "yes" } else { "NO" }
}

/// A request or a response as it passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Message {
    /// The connection, by the port of the side that asks.
    connection: u16,
    is_request: bool,
    sequence: u32,
}

/// When each message passed first, in microseconds.
type Messages = BTreeMap<Message, f64>;

/// Times from a request to its response, or from a response to the next request, at one point.
fn exchanges(messages: &Messages, begins_with_request: bool) -> Vec<f64> {
    let mut in_order: Vec<_> = messages.iter().collect();
    in_order.sort_by(|one, other| {
        (one.0.connection, one.1)
            .partial_cmp(&(other.0.connection, other.1))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let pairs = in_order.windows(2).filter(|pair| {
        let [first, second] = [pair[0].0, pair[1].0];
        first.connection == second.connection
            && first.is_request == begins_with_request
            && second.is_request != begins_with_request
    });
    pairs.map(|pair| pair[1].1 - pair[0].1).collect()
}

/// A capture in memory.
#[derive(Clone, Default)]
struct File(Arc<Mutex<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl File {
    fn messages(&self) -> Result<Messages, Failure> {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut reader = PcapNgReader::new(bytes.as_slice())?;
        let mut messages = Messages::new();
        while let Some(block) = reader.next_block() {
            let Block::EnhancedPacket(packet) = block?.into_owned() else { continue };
            let parsed = parse(&packet.data)?;
            if parsed.payload.is_empty() {
                continue;
            }
            let (source, destination) =
                (parsed.segment.source_port, parsed.segment.destination_port);
            // Sides that ask have the lower ports.
            let message = Message {
                connection: source.min(destination),
                is_request: source < destination,
                sequence: parsed.segment.sequence.get(),
            };
            messages.entry(message).or_insert(packet.timestamp.as_secs_f64() * 1e6);
        }
        Ok(messages)
    }
}

/// One greedy connection over a path of `rate` Mbit/s.
fn greedy(rate: u32, rtt: u32, seconds: u32) -> Result<(), Failure> {
    let warmup = if rtt > 100 { 15 } else { 5 };
    let text = format!(
        r#"
        name = "one greedy connection"
        duration = "{} s"
        [path]
        rate = "{rate} Mbit/s"
        rtt = "{rtt} ms"
        queue = {{ limit = "100 ms" }}
        [[flows]]
        name = "greedy"
        workload = {{ kind = "greedy" }}
        [measure]
        warmup = "{warmup} s"
        "#,
        seconds + warmup
    );
    let outcome = run_text(&text, CaptureFiles::default())?;
    let number = |table: &str, column: &str| number(&outcome, table, column).unwrap_or(f64::NAN);
    let filled = filled_percent(&outcome, rate);
    let reached = filled >= FILLED_PERCENT && !outcome.lateness.exceeds_bound();
    println!(
        "{rate:>8} {rtt:>7} {filled:>7.2}% {FILLED_PERCENT:>7.2}% {:>10.1} {:>10.1} {:>10.1}  {}",
        number("lateness", "lateness_p99_s") * 1e6,
        number("lateness", "bound_s") * 1e6,
        number("lateness", "lateness_max_s") * 1e6,
        yes_or_no(reached),
    );
    Ok(())
}
