//! Causes of retransmissions, rule by rule.

use crate::tap::{Tap, repeated};
use fairwind_analyse::stream::{Cause, SegmentKind};

#[test]
fn prompt_reaction_is_fast_retransmit_once() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    for segment in 0..5 {
        tap.data(now, from + segment * 1000, 1000);
    }
    tap.sack(now + 100, from, &[(from + 1000, from + 2000)]);
    assert_eq!(repeated(tap.data(now + 100, from, 1000)), (Cause::FastRetransmit, 1, true));
    tap.sack(now + 101, from, &[(from + 3000, from + 5000), (from + 1000, from + 2000)]);
    let second = tap.data(now + 101, from + 2000, 1000);
    assert_eq!(repeated(second), (Cause::FastRetransmit, 1, false));
}

#[test]
fn one_duplicate_suffices_as_evidence_without_sack() {
    let mut tap = Tap::without_sack();
    let (now, from) = tap.warmed();
    tap.data(now, from, 1000);
    tap.data(now + 150, from + 1000, 1000);
    assert_eq!(tap.ack(now + 250, from).duplicates, 1);
    assert_eq!(repeated(tap.data(now + 250, from, 1000)), (Cause::FastRetransmit, 1, true));
}

/// RFC 8985 §6.2: a quarter of the round trip is waited for late segments.
#[test]
fn evidence_is_followed_by_reordering_wait() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    tap.data(now, from, 1000);
    tap.data(now + 20, from + 1000, 1000);
    tap.sack(now + 120, from, &[(from + 1000, from + 2000)]);
    assert_eq!(repeated(tap.data(now + 146, from, 1000)), (Cause::FastRetransmit, 1, true));
}

/// The time-out is 300 ms after ten round trips of 100 ms: it ran out in spite of the evidence.
#[test]
fn silence_of_rto_is_timeout_despite_evidence() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    tap.data(now, from, 1000);
    tap.data(now + 150, from + 1000, 1000);
    tap.sack(now + 250, from, &[(from + 1000, from + 2000)]);
    assert_eq!(repeated(tap.data(now + 300, from, 1000)), (Cause::Timeout, 1, true));
}

#[test]
fn oldest_without_evidence_is_timeout_rest_after_timeout() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    for segment in 0..3 {
        tap.data(now, from + segment * 1000, 1000);
    }
    assert_eq!(repeated(tap.data(now + 300, from, 1000)), (Cause::Timeout, 1, true));
    tap.ack(now + 400, from + 1000);
    let next = tap.data(now + 400, from + 1000, 1000);
    assert_eq!(repeated(next), (Cause::AfterTimeout, 1, false));
    let next = tap.data(now + 400, from + 2000, 1000);
    assert_eq!(repeated(next), (Cause::AfterTimeout, 1, false));
    let (_, measures) = tap.finish(now + 500);
    assert_eq!(measures.retransmissions_for(Cause::Timeout), 1);
    assert_eq!(measures.retransmissions(), 3);
}

/// RFC 2018 §8: the receiver has no room any more, and throws away what it had acknowledged. Linux waits half a
/// round trip then (`tcp_check_sack_reneging`).
#[test]
fn sacked_data_is_retransmitted_by_timeout_only() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    for segment in 0..3 {
        tap.data(now, from + segment * 1000, 1000);
    }
    tap.sack(now + 100, from, &[(from + 1000, from + 2000)]);
    assert_eq!(repeated(tap.data(now + 100, from, 1000)), (Cause::FastRetransmit, 1, true));
    tap.ack(now + 200, from + 1000);
    assert_eq!(repeated(tap.data(now + 250, from + 1000, 1000)), (Cause::Timeout, 1, true));
    tap.ack(now + 350, from + 2000);
    let next = repeated(tap.data(now + 350, from + 2000, 1000));
    assert_eq!(next, (Cause::AfterTimeout, 1, false));
}

/// Linux joins small segments when it repeats them (`tcp_retrans_try_collapse`).
#[test]
fn collapsed_retransmission_is_one_packet_in_flight() {
    let mut tap = Tap::without_sack();
    let (now, from) = tap.warmed();
    for segment in 0..3 {
        tap.data(now + u64::from(segment), from + segment * 100, 100);
    }
    assert_eq!(tap.stream.flight_packets(), 3);
    assert_eq!(repeated(tap.data(now + 310, from, 200)), (Cause::Timeout, 1, true));
    assert_eq!((tap.stream.flight_packets(), tap.stream.flight_bytes()), (2, 300));
    tap.ack(now + 410, from + 200);
    assert_eq!(tap.stream.flight_packets(), 1);
    tap.ack(now + 411, from + 300);
    assert_eq!(tap.stream.flight_packets(), 0);
}

#[test]
fn consecutive_timeouts_are_ordered_with_any_backoff() {
    for waits in [[300, 600, 1200], [300, 300, 300]] {
        let mut tap = Tap::without_sack();
        let (mut now, from) = tap.warmed();
        tap.data(now, from, 1000);
        for (wait, order) in waits.into_iter().zip(1..) {
            now += wait;
            assert_eq!(repeated(tap.data(now, from, 1000)), (Cause::Timeout, order, true));
        }
    }
}

/// RFC 8985 §7: two round trips without a word, and the last segment goes.
#[test]
fn last_segment_after_silence_is_tail_loss_probe() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    tap.data(now, from, 1000);
    tap.data(now, from + 1000, 1000);
    let probe = tap.data(now + 202, from + 1000, 1000);
    assert_eq!(repeated(probe), (Cause::TailLossProbe, 1, false));
    // One probe at a time: what goes next, a time-out later, is the oldest.
    assert_eq!(repeated(tap.data(now + 502, from, 1000)), (Cause::Timeout, 1, true));
}

#[test]
fn there_are_no_probes_without_sack() {
    let mut tap = Tap::without_sack();
    let (now, from) = tap.warmed();
    tap.data(now, from, 1000);
    assert_eq!(repeated(tap.data(now + 300, from, 1000)).0, Cause::Timeout);
}

/// A single segment, 300 ms after it was sent: probe and time-out fall together. The next wait is twice
/// as long, so it was a time-out.
#[test]
fn growing_waits_classify_single_segment() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    tap.data(now, from, 1000);
    let SegmentKind::Retransmission(first) = tap.data(now + 300, from, 1000) else { panic!() };
    assert!(first.is_provisional && first.cause == Cause::TailLossProbe, "{first:?}");
    assert_eq!(repeated(tap.data(now + 900, from, 1000)).0, Cause::Timeout);
    let (timeouts, measures) = tap.finish(now + 1000);
    assert_eq!(timeouts, 1);
    assert_eq!(measures.retransmissions_for(Cause::Timeout), 2);
    assert_eq!(measures.retransmissions_for(Cause::TailLossProbe), 0);
}

/// Round trips of 100 and 1600 ms make a smoothed one of 287.5 ms, and 1650 ms of variation: a probe waits
/// 775 ms, a time-out 1937.5 ms.
#[test]
fn wait_classifies_single_segment() {
    for (wait, cause) in [(800, Cause::TailLossProbe), (1940, Cause::Timeout)] {
        let mut tap = Tap::new();
        tap.data(100, 0, 1000);
        tap.ack(1700, 1000);
        tap.data(1700, 1000, 1000);
        let kind = repeated(tap.data(1700 + wait, 1000, 1000));
        assert_eq!(kind.0, cause, "after {wait} ms");
    }
}

#[test]
fn collapsed_small_segments_are_not_probe() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    tap.data(now, from, 100);
    tap.data(now + 150, from + 100, 100);
    assert_eq!(repeated(tap.data(now + 301, from, 200)), (Cause::Timeout, 1, true));
}

#[test]
fn retransmission_filled_with_new_bytes_is_not_bundle() {
    let mut tap = Tap::without_sack();
    let (now, from) = tap.warmed();
    tap.data(now, from, 100);
    assert_eq!(repeated(tap.data(now + 300, from, 1000)), (Cause::Timeout, 1, true));
    assert_eq!(tap.stream.flight_bytes(), 1000);
}

#[test]
fn order_is_highest_retransmission_count_of_bytes() {
    let mut tap = Tap::without_sack();
    let (now, from) = tap.warmed();
    // Joined by an offload engine, and repeated in parts.
    tap.data(now, from, 3000);
    assert_eq!(repeated(tap.data(now + 300, from, 1000)).1, 1);
    assert_eq!(repeated(tap.data(now + 900, from, 1000)).1, 2);
    tap.ack(now + 1000, from + 1000);
    assert_eq!(repeated(tap.data(now + 1000, from + 1000, 2000)).1, 1);
}

#[test]
fn first_segment_may_be_retransmitted() {
    let mut tap = Tap::new();
    tap.data(200, 0, 1000);
    tap.data(200, 1000, 1000);
    assert_eq!(repeated(tap.data(600, 0, 1000)), (Cause::Timeout, 1, true));
    assert_eq!((tap.stream.flight_packets(), tap.stream.flight_bytes()), (2, 2000));
    tap.ack(700, 2000);
    assert_eq!(tap.stream.flight_packets(), 0);
}

#[test]
fn cut_options_limit_causes_to_seen_evidence() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    for segment in 0..3 {
        tap.data(now, from + segment * 1000, 1000);
    }
    tap.stream.on_cut_options();
    assert_eq!(repeated(tap.data(now + 300, from, 1000)).0, Cause::Unknown);
    tap.sack(now + 400, from, &[(from + 2000, from + 3000)]);
    assert_eq!(repeated(tap.data(now + 400, from + 1000, 1000)).0, Cause::FastRetransmit);
}
