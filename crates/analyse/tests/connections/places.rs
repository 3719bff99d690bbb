//! Vantage: the side that a tap is near, and its consequences.

use crate::dialogue::{Dialogue, cell, cells, table};
use fairwind_analyse::{Settings, Vantage};
use fairwind_wire::Flags;

/// A request of 100 bytes and an answer of 1000, seen where the server answers `answered` after a SYN and
/// the client acknowledges `acknowledged` after that.
fn request(answered: u64, acknowledged: u64) -> Dialogue {
    let mut dialogue = Dialogue::new();
    let established = answered + acknowledged;
    dialogue
        .syn(0)
        .syn_ack(answered)
        .ack(established)
        .client(established + 1, Flags::ACK, (1, 1, 100))
        .server(established + 2 + answered, Flags::ACK, (1, 101, 1000))
        .client(2 * established + 3, Flags::ACK, (101, 1001, 0));
    dialogue
}

fn vantage(dialogue: &Dialogue) -> String {
    cell(table(&dialogue.analysed(), "connections"), 0, "vantage")
}

#[test]
fn slower_answer_marks_the_far_side() {
    assert_eq!(vantage(&request(20_000, 10)), "near-opener");
    assert_eq!(vantage(&request(10, 20_000)), "near-answerer");
    assert_eq!(vantage(&request(9_000, 11_000)), "between");
    assert_eq!(vantage(&request(20, 10)), "unknown");
}

#[test]
fn near_opener_its_data_departs() {
    let outcome = request(20_000, 10).analysed();
    let flows = table(&outcome, "flows");
    let columns = ["name", "packets_sent", "payload_bytes_sent"];
    // A packet that occupies no sequence numbers acknowledges the other side's data, also
    // the first ACK, which came before there was any; and the SYN-ACK is the answerer's.
    assert_eq!(cells(flows, 0, columns), ["10.0.0.1:50000>10.0.0.2:80", "2", "100"]);
    assert_eq!(cell(flows, 1, "name"), "10.0.0.2:80>10.0.0.1:50000");
    assert_eq!(cell(flows, 1, "packets_received"), "2");
    assert_eq!(cell(flows, 1, "ack_packets_sent"), "2");
}

#[test]
fn near_the_answerer_its_data_leaves() {
    let outcome = request(10, 20_000).analysed();
    let flows = table(&outcome, "flows");
    assert_eq!(cells(flows, 0, ["packets_received"]), ["2"]);
    assert_eq!(cells(flows, 1, ["packets_sent", "payload_bytes_sent"]), ["2", "1000"]);
}

#[test]
fn settings_override_measured_vantage() {
    let dialogue = request(20_000, 10);
    let with = |vantage| {
        let outcome = dialogue.analysed_by(Settings { vantage, ..Settings::default() });
        cell(table(&outcome, "connections"), 0, "vantage")
    };
    assert_eq!(with(Vantage::Opener), "given-opener");
    assert_eq!(with(Vantage::Answerer), "given-answerer");
    // The client sends the first data.
    assert_eq!(with(Vantage::Sender), "given-opener");
    assert_eq!(with(Vantage::Receiver), "given-answerer");
}

#[test]
fn late_capture_is_near_first_data_sender() {
    let mut dialogue = Dialogue::new();
    dialogue.client(0, Flags::ACK, (700, 5000, 0)).server(10, Flags::ACK, (5000, 700, 1000));
    // The acknowledgment goes to the sender of the data that it acknowledges.
    let outcome = dialogue.analysed();
    assert_eq!(cell(table(&outcome, "connections"), 0, "vantage"), "unknown");
    assert_eq!(cell(table(&outcome, "flows"), 1, "payload_bytes_sent"), "1000");
}

#[test]
fn packets_that_were_held_back_are_all_counted() {
    let mut dialogue = Dialogue::new();
    for time in 0..40 {
        dialogue.syn(time * 100_000);
    }
    let outcome = dialogue.analysed();
    assert_eq!(cell(table(&outcome, "flows"), 0, "packets_sent"), "40");
    assert_eq!(cell(table(&outcome, "flows"), 0, "syn_retries"), "39");
}

/// A SYN sent `syns` times and a SYN-ACK `syn_acks` times, at these instants, acknowledged at `established`.
fn repeated(syns: &[u64], syn_acks: &[u64], established: u64) -> Dialogue {
    let mut dialogue = Dialogue::new();
    for &at in syns {
        dialogue.syn(at);
    }
    for &at in syn_acks {
        dialogue.syn_ack(at);
    }
    dialogue.ack(established).client(established + 1, Flags::ACK, (1, 1, 100));
    dialogue.packets.sort_by_key(|packet| packet.at);
    dialogue
}

/// The answer belongs to any of the SYNs: between 20 ms and a second to the answerer, 10 us to the opener.
#[test]
fn repeated_syn_shows_near_opener() {
    let dialogue = repeated(&[0, 1_000_000], &[1_020_000], 1_020_010);
    assert_eq!(vantage(&dialogue), "near-opener");
}

/// The SYN-ACK was lost behind the tap: the repeated SYN came after the first answer.
#[test]
fn repeated_syn_ack_shows_near_answerer() {
    let dialogue = repeated(&[0, 1_000_000], &[10, 1_000_010], 1_020_010);
    assert_eq!(vantage(&dialogue), "near-answerer");
}

#[test]
fn repetition_without_agreeing_bounds_is_unknown() {
    // The ACK answers the first SYN-ACK or the second: a second or 10 us to the opener.
    assert_eq!(vantage(&repeated(&[0], &[20_000, 1_020_000], 1_020_010)), "unknown");
    // The SYN-ACK answers the first SYN or the second: a second or 10 us to the answerer.
    assert_eq!(vantage(&repeated(&[0, 1_000_000], &[1_000_010], 1_020_010)), "unknown");
    // Equal distances, if the second SYN was answered.
    assert_eq!(vantage(&repeated(&[0, 1_000_000], &[1_020_000], 1_040_000)), "unknown");
    // Of three SYNs the last came after the answer, so that the last one before it is not known.
    let syns = [0, 1_000_000, 3_000_000];
    assert_eq!(vantage(&repeated(&syns, &[1_020_000], 3_000_010)), "unknown");
}
