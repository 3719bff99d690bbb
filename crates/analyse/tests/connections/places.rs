//! Which side a tap is near, and what follows from it.

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
fn the_far_side_is_the_one_whose_word_takes_long() {
    assert_eq!(vantage(&request(20_000, 10)), "near-opener");
    assert_eq!(vantage(&request(10, 20_000)), "near-answerer");
    assert_eq!(vantage(&request(9_000, 11_000)), "between");
    assert_eq!(vantage(&request(20, 10)), "unknown");
}

#[test]
fn near_the_opener_its_data_leaves_and_the_answer_arrives() {
    let outcome = request(20_000, 10).analysed();
    let flows = table(&outcome, "flows");
    let columns = ["name", "packets_sent", "payload_bytes_sent"];
    // Without a place of its own in the sequence numbers a packet acknowledges the other side's data, also
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
fn what_the_settings_say_counts_more_than_the_times() {
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
fn a_capture_that_begins_later_is_near_the_sender_of_its_first_data() {
    let mut dialogue = Dialogue::new();
    dialogue.client(0, Flags::ACK, (700, 5000, 0)).server(10, Flags::ACK, (5000, 700, 1000));
    // The acknowledgment goes to the side whose data it acknowledges.
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
