//! Random packets: the counters agree with each other, and nothing panics.

use fairwind_analyse::stream::{Cause, ProbeUseCounts, SegmentKind, Stream};
use fairwind_units::Instant;
use fairwind_wire::{Flags, Options, SackBlock, Segment, SequenceNumber, Timestamps};
use proptest::prelude::*;

/// A packet of either direction: most are plausible, all fields are arbitrary.
#[derive(Debug, Clone)]
struct Anything {
    at: u64,
    is_data: bool,
    segment: Segment,
    identification: Option<u16>,
}

fn sequence() -> impl Strategy<Value = SequenceNumber> {
    let near = (0_u32..40).prop_map(|place| SequenceNumber::new(u32::MAX - 5_000) + place * 500);
    prop_oneof![8 => near, 1 => any::<u32>().prop_map(SequenceNumber::new)]
}

fn flags() -> impl Strategy<Value = Flags> {
    let rare = any::<u16>().prop_map(Flags::from_bits);
    prop_oneof![9 => Just(Flags::ACK), 1 => rare]
}

fn options() -> impl Strategy<Value = Options> {
    let block = (sequence(), sequence()).prop_map(|(left, right)| SackBlock { left, right });
    let stamps = (any::<u32>(), any::<u32>()).prop_map(|(value, echo)| Timestamps { value, echo });
    (
        proptest::collection::vec(block, 0..4),
        proptest::option::of(stamps),
        any::<Option<u8>>(),
        any::<Option<u16>>(),
        any::<bool>(),
    )
        .prop_map(|(blocks, timestamps, window_scale, mss, sack_permitted)| Options {
            sack: blocks.into_iter().collect(),
            timestamps,
            window_scale,
            mss,
            sack_permitted,
            ..Options::NONE
        })
}

fn anything() -> impl Strategy<Value = Anything> {
    let payload = prop_oneof![0_u32..3, Just(500_u32), 0_u32..70_000];
    let instant = prop_oneof![9 => 0_u64..3_000_000_000, 1 => any::<u64>()];
    let numbers = (sequence(), sequence());
    (
        instant,
        any::<bool>(),
        numbers,
        flags(),
        payload,
        any::<u16>(),
        options(),
        any::<Option<u16>>(),
    )
        .prop_map(
            |(
                at,
                is_data,
                (sequence, acknowledgment),
                flags,
                payload_bytes,
                window,
                options,
                identification,
            )| {
                let window = if window < 6_000 { 0 } else { window };
                let segment = Segment {
                    sequence,
                    acknowledgment,
                    flags,
                    payload_bytes,
                    window,
                    options,
                    ..Segment::default()
                };
                Anything { at, is_data, segment, identification }
            },
        )
}

proptest! {
    #[test]
    fn reported_packets_equal_counts(
        packets in proptest::collection::vec(anything(), 0..200), in_order: bool,
    ) {
        let mut packets = packets;
        if in_order {
            packets.sort_by_key(|packet| packet.at);
        }
        let mut stream = Stream::new(Instant::ZERO);
        let mut reported = [0_u64; Cause::COUNT];
        for packet in &packets {
            let at = Instant::from_nanos(packet.at);
            if !packet.is_data {
                stream.on_acknowledgment(at, &packet.segment);
                continue;
            }
            let kind = stream.on_segment(at, &packet.segment, packet.identification);
            if let SegmentKind::Retransmission(again) = kind && packet.segment.payload_bytes > 0 {
                reported[Cause::ALL.iter().position(|&cause| cause == again.cause).expect("one of all")] += 1;
            }
        }
        let settled = stream.finish(Instant::from_nanos(4_000_000_000), &mut ProbeUseCounts::default());
        let measures = stream.measures();
        prop_assert_eq!(measures.retransmissions(), reported.iter().sum::<u64>());
        for (cause, reported) in Cause::ALL.into_iter().zip(reported) {
            let counted = measures.retransmissions_for(cause);
            match cause {
                Cause::Timeout => prop_assert_eq!(counted, reported + settled),
                Cause::TailLossProbe => prop_assert_eq!(counted + settled, reported),
                _ => prop_assert_eq!(counted, reported),
            }
        }
    }
}
