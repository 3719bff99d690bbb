//! Two endpoints, and a path that does to segments whatever it likes, until it comes to reason.

use crate::endpoint::any_config;
use arbitrary::{Arbitrary, Result, Unstructured};
use fairwind_tcp::{Connection, Ports, State};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Ecn, Segment, SequenceNumber};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Time on the way.
const DELAY: Span = Span::from_millis(20);
/// How many events one conversation may have: more than any needs that goes on.
const MOST_EVENTS: usize = 20_000;
/// Within this, whatever was written has arrived over a path that does nothing any more: the longest
/// time-out, or the longest time between two probes, several times over.
const PATIENCE: Span = Span::from_secs(2000);

/// Lets two endpoints talk as the bytes say.
///
/// # Panics
/// Where an endpoint does, a stream is not what was written, or data never arrives though the path
/// has come to reason and both ends are there.
pub fn conversation(bytes: &[u8]) {
    let mut bytes = Unstructured::new(bytes);
    let _ = talk(&mut bytes);
}

fn talk(bytes: &mut Unstructured<'_>) -> Result<()> {
    let mut talk = Talk::new(bytes)?;
    talk.flush(bytes);
    for _ in 0..100 {
        if bytes.is_empty() {
            break;
        }
        talk.act(bytes)?;
        talk.flush(bytes);
    }
    talk.come_to_reason();
    Ok(())
}

struct Talk {
    ends: [Connection; 2],
    /// Bytes that each end has written.
    written: [u64; 2],
    now: Instant,
    /// What is on its way: when it arrives, in the order of sending, where, and what.
    under_way: BTreeMap<(Instant, u64), (usize, Segment)>,
    sent: u64,
    events: usize,
}

impl Talk {
    fn new(bytes: &mut Unstructured<'_>) -> Result<Self> {
        let first = Arc::new(any_config(bytes)?);
        let second = Arc::new(any_config(bytes)?);
        let ports = Ports { local: 40_000, remote: 80 };
        let peer = Ports { local: 80, remote: 40_000 };
        let isn = SequenceNumber::new(u32::arbitrary(bytes)?);
        Ok(Self {
            ends: [
                Connection::connect(first, ports, isn),
                Connection::listen(second, peer, SequenceNumber::new(0xffff_ff00)),
            ],
            written: [0; 2],
            now: Instant::from_secs(1),
            under_way: BTreeMap::new(),
            sent: 0,
            events: 0,
        })
    }

    fn act(&mut self, bytes: &mut Unstructured<'_>) -> Result<()> {
        let end = usize::from(bool::arbitrary(bytes)?);
        match bytes.int_in_range(0..=5_u8)? {
            0 | 1 => {
                let wanted = u64::from(u16::arbitrary(bytes)?);
                self.written[end] += self.ends[end].write(wanted);
            }
            2 => {
                let wanted = u32::from(u16::arbitrary(bytes)?);
                self.ends[end].read(self.now, wanted);
            }
            3 if bytes.int_in_range(0..=7_u8)? == 0 => self.ends[end].close(),
            _ => {
                let steps = bytes.int_in_range(1..=20_u8)?;
                for _ in 0..steps {
                    if !self.step() {
                        break;
                    }
                    self.flush(bytes);
                }
            }
        }
        Ok(())
    }

    /// Goes on to the next thing that happens; `false` where nothing will.
    fn step(&mut self) -> bool {
        let arrival = self.under_way.keys().next().map_or(Instant::MAX, |(at, _)| *at);
        let deadline = self.ends[0].next_deadline().min(self.ends[1].next_deadline());
        let next = arrival.min(deadline);
        if next == Instant::MAX {
            return false;
        }
        self.events += 1;
        self.now = self.now.max(next);
        if arrival <= deadline
            && let Some((_, (to, segment))) = self.under_way.pop_first()
        {
            self.ends[to].on_segment(self.now, &segment);
            return true;
        }
        for end in &mut self.ends {
            if end.next_deadline() <= self.now {
                end.on_deadline(self.now);
            }
        }
        true
    }

    fn flush(&mut self, bytes: &mut Unstructured<'_>) {
        for from in 0..2 {
            while let Some(segment) = self.ends[from].poll_segment(self.now) {
                self.carry(from, segment, bytes);
            }
            while self.ends[from].poll_event().is_some() {}
            let received = self.ends[1 - from].received_bytes();
            assert!(received <= self.written[from], "more arrives than was written");
        }
    }

    fn carry(&mut self, from: usize, segment: Segment, bytes: &mut Unstructured<'_>) {
        let fate = if bytes.is_empty() { 0 } else { bytes.int_in_range(0..=15_u8).unwrap_or(0) };
        match fate {
            1 | 2 => {}
            3 => {
                self.deliver(from, segment, DELAY);
                self.deliver(from, segment, DELAY * 3);
            }
            4 | 5 => self.deliver(from, segment, DELAY * u64::from(fate)),
            6 if segment.traffic_class.ecn().is_capable() => {
                let traffic_class = segment.traffic_class.with_ecn(Ecn::Ce);
                self.deliver(from, Segment { traffic_class, ..segment }, DELAY);
            }
            _ => self.deliver(from, segment, DELAY),
        }
    }

    fn deliver(&mut self, from: usize, segment: Segment, delay: Span) {
        self.sent += 1;
        self.under_way.insert((self.now + delay, self.sent), (1 - from, segment));
    }

    /// From now on nothing is lost, and both applications read: everything must arrive, unless a
    /// connection has been given up.
    fn come_to_reason(&mut self) {
        let until = self.now + PATIENCE;
        while self.now < until && self.events < MOST_EVENTS && self.step() {
            for end in &mut self.ends {
                end.read(self.now, u32::MAX);
            }
            self.flush(&mut Unstructured::new(&[]));
        }
        let gone = |end: &Connection| matches!(end.state(), State::Closed | State::Listen);
        if self.events >= MOST_EVENTS || self.ends.iter().any(gone) {
            return;
        }
        for from in 0..2 {
            let received = self.ends[1 - from].received_bytes();
            assert_eq!(received, self.written[from], "data that never arrives: {:?}", self.ends);
        }
    }
}
