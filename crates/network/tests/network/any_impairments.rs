//! Random impairments: mostly none.

use fairwind_qdisc::{
    Chance, DelayStep, Impairments, Jitter, JitterDistribution, Loss, RateStep, RateTrace, Reorder,
    Slot,
};
use fairwind_units::{BitRate, Ratio, Span};
use proptest::prelude::*;

const THIRD: Ratio = Ratio::from_parts_per_billion(333_333_333);

/// None, or each with a chance of a half.
pub(crate) fn any_impairments() -> impl Strategy<Value = Impairments> {
    prop_oneof![3 => Just(Impairments::default()), 1 => some_impairments()]
}

/// Mostly no trace; else a short one of either form.
pub(crate) fn any_trace() -> impl Strategy<Value = Option<RateTrace>> {
    let step = |millis, rate| RateStep {
        duration: Span::from_millis(millis),
        rate: BitRate::from_bits_per_second(rate),
    };
    let steps = vec![step(1, 12_000_000), step(2, 0), step(1, 777_777)];
    prop_oneof![
        6 => Just(None),
        1 => Just(Some(RateTrace::Opportunities { milliseconds: vec![0, 2, 2, 7] })),
        1 => Just(Some(RateTrace::Steps { steps })),
    ]
}

/// Where neither overtaking nor slots are there; else nothing.
fn some_steps(reorder: bool, slot: bool) -> Vec<DelayStep> {
    let step = |millis| DelayStep {
        duration: Span::from_millis(millis),
        delay: Span::from_millis(millis * 3),
        outage: millis == 1,
    };
    if reorder == slot { vec![step(3), step(1)] } else { Vec::new() }
}

fn some_impairments() -> impl Strategy<Value = Impairments> {
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (any_jitter(), any_loss(), switches).prop_map(
        |(jitter, loss, (duplicate, corrupt, reorder, slot))| {
            let chance = Chance { probability: THIRD, correlation: THIRD };
            Impairments {
                delay: Span::from_millis(5),
                delay_steps: some_steps(reorder, slot),
                jitter,
                loss,
                duplicate: duplicate.then_some(chance),
                corrupt: corrupt.then_some(chance),
                reorder: reorder.then_some(Reorder {
                    probability: THIRD,
                    correlation: Ratio::ZERO,
                    gap: 2,
                }),
                slot: slot.then_some(Slot {
                    min_delay: Span::from_micros(10),
                    max_delay: Span::from_millis(20),
                    packets: Some(2),
                    bytes: Some(2000),
                }),
            }
        },
    )
}

fn any_jitter() -> impl Strategy<Value = Option<Jitter>> {
    let distribution = prop::sample::select(vec![
        JitterDistribution::Uniform,
        JitterDistribution::Normal,
        JitterDistribution::Pareto,
        JitterDistribution::Paretonormal,
        JitterDistribution::Table,
    ]);
    let jitter = (distribution, any::<bool>()).prop_map(|(distribution, keep_order)| Jitter {
        deviation: Span::from_millis(5),
        distribution,
        table: match distribution {
            JitterDistribution::Table => vec![-8192, 8192],
            _ => Vec::new(),
        },
        correlation: THIRD,
        keep_order,
    });
    prop::option::of(jitter)
}

fn any_loss() -> impl Strategy<Value = Option<Loss>> {
    prop::sample::select(vec![
        None,
        Some(Loss::Random { probability: THIRD, correlation: THIRD }),
        Some(Loss::Gemodel { p: THIRD, r: THIRD, bad_loss: THIRD, good_loss: Ratio::ZERO }),
        Some(Loss::State { p13: THIRD, p31: THIRD, p32: THIRD, p23: THIRD, p14: THIRD }),
        Some(Loss::Recorded { lost: vec![true, false, false] }),
        Some(Loss::Packets { numbers: vec![2, 3, 9] }),
    ])
}
