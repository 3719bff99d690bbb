//! Bursts, and silence between them.

use crate::greedy::{LOW_WATER_BYTES, WRITE_BYTES};
use crate::pace::Pace;
use crate::sampler::Sampler;
use fairwind_units::{Instant, Span};
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

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
    random: Pcg64Mcg,
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

    pub(crate) fn seed(&mut self, seed: u64) {
        self.random = Pcg64Mcg::seed_from_u64(seed);
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
