//! PIE: arrivals are dropped with a probability that follows the queueing delay and its change (RFC 8033 §4, §5).
//!
//! As in Linux, a packet may be marked while the probability is at most a tenth, and the queueing delay is that of the last
//! departure unless the departure rate is estimated (§5.2).
//!
//! The controller works at fixed instants. Nothing in the queue changes between two calls, so updates that were due are
//! made up for at the next call.

use super::discipline::{DequeueResult, PacketFifo, QueueActions, QueueDiscipline, QueuedPacket};
use crate::packet::derive_seed;
use crate::{Backlog, DropReason};
use fairwind_units::{Instant, Span};
use rand::RngExt as _;
use rand_pcg::Pcg32;

/// Whether later updates may change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimerProgress {
    /// They may.
    GoesOn,
    /// All later updates together equal the last one alone, until the queue changes.
    Settled,
}

/// Periodic timer of a controller, brought up to date at each call.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeriodicTimer {
    next: Instant,
    every: Span,
}

impl PeriodicTimer {
    /// Due every `every`, at least a nanosecond.
    pub(super) fn new(every: Span) -> Self {
        let every = every.max(Span::from_nanos(1));
        Self { next: Instant::ZERO + every, every }
    }

    /// Calls `update` for each instant due by `now`, in order. Once the controller has settled, only the last instant
    /// is updated, so an idle hour costs no more than reaching the steady state.
    pub(super) fn catch_up(
        &mut self,
        now: Instant,
        mut update: impl FnMut(Instant) -> TimerProgress,
    ) {
        while self.next <= now {
            let progress = update(self.next);
            let after = self.next + self.every;
            if after == self.next {
                // The end of time.
                return;
            }
            self.next = after;
            if progress == TimerProgress::Settled {
                let ahead = now.saturating_since(self.next).as_nanos() / self.every.as_nanos();
                self.next += self.every * ahead;
            }
        }
    }
}

/// Burst allowance (RFC 8033 §4.3).
const MOST_BURST: Span = Span::from_millis(150);
/// Mean packet size; with less than two of them in the queue nothing is dropped (RFC 8033 §4.1).
const TYPICAL_BYTES: u64 = 1500;
/// Bytes over which a departure rate is measured (RFC 8033 §5.2).
const RATE_BYTES: u64 = 1 << 14;
/// Queueing delay beyond which the probability rises fast (RFC 8033 §5.5).
const FAR_TOO_LONG: Span = Span::from_millis(250);
/// Greatest probability at which a packet is marked instead of dropped (RFC 8033 §5.1).
const MOST_MARKED: f64 = 0.1;
/// Accumulated probabilities below which no packet, or above which every packet, is dropped (RFC 8033 §5.4).
const SPARED: f64 = 0.85;
const CERTAIN: f64 = 8.5;

/// Settings of the controller.
#[derive(Debug, Clone, Copy)]
pub(super) struct PieSettings {
    target: f64,
    update: Span,
    alpha: f64,
    beta: f64,
    bytemode: bool,
    departure_rate: bool,
    /// Greatest probability at which a packet is marked; `None`: never.
    most_marked: Option<f64>,
}

impl From<&fairwind_qdisc::Pie> for PieSettings {
    fn from(pie: &fairwind_qdisc::Pie) -> Self {
        Self {
            target: pie.target.as_secs_f64(),
            update: pie.update,
            alpha: f64::from(pie.alpha) / 16.0,
            beta: f64::from(pie.beta) / 16.0,
            bytemode: pie.bytemode,
            departure_rate: pie.departure_rate,
            most_marked: pie.ecn.then_some(MOST_MARKED),
        }
    }
}

impl PieSettings {
    pub(super) fn of_flow(pie: &fairwind_qdisc::FqPie) -> Self {
        Self {
            target: pie.target.as_secs_f64(),
            update: pie.update,
            alpha: f64::from(pie.alpha) / 16.0,
            beta: f64::from(pie.beta) / 16.0,
            bytemode: pie.bytemode,
            departure_rate: pie.departure_rate,
            most_marked: pie.ecn.then_some(f64::from(pie.ecn_probability_percent) / 100.0),
        }
    }
}

/// A measurement of the departure rate.
#[derive(Debug, Clone, Copy)]
struct Measurement {
    since: Instant,
    bytes: u64,
}

/// PIE's state for one queue.
#[derive(Debug, Clone)]
pub(super) struct PieController {
    probability: f64,
    /// Queueing delay in seconds: current, and at the last update.
    delay: f64,
    delay_before: f64,
    burst_left: Span,
    ticks: PeriodicTimer,
    /// Accumulated probability since the last drop.
    sum: f64,
    measurement: Option<Measurement>,
    /// Seconds that [`RATE_BYTES`] take to leave, smoothed.
    rate_time: Option<f64>,
}

impl PieController {
    /// Initial state.
    pub(super) fn new(settings: &PieSettings) -> Self {
        Self {
            probability: 0.0,
            delay: 0.0,
            delay_before: 0.0,
            burst_left: MOST_BURST,
            ticks: PeriodicTimer::new(settings.update),
            sum: 0.0,
            measurement: None,
            rate_time: None,
        }
    }

    /// Performs the updates due by `now`, with `bytes` in the queue since the last call.
    pub(super) fn catch_up(&mut self, now: Instant, bytes: u64, settings: &PieSettings) {
        let mut ticks = self.ticks;
        ticks.catch_up(now, |_| {
            let before = (self.probability, self.delay_before, self.burst_left);
            self.update(bytes, settings);
            let has_changed = before != (self.probability, self.delay_before, self.burst_left);
            if has_changed { TimerProgress::GoesOn } else { TimerProgress::Settled }
        });
        self.ticks = ticks;
    }

    /// One update (RFC 8033 §4.2, §5.5).
    fn update(&mut self, bytes: u64, settings: &PieSettings) {
        if settings.departure_rate {
            self.delay =
                self.rate_time.map_or(0.0, |time| number(bytes) / number(RATE_BYTES) * time);
        }
        let mut change = settings.alpha * (self.delay - settings.target)
            + settings.beta * (self.delay - self.delay_before);
        change /= scale(self.probability);
        if self.probability >= 0.1 {
            change = change.min(0.02);
        }
        if self.delay > FAR_TOO_LONG.as_secs_f64() {
            change += 0.02;
        }
        self.probability = (self.probability + change).clamp(0.0, 1.0);
        if self.delay <= 0.0 && self.delay_before <= 0.0 {
            self.probability *= 1.0 - 1.0 / 64.0;
        }
        let is_short =
            self.delay < settings.target / 2.0 && self.delay_before < settings.target / 2.0;
        self.delay_before = self.delay;
        if self.probability <= 0.0 && is_short {
            self.burst_left = MOST_BURST;
        } else {
            self.burst_left = self.burst_left.saturating_sub(settings.update);
        }
    }

    /// Whether to drop or mark an arrival of `packet_bytes`, with `bytes` in the queue (RFC 8033 §4.1, §5.4).
    pub(super) fn chooses(
        &mut self,
        packet_bytes: u32,
        bytes: u64,
        settings: &PieSettings,
        generator: &mut Pcg32,
    ) -> bool {
        let is_short = self.delay_before < settings.target / 2.0 && self.probability < 0.2;
        if !self.burst_left.is_zero() || is_short || bytes <= 2 * TYPICAL_BYTES {
            return false;
        }
        let share = if settings.bytemode {
            (f64::from(packet_bytes) / number(TYPICAL_BYTES)).min(1.0)
        } else {
            1.0
        };
        if self.probability <= 0.0 {
            self.sum = 0.0;
        }
        self.sum += self.probability * share;
        if self.sum < SPARED {
            return false;
        }
        let is_chosen = self.sum >= CERTAIN || generator.random::<f64>() < self.probability * share;
        if is_chosen {
            self.sum = 0.0;
        }
        is_chosen
    }

    /// Whether the packet may be marked instead.
    pub(super) fn may_mark(&self, settings: &PieSettings) -> bool {
        settings.most_marked.is_some_and(|most| self.probability <= most)
    }

    /// A packet has left after `sojourn`; `bytes` remain.
    pub(super) fn on_departure(
        &mut self,
        now: Instant,
        packet_bytes: u32,
        sojourn: Span,
        bytes: u64,
        settings: &PieSettings,
    ) {
        if settings.departure_rate {
            self.measure(now, packet_bytes, bytes);
        } else {
            self.delay = if bytes == 0 { 0.0 } else { sojourn.as_secs_f64() };
        }
    }

    /// Measures how long [`RATE_BYTES`] take to leave, while at least that many wait (RFC 8033 §5.2).
    fn measure(&mut self, now: Instant, packet_bytes: u32, bytes: u64) {
        if let Some(Measurement { since, bytes: counted }) = self.measurement {
            let counted = counted + u64::from(packet_bytes);
            if counted < RATE_BYTES {
                self.measurement = Some(Measurement { since, bytes: counted });
                return;
            }
            let time = now.saturating_since(since).as_secs_f64();
            self.rate_time = Some(self.rate_time.map_or(time, |mean| 0.75 * mean + 0.25 * time));
            self.measurement = None;
        }
        if self.measurement.is_none() && bytes >= RATE_BYTES {
            self.measurement = Some(Measurement { since: now, bytes: 0 });
        }
    }
}

/// Divisor of the controller's steps at low probability (RFC 8033 §5.1, table).
fn scale(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 2048.0,
        p if p < 0.000_01 => 512.0,
        p if p < 0.000_1 => 128.0,
        p if p < 0.001 => 32.0,
        p if p < 0.01 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

#[expect(clippy::cast_precision_loss, reason = "bytes below 2^53")]
fn number(bytes: u64) -> f64 {
    bytes as f64
}

/// A FIFO queue with the controller.
#[derive(Debug)]
pub(super) struct Pie {
    limit_packets: u32,
    settings: PieSettings,
    controller: PieController,
    line: PacketFifo,
    generator: Pcg32,
}

impl Pie {
    pub(super) fn new(pie: &fairwind_qdisc::Pie, seed: u64) -> Self {
        let settings = pie.into();
        Self {
            limit_packets: pie.limit_packets,
            settings,
            controller: PieController::new(&settings),
            line: PacketFifo::default(),
            generator: Pcg32::new(derive_seed(seed, 0), 0),
        }
    }
}

impl QueueDiscipline for Pie {
    fn enqueue(
        &mut self,
        now: Instant,
        mut arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let Backlog { packets, bytes } = self.line.backlog();
        self.controller.catch_up(now, bytes, &self.settings);
        if packets >= self.limit_packets {
            return Err(DropReason::QueueFull);
        }
        let size = arrival.bytes();
        if self.controller.chooses(size, bytes, &self.settings, &mut self.generator)
            && !(self.controller.may_mark(&self.settings) && actions.mark(&mut arrival))
        {
            return Err(DropReason::Early);
        }
        self.line.push(arrival);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, _: &mut QueueActions) -> DequeueResult {
        self.controller.catch_up(now, self.line.bytes(), &self.settings);
        let Some(first) = self.line.pop() else { return DequeueResult::Empty };
        let left = self.line.bytes();
        self.controller.on_departure(now, first.bytes(), first.sojourn(now), left, &self.settings);
        DequeueResult::Packet(first)
    }

    fn head(&self) -> Option<QueuedPacket> {
        self.line.oldest().copied()
    }

    fn backlog(&self) -> Backlog {
        self.line.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds of the updates by `now`, the one at `settles` and later ones having settled.
    fn updates(ticks: &mut PeriodicTimer, now: Instant, settles: u64) -> Vec<u64> {
        let mut millis = Vec::new();
        ticks.catch_up(now, |at| {
            let milli = at.as_nanos() / 1_000_000;
            millis.push(milli);
            if milli < settles { TimerProgress::GoesOn } else { TimerProgress::Settled }
        });
        millis
    }

    #[test]
    fn settled_updates_are_skipped() {
        let mut ticks = PeriodicTimer::new(Span::from_millis(10));
        assert!(updates(&mut ticks, Instant::from_nanos(9_999_999), 100).is_empty());
        assert_eq!(updates(&mut ticks, Instant::from_millis(30), 100), [10, 20, 30]);
        assert_eq!(updates(&mut ticks, Instant::from_millis(99), 60), [40, 50, 60, 90]);
        assert_eq!(updates(&mut ticks, Instant::from_millis(100), 60), [100]);
        assert_eq!(updates(&mut ticks, Instant::from_millis(120), 0), [110, 120]);
    }

    #[test]
    fn last_instant_is_reached_once() {
        let mut ticks = PeriodicTimer::new(Span::from_secs(1));
        assert_eq!(updates(&mut ticks, Instant::MAX, 0).len(), 3);
    }

    fn settings() -> PieSettings {
        (&fairwind_qdisc::Pie::default()).into()
    }

    fn controller(probability: f64, delay: f64, delay_before: f64) -> PieController {
        let fresh = PieController::new(&settings());
        PieController { probability, delay, delay_before, burst_left: Span::ZERO, ..fresh }
    }

    /// The probability after one update.
    fn updated(probability: f64, delay: f64, delay_before: f64) -> f64 {
        let mut controller = controller(probability, delay, delay_before);
        controller.update(10_000, &settings());
        controller.probability
    }

    #[test]
    fn pie_probability_uses_scaled_steps() {
        // 0.125 (35 - 15 ms) + 1.25 (35 - 25 ms) = 0.0025 + 0.0125 = 0.015.
        for (probability, scale) in [
            (0.0, 2048.0),
            (0.000_005, 512.0),
            (0.000_05, 128.0),
            (0.000_5, 32.0),
            (0.005, 8.0),
            (0.05, 2.0),
            (0.5, 1.0),
        ] {
            let expected = probability + 0.015 / scale;
            assert!((updated(probability, 0.035, 0.025) - expected).abs() < 1e-12, "{probability}");
        }
    }

    #[test]
    fn pie_probability_changes_smoothly() {
        // 0.125 x 85 ms + 1.25 x 100 ms would be 0.136.
        assert!((updated(0.5, 0.1, 0.0) - 0.52).abs() < 1e-12);
        assert!((updated(0.5, 0.3, 0.3) - (0.5 + 0.02 + 0.02)).abs() < 1e-12);
        assert!((updated(0.999, 0.3, 0.0) - 1.0).abs() < 1e-12);
        // At rest it falls by the target's distance, and a sixty-fourth.
        assert!((updated(0.5, 0.0, 0.0) - (0.5 - 0.125 * 0.015) * 63.0 / 64.0).abs() < 1e-12);
    }

    #[test]
    fn idle_queue_passes_a_burst() {
        let mut controller = PieController::new(&settings());
        controller.delay = 0.1;
        controller.catch_up(Instant::from_millis(149), 10_000, &settings());
        assert_eq!(controller.burst_left, Span::from_millis(15));
        controller.catch_up(Instant::from_millis(150), 10_000, &settings());
        assert!(controller.burst_left.is_zero());
        // Two updates with a short queue and no probability left give it back.
        controller.delay = 0.0;
        controller.catch_up(Instant::from_secs(3600), 0, &settings());
        assert_eq!(controller.burst_left, MOST_BURST);
    }

    #[test]
    fn progress_reports_are_evenly_spaced() {
        let settings = settings();
        let mut generator = Pcg32::new(3, 0);
        let mut controller = controller(0.1, 0.02, 0.02);
        let mut gaps = Vec::new();
        let mut gap = 0;
        while gaps.len() < 2000 {
            gap += 1;
            if controller.chooses(1500, 100_000, &settings, &mut generator) {
                gaps.push(gap);
                gap = 0;
            }
        }
        // A sum of 0.85 takes nine arrivals, one of 8.5 takes 85.
        assert!(gaps.iter().all(|gap| (9..=85).contains(gap)), "{:?}", gaps.iter().max());
    }

    #[test]
    fn bytemode_spares_small_packets() {
        let settings = PieSettings { bytemode: true, ..settings() };
        let mut generator = Pcg32::new(3, 0);
        let mut chosen = |bytes| {
            let mut controller = controller(0.1, 0.02, 0.02);
            (0..10_000)
                .filter(|_| controller.chooses(bytes, 100_000, &settings, &mut generator))
                .count()
        };
        let (large, small) = (chosen(1500), chosen(150));
        assert!(large > 400 && small < large / 5, "{large} {small}");
    }

    #[test]
    fn departure_rate_needs_sufficient_backlog() {
        let settings = PieSettings { departure_rate: true, ..settings() };
        let mut controller = PieController::new(&settings);
        // 1500 bytes a millisecond: 16 384 bytes are counted with the eleventh packet after the first.
        for millis in 0..=11 {
            let now = Instant::from_millis(millis);
            controller.on_departure(now, 1500, Span::ZERO, 50_000, &settings);
        }
        assert_eq!(controller.rate_time, Some(0.011));
        controller.update(50_000, &settings);
        assert!((controller.delay - 50_000.0 / 16_384.0 * 0.011).abs() < 1e-12);
    }
}
