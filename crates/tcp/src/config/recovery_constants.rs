//! Constants of loss recovery, and which streams count as thin.

use fairwind_units::{Ratio, Span};

/// Which streams are thin, so that mechanisms for thin streams act on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinStreams {
    /// Those with few segments outstanding, once a loss has ended the initial slow start (Linux
    /// `tcp_stream_is_thin`).
    FewOutstanding {
        /// A stream is thin while fewer segments are outstanding.
        below: u32,
    },
    /// Those whose window is not the limit: in the round trip before the recovery, the congestion window
    /// did not hold back data (Linux `is_cwnd_limited`; cf. RFC 7661 §4.3).
    ApplicationLimited,
    /// All.
    All,
}

/// Limits of the mechanisms for thin streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinRecovery {
    /// Which streams are thin.
    pub streams: ThinStreams,
    /// Maximum time-outs in a row without back-off (`TCP_THIN_LINEAR_RETRIES`), with
    /// [`Config::linear_timeouts`](crate::Config::linear_timeouts).
    pub linear_retries: u32,
    /// Duplicate ACKs that suffice, with
    /// [`Config::modified_fast_retransmit`](crate::Config::modified_fast_retransmit).
    pub duplicate_threshold: u32,
    /// Constants that hold while a stream is thin; `None` for those of all streams.
    pub constants: Option<RecoveryConstants>,
}

impl ThinRecovery {
    /// Linux: fewer than four segments, six linear time-outs, one duplicate.
    pub const LINUX: Self = Self {
        streams: ThinStreams::FewOutstanding { below: 4 },
        linear_retries: 6,
        duplicate_threshold: 1,
        constants: None,
    };
}

/// Constants of loss recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoveryConstants {
    /// Factor of each time-out to the one before it (RFC 6298 §5.5: 2).
    pub backoff_factor: Factor,
    /// Smoothed round trips before a tail loss probe (RFC 8985 §7.2: 2).
    pub probe_factor: Factor,
    /// Allowance for a delayed acknowledgment, for a probe with one segment outstanding (RFC 8985 §7.2,
    /// `TLP.max_ack_delay`); `None` for the minimum time-out, as in Linux, or 200 ms up to Linux 3.10.
    pub probe_ack_delay: Option<Span>,
    /// Part of the minimum round trip that RACK waits for reordered segments, at first and for each step
    /// (RFC 8985 §6.2 step 4: 1/4).
    pub reordering_window: Factor,
}

impl RecoveryConstants {
    /// Those of the RFCs, which Linux has, too.
    pub const RFC: Self = Self {
        backoff_factor: Factor::TWO,
        probe_factor: Factor::TWO,
        probe_ack_delay: None,
        reordering_window: Factor::QUARTER,
    };
}

/// A factor of times, below 2^24, in steps of 2^-40.
///
/// ```
/// use fairwind_tcp::Factor;
/// use fairwind_units::{Ratio, Span};
///
/// let factor = Factor::from_ratio(Ratio::from_parts_per_billion(1_100_000_000));
/// assert_eq!(factor.of(Span::from_millis(300)), Span::from_millis(330));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factor(u64);

/// Bits of a factor after the point.
const FRACTION_BITS: u32 = 40;
const PARTS: u128 = 1_000_000_000;

impl Factor {
    /// Twice.
    pub const TWO: Self = Self(2 << FRACTION_BITS);
    /// A quarter.
    pub const QUARTER: Self = Self(1 << (FRACTION_BITS - 2));

    /// So many times; the largest factor if it is more.
    pub fn from_ratio(ratio: Ratio) -> Self {
        // Rounded up, so that a product without a remainder is exact.
        let bits = (u128::from(ratio.as_parts_per_billion()) << FRACTION_BITS).div_ceil(PARTS);
        Self(u64::try_from(bits).unwrap_or(u64::MAX))
    }

    /// The product with a time, rounded down to nanoseconds; at most [`Span::MAX`].
    #[inline]
    pub fn of(self, span: Span) -> Span {
        let product = (u128::from(span.as_nanos()) * u128::from(self.0)) >> FRACTION_BITS;
        Span::from_nanos(u64::try_from(product).unwrap_or(u64::MAX))
    }

    /// The time of which `span` is the product.
    pub(crate) fn divide(self, span: Span) -> Span {
        let quotient = (u128::from(span.as_nanos()) << FRACTION_BITS) / u128::from(self.0.max(1));
        Span::from_nanos(u64::try_from(quotient).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Up to a minute and a factor of four in steps of a thousandth.
        #[test]
        fn factor_multiplies_and_divides(nanos in 0..60_000_000_000_u64, thousandths in 1..4_000_u64) {
            let factor = Factor::from_ratio(Ratio::from_parts_per_billion(thousandths * 1_000_000));
            let product = factor.of(Span::from_nanos(nanos)).as_nanos();
            let exact = nanos * thousandths / 1000;
            prop_assert!((exact..=exact + 1).contains(&product), "{} for {}", product, exact);
            // Up to a quarter of an hour, what divides evenly is exact.
            let nanos = nanos / 100;
            let whole = factor.of(Span::from_nanos(nanos * 1000));
            prop_assert_eq!(whole.as_nanos(), nanos * thousandths);
        }

        #[test]
        fn usual_factors_equal_integer_arithmetic(nanos in 0..u64::MAX / 2) {
            let span = Span::from_nanos(nanos);
            prop_assert_eq!(Factor::TWO.of(span), span * 2);
            prop_assert_eq!(Factor::TWO.divide(span), span / 2);
            prop_assert_eq!(Factor::QUARTER.of(span), span / 4);
        }
    }

    #[test]
    fn large_products_saturate() {
        let factor = Factor::from_ratio(Ratio::from_parts_per_billion(u64::MAX));
        assert_eq!(factor.of(Span::MAX), Span::MAX);
        assert_eq!(Factor::TWO.divide(Span::MAX), Span::MAX / 2);
    }
}
