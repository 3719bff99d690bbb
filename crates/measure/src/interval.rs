//! Series of windows: differences of running totals between the windows' borders.
//!
//! Nothing is done per packet. When the first observation behind a border comes, the totals are still
//! those at the border, and what they grew since the last one belongs to the window. A window is
//! `[start, start + length)`; the first begins where the warm-up ends, and a last one that the run does
//! not fill is not reported.
//!
//! Scopes (groups and flows) are numbered as they come; one that comes in mid-run was not there in the
//! windows before, which are shorter by it.

use crate::flow::Totals;
use crate::settings::Settings;
use fairwind_units::{Instant, Span};

/// What a window counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct WindowCounts {
    pub(crate) packets_sent: u64,
    pub(crate) payload_bytes_retransmitted: u64,
    pub(crate) packets_lost: u64,
    pub(crate) wire_bytes_received: u64,
    pub(crate) payload_bytes_read: u64,
}

impl WindowCounts {
    pub(crate) const fn of(totals: &Totals) -> Self {
        Self {
            packets_sent: totals.packets_sent,
            payload_bytes_retransmitted: totals.payload_bytes_retransmitted,
            packets_lost: totals.packets_lost,
            wire_bytes_received: totals.wire_bytes_received,
            payload_bytes_read: totals.payload_bytes_read,
        }
    }

    pub(crate) const fn add(&mut self, other: &Self) {
        self.packets_sent += other.packets_sent;
        self.payload_bytes_retransmitted += other.payload_bytes_retransmitted;
        self.packets_lost += other.packets_lost;
        self.wire_bytes_received += other.wire_bytes_received;
        self.payload_bytes_read += other.payload_bytes_read;
    }

    const fn since(&self, before: &Self) -> Self {
        Self {
            packets_sent: self.packets_sent - before.packets_sent,
            payload_bytes_retransmitted: self.payload_bytes_retransmitted
                - before.payload_bytes_retransmitted,
            packets_lost: self.packets_lost - before.packets_lost,
            wire_bytes_received: self.wire_bytes_received - before.wire_bytes_received,
            payload_bytes_read: self.payload_bytes_read - before.payload_bytes_read,
        }
    }
}

/// The windows of one length, for every scope (group or flow).
#[derive(Debug, Clone)]
pub(crate) struct Series {
    length: Span,
    /// End of the window that is being filled.
    border: Instant,
    /// Totals of each scope at the last border.
    before: Vec<WindowCounts>,
    /// The windows so far, for each of them the scopes that there were at its end.
    windows: Vec<Box<[WindowCounts]>>,
}

impl Series {
    pub(crate) fn new(length: Span, begin: Instant, scopes: usize) -> Self {
        Self {
            length,
            border: begin + length,
            before: vec![WindowCounts::default(); scopes],
            windows: Vec::new(),
        }
    }

    pub(crate) const fn length(&self) -> Span {
        self.length
    }

    pub(crate) const fn border(&self) -> Instant {
        self.border
    }

    /// A scope is added, of which nothing has been counted yet.
    pub(crate) fn add_scope(&mut self) {
        self.before.push(WindowCounts::default());
    }

    /// Ends every window whose border is not after `until`, given the scopes' totals, to which
    /// nothing was added since the first of these borders.
    pub(crate) fn roll(&mut self, until: Instant, totals: &[WindowCounts]) {
        if self.border > until {
            return;
        }
        let grown = totals.iter().zip(&self.before).map(|(now, before)| now.since(before));
        self.windows.push(grown.collect());
        self.before.copy_from_slice(totals);
        self.border += self.length;
        while self.border <= until {
            self.windows.push(vec![WindowCounts::default(); totals.len()].into_boxed_slice());
            self.border += self.length;
        }
    }

    /// The windows in the order of time, each with its number and the counts of the scopes that
    /// there were.
    pub(crate) fn windows(&self) -> impl Iterator<Item = (u64, &[WindowCounts])> {
        (0..).zip(self.windows.iter().map(AsRef::as_ref))
    }
}

/// Which scope of the series is whose.
#[derive(Debug, Clone)]
pub(crate) struct Scopes {
    pub(crate) of_group: Vec<usize>,
    /// Empty where the series are not kept for each flow.
    pub(crate) of_flow: Vec<usize>,
    pub(crate) count: usize,
}

impl Scopes {
    /// The groups of `settings`, then perhaps the flows.
    pub(crate) fn of(settings: &Settings) -> Self {
        let groups = settings.groups.len();
        let count = groups + if settings.per_flow_intervals { settings.flows.len() } else { 0 };
        Self { of_group: (0..groups).collect(), of_flow: (groups..count).collect(), count }
    }

    /// The number of a scope that is added.
    pub(crate) const fn add(&mut self) -> usize {
        self.count += 1;
        self.count - 1
    }
}
