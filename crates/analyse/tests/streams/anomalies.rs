//! Segments that are neither new nor sent again.

use crate::tap::{Tap, repeated};
use fairwind_analyse::stream::{Cause, SegmentKind};
use fairwind_wire::Segment;

#[test]
fn old_bytes_before_new_ones_are_a_bundle() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    tap.data(now, from, 120);
    let bundle = tap.data(now + 50, from, 240);
    assert_eq!(bundle, SegmentKind::Bundle { redundant_bytes: 120 });
    let bundle = tap.data(now + 100, from + 120, 240);
    assert_eq!(bundle, SegmentKind::Bundle { redundant_bytes: 120 });
    assert_eq!(tap.stream.flight_bytes(), 360);
    assert_eq!(tap.finish(now + 200).1.retransmissions(), 0);
}

#[test]
fn byte_below_next_expected_is_keep_alive() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    assert_eq!(tap.data(now + 60_000, from - 1, 0), SegmentKind::KeepAlive);
    assert_eq!(tap.data(now + 61_000, from - 1, 1), SegmentKind::KeepAlive);
    assert_eq!(tap.data(now + 62_000, from, 0), SegmentKind::Bare);
}

#[test]
fn zero_window_probe_is_below_or_beyond_window() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    tap.answer(now, from, &[], 0, 0);
    assert_eq!(tap.data(now + 300, from - 1, 0), SegmentKind::WindowProbe);
    assert_eq!(tap.data(now + 900, from, 1), SegmentKind::WindowProbe);
    assert_eq!(tap.data(now + 2100, from, 1), SegmentKind::WindowProbe);
}

#[test]
fn equal_identification_and_timestamp_are_a_copy() {
    let mut tap = Tap::new();
    tap.stamps = true;
    let (now, from) = tap.warmed();
    let segment = tap.segment(now, from, 1000);
    assert_eq!(tap.copy(now, &segment, Some(77)), SegmentKind::New);
    assert_eq!(tap.copy(now, &segment, Some(77)), SegmentKind::Duplicate);
    tap.ack(now + 100, from + 1000);
    assert_eq!(tap.copy(now + 100, &segment, Some(77)), SegmentKind::Duplicate);
}

/// A gap is filled by something that was sent before what followed it, or after.
#[test]
fn reordering_is_distinguished_from_retransmission() {
    let fill = |millis: u64, stamp: u64, identification: Option<u16>, stamps: bool| {
        let mut tap = Tap::new();
        tap.stamps = stamps;
        let (now, from) = tap.warmed();
        let follower = tap.segment(now + 10, from + 1000, 1000);
        assert_eq!(tap.copy(now + 10, &follower, Some(65_535)), SegmentKind::New);
        let late = tap.segment(now + stamp, from, 1000);
        tap.copy(now + millis, &late, identification)
    };
    assert_eq!(fill(90, 5, Some(1), true), SegmentKind::OutOfOrder, "an older timestamp");
    assert_eq!(fill(90, 90, Some(65_534), false), SegmentKind::OutOfOrder, "an older number");
    assert_eq!(fill(30, 30, None, false), SegmentKind::OutOfOrder, "sooner than anybody can ask");
    let again = |kind: SegmentKind| matches!(kind, SegmentKind::Retransmission(_));
    assert!(again(fill(90, 90, Some(65_534), true)), "a newer timestamp");
    assert!(again(fill(30, 30, Some(2), false)), "a newer number, behind the largest");
    assert!(again(fill(330, 330, None, false)), "a time-out later");
}

#[test]
fn each_loss_of_burst_uses_packets_after_gap() {
    let fill = |identification: u16, stamps: bool| {
        let mut tap = Tap::new();
        tap.stamps = stamps;
        let (now, from) = tap.warmed();
        let follower = tap.segment(now + 10, from + 3000, 1000);
        assert_eq!(tap.copy(now + 10, &follower, Some(65_535)), SegmentKind::New);
        [0, 1000, 2000].map(|offset: u32| {
            let late =
                tap.segment(now + if identification < 9 { 30 } else { 5 }, from + offset, 1000);
            tap.copy(now + 30, &late, Some(identification))
        })
    };
    let again = |kind: SegmentKind| matches!(kind, SegmentKind::Retransmission(_));
    assert!(fill(2, false).into_iter().all(again), "newer numbers");
    assert!(fill(2, true).into_iter().all(again), "newer timestamps");
    assert_eq!(fill(65_530, false), [SegmentKind::OutOfOrder; 3], "older numbers");
    assert_eq!(fill(65_530, true), [SegmentKind::OutOfOrder; 3], "older timestamps");
}

#[test]
fn far_segment_counts_once_continued() {
    let mut tap = Tap::new();
    let (now, from) = tap.warmed();
    let far = 1_500_000_000;
    assert_eq!(tap.data(now, far, 1000), SegmentKind::OutOfOrder);
    assert_eq!(tap.data(now, from, 1000), SegmentKind::New);
    assert_eq!(tap.data(now, far, 1000), SegmentKind::OutOfOrder);
    assert_eq!(tap.data(now, far + 1000, 1000), SegmentKind::New);
    assert_eq!(tap.stream.flight_bytes(), 1000);
}

#[test]
fn retransmitted_fin_is_not_data() {
    let mut tap = Tap::without_sack();
    let (now, from) = tap.warmed();
    let fin = Segment {
        flags: fairwind_wire::Flags::FIN | fairwind_wire::Flags::ACK,
        ..tap.segment(now, from, 0)
    };
    assert_eq!(tap.copy(now, &fin, None), SegmentKind::New);
    assert_eq!(repeated(tap.copy(now + 300, &fin, None)).0, Cause::Timeout);
    let (_, measures) = tap.finish(now + 400);
    assert_eq!((measures.data_segments(), measures.retransmissions()), (10, 0));
}
