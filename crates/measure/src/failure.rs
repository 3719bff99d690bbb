//! Which flows are *problematic*: the network hardly serves them, so that their other measures say little.
//!
//! Source: the number of problematic connections is asked for in the thesis (table 4.1, "Too congested?"),
//! which defines it nowhere that can be read; so this is our definition, of what its authors counted beside
//! it: failed and repeated handshakes, and time-outs that follow one another. A flow is problematic if its
//! connection never came to be or was given up, if its SYN was sent again, if [`REPEATED_TIMEOUTS`] or more
//! time-outs came in a row, or if a write waited for [`LONG_WAIT`] or more. Each of these stands in a column
//! of its own, so that other bounds can be drawn from the same tables.

use crate::observation::FailureReason;
use fairwind_units::{Instant, Span};

/// So many time-outs in a row are a sign that the path has failed: threshold R1 of RFC 1122 §4.2.3.5, the
/// smallest that it allows.
pub(crate) const REPEATED_TIMEOUTS: u64 = 3;

/// After this wait users turn to something else (R. Miller's ten seconds, 1968).
pub(crate) const LONG_WAIT: Span = Span::from_secs(10);

/// A connection that was asked for more recently may still come to be: the first SYN is not given up earlier
/// (RFC 6298 §2.1).
pub(crate) const TIME_TO_BEGIN: Span = Span::from_secs(1);

/// When a flow first reached its stages. Warm-up does not hide them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Milestones {
    pub(crate) established: Option<Instant>,
    pub(crate) finished: Option<Instant>,
    pub(crate) failed: Option<(Instant, FailureReason)>,
}

impl Milestones {
    /// A connection that comes to be after a refusal was not given up then: its opener has asked again.
    pub(crate) fn establish(&mut self, at: Instant) {
        if self.established.is_none() {
            self.established = Some(at);
            self.failed = None;
        }
    }
}

/// What is followed of one flow; changes with time-outs and repeated SYNs only.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setbacks {
    /// Repeated SYNs, those of the warm-up included.
    syn_retries: u64,
    /// What was sent and acknowledged when the timer last expired.
    progress: Option<(u64, u64)>,
    in_a_row: u64,
    most_in_a_row: u64,
}

impl Setbacks {
    /// A SYN was sent again.
    pub(crate) const fn on_syn_retry(&mut self) {
        self.syn_retries += 1;
    }

    /// The retransmission timer expired. What counts as `progress` are new bytes sent, and stretches of new
    /// data that were acknowledged.
    pub(crate) fn on_timeout(&mut self, progress: (u64, u64)) {
        let goes_on = self.progress.replace(progress) == Some(progress);
        self.in_a_row = if goes_on { self.in_a_row + 1 } else { 1 };
        self.most_in_a_row = self.most_in_a_row.max(self.in_a_row);
    }

    /// Begins to count afresh, but for the set-up, which the warm-up does not hide.
    pub(crate) fn end_warmup(&mut self) {
        *self = Self { syn_retries: self.syn_retries, ..Self::default() };
    }
}

/// What went wrong with a flow that is over, or at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// The connection never came to be, or was given up.
    pub(crate) has_failed: bool,
    /// Its SYN was sent again.
    pub(crate) has_repeated_syn: bool,
    /// Most time-outs without anything new acknowledged in between.
    pub(crate) timeouts_in_a_row: u64,
    /// The longest that a write waited to be read whole, or has been waiting since; none of no writes.
    pub(crate) longest_wait: Option<Span>,
}

impl Trouble {
    /// `is_there`: the connection was not seen to begin, but it is there, or may come yet.
    pub(crate) fn of(
        setbacks: &Setbacks,
        milestones: &Milestones,
        is_there: bool,
        longest_wait: Option<Span>,
    ) -> Self {
        let never_came = milestones.established.is_none() && !is_there;
        Self {
            has_failed: never_came || milestones.failed.is_some(),
            has_repeated_syn: setbacks.syn_retries > 0,
            timeouts_in_a_row: setbacks.most_in_a_row,
            longest_wait,
        }
    }

    pub(crate) fn has_repeated_timeouts(&self) -> bool {
        self.timeouts_in_a_row >= REPEATED_TIMEOUTS
    }

    pub(crate) fn has_waited_long(&self) -> bool {
        self.longest_wait.is_some_and(|wait| wait >= LONG_WAIT)
    }

    pub(crate) fn is_problematic(&self) -> bool {
        self.has_failed
            || self.has_repeated_syn
            || self.has_repeated_timeouts()
            || self.has_waited_long()
    }
}

/// How many flows of a group had what trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Troubled {
    pub(crate) problematic: u64,
    pub(crate) failed: u64,
    pub(crate) with_repeated_syn: u64,
    pub(crate) with_repeated_timeouts: u64,
    pub(crate) with_long_waits: u64,
}

impl Troubled {
    /// Counts one more flow.
    pub(crate) fn add(&mut self, trouble: &Trouble) {
        self.problematic += u64::from(trouble.is_problematic());
        self.failed += u64::from(trouble.has_failed);
        self.with_repeated_syn += u64::from(trouble.has_repeated_syn);
        self.with_repeated_timeouts += u64::from(trouble.has_repeated_timeouts());
        self.with_long_waits += u64::from(trouble.has_waited_long());
    }
}
