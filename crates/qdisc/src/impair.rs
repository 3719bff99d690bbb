//! Impairments of a link, as netem has them.
//!
//! Source: tc-netem(8). Names and defaults are netem's; shares are of packets.

use crate::correlated;
use fairwind_units::{Ratio, Span};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Impairments of a link, after its queue and its transmitter. The default is none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Impairments {
    /// How much of the link's delay is netem's own: what packets that overtake do not wait for. Of no meaning without
    /// `reorder`.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub delay: Span,
    /// Delay that varies around the link's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// Delay beyond the link's own that changes with time, as where satellites come and go; none of netem's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delay_steps: Vec<DelayStep>,
    /// Which packets are lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// Packets that come twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<Chance>,
    /// Packets in which a bit is wrong when they come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<Chance>,
    /// Packets that do not wait for netem's own delay, and so overtake others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// Times in which nothing is delivered, and after which all is at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Slot>,
}

/// Something that happens to a share of the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chance {
    /// Probability for each packet.
    pub probability: Ratio,
    /// Correlation of each draw with the previous one.
    #[serde(default)]
    pub correlation: Ratio,
}

/// Delay that varies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// Half of the width where it is uniform, else the standard deviation.
    pub deviation: Span,
    /// How it is distributed.
    #[serde(default)]
    pub distribution: JitterDistribution,
    /// Quantiles at equal distances, in deviations from the mean times 8192, as in netem's tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table: Vec<i32>,
    /// Correlation of each draw with the previous one.
    #[serde(default)]
    pub correlation: Ratio,
    /// Whether packets leave in the order in which they came, later ones waiting for earlier ones.
    #[serde(default)]
    pub keep_order: bool,
}

/// A delay for some time. After the last step the first begins again. Packets do not overtake others when the delay
/// falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayStep {
    /// How long it lasts.
    pub duration: Span,
    /// Delay of packets sent during this step, beyond the link's own.
    pub delay: Span,
    /// Whether all packets sent during this step are lost, as in a satellite handover.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub outage: bool,
}

impl DelayStep {
    fn lets_pass(&self) -> bool {
        !self.outage && !self.duration.is_zero()
    }
}

/// How a delay varies around its mean.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum JitterDistribution {
    /// Uniformly, between mean - deviation and mean + deviation.
    #[default]
    Uniform,
    /// Normal distribution.
    Normal,
    /// Pareto distribution of shape 3, scaled to mean 0 and deviation 1.
    Pareto,
    /// A quarter normal and three quarters Pareto.
    Paretonormal,
    /// As recorded in `table`.
    Table,
}

/// Which packets are lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// Each on its own, or with something of the last draw in the next one.
    Random {
        /// How many packets are lost.
        probability: Ratio,
        /// Correlation of each draw with the previous one.
        #[serde(default)]
        correlation: Ratio,
    },
    /// Two states with different loss probabilities (Gilbert and Elliott); the probabilities are those of netem's
    /// `gemodel`.
    Gemodel {
        /// From the good state to the bad one, per packet.
        p: Ratio,
        /// From the bad state to the good one, per packet.
        r: Ratio,
        /// Loss in the bad state (netem's `1-h`).
        bad_loss: Ratio,
        /// Loss in the good state (netem's `1-k`).
        good_loss: Ratio,
    },
    /// Four states, of netem's `state` (Salsano, Ludovici, Ordine and Giannuzzi, 2012): 1 delivers, 2 delivers within a
    /// burst of losses, 3 loses within a burst, and 4 loses a single packet outside of bursts.
    State {
        /// From state 1 into a burst, per packet.
        p13: Ratio,
        /// From a loss within a burst out of it, per packet.
        p31: Ratio,
        /// From a loss within a burst to a delivery within it, per packet.
        p32: Ratio,
        /// From a delivery within a burst to a loss within it, per packet.
        p23: Ratio,
        /// From state 1 to a single loss, per packet.
        p14: Ratio,
    },
    /// As recorded: `true` for a packet that is lost, from the beginning again at its end.
    Recorded {
        /// One for each packet.
        lost: Vec<bool>,
    },
    /// Some packets by their numbers, each once. Copies that `duplicate` makes are counted as well, and of a packet and
    /// its copy only one is lost.
    Packets {
        /// In the order in which packets leave the link, from 1, rising.
        numbers: Vec<u64>,
    },
}

/// Packets that overtake others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Share of packets that overtake, among those that may.
    pub probability: Ratio,
    /// Correlation of each draw with the previous one.
    #[serde(default)]
    pub correlation: Ratio,
    /// Only every n-th packet may overtake; each one if it is 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub gap: u32,
}

/// Deliveries in slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// Least time from one slot to the next.
    pub min_delay: Span,
    /// Greatest time from one slot to the next.
    pub max_delay: Span,
    /// Largest number of packets in one slot; default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u32>,
    /// Largest number of bytes in one slot; default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

fn one() -> u32 {
    1
}

impl Impairments {
    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// An error of impairments, with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImpairmentError {
    /// The key below the impairments, with dots.
    pub key: &'static str,
    /// The rule.
    pub rule: &'static str,
}

impl fmt::Display for ImpairmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.rule)
    }
}

impl Impairments {
    /// Everything that is wrong; nothing where a link may have them.
    pub fn errors(&self) -> Vec<ImpairmentError> {
        let mut errors = Vec::new();
        let mut hold = |holds: bool, key, rule| {
            if !holds {
                errors.push(ImpairmentError { key, rule });
            }
        };
        let share = SHARE;
        for (chance, keys) in [
            (self.duplicate, ["duplicate.probability", "duplicate.correlation"]),
            (self.corrupt, ["corrupt.probability", "corrupt.correlation"]),
        ] {
            let Some(Chance { probability, correlation }) = chance else { continue };
            hold(is_share(probability), keys[0], share);
            hold(is_share(correlation), keys[1], share);
        }
        if let Some(reorder) = &self.reorder {
            hold(is_share(reorder.probability), "reorder.probability", share);
            hold(is_share(reorder.correlation), "reorder.correlation", share);
            hold(
                reorder.gap > 0,
                "reorder.gap",
                "it must be at least 1, with which every packet may overtake",
            );
        }
        if let Some(jitter) = &self.jitter {
            let is_table = jitter.distribution == JitterDistribution::Table;
            hold(is_share(jitter.correlation), "jitter.correlation", share);
            hold(
                is_table != jitter.table.is_empty(),
                "jitter.table",
                "quantiles belong to distribution = \"table\", which needs at least one",
            );
        }
        let nanos = self.delay_steps.iter().map(|step| u128::from(step.duration.as_nanos()));
        let lasting: u128 = nanos.sum();
        hold(
            self.delay_steps.is_empty() || (1..=u128::from(u64::MAX)).contains(&lasting),
            "delay_steps",
            "the steps together must last longer than 0 and at most 584 years",
        );
        if let Some(slot) = &self.slot {
            hold(
                slot.max_delay >= slot.min_delay,
                "slot.max_delay",
                "it must not be less than min_delay",
            );
            hold(!slot.max_delay.is_zero(), "slot.max_delay", "it must be above zero");
            hold(slot.packets != Some(0), "slot.packets", "a slot must hold at least one packet");
            hold(slot.bytes != Some(0), "slot.bytes", "a slot must hold at least one byte");
        }
        errors.extend(self.loss.as_ref().map(Loss::errors).unwrap_or_default());
        errors
    }
}

/// Something about impairments that will surprise, at which of their keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImpairmentWarning {
    /// The key below the impairments, with dots.
    pub key: &'static str,
    /// The problem, and its remedy.
    pub rule: String,
}

impl Impairments {
    /// What a link may have and will surprise.
    pub fn warnings(&self) -> Vec<ImpairmentWarning> {
        let mut warnings = Vec::new();
        if let Some(Loss::Random { probability, correlation }) = self.loss {
            let remedy = gemodel_instead(probability, correlation);
            warnings.extend(surprise("loss", "lost", probability, correlation, &remedy));
        }
        let chances = [
            (self.duplicate, "duplicate", "doubled"),
            (self.corrupt, "corrupt", "damaged"),
            (self.reorder.map(Reorder::chance), "reorder", "let overtake"),
        ];
        for (chance, key, happens) in chances {
            let Some(Chance { probability, correlation }) = chance else { continue };
            let remedy = "leave the correlation out to get the share as written";
            warnings.extend(surprise(key, happens, probability, correlation, remedy));
        }
        if self.reorder.is_some() && self.delay.is_zero() && self.jitter.is_none() {
            let rule = "packets that overtake skip netem's own delay, and there is none, so that nothing is reordered \
                (tc refuses this): write a part of the delay here, as in delay 10ms reorder 25%";
            warnings.push(ImpairmentWarning { key: "reorder", rule: rule.to_owned() });
        }
        if !self.delay_steps.is_empty() && !self.delay_steps.iter().any(DelayStep::lets_pass) {
            let rule = "every step that lasts is an outage, and after the last the first begins again, so that \
                nothing ever passes: add a step without one";
            warnings.push(ImpairmentWarning { key: "delay_steps", rule: rule.to_owned() });
        }
        warnings
    }
}

impl Reorder {
    fn chance(self) -> Chance {
        Chance { probability: self.probability, correlation: self.correlation }
    }
}

/// That something happens to another share than is written, where draws are correlated.
fn surprise(
    key: &'static str,
    happens: &str,
    probability: Ratio,
    correlation: Ratio,
    remedy: &str,
) -> Option<ImpairmentWarning> {
    let share = correlated::share(probability, correlation);
    let (real, written) = (share.as_parts_per_billion(), probability.as_parts_per_billion());
    // A difference of one per cent of the written value is not visible.
    if real.abs_diff(written) <= written / 100 {
        return None;
    }
    let share_lost = if real == 0 { "next to none".to_owned() } else { per_cent(share) };
    let rule = format!(
        "with a correlation of {correlation}, {share_lost} of the packets are {happens}, not {probability}: netem mixes draws, and \
         a mixture is rarely near 0 or 1; {remedy}"
    );
    Some(ImpairmentWarning { key, rule })
}

/// In per cent, to two digits.
fn per_cent(share: Ratio) -> String {
    let parts = rounded(share).as_parts_per_billion();
    let text = format!("{}.{:07}", parts / 10_000_000, parts % 10_000_000);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The share to two digits.
fn rounded(share: Ratio) -> Ratio {
    let parts = share.as_parts_per_billion();
    let unit = 10_u64.pow(parts.checked_ilog10().unwrap_or(0).saturating_sub(1));
    Ratio::from_parts_per_billion((parts + unit / 2) / unit * unit)
}

/// Two states that lose the share that was meant, in bursts as long as a repetition of such a probability makes them.
fn gemodel_instead(probability: Ratio, correlation: Ratio) -> String {
    let whole = Ratio::ONE.as_parts_per_billion();
    let back = whole.saturating_sub(correlation.as_parts_per_billion());
    let lost = probability.as_parts_per_billion();
    let kept = whole.saturating_sub(lost).max(1);
    let into = u128::from(back) * u128::from(lost) / u128::from(kept);
    let into = Ratio::from_parts_per_billion(u64::try_from(into).unwrap_or(whole).min(whole));
    let (into, back) = (rounded(into), Ratio::from_parts_per_billion(back));
    let text = |ratio: Ratio| ratio.to_string().replace(' ', "");
    format!("loss gemodel {} {} loses {probability} in bursts", text(into), text(back))
}

/// What is left of the whole.
pub(crate) fn rest_of(share: Ratio) -> Ratio {
    let whole = Ratio::ONE.as_parts_per_billion();
    Ratio::from_parts_per_billion(whole.saturating_sub(share.as_parts_per_billion()))
}

/// What holds for every share.
const SHARE: &str = "it must be at most 100 %";

fn is_share(ratio: Ratio) -> bool {
    ratio <= Ratio::ONE
}

impl Loss {
    /// Four states, with what `tc` takes for probabilities that are left out.
    pub fn four_states(p13: Ratio, [p31, p32, p23, p14]: [Option<Ratio>; 4]) -> Self {
        Self::State {
            p13,
            p31: p31.unwrap_or(rest_of(p13)),
            p32: p32.unwrap_or_default(),
            p23: p23.unwrap_or(Ratio::ONE),
            p14: p14.unwrap_or_default(),
        }
    }

    fn errors(&self) -> Vec<ImpairmentError> {
        let shares: Vec<(Ratio, &'static str)> = match self {
            Self::Random { probability, correlation } => {
                vec![(*probability, "loss.probability"), (*correlation, "loss.correlation")]
            }
            Self::Gemodel { p, r, bad_loss, good_loss } => vec![
                (*p, "loss.p"),
                (*r, "loss.r"),
                (*bad_loss, "loss.bad_loss"),
                (*good_loss, "loss.good_loss"),
            ],
            Self::State { p13, p31, p32, p23, p14 } => {
                return state_errors([*p13, *p31, *p32, *p23, *p14]);
            }
            Self::Recorded { lost } => {
                let rule = "a loss record needs at least one packet";
                let error = ImpairmentError { key: "loss.lost", rule };
                return if lost.is_empty() { vec![error] } else { Vec::new() };
            }
            Self::Packets { numbers } => {
                let rule = "the numbers of lost packets must begin at 1 or more and rise";
                let error = ImpairmentError { key: "loss.numbers", rule };
                let is_well = numbers.first().is_some_and(|first| *first > 0)
                    && numbers.is_sorted_by(|one, next| one < next);
                return if is_well { Vec::new() } else { vec![error] };
            }
        };
        let wrong = shares.into_iter().filter(|(ratio, _)| !is_share(*ratio));
        wrong.map(|(_, key)| ImpairmentError { key, rule: SHARE }).collect()
    }
}

/// Errors of the model with four states, by its probabilities in the order of netem.
fn state_errors([p13, p31, p32, p23, p14]: [Ratio; 5]) -> Vec<ImpairmentError> {
    let all = [
        (p13, "loss.p13"),
        (p31, "loss.p31"),
        (p32, "loss.p32"),
        (p23, "loss.p23"),
        (p14, "loss.p14"),
    ];
    let wrong = all.into_iter().filter(|(ratio, _)| !is_share(*ratio));
    let mut errors: Vec<_> = wrong.map(|(_, key)| ImpairmentError { key, rule: SHARE }).collect();
    let sums = [
        (
            p13,
            p14,
            "loss.p14",
            "p13 and p14, the ways out of state 1, must together be at most 100 %",
        ),
        (
            p31,
            p32,
            "loss.p32",
            "p31 and p32, the ways out of state 3, must together be at most 100 %",
        ),
    ];
    for (one, other, key, rule) in sums {
        let sum = one.as_parts_per_billion().saturating_add(other.as_parts_per_billion());
        if is_share(one) && is_share(other) && !is_share(Ratio::from_parts_per_billion(sum)) {
            errors.push(ImpairmentError { key, rule });
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_errors_are_reported_together() {
        let twice = Ratio::from_parts_per_billion(2_000_000_000);
        let impairments = Impairments {
            delay: Span::ZERO,
            delay_steps: vec![DelayStep { duration: Span::ZERO, delay: Span::ZERO, outage: false }],
            jitter: Some(Jitter {
                deviation: Span::from_millis(1),
                distribution: JitterDistribution::Table,
                table: Vec::new(),
                correlation: Ratio::ZERO,
                keep_order: false,
            }),
            loss: Some(Loss::Recorded { lost: Vec::new() }),
            duplicate: Some(Chance { probability: twice, correlation: Ratio::ZERO }),
            corrupt: None,
            reorder: Some(Reorder { probability: Ratio::ONE, correlation: Ratio::ZERO, gap: 0 }),
            slot: Some(Slot {
                min_delay: Span::from_millis(2),
                max_delay: Span::from_millis(1),
                packets: Some(0),
                bytes: None,
            }),
        };
        for numbers in [vec![], vec![0, 1], vec![3, 3], vec![4, 2]] {
            let keys: Vec<&str> =
                Loss::Packets { numbers }.errors().iter().map(|error| error.key).collect();
            assert_eq!(keys, ["loss.numbers"]);
        }
        assert_eq!(Loss::Packets { numbers: vec![1, 7] }.errors(), []);
        let keys: Vec<&str> = impairments.errors().iter().map(|error| error.key).collect();
        assert_eq!(
            keys,
            [
                "duplicate.probability",
                "reorder.gap",
                "jitter.table",
                "delay_steps",
                "slot.max_delay",
                "slot.packets",
                "loss.lost",
            ]
        );
        assert_eq!(Impairments::default().errors(), []);
    }

    fn ratio(text: &str) -> Ratio {
        text.parse().unwrap()
    }

    fn rules(impairments: &Impairments) -> Vec<String> {
        impairments.warnings().into_iter().map(|odd| format!("{}: {}", odd.key, odd.rule)).collect()
    }

    #[test]
    fn correlated_loss_warning_gives_real_ratio() {
        let (probability, correlation) = (ratio("2 %"), ratio("25 %"));
        let loss = Some(Loss::Random { probability, correlation });
        let [rule] = &rules(&Impairments { loss, ..Impairments::default() })[..] else { panic!() };
        assert!(
            rule.starts_with(
                "loss: with a correlation of 25 %, 0.0057 % of the packets are lost, not 2 %"
            ),
            "{rule}"
        );
        // Into the bad state with 0.02 (1 - 0.25) / 0.98.
        assert!(rule.ends_with("loss gemodel 1.5% 75% loses 2 % in bursts"), "{rule}");
        let alone = Some(Loss::Random { probability, correlation: Ratio::ZERO });
        assert_eq!(
            rules(&Impairments { loss: alone, ..Impairments::default() }),
            Vec::<String>::new()
        );
    }

    #[test]
    fn ways_out_of_a_state_are_at_most_all() {
        let keys = |[p13, p31, p32, p23, p14]: [&str; 5]| -> Vec<&str> {
            let loss = Loss::State {
                p13: ratio(p13),
                p31: ratio(p31),
                p32: ratio(p32),
                p23: ratio(p23),
                p14: ratio(p14),
            };
            loss.errors().into_iter().map(|error| error.key).collect()
        };
        assert_eq!(keys(["60 %", "50 %", "50 %", "100 %", "40 %"]), Vec::<&str>::new());
        assert_eq!(keys(["60 %", "50 %", "51 %", "100 %", "41 %"]), ["loss.p14", "loss.p32"]);
        assert_eq!(keys(["101 %", "50 %", "0 %", "200 %", "41 %"]), ["loss.p13", "loss.p23"]);
    }

    #[test]
    fn reordering_without_a_delay_to_skip_is_odd() {
        let reorder =
            Some(Reorder { probability: ratio("25 %"), correlation: Ratio::ZERO, gap: 1 });
        let without = Impairments { reorder, ..Impairments::default() };
        assert!(rules(&without)[0].contains("nothing is reordered"));
        let with = Impairments { delay: Span::from_millis(10), ..without };
        assert_eq!(rules(&with), Vec::<String>::new());
    }

    #[test]
    fn an_outage_without_an_end_is_odd() {
        let step = |seconds, outage| DelayStep {
            duration: Span::from_secs(seconds),
            delay: Span::ZERO,
            outage,
        };
        let of = |delay_steps| rules(&Impairments { delay_steps, ..Impairments::default() });
        for endless in [vec![step(1, true)], vec![step(1, true), step(0, false), step(2, true)]] {
            let [rule] = &of(endless)[..] else { panic!("one rule") };
            assert!(rule.starts_with("delay_steps: every step that lasts is an outage"), "{rule}");
        }
        for ending in [vec![], vec![step(1, false)], vec![step(9, true), step(1, false)]] {
            assert_eq!(of(ending), Vec::<String>::new());
        }
    }
}
