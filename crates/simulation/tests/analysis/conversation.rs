//! Two endpoints on a path that loses and reorders, and a tap beside the one that sends the data.
//!
//! The tap hands each packet to a [`Stream`], and the endpoint says why it has sent it: what it knows of
//! losses when it sends, and whether it says that it probes.

use crate::truth::Truth;
use fairwind_analyse::stream::{
    Cause, ProbeUseCounts, Retransmission, SegmentKind, Stream, TapSide,
};
use fairwind_tcp::{Config, Connection, Event, Nagle, Ports, Profile, RecoveryState};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Segment, SequenceNumber};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// What the application does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Application {
    /// It always has more.
    Greedy,
    /// So many bytes, every so often, give or take half of it.
    Thin { bytes: u64, interval: Span },
}

/// When the receiver's application reads what has come.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reading {
    /// At once.
    AtOnce,
    /// At once for so long, then for so long not at all.
    Pausing { reads: Span, rests: Span },
}

impl Reading {
    fn reads(self, now: Instant) -> bool {
        match self {
            Self::AtOnce => true,
            Self::Pausing { reads, rests } => {
                now.as_nanos() % (reads + rests).as_nanos() < reads.as_nanos()
            }
        }
    }

    /// When it next begins to read, if it rests.
    fn resumes(self, now: Instant) -> Instant {
        match self {
            Self::Pausing { reads, rests } if !self.reads(now) => {
                let period = (reads + rests).as_nanos();
                Instant::from_nanos((now.as_nanos() / period + 1) * period)
            }
            _ => Instant::MAX,
        }
    }
}

/// Path and endpoints.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) sender: Config,
    pub(crate) receiver: Config,
    pub(crate) application: Application,
    pub(crate) reading: Reading,
    pub(crate) one_way: Span,
    pub(crate) bits_per_second: u64,
    pub(crate) queue_packets: usize,
    /// Of thousand packets, so many of the data and of the acknowledgments are lost.
    pub(crate) lost_per_thousand: (u64, u64),
    /// Of thousand data packets, so many are late by up to this.
    pub(crate) late: (u64, Span),
    pub(crate) duration: Span,
}

impl Setting {
    /// A path with a round trip of 100 ms, 5 Mbit/s and a queue of 60 packets that loses nothing, for two minutes,
    /// between `sender` and a host of today.
    pub(crate) fn new(mut sender: Config, application: Application) -> Self {
        if !matches!(application, Application::Greedy) {
            sender.nagle = Nagle::Off;
        }
        Self {
            sender,
            receiver: Profile::Linux6_18.config(),
            application,
            reading: Reading::AtOnce,
            one_way: Span::from_millis(50),
            bits_per_second: 5_000_000,
            queue_packets: 60,
            lost_per_thousand: (0, 0),
            late: (0, Span::ZERO),
            duration: Span::from_secs(120),
        }
    }
}

/// A data segment that was sent again: why, and what the stream took it for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repetition {
    pub(crate) truth: Cause,
    pub(crate) verdict: SegmentKind,
}

impl Repetition {
    /// What was provisionally taken for a probe was a time-out.
    fn settle(&mut self) {
        if let SegmentKind::Retransmission(Retransmission { cause, is_provisional: true, .. }) =
            &mut self.verdict
        {
            *cause = Cause::Timeout;
        }
    }
}

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) repetitions: Vec<Repetition>,
    /// Other segments, with payload, that the stream took for something else than new data.
    pub(crate) mistaken: Vec<(Instant, SegmentKind)>,
    pub(crate) data_segments: u64,
    pub(crate) timeouts: u64,
    pub(crate) fast_retransmits: u64,
    /// Reports of the stream, those at its end included.
    pub(crate) timeouts_told: u64,
    pub(crate) fast_retransmits_told: u64,
    pub(crate) zero_window_probes: u64,
    /// Bare segments of the sender just below what it would send next, with the window open.
    pub(crate) questions: u64,
    pub(crate) stream: Stream,
    pub(crate) truth: Truth,
    /// The same stream, as a tap near the receiver sees it.
    pub(crate) far: ReceiverTap,
}

/// What a tap near the receiver tells.
pub(crate) struct ReceiverTap {
    pub(crate) stream: Stream,
    pub(crate) timeouts: u64,
    pub(crate) fast_retransmits: u64,
}

impl ReceiverTap {
    fn new() -> Self {
        let mut stream = Stream::new(Instant::ZERO);
        stream.set_side(TapSide::Receiver);
        Self { stream, timeouts: 0, fast_retransmits: 0 }
    }

    fn on_segment(&mut self, at: Instant, segment: &Segment, identification: u16) {
        let kind = self.stream.on_segment(at, segment, Some(identification));
        if let SegmentKind::Retransmission(Retransmission { cause, begins, .. }) = kind {
            self.timeouts += u64::from(cause == Cause::Timeout);
            self.fast_retransmits += u64::from(cause == Cause::FastRetransmit && begins);
        }
    }
}

/// Numbers without pattern (xorshift), for what happens by chance.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }

    fn happens(&mut self, per_thousand: u64) -> bool {
        self.next() % 1000 < per_thousand
    }
}

type Arrival = Reverse<(Instant, u64, bool, Parcel)>;

/// A segment on its way; the order of segments means nothing.
#[derive(Debug, Clone, Copy)]
struct Parcel(Segment, Instant, u16);

impl PartialEq for Parcel {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Parcel {}
impl PartialOrd for Parcel {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Parcel {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

struct Conversation<'a> {
    setting: &'a Setting,
    sender: Connection,
    receiver: Connection,
    chance: Chance,
    arrivals: BinaryHeap<Arrival>,
    sent: u64,
    /// When the link has sent all that it was given.
    link_free_at: Instant,
    next_write: Instant,
    highest: Option<SequenceNumber>,
    outcome: Outcome,
}

/// Lets them talk, with the given seed.
pub(crate) fn hold(setting: &Setting, seed: u64, habits: &mut ProbeUseCounts) -> Outcome {
    let ports = Ports { local: 22_000, remote: 5_000 };
    let listening = Ports { local: 5_000, remote: 22_000 };
    let (iss, irs) = (SequenceNumber::new(u32::MAX - 100_000), SequenceNumber::new(77));
    let mut conversation = Conversation {
        setting,
        sender: Connection::connect(Arc::new(setting.sender.clone()), ports, iss),
        receiver: Connection::listen(Arc::new(setting.receiver.clone()), listening, irs),
        chance: Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        arrivals: BinaryHeap::new(),
        sent: 0,
        link_free_at: Instant::ZERO,
        next_write: Instant::from_millis(1),
        highest: None,
        outcome: Outcome {
            repetitions: Vec::new(),
            mistaken: Vec::new(),
            data_segments: 0,
            timeouts: 0,
            fast_retransmits: 0,
            timeouts_told: 0,
            fast_retransmits_told: 0,
            zero_window_probes: 0,
            questions: 0,
            stream: Stream::new(Instant::ZERO),
            truth: Truth::default(),
            far: ReceiverTap::new(),
        },
    };
    conversation.run(habits);
    conversation.outcome
}

impl Conversation<'_> {
    fn run(&mut self, habits: &mut ProbeUseCounts) {
        let end = Instant::ZERO + self.setting.duration;
        let mut now = Instant::ZERO;
        while now < end {
            self.sender_turn(now);
            self.receiver_turn(now);
            self.outcome.truth.rest(&self.sender, now);
            let arrival = self.arrivals.peek().map_or(Instant::MAX, |Reverse(first)| first.0);
            let deadlines = self.sender.next_deadline().min(self.receiver.next_deadline());
            let reading = self.setting.reading.resumes(now);
            now = arrival.min(deadlines).min(self.next_write).min(reading).max(now);
            self.act(now);
        }
        self.outcome.truth.finish(&self.sender, now);
        self.outcome.far.timeouts +=
            self.outcome.far.stream.finish(now, &mut ProbeUseCounts::default());
        let settled = self.outcome.stream.finish(now, habits);
        self.outcome.timeouts_told += settled;
        if settled > 0 {
            self.outcome.repetitions.iter_mut().for_each(Repetition::settle);
        }
    }

    fn act(&mut self, now: Instant) {
        while let Some(Reverse((at, _, to_receiver, Parcel(segment, sent_at, number)))) =
            self.arrivals.peek().copied()
        {
            if at > now {
                break;
            }
            self.arrivals.pop();
            if to_receiver {
                self.outcome.far.on_segment(now, &segment, number);
                self.come(segment, sent_at);
                self.receiver.on_segment(now, &segment);
                self.read(now);
                self.receiver_turn(now);
            } else {
                let facts = self.outcome.stream.on_acknowledgment(now, &segment);
                self.outcome.truth.acknowledged(&self.sender, now, &segment, &facts);
                self.sender.on_segment(now, &segment);
                self.outcome.truth.look_at_window(&self.sender, now);
                self.sender_turn(now);
            }
        }
        self.read(now);
        if self.sender.next_deadline() <= now {
            self.sender.on_deadline(now);
        }
        if self.receiver.next_deadline() <= now {
            self.receiver.on_deadline(now);
        }
    }

    /// Data has come to the receiver.
    fn come(&mut self, segment: Segment, sent_at: Instant) {
        if segment.payload_bytes > 0 {
            let start = self.sender.stream_offset(segment.sequence);
            self.outcome.truth.came(start, segment.payload_bytes, sent_at);
        }
    }

    fn read(&mut self, now: Instant) {
        if self.setting.reading.reads(now) {
            let readable = self.receiver.readable_bytes();
            self.receiver.read(now, readable);
        }
    }

    fn write(&mut self, now: Instant) {
        match self.setting.application {
            Application::Greedy => {
                let unsent = self.sender.unsent_bytes();
                if unsent < 200_000 {
                    self.sender.write(400_000 - unsent);
                }
                self.next_write = Instant::MAX;
            }
            Application::Thin { bytes, interval } => {
                while self.next_write <= now {
                    self.sender.write(bytes);
                    let wait = interval.as_nanos() / 2 + self.chance.next() % interval.as_nanos();
                    self.next_write += Span::from_nanos(wait);
                }
            }
        }
    }

    fn sender_turn(&mut self, now: Instant) {
        self.write(now);
        self.drain_events();
        while let Some(segment) = self.sender.poll_segment(now) {
            let verdict = self.outcome.stream.on_segment(now, &segment, None);
            let asks = segment.payload_bytes == 0 && self.highest == Some(segment.sequence + 1);
            self.outcome.questions += u64::from(asks);
            self.judge(now, &segment, verdict);
            self.send(now, segment, true);
        }
        self.drain_events();
    }

    /// Events that the endpoint has for us; whether it says that it has probed.
    fn drain_events(&mut self) -> bool {
        let mut has_probed = false;
        while let Some(event) = self.sender.poll_event() {
            match event {
                Event::RetransmissionTimeout => self.outcome.timeouts += 1,
                Event::FastRetransmit => self.outcome.fast_retransmits += 1,
                Event::TailLossProbe => has_probed = true,
                Event::ZeroWindowProbe => self.outcome.zero_window_probes += 1,
                _ => {}
            }
        }
        has_probed
    }

    fn judge(&mut self, at: Instant, segment: &Segment, verdict: SegmentKind) {
        let has_probed = self.drain_events();
        if segment.payload_bytes == 0 {
            return;
        }
        let stream = &self.outcome.stream;
        let flight = (stream.flight_packets(), stream.flight_bytes());
        self.outcome.truth.sent(&self.sender, at, segment, flight);
        if let SegmentKind::Retransmission(repetition) = verdict {
            self.outcome.timeouts_told += u64::from(repetition.cause == Cause::Timeout);
            self.outcome.fast_retransmits_told +=
                u64::from(repetition.cause == Cause::FastRetransmit && repetition.begins);
        }
        self.outcome.data_segments += 1;
        let is_old = self.highest.is_some_and(|highest| segment.sequence.is_before(highest));
        if !is_old {
            self.highest = Some(segment.end());
            if verdict != SegmentKind::New {
                self.outcome.mistaken.push((at, verdict));
            }
            return;
        }
        let truth = if has_probed {
            Cause::TailLossProbe
        } else {
            match self.sender.recovery_state() {
                RecoveryState::Loss => Cause::AfterTimeout,
                RecoveryState::Recovery => Cause::FastRetransmit,
                _ => Cause::Unknown,
            }
        };
        self.outcome.repetitions.push(Repetition { truth, verdict });
    }

    fn receiver_turn(&mut self, now: Instant) {
        while self.receiver.poll_event().is_some() {}
        while let Some(segment) = self.receiver.poll_segment(now) {
            self.outcome.far.stream.on_acknowledgment(now, &segment);
            self.send(now, segment, false);
        }
    }

    fn send(&mut self, now: Instant, segment: Segment, to_receiver: bool) {
        self.sent += 1;
        // As hosts number the packets of a connection (IPv4).
        let number = u16::try_from(self.sent % 65_536).expect("it is below");
        let (forward, back) = self.setting.lost_per_thousand;
        let lost = self.chance.happens(if to_receiver { forward } else { back });
        let mut at = now + self.setting.one_way;
        if to_receiver {
            let bits = u64::from(segment.header_bytes() + 20 + segment.payload_bytes) * 8;
            let takes = Span::from_nanos(bits * 1_000_000_000 / self.setting.bits_per_second);
            let waits = self.link_free_at.saturating_since(now);
            if waits.as_nanos() / takes.as_nanos().max(1) > self.setting.queue_packets as u64 {
                return;
            }
            self.link_free_at = now + waits + takes;
            at = at + waits + takes;
            let (late, by) = self.setting.late;
            if self.chance.happens(late) {
                at += Span::from_nanos(self.chance.next() % by.as_nanos());
            }
        }
        if !lost {
            self.arrivals.push(Reverse((at, self.sent, to_receiver, Parcel(segment, now, number))));
        }
    }
}
