//! Two endpoints and the segments between them, in virtual time.

use fairwind_tcp::{Config, Connection, Event, Ports, State};
use fairwind_units::{Instant, Span};
use fairwind_wire::{
    AccurateEcn, Ecn, Flags, Options, SackBlock, Segment, SequenceNumber, Timestamps, TrafficClass,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Which end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Client,
    Server,
}

impl End {
    fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Fate of a segment in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Drop,
    /// Delivered twice, the copy this much later.
    Duplicate(Span),
    /// Delivered this much later than usual.
    Late(Span),
}

/// One line of the dialogue.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    pub at: Instant,
    pub from: End,
    pub segment: Segment,
    /// Stream offset of the payload, by the sender's account.
    pub offset: u64,
}

/// Decides on the fate of each segment: its sender, its number among that sender's segments, and it.
pub type Judge = Box<dyn FnMut(End, usize, &Segment) -> Fate>;

/// One stream: written data, and received data by position.
#[derive(Debug, Default)]
struct Stream {
    written: Vec<u8>,
    arrived: Vec<Option<u8>>,
    read: Vec<u8>,
}

pub struct Pair {
    pub client: Connection,
    pub server: Connection,
    pub now: Instant,
    pub one_way: Span,
    pub dialogue: Vec<Line>,
    pub events: Vec<(Instant, End, Event)>,
    /// Whether received data is read immediately.
    pub reads: bool,
    in_flight: BTreeMap<(Instant, u64), (End, Segment, u64)>,
    inserted: u64,
    sent: [usize; 2],
    streams: [Stream; 2],
    judge: Judge,
}

impl Pair {
    pub fn new(client: Config, server: Config) -> Self {
        Self::starting_at(client, server, 1000, 5000)
    }

    pub fn starting_at(client: Config, server: Config, isn: u32, peer_isn: u32) -> Self {
        let ports = Ports { local: 40_000, remote: 80 };
        let peer = Ports { local: 80, remote: 40_000 };
        Self {
            client: Connection::connect(Arc::new(client), ports, SequenceNumber::new(isn)),
            server: Connection::listen(Arc::new(server), peer, SequenceNumber::new(peer_isn)),
            now: Instant::ZERO,
            one_way: Span::from_millis(50),
            dialogue: Vec::new(),
            events: Vec::new(),
            reads: true,
            in_flight: BTreeMap::new(),
            inserted: 0,
            sent: [0; 2],
            streams: [Stream::default(), Stream::default()],
            judge: Box::new(|_, _, _| Fate::Deliver),
        }
    }

    /// An established pair; time starts at the next whole second.
    pub fn established(client: Config, server: Config) -> Self {
        let mut pair = Self::new(client, server);
        pair.run_until(Instant::from_secs(1));
        assert_eq!(pair.client.state(), State::Established);
        assert_eq!(pair.server.state(), State::Established);
        pair.dialogue.clear();
        pair.events.clear();
        pair
    }

    pub fn judged_by(&mut self, judge: impl FnMut(End, usize, &Segment) -> Fate + 'static) {
        self.sent = [0; 2];
        self.judge = Box::new(judge);
    }

    pub fn end(&mut self, end: End) -> &mut Connection {
        match end {
            End::Client => &mut self.client,
            End::Server => &mut self.server,
        }
    }

    /// Writes `bytes` bytes of a pattern; returns the number taken.
    pub fn write(&mut self, end: End, bytes: usize) -> usize {
        let taken = usize::try_from(self.end(end).write(bytes as u64)).unwrap();
        let stream = &mut self.streams[end as usize];
        let from = stream.written.len();
        stream.written.extend((from..from + taken).map(pattern));
        self.flush();
        taken
    }

    pub fn close(&mut self, end: End) {
        self.end(end).close();
        self.flush();
    }

    /// Bytes read at `end`, compared with those that the other end wrote.
    pub fn read_bytes(&self, end: End) -> usize {
        let (read, written) =
            (&self.streams[end.other() as usize].read, &self.streams[end.other() as usize].written);
        assert_eq!(
            read[..],
            written[..read.len()],
            "the stream read is a prefix of the stream written"
        );
        read.len()
    }

    /// Sends all that the ends have to send at this instant.
    pub fn flush(&mut self) {
        for end in [End::Client, End::Server] {
            self.flush_end(end);
        }
    }

    fn flush_end(&mut self, end: End) {
        let now = self.now;
        while let Some(segment) = self.poll_over_another(end) {
            let offset = if segment.payload_bytes > 0 {
                self.end(end).stream_offset(segment.sequence)
            } else {
                0
            };
            let number = self.sent[end as usize];
            self.sent[end as usize] += 1;
            let fate = (self.judge)(end, number, &segment);
            self.dialogue.push(Line { at: now, from: end, segment, offset });
            let due = now + self.one_way;
            match fate {
                Fate::Drop => {}
                Fate::Deliver => self.post(due, end, segment, offset),
                Fate::Late(by) => self.post(due + by, end, segment, offset),
                Fate::Duplicate(by) => {
                    self.post(due, end, segment, offset);
                    self.post(due + by, end, segment, offset);
                }
            }
        }
        while let Some(event) = self.end(end).poll_event() {
            self.events.push((now, end, event));
        }
    }

    /// The next segment, written over another one, which must be replaced completely or not at all.
    fn poll_over_another(&mut self, end: End) -> Option<Segment> {
        let block = SackBlock { left: SequenceNumber::new(7), right: SequenceNumber::new(9) };
        let another = Segment {
            source_port: 1,
            destination_port: 2,
            sequence: SequenceNumber::new(3),
            acknowledgment: SequenceNumber::new(4),
            window: 5,
            flags: Flags::URG | Flags::SYN | Flags::RST,
            urgent: 6,
            traffic_class: TrafficClass::default().with_ecn(Ecn::Ce),
            payload_bytes: 77,
            options: Options {
                mss: Some(8),
                window_scale: Some(9),
                sack_permitted: true,
                timestamps: Some(Timestamps { value: 10, echo: 11 }),
                sack: [block; 4].into_iter().collect(),
                accurate_ecn: Some(AccurateEcn::default()),
            },
        };
        let mut segment = another;
        let now = self.now;
        if self.end(end).poll_segment_into(now, &mut segment) {
            return Some(segment);
        }
        assert_eq!(segment, another, "there was nothing to send");
        None
    }

    fn post(&mut self, due: Instant, from: End, segment: Segment, offset: u64) {
        self.in_flight.insert((due, self.inserted), (from, segment, offset));
        self.inserted += 1;
    }

    fn next_instant(&self) -> Option<Instant> {
        let arrival = self.in_flight.keys().next().map(|key| key.0);
        let deadline = self.client.next_deadline().min(self.server.next_deadline());
        let earliest = arrival.unwrap_or(Instant::MAX).min(deadline);
        (earliest != Instant::MAX).then_some(earliest)
    }

    /// Does everything due up to `until`.
    pub fn run_until(&mut self, until: Instant) {
        self.flush();
        while let Some(at) = self.next_instant().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.step();
        }
        self.now = until;
    }

    /// Runs until no event is left, at most to `limit`.
    pub fn run_to_rest(&mut self, limit: Instant) {
        self.flush();
        while let Some(at) = self.next_instant().filter(|at| *at <= limit) {
            self.now = self.now.max(at);
            self.step();
        }
    }

    fn step(&mut self) {
        let now = self.now;
        let due = self.in_flight.first_key_value().map(|(key, _)| *key).filter(|key| key.0 <= now);
        if let Some(key) = due {
            let (from, segment, offset) = self.in_flight.remove(&key).unwrap();
            self.arrive(from.other(), &segment, offset);
        } else {
            for end in [End::Client, End::Server] {
                if self.end(end).next_deadline() <= now {
                    self.end(end).on_deadline(now);
                }
            }
        }
        self.flush();
    }

    fn arrive(&mut self, at: End, segment: &Segment, offset: u64) {
        let stream = &mut self.streams[at.other() as usize];
        let start = usize::try_from(offset).unwrap();
        let end = start + segment.payload_bytes as usize;
        if stream.arrived.len() < end {
            stream.arrived.resize(end, None);
        }
        for position in start..end {
            stream.arrived[position] = Some(pattern(position));
        }
        let now = self.now;
        self.end(at).on_segment(now, segment);
        if self.reads {
            self.read_all(at);
        }
    }

    /// Reads everything readable at `at`, byte by byte from the received data.
    pub fn read_all(&mut self, at: End) {
        let readable = self.end(at).readable_bytes();
        let now = self.now;
        let taken = self.end(at).read(now, readable) as usize;
        let stream = &mut self.streams[at.other() as usize];
        let from = stream.read.len();
        for position in from..from + taken {
            let byte = stream.arrived[position].expect("only bytes that have arrived can be read");
            stream.read.push(byte);
        }
    }

    /// Data segments that `from` sent, in order.
    pub fn data_from(&self, from: End) -> Vec<Line> {
        self.dialogue
            .iter()
            .filter(|line| line.from == from && line.segment.payload_bytes > 0)
            .copied()
            .collect()
    }

    pub fn count(&self, event: Event) -> usize {
        self.events.iter().filter(|(_, _, happened)| *happened == event).count()
    }
}

/// The byte at an offset of every stream.
#[expect(clippy::cast_possible_truncation, reason = "a pattern of bytes")]
fn pattern(offset: usize) -> u8 {
    (offset.wrapping_mul(31) >> 3) as u8
}
