//! What the hosts remember of their connections for the next ones to the same peer.

use fairwind_units::{Ratio, Span};
use serde::{Deserialize, Serialize};

/// How a host shares what its connections found out.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SharingPolicy {
    /// Not at all.
    #[default]
    Off,
    /// A list of peers with their largest windows, from which connections begin (Hartmann and Bestavros, 1998).
    Classic,
    /// Round trip, threshold and window, for later connections and among those that are open (RFC 9040).
    Rfc9040,
    /// As Linux does (`tcp_metrics`): the first time-out and reordering, but no window to begin with.
    TcpMetrics,
    /// Half of a saved window, paced, once the path is known to be the same, with a way back (RFC 9959).
    CarefulResume,
}

impl SharingPolicy {
    /// All, in the order of the documentation.
    pub const ALL: [Self; 5] =
        [Self::Off, Self::Classic, Self::Rfc9040, Self::TcpMetrics, Self::CarefulResume];

    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Classic => "classic",
            Self::Rfc9040 => "rfc9040",
            Self::TcpMetrics => "tcp-metrics",
            Self::CarefulResume => "careful-resume",
        }
    }
}

/// Which connections take up what is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SharedOpenings {
    /// Those that the peer opens.
    Incoming,
    /// All.
    All,
}

/// When a connection tells what it has found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Collection {
    /// When the application closes it, even if much is still to be sent.
    Close,
    /// When all that it sent is acknowledged.
    End,
}

/// How far a remembered window is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Connections begin with it.
    Exact,
    /// Connections begin with half of it, paced, and one that lost packets halves what is remembered.
    Safe,
}

/// What a host remembers of its connections. The memory is the host's: groups that run on the same host
/// and share say the same.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Sharing {
    /// What is remembered, and what becomes of it.
    pub policy: SharingPolicy,
    /// How long something is believed (`LIFETIME_WIND`); 10 minutes, or an hour with `tcp-metrics`, unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Span>,
    /// How many peers are remembered (`MAX_WINDLIST`); 1000 unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub entries: Option<u32>,
    /// Which connections take up what is remembered; `classic` those that the peer opens, the others all,
    /// unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openings: Option<SharedOpenings>,
    /// When a connection tells what it has found out; `classic` that is trusted exactly when it is closed, everybody
    /// else when all is acknowledged, unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collect: Option<Collection>,
    /// Connections tell so often while they are open, too; never unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_every: Option<Span>,
    /// How far a window that was smaller than the remembered one pulls it down: 0 % is the report's rule, by
    /// which the largest one stays, 100 % remembers the last one; only with `classic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgetfulness: Option<Ratio>,
    /// How far a remembered window is trusted (`exact`); only with `classic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Segments that a connection begins with or jumps to at most; unlimited unless said. Not with `tcp-metrics`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub largest_window: Option<u32>,
    /// Connections that are open at the same time share their windows, too (RFC 9040 section 7); only with
    /// `rfc9040`, which does so unless it is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ensemble: Option<bool>,
    /// Connections begin with the saved threshold (`tcp_no_ssthresh_metrics_save` = 0, as before Linux 5.6); only with
    /// `tcp-metrics`, which does not unless it is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub save_threshold: Option<bool>,
    /// Share of what the path was seen to carry that is the threshold after a retreat (50 %), from 50 % to 100 %;
    /// only with `careful-resume`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retreat: Option<Ratio>,
    /// When hosts begin to remember and to use what they remember; at the beginning unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture_from: Option<Span>,
    /// When they stop, and forget all; never unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture_until: Option<Span>,
}

impl Sharing {
    /// When a connection tells what it has found out with `classic`. Bounded trust waits for losses, which come after an
    /// application has closed the connection, too.
    pub fn classic_collection(&self) -> Collection {
        self.collect.unwrap_or(match self.trust {
            Some(Trust::Safe) => Collection::End,
            Some(Trust::Exact) | None => Collection::Close,
        })
    }
}
