//! Cost of an acknowledgment under a congestion control in Rust and under the same one in C, in instructions. Counts do
//! not depend on the load of the machine. Run with `--release`; needs `perf` or `valgrind`.
//!
//! A greedy sender receives one acknowledgment after the other, each of one segment or, as is usual, of two, and sends
//! what they allow. Echoes of congestion keep its window between 100 and 300 segments. The count covers everything from
//! one acknowledgment to the next. Each algorithm runs in two separate processes, one with more acknowledgments than the
//! other; the difference is its cost.

#![expect(clippy::print_stdout, reason = "the numbers are what this program is for")]

use fairwind_congestion::built_in;
use fairwind_tcp::{Config, CongestionAlgorithm, Connection, EcnFeedback, Ports, Profile};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment, SequenceNumber};
use std::collections::VecDeque;
use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;

type Failure = Box<dyn std::error::Error>;

const PAIRS: [(&str, &str); 3] = [("reno", "reno-c"), ("bic", "bic-c"), ("cubic", "cubic-c")];
/// The baseline for algorithms without a Rust form.
const STANDARD: &str = "reno-c";
/// An acknowledgment, of one segment or of two, under an algorithm in C costs at most so much of one under the same in Rust.
const BOUND: f64 = 1.2;
const RTT: Span = Span::from_millis(40);
const GREATEST_WINDOW: u32 = 300;
const ENOUGH_BYTES: u64 = 1 << 20;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [name, segments, acknowledgments] = arguments.as_slice() {
        hear(name, segments.parse()?, acknowledgments.parse()?);
        return Ok(());
    }
    let mut above = Vec::new();
    for segments in ["1", "2"] {
        println!("acknowledgments of {segments}, in instructions");
        let head = ["algorithm", "Rust", "C", "C / Rust", "C / Reno's C"];
        println!("{:<12} {:>12} {:>12} {:>8} {:>12}", head[0], head[1], head[2], head[3], head[4]);
        let standard = instructions(STANDARD, segments)?;
        for (rust, c) in PAIRS {
            let costs = (instructions(rust, segments)?, instructions(c, segments)?);
            let (ratio, beside) = (costs.1 / costs.0, costs.1 / standard);
            println!("{rust:<12} {:>12.0} {:>12.0} {ratio:>8.2} {beside:>12.2}", costs.0, costs.1);
            if ratio > BOUND {
                above.push(format!("{c} with {segments}"));
            }
        }
        for name in fairwind_congestion::names() {
            if !PAIRS.iter().any(|(_, c)| *c == name) {
                let (cost, none) = (instructions(&name, segments)?, "");
                let beside = cost / standard;
                println!("{name:<12} {none:>12} {cost:>12.0} {none:>8} {beside:>12.2}");
            }
        }
    }
    if above.is_empty() { Ok(()) } else { Err(format!("above {BOUND}: {above:?}").into()) }
}

fn instructions(name: &str, segments: &str) -> Result<f64, Failure> {
    let program = std::env::current_exe()?;
    let program = program.to_str().ok_or("a path that is no text")?;
    let run = [program, name, segments];
    let counted = |few: u64, many: u64, count: fn([&str; 3], u64) -> Option<u64>| {
        let instructions = count(run, many)?.saturating_sub(count(run, few)?);
        #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
        let share = instructions as f64 / (many - few) as f64;
        Some(share)
    };
    counted(50_000, 300_000, with_perf)
        .or_else(|| counted(10_000, 60_000, with_callgrind))
        .ok_or_else(|| "neither perf nor valgrind can count instructions here".into())
}

/// Instructions that `perf stat` counts.
fn with_perf(run: [&str; 3], acknowledgments: u64) -> Option<u64> {
    let mut perf = Command::new("perf");
    perf.args(["stat", "-x", ",", "-e", "instructions:u"]).args(run);
    let output = perf.arg(acknowledgments.to_string()).output().ok();
    let output = output.filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stderr).lines().last()?.split(',').next()?.parse().ok()
}

/// Instructions that callgrind counts.
fn with_callgrind(run: [&str; 3], acknowledgments: u64) -> Option<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).args(run);
    let output = valgrind.arg(acknowledgments.to_string()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(' ').next()?.parse().ok()
}

fn algorithm(name: &str) -> CongestionAlgorithm {
    match name {
        "reno" => CongestionAlgorithm::Reno,
        "bic" => CongestionAlgorithm::Bic,
        "cubic" => CongestionAlgorithm::CubicLinux,
        name => CongestionAlgorithm::Plugged(built_in(name).expect("a name")),
    }
}

/// A sender with an open connection, and what it has under way.
struct Ends {
    sender: Connection,
    now: Instant,
    under_way: VecDeque<Segment>,
    answer: Segment,
}

fn open(name: &str) -> Ends {
    let mut config = Config { congestion: algorithm(name), ..Profile::Linux6_18.config() };
    config.ecn.outgoing = EcnFeedback::Classic;
    config.ecn.incoming = EcnFeedback::Classic;
    let ports = |local, remote| Ports { local, remote };
    let receiving = Arc::new(Config { congestion: CongestionAlgorithm::Reno, ..config.clone() });
    let mut sender =
        Connection::connect(Arc::new(config), ports(4_000, 80), SequenceNumber::new(1));
    let mut receiver = Connection::listen(receiving, ports(80, 4_000), SequenceNumber::new(1));
    let mut now = Instant::from_secs(1);
    let syn = sender.poll_segment(now).expect("a SYN");
    now += RTT / 2;
    receiver.on_segment(now, &syn);
    let answer = receiver.poll_segment(now).expect("its answer");
    now += RTT / 2;
    sender.on_segment(now, &answer);
    while sender.poll_segment(now).is_some() {}
    let mut ends = Ends { sender, now, under_way: VecDeque::new(), answer };
    ends.answer.flags = Flags::ACK;
    ends.answer.sequence += 1;
    ends.answer.window = u16::MAX;
    ends.answer.options.mss = None;
    ends.answer.options.sack_permitted = false;
    ends.answer.options.window_scale = None;
    ends.sender.write(ENOUGH_BYTES);
    ends.send();
    ends
}

impl Ends {
    fn send(&mut self) {
        while let Some(segment) = self.sender.poll_segment(self.now) {
            self.under_way.push_back(segment);
        }
    }

    /// The oldest segments are acknowledged, a share of a round trip after those before.
    fn hear(&mut self, segments: u64) {
        for _ in 1..segments {
            self.under_way.pop_front();
        }
        let segment = self.under_way.pop_front().expect("something is under way");
        let window = self.sender.congestion_window();
        self.now += RTT * segments / u64::from(window);
        self.answer.acknowledgment = segment.end();
        if let (Some(ours), Some(theirs)) =
            (segment.options.timestamps, &mut self.answer.options.timestamps)
        {
            theirs.echo = ours.value;
        }
        let marked = window > GREATEST_WINDOW;
        self.answer.flags = if marked { Flags::ACK | Flags::ECE } else { Flags::ACK };
        self.sender.on_segment(self.now, &self.answer);
        self.send();
        if self.sender.unsent_bytes() < ENOUGH_BYTES {
            self.sender.write(ENOUGH_BYTES);
        }
    }
}

/// Hears so many acknowledgments of so many segments.
fn hear(name: &str, segments: u64, acknowledgments: u64) {
    let mut ends = open(name);
    for _ in 0..acknowledgments {
        ends.hear(segments);
    }
    black_box(ends.sender.congestion_window());
}
