//! RED and CHOKe: early drops and marks by the average backlog.
//!
//! Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, with the parameters of
//! tc-red(8) and its weight from a burst; the gentle variant, Floyd, 2000; the adaptive one, Floyd, Gummadi and Shenker,
//! 2001. Distances between notices are uniform (section 7 of the paper); the kernel draws the next distance beforehand,
//! which has the same distribution. CHOKe: Pan, Prabhakar and Psounis, "CHOKe: a stateless active queue management scheme",
//! 2000; parameters as tc-choke(8).

use super::discipline::{
    BuildChild, DequeueResult, PacketFifo, QueueActions, QueueDiscipline, QueuedPacket,
};
use super::pie::{PeriodicTimer, TimerProgress};
use crate::packet::derive_seed;
use crate::{Backlog, DropReason, Header};
use fairwind_qdisc::Qdisc;
use fairwind_units::{BitRate, ByteCount, Instant, Ratio, Span};
use rand::RngExt as _;
use rand_pcg::Pcg32;

/// Time between two adaptations of the probability.
const ADAPTATION: Span = Span::from_millis(500);

/// Settings of RED, in the unit of the backlog.
#[derive(Debug, Clone, Copy)]
pub(super) struct AverageSettings {
    pub(super) least: f64,
    pub(super) greatest: f64,
    pub(super) probability: Ratio,
    /// Size of a typical packet.
    pub(super) packet: f64,
    /// Burst that the average tolerates, in packets.
    pub(super) burst_packets: u32,
    /// Service time of a typical packet: the step of the average while the link is idle.
    pub(super) packet_time: Span,
    pub(super) is_gentle: bool,
    pub(super) is_adaptive: bool,
}

/// Service time of a typical packet.
pub(super) fn packet_time(bandwidth: BitRate, packet_bytes: u32) -> Span {
    bandwidth.serialisation_time(ByteCount::new(packet_bytes.into()))
}

/// Decision on an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RedDecision {
    /// Accept it.
    Accept,
    /// Drop or mark it, chosen at random.
    Notify,
    /// Drop it: the average is above every threshold.
    Refuse,
}

/// RED's average backlog and random decisions.
#[derive(Debug)]
pub(super) struct RedAverage {
    settings: AverageSettings,
    /// Weight of a new sample.
    weight: f64,
    mean: f64,
    /// Current maximum probability.
    probability: f64,
    /// Arrivals since the last notice; `None` while the average is below the lower threshold.
    since_notice: Option<u32>,
    idle_since: Option<Instant>,
    ticks: PeriodicTimer,
    generator: Pcg32,
}

impl RedAverage {
    pub(super) fn new(settings: AverageSettings, seed: u64) -> Self {
        Self {
            settings,
            weight: weight(settings.burst_packets, settings.least / settings.packet),
            mean: 0.0,
            probability: settings.probability.as_f64(),
            since_notice: None,
            idle_since: Some(Instant::ZERO),
            ticks: PeriodicTimer::new(ADAPTATION),
            generator: Pcg32::new(derive_seed(seed, 0), 0),
        }
    }

    pub(super) fn value(&self) -> f64 {
        self.mean
    }

    /// Updates the average with the backlog at an arrival.
    pub(super) fn observe(&mut self, now: Instant, backlog: f64) {
        if self.settings.is_adaptive {
            self.adapt(now);
        }
        if self.idle_since.is_some() {
            self.mean = self.mean_at(now);
            self.idle_since = None;
        } else {
            self.mean += self.weight * (backlog - self.mean);
        }
    }

    /// The average. While the queue is empty it decays as if typical packets had found it empty.
    fn mean_at(&self, at: Instant) -> f64 {
        let Some(since) = self.idle_since else { return self.mean };
        let steps = at.saturating_since(since).as_secs_f64()
            / self.settings.packet_time.as_secs_f64().max(f64::MIN_POSITIVE);
        self.mean * (steps * (-self.weight).ln_1p()).exp()
    }

    /// The queue is empty from `now` on.
    pub(super) fn rest(&mut self, now: Instant) {
        self.idle_since = Some(now);
    }

    /// Decides on an arrival after its backlog was observed.
    pub(super) fn advise(&mut self) -> RedDecision {
        let AverageSettings { least, greatest, is_gentle, .. } = self.settings;
        if self.mean < least {
            self.since_notice = None;
            return RedDecision::Accept;
        }
        let last = if is_gentle { 2.0 * greatest } else { greatest };
        if self.mean >= last {
            self.since_notice = Some(0);
            return RedDecision::Refuse;
        }
        // The count starts with the first arrival above the threshold.
        let count = self.since_notice.map_or(0, |count| count + 1);
        if self.draw(count) {
            self.since_notice = Some(0);
            return RedDecision::Notify;
        }
        self.since_notice = Some(count);
        RedDecision::Accept
    }

    /// Whether an arrival is chosen after `count` others: with `p / (1 - count p)`, which makes distances uniform
    /// (Floyd and Jacobson, section 7).
    fn draw(&mut self, count: u32) -> bool {
        let base = self.base_probability();
        let left = 1.0 - f64::from(count) * base;
        let probability = if left <= base { 1.0 } else { base / left };
        self.generator.random::<f64>() < probability
    }

    /// The probability without the correction for the distance from the last notice.
    fn base_probability(&self) -> f64 {
        let AverageSettings { least, greatest, .. } = self.settings;
        if self.mean < greatest {
            self.probability * (self.mean - least) / (greatest - least)
        } else {
            self.probability + (1.0 - self.probability) * (self.mean - greatest) / greatest
        }
    }

    /// Performs the adaptations that are due.
    fn adapt(&mut self, now: Instant) {
        let mut ticks = self.ticks;
        ticks.catch_up(now, |at| self.adapt_at(at));
        self.ticks = ticks;
    }

    fn adapt_at(&mut self, at: Instant) -> TimerProgress {
        let AverageSettings { least, greatest, .. } = self.settings;
        let (low, high) = (least + 0.4 * (greatest - least), least + 0.6 * (greatest - least));
        let mean = self.mean_at(at);
        if mean > high && self.probability <= 0.5 {
            self.probability += (self.probability / 4.0).min(0.01);
        } else if mean < low && self.probability >= 0.01 {
            self.probability *= 0.9;
        } else if self.idle_since.is_none() || mean < low {
            // Settled until the average changes.
            return TimerProgress::Settled;
        }
        TimerProgress::GoesOn
    }
}

/// Weight of a new sample: the largest power of two for which `burst` packets at once at an empty queue keep the
/// average below the lower threshold of `least` packets (tc-red(8)).
fn weight(burst: u32, least: f64) -> f64 {
    let burst = f64::from(burst.max(1));
    let excess = burst + 1.0 - least;
    let candidates = (1..32).map(|power| 0.5_f64.powi(power));
    let mut fitting =
        candidates.filter(|weight| excess <= (1.0 - (burst * (-weight).ln_1p()).exp()) / weight);
    fitting.next().unwrap_or(0.5_f64.powi(31))
}

/// RED before a queue.
pub(super) struct Red {
    average: RedAverage,
    ecn: bool,
    hard_drop: bool,
    child: Box<dyn QueueDiscipline>,
}

#[expect(clippy::cast_precision_loss, reason = "bytes below 2^53")]
fn number(bytes: u64) -> f64 {
    bytes as f64
}

impl Red {
    pub(super) fn new(red: &fairwind_qdisc::Red, seed: u64, build: &BuildChild<'_>) -> Self {
        let queue = Qdisc::Bfifo { limit_bytes: red.limit_bytes };
        let settings = AverageSettings {
            least: number(red.min_bytes),
            greatest: number(red.max_bytes),
            probability: red.probability,
            packet: f64::from(red.average_packet_bytes),
            burst_packets: red.burst_packets,
            packet_time: packet_time(red.bandwidth, red.average_packet_bytes),
            is_gentle: red.gentle,
            is_adaptive: red.adaptive,
        };
        Self {
            average: RedAverage::new(settings, seed),
            ecn: red.ecn,
            hard_drop: red.hard_drop,
            child: build(red.child.as_deref().unwrap_or(&queue), derive_seed(seed, 1)),
        }
    }
}

impl Red {
    fn admit(
        &mut self,
        now: Instant,
        mut arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let may_mark = match self.average.advise() {
            RedDecision::Accept => return self.child.enqueue(now, arrival, actions),
            RedDecision::Notify => self.ecn,
            RedDecision::Refuse => self.ecn && !self.hard_drop,
        };
        if !may_mark || !arrival.header.is_ecn_capable() {
            return Err(DropReason::Early);
        }
        arrival.header.mark();
        self.child.enqueue(now, arrival, actions)?;
        actions.note_mark(arrival);
        Ok(())
    }

    fn look_for_rest(&mut self, now: Instant) {
        if self.child.backlog().packets == 0 {
            self.average.rest(now);
        }
    }
}

impl QueueDiscipline for Red {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        self.average.observe(now, number(self.child.backlog().bytes));
        let admitted = self.admit(now, arrival, actions);
        self.look_for_rest(now);
        admitted
    }

    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> DequeueResult {
        let next = self.child.dequeue(now, actions);
        self.look_for_rest(now);
        next
    }

    fn head(&self) -> Option<QueuedPacket> {
        self.child.head()
    }

    fn backlog(&self) -> Backlog {
        self.child.backlog()
    }
}

/// CHOKe: RED behind a comparison with a random packet.
pub(super) struct Choke {
    limit_packets: u32,
    least_packets: f64,
    average: RedAverage,
    ecn: bool,
    line: PacketFifo,
    generator: Pcg32,
}

impl Choke {
    pub(super) fn new(choke: &fairwind_qdisc::Choke, seed: u64) -> Self {
        let settings = AverageSettings {
            least: f64::from(choke.min_packets),
            greatest: f64::from(choke.max_packets),
            probability: choke.probability,
            packet: 1.0,
            burst_packets: choke.burst_packets,
            packet_time: packet_time(choke.bandwidth, choke.average_packet_bytes),
            is_gentle: false,
            is_adaptive: false,
        };
        Self {
            limit_packets: choke.limit_packets,
            least_packets: settings.least,
            average: RedAverage::new(settings, derive_seed(seed, 1)),
            ecn: choke.ecn,
            line: PacketFifo::default(),
            generator: Pcg32::new(derive_seed(seed, 0), 0),
        }
    }

    /// Drops a random packet if it belongs to the flow of `header`; returns whether it did.
    fn strike(&mut self, header: &Header, actions: &mut QueueActions) -> bool {
        if self.average.value() <= self.least_packets || self.line.is_empty() {
            return false;
        }
        let place = self.generator.random_range(0..self.line.len());
        if !self.line.get(place).is_some_and(|met| met.header.is_flow_of(header)) {
            return false;
        }
        if let Some(victim) = self.line.remove(place) {
            actions.drop(victim, DropReason::Early);
        }
        true
    }

    fn admit(
        &mut self,
        mut arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        if self.strike(&arrival.header, actions) {
            return Err(DropReason::Early);
        }
        let is_chosen = self.average.advise() != RedDecision::Accept;
        if is_chosen && !(self.ecn && arrival.header.is_ecn_capable()) {
            return Err(DropReason::Early);
        }
        if self.backlog().packets >= self.limit_packets {
            return Err(DropReason::QueueFull);
        }
        if is_chosen {
            actions.mark(&mut arrival);
        }
        self.line.push(arrival);
        Ok(())
    }

    fn look_for_rest(&mut self, now: Instant) {
        if self.line.is_empty() {
            self.average.rest(now);
        }
    }
}

impl QueueDiscipline for Choke {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        self.average.observe(now, f64::from(self.backlog().packets));
        let admitted = self.admit(arrival, actions);
        self.look_for_rest(now);
        admitted
    }

    fn dequeue(&mut self, now: Instant, _: &mut QueueActions) -> DequeueResult {
        let Some(first) = self.line.pop() else { return DequeueResult::Empty };
        self.look_for_rest(now);
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

    fn settings() -> AverageSettings {
        AverageSettings {
            least: 5.0,
            greatest: 15.0,
            probability: "10 %".parse().unwrap(),
            packet: 1.0,
            burst_packets: 8,
            packet_time: Span::from_millis(1),
            is_gentle: false,
            is_adaptive: false,
        }
    }

    #[test]
    fn red_weight_lets_a_burst_pass() {
        // 9 - 5 = 4 <= (1 - (1 - w)^8) / w: 1.99 for 1/2, 3.6 for 1/4, 5.25 for 1/8.
        assert!((weight(8, 5.0) - 0.125).abs() < 1e-12);
    }

    #[test]
    fn red_average_decays_while_idle() {
        let mut average = RedAverage::new(settings(), 1);
        let at = Instant::from_millis;
        average.observe(at(0), 0.0);
        average.observe(at(0), 8.0);
        assert!((average.value() - 1.0).abs() < 1e-12);
        average.observe(at(0), 8.0);
        assert!((average.value() - 1.875).abs() < 1e-12);
        average.rest(at(10));
        average.observe(at(12), 0.0);
        // Two packets' time: two steps of seven eighths. The arrival itself is none (Floyd and Jacobson, figure 2).
        assert!((average.value() - 1.875 * 0.875_f64.powi(2)).abs() < 1e-12);
    }

    #[test]
    fn gentle_red_probability_rises_beyond_max() {
        let mut average = RedAverage::new(AverageSettings { is_gentle: true, ..settings() }, 1);
        let mut at = |value: f64| {
            average.mean = value;
            average.base_probability()
        };
        for (value, expected) in [(5.0, 0.0), (10.0, 0.05), (15.0, 0.1), (22.5, 0.55)] {
            assert!((at(value) - expected).abs() < 1e-12, "{value}");
        }
    }

    #[test]
    fn notices_come_at_uniform_distances() {
        // With p = 0.05 the distance is uniform on 1..=19, for the first arrival counts: its mean is 10.
        let mut average = RedAverage::new(settings(), 7);
        average.mean = 10.0;
        average.since_notice = Some(0);
        let mut distances = Vec::new();
        let mut distance = 0;
        while distances.len() < 4000 {
            distance += 1;
            if average.advise() == RedDecision::Notify {
                distances.push(distance);
                distance = 0;
            }
        }
        let mean = f64::from(distances.iter().sum::<u32>()) / 4000.0;
        assert!(distances.iter().all(|distance| *distance <= 19), "{:?}", distances.iter().max());
        assert!((mean - 10.0).abs() < 0.7, "{mean}");
    }

    #[test]
    fn adaptive_red_keeps_average_in_middle() {
        let mut average = RedAverage::new(AverageSettings { is_adaptive: true, ..settings() }, 1);
        average.mean = 14.0;
        average.idle_since = None;
        average.weight = 0.0;
        average.observe(Instant::from_millis(500), 14.0);
        assert!((average.probability - 0.11).abs() < 1e-12);
        average.mean = 6.0;
        average.observe(Instant::from_millis(1000), 6.0);
        assert!((average.probability - 0.099).abs() < 1e-12);
        // An hour is no more work than it takes to come to rest.
        average.observe(Instant::from_secs(3600), 6.0);
        assert!(average.probability < 0.01);
    }

    #[test]
    fn adaptive_red_uses_average_every_500_ms() {
        // A packet's time of 100 ms and an eighth of weight: 14 decays to 14 (7/8)^5 = 7.2 in half a second, which is below
        // the middle, 9 to 11.
        let slow = AverageSettings { packet_time: Span::from_millis(100), ..settings() };
        let mut average = RedAverage::new(AverageSettings { is_adaptive: true, ..slow }, 1);
        average.idle_since = None;
        average.mean = 14.0;
        average.rest(Instant::from_millis(500));
        average.observe(Instant::from_millis(1000), 0.0);
        // Up once while it was 14, down once when it had decayed.
        assert!((average.probability - 0.11 * 0.9).abs() < 1e-12, "{}", average.probability);
        // An arrival that raises the average above the middle was not there when the controller worked.
        let mut late = RedAverage::new(AverageSettings { is_adaptive: true, ..settings() }, 1);
        late.idle_since = None;
        late.mean = 10.0;
        late.observe(Instant::from_millis(500), 40.0);
        assert!(late.value() > 11.0 && (late.probability - 0.1).abs() < 1e-12);
    }
}
