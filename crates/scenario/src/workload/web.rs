//! What is usual of web pages: the model of the cellular standards (3GPP2 C.R1002-0 v1.0, 2004, table
//! 2.1.3.3-2; 3GPP TR 25.892, annex A.2.1.1 has the same), which is bounded and needs no other source.
//!
//! The number of embedded objects is `x - 2` there, `x` being of a Pareto law with shape 1.1 and least
//! value 2 whose draws above 55 are made 55; its mean is 5.64. Here it is a table of the quantiles of that
//! law, between which it is straight; its mean is 5.8.

use crate::{Distribution, Quantile, Varying};
use fairwind_units::{ByteCount, Ratio, Span};

/// 350 B.
pub(super) fn request() -> Varying<ByteCount> {
    Varying::Constant(ByteCount::new(350))
}

/// Lognormal, between 100 B and 2 MB.
pub(super) fn main_object() -> Varying<ByteCount> {
    object(10_710, 25_032, 100)
}

/// Lognormal, between 50 B and 2 MB.
pub(super) fn embedded_object() -> Varying<ByteCount> {
    object(7758, 126_168, 50)
}

fn object(mean: u64, deviation: u64, min: u64) -> Varying<ByteCount> {
    Varying::Drawn(Distribution::Lognormal {
        mean: ByteCount::new(mean),
        deviation: ByteCount::new(deviation),
        min: Some(ByteCount::new(min)),
        max: Some(ByteCount::new(2_000_000)),
    })
}

/// Shares in thousandths, and how many objects are embedded in as many pages at most.
const EMBEDDED_OBJECTS: [(u64, u32); 11] = [
    (0, 0),
    (360, 1),
    (533, 2),
    (635, 3),
    (748, 5),
    (830, 8),
    (891, 13),
    (932, 21),
    (958, 34),
    (974, 53),
    (1000, 53),
];

pub(super) fn embedded_objects() -> Varying<u32> {
    let quantile = |&(thousandths, value): &(u64, u32)| Quantile {
        share: Ratio::from_parts_per_billion(thousandths * 1_000_000),
        value,
    };
    let quantiles = EMBEDDED_OBJECTS.iter().map(quantile).collect();
    Varying::Drawn(Distribution::Empirical { quantiles, mean: None })
}

/// Exponential, 0.13 s on average.
pub(super) fn parsing_time() -> Varying<Span> {
    Varying::Drawn(Distribution::Exponential { mean: Span::from_millis(130) })
}

/// Exponential, 30 s on average.
pub(super) fn reading_time() -> Varying<Span> {
    Varying::Drawn(Distribution::Exponential { mean: Span::from_secs(30) })
}
