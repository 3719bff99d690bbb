//! A sender and a receiver with a bottleneck between them that loses, delays and marks, in virtual time.

use fairwind_tcp::{Config, Connection, Event, Ports, RecoveryState};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Ecn, Segment, SequenceNumber};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Impairments of the path, and behaviour of the application.
#[derive(Debug, Clone)]
pub(crate) struct PathConditions {
    pub(crate) name: &'static str,
    /// Bytes written at once, and how often; `None`: there is always something to send.
    pub(crate) writes: Option<(u64, Span)>,
    /// Bytes per millisecond of the bottleneck.
    pub(crate) bytes_per_milli: u64,
    pub(crate) one_way: Span,
    /// Packets that wait; those after them are dropped.
    pub(crate) queue: u64,
    /// Packets that wait before data is marked.
    pub(crate) marks_from: Option<u64>,
    /// Lost data segments per thousand; delayed ones per thousand, and their delay.
    pub(crate) lost: u64,
    pub(crate) late: (u64, Span),
    /// Lost acknowledgments per thousand.
    pub(crate) acks_lost: u64,
    /// Every so often nothing arrives for so long.
    pub(crate) outage: Option<(Span, Span)>,
    /// Every so often everything is so much later.
    pub(crate) spike: Option<(Span, Span)>,
    pub(crate) change: fn(&mut Config),
}

/// State after an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) at: Instant,
    pub(crate) window: u32,
    pub(crate) threshold: Option<u32>,
    pub(crate) state: RecoveryState,
}

/// All of a run that can be compared.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) lines: Vec<Line>,
    pub(crate) events: Vec<Event>,
    pub(crate) delivered: u64,
}

impl Record {
    pub(crate) fn count(&self, event: Event) -> usize {
        self.events.iter().filter(|happened| **happened == event).count()
    }

    /// How often the window came back to what it was before a loss: it grew by half and more at once.
    pub(crate) fn undone(&self) -> usize {
        let grew = |pair: &&[Line]| pair[1].window > pair[0].window + pair[0].window / 4 + 2;
        self.lines.windows(2).filter(grew).count()
    }

    pub(crate) fn reduced_for_marks(&self) -> bool {
        self.lines.iter().any(|line| line.state == RecoveryState::Cwr)
    }
}

struct Path<'a> {
    conditions: &'a PathConditions,
    ends: [Connection; 2],
    now: Instant,
    under_way: BTreeMap<(Instant, u64), (usize, Segment)>,
    posted: u64,
    free_at: Instant,
    chance: u64,
    record: Record,
}

/// Runs for so long; `chance` is the seed.
pub(crate) fn run(
    conditions: &PathConditions,
    config: Config,
    chance: u64,
    until: Instant,
) -> Record {
    let mut config = config;
    (conditions.change)(&mut config);
    let config = Arc::new(config);
    let ports = |local, remote| Ports { local, remote };
    let mut path = Path {
        conditions,
        ends: [
            Connection::connect(config.clone(), ports(40_000, 80), SequenceNumber::new(1000)),
            Connection::listen(config, ports(80, 40_000), SequenceNumber::new(9000)),
        ],
        now: Instant::ZERO,
        under_way: BTreeMap::new(),
        posted: 0,
        free_at: Instant::ZERO,
        chance,
        record: Record::default(),
    };
    path.run(until);
    path.record.delivered = path.ends[1].received_bytes();
    path.record
}

impl Path<'_> {
    fn run(&mut self, until: Instant) {
        let mut writes_at = Instant::from_millis(500);
        loop {
            self.flush();
            let arrival = self.under_way.keys().next().map_or(Instant::MAX, |key| key.0);
            let deadline = self.ends[0].next_deadline().min(self.ends[1].next_deadline());
            let next = arrival.min(deadline).min(writes_at);
            if next > until {
                return;
            }
            self.now = self.now.max(next);
            if writes_at <= self.now {
                let (bytes, pause) =
                    self.conditions.writes.unwrap_or((u64::MAX, Span::from_millis(5)));
                self.ends[0].write(bytes);
                writes_at = self.now + pause;
            } else if arrival <= self.now {
                let (_, (to, segment)) = self.under_way.pop_first().expect("one is due");
                self.arrive(to, &segment);
            } else {
                for end in &mut self.ends {
                    if end.next_deadline() <= self.now {
                        end.on_deadline(self.now);
                    }
                }
            }
        }
    }

    fn arrive(&mut self, to: usize, segment: &Segment) {
        let now = self.now;
        self.ends[to].on_segment(now, segment);
        let readable = self.ends[to].readable_bytes();
        self.ends[to].read(now, readable);
        if to == 0 {
            let sender = &self.ends[0];
            self.record.lines.push(Line {
                at: now,
                window: sender.congestion_window(),
                threshold: sender.slow_start_threshold(),
                state: sender.recovery_state(),
            });
        }
    }

    fn flush(&mut self) {
        for from in 0..2 {
            while let Some(segment) = self.ends[from].poll_segment(self.now) {
                self.send(from, segment);
            }
            while let Some(event) = self.ends[from].poll_event() {
                if from == 0 {
                    self.record.events.push(event);
                }
            }
        }
    }

    /// A number below a thousand (splitmix64).
    fn draw(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.chance;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % 1000
    }

    fn is_within(&self, cycle: Option<(Span, Span)>) -> bool {
        cycle.is_some_and(|(every, length)| {
            self.now > Instant::from_secs(2)
                && self.now.as_nanos() % every.as_nanos() < length.as_nanos()
        })
    }

    fn send(&mut self, from: usize, mut segment: Segment) {
        let conditions = self.conditions;
        let draw = self.draw();
        if self.is_within(conditions.outage) {
            return;
        }
        let mut arrives = self.now + conditions.one_way;
        let spike = conditions.spike.filter(|_| self.is_within(conditions.spike));
        if from == 1 {
            if draw < conditions.acks_lost && self.now > Instant::from_secs(1) {
                return;
            }
        } else if segment.payload_bytes > 0 {
            if draw < conditions.lost {
                return;
            }
            let Some(through) = self.pass_bottleneck(&mut segment) else { return };
            arrives = through + conditions.one_way;
            if draw >= 1000 - conditions.late.0 {
                arrives += conditions.late.1;
            }
            if let Some((_, length)) = spike {
                arrives += length;
            }
        }
        self.under_way.insert((arrives, self.posted), (1 - from, segment));
        self.posted += 1;
    }

    fn pass_bottleneck(&mut self, segment: &mut Segment) -> Option<Instant> {
        let bytes = u64::from(segment.payload_bytes + segment.header_bytes() + 20);
        let serialisation = Span::from_nanos(bytes * 1_000_000 / self.conditions.bytes_per_milli);
        let waiting =
            self.free_at.saturating_since(self.now).as_nanos() / serialisation.as_nanos().max(1);
        if waiting >= self.conditions.queue {
            return None;
        }
        if self.conditions.marks_from.is_some_and(|from| waiting >= from)
            && segment.traffic_class.ecn() == Ecn::Ect0
        {
            segment.traffic_class = segment.traffic_class.with_ecn(Ecn::Ce);
        }
        self.free_at = self.free_at.max(self.now) + serialisation;
        Some(self.free_at)
    }
}
