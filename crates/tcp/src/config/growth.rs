//! How the congestion window grows, beyond the choice of an algorithm.

/// Switches of window growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// CUBIC leaves slow start before a loss, when acknowledgments come in long trains or later than
    /// they did (`HyStart` of Linux since 2.6.29, `hystart_update`; cf. RFC 9406).
    pub hystart: bool,
    /// New data waits while more is in flight than the estimated bandwidth-delay product and two
    /// segments (FreeBSD 4.7 to 6, `tcp_xmit_bandwidth_limit`).
    pub inflight_limit: bool,
    /// The host remembers what its connections find out: they tell of what matters to that
    /// ([`WindowCache`](crate::WindowCache)).
    pub shares: bool,
}

impl Growth {
    /// Slow start ends with a loss.
    pub const fn rfc() -> Self {
        Self { hystart: false, inflight_limit: false, shares: false }
    }

    /// Linux since 2.6.29.
    pub const fn linux() -> Self {
        Self { hystart: true, ..Self::rfc() }
    }
}
