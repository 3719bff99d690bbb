//! `DualPI2`: two coupled queues, one for scalable congestion controls, one for classic ones (RFC 9332, appendix A).
//!
//! Parameters as tc-dualpi2(8). As in Linux, the greater of both queueing delays drives the controller, and credit instead
//! of a time shift protects the classic queue's share. Controller updates that are made up for see the delays that the
//! oldest packets had at that time.

use super::discipline::{DequeueResult, PacketFifo, QueueActions, QueueDiscipline, QueuedPacket};
use super::pie::{PeriodicTimer, TimerProgress};
use crate::packet::derive_seed;
use crate::{Backlog, DropReason, Header};
use fairwind_units::{Instant, Ratio, Span};
use rand::RngExt as _;
use rand_pcg::Pcg32;

/// A full packet.
const FULL_BYTES: f64 = 1500.0;
/// With fewer bytes than this in the queue nothing is dropped or marked, as in Linux: two full packets.
const SPARED_BYTES: u64 = 2 * 1500;

/// Both queues and the controller that couples them.
pub(super) struct Dualpi2 {
    description: fairwind_qdisc::Dualpi2,
    low_latency: PacketFifo,
    classic: PacketFifo,
    /// Base probability: its square drops in the classic queue, its multiple marks in the low-latency queue.
    base: f64,
    delay_before: f64,
    ticks: PeriodicTimer,
    /// Service credit of the classic queue in bytes: above zero, it goes first.
    credit: f64,
    generator: Pcg32,
}

/// Fate of a packet on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Leaves,
    Notified,
    Dropped,
}

impl Dualpi2 {
    pub(super) fn new(description: &fairwind_qdisc::Dualpi2, seed: u64) -> Self {
        Self {
            ticks: PeriodicTimer::new(description.update),
            description: description.clone(),
            low_latency: PacketFifo::default(),
            classic: PacketFifo::default(),
            base: 0.0,
            delay_before: 0.0,
            credit: first_credit(description.classic_protection),
            generator: Pcg32::new(derive_seed(seed, 0), 0),
        }
    }

    /// Whether a packet belongs in the low-latency queue (RFC 9331 §5.1): with ECT(1) or CE, or all that are ECN
    /// capable.
    fn is_low_latency(&self, header: &Header) -> bool {
        let is_ect1_or_ce = header.traffic_class & 0b01 != 0;
        is_ect1_or_ce || !self.description.only_ect1 && header.is_ecn_capable()
    }

    fn catch_up(&mut self, now: Instant) {
        let mut ticks = self.ticks;
        ticks.catch_up(now, |at| {
            let before = (self.base, self.delay_before);
            self.update(at);
            let is_empty = self.backlog().packets == 0;
            let is_at_rest = is_empty && before == (self.base, self.delay_before);
            // Sojourn times only grow without departures, so this stays true.
            let is_at_the_end = !is_empty
                && self.base >= self.most()
                && self.delay_before >= self.description.target.as_secs_f64();
            if is_at_rest || is_at_the_end { TimerProgress::Settled } else { TimerProgress::GoesOn }
        });
        self.ticks = ticks;
    }

    /// The greatest base probability. Without drops on overload it is what marks all packets of the low-latency queue,
    /// so that both queues keep their balance while they overflow.
    fn most(&self) -> f64 {
        if self.description.drop_on_overload {
            1.0
        } else {
            1.0 / f64::from(self.description.coupling.max(1))
        }
    }

    /// The controller's step (RFC 9332 §A.1, `dualpi2_update`).
    fn update(&mut self, at: Instant) {
        let oldest =
            |line: &PacketFifo| line.oldest().map_or(Span::ZERO, |waiting| waiting.sojourn(at));
        let delay = oldest(&self.classic).max(oldest(&self.low_latency)).as_secs_f64();
        let change = self.description.alpha.as_f64()
            * (delay - self.description.target.as_secs_f64())
            + self.description.beta.as_f64() * (delay - self.delay_before);
        self.base = (self.base + change).clamp(0.0, self.most());
        self.delay_before = delay;
    }

    /// The coupled probability of marks in the low-latency queue.
    fn coupled(&self) -> f64 {
        self.base * f64::from(self.description.coupling)
    }

    /// The verdict on a packet with `bytes` in the queues (RFC 9332 §A.1). On overload, when every packet of the
    /// low-latency queue would be marked, both queues drop alike, ECN capable or not (§A.2).
    fn judge(&mut self, is_low: bool, bytes: u64) -> Verdict {
        if bytes < SPARED_BYTES {
            return Verdict::Leaves;
        }
        let coupled = self.coupled();
        let is_overloaded = coupled >= 1.0 && self.description.drop_on_overload;
        let share = if is_low && !is_overloaded { coupled } else { self.base * self.base };
        match (self.happens(share), is_overloaded) {
            (true, true) => Verdict::Dropped,
            (true, false) => Verdict::Notified,
            (false, true) if is_low => Verdict::Notified,
            (false, _) => Verdict::Leaves,
        }
    }

    fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.generator.random::<f64>() < probability
    }

    /// Carries out a verdict; returns whether the packet goes on.
    fn carry_out(verdict: Verdict, waiting: &mut QueuedPacket, actions: &mut QueueActions) -> bool {
        match verdict {
            Verdict::Leaves => true,
            Verdict::Notified => actions.mark(waiting),
            Verdict::Dropped => false,
        }
    }

    /// Whether the low-latency queue is next: it goes first unless the classic queue has credit.
    fn low_latency_is_next(&self) -> bool {
        self.low_latency.backlog().packets > 0
            && (self.classic.backlog().packets == 0 || self.credit <= 0.0)
    }

    /// The next packet, and whether it is of the low-latency queue.
    fn take(&mut self) -> Option<(QueuedPacket, bool)> {
        let is_low = self.low_latency_is_next();
        let line = if is_low { &mut self.low_latency } else { &mut self.classic };
        Some((line.pop()?, is_low))
    }

    /// Updates the classic queue's credit after a departure. It is reset when both queues are empty.
    fn charge(&mut self, bytes: u32, is_low: bool) {
        let share = self.description.classic_protection;
        let is_waiting = |line: &PacketFifo| line.backlog().packets > 0;
        let (low, classic) = (is_waiting(&self.low_latency), is_waiting(&self.classic));
        if is_low && classic {
            self.credit += share.as_f64() * f64::from(bytes);
        } else if !is_low && low {
            self.credit -= (1.0 - share.as_f64()) * f64::from(bytes);
        } else if !low && !classic {
            self.credit = first_credit(share);
        }
    }
}

impl QueueDiscipline for Dualpi2 {
    fn enqueue(
        &mut self,
        now: Instant,
        mut arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        self.catch_up(now);
        if self.backlog().packets >= self.description.limit_packets {
            return Err(DropReason::QueueFull);
        }
        let is_low = self.is_low_latency(&arrival.header);
        if !self.description.drop_on_dequeue {
            let verdict = self.judge(is_low, self.backlog().bytes);
            if !Self::carry_out(verdict, &mut arrival, actions) {
                return Err(DropReason::Early);
            }
        }
        if is_low {
            self.low_latency.push(arrival);
        } else {
            self.classic.push(arrival);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> DequeueResult {
        self.catch_up(now);
        loop {
            let Some((mut waiting, is_low)) = self.take() else {
                self.credit = first_credit(self.description.classic_protection);
                return DequeueResult::Empty;
            };
            let bytes = self.backlog().bytes;
            let is_late = is_low && waiting.sojourn(now) >= self.description.step_threshold;
            let judged = self.description.drop_on_dequeue.then(|| self.judge(is_low, bytes));
            let verdict = match judged.unwrap_or(Verdict::Leaves) {
                Verdict::Leaves if is_late => Verdict::Notified,
                verdict => verdict,
            };
            if Self::carry_out(verdict, &mut waiting, actions) {
                self.charge(waiting.bytes(), is_low);
                return DequeueResult::Packet(waiting);
            }
            actions.drop(waiting, DropReason::Early);
        }
    }

    fn backlog(&self) -> Backlog {
        self.low_latency.backlog().plus(self.classic.backlog())
    }
}

/// The initial credit, as in Linux: the low-latency queue is a full packet ahead if its share is the greater one.
fn first_credit(share: Ratio) -> f64 {
    FULL_BYTES * (2.0 * share.as_f64() - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dualpi2() -> Dualpi2 {
        Dualpi2::new(&fairwind_qdisc::Dualpi2::default(), 1)
    }

    fn share_of(verdict: Verdict, base: f64, is_low: bool) -> f64 {
        let mut queue = Dualpi2 { base, ..dualpi2() };
        let hits = (0..20_000).filter(|_| queue.judge(is_low, SPARED_BYTES) == verdict).count();
        f64::from(u32::try_from(hits).unwrap()) / 20_000.0
    }

    #[test]
    fn dualpi2_couples_square_and_linear_probability() {
        for base in [0.05, 0.1, 0.3] {
            let classic = share_of(Verdict::Notified, base, false);
            let low = share_of(Verdict::Notified, base, true);
            assert!((classic - base * base).abs() < 0.01, "{base}: {classic}");
            assert!((low - 2.0 * base).abs() < 0.015, "{base}: {low}");
        }
    }

    #[test]
    fn overload_drops_low_latency_queue_like_classic() {
        assert!((share_of(Verdict::Dropped, 0.6, true) - 0.36).abs() < 0.015);
        assert!((share_of(Verdict::Notified, 0.6, true) - 0.64).abs() < 0.015);
        // The classic queue drops instead of marking, as marks have no effect on overload (RFC 9332 §A.2).
        assert!((share_of(Verdict::Dropped, 0.6, false) - 0.36).abs() < 0.015);
        assert!(share_of(Verdict::Notified, 0.6, false) < 1e-9);
    }

    #[test]
    fn probability_saturates_without_overload_drops() {
        let description = fairwind_qdisc::Dualpi2 { drop_on_overload: false, ..Default::default() };
        let mut queue = Dualpi2 { base: 0.499, ..Dualpi2::new(&description, 1) };
        queue.delay_before = -1.0;
        queue.update(Instant::from_millis(16));
        assert!((queue.base - 0.5).abs() < 1e-12, "half, for a coupling of two: {}", queue.base);
        // One packet in four of the classic queue is marked, and no ECN capable packet is dropped.
        let verdicts =
            (0..20_000).filter(|_| queue.judge(false, SPARED_BYTES) == Verdict::Notified);
        assert!(verdicts.count().abs_diff(5000) < 300);
        assert!((0..1000).all(|_| queue.judge(true, SPARED_BYTES) == Verdict::Notified));
    }

    #[test]
    fn pi_controller_uses_distance_and_change() {
        let mut queue = dualpi2();
        // Nothing waits: 0.16 (0 - 15 ms) is below zero.
        queue.update(Instant::from_millis(16));
        assert!(queue.base.abs() < 1e-12);
        queue.base = 0.1;
        queue.delay_before = 0.02;
        queue.update(Instant::from_millis(32));
        assert!((queue.base - (0.1 - 0.16 * 0.015 - 3.2 * 0.02)).abs() < 1e-12);
    }

    #[test]
    fn ect1_and_ce_go_to_low_latency() {
        let queue = dualpi2();
        let with =
            |traffic_class| queue.is_low_latency(&Header { traffic_class, ..Header::default() });
        assert_eq!([with(0), with(0b10), with(0b01), with(0b11)], [false, false, true, true]);
    }
}
