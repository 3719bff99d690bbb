//! The congestion window step by step: start, growth and reduction (RFC 5681 §3.1, §4.1, RFC 6928), in
//! the profile `rfc`.

use crate::peer::{Endpoint, OFFER, ack, at, segment, threshold, window};
use fairwind_tcp::{Config, Profile};
use fairwind_units::Span;
use fairwind_wire::{Flags, Options, Segment};

/// An initial window of ten segments, so that there is something to lose.
fn rfc() -> Config {
    Config { timestamps: false, initial_window: 10, ..Profile::Rfc.config() }
}

fn open() -> Endpoint {
    Endpoint::accepted(rfc())
}

#[test]
fn initial_window_depends_on_mss() {
    // At most 4380 bytes or two segments, and at most three.
    for (mss, segments) in [(500, 3), (1460, 3), (1461, 2), (2190, 2), (8000, 2)] {
        let config = Config { mss: 9000, timestamps: false, ..Profile::Rfc.config() };
        let mut end = Endpoint::accepted_with(config, Options { mss: Some(mss), ..OFFER });
        assert_eq!(end.write(50_000).len(), segments, "MSS {mss}");
    }
}

#[test]
fn lost_syn_reduces_initial_window() {
    let mut end = Endpoint::answering(rfc(), OFFER);
    assert_eq!(end.wait_millis(1500).len(), 1, "the SYN-ACK again");
    end.hear(&ack(1));
    assert_eq!(end.write(50_000).len(), 1);
    let (mut end, _) = Endpoint::connecting(rfc());
    assert_eq!(end.wait_millis(1500).len(), 1, "the SYN again");
    end.hear(&Segment { options: OFFER, ..segment(Flags::SYN | Flags::ACK, 0, 1) });
    assert_eq!(end.write(50_000).len(), 1);
}

#[test]
fn the_initial_threshold_is_arbitrarily_high() {
    assert_eq!(open().it.slow_start_threshold(), None);
}

#[test]
fn slow_start_adds_segment_per_ack() {
    let mut end = open();
    end.write(100_000);
    end.hear(&ack(at(1)));
    assert_eq!(window(&end), 11);
    end.hear(&ack(at(4)));
    assert_eq!(window(&end), 12, "however much it covers");
    end.hear(&ack(at(4)));
    assert_eq!(window(&end), 12, "a duplicate acknowledges nothing new");
}

#[test]
fn congestion_avoidance_adds_segment_per_rtt() {
    let mut end = Endpoint::accepted(Config { initial_ssthresh: Some(10), ..rfc() });
    end.write(200_000);
    let mut acknowledged = 0;
    for round in 0..5 {
        assert_eq!(window(&end), 10 + round);
        for _ in 0..10 + round {
            assert_eq!(window(&end), 10 + round);
            acknowledged += 1;
            end.hear(&ack(at(acknowledged)));
        }
    }
    assert_eq!(window(&end), 15);
}

#[test]
fn timeout_halves_threshold_and_resets_window() {
    let mut end = open();
    // Six of the window's ten segments are outstanding: it is their half that counts.
    end.write(6000);
    let sent = end.wait_millis(1100);
    assert_eq!((sent.len(), sent[0].1.sequence.get()), (1, 1));
    assert_eq!((threshold(&end), window(&end)), (3, 1));
    // The repetition is lost as well: the threshold stays.
    assert_eq!(end.wait_millis(2100).len(), 1);
    assert_eq!((threshold(&end), window(&end)), (3, 1));
    // At least two segments.
    let mut end = open();
    end.write(1000);
    end.wait_millis(1100);
    assert_eq!(threshold(&end), 2);
}

#[test]
fn slow_start_follows_timeout_to_threshold() {
    let mut end = open();
    end.write(60_000);
    end.wait_millis(1100);
    assert_eq!((threshold(&end), window(&end)), (5, 1));
    let mut windows = vec![];
    for next in 1..=7 {
        end.hear(&ack(at(next)));
        windows.push(window(&end));
    }
    assert_eq!(windows, [2, 3, 4, 5, 5, 5, 5]);
}

#[test]
fn idle_rto_restores_initial_window() {
    let mut end = open();
    end.write(10_000);
    for next in 1..=10 {
        end.hear(&ack(at(next)));
    }
    assert_eq!(window(&end), 20);
    end.wait(end.it.retransmission_timeout() + Span::from_millis(1));
    assert_eq!(end.write(50_000).len(), 10);
    let (quick, timeout) = (Span::from_millis(500), end.it.retransmission_timeout());
    assert!(quick < timeout);
}

/// Many acknowledgments of one segment, piece by piece, are worth one (RFC 5681 §3.1, RFC 3465).
#[test]
fn partial_segment_acks_do_not_grow_window() {
    let mut end = open();
    end.write(50_000);
    for part in 1..10 {
        end.hear(&ack(1 + 100 * part));
    }
    assert_eq!(window(&end), 10);
    end.hear(&ack(at(1)));
    assert_eq!(window(&end), 11);
}

/// The initial window of ten segments (RFC 6928 §2), where FreeBSD counts bytes too.
#[test]
fn initial_ten_segments_are_14600_bytes() {
    for (mss, segments) in [(536, 10), (1460, 10), (2920, 5), (8000, 2)] {
        let config = Config { mss: 9000, timestamps: false, ..Profile::FreeBsd14.config() };
        let mut end = Endpoint::accepted_with(config, Options { mss: Some(mss), ..OFFER });
        assert_eq!(end.write(50_000).len(), segments, "MSS {mss}");
    }
}
