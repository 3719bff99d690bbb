//! Results from acknowledgments: round trips, spurious retransmissions, missing bytes.

use crate::tap::{Tap, repeated};
use fairwind_analyse::stream::{AckEvent, Cause, SegmentKind};
use fairwind_units::Span;

#[test]
fn newest_segment_sent_once_gives_rtt() {
    let mut tap = Tap::new();
    tap.data(100, 0, 1000);
    tap.data(140, 1000, 1000);
    let expected = AckEvent {
        newly_acknowledged_bytes: 2000,
        rtt: Some(Span::from_millis(100)),
        ..AckEvent::default()
    };
    assert_eq!(tap.ack(240, 2000), expected);
}

/// Karn's rule; a timestamp says which transmission has arrived (RFC 7323 §4).
#[test]
fn retransmission_gives_rtt_only_by_timestamp() {
    let mut tap = Tap::without_sack();
    let (now, from) = tap.warmed();
    tap.data(now, from, 1000);
    tap.data(now + 300, from, 1000);
    assert_eq!(tap.ack(now + 400, from + 1000).rtt, None);
    tap.stamps = true;
    tap.data(now + 500, from + 1000, 1000);
    tap.data(now + 800, from + 1000, 1000);
    let echo = u32::try_from(now).unwrap() + 800;
    let facts = tap.answer(now + 890, from + 2000, &[], 10_000, echo);
    assert_eq!((facts.rtt, facts.spurious), (Some(Span::from_millis(90)), 0));
}

#[test]
fn older_echo_proves_spurious_retransmission() {
    let mut tap = Tap::without_sack();
    tap.stamps = true;
    let (now, from) = tap.warmed();
    tap.data(now, from, 1000);
    tap.data(now + 300, from, 1000);
    let echo = u32::try_from(now).unwrap();
    assert_eq!(tap.answer(now + 320, from + 1000, &[], 10_000, echo).spurious, 1);
}

/// RFC 2883 §4: the first block lies below the acknowledgment.
#[test]
fn dsack_proves_spurious_retransmission_once() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    tap.data(now, from, 1000);
    tap.data(now, from + 1000, 1000);
    assert_eq!(repeated(tap.data(now + 202, from + 1000, 1000)).0, Cause::TailLossProbe);
    tap.ack(now + 210, from + 2000);
    let report = [(from + 1000, from + 2000)];
    assert_eq!(tap.sack(now + 302, from + 2000, &report).spurious, 1);
    assert_eq!(tap.sack(now + 303, from + 2000, &report).spurious, 0);
}

/// RFC 5681 §2: not with another window, not with nothing outstanding.
#[test]
fn duplicate_acks_need_equal_window() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    assert_eq!(tap.ack(now, from).duplicates, 0);
    tap.data(now, from, 1000);
    tap.data(now, from + 1000, 1000);
    assert_eq!(tap.ack(now + 100, from).duplicates, 1);
    assert_eq!(tap.ack(now + 101, from).duplicates, 2);
    assert_eq!(tap.answer(now + 102, from, &[], 9_000, 0).duplicates, 0);
    tap.ack(now + 103, from + 1000);
    assert_eq!(tap.answer(now + 104, from + 1000, &[], 10_000, 0).duplicates, 1);
}

#[test]
fn selective_acknowledgments_count_each_byte_once() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    for segment in 0..4 {
        tap.data(now, from + segment * 1000, 1000);
    }
    let sack = |tap: &mut Tap, right| {
        tap.sack(now + 100, from, &[(from + 1000, from + right)]).newly_sacked_bytes
    };
    assert_eq!([2000, 3000, 3000, 4000].map(|right| sack(&mut tap, right)), [1000, 1000, 0, 1000]);
}

#[test]
fn acknowledged_unseen_bytes_are_missing() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    assert_eq!(tap.ack(now, from + 3000).newly_acknowledged_bytes, 3000);
    assert_eq!(tap.data(now, from + 3000, 1000), SegmentKind::New);
    assert_eq!(tap.data(now, from + 5000, 1000), SegmentKind::New);
    tap.ack(now + 100, from + 6000);
    assert_eq!(tap.stream.flight_bytes(), 0);
}

/// What is behind it in a bundle comes with it; so if that is not acknowledged, it has come by itself.
#[test]
fn bundled_bytes_give_rtt_of_own_segment() {
    let mut tap = Tap::new();
    tap.data(1000, 0, 100);
    assert_eq!(tap.data(1060, 0, 200), SegmentKind::Bundle { redundant_bytes: 100 });
    assert_eq!(tap.data(1120, 100, 200), SegmentKind::Bundle { redundant_bytes: 100 });
    let rtt = Some(Span::from_millis(200));
    assert_eq!(tap.ack(1200, 100).rtt, rtt);
    assert_eq!(tap.ack(1260, 200).rtt, rtt);
    // Of these two the first is lost, and comes in the second.
    tap.data(1300, 300, 100);
    tap.data(1360, 300, 200);
    tap.data(1420, 400, 200);
    assert_eq!(tap.ack(1560, 500).rtt, rtt);
}

#[test]
fn bytes_reordered_by_bundle_give_no_rtt() {
    let mut tap = Tap::new();
    tap.data(1000, 0, 100);
    tap.data(1060, 0, 200);
    tap.data(1120, 100, 200);
    tap.data(1180, 200, 200);
    // The third has overtaken the first two: what is acknowledged ends where its own data does.
    assert_eq!(tap.sack(1320, 0, &[(100, 300)]).rtt, Some(Span::from_millis(200)));
    assert_eq!(tap.ack(1340, 300).rtt, None);
}
