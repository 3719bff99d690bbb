//! When events are due, and whether they were on time.

use super::settings::Settings;
use crate::outcome::{Step, Stop};
use crate::script::{EventTime, decimal};
use fairwind_units::{Instant, Span};

/// Whether an event is a packet that the script injects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Injection,
    Other,
}

/// The times of the script so far.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// When the script began.
    origin: Instant,
    /// When the last event should have happened, and when it did.
    scripted: Instant,
    happened: Instant,
    kind: Kind,
}

/// When an event is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) earliest: Instant,
    pub(crate) latest: Instant,
    tolerance: Span,
    /// How much later still the system's own timers may make it.
    lag: Span,
}

impl Due {
    /// The latest instant at which the event would still be on time.
    pub(crate) fn limit(&self) -> Instant {
        self.latest + self.tolerance + self.lag
    }

    /// The same for what a system does by itself, whose timers may run out later by `lag`.
    pub(crate) fn with_lag(self, lag: Span) -> Self {
        Self { lag, ..self }
    }
}

impl Timeline {
    pub(crate) fn new(origin: Instant) -> Self {
        Self { origin, scripted: origin, happened: origin, kind: Kind::Other }
    }

    /// Time since the script began.
    pub(crate) fn elapsed(&self, at: Instant) -> Span {
        at.saturating_since(self.origin)
    }

    /// What a relative time counts from: when the event before really happened, but when it should
    /// have happened between two injections.
    fn base(&self, kind: Kind) -> Instant {
        if kind == Kind::Injection && self.kind == Kind::Injection {
            self.scripted
        } else {
            self.happened
        }
    }

    /// When an event of this time is due; `None` for any time.
    pub(crate) fn due(&self, time: EventTime, kind: Kind, settings: &Settings) -> Option<Due> {
        let base = self.base(kind);
        let (earliest, latest) = match time {
            EventTime::Any => return None,
            EventTime::Absolute(at) => (self.origin + at, self.origin + at),
            EventTime::Relative(after) => (base + after, base + after),
            EventTime::AbsoluteRange(from, to) => (self.origin + from, self.origin + to),
            EventTime::RelativeRange(from, to) => (base + from, base + to),
        };
        let tolerance = settings.tolerance_after(earliest.saturating_since(self.happened));
        Some(Due { earliest, latest, tolerance, lag: Span::ZERO })
    }

    /// When a blocking call that began with an event of this time is due to return.
    pub(crate) fn due_end(&self, time: EventTime, end: Span, settings: &Settings) -> Due {
        let (base, begin) = match time {
            EventTime::Absolute(at) | EventTime::AbsoluteRange(at, _) => (self.origin, at),
            EventTime::Relative(after) | EventTime::RelativeRange(after, _) => {
                (self.base(Kind::Other), after)
            }
            EventTime::Any => (self.happened, Span::ZERO),
        };
        let tolerance = settings.tolerance_after(end.saturating_sub(begin));
        Due { earliest: base + end, latest: base + end, tolerance, lag: Span::ZERO }
    }

    /// Notes that an event has happened.
    pub(crate) fn note(&mut self, due: Option<Due>, happened: Instant, kind: Kind) {
        self.scripted = due.map_or(happened, |due| due.earliest);
        self.happened = happened;
        self.kind = kind;
    }

    /// Judges when something happened.
    pub(crate) fn judge(&self, due: Due, happened: Instant) -> Step<()> {
        let early = happened + due.tolerance < due.earliest;
        if !early && happened <= due.limit() {
            return Ok(());
        }
        let at = |instant| decimal(self.elapsed(instant));
        let expected = if due.earliest == due.latest {
            at(due.earliest)
        } else {
            format!("{} to {}", at(due.earliest), at(due.latest))
        };
        Err(Stop::failed(format!(
            "the time: expected {expected} s, seen {} s (tolerance {} s)",
            at(happened),
            decimal(if early { due.tolerance } else { due.tolerance + due.lag })
        )))
    }
}
