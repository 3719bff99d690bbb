//! Random headers for tests.

use fairwind_wire::bytes::Addresses;
use fairwind_wire::{
    AccurateEcn, Cookie, CounterOrder, Counters, FastOpen, FastOpenKind, Flags, Options, SackBlock,
    Segment, SequenceNumber, Timestamps, TrafficClass,
};
use proptest::prelude::*;

/// Addresses of either version.
pub(crate) fn any_addresses() -> impl Strategy<Value = Addresses> {
    prop_oneof![
        any::<([u8; 4], [u8; 4])>().prop_map(|(source, destination)| Addresses::V4 {
            source: source.into(),
            destination: destination.into(),
        }),
        any::<([u8; 16], [u8; 16])>().prop_map(|(source, destination)| Addresses::V6 {
            source: source.into(),
            destination: destination.into(),
        }),
    ]
}

fn any_options() -> impl Strategy<Value = Options> {
    let timestamps = any::<(u32, u32)>().prop_map(|(value, echo)| Timestamps { value, echo });
    let block = any::<(u32, u32)>().prop_map(|(left, right)| SackBlock {
        left: SequenceNumber::new(left),
        right: SequenceNumber::new(right),
    });
    (
        any::<Option<u16>>(),
        any::<Option<u8>>(),
        any::<bool>(),
        proptest::option::of(timestamps),
        proptest::collection::vec(block, 0..=4),
    )
        .prop_map(|(mss, window_scale, sack_permitted, timestamps, blocks)| Options {
            mss,
            window_scale,
            sack_permitted,
            timestamps,
            sack: blocks.into_iter().collect(),
            accurate_ecn: None,
        })
        .prop_flat_map(|options| (Just(options), any_fast_open(), any_accurate_ecn()))
        .prop_map(|(options, fast_open, accurate_ecn)| {
            let options = Options { accurate_ecn, ..options };
            fast_open
                .filter(|_| options.sack.is_empty())
                .map_or(options, |fast_open| options.with_fast_open(&fast_open))
        })
        .prop_filter("options fit into a header", |options| options.wire_bytes() <= 40)
}

fn any_fast_open() -> impl Strategy<Value = Option<FastOpen>> {
    let kind = prop_oneof![Just(FastOpenKind::Assigned), Just(FastOpenKind::Experimental)];
    let cookie = prop_oneof![
        Just(Vec::new()),
        proptest::collection::vec(any::<[u8; 2]>(), 2..=8).prop_map(|pairs| pairs.concat()),
    ];
    proptest::option::of(
        (kind, cookie)
            .prop_map(|(kind, cookie)| FastOpen { kind, cookie: Cookie::new(&cookie).unwrap() }),
    )
}

fn any_accurate_ecn() -> impl Strategy<Value = Option<AccurateEcn>> {
    let order = prop_oneof![Just(CounterOrder::Ect0First), Just(CounterOrder::Ect1First)];
    let counters = any::<(u32, u32, u32)>();
    proptest::option::of((order, 0..=3_u8, counters).prop_map(|(order, fields, counters)| {
        let (ect0, ce, ect1) = counters;
        AccurateEcn::new(order, fields, Counters { ect0, ce, ect1 })
    }))
}

/// A segment with arbitrary fields and options that fit.
pub(crate) fn any_segment() -> impl Strategy<Value = Segment> {
    let numbers = any::<(u16, u16, u32, u32, u16, u16, u16, u8)>();
    let length = prop_oneof![Just(0), 0_u32..3000, 0_u32..65_000];
    (numbers, length, any_options()).prop_map(|(numbers, payload_bytes, options)| {
        let (source_port, destination_port, sequence, acknowledgment, flags, window, urgent, class) =
            numbers;
        Segment {
            source_port,
            destination_port,
            sequence: SequenceNumber::new(sequence),
            acknowledgment: SequenceNumber::new(acknowledgment),
            flags: Flags::from_bits(flags),
            window,
            urgent,
            traffic_class: TrafficClass::new(class),
            payload_bytes,
            options,
        }
    })
}
