//! Cost of a data segment and its acknowledgment in a stream, in nanoseconds.
//!
//! Run with `cargo run --release -p fairwind-analyse --example stream_cost`.
#![expect(clippy::print_stdout, reason = "the numbers are what it is for")]
#![expect(clippy::disallowed_methods, reason = "it measures the time that passes")]

use fairwind_analyse::stream::{ProbeUseCounts, Stream};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Options, SackBlock, Segment, SequenceNumber, Timestamps};

const PAIRS: u32 = 10_000_000;
const BYTES: u32 = 1448;

/// Data segments of many streams in turn, each acknowledged `flight` segments later; of so many in turn
/// one is lost and repaired, where it is not 0.
fn nanos_per_pair(streams: usize, flight: u32, lost_one_in: u32) -> f64 {
    let mut all: Vec<Stream> = (0..streams).map(|_| Stream::new(Instant::ZERO)).collect();
    let mut data = Segment {
        flags: Flags::ACK,
        payload_bytes: BYTES,
        options: Options { timestamps: Some(Timestamps::default()), ..Options::NONE },
        ..Segment::default()
    };
    let mut ack = Segment {
        flags: Flags::ACK,
        window: 60_000,
        options: Options { timestamps: Some(Timestamps::default()), ..Options::NONE },
        ..Segment::default()
    };
    let rounds = PAIRS / u32::try_from(streams).unwrap_or(1);
    let mut now = Instant::from_secs(1);
    let began = std::time::Instant::now();
    let mut sum = 0;
    for round in 0..rounds {
        data.sequence = SequenceNumber::new(0) + round.wrapping_mul(BYTES);
        let acknowledged = round.saturating_sub(flight);
        let is_lost = lost_one_in > 0 && acknowledged % lost_one_in == 0;
        ack.acknowledgment = SequenceNumber::new(0) + acknowledged.wrapping_mul(BYTES);
        ack.options.sack = is_lost
            .then(|| SackBlock {
                left: ack.acknowledgment + BYTES,
                right: ack.acknowledgment + 2 * BYTES,
            })
            .into_iter()
            .collect();
        for stream in &mut all {
            now += Span::from_micros(1);
            stream.on_segment(now, &data, Some(1));
            let facts = stream.on_acknowledgment(now, &ack);
            sum += facts.newly_acknowledged_bytes;
            if is_lost {
                let again = Segment { sequence: ack.acknowledgment, ..data };
                stream.on_segment(now, &again, Some(2));
            }
        }
    }
    let nanos = began.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS);
    let mut habits = ProbeUseCounts::default();
    let timeouts: u64 = all.iter_mut().map(|stream| stream.finish(now, &mut habits)).sum();
    assert!(sum > 0, "{timeouts} time-outs");
    nanos
}

fn main() {
    println!("bytes of a stream: {}", size_of::<Stream>());
    for (streams, flight, lost) in
        [(1, 10, 0), (1, 1000, 0), (800, 10, 0), (800, 10, 50), (20_000, 4, 0)]
    {
        let nanos = nanos_per_pair(streams, flight, lost);
        println!(
            "{streams} streams, {flight} in flight, lost one in {lost}: {nanos:.1} ns for a pair"
        );
    }
}
