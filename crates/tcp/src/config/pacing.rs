//! How evenly data leaves.

/// Data leaves at a rate, not in bursts (Linux `sk_pacing_status`, `tcp_update_pacing_rate`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pacing {
    /// Bundles wait until the one before would be through at the rate. In Linux: once the
    /// application has set a greatest rate, or where the congestion control asks for it.
    pub enabled: bool,
    /// The application's bound on the rate in bytes per second (`SO_MAX_PACING_RATE`); `None` for no
    /// bound. The size of bundles follows it too.
    pub greatest_bytes_per_second: Option<u64>,
    /// The rate in slow start, in percent of a window per smoothed round trip (Linux
    /// `tcp_pacing_ss_ratio`).
    pub slow_start_percent: u16,
    /// The rate from half the slow-start threshold on (Linux `tcp_pacing_ca_ratio`).
    pub avoidance_percent: u16,
    /// The bundle with which so many segments of data were sent is the first that the next one waits
    /// for.
    pub unpaced_segments: u32,
}

impl Pacing {
    /// As Linux since 4.13; off until it is asked for.
    pub const LINUX: Self = Self {
        enabled: false,
        greatest_bytes_per_second: None,
        slow_start_percent: 200,
        avoidance_percent: 120,
        unpaced_segments: 10,
    };
}
