//! How long an endpoint bears with a peer that does not answer, or answers with a closed window.

use fairwind_units::Span;

/// Asking whether a silent peer is still there (RFC 9293 §3.8.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// Whether that is done at all (`SO_KEEPALIVE`).
    pub enabled: bool,
    /// Silence before the first probe (`TCP_KEEPIDLE`).
    pub idle: Span,
    /// Time between probes (`TCP_KEEPINTVL`).
    pub interval: Span,
    /// Probes without an answer before the connection is given up (`TCP_KEEPCNT`).
    pub probes: u32,
}

/// When a closed window is probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeRule {
    /// A time-out after the window closed, then at doubling intervals (RFC 9293 §3.8.6.1).
    Rfc,
    /// The same; every answer that leaves the window closed begins the interval anew, which is at
    /// least 200 ms (Linux `tcp_ack_probe`, `tcp_probe0_when`).
    Linux,
}

/// Limits of patience.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Whether and when a silent peer is asked.
    pub keep_alive: KeepAlive,
    /// Longest time that data may stay unacknowledged, or a window closed, in place of the count of
    /// attempts (`TCP_USER_TIMEOUT`, RFC 5482).
    pub user_timeout: Option<Span>,
    /// When a closed window is probed.
    pub probe_rule: ProbeRule,
    /// Time-outs, counted in time as [`Config::retransmission_limit`](crate::Config), after which
    /// the path is suspected (Linux `tcp_retries1`, RFC 1122 §4.2.3.5 R1).
    pub suspicion_limit: u32,
    /// Attempts for a connection whose application has gone, in place of
    /// [`Config::retransmission_limit`](crate::Config); 0 for eight as long as time-outs are below the
    /// greatest, then none (Linux `tcp_orphan_retries`). `None`: no difference.
    pub orphan_limit: Option<u32>,
}

impl KeepAlive {
    /// Not at all, else two hours, 75 s, nine probes (RFC 1122 §4.2.3.6; Linux `tcp_keepalive_time` and others).
    pub const DEFAULT: Self = Self {
        enabled: false,
        idle: Span::from_secs(7200),
        interval: Span::from_secs(75),
        probes: 9,
    };
}

impl Patience {
    /// Nothing but what RFC 9293 demands.
    pub const fn rfc() -> Self {
        Self {
            keep_alive: KeepAlive::DEFAULT,
            user_timeout: None,
            probe_rule: ProbeRule::Rfc,
            suspicion_limit: 3,
            orphan_limit: None,
        }
    }

    /// As Linux of all eras.
    pub const fn linux() -> Self {
        Self { probe_rule: ProbeRule::Linux, orphan_limit: Some(0), ..Self::rfc() }
    }
}
