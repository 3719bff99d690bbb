//! Congestion control: growth of the window on acknowledgments, and its reduction on losses; Reno.
//!
//! The interface is that of Linux `tcp_congestion_ops`. An algorithm computes a new slow-start threshold at
//! a loss (`ssthresh`), handles acknowledgments that may let the window grow (`cong_avoid`), and a few
//! other events (`on_idle_end`, `on_timeout`). Loss recovery decides *when* that happens, not the
//! algorithm.
//!
//! **Reno**: slow start, additive increase, halving. Source: RFC 5681 §3.1, equations 2 to 4. Parameters:
//! none. Cost per ACK: a few additions.

pub(crate) mod bbr;
mod bic;
pub(crate) mod careful_resume;
pub(crate) mod control;
mod cubic;
mod hystart;
pub(crate) mod plugged;
mod prr;

pub(crate) use bic::Bic;
pub(crate) use cubic::Cubic;
pub(crate) use plugged::Plugged;
pub(crate) use prr::Reduction;

use crate::config::{AckCounting, Config, CongestionAlgorithm, ReductionBase};
use cubic::Rules;
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;
use plugged::Hooks;

/// "Arbitrarily high" (RFC 5681 §3.1), as Linux writes it.
pub(crate) const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The segment size for which initial windows are stated.
const ORDINARY_SEGMENT_BYTES: u32 = 1460;

/// The congestion window and its slow-start threshold, in segments.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// Segments that may be in flight (cwnd).
    segments: u32,
    /// Slow start below, congestion avoidance from here on (ssthresh).
    slow_start_threshold: u32,
    /// The window to begin with, and again after idleness.
    initial: u32,
    /// Acknowledged segments that are not yet growth (`snd_cwnd_cnt`).
    credit: u32,
    counting: AckCounting,
}

impl Window {
    getters! {
        segments: u32,
        initial: u32,
        /// The slow-start threshold in segments (ssthresh).
        threshold: u32 = slow_start_threshold,
    }

    pub(crate) fn new(config: &Config) -> Self {
        Self {
            segments: config.initial_window,
            initial: config.initial_window,
            slow_start_threshold: config.initial_ssthresh.unwrap_or(INFINITE_SSTHRESH),
            credit: 0,
            counting: config.ack_counting,
        }
    }

    pub(crate) fn set_segments(&mut self, segments: u32) {
        self.segments = segments;
    }

    pub(crate) fn set_threshold(&mut self, threshold: u32) {
        self.slow_start_threshold = threshold;
    }

    /// Limits the initial window for a segment size (RFC 5681 §3.1).
    pub(crate) fn bound_initial(&mut self, config: &Config, segment_bytes: u32) {
        if config.initial_window_in_bytes {
            let segments = config.initial_window * ORDINARY_SEGMENT_BYTES / segment_bytes;
            self.initial = config.initial_window.min(segments.max(2));
            self.segments = self.segments.min(self.initial);
        }
    }

    /// Follows a changed rule of counting.
    pub(crate) fn recount(&mut self, config: &Config) {
        self.counting = config.ack_counting;
    }

    pub(crate) fn is_in_slow_start(&self) -> bool {
        self.segments < self.slow_start_threshold
    }

    /// Whether no loss has set the threshold yet.
    pub(crate) fn is_in_initial_slow_start(&self) -> bool {
        self.slow_start_threshold >= INFINITE_SSTHRESH
    }

    pub(crate) fn known_threshold(&self) -> Option<u32> {
        (!self.is_in_initial_slow_start()).then_some(self.slow_start_threshold)
    }

    pub(crate) fn drop_credit(&mut self) {
        self.credit = 0;
    }

    /// Segments that an acknowledgment counts as, for plugged algorithms.
    pub(crate) fn counted(&self, acknowledged: u32) -> u32 {
        match self.counting {
            AckCounting::PerAck => acknowledged.min(1),
            AckCounting::Segments | AckCounting::SegmentsInSlowStart => acknowledged,
        }
    }

    /// Grows by one segment per counted segment, up to the threshold; returns the segments left
    /// for congestion avoidance (RFC 5681 §3.1).
    #[inline]
    fn slow_start(&mut self, acknowledged: u32) -> u32 {
        let counted = match self.counting {
            AckCounting::PerAck => 1,
            AckCounting::Segments | AckCounting::SegmentsInSlowStart => acknowledged,
        };
        let grown = (self.segments + counted).min(self.slow_start_threshold);
        let used = grown - self.segments;
        self.segments = grown;
        match self.counting {
            AckCounting::Segments => counted - used,
            AckCounting::PerAck | AckCounting::SegmentsInSlowStart => 0,
        }
    }

    /// Grows by one segment per `per_segment` acknowledged ones (Linux `tcp_cong_avoid_ai`).
    #[inline]
    fn additive_increase(&mut self, per_segment: u32, acknowledged: u32) {
        // Credit from a larger divisor is worth at most one segment.
        if self.credit >= per_segment {
            self.credit = 0;
            self.segments += 1;
        }
        self.credit += match self.counting {
            AckCounting::Segments => acknowledged,
            AckCounting::PerAck | AckCounting::SegmentsInSlowStart => 1,
        };
        if self.credit >= per_segment {
            let steps = self.credit / per_segment;
            self.credit -= steps * per_segment;
            self.segments += steps;
        }
    }
}

/// Sample of an acknowledgment, before the window changes (Linux `struct ack_sample`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckSample {
    /// Segments that this ACK took off the queue.
    acknowledged: u32,
    /// Round-trip sample of this ACK, if it gave one.
    rtt: Option<Span>,
    /// When it came.
    now: Instant,
    /// Oldest unacknowledged number, this ACK included.
    oldest_unacked: SequenceNumber,
    /// Next number to send.
    next: SequenceNumber,
    /// The recovery state is Open.
    is_open: bool,
    /// Segments leave at a rate.
    is_paced: bool,
}

/// The algorithm of a connection.
#[derive(Debug)]
pub(crate) enum Congestion {
    Reno(Reno),
    Bic(Bic),
    Cubic(Cubic),
    Plugged(Box<Plugged>),
}

impl Congestion {
    pub(crate) fn new(config: &Config) -> Self {
        match &config.congestion {
            CongestionAlgorithm::Reno => Self::Reno(Reno),
            CongestionAlgorithm::Bic => Self::Bic(Bic::new()),
            CongestionAlgorithm::CubicLinux => {
                Self::Cubic(Cubic::new(Rules::Linux, config.growth.hystart_in_use()))
            }
            CongestionAlgorithm::Cubic9438 => {
                Self::Cubic(Cubic::new(Rules::Rfc9438, config.growth.hystart_in_use()))
            }
            CongestionAlgorithm::Plugged(algorithm) => {
                Self::Plugged(Box::new(Plugged::new(algorithm)))
            }
        }
    }

    /// Whether it lives by marks of congestion (Linux `tcp_ca_needs_ecn`).
    pub(crate) fn needs_marks(&self) -> bool {
        matches!(self, Self::Plugged(plugged) if plugged.has_hook(Hooks::NEEDS_ECN))
    }

    /// The slow-start threshold after a loss, in segments; `flight` is the number outstanding.
    pub(crate) fn ssthresh(&mut self, window: &Window, base: ReductionBase, flight: u32) -> u32 {
        let reduced = match base {
            ReductionBase::Flight => flight.min(window.segments),
            ReductionBase::Window => window.segments,
        };
        match self {
            Self::Reno(_) => Reno::ssthresh(reduced),
            Self::Bic(bic) => bic.ssthresh(reduced),
            Self::Cubic(cubic) => cubic.ssthresh(window.segments, reduced),
            // A plugged algorithm gets all fields later.
            Self::Plugged(_) => reduced,
        }
    }

    /// Lets the window grow, if it was the limit and there is no recovery.
    #[inline]
    pub(crate) fn cong_avoid(&mut self, window: &mut Window, mut acknowledged: u32, now: Instant) {
        if window.is_in_slow_start() {
            acknowledged = window.slow_start(acknowledged);
            if acknowledged == 0 {
                return;
            }
        }
        match self {
            Self::Reno(_) => Reno::avoid_congestion(window, acknowledged),
            Self::Bic(bic) => bic.avoid_congestion(window, acknowledged, now),
            Self::Cubic(cubic) => cubic.avoid_congestion(window, acknowledged, now),
            Self::Plugged(_) => {}
        }
    }

    /// The connection is open.
    pub(crate) fn begin(&mut self, now: Instant, next: SequenceNumber) {
        if let Self::Cubic(cubic) = self {
            cubic.begin(now, next);
        }
    }

    /// Whether the algorithm lives by samples of the delivery rate.
    pub(crate) fn wants_samples(&self) -> bool {
        matches!(self, Self::Plugged(plugged) if plugged.has_hook(Hooks::CONG_CONTROL.and(Hooks::SEGMENTS)))
    }

    /// Whether the algorithm uses samples besides progress.
    pub(crate) fn takes_samples(&self) -> bool {
        matches!(self, Self::Bic(_) | Self::Cubic(_))
    }

    /// Handles the sample of an ACK, even if the window may not grow (Linux `pkts_acked`).
    #[inline]
    pub(crate) fn on_sample(&mut self, sample: &AckSample, window: &mut Window) {
        match self {
            Self::Reno(_) | Self::Plugged(_) => {}
            Self::Bic(bic) => bic.on_sample(sample),
            Self::Cubic(cubic) => cubic.on_sample(sample, window),
        }
    }

    /// Handles a time-out (Linux `set_state` with `TCP_CA_Loss`).
    pub(crate) fn on_timeout(&mut self, now: Instant, next: SequenceNumber) {
        match self {
            Self::Reno(_) | Self::Plugged(_) => {}
            Self::Bic(bic) => bic.on_timeout(),
            Self::Cubic(cubic) => cubic.on_timeout(now, next),
        }
    }

    /// Handles the end of an idle time since `idle_since`.
    pub(crate) fn on_idle_end(&mut self, idle_since: Instant, now: Instant) {
        if let Self::Cubic(cubic) = self {
            cubic.on_idle_end(idle_since, now);
        }
    }
}

/// A fraction of a window, rounded down.
fn scaled(segments: u32, numerator: u64, denominator: u64) -> u32 {
    u32::try_from(u64::from(segments) * numerator / denominator).unwrap_or(u32::MAX)
}

/// Standard TCP congestion control, which has no state beyond the window.
#[derive(Debug)]
pub(crate) struct Reno;

impl Reno {
    /// Half of `reduced`, at least two segments (RFC 5681 equation 4).
    pub(crate) fn ssthresh(reduced: u32) -> u32 {
        (reduced / 2).max(2)
    }

    pub(crate) fn avoid_congestion(window: &mut Window, acknowledged: u32) {
        window.additive_increase(window.segments, acknowledged);
    }
}

/// Sample of an acknowledgment.
#[derive(Debug, Clone, Copy)]
struct Observation {
    now: u64,
    oldest_unacked: SequenceNumber,
    next: SequenceNumber,
    delay: u64,
    min: u64,
    window: u32,
    /// Segments leave at a rate, so that they arrive over up to a whole round trip.
    is_paced: bool,
}
