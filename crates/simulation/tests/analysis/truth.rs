//! Ground truth of a conversation, from both endpoints and the path, beside the inferences of a tap.

use fairwind_analyse::stream::AckEvent;
use fairwind_tcp::{Connection, RecoveryState};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Segment, SequenceNumber};

/// Time by who kept the sender from sending, as the sender knows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    pub(crate) idle: Span,
    pub(crate) application: Span,
    pub(crate) receiver: Span,
    pub(crate) congestion: Span,
}

impl Limits {
    /// All of it.
    pub(crate) fn whole(&self) -> Span {
        self.idle + self.application + self.receiver + self.congestion
    }

    /// Parts of the whole, in the order of the fields.
    pub(crate) fn shares(&self) -> [f64; 4] {
        let whole = self.whole().as_secs_f64();
        [self.idle, self.application, self.receiver, self.congestion]
            .map(|part| part.as_secs_f64() / whole)
    }
}

/// Why the sender does not send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeLimit {
    Idle,
    Application,
    Receiver,
    Congestion,
}

impl TimeLimit {
    /// As the sender knows, which has sent all that it may and has so many bytes outstanding.
    fn of(sender: &Connection, now: Instant, outstanding: u64) -> Self {
        let is_repairing =
            matches!(sender.recovery_state(), RecoveryState::Recovery | RecoveryState::Loss);
        match (outstanding > 0, sender.unsent_bytes()) {
            (false, 0) => Self::Idle,
            (true, _) if is_repairing => Self::Congestion,
            (true, 0) => Self::Application,
            (_, unsent) => {
                let window = u64::from(sender.tcp_info(now).send_window_bytes);
                let next = unsent.min(sender.segment_bytes().into());
                if outstanding + next > window { Self::Receiver } else { Self::Congestion }
            }
        }
    }
}

/// What has come to the receiver, and the sender does not know to be there: where it begins and ends in the
/// stream, and when it was sent.
#[derive(Debug, Clone, Copy)]
struct Arrived {
    start: u64,
    end: u64,
    sent_at: Instant,
}

/// What is known.
#[derive(Debug, Clone)]
pub(crate) struct Truth {
    pub(crate) limits: Limits,
    limit: Option<(TimeLimit, Instant)>,
    arrived: Vec<Arrived>,
    acknowledged: u64,
    /// Segments that came and brought nothing: each is one too many of those that were sent for its bytes.
    pub(crate) needless: u64,
    /// Round trips that the tap reported, and the wrong ones among them.
    pub(crate) round_trips: u64,
    pub(crate) false_round_trips: Vec<(Instant, Span)>,
    /// Data segments after which the tap held other packets, or bytes, to be outstanding than the sender.
    pub(crate) other_flights: u64,
    pub(crate) flight_packets_max: u64,
    pub(crate) flight_bytes_max: u64,
    highest: u64,
    /// Data segments sent before the first acknowledgment of data came.
    pub(crate) initial_packets: u64,
    /// How often the sender has learned that the window is closed, and how long it was.
    pub(crate) closings: u64,
    pub(crate) closed: Span,
    closed_since: Option<Instant>,
}

impl Default for Truth {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            limit: None,
            arrived: Vec::new(),
            acknowledged: 0,
            needless: 0,
            round_trips: 0,
            false_round_trips: Vec::new(),
            other_flights: 0,
            flight_packets_max: 0,
            flight_bytes_max: 0,
            highest: 0,
            initial_packets: 0,
            closings: 0,
            closed: Span::ZERO,
            closed_since: None,
        }
    }
}

impl Truth {
    /// The sender has done what it could at `now`.
    pub(crate) fn rest(&mut self, sender: &Connection, now: Instant) {
        if let Some((limit, since)) = self.limit {
            let part = match limit {
                TimeLimit::Idle => &mut self.limits.idle,
                TimeLimit::Application => &mut self.limits.application,
                TimeLimit::Receiver => &mut self.limits.receiver,
                TimeLimit::Congestion => &mut self.limits.congestion,
            };
            *part += now.saturating_since(since);
        }
        let limit = if sender.state().is_synchronised() {
            TimeLimit::of(sender, now, self.highest - self.acknowledged)
        } else {
            TimeLimit::Idle
        };
        self.limit = Some((limit, now));
    }

    /// Data leaves the sender, and the tap then holds so many packets and bytes to be outstanding.
    pub(crate) fn sent(
        &mut self,
        sender: &Connection,
        now: Instant,
        segment: &Segment,
        (packets, bytes): (u64, u64),
    ) {
        let start = sender.stream_offset(segment.sequence);
        self.highest = self.highest.max(start + u64::from(segment.payload_bytes));
        let known = sender.tcp_info(now);
        let out = u64::from(known.unacked_segments.unwrap_or(0));
        let outstanding = self.highest - self.acknowledged;
        self.other_flights += u64::from(out != packets || outstanding != bytes);
        self.flight_packets_max = self.flight_packets_max.max(out);
        self.flight_bytes_max = self.flight_bytes_max.max(outstanding);
        self.initial_packets += u64::from(self.acknowledged == 0);
    }

    /// A data segment that left at `sent_at` has come.
    pub(crate) fn came(&mut self, start: u64, payload_bytes: u32, sent_at: Instant) {
        let end = start + u64::from(payload_bytes);
        let mut cursor = start.max(self.acknowledged);
        while let Some(known) =
            self.arrived.iter().find(|known| known.start <= cursor && cursor < known.end)
        {
            cursor = known.end;
        }
        self.needless += u64::from(cursor >= end);
        self.arrived.push(Arrived { start, end, sent_at });
    }

    /// An acknowledgment reaches the sender, which has not processed it yet; the tap has reported it.
    pub(crate) fn acknowledged(
        &mut self,
        sender: &Connection,
        now: Instant,
        segment: &Segment,
        facts: &AckEvent,
    ) {
        let place = |sequence: SequenceNumber| sender.stream_offset(sequence);
        let upto = place(segment.acknowledgment).min(self.highest).max(self.acknowledged);
        if let Some(rtt) = facts.rtt {
            let blocks = segment.options.sack.as_slice().iter();
            let mut parts: Vec<(u64, u64)> =
                blocks.map(|block| (place(block.left), place(block.right))).collect();
            parts.push((self.acknowledged, upto));
            let is_covered = |one: &Arrived| {
                parts.iter().any(|&(start, end)| one.start < end && start < one.end)
            };
            let has_taken = |one: &Arrived| now.saturating_since(one.sent_at) == rtt;
            self.round_trips += 1;
            if !self.arrived.iter().any(|one| is_covered(one) && has_taken(one)) {
                self.false_round_trips.push((now, rtt));
            }
        }
        self.acknowledged = upto;
        self.arrived.retain(|one| one.end > upto);
    }

    /// The sender has seen what came.
    pub(crate) fn look_at_window(&mut self, sender: &Connection, now: Instant) {
        if !sender.state().is_synchronised() {
            return;
        }
        let is_closed = sender.tcp_info(now).send_window_bytes == 0;
        match self.closed_since {
            None if is_closed => {
                self.closings += 1;
                self.closed_since = Some(now);
            }
            Some(since) if !is_closed => {
                self.closed += now.saturating_since(since);
                self.closed_since = None;
            }
            _ => {}
        }
    }

    /// It is over.
    pub(crate) fn finish(&mut self, sender: &Connection, now: Instant) {
        self.rest(sender, now);
        if let Some(since) = self.closed_since.take() {
            self.closed += now.saturating_since(since);
        }
    }
}
