//! Set-up and end of connections.

use crate::dialogue::{Dialogue, cell, cells, table};
use fairwind_analyse::{Outcome, Settings, TimeLimit};
use fairwind_units::Span;
use fairwind_wire::Flags;

const LIFE: [&str; 4] = ["beginning", "set_up", "ending", "ended_by"];

fn lifecycle(dialogue: &Dialogue) -> [String; 4] {
    cells(table(&dialogue.analysed(), "connections"), 0, LIFE)
}

fn setups(outcome: &Outcome) -> [String; 6] {
    let columns = ["attempts", "completed", "unanswered", "refused", "half_open", "unseen"];
    cells(table(outcome, "setups"), 0, columns)
}

#[test]
fn handshake_and_two_fins_are_a_complete_connection() {
    let mut dialogue = Dialogue::new();
    dialogue
        .set_up(0)
        .client(30_000, Flags::ACK, (1, 1, 100))
        .server(50_000, Flags::ACK, (1, 101, 0))
        .client(60_000, Flags::ACK | Flags::FIN, (101, 1, 0))
        .server(80_000, Flags::ACK | Flags::FIN, (1, 102, 0))
        .client(80_010, Flags::ACK, (102, 2, 0));
    let outcome = dialogue.analysed();
    let connections = table(&outcome, "connections");
    assert_eq!(cells(connections, 0, LIFE), ["syn", "completed", "closed", "opener"]);
    assert_eq!(
        cells(connections, 0, ["name", "opener", "answerer", "opener_guessed"]),
        ["10.0.0.1:50000>10.0.0.2:80", "10.0.0.1:50000", "10.0.0.2:80", "false"]
    );
    let times = ["answer_time_s", "acknowledgment_time_s", "setup_time_s", "duration_s"];
    assert_eq!(cells(connections, 0, times), ["0.02", "0.00001", "0.02001", "0.08001"]);
    let sent =
        ["opener_packets", "opener_data_packets", "opener_payload_bytes", "opener_wire_bytes"];
    assert_eq!(cells(connections, 0, sent), ["5", "1", "100", "300"]);
    let answered = ["answerer_packets", "answerer_bare_acknowledgments", "answerer_flags"];
    assert_eq!(cells(connections, 0, answered), ["3", "1", "SF."]);
    assert_eq!(cell(connections, 0, "vantage"), "near-opener");
    assert_eq!(setups(&outcome), ["1", "1", "0", "0", "0", "0"]);
    let flows = table(&outcome, "flows");
    let columns = ["name", "established", "setup_time_s", "finished_s", "data_segments_sent"];
    assert_eq!(
        cells(flows, 0, columns),
        ["10.0.0.1:50000>10.0.0.2:80", "true", "0.02", "0.08", "1"]
    );
}

#[test]
fn unanswered_syn_is_counted_with_retries() {
    let mut dialogue = Dialogue::new();
    dialogue.syn(0).syn(1_000_000).syn(3_000_000);
    let outcome = dialogue.analysed();
    let connections = table(&outcome, "connections");
    assert_eq!(cells(connections, 0, LIFE), ["syn", "unanswered", "not-established", ""]);
    assert_eq!(cell(connections, 0, "syn_retries"), "2");
    assert_eq!(setups(&outcome), ["1", "0", "1", "0", "0", "0"]);
    assert_eq!(cell(table(&outcome, "flows"), 0, "syn_retries"), "2");
    let retries = table(&outcome, "setup_retries");
    assert_eq!(cells(retries, 0, ["syn_retries", "attempts", "completed"]), ["2", "1", "0"]);
}

#[test]
fn a_reset_of_a_syn_is_a_refusal() {
    let mut dialogue = Dialogue::new();
    dialogue.syn(0).server(20_000, Flags::RST | Flags::ACK, (0, 1, 0));
    assert_eq!(lifecycle(&dialogue), ["syn", "refused", "not-established", "answerer"]);
    let outcome = dialogue.analysed();
    assert_eq!(setups(&outcome), ["1", "0", "0", "1", "0", "0"]);
    assert_eq!(cells(table(&outcome, "flows"), 0, ["failed", "failed_s"]), ["true", "0.02"]);
}

#[test]
fn unacknowledged_syn_ack_leaves_half_open() {
    let mut dialogue = Dialogue::new();
    dialogue.syn(0).syn_ack(20_000).syn_ack(1_020_000);
    let outcome = dialogue.analysed();
    let connections = table(&outcome, "connections");
    assert_eq!(cells(connections, 0, LIFE), ["syn", "half-open", "not-established", ""]);
    assert_eq!(cells(connections, 0, ["syn_retries", "syn_ack_retries"]), ["0", "1"]);
    assert_eq!(setups(&outcome), ["1", "0", "0", "0", "1", "0"]);
    dialogue.client(1_040_000, Flags::RST, (1, 0, 0));
    let outcome = dialogue.analysed();
    assert_eq!(setups(&outcome), ["1", "0", "0", "0", "1", "0"]);
    assert_eq!(cell(table(&outcome, "setups"), 0, "aborted"), "1");
}

#[test]
fn a_reset_ends_an_established_connection() {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(0).server(50_000, Flags::RST, (1, 0, 0));
    assert_eq!(lifecycle(&dialogue), ["syn", "completed", "reset", "answerer"]);
}

#[test]
fn syns_that_cross_are_a_simultaneous_open() {
    let mut dialogue = Dialogue::new();
    dialogue
        .syn(0)
        .server(10_000, Flags::SYN, (0, 0, 0))
        .client(10_010, Flags::SYN | Flags::ACK, (0, 1, 0))
        .server(20_000, Flags::SYN | Flags::ACK, (0, 1, 0))
        .client(30_000, Flags::ACK, (1, 1, 100));
    let outcome = dialogue.analysed();
    let connections = table(&outcome, "connections");
    assert_eq!(cells(connections, 0, LIFE), ["syn", "completed", "open", ""]);
    assert_eq!(cell(connections, 0, "simultaneous_open"), "true");
    assert_eq!(cells(connections, 0, ["syn_retries", "syn_ack_retries"]), ["0", "0"]);
}

#[test]
fn one_fin_leaves_half_closed() {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(0).server(30_000, Flags::FIN | Flags::ACK, (1, 1, 0)).client(
        30_010,
        Flags::ACK,
        (1, 2, 0),
    );
    assert_eq!(lifecycle(&dialogue), ["syn", "completed", "half-closed", "answerer"]);
}

#[test]
fn late_capture_assumes_lower_port_answers() {
    let mut dialogue = Dialogue::new();
    dialogue.server(0, Flags::ACK, (5000, 700, 1000)).client(20, Flags::ACK, (700, 6000, 0));
    let outcome = dialogue.analysed();
    let connections = table(&outcome, "connections");
    assert_eq!(cells(connections, 0, LIFE), ["midway", "unseen", "open", ""]);
    let columns = ["opener", "opener_guessed", "answerer_payload_bytes"];
    assert_eq!(cells(connections, 0, columns), ["10.0.0.1:50000", "true", "1000"]);
    assert_eq!(setups(&outcome), ["0", "0", "0", "0", "0", "1"]);
}

#[test]
fn one_sided_capture_shows_establishment() {
    let mut dialogue = Dialogue::new();
    dialogue.syn(0).ack(20_000).client(21_000, Flags::ACK, (1, 1, 500)).client(
        90_000,
        Flags::ACK | Flags::FIN,
        (501, 1, 0),
    );
    assert_eq!(lifecycle(&dialogue), ["syn", "completed", "half-closed", "opener"]);
    let outcome = dialogue.analysed();
    let columns = ["answer_time_s", "setup_time_s", "answerer_packets"];
    assert_eq!(cells(table(&outcome, "connections"), 0, columns), ["", "", "0"]);
}

#[test]
fn syn_ack_without_syn_shows_opener() {
    let mut dialogue = Dialogue::new();
    dialogue.client_port = 79;
    dialogue.syn_ack(0).ack(10);
    assert_eq!(lifecycle(&dialogue), ["syn-ack", "completed", "open", ""]);
    let outcome = dialogue.analysed();
    let columns = ["opener", "opener_guessed"];
    assert_eq!(cells(table(&outcome, "connections"), 0, columns), ["10.0.0.1:79", "false"]);
}

#[test]
fn new_syn_on_used_ports_begins_connection() {
    let mut dialogue = Dialogue::new();
    dialogue
        .set_up(0)
        .client(50_000, Flags::RST, (1, 0, 0))
        .client(60_000, Flags::SYN, (70_000, 0, 0))
        .server(80_000, Flags::SYN | Flags::ACK, (70_000, 70_001, 0))
        .client(80_010, Flags::ACK, (70_001, 70_001, 0));
    let outcome = dialogue.analysed();
    let connections = table(&outcome, "connections");
    assert_eq!(connections.rows(), 2);
    assert_eq!(cells(connections, 0, LIFE), ["syn", "completed", "reset", "opener"]);
    assert_eq!(cells(connections, 1, LIFE), ["syn", "completed", "open", ""]);
    assert_eq!(setups(&outcome)[..2], ["2", "2"]);
}

#[test]
fn foreign_syn_begins_connection_after_a_minute_only() {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(0).client(1_000_000, Flags::SYN, (70_000, 0, 0));
    assert_eq!(table(&dialogue.analysed(), "connections").rows(), 1);
    dialogue.client(61_000_001, Flags::SYN, (80_000, 0, 0));
    assert_eq!(table(&dialogue.analysed(), "connections").rows(), 2);
}

#[test]
fn late_packets_belong_to_connection_during_linger() {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(0).client(50_000, Flags::RST, (1, 0, 0));
    dialogue.server(1_000_000, Flags::ACK, (1, 1, 10)).server(5_000_000, Flags::RST, (1, 0, 0));
    let outcome = dialogue.analysed();
    let connections = table(&outcome, "connections");
    assert_eq!((connections.rows(), outcome.facts.strays), (1, 1));
    assert_eq!(cell(connections, 0, "answerer_payload_bytes"), "10");
}

#[test]
fn silence_ends_connection_only_on_request() {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(0).client(600_000_000, Flags::ACK, (1, 1, 10));
    let outcome = dialogue.analysed();
    let connections = table(&outcome, "connections");
    assert_eq!(connections.rows(), 1);
    assert_eq!(cell(connections, 0, "longest_silence_s"), "599.97999");
    let settings = Settings { idle_timeout: Some(Span::from_secs(300)), ..Settings::default() };
    let outcome = dialogue.analysed_by(settings);
    assert_eq!(cell(table(&outcome, "connections"), 1, "beginning"), "midway");
}

#[test]
fn packets_outside_requested_time_do_not_count() {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(1_000_000);
    for second in 0..10 {
        let number = u32::try_from(second).unwrap() * 100 + 1;
        dialogue.client(2_000_000 + second * 1_000_000, Flags::ACK, (number, 1, 100));
    }
    let settings = Settings {
        from: Some(TimeLimit::Since(Span::from_secs(3))),
        until: Some(TimeLimit::Since(Span::from_secs(7))),
        ..Settings::default()
    };
    let outcome = dialogue.analysed_by(settings);
    assert_eq!(outcome.facts.outside, 9);
    let flows = table(&outcome, "flows");
    let columns = ["data_segments_sent", "measured_s", "start_s"];
    assert_eq!(cells(flows, 0, columns), ["4", "4", "0"], "the flow began before");
    assert_eq!(cell(table(&outcome, "connections"), 0, "beginning"), "syn");
    let settings = Settings {
        connection_from: Span::from_secs(2),
        connection_until: Some(Span::from_secs(4)),
        ..Settings::default()
    };
    let outcome = dialogue.analysed_by(settings);
    assert_eq!(cell(table(&outcome, "flows"), 0, "data_segments_sent"), "2");
    assert_eq!(cell(table(&outcome, "connections"), 0, "opener_data_packets"), "10");
}

#[test]
fn answerer_set_up_ends_with_ack_of_its_syn() {
    let answered = |retries: u64| {
        let mut dialogue = Dialogue::new();
        dialogue.syn(0);
        for retry in 0..=retries {
            dialogue.syn_ack(20_000 + retry);
        }
        dialogue.ack(20_010).server(500_000, Flags::ACK, (1, 1, 1000));
        dialogue.client(500_010, Flags::ACK, (1, 1001, 0));
        let outcome = dialogue.analysed();
        let transport = table(&outcome, "transport");
        (0..transport.rows())
            .find(|&row| cell(transport, row, "name").starts_with("10.0.0.2"))
            .map(|row| cell(transport, row, "handshake_rtt_mean_s"))
    };
    assert_eq!(answered(0).as_deref(), Some("0.00001"));
    assert_eq!(answered(1).as_deref(), Some(""), "a SYN that was sent twice (RFC 6298 §3)");
}

/// Some systems ask again in spite of a refusal.
#[test]
fn flow_established_after_refusal_has_not_failed() {
    let mut dialogue = Dialogue::new();
    dialogue
        .syn(0)
        .server(20_000, Flags::RST | Flags::ACK, (0, 1, 0))
        .syn(500_000)
        .syn_ack(520_000)
        .ack(520_010);
    assert_eq!(lifecycle(&dialogue), ["syn", "completed", "open", ""]);
    let outcome = dialogue.analysed();
    let columns = ["established", "setup_time_s", "failed", "failed_s"];
    assert_eq!(cells(table(&outcome, "flows"), 0, columns), ["true", "0.52", "false", ""]);
    let columns = ["flows_established", "flows_failed"];
    assert_eq!(cells(table(&outcome, "groups"), 0, columns), ["1", "0"]);
    dialogue.client(600_000, Flags::RST, (1, 0, 0));
    let outcome = dialogue.analysed();
    let columns = ["established", "failed", "failed_s"];
    assert_eq!(cells(table(&outcome, "flows"), 0, columns), ["true", "true", "0.6"]);
}

/// RFC 9293 §3.8.4: it lies where the SYN was, and so before all data.
#[test]
fn keep_alive_byte_is_not_an_answer() {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(0).server(10_000_000, Flags::ACK, (0, 1, 1)).ack(10_000_010);
    assert_eq!(table(&dialogue.analysed(), "flows").rows(), 1);
    dialogue.server(11_000_000, Flags::ACK, (1, 1, 1));
    let outcome = dialogue.analysed();
    let flows = table(&outcome, "flows");
    assert_eq!(flows.rows(), 2);
    let row = (0..2).find(|&row| cell(flows, row, "name").starts_with("10.0.0.2"));
    let columns = ["payload_bytes_received", "payload_bytes_duplicate"];
    assert_eq!(cells(flows, row.expect("an answer"), columns), ["1", "0"]);
}

/// 1000 bytes in the SYN, 600 and 700 before the answer, 900 behind it: the answerer could use but the last two.
#[test]
fn answerer_windows_count_from_last_before_data() {
    let mut dialogue = Dialogue::new();
    dialogue
        .set_up(0)
        .client(30_000, Flags::ACK, (1, 1, 100))
        .client(30_010, Flags::ACK, (101, 1, 100))
        .server(50_000, Flags::ACK, (1, 201, 500))
        .client(50_010, Flags::ACK, (201, 501, 0));
    for (packet, window) in [(2, 500), (3, 600), (4, 700), (6, 900)] {
        dialogue.packets[packet].segment.window = window;
    }
    let outcome = dialogue.analysed();
    let transport = table(&outcome, "transport");
    let row = (0..transport.rows())
        .find(|&row| cell(transport, row, "name").starts_with("10.0.0.2"))
        .expect("an answer");
    let columns = ["window_min_bytes", "window_mean_bytes", "window_max_bytes"];
    assert_eq!(cells(transport, row, columns), ["700", "800", "900"]);
}

/// RFC 9293 §3.5.1, figure 10: the other side still has an older connection, and says so.
#[test]
fn ack_of_older_connection_establishes_nothing() {
    let mut dialogue = Dialogue::new();
    dialogue.syn(0).server(20_000, Flags::ACK, (700_000, 500_000, 0)).client(
        20_010,
        Flags::RST,
        (500_000, 0, 0),
    );
    assert_eq!(lifecycle(&dialogue), ["syn", "unanswered", "not-established", "opener"]);
    dialogue.syn(1_000_000).syn_ack(1_020_000).ack(1_020_010);
    assert_eq!(lifecycle(&dialogue), ["syn", "completed", "open", ""]);
    assert_eq!(cell(table(&dialogue.analysed(), "connections"), 0, "syn_retries"), "1");
}
