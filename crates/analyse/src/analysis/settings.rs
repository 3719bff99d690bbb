//! What is asked of an analysis.

use super::groups::GroupRule;
use super::translation::AddressTranslation;
use crate::connection::Vantage;
use crate::trace::TraceSettings;
use fairwind_measure::EmptyRowBudget;
use fairwind_units::{Instant, Span};

/// An instant of a capture, as people name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLimit {
    /// Since 1970.
    At(Instant),
    /// Since the first packet.
    Since(Span),
}

/// How the clocks of two captures go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockMode {
    /// The same one where both files say that this project wrote them; otherwise each its own.
    #[default]
    Auto,
    /// The same one: differences of times are taken as they are.
    Same,
    /// Each its own: offset and drift are estimated.
    Free,
}

/// What an analysis does.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which flows are in which group: the first rule that holds counts. What none holds for is in the group
    /// `other`; everything is in the group `all` where there are no rules.
    pub groups: Vec<GroupRule>,
    /// What times in tables count from; `None`: the first packet, or, in captures of our own, the beginning
    /// of the run.
    pub origin: Option<Instant>,
    /// How long after the origin nothing counts yet in the tables that a run has, too, though connections are
    /// already followed.
    pub warmup: Span,
    /// Nothing before this counts, as with the warm-up, though connections are already followed. Of those that
    /// are over by then nothing is told.
    pub from: Option<TimeLimit>,
    /// Nothing from this on is looked at; measured time ends here.
    pub until: Option<TimeLimit>,
    /// Of each connection, nothing counts before it has lasted so long.
    pub connection_from: Span,
    /// Of each connection, nothing counts once it has lasted so long.
    pub connection_until: Option<Span>,
    /// Which side the tap of a single capture is near.
    pub vantage: Vantage,
    /// How the clocks of two captures go.
    pub clock: ClockMode,
    /// Addresses that something between two taps translates.
    pub translations: Vec<AddressTranslation>,
    /// A connection that was silent for so long is over, and what follows is another one; `None`:
    /// silence ends nothing.
    pub idle_timeout: Option<Span>,
    /// So long may a set-up or a half-closed connection be silent before it is given up.
    pub half_open_timeout: Span,
    /// So long is a connection remembered after its end, for stragglers.
    pub linger: Span,
    /// Window lengths of the table `intervals`.
    pub intervals: Vec<Span>,
    /// Whether windows are kept for each flow, and not for each group only.
    pub per_flow_intervals: bool,
    /// How many rows silence may have in a series of windows, see [`EmptyRowBudget`]; `None`: all of it.
    pub max_empty_rows: Option<u64>,
    /// Percentiles of latencies, above 0 and up to 100.
    pub percentiles: Vec<f64>,
    /// So many of the longest waits are in the table `slowest`.
    pub slowest: usize,
    /// Which connections are traced for pictures, in the table `traces`; `None`: none.
    pub traces: Option<TraceSettings>,
}

impl Default for Settings {
    /// The whole capture, without windows; connections that are silent are kept.
    ///
    /// 130 s for half-open ones: Linux gives up an unanswered SYN after 127 s (six repetitions).
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            origin: None,
            warmup: Span::ZERO,
            from: None,
            until: None,
            connection_from: Span::ZERO,
            connection_until: None,
            vantage: Vantage::Auto,
            clock: ClockMode::Auto,
            translations: Vec::new(),
            idle_timeout: None,
            half_open_timeout: Span::from_secs(130),
            linger: Span::from_secs(2),
            intervals: Vec::new(),
            per_flow_intervals: false,
            max_empty_rows: Some(EmptyRowBudget::DEFAULT_ROWS),
            percentiles: fairwind_measure::Settings::default().percentiles,
            slowest: 100,
            traces: None,
        }
    }
}
