//! SYNs and resets that a TCP endpoint would challenge (RFC 5961).

use crate::dialogue::{Dialogue, Pair, cell, cells, table};
use fairwind_analyse::{ClockMode, Outcome, Settings};
use fairwind_wire::Flags;

const LIFE: [&str; 4] = ["beginning", "set_up", "ending", "ended_by"];

/// An open connection: 300 bytes of the client, all acknowledged. Windows are of 1000 bytes.
fn open() -> Dialogue {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(0).client(30_000, Flags::ACK, (1, 1, 300)).server(
        50_000,
        Flags::ACK,
        (1, 301, 0),
    );
    dialogue
}

fn lives(outcome: &Outcome) -> Vec<[String; 4]> {
    let connections = table(outcome, "connections");
    (0..connections.rows()).map(|row| cells(connections, row, LIFE)).collect()
}

fn only_life(dialogue: &Dialogue) -> [String; 4] {
    let lives = lives(&dialogue.analysed());
    assert_eq!(lives.len(), 1);
    lives[0].clone()
}

/// RFC 5961 §3.2, 1: neither below what is acknowledged, nor behind the window, nor of a side without data.
#[test]
fn a_reset_outside_of_the_window_ends_nothing() {
    for (from_client, sequence) in
        [(true, 300), (true, 1302), (true, 2_000_000_000), (false, 0), (false, 900_000)]
    {
        let mut dialogue = open();
        dialogue.any(60_000, from_client, Flags::RST, (sequence, 0, 0));
        assert_eq!(only_life(&dialogue), ["syn", "completed", "open", ""], "{sequence}");
        dialogue.client(70_000, Flags::ACK, (301, 1, 100));
        let outcome = dialogue.analysed();
        assert_eq!(cell(table(&outcome, "connections"), 0, "opener_payload_bytes"), "400");
        assert_eq!(cell(table(&outcome, "flows"), 0, "failed"), "false");
    }
}

/// RFC 5961 §3.2, 2: that is what the other side expects, as far as a tap can know.
#[test]
fn reset_with_expected_number_ends_connection() {
    for (from_client, sequence) in [(true, 301), (true, 351), (true, 401), (false, 1)] {
        let mut dialogue = open();
        dialogue.client(55_000, Flags::ACK, (301, 1, 100));
        dialogue.any(60_000, from_client, Flags::RST, (sequence, 0, 0));
        let by = if from_client { "opener" } else { "answerer" };
        assert_eq!(only_life(&dialogue), ["syn", "completed", "reset", by], "{sequence}");
    }
}

/// RFC 5961 §3.2, 3: elsewhere in the window it is answered by a challenge, and what follows tells.
#[test]
fn reset_in_window_counts_if_nothing_follows() {
    let mut dialogue = open();
    dialogue.client(60_000, Flags::RST, (302, 0, 0));
    assert_eq!(only_life(&dialogue), ["syn", "completed", "reset", "opener"]);
    assert_eq!(cell(table(&dialogue.analysed(), "flows"), 0, "failed"), "true");
    dialogue.server(80_000, Flags::ACK, (1, 301, 0));
    assert_eq!(only_life(&dialogue), ["syn", "completed", "open", ""], "challenged");
    assert_eq!(cell(table(&dialogue.analysed(), "flows"), 0, "failed"), "false");
    dialogue.client(80_010, Flags::RST, (301, 0, 0));
    assert_eq!(only_life(&dialogue), ["syn", "completed", "reset", "opener"], "meant");
}

/// RFC 9293 §3.10.7.3: a reset refuses a SYN that it acknowledges.
#[test]
fn reset_without_ack_of_syn_is_ignored() {
    for (flags, acknowledgment) in
        [(Flags::RST, 0), (Flags::RST | Flags::ACK, 0), (Flags::RST | Flags::ACK, 800_000)]
    {
        let mut dialogue = Dialogue::new();
        dialogue.syn(0).server(20_000, flags, (0, acknowledgment, 0));
        assert_eq!(only_life(&dialogue), ["syn", "unanswered", "not-established", ""]);
    }
}

/// RFC 5961 §4. The client has crashed, asks anew, resets what the server still has, and asks once more.
#[test]
fn challenged_syn_needs_reset_of_old_connection() {
    for silence in [0, 61_000_000] {
        let mut dialogue = open();
        let at = silence + 100_000;
        dialogue.client(at, Flags::SYN, (70_000, 0, 0)).server(
            at + 20_000,
            Flags::ACK,
            (1, 301, 0),
        );
        let outcome = dialogue.analysed();
        assert_eq!(lives(&outcome), [["syn", "completed", "open", ""]], "{silence}");
        assert_eq!(cell(table(&outcome, "connections"), 0, "opener_packets"), "4");
        dialogue
            .client(at + 20_010, Flags::RST, (301, 0, 0))
            .client(at + 1_000_000, Flags::SYN, (70_000, 0, 0))
            .server(at + 1_020_000, Flags::SYN | Flags::ACK, (90_000, 70_001, 0))
            .client(at + 1_020_010, Flags::ACK, (70_001, 90_001, 100));
        let expected = [["syn", "completed", "reset", "opener"], ["syn", "completed", "open", ""]];
        assert_eq!(lives(&dialogue.analysed()), expected, "{silence}");
    }
}

/// Another host has sent that SYN: neither the window nor the round trips of the connection change.
#[test]
fn challenged_syn_does_not_disturb_connection() {
    let go_on = |dialogue: &mut Dialogue| {
        dialogue.client(200_000, Flags::ACK, (301, 1, 100)).server(
            220_000,
            Flags::ACK,
            (1, 401, 0),
        );
        let outcome = dialogue.analysed();
        let columns = ["handshake_rtt_mean_s", "rtt_samples", "window_max_bytes", "data_segments"];
        cells(table(&outcome, "transport"), 0, columns)
    };
    let mut foreign = open();
    foreign.client(100_000, Flags::SYN, (1_000_000, 0, 0)).server(100_010, Flags::ACK, (1, 301, 0));
    let expected = ["0.02", "2", "1000", "2"];
    assert_eq!(go_on(&mut foreign), expected);
    assert_eq!(go_on(&mut open()), expected);
}

#[test]
fn answered_syn_begins_connection_amid_busy_one() {
    for (flags, expected) in [
        (Flags::SYN | Flags::ACK, ["syn", "half-open", "not-established", ""]),
        (Flags::RST | Flags::ACK, ["syn", "refused", "not-established", "answerer"]),
    ] {
        let mut dialogue = open();
        dialogue
            .client(100_000, Flags::SYN, (70_000, 0, 0))
            .client(110_000, Flags::SYN, (70_000, 0, 0))
            // It was on its way.
            .server(115_000, Flags::ACK, (1, 301, 200))
            .server(120_000, flags, (90_000, 70_001, 0));
        let outcome = dialogue.analysed();
        assert_eq!(lives(&outcome), [["syn", "completed", "open", ""], expected]);
        let connections = table(&outcome, "connections");
        let columns = ["start_s", "syn_retries", "answerer_payload_bytes"];
        assert_eq!(cells(connections, 0, columns), ["0", "0", "200"]);
        assert_eq!(cells(connections, 1, columns), ["0.1", "1", "0"]);
    }
}

#[test]
fn two_taps_see_the_same_lives() {
    let mut dialogue = open();
    dialogue
        .client(100_000, Flags::SYN, (70_000, 0, 0))
        .server(120_000, Flags::ACK, (1, 301, 0))
        .client(120_010, Flags::RST, (301, 0, 0))
        .client(1_100_000, Flags::SYN, (70_000, 0, 0))
        .server(1_120_000, Flags::SYN | Flags::ACK, (90_000, 70_001, 0))
        .client(1_120_010, Flags::ACK, (70_001, 90_001, 100));
    let settings = Settings { clock: ClockMode::Same, ..Settings::default() };
    let outcome = Pair::of(&dialogue).analysed_by(settings);
    let expected = [["syn", "completed", "reset", "opener"], ["syn", "completed", "open", ""]];
    assert_eq!(lives(&outcome), expected);
    let columns = ["packets_sent", "packets_received", "packets_lost"];
    assert_eq!(cells(table(&outcome, "flows"), 0, columns), ["5", "5", "0"]);
}
