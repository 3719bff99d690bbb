//! Segment acceptance in each state (RFC 9293 §3.10.7, RFC 5961).

use crate::peer::{Endpoint, FULL, OFFER, ack, data, segment};
use fairwind_tcp::{Config, Event, Profile, State};
use fairwind_units::Span;
use fairwind_wire::{Flags, Segment};

fn rfc() -> Config {
    Config { timestamps: false, ..Profile::Rfc.config() }
}

fn open() -> Endpoint {
    Endpoint::accepted(rfc())
}

/// Numbers and flags of an answer.
fn numbers(answer: &[Segment]) -> Vec<(Flags, u32, u32)> {
    answer.iter().map(|s| (s.flags, s.sequence.get(), s.acknowledgment.get())).collect()
}

const BARE_ACK: (Flags, u32, u32) = (Flags::ACK, 1, 1);

#[test]
fn a_closed_end_resets_everything_but_resets() {
    let mut end = Endpoint::listening(rfc());
    end.it.close();
    assert_eq!(end.it.state(), State::Closed);
    // The reset has the acknowledged number, if there is one.
    assert_eq!(numbers(&end.hear(&segment(Flags::ACK, 7, 300))), [(Flags::RST, 300, 0)]);
    // Else it acknowledges the whole of the segment.
    let syn = Segment { payload_bytes: 10, ..segment(Flags::SYN, 7, 0) };
    assert_eq!(numbers(&end.hear(&syn)), [(Flags::RST | Flags::ACK, 0, 18)]);
    assert!(end.hear(&segment(Flags::RST, 7, 0)).is_empty());
}

#[test]
fn listen_ignores_rst_and_resets_ack() {
    let mut end = Endpoint::listening(rfc());
    assert!(end.hear(&segment(Flags::RST, 7, 0)).is_empty());
    assert!(end.hear(&segment(Flags::RST | Flags::ACK, 7, 1)).is_empty());
    let for_nobody = segment(Flags::SYN | Flags::ACK, 7, 300);
    assert_eq!(numbers(&end.hear(&for_nobody)), [(Flags::RST, 300, 0)]);
    assert!(end.hear(&segment(Flags::FIN, 7, 0)).is_empty(), "neither ACK nor SYN: dropped");
    assert_eq!(end.it.state(), State::Listen);
    let answer = end.hear(&segment(Flags::SYN, 7, 0));
    assert_eq!(numbers(&answer), [(Flags::SYN | Flags::ACK, 0, 8)]);
}

#[test]
fn syn_sent_ignores_wrong_ack() {
    let (mut end, _) = Endpoint::connecting(rfc());
    // An acknowledgment of unsent data: a reset at that number, and the SYN stays.
    assert_eq!(numbers(&end.hear(&segment(Flags::ACK, 7, 300))), [(Flags::RST, 300, 0)]);
    assert!(end.hear(&segment(Flags::RST | Flags::ACK, 7, 300)).is_empty());
    assert!(end.hear(&segment(Flags::RST, 7, 0)).is_empty(), "a reset that acknowledges nothing");
    assert!(end.hear(&ack(1)).is_empty(), "an acknowledgment without SYN");
    assert_eq!(end.it.state(), State::SynSent);
    end.hear(&segment(Flags::RST | Flags::ACK, 7, 1));
    assert_eq!((end.it.state(), end.events()), (State::Closed, vec![Event::Reset]));
}

#[test]
fn syn_sent_accepts_syn_with_or_without_ack() {
    let (mut end, _) = Endpoint::connecting(rfc());
    let answer = end.hear(&segment(Flags::SYN | Flags::ACK, 7, 1));
    assert_eq!((end.it.state(), numbers(&answer)), (State::Established, vec![(Flags::ACK, 1, 8)]));
    let (mut end, _) = Endpoint::connecting(rfc());
    let answer = end.hear(&segment(Flags::SYN, 7, 0));
    assert_eq!(end.it.state(), State::SynReceived);
    assert_eq!(numbers(&answer), [(Flags::SYN | Flags::ACK, 0, 8)]);
}

#[test]
fn syn_received_resets_wrong_ack() {
    let mut end = Endpoint::answering(rfc(), OFFER);
    assert_eq!(numbers(&end.hear(&ack(300))), [(Flags::RST, 300, 0)]);
    assert_eq!(end.it.state(), State::SynReceived);
    end.hear(&ack(1));
    assert_eq!(end.it.state(), State::Established);
}

/// One listening endpoint is one connection; its driver listens with another.
#[test]
fn reset_ends_syn_received() {
    let mut end = Endpoint::answering(rfc(), OFFER);
    assert!(end.hear(&segment(Flags::RST, 1, 0)).is_empty());
    assert_eq!(end.it.state(), State::Closed);
}

#[test]
fn segment_outside_window_is_answered() {
    let mut end = open();
    let window = end.it.config().receive_buffer.min(65_535);
    for outside in [data(1 + window + 10, 100), data(u32::MAX - 500, 100)] {
        assert_eq!(numbers(&end.hear(&outside)), [BARE_ACK]);
    }
    assert!(end.hear(&segment(Flags::RST, 1 + window + 10, 0)).is_empty(), "a reset: silently");
    assert!(end.hear(&segment(Flags::RST, u32::MAX - 500, 0)).is_empty());
    assert_eq!((end.it.readable_bytes(), end.it.state()), (0, State::Established));
}

#[test]
fn reset_counts_only_at_next_number() {
    let mut end = open();
    assert_eq!(numbers(&end.hear(&segment(Flags::RST, 2, 0))), [BARE_ACK]);
    assert_eq!(end.it.state(), State::Established);
    assert!(end.hear(&segment(Flags::RST, 1, 0)).is_empty());
    assert_eq!((end.it.state(), end.events()), (State::Closed, vec![Event::Reset]));
}

#[test]
fn syn_on_open_connection_is_challenged() {
    let mut end = open();
    for sequence in [0, 1, 500, 90_000_000, u32::MAX - 9] {
        for flags in [Flags::SYN, Flags::SYN | Flags::ACK] {
            let answer = end.hear(&segment(flags, sequence, 1));
            assert_eq!(numbers(&answer), [BARE_ACK], "{flags:?} {sequence}");
        }
    }
    assert_eq!(end.it.state(), State::Established);
}

/// One end has lost the connection and opens a new one with the same ports (RFC 9293 §3.5.1, figure
/// 9): a reset answers the challenge and ends the half-open connection.
#[test]
fn a_half_open_connection_is_discovered() {
    let mut old = open();
    let (mut new, syn) = Endpoint::connecting(rfc());
    let challenge = old.hear(&Segment { sequence: syn.sequence + 70_000, ..syn });
    assert_eq!(numbers(&challenge), [BARE_ACK]);
    // The new connection has other numbers; the old ones acknowledge nothing of it.
    let foreign = Segment { acknowledgment: challenge[0].acknowledgment + 500, ..challenge[0] };
    let reset = new.hear(&foreign);
    assert_eq!(numbers(&reset), [(Flags::RST, 501, 0)]);
    let translated = Segment { sequence: reset[0].sequence - 500, ..reset[0] };
    old.hear(&translated);
    assert_eq!((old.it.state(), new.it.state()), (State::Closed, State::SynSent));
}

#[test]
fn a_segment_without_acknowledgment_is_dropped() {
    let mut end = open();
    let mut without = data(1, 100);
    without.flags = Flags::PSH;
    assert!(end.hear(&without).is_empty());
    assert_eq!(end.it.readable_bytes(), 0);
}

#[test]
fn ack_of_unsent_data_is_answered() {
    let mut end = open();
    end.write(500);
    let mut ahead = data(1, 100);
    ahead.acknowledgment = ack(502).acknowledgment;
    let answer = end.hear(&ahead);
    assert_eq!(numbers(&answer), [(Flags::ACK, 501, 1)]);
    assert_eq!(end.it.readable_bytes(), 0);
}

/// Where a forger would have to guess (RFC 5961 §5.2).
#[test]
fn very_old_ack_is_challenged() {
    let mut end = open();
    for round in 0..200 {
        end.write(1000);
        end.hear(&ack(1001 + 1000 * round));
    }
    let (acknowledged, largest) = (200_001, 60_000);
    let with_ack =
        |number: u32| Segment { acknowledgment: ack(number).acknowledgment, ..data(1, 100) };
    let answer = end.hear(&with_ack(acknowledged - largest - 1));
    assert_eq!(numbers(&answer), [(Flags::ACK, acknowledged, 1)]);
    assert_eq!(end.it.readable_bytes(), 0);
    end.hear(&with_ack(acknowledged - largest));
    assert_eq!(end.it.readable_bytes(), 100, "the oldest that may have been delayed");
}

/// The numbers of the segment that updated the window last decide (SND.WL1, SND.WL2).
#[test]
fn the_send_window_follows_newer_segments_only() {
    let mut end = open();
    let told = |sequence, acknowledgment, window| Segment {
        window,
        ..segment(Flags::ACK, sequence, acknowledgment)
    };
    // The later one arrives first.
    end.hear(&Segment { window: 1500, ..data(101, 100) });
    end.hear(&Segment { window: 60_000, ..data(1, 100) });
    assert_eq!(end.write(2000).len(), 1, "an older segment does not widen the window");
    end.hear(&told(201, 1001, 500));
    assert_eq!(end.it.flight(), 0);
    end.hear(&told(201, 1, 60_000));
    end.wait_millis(10);
    assert_eq!(end.it.flight(), 0, "an older acknowledgment does not either");
    assert_eq!(end.hear(&told(201, 1001, 1000)).len(), 1);
}

#[test]
fn text_is_trimmed_to_the_window() {
    let mut end = Endpoint::accepted(Config { receive_buffer: 3000, ..rfc() });
    end.hear(&data(1, 1000));
    end.hear(&data(501, 1000));
    assert_eq!(end.it.readable_bytes(), 1500, "the first half was there already");
    end.hear(&data(1501, 2000));
    assert_eq!(end.it.readable_bytes(), 3000, "the last 500 bytes find no room");
}

#[test]
fn text_ahead_of_its_turn_is_held() {
    let mut end = open();
    end.hear(&data(1001, 1000));
    assert_eq!(end.it.readable_bytes(), 0);
    let answer = end.hear(&data(1, 1000));
    assert_eq!(end.it.readable_bytes(), 2000);
    assert_eq!(answer[0].acknowledgment.get(), 2001);
}

#[test]
fn fin_follows_states_of_figure_5() {
    let fin = |acknowledgment| segment(Flags::FIN | Flags::ACK, 1, acknowledgment);
    // The peer closes first.
    let mut end = open();
    assert_eq!(numbers(&end.hear(&fin(1))), [(Flags::ACK, 1, 2)]);
    assert_eq!(end.it.state(), State::CloseWait);
    end.it.close();
    assert_eq!(numbers(&end.sent()), [(Flags::FIN | Flags::ACK, 1, 2)]);
    assert_eq!(end.it.state(), State::LastAck);
    end.hear(&segment(Flags::ACK, 2, 2));
    assert_eq!(end.it.state(), State::Closed);
    // This end closes first; the peer acknowledges FIN, then closes.
    let closing = || {
        let mut end = open();
        end.it.close();
        end.sent();
        assert_eq!(end.it.state(), State::FinWait1);
        end
    };
    let mut end = closing();
    end.hear(&ack(2));
    assert_eq!(end.it.state(), State::FinWait2);
    end.hear(&fin(2));
    assert_eq!(end.it.state(), State::TimeWait);
    // Simultaneous close: CLOSING until FIN is acknowledged.
    let mut end = closing();
    end.hear(&fin(1));
    assert_eq!(end.it.state(), State::Closing);
    end.hear(&segment(Flags::ACK, 2, 2));
    assert_eq!(end.it.state(), State::TimeWait);
    // The peer's FIN acknowledges ours.
    let mut end = closing();
    end.hear(&fin(2));
    assert_eq!(end.it.state(), State::TimeWait);
}

fn waiting() -> Endpoint {
    let mut end = open();
    end.it.close();
    end.sent();
    end.hear(&segment(Flags::FIN | Flags::ACK, 1, 2));
    assert_eq!(end.it.state(), State::TimeWait);
    end
}

#[test]
fn repeated_fin_restarts_time_wait() {
    let mut end = waiting();
    end.wait(Span::from_secs(239));
    assert_eq!(end.it.state(), State::TimeWait);
    let answer = end.hear(&segment(Flags::FIN | Flags::ACK, 1, 2));
    assert_eq!(numbers(&answer), [(Flags::ACK, 2, 2)]);
    end.wait(Span::from_secs(239));
    assert_eq!(end.it.state(), State::TimeWait);
    end.wait(Span::from_secs(2));
    assert_eq!((end.it.state(), end.events().last()), (State::Closed, Some(&Event::Closed)));
}

#[test]
fn later_syn_reopens_time_wait() {
    let end = waiting();
    assert!(end.it.may_be_reopened_by(&segment(Flags::SYN, 3, 0)));
    assert!(!end.it.may_be_reopened_by(&segment(Flags::SYN, 1, 0)), "an old duplicate");
    assert!(!open().it.may_be_reopened_by(&segment(Flags::SYN, 3, 0)));
}

#[test]
fn data_may_be_written_before_establishment() {
    let (mut end, _) = Endpoint::connecting(rfc());
    assert_eq!(end.it.write(1500), 1500);
    assert!(end.sent().is_empty());
    let opened = Segment { options: OFFER, ..segment(Flags::SYN | Flags::ACK, 0, 1) };
    let sent: u32 = end.hear(&opened).iter().map(|s| s.payload_bytes).sum();
    assert!(sent >= FULL);
}

#[test]
fn fin_follows_everything_that_was_written() {
    let mut end = open();
    end.it.write(2500);
    end.it.close();
    let mut all = end.sent();
    all.extend(end.hear(&ack(2001)));
    let fin = all.iter().position(|s| s.flags.contains(Flags::FIN)).unwrap();
    assert_eq!((fin, all[fin].end().get()), (all.len() - 1, 2502));
}

#[test]
fn abort_sends_only_a_reset() {
    let mut end = open();
    end.hear(&Segment { window: 500, ..ack(1) });
    end.it.write(2500);
    end.it.abort();
    let sent = end.sent();
    assert_eq!(sent.len(), 1);
    assert!(sent[0].flags.contains(Flags::RST));
    assert_eq!(end.it.unsent_bytes(), 0);
    assert!(end.wait(Span::from_secs(100)).is_empty());
}

/// SYN is retransmitted for at least three minutes (RFC 9293 §3.8.3).
#[test]
fn syn_retries_last_three_minutes() {
    for mut end in [Endpoint::connecting(rfc()).0, Endpoint::answering(rfc(), OFFER)] {
        let begun = end.it.state();
        end.wait(Span::from_secs(179));
        assert_eq!(end.it.state(), begun, "given up early");
        end.wait(Span::from_secs(400));
        assert_eq!(end.it.state(), State::Closed);
        assert_eq!(end.events().last(), Some(&Event::TimedOut));
    }
}
