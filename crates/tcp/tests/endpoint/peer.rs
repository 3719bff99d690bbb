//! One endpoint and a scripted peer. Sequence numbers begin at 0 on both sides, so the first byte
//! of data is number 1; the peer's segments hold at most 1000 bytes.

use fairwind_tcp::{Config, Connection, Event, Ports, State};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Options, SackBlock, SackBlocks, Segment, SequenceNumber, Timestamps};
use std::sync::Arc;

/// Bytes of a full segment to the peer.
pub const FULL: u32 = 1000;

/// Default options of the peer's SYN.
pub const OFFER: Options = Options { mss: Some(1000), sack_permitted: true, ..Options::NONE };

pub struct Endpoint {
    pub it: Connection,
    pub now: Instant,
}

impl Endpoint {
    /// An end that waits for a peer.
    pub fn listening(config: Config) -> Self {
        let ports = Ports { local: 80, remote: 40_000 };
        let it = Connection::listen(Arc::new(config), ports, SequenceNumber::new(0));
        Self { it, now: Instant::from_secs(1) }
    }

    /// An end that has sent its SYN.
    pub fn connecting(config: Config) -> (Self, Segment) {
        let ports = Ports { local: 80, remote: 40_000 };
        let it = Connection::connect(Arc::new(config), ports, SequenceNumber::new(0));
        let mut end = Self { it, now: Instant::from_secs(1) };
        let syn = end.sent().pop().unwrap();
        (end, syn)
    }

    /// An end that has answered the peer's SYN.
    pub fn answering(config: Config, offer: Options) -> Self {
        let mut end = Self::listening(config);
        let syn = Segment { options: offer, window: 60_000, ..segment(Flags::SYN, 0, 0) };
        let answer = end.hear(&syn);
        assert_eq!(answer[0].flags, Flags::SYN | Flags::ACK);
        end
    }

    /// An open connection that the peer began, with a round trip of 100 ms.
    pub fn accepted_with(config: Config, offer: Options) -> Self {
        let mut end = Self::answering(config, offer);
        end.now += Span::from_millis(100);
        let mut answer = ack(1);
        answer.options.timestamps = offer.timestamps;
        end.hear(&answer);
        assert_eq!(end.it.state(), State::Established);
        while end.it.poll_event().is_some() {}
        end
    }

    /// The same with the default options.
    pub fn accepted(config: Config) -> Self {
        Self::accepted_with(config, OFFER)
    }

    /// Segments that are due now.
    pub fn sent(&mut self) -> Vec<Segment> {
        let now = self.now;
        std::iter::from_fn(|| self.it.poll_segment(now)).collect()
    }

    /// Immediate answer to a segment of the peer.
    pub fn hear(&mut self, segment: &Segment) -> Vec<Segment> {
        self.it.on_segment(self.now, segment);
        self.sent()
    }

    /// Immediate transmission of a write.
    pub fn write(&mut self, bytes: u64) -> Vec<Segment> {
        assert_eq!(self.it.write(bytes), bytes);
        self.sent()
    }

    /// Segments sent while time passes, with their times.
    pub fn wait(&mut self, span: Span) -> Vec<(Instant, Segment)> {
        let until = self.now + span;
        let mut all = Vec::new();
        while self.it.next_deadline() <= until {
            self.now = self.now.max(self.it.next_deadline());
            self.it.on_deadline(self.now);
            let now = self.now;
            all.extend(self.sent().into_iter().map(|segment| (now, segment)));
        }
        self.now = until;
        all
    }

    pub fn wait_millis(&mut self, millis: u64) -> Vec<(Instant, Segment)> {
        self.wait(Span::from_millis(millis))
    }

    pub fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.it.poll_event()).collect()
    }
}

/// A segment of the peer.
pub fn segment(flags: Flags, sequence: u32, acknowledgment: u32) -> Segment {
    Segment {
        source_port: 40_000,
        destination_port: 80,
        sequence: SequenceNumber::new(sequence),
        acknowledgment: SequenceNumber::new(acknowledgment),
        flags,
        window: 60_000,
        ..Segment::default()
    }
}

/// An acknowledgment of a peer that has sent nothing.
pub fn ack(acknowledgment: u32) -> Segment {
    segment(Flags::ACK, 1, acknowledgment)
}

/// The same with SACK blocks.
pub fn sack(acknowledgment: u32, blocks: &[(u32, u32)]) -> Segment {
    let mut all = SackBlocks::EMPTY;
    for &(left, right) in blocks {
        all.push(SackBlock { left: SequenceNumber::new(left), right: SequenceNumber::new(right) });
    }
    Segment { options: Options { sack: all, ..Options::NONE }, ..ack(acknowledgment) }
}

/// Data of the peer without an acknowledgment.
pub fn data(sequence: u32, bytes: u32) -> Segment {
    Segment { payload_bytes: bytes, ..segment(Flags::ACK | Flags::PSH, sequence, 1) }
}

/// The segment with timestamps.
pub fn stamped(segment: Segment, value: u32, echo: u32) -> Segment {
    let timestamps = Some(Timestamps { value, echo });
    Segment { options: Options { timestamps, ..segment.options }, ..segment }
}

/// First number and payload of each segment.
pub fn ranges(segments: &[Segment]) -> Vec<(u32, u32)> {
    segments.iter().map(|sent| (sent.sequence.get(), sent.payload_bytes)).collect()
}

/// First numbers of segments with payload.
pub fn starts(segments: &[Segment]) -> Vec<u32> {
    segments.iter().filter(|sent| sent.payload_bytes > 0).map(|sent| sent.sequence.get()).collect()
}

/// SACK blocks of a segment.
pub fn blocks(segment: &Segment) -> Vec<(u32, u32)> {
    let sack = segment.options.sack;
    sack.as_slice().iter().map(|block| (block.left.get(), block.right.get())).collect()
}

/// First byte of the `index`-th segment.
pub fn at(index: u32) -> u32 {
    1 + index * FULL
}

/// The congestion window in segments.
pub fn window(end: &Endpoint) -> u32 {
    end.it.congestion_window()
}

/// The slow-start threshold in segments; there must be one.
pub fn threshold(end: &Endpoint) -> u32 {
    end.it.slow_start_threshold().unwrap()
}
