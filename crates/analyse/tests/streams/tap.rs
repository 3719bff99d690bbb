//! A tap beside a sender, and packets that pass it, in milliseconds and bytes of the stream.

use fairwind_analyse::stream::{
    AckEvent, Cause, ProbeUseCounts, SegmentKind, Stream, StreamMeasures, TapSide,
};
use fairwind_units::Instant;
use fairwind_wire::{Flags, Options, SackBlock, Segment, SequenceNumber, Timestamps};

/// The stream wraps soon.
const FIRST: SequenceNumber = SequenceNumber::new(u32::MAX - 2_500);

/// A tap, after a set-up at the instant 0 with a round trip of 100 ms, MSS 1000 and windows scaled by 1.
pub(crate) struct Tap {
    pub(crate) stream: Stream,
    pub(crate) stamps: bool,
    identification: u16,
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn syn(flags: Flags, sack: bool) -> Segment {
    Segment {
        flags,
        sequence: FIRST - 1,
        acknowledgment: FIRST,
        window: 10_000,
        options: Options {
            mss: Some(1000),
            window_scale: Some(1),
            sack_permitted: sack,
            ..Options::NONE
        },
        ..Segment::default()
    }
}

impl Tap {
    pub(crate) fn new() -> Self {
        Self::opened(true)
    }

    pub(crate) fn without_sack() -> Self {
        Self::opened(false)
    }

    /// Beside the receiver: SYN has come at the instant 0 and was answered at once, and the third packet of the
    /// set-up comes after `rtt` milliseconds.
    pub(crate) fn near_receiver(rtt: u64) -> Self {
        let mut stream = Stream::new(at(0));
        stream.set_side(TapSide::Receiver);
        stream.on_segment(at(0), &syn(Flags::SYN, true), None);
        stream.on_acknowledgment(at(0), &syn(Flags::SYN | Flags::ACK, true));
        let mut tap = Self { stream, stamps: false, identification: 0 };
        assert_eq!(tap.data(rtt, 0, 0), SegmentKind::Bare);
        tap
    }

    fn opened(sack: bool) -> Self {
        let mut stream = Stream::new(at(0));
        assert_eq!(stream.on_segment(at(0), &syn(Flags::SYN, sack), None), SegmentKind::Bare);
        stream.on_acknowledgment(at(100), &syn(Flags::SYN | Flags::ACK, sack));
        Self { stream, stamps: false, identification: 0 }
    }

    /// A segment as it would be sent at that time.
    pub(crate) fn segment(&self, millis: u64, offset: u32, bytes: u32) -> Segment {
        let stamps =
            Timestamps { value: u32::try_from(millis).expect("the tests have it"), echo: 1 };
        Segment {
            flags: Flags::ACK,
            sequence: FIRST + offset,
            payload_bytes: bytes,
            options: Options { timestamps: self.stamps.then_some(stamps), ..Options::NONE },
            ..Segment::default()
        }
    }

    pub(crate) fn data(&mut self, millis: u64, offset: u32, bytes: u32) -> SegmentKind {
        let segment = self.segment(millis, offset, bytes);
        self.identification += 1;
        self.stream.on_segment(at(millis), &segment, Some(self.identification))
    }

    /// The same, with the identification given.
    pub(crate) fn copy(
        &mut self,
        millis: u64,
        segment: &Segment,
        identification: Option<u16>,
    ) -> SegmentKind {
        self.stream.on_segment(at(millis), segment, identification)
    }

    pub(crate) fn ack(&mut self, millis: u64, offset: u32) -> AckEvent {
        self.answer(millis, offset, &[], 10_000, 0)
    }

    /// With blocks of selectively acknowledged bytes.
    pub(crate) fn sack(&mut self, millis: u64, offset: u32, blocks: &[(u32, u32)]) -> AckEvent {
        self.answer(millis, offset, blocks, 10_000, 0)
    }

    pub(crate) fn answer(
        &mut self,
        millis: u64,
        offset: u32,
        blocks: &[(u32, u32)],
        window: u16,
        echo: u32,
    ) -> AckEvent {
        let blocks = blocks.iter();
        let block = |&(left, right)| SackBlock { left: FIRST + left, right: FIRST + right };
        let segment = Segment {
            flags: Flags::ACK,
            acknowledgment: FIRST + offset,
            window,
            options: Options {
                sack: blocks.map(block).collect(),
                timestamps: (echo > 0).then_some(Timestamps { value: 1, echo }),
                ..Options::NONE
            },
            ..Segment::default()
        };
        self.stream.on_acknowledgment(at(millis), &segment)
    }

    /// Some round trips of 100 ms, so that the time-out is 300 ms: 500 bytes each, from `millis` on.
    /// Gives the time and the offset behind.
    pub(crate) fn warmed(&mut self) -> (u64, u32) {
        for round in 0..10_u32 {
            let millis = 100 + u64::from(round) * 200;
            assert_eq!(self.data(millis, round * 500, 500), SegmentKind::New);
            self.ack(millis + 100, round * 500 + 500);
        }
        (2_200, 5_000)
    }

    pub(crate) fn finish(mut self, millis: u64) -> (u64, StreamMeasures) {
        let reported = self.stream.finish(at(millis), &mut ProbeUseCounts::default());
        (reported, self.stream.measures().clone())
    }
}

/// Cause, order, and whether it begins a repair.
pub(crate) fn repeated(kind: SegmentKind) -> (Cause, u16, bool) {
    let SegmentKind::Retransmission(reported) = kind else { panic!("no repetition: {kind:?}") };
    (reported.cause, reported.order, reported.begins)
}
