//! Applications that write on their own account: greedy, thin, at a constant rate, in bursts, at recorded times, or what
//! another connection brings.

use crate::sampler::Sampler;
use fairwind_units::{BitRate, ByteCount, Instant, Span};
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bytes of one write.
const WRITE_BYTES: u64 = 64 << 10;
/// A greedy application writes again when fewer bytes than this are unsent.
const LOW_WATER_BYTES: u64 = 32 << 10;

/// Writes 64 KiB whenever fewer than 32 KiB are unsent, until its volume is written. This is what a
/// sender with a low-water mark for unsent data does (`TCP_NOTSENT_LOWAT`): the network, not the
/// send buffer, is where its data waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Greedy {
    /// Bytes left to write; `None` for endless.
    remaining: Option<u64>,
    /// Fewer unsent bytes than these ask for more; none before the connection is open.
    low_water_bytes: u64,
}

impl Greedy {
    /// An application with `volume` bytes to send, or endlessly many.
    pub fn new(volume: Option<u64>) -> Self {
        Self { remaining: volume, low_water_bytes: 0 }
    }

    pub(crate) fn begin(&mut self) {
        self.low_water_bytes = LOW_WATER_BYTES;
    }

    /// Whether everything is written.
    pub fn is_finished(&self) -> bool {
        self.remaining == Some(0)
    }

    /// Bytes to write now, given the unsent bytes.
    #[inline]
    pub(crate) fn poll_write(&mut self, unsent: u64) -> Option<u64> {
        if unsent >= self.low_water_bytes {
            return None;
        }
        match &mut self.remaining {
            None => Some(WRITE_BYTES),
            Some(0) => None,
            Some(remaining) => {
                let bytes = WRITE_BYTES.min(*remaining);
                *remaining -= bytes;
                Some(bytes)
            }
        }
    }
}

/// Writes a small message at intervals that do not depend on the network: games, telephony,
/// remote terminals.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Thin {
    payload: Sampler,
    interval: Sampler,
    pub(crate) random: Pcg64Mcg,
    next: Instant,
}

impl Thin {
    /// An application that draws payloads in bytes and intervals in nanoseconds.
    pub fn new(payload: Sampler, interval: Sampler, seed: u64) -> Self {
        Self { payload, interval, random: Pcg64Mcg::seed_from_u64(seed), next: Instant::MAX }
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        self.next = now;
    }

    pub(crate) fn end(&mut self) {
        self.next = Instant::MAX;
    }

    pub(crate) fn next_write(&self) -> Instant {
        self.next
    }

    /// The message that is due at `now`; the next is due an interval after this one was.
    pub(crate) fn poll_write(&mut self, now: Instant) -> Option<u64> {
        if self.next > now {
            return None;
        }
        let bytes = self.payload.draw(&mut self.random);
        self.next += Span::from_nanos(self.interval.draw(&mut self.random));
        Some(bytes)
    }
}

/// Messages of one size at a rate that is exact in the long run: what is left of a nanosecond after one
/// interval counts in the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    message_bytes: u64,
    /// Bytes that count towards the rate.
    counted: ByteCount,
    rate: BitRate,
    /// What is left of a nanosecond, in units of `1 / rate` nanoseconds.
    remainder: u64,
}

impl Pace {
    /// Messages of `message_bytes`, each of which counts as `counted` bytes (headers included, for
    /// example) towards `rate`; a rate of zero is taken as one bit per second.
    pub fn new(message_bytes: u64, counted: ByteCount, rate: BitRate) -> Self {
        let rate = BitRate::from_bits_per_second(rate.as_bits_per_second().max(1));
        Self { message_bytes: message_bytes.max(1), counted, rate, remainder: 0 }
    }

    pub(crate) const fn message_bytes(&self) -> u64 {
        self.message_bytes
    }

    /// Time from a message to the next one, at least a nanosecond.
    pub(crate) fn next_interval(&mut self) -> Span {
        let (nanos, remainder) = self.rate.serialisation(self.counted, self.remainder);
        self.remainder = remainder;
        Span::from_nanos(nanos.max(1))
    }
}

/// Writes messages at a constant rate, without end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Steady {
    pace: Pace,
    next: Instant,
}

impl Steady {
    /// An application that keeps this pace.
    pub fn new(pace: Pace) -> Self {
        Self { pace, next: Instant::MAX }
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        self.next = now;
    }

    pub(crate) fn end(&mut self) {
        self.next = Instant::MAX;
    }

    pub(crate) fn next_write(&self) -> Instant {
        self.next
    }

    /// The message that is due at `now`; the next is due an interval after this one was.
    pub(crate) fn poll_write(&mut self, now: Instant) -> Option<u64> {
        if self.next > now {
            return None;
        }
        self.next += self.pace.next_interval();
        Some(self.pace.message_bytes())
    }
}

/// How long a burst is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum BurstLength {
    /// Nanoseconds.
    Time(Sampler),
    /// Bytes.
    Volume(Sampler),
}

/// Writes for a drawn time, or a drawn number of bytes, then keeps silent for a drawn time, and so on.
/// Within a burst it is greedy, or writes messages at a constant rate.
///
/// Silence begins when a burst's time is over or its last byte is written; what the network has not
/// carried by then goes on its way in the silence. With a pace, a burst of a volume takes the time that
/// its rate gives it, however late the application is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OnOff {
    length: BurstLength,
    /// Nanoseconds.
    silence: Sampler,
    /// `None`: greedy.
    pace: Option<Pace>,
    pub(crate) random: Pcg64Mcg,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Phase {
    /// Silent, until then.
    Off(Instant),
    On {
        /// When its time is over; [`Instant::MAX`] for a burst of a volume.
        until: Instant,
        /// Bytes left to write; [`u64::MAX`] for a burst of a time.
        left: u64,
        /// When the next message is due; the beginning of a greedy burst.
        next: Instant,
    },
}

impl OnOff {
    /// Bursts of this length with silence, in nanoseconds, between them; greedy without a pace.
    pub fn new(length: BurstLength, silence: Sampler, pace: Option<Pace>, seed: u64) -> Self {
        let random = Pcg64Mcg::seed_from_u64(seed);
        Self { length, silence, pace, random, phase: Phase::Off(Instant::MAX) }
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        self.phase = Phase::Off(now);
    }

    pub(crate) fn end(&mut self) {
        self.phase = Phase::Off(Instant::MAX);
    }

    /// Whether it is greedy while a burst lasts.
    pub(crate) fn is_greedy(&self) -> bool {
        self.pace.is_none()
    }

    /// Whether it writes whenever there is room.
    pub(crate) fn is_filling(&self) -> bool {
        self.is_greedy() && matches!(self.phase, Phase::On { .. })
    }

    pub(crate) fn next_write(&self) -> Instant {
        match self.phase {
            Phase::On { until, next, .. } if self.pace.is_some() => next.min(until),
            Phase::Off(until) | Phase::On { until, .. } => until,
        }
    }

    pub(crate) fn poll_write(&mut self, now: Instant, unsent: u64) -> Option<u64> {
        loop {
            match self.phase {
                Phase::Off(until) if until > now => return None,
                Phase::Off(until) => self.begin_burst(until),
                Phase::On { until, left, next } => {
                    let due = if self.is_greedy() { now } else { next };
                    if left == 0 {
                        self.begin_silence(due);
                    } else if until <= due.min(now) {
                        self.begin_silence(until);
                    } else if due > now || self.is_greedy() && unsent >= LOW_WATER_BYTES {
                        return None;
                    } else {
                        return Some(self.write(left));
                    }
                }
            }
        }
    }

    fn begin_burst(&mut self, at: Instant) {
        let (until, left) = match &self.length {
            BurstLength::Time(time) => {
                (at + Span::from_nanos(time.draw(&mut self.random)), u64::MAX)
            }
            BurstLength::Volume(volume) => (Instant::MAX, volume.draw(&mut self.random)),
        };
        self.phase = Phase::On { until, left, next: at };
    }

    fn begin_silence(&mut self, at: Instant) {
        // A nanosecond at least, so that time passes.
        self.phase = Phase::Off(at + Span::from_nanos(self.silence.draw(&mut self.random)));
    }

    /// Writes a message, or as much as a greedy application does at once.
    fn write(&mut self, left: u64) -> u64 {
        let (most, interval) = match &mut self.pace {
            Some(pace) => (pace.message_bytes(), pace.next_interval()),
            None => (WRITE_BYTES, Span::ZERO),
        };
        let bytes = most.min(left);
        if let Phase::On { left, next, .. } = &mut self.phase {
            *left -= bytes;
            *next += interval;
        }
        bytes
    }
}

/// One write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// When, since the application began.
    pub after: Span,
    /// How many bytes, one or more.
    pub bytes: u64,
}

/// Writes what another application wrote, at the same distances in time, and is then finished.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Replay {
    /// In the order of their times.
    writes: Arc<[Write]>,
    written: usize,
    /// When it began; [`Instant::MAX`] before, and after its end.
    begun: Instant,
}

impl Replay {
    /// An application that makes these writes, which are in the order of their times.
    pub fn new(writes: Arc<[Write]>) -> Self {
        Self { writes, written: 0, begun: Instant::MAX }
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        self.begun = now;
    }

    pub(crate) fn end(&mut self) {
        self.written = self.writes.len();
    }

    pub(crate) fn next_write(&self) -> Instant {
        self.writes.get(self.written).map_or(Instant::MAX, |write| self.begun + write.after)
    }

    pub(crate) fn poll_write(&mut self, now: Instant) -> Option<u64> {
        if self.next_write() > now {
            return None;
        }
        let bytes = self.writes.get(self.written)?.bytes;
        self.written += 1;
        Some(bytes)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.written == self.writes.len()
    }
}

/// Writes data on a connection that was read on another one, at most 64 KiB at once and while fewer than 32 KiB are
/// unsent; whatever else it has read waits in its buffer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Relay {
    /// Bytes that may wait.
    buffer_bytes: u64,
    /// Bytes that were read and not written.
    held_bytes: u64,
    /// Fewer unsent bytes than these let it write; none before its own connection is open.
    low_water_bytes: u64,
    /// Nothing more will be read for it.
    has_ended: bool,
}

impl Relay {
    /// A relay that holds at most `buffer_bytes`.
    pub fn new(buffer_bytes: u64) -> Self {
        Self { buffer_bytes, held_bytes: 0, low_water_bytes: 0, has_ended: false }
    }

    /// How many bytes may be read for it now.
    pub fn room(&self) -> u64 {
        self.buffer_bytes.saturating_sub(self.held_bytes)
    }

    /// Bytes were read on the connection that it relays.
    pub fn on_relayed(&mut self, bytes: u64) {
        self.held_bytes += bytes;
    }

    /// Its own connection is open: writing begins.
    pub(crate) fn begin(&mut self) {
        self.low_water_bytes = LOW_WATER_BYTES;
    }

    /// The connection that it relays has ended: buffered data is still written.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    /// Whether something waits for room in the socket.
    pub(crate) fn is_filling(&self) -> bool {
        self.held_bytes > 0
    }

    /// Whether all that was and will be read is written.
    pub(crate) fn is_finished(&self) -> bool {
        self.has_ended && self.held_bytes == 0
    }

    /// Bytes to write now, given the unsent bytes.
    pub(crate) fn poll_write(&mut self, unsent: u64) -> Option<u64> {
        if self.held_bytes == 0 || unsent >= self.low_water_bytes {
            return None;
        }
        let bytes = WRITE_BYTES.min(self.held_bytes);
        self.held_bytes -= bytes;
        Some(bytes)
    }
}
