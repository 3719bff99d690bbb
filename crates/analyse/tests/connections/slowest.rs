//! The segments with the longest waits, and their causes.

use crate::dialogue::{Dialogue, Pair, cells, table};
use crate::joined::same_clock;
use fairwind_analyse::{Outcome, Settings};
use fairwind_wire::Flags;

const COLUMNS: [&str; 9] = [
    "seen_at",
    "sent_s",
    "wait_s",
    "place_bytes",
    "payload_bytes",
    "repeats",
    "cause",
    "segments_behind",
    "bytes_behind",
];

fn waits(outcome: &Outcome) -> Vec<[String; 9]> {
    let slowest = table(outcome, "slowest");
    (0..slowest.rows()).map(|row| cells(slowest, row, COLUMNS)).collect()
}

/// A message that needs no repair (20 ms); one that is lost, and sent again after a second; one behind it.
fn late_message() -> Dialogue {
    let mut dialogue = Dialogue::new();
    dialogue
        .set_up(1_000_000)
        .client(1_030_000, Flags::ACK, (1, 1, 100))
        .server(1_050_000, Flags::ACK, (1, 101, 0))
        .client(1_100_000, Flags::ACK, (101, 1, 100))
        .client(1_200_000, Flags::ACK, (201, 1, 50))
        .client(2_100_000, Flags::ACK, (101, 1, 100))
        .server(2_120_000, Flags::ACK, (1, 251, 0));
    dialogue
}

/// What passes at the server, where the lost message never came.
fn late_message_at_both() -> Pair {
    let mut pair = Pair::of(&late_message());
    let lost = pair.near_server.packets.iter().position(|packet| packet.number == 6);
    pair.near_server.packets.remove(lost.expect("a sixth packet"));
    pair
}

#[test]
fn slowest_segment_has_cause_and_blocked_bytes() {
    let outcome = late_message().analysed();
    let expected = [
        ["sender", "0.1", "1.02", "100", "100", "1", "timeout", "1", "50"],
        ["sender", "0.03", "0.02", "0", "100", "0", "", "0", "0"],
    ];
    assert_eq!(waits(&outcome), expected);
    let names = cells(table(&outcome, "slowest"), 0, ["flow", "name", "group"]);
    assert_eq!(names, ["0", "10.0.0.1:50000>10.0.0.2:80", "all"]);
}

/// The repetition leaves at 2.1 s and comes 9 ms later.
#[test]
fn two_taps_measure_in_order_delivery_time() {
    let outcome = late_message_at_both().analysed_by(same_clock());
    let expected = [
        ["both", "0.1", "1.009", "100", "100", "1", "timeout", "1", "50"],
        ["both", "0.03", "0.009", "0", "100", "0", "", "0", "0"],
    ];
    assert_eq!(waits(&outcome), expected);
}

/// The lost message was to come before the one that comes at 1.209 s; both are acknowledged at 2.111 s.
#[test]
fn near_receiver_loss_counts_from_next_arrival() {
    let near_server = late_message_at_both().near_server;
    let outcome = near_server.analysed();
    let columns = ["seen_at", "sent_s", "wait_s", "repeats", "segments_behind", "bytes_behind"];
    let first = cells(table(&outcome, "slowest"), 0, columns);
    assert_eq!(first, ["receiver", "0.2", "0.902", "1", "1", "50"]);
}

#[test]
fn requested_number_of_longest_waits_is_kept() {
    let asked = |slowest| late_message().analysed_by(Settings { slowest, ..Settings::default() });
    assert_eq!(waits(&asked(1)).len(), 1);
    assert_eq!(waits(&asked(1))[0][2], "1.02");
    assert!(waits(&asked(0)).is_empty());
}

#[test]
fn partial_ack_of_segment_ends_no_wait() {
    let mut dialogue = Dialogue::new();
    dialogue
        .set_up(1_000_000)
        .client(1_030_000, Flags::ACK, (1, 1, 1000))
        .server(1_050_000, Flags::ACK, (1, 401, 0))
        .server(1_080_000, Flags::ACK, (1, 1001, 0));
    let outcome = dialogue.analysed();
    assert_eq!(waits(&outcome).len(), 1);
    assert_eq!(waits(&outcome)[0][2], "0.05");
}
