//! What a host's memory is told.

use fairwind_units::{Ratio, Span};

/// Which connections take up what is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Openings {
    /// Those that the peer opens.
    Incoming,
    /// All.
    All,
}

/// When a connection tells what it has found out, beside samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection {
    /// When the application closes it (`tcp_close` and `tcp_shutdown` of the report's kernel), even if much is still to be sent.
    Close,
    /// When all that it sent is acknowledged (Linux `tcp_update_metrics`).
    End,
}

/// A host's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sharing {
    /// How long something is believed (`LIFETIME_WIND` of the report, which does not say how long).
    pub lifetime: Span,
    /// How many peers are remembered (`MAX_WINDLIST` of the report, which does not say how many).
    pub entries: usize,
    /// Which connections take up what is remembered.
    pub openings: Openings,
    /// When connections tell.
    pub collection: Collection,
    /// What is remembered, and what becomes of it.
    pub policy: PolicyConfig,
}

/// A policy with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyConfig {
    /// A list of peers with their largest windows.
    Classic(ClassicConfig),
    /// RFC 9040.
    Interdependence(Interdependence),
    /// Linux `tcp_metrics`.
    Metrics(MetricsConfig),
    /// RFC 9959.
    CarefulResume(CarefulResumeConfig),
}

/// How far a remembered window is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Connections begin with it.
    Exact,
    /// Connections begin with half of it, paced, and one that lost packets halves what is remembered.
    Safe,
}

/// Parameters of the report's list, and of what its authors thought of for later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassicConfig {
    /// How far a remembered window is trusted.
    pub trust: Trust,
    /// How far a smaller window pulls the remembered one down: nothing is the report's rule.
    pub forgetfulness: Ratio,
    /// Segments that a connection begins with at most; `None` for as many as are remembered.
    pub largest_window: Option<u32>,
}

/// Parameters of the sharing of RFC 9040.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interdependence {
    /// Connections that are open at the same time share their windows (RFC 9040 §7).
    pub ensemble: bool,
    /// Segments that a connection begins with at most; `None` for as many as are remembered.
    pub largest_window: Option<u32>,
}

/// Parameters of Linux' metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricsConfig {
    /// The threshold is used (`tcp_no_ssthresh_metrics_save` = 0, as it was before Linux 5.6).
    pub threshold: bool,
}

/// Parameters of RFC 9959.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarefulResumeConfig {
    /// Segments that a connection jumps to at most (`max_jump`); `None` for half of what is saved.
    pub largest_jump: Option<u32>,
    /// Share of what the path was seen to carry that is the threshold after a retreat (Beta).
    pub retreat: Ratio,
}

impl ClassicConfig {
    /// The report's mechanism.
    pub const REPORT: Self =
        Self { trust: Trust::Exact, forgetfulness: Ratio::ZERO, largest_window: None };

    /// The same with a bound on trust.
    pub const SAFE: Self = Self { trust: Trust::Safe, ..Self::REPORT };
}

impl CarefulResumeConfig {
    /// The values of RFC 9959 §2.4: Beta is one half; jumps have no limit of their own.
    pub const USUAL: Self =
        Self { largest_jump: None, retreat: Ratio::from_parts_per_billion(500_000_000) };
}

impl Sharing {
    /// How long something is believed where nothing else is said: minutes, as RFC 9959 §4.3.1 asks for on paths
    /// that may change. The report does not give its own.
    pub const USUAL_LIFETIME: Span = Span::from_secs(600);

    /// How long Linux believes metrics (`TCP_METRICS_TIMEOUT`).
    pub const LIFETIME_OF_METRICS: Span = Span::from_secs(3600);

    /// How many peers are remembered where nothing else is said. The report does not give its own.
    pub const USUAL_ENTRIES: usize = 1000;

    /// A policy with what is usual for it: the report collects at close and serves incoming connections.
    pub fn usual(policy: PolicyConfig) -> Self {
        let is_classic = matches!(policy, PolicyConfig::Classic(_));
        let is_metrics = matches!(policy, PolicyConfig::Metrics(_));
        Self {
            lifetime: if is_metrics { Self::LIFETIME_OF_METRICS } else { Self::USUAL_LIFETIME },
            entries: Self::USUAL_ENTRIES,
            openings: if is_classic { Openings::Incoming } else { Openings::All },
            collection: if is_classic { Collection::Close } else { Collection::End },
            policy,
        }
    }
}
