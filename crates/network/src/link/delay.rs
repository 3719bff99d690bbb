//! Varying propagation delay: jitter, delay steps, reordering and slots.
//!
//! Source: tc-netem(8). Its jitter tables hold quantiles in deviations from the mean, 8192 to one; ours follow from the
//! definitions of the distributions.

use super::loss::{CorrelatedChance, CorrelatedRandom};
use crate::packet::derive_seed;
use fairwind_qdisc::JitterDistribution;
use fairwind_qdisc::{Chance, DelayStep, Impairments, Jitter, Reorder, Slot};
use fairwind_units::{Instant, Span};
use rand::RngExt as _;
use rand_pcg::Pcg32;
use std::sync::OnceLock;

/// When packets reach the other end: base delay, jitter, steps, reordering and slots.
pub(super) struct DelayProcess {
    base: Span,
    /// The part of `base` that reordered packets wait for, too: all but netem's own delay.
    least: Span,
    jitter: Option<(Deviate, CorrelatedRandom)>,
    steps: Option<StepProcess>,
    keeps_order: bool,
    reorder: Option<(Reorder, CorrelatedChance)>,
    /// Packets since the last reordered one.
    since_overtaking: u32,
    slot: Option<SlotProcess>,
    latest: Instant,
}

impl DelayProcess {
    pub(super) fn new(impairments: &Impairments, base: Span, seed: u64) -> Self {
        let jitter = impairments.jitter.as_ref();
        let reorder = impairments.reorder.map(|reorder| {
            let Reorder { probability, correlation, .. } = reorder;
            (
                reorder,
                CorrelatedChance::new(Chance { probability, correlation }, derive_seed(seed, 5)),
            )
        });
        Self {
            base,
            least: base.saturating_sub(impairments.delay),
            jitter: jitter.map(|jitter: &Jitter| {
                (
                    Deviate::new(jitter),
                    CorrelatedRandom::new(jitter.correlation, derive_seed(seed, 4)),
                )
            }),
            steps: StepProcess::new(&impairments.delay_steps),
            keeps_order: jitter.is_some_and(|jitter| jitter.keep_order)
                || !impairments.delay_steps.is_empty(),
            reorder,
            since_overtaking: 0,
            slot: impairments.slot.map(|slot| SlotProcess::new(slot, derive_seed(seed, 6))),
            latest: Instant::ZERO,
        }
    }

    pub(super) fn arrival(&mut self, at: Instant, bytes: u32) -> (Instant, bool) {
        let added = self.steps.as_ref().and_then(|steps| steps.at(at));
        let added = added.map_or(Span::ZERO, |step| step.delay);
        if self.overtakes() {
            return (at + self.least + added, true);
        }
        let mut arrival = at + self.delay() + added;
        if self.keeps_order {
            arrival = arrival.max(self.latest);
        }
        if let Some(slot) = &mut self.slot {
            arrival = slot.next(arrival, bytes);
        }
        self.latest = self.latest.max(arrival);
        (arrival, false)
    }

    /// Whether an outage loses all packets sent at `at`.
    pub(super) fn is_out(&self, at: Instant) -> bool {
        self.steps.as_ref().is_some_and(|steps| steps.at(at).is_some_and(|step| step.outage))
    }

    /// Whether the next packet skips netem's delay: the drawn share of those that the gap admits.
    fn overtakes(&mut self) -> bool {
        let Some((reorder, event)) = &mut self.reorder else { return false };
        self.since_overtaking += 1;
        if self.since_overtaking < reorder.gap || !event.happens() {
            return false;
        }
        self.since_overtaking = 0;
        true
    }

    /// The base delay with jitter, at least zero.
    fn delay(&mut self) -> Span {
        let Some((deviate, draws)) = &mut self.jitter else { return self.base };
        let nanos = i128::from(self.base.as_nanos()) + deviate.nanos(draws.draw());
        Span::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }
}

/// Delay steps.
struct StepProcess {
    /// Steps, each with its end in nanoseconds from the start.
    steps: Vec<(u64, DelayStep)>,
    period: u64,
}

impl StepProcess {
    fn new(steps: &[DelayStep]) -> Option<Self> {
        let mut period = 0_u64;
        let lasting = steps.iter().filter(|step| !step.duration.is_zero());
        let steps: Vec<(u64, DelayStep)> = lasting
            .map(|step| {
                period = period.saturating_add(step.duration.as_nanos());
                (period, *step)
            })
            .collect();
        (period > 0).then_some(Self { steps, period })
    }

    /// The step at instant `at`.
    fn at(&self, at: Instant) -> Option<&DelayStep> {
        let within = at.as_nanos() % self.period;
        let place = self.steps.partition_point(|(end, _)| *end <= within);
        self.steps.get(place).map(|(_, step)| step)
    }
}

/// netem's slots: packets are delivered together when a slot begins, as many as it holds.
struct SlotProcess {
    slot: Slot,
    generator: Pcg32,
    /// Start of the last slot used.
    begin: Instant,
    packets_left: u32,
    bytes_left: u64,
}

impl SlotProcess {
    fn new(slot: Slot, seed: u64) -> Self {
        Self {
            slot,
            generator: Pcg32::new(derive_seed(seed, 0), 0),
            begin: Instant::ZERO,
            packets_left: 0,
            bytes_left: 0,
        }
    }

    /// The first slot at or after `arrival` that has room for `bytes`.
    fn next(&mut self, arrival: Instant, bytes: u32) -> Instant {
        let bytes = u64::from(bytes);
        if self.begin < arrival || self.packets_left == 0 || self.bytes_left < bytes {
            // As in netem, a slot begins some time after its first packet, not at fixed instants.
            self.begin = self.begin.max(arrival) + self.wait();
            self.packets_left = self.slot.packets.unwrap_or(u32::MAX).max(1);
            // A slot smaller than a packet takes one packet.
            self.bytes_left = self.slot.bytes.unwrap_or(u64::MAX).max(bytes);
        }
        self.packets_left -= 1;
        self.bytes_left -= bytes;
        self.begin
    }

    fn wait(&mut self) -> Span {
        let (least, greatest) = (self.slot.min_delay.as_nanos(), self.slot.max_delay.as_nanos());
        let nanos = self.generator.random_range(least..=greatest.max(least));
        Span::from_nanos(nanos.max(1))
    }
}

/// Table value of one standard deviation.
const TABLE_SCALE: i128 = 8192;
/// Entries of the built-in tables.
const ENTRIES: u32 = 4096;
/// Greatest distance of a table entry from the mean in deviations: what 16 bits hold.
const FURTHEST: f64 = 4.0;
/// Shape of the Pareto distribution: the least whole number with a finite variance.
const SHAPE: f64 = 3.0;

/// Distribution of jitter around the mean.
pub(super) struct Deviate {
    deviation_nanos: i128,
    /// Quantiles at equal distances; none for the uniform distribution.
    table: Option<Vec<i32>>,
}

impl Deviate {
    pub(super) fn new(jitter: &Jitter) -> Self {
        let table = match jitter.distribution {
            JitterDistribution::Uniform => None,
            JitterDistribution::Normal => Some(Tables::get().normal.clone()),
            JitterDistribution::Pareto => Some(Tables::get().pareto.clone()),
            JitterDistribution::Paretonormal => Some(Tables::get().paretonormal.clone()),
            JitterDistribution::Table => Some(jitter.table.clone()),
        };
        Self { deviation_nanos: jitter.deviation.as_nanos().into(), table }
    }

    /// Nanoseconds to add to the mean for a uniform `draw`.
    pub(super) fn nanos(&self, draw: u32) -> i128 {
        match &self.table {
            None => ((i128::from(draw) * 2 * self.deviation_nanos) >> 32) - self.deviation_nanos,
            Some(table) => {
                let place = (u64::from(draw) * u64::try_from(table.len()).unwrap_or(1)) >> 32;
                let entry = usize::try_from(place).ok().and_then(|place| table.get(place));
                self.deviation_nanos * i128::from(entry.copied().unwrap_or(0)) / TABLE_SCALE
            }
        }
    }
}

/// The named tables, computed once.
struct Tables {
    normal: Vec<i32>,
    pareto: Vec<i32>,
    paretonormal: Vec<i32>,
}

impl Tables {
    fn get() -> &'static Self {
        static TABLES: OnceLock<Tables> = OnceLock::new();
        TABLES.get_or_init(Self::make)
    }

    fn make() -> Self {
        // Quantiles at the middle of equal shares.
        let shares = (0..ENTRIES).map(|entry| (f64::from(entry) + 0.5) / f64::from(ENTRIES));
        let (normal, pareto): (Vec<f64>, Vec<f64>) =
            shares.map(|share| (normal(share), pareto(share))).unzip();
        let pairs = normal.iter().zip(&pareto);
        let mixed: Vec<f64> = pairs.map(|(normal, pareto)| 0.25 * normal + 0.75 * pareto).collect();
        // A common factor normalises the deviation of the mixture.
        let squares: f64 = mixed.iter().map(|value| value * value).sum();
        let deviation = (squares / f64::from(ENTRIES)).sqrt();
        let entries =
            |values: &[f64], scale: f64| values.iter().map(|v| entry(v / scale)).collect();
        Self {
            normal: entries(&normal, 1.0),
            pareto: entries(&pareto, 1.0),
            paretonormal: entries(&mixed, deviation),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "within four times 8192")]
fn entry(deviations: f64) -> i32 {
    (deviations.clamp(-FURTHEST, FURTHEST) * 8192.0).round() as i32
}

/// Quantile of Pareto's law with mean 0 and deviation 1.
fn pareto(share: f64) -> f64 {
    let mean = SHAPE / (SHAPE - 1.0);
    let variance = SHAPE / ((SHAPE - 1.0).powi(2) * (SHAPE - 2.0));
    ((1.0 - share).powf(-1.0 / SHAPE) - mean) / variance.sqrt()
}

/// Quantile of the standard normal distribution, by bisection of its distribution function: tables are made once.
fn normal(share: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if normal_below(middle) < share { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Share of the standard normal distribution below `x`, by the series of its density's integral.
fn normal_below(x: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > 1e-17 * sum.abs() && odd < 2000.0 {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_units::{Ratio, Span};

    /// Mean, deviation and 95th percentile of a distribution, in milliseconds, with a deviation of 10 ms.
    fn moments(distribution: JitterDistribution) -> [f64; 3] {
        moments_of(distribution, Vec::new())
    }

    fn moments_of(distribution: JitterDistribution, table: Vec<i32>) -> [f64; 3] {
        let jitter = Jitter {
            deviation: Span::from_millis(10),
            distribution,
            table,
            correlation: Ratio::ZERO,
            keep_order: false,
        };
        let deviate = Deviate::new(&jitter);
        let draws: u32 = 1 << 16;
        let mut values: Vec<f64> = (0..draws)
            .map(|draw| i32::try_from(deviate.nanos(draw << 16)).map(f64::from).unwrap() / 1e6)
            .collect();
        values.sort_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / f64::from(draws);
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        [mean, (variance / f64::from(draws)).sqrt(), values[62_259]]
    }

    fn assert_near(got: [f64; 3], expected: [f64; 3]) {
        for (got, expected) in got.into_iter().zip(expected) {
            assert!((got - expected).abs() < 0.15, "{got} of {expected}");
        }
    }

    #[test]
    fn uniform_jitter_is_even_between_its_bounds() {
        assert_near(moments(JitterDistribution::Uniform), [0.0, 10.0 / 3.0_f64.sqrt(), 9.0]);
    }

    #[test]
    fn normal_jitter_has_deviation_and_quantiles() {
        assert_near(moments(JitterDistribution::Normal), [0.0, 10.0, 16.45]);
        assert!((normal(0.975) - 1.959_964).abs() < 1e-6 && (normal(0.5)).abs() < 1e-9);
    }

    #[test]
    fn pareto_jitter_tail_is_bounded_by_table() {
        // The 95th percentile of 1 / (1 - u)^(1/3) is 2.714; less 1.5 over 0.866 deviations.
        let [mean, deviation, high] = moments(JitterDistribution::Pareto);
        assert!((high - 14.02).abs() < 0.15, "{high}");
        // Cut off at four deviations: what lies beyond is 0.4 % of the packets.
        assert!((-0.8..=0.0).contains(&mean), "{mean}");
        assert!((7.0..10.0).contains(&deviation), "{deviation}");
    }

    #[test]
    fn recorded_table_is_used_unchanged() {
        let table = vec![-8192, 0, 8192, 16_384];
        let [mean, _, high] = moments_of(JitterDistribution::Table, table);
        assert!((mean - 5.0).abs() < 0.01 && (high - 20.0).abs() < 0.01);
    }
}
