//! Numbers that were damaged on the way to the capture.

use crate::dialogue::{Dialogue, Pair, cells, table};
use fairwind_analyse::{ClockMode, Outcome, Settings, TimeLimit};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, SequenceNumber};

/// Twenty segments of 1000 bytes, 10 ms apart, each acknowledged 20 ms after it was sent, and what `damage` does
/// to them. Both sides know how windows are scaled.
fn transfer(damage: impl Fn(&mut Dialogue)) -> Dialogue {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(1_000_000);
    for packet in &mut dialogue.packets {
        if packet.segment.flags.contains(Flags::SYN) {
            packet.segment.options.window_scale = Some(4);
        }
    }
    for segment in 0..20_u32 {
        let at = 1_100_000 + u64::from(segment) * 10_000;
        dialogue.client(at, Flags::ACK, (1 + segment * 1000, 1, 1000));
        dialogue.server(at + 20_000, Flags::ACK, (1, 1001 + segment * 1000, 0));
    }
    damage(&mut dialogue);
    dialogue.packets.sort_by_key(|packet| packet.at);
    dialogue
}

/// The fifth data packet says that it lies so many bytes further on.
fn with_a_sequence_number_ahead(bytes: u32) -> Dialogue {
    transfer(|dialogue| {
        let data = dialogue.packets.iter_mut().filter(|packet| packet.segment.payload_bytes > 0);
        for packet in data.skip(4).take(1) {
            packet.segment.sequence += bytes;
        }
    })
}

const OF_FLOWS: [&str; 4] =
    ["packets_sent", "data_segments_sent", "data_segments_retransmitted", "bytes_retransmitted"];
const OF_STREAMS: [&str; 4] =
    ["data_segments", "retransmitted_segments", "missing_bytes", "segments_out_of_window"];

fn counts(outcome: &Outcome) -> [[String; 4]; 2] {
    [cells(table(outcome, "flows"), 0, OF_FLOWS), cells(table(outcome, "transport"), 0, OF_STREAMS)]
}

#[test]
fn damaged_sequence_number_makes_no_retransmissions() {
    // More than four windows, of 16 000 bytes, and more than a megabyte; the fifth segment was never seen.
    for ahead in [2_000_000, 500_000_000, 1_900_000_000] {
        let outcome = with_a_sequence_number_ahead(ahead).analysed();
        let [flow, stream] = counts(&outcome);
        assert_eq!(flow, ["22", "19", "0", "0"], "{ahead}");
        // Its own bytes are acknowledged, but were not captured.
        assert_eq!(stream, ["19", "0", "1000", "1"], "{ahead}");
    }
}

#[test]
fn damaged_number_is_one_packet_between_taps() {
    let pair = Pair::of(&with_a_sequence_number_ahead(500_000_000));
    let outcome = pair.analysed_by(Settings { clock: ClockMode::Same, ..Settings::default() });
    let columns =
        ["packets_sent", "redundant_bytes_sent", "payload_bytes_matched", "payload_bytes_lost"];
    assert_eq!(cells(table(&outcome, "passages"), 0, columns), ["22", "0", "19000", "0"]);
}

#[test]
fn a_damaged_acknowledgment_acknowledges_nothing() {
    let dialogue = transfer(|dialogue| {
        let packets = dialogue.packets.iter_mut().skip(3);
        for packet in packets.filter(|packet| packet.segment.payload_bytes == 0).skip(4).take(1) {
            packet.segment.acknowledgment = SequenceNumber::new(700_000_000);
        }
    });
    let outcome = dialogue.analysed();
    let [flow, stream] = counts(&outcome);
    assert_eq!(flow, ["22", "20", "0", "0"]);
    assert_eq!(stream, ["20", "0", "0", "0"]);
    // What it was to acknowledge is acknowledged by the next one, 10 ms later.
    let latency = cells(table(&outcome, "flows"), 0, ["ack_latency_max_s", "payload_bytes_read"]);
    assert_eq!(latency, ["0.03", "20000"]);
}

#[test]
fn continued_jump_ahead_counts_as_missed_capture() {
    let dialogue = transfer(|dialogue| {
        for packet in &mut dialogue.packets {
            if packet.at.as_nanos() >= 1_200_000_000 {
                let segment = &mut packet.segment;
                if segment.payload_bytes > 0 {
                    segment.sequence += 2_000_000;
                } else if segment.destination_port == dialogue.client_port {
                    segment.acknowledgment += 2_000_000;
                }
            }
        }
        // The last of these acknowledges the second packet behind the gap.
        dialogue.packets.retain(|packet| {
            packet.segment.payload_bytes > 0 || packet.at.as_nanos() < 1_230_000_000
        });
    });
    let outcome = dialogue.analysed();
    let [flow, stream] = counts(&outcome);
    // The first packet behind the gap counts as one without data, so its bytes are missing, too.
    assert_eq!(flow, ["22", "19", "0", "0"]);
    assert_eq!(stream, ["19", "0", "2001000", "1"]);
}

#[test]
fn packets_at_last_instants_of_clock_are_accepted() {
    let second = Some(TimeLimit::Since(Span::from_secs(1)));
    for (before_the_last, counted) in [(0, 0), (1, 1)] {
        let mut dialogue = transfer(|_| {});
        for packet in &mut dialogue.packets {
            packet.at = Instant::from_nanos(u64::MAX - before_the_last);
        }
        let outcome = dialogue.analysed();
        // Measures end with the last instant.
        assert_eq!(outcome.facts.connections, counted);
        assert_eq!(outcome.facts.outside, (1 - counted) * 43);
        let later = Settings { warmup: Span::from_secs(1), from: second, ..Settings::default() };
        assert_eq!(dialogue.analysed_by(later).facts.outside, 43);
    }
}
