//! Reno: slow start, additive increase, halving.
//!
//! Source: RFC 5681 §3.1, equations 2 to 4. Parameters: none.
//! Cost per ACK: a few additions.

use super::Window;

/// Standard TCP congestion control, which has no state beyond the window.
#[derive(Debug)]
pub(crate) struct Reno;

impl Reno {
    /// Half of `reduced`, at least two segments (RFC 5681 equation 4).
    pub(crate) fn ssthresh(reduced: u32) -> u32 {
        (reduced / 2).max(2)
    }

    #[inline]
    pub(crate) fn avoid_congestion(window: &mut Window, acknowledged: u32) {
        window.additive_increase(window.segments, acknowledged);
    }
}
