//! Causes inferred near the receiver: reactions come a round trip after what they react to has left.

use crate::tap::{Tap, repeated};
use fairwind_analyse::stream::{Cause, SegmentKind};

/// The sender is 100 ms away, so its time-out is 300 ms; 1000 bytes have come at 1000 ms, and are acknowledged.
fn far() -> Tap {
    let mut tap = Tap::near_receiver(100);
    assert_eq!(tap.data(1000, 0, 1000), SegmentKind::New);
    tap.ack(1000, 1000);
    tap
}

/// 1000 bytes do not come, and 10 ms later the next ones do.
fn with_gap() -> Tap {
    let mut tap = far();
    assert_eq!(tap.data(1010, 2000, 1000), SegmentKind::New);
    tap.sack(1010, 1000, &[(2000, 3000)]);
    tap
}

#[test]
fn reaction_one_rtt_after_evidence_is_fast_retransmit() {
    for wait in [100, 125, 200, 370] {
        let kind = with_gap().data(1010 + wait, 1000, 1000);
        assert_eq!(repeated(kind), (Cause::FastRetransmit, 1, true), "after {wait} ms");
    }
}

/// The acknowledgment of 1000 ms sets the timer 50 ms later; the time-out is over after 300 ms more, and what it
/// sends takes 50 ms.
#[test]
fn reaction_after_rtt_and_rto_is_timeout() {
    assert_eq!(repeated(with_gap().data(1400, 1000, 1000)), (Cause::Timeout, 1, true));
    let mut tap = with_gap();
    tap.data(1050, 3000, 1000);
    tap.sack(1050, 1000, &[(2000, 4000)]);
    tap.data(1400, 1000, 1000);
    tap.ack(1400, 4000);
    assert_eq!(tap.stream.flight_bytes(), 0);
}

/// Evidence left at 1010 and 1330 ms, and three duplicates were asked for: it answers the later one.
#[test]
fn reaction_to_late_evidence_is_not_timeout() {
    let mut tap = with_gap();
    tap.data(1330, 3000, 1000);
    tap.sack(1330, 1000, &[(2000, 4000)]);
    assert_eq!(repeated(tap.data(1430, 1000, 1000)).0, Cause::FastRetransmit);
}

#[test]
fn retransmission_of_arrived_data_is_timer_or_late() {
    // Its acknowledgment was lost: a probe after two round trips, or a time-out.
    assert_eq!(repeated(far().data(1202, 0, 1000)).0, Cause::TailLossProbe);
    assert_eq!(repeated(far().data(1300, 0, 1000)), (Cause::Timeout, 1, true));
    // It came 60 ms after the next segment, and that one's acknowledgment made the sender retransmit it.
    let mut tap = Tap::near_receiver(100);
    tap.stamps = true;
    tap.data(1000, 0, 1000);
    tap.ack(1000, 1000);
    let late = tap.segment(1001, 1000, 1000);
    tap.data(1010, 2000, 1000);
    tap.sack(1010, 1000, &[(2000, 3000)]);
    assert_eq!(tap.copy(1070, &late, None), SegmentKind::OutOfOrder);
    tap.ack(1070, 3000);
    assert_eq!(repeated(tap.data(1110, 1000, 1000)).0, Cause::FastRetransmit);
}

/// RFC 9293 §3.8.4: with and without a byte that means nothing.
#[test]
fn keep_alives_are_distinguished_from_retransmissions() {
    let mut tap = far();
    assert_eq!(tap.data(61_000, 999, 1), SegmentKind::KeepAlive);
    assert_eq!(tap.data(62_000, 999, 0), SegmentKind::KeepAlive);
}
