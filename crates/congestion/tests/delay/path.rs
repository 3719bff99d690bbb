//! Greedy connections of our endpoint over one bottleneck, in virtual time.

use fairwind_congestion::built_in;
use fairwind_tcp::{Config, CongestionAlgorithm, Connection, Ports, Profile};
use fairwind_units::{BitRate, ByteCount, Instant, Span};
use fairwind_wire::{Ecn, Segment, SequenceNumber};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Headers without options, and those of timestamps.
const HEADER_BYTES: u32 = 20;

/// The endpoint with the algorithm of this name, and room for any window.
pub(crate) fn control(name: &str) -> Config {
    let mut config = Profile::Linux6_18.config();
    config.send_buffer = 1 << 26;
    config.set_receive_window(1 << 25);
    config.congestion = match name {
        "reno" => CongestionAlgorithm::Reno,
        name => CongestionAlgorithm::Plugged(built_in(name).expect("it is there")),
    };
    config
}

pub(crate) struct Flow {
    pub(crate) sender: Connection,
    pub(crate) receiver: Connection,
    /// When it begins, while it has not.
    starts: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
enum EventKind {
    /// The packet at the head of the queue is through.
    Through,
    AtReceiver(usize, Segment),
    AtSender(usize, Segment),
}

/// What the queue was like since it was asked last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// Packets times seconds.
    area: f64,
    since: Instant,
    pub(crate) most: usize,
    pub(crate) passed: u64,
    pub(crate) marked: u64,
    pub(crate) dropped: u64,
}

pub(crate) struct Path {
    pub(crate) now: Instant,
    pub(crate) flows: Vec<Flow>,
    /// Nothing more is written from here on.
    pub(crate) writes_until: Instant,
    rate: BitRate,
    one_way: Span,
    limit: usize,
    marks_from: Option<usize>,
    queue: VecDeque<(usize, Segment)>,
    events: BTreeMap<(Instant, u64), EventKind>,
    inserted: u64,
    seen: Seen,
    looked_at: Instant,
}

impl Path {
    /// A line of `megabits` Mbit/s with a queue of `limit` packets, and round trips of `rtt_millis` without it.
    pub(crate) fn new(megabits: u64, rtt_millis: u64, limit: usize) -> Self {
        Self {
            now: Instant::ZERO,
            flows: Vec::new(),
            writes_until: Instant::MAX,
            rate: BitRate::from_bits_per_second(megabits * 1_000_000),
            one_way: Span::from_micros(rtt_millis * 500),
            limit,
            marks_from: None,
            queue: VecDeque::new(),
            events: BTreeMap::new(),
            inserted: 0,
            seen: Seen::default(),
            looked_at: Instant::ZERO,
        }
    }

    /// Capable packets that find so many packets or more are marked.
    pub(crate) fn marking_from(mut self, packets: usize) -> Self {
        self.marks_from = Some(packets);
        self
    }

    /// A connection that begins to send all it can `starts_millis` after the beginning.
    pub(crate) fn with(mut self, sender: Config, receiver: Config, starts_millis: u64) -> Self {
        let number = u16::try_from(self.flows.len()).expect("few flows");
        let local = Ports { local: 40_000 + number, remote: 80 };
        let remote = Ports { local: 80, remote: 40_000 + number };
        self.flows.push(Flow {
            sender: Connection::connect(Arc::new(sender), local, SequenceNumber::new(1000)),
            receiver: Connection::listen(Arc::new(receiver), remote, SequenceNumber::new(5000)),
            starts: Some(Instant::from_millis(starts_millis)),
        });
        self
    }

    /// The same with one algorithm at both ends.
    pub(crate) fn with_control(self, name: &str, starts_millis: u64) -> Self {
        self.with(control(name), control(name), starts_millis)
    }

    /// Does everything that is due up to so many seconds.
    pub(crate) fn run_to(&mut self, seconds: u64) {
        self.run_until(Instant::from_secs(seconds));
    }

    fn run_until(&mut self, until: Instant) {
        loop {
            let deadline = self.flows.iter().map(Flow::next).min().unwrap_or(Instant::MAX);
            let event = self.events.keys().next().map_or(Instant::MAX, |key| key.0);
            let next = deadline.min(event);
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if event <= deadline {
                let (_, event) = self.events.pop_first().expect("it is there");
                self.handle(event);
            } else {
                (0..self.flows.len()).for_each(|number| self.serve(number));
            }
        }
        self.now = until;
        self.look();
    }

    fn handle(&mut self, event: EventKind) {
        let now = self.now;
        match event {
            EventKind::Through => self.pass(),
            EventKind::AtReceiver(number, segment) => {
                let receiver = &mut self.flows[number].receiver;
                receiver.on_segment(now, &segment);
                let readable = receiver.readable_bytes();
                receiver.read(now, readable);
                self.serve(number);
            }
            EventKind::AtSender(number, segment) => {
                self.flows[number].sender.on_segment(now, &segment);
                self.serve(number);
            }
        }
    }

    /// Deadlines that are due, and all that the ends of a flow have to send.
    fn serve(&mut self, number: usize) {
        let now = self.now;
        let flow = &mut self.flows[number];
        if flow.starts.is_some_and(|starts| starts > now) {
            return;
        }
        flow.starts = None;
        for end in [&mut flow.sender, &mut flow.receiver] {
            if end.next_deadline() <= now {
                end.on_deadline(now);
            }
            while end.poll_event().is_some() {}
        }
        if now < self.writes_until {
            flow.sender.write(u64::MAX);
        }
        let mut data = Vec::new();
        while let Some(segment) = flow.sender.poll_segment(now) {
            data.push(segment);
        }
        let mut answers = Vec::new();
        while let Some(segment) = flow.receiver.poll_segment(now) {
            answers.push(segment);
        }
        for segment in data {
            self.accept(number, segment);
        }
        for segment in answers {
            self.post(now + self.one_way, EventKind::AtSender(number, segment));
        }
    }

    fn post(&mut self, due: Instant, event: EventKind) {
        self.events.insert((due, self.inserted), event);
        self.inserted += 1;
    }

    fn look(&mut self) {
        let span = self.now.saturating_since(self.looked_at);
        let waiting = u32::try_from(self.queue.len()).expect("a short queue");
        self.seen.area += span.as_secs_f64() * f64::from(waiting);
        self.looked_at = self.now;
    }

    fn accept(&mut self, number: usize, mut segment: Segment) {
        self.look();
        let waiting = self.queue.len();
        if waiting >= self.limit {
            self.seen.dropped += 1;
            return;
        }
        let ecn = segment.traffic_class.ecn();
        if ecn.is_capable() && self.marks_from.is_some_and(|from| waiting >= from) {
            segment.traffic_class = segment.traffic_class.with_ecn(Ecn::Ce);
            self.seen.marked += 1;
        }
        self.queue.push_back((number, segment));
        self.seen.most = self.seen.most.max(self.queue.len());
        if waiting == 0 {
            self.begin();
        }
    }

    /// The packet at the head goes onto the line.
    fn begin(&mut self) {
        if let Some((_, segment)) = self.queue.front() {
            let bytes = HEADER_BYTES + segment.header_bytes() + segment.payload_bytes;
            let time = self.rate.serialisation_time(ByteCount::new(bytes.into()));
            self.post(self.now + time, EventKind::Through);
        }
    }

    fn pass(&mut self) {
        self.look();
        if let Some((number, segment)) = self.queue.pop_front() {
            self.seen.passed += 1;
            self.post(self.now + self.one_way, EventKind::AtReceiver(number, segment));
            self.begin();
        }
    }

    /// What the queue was like since it was asked last.
    pub(crate) fn take_seen(&mut self) -> Seen {
        self.look();
        let fresh = Seen { since: self.now, ..Seen::default() };
        std::mem::replace(&mut self.seen, fresh)
    }

    /// Payload bytes that each flow has delivered.
    pub(crate) fn delivered(&self) -> Vec<u64> {
        self.flows.iter().map(|flow| flow.receiver.received_bytes()).collect()
    }

    /// Runs for so many seconds and gives the rate of each flow's payload in segments per second, and what the queue was
    /// like.
    pub(crate) fn measure(&mut self, seconds: u64) -> (Vec<f64>, Seen) {
        let (from, span) = (self.now, Span::from_secs(seconds));
        self.take_seen();
        let before = self.delivered();
        self.run_until(from + span);
        let segment = f64::from(self.flows[0].sender.segment_bytes());
        let rates = self.delivered().into_iter().zip(before).map(|(after, before)| {
            let bytes = u32::try_from(after - before).expect("less than 4 GB");
            f64::from(bytes) / segment / span.as_secs_f64()
        });
        let rates = rates.collect();
        (rates, self.take_seen())
    }

    /// Mean number of packets in the queue between the beginning of what was seen and now.
    pub(crate) fn mean_queue(&self, seen: &Seen) -> f64 {
        seen.area / self.now.saturating_since(seen.since).as_secs_f64()
    }
}

impl Flow {
    fn next(&self) -> Instant {
        self.starts
            .unwrap_or_else(|| self.sender.next_deadline().min(self.receiver.next_deadline()))
    }
}
