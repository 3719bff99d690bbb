//! Series of windows: differences of running totals between the windows' borders.
//!
//! Nothing is done per packet. When the first observation behind a border comes, the totals are still
//! those at the border, and what they grew since the last one belongs to the window. A window is
//! `[start, start + length)`; the first begins where the warm-up ends, and a last one that the run does
//! not fill is not reported.
//!
//! Scopes (groups and flows) are numbered as they come; one that comes in mid-run was not there in the
//! windows before, which are shorter by it. The scope of a flow that is retired serves another one
//! later: what it counted is set apart, from the window in which the flow came to the one in which it
//! was retired. Windows in which nothing happened at all take no memory of their own.

use crate::flow::Totals;
use crate::settings::{FlowDescription, Settings};
use fairwind_units::{Instant, Span};
use std::sync::Arc;

macro_rules! window_counts {
    ($($counter:ident),* $(,)?) => {
        /// Counters of a window, which are some of [`Totals`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub(crate) struct WindowCounts {
            $(pub(crate) $counter: u64,)*
        }

        impl WindowCounts {
            pub(crate) const fn of(totals: &Totals) -> Self {
                Self { $($counter: totals.$counter,)* }
            }

            pub(crate) const fn add(&mut self, other: &Self) {
                $(self.$counter += other.$counter;)*
            }

            /// Saturating: an observation of a flow after its end must not turn totals round.
            const fn since(&self, before: &Self) -> Self {
                Self { $($counter: self.$counter.saturating_sub(before.$counter),)* }
            }
        }
    };
}

window_counts! {
    packets_sent,
    wire_bytes_sent,
    payload_bytes_retransmitted,
    payload_bytes_bundled,
    packets_lost,
    wire_bytes_lost,
    packets_received,
    packets_marked,
    wire_bytes_received,
    payload_bytes_read,
}

/// A flow that is retired, as its windows know it.
#[derive(Debug)]
pub(crate) struct RetiredFlow {
    /// Its number in tables.
    pub(crate) number: u64,
    pub(crate) description: FlowDescription,
}

/// What a retired flow counted in one window.
#[derive(Debug, Clone)]
pub(crate) struct RetiredWindow {
    pub(crate) flow: Arc<RetiredFlow>,
    /// The window's number in its series.
    pub(crate) window: u64,
    pub(crate) counts: WindowCounts,
}

/// One scope of a series.
#[derive(Debug, Clone, Copy, Default)]
struct ScopeState {
    /// Its totals at the last border.
    before: WindowCounts,
    /// The first window that its present owner was there in.
    since: u64,
}

/// The windows of one length, for every scope (group or flow).
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) length: Span,
    /// Which windows in which nothing happened are kept.
    silence: EmptyRowBudget,
    /// End of the window that is being filled.
    pub(crate) border: Instant,
    /// Number of the window that is being filled.
    filling: u64,
    scopes: Vec<ScopeState>,
    /// The windows that ended and were not taken yet: for each its number and the counts of the
    /// scopes that there were at its end, or none where nothing happened.
    windows: Vec<(u64, Box<[WindowCounts]>)>,
    /// Windows of flows that were retired, also the one that is being filled.
    of_retired: Vec<RetiredWindow>,
}

impl Series {
    pub(crate) fn new(length: Span, settings: &Settings, scopes: usize) -> Self {
        Self {
            length,
            silence: EmptyRowBudget::with_rows(settings.max_empty_rows),
            border: settings.measured_from() + length,
            filling: 0,
            scopes: vec![ScopeState::default(); scopes],
            windows: Vec::new(),
            of_retired: Vec::new(),
        }
    }

    /// A scope is added, of which nothing has been counted yet.
    pub(crate) fn add_scope(&mut self) {
        self.scopes.push(self.fresh_scope());
    }

    /// A retired scope has a new owner, without counts so far.
    pub(crate) fn reuse_scope(&mut self, scope: usize) {
        self.scopes[scope] = self.fresh_scope();
    }

    fn fresh_scope(&self) -> ScopeState {
        ScopeState { before: WindowCounts::default(), since: self.filling }
    }

    /// Keeps the windows of a scope that has ended with these totals.
    pub(crate) fn retire_scope(
        &mut self,
        scope: usize,
        totals: &WindowCounts,
        flow: &Arc<RetiredFlow>,
    ) {
        let ScopeState { before, since } = self.scopes[scope];
        let set_apart = |window, counts| RetiredWindow { flow: Arc::clone(flow), window, counts };
        let first = self.windows.partition_point(|(number, _)| *number < since);
        let ended = self.windows[first..].iter();
        self.of_retired.extend(ended.map(|(number, counts)| {
            set_apart(*number, counts.get(scope).copied().unwrap_or_default())
        }));
        self.of_retired.push(set_apart(self.filling, totals.since(&before)));
        self.scopes[scope] = ScopeState { before: WindowCounts::default(), since: u64::MAX };
    }

    /// Ends every window that ends at `until` or before, given the scopes' totals, to which
    /// nothing was added since the first of these borders.
    pub(crate) fn roll(&mut self, until: Instant, totals: &[WindowCounts]) {
        if self.border > until || self.border == Instant::MAX {
            return;
        }
        self.silence.end();
        let grown = totals.iter().zip(&self.scopes).map(|(now, scope)| now.since(&scope.before));
        self.windows.push((self.filling, grown.collect()));
        for (scope, total) in self.scopes.iter_mut().zip(totals) {
            scope.before = *total;
        }
        self.filling += 1;
        self.border += self.length;
        if self.border <= until {
            self.roll_in_silence(until);
        }
    }

    /// Ends the windows up to `until`, in which nothing happened.
    fn roll_in_silence(&mut self, until: Instant) {
        let silent = until.saturating_since(self.border).as_nanos() / self.length.as_nanos() + 1;
        let rows = u64::try_from(self.scopes.len()).unwrap_or(u64::MAX);
        if self.silence.shows(silent, rows) {
            let numbers = self.filling..self.filling + silent;
            self.windows.extend(numbers.map(|number| (number, Box::default())));
        }
        self.filling += silent;
        self.border += self.length.saturating_mul(silent);
    }

    /// A packet is found lost, and is counted in `scope` as of now, that left so long after the first
    /// window began: the window in which it left counts it, unless it was taken already.
    pub(crate) fn count_loss(&mut self, scope: usize, since: Span, wire_bytes: u32) {
        let number = since.as_nanos() / self.length.as_nanos().max(1);
        let found = self.windows.binary_search_by_key(&number, |(number, _)| *number);
        let (Ok(place), true) = (found, number >= self.scopes[scope].since) else { return };
        let counts = &mut self.windows[place].1;
        if counts.len() <= scope {
            let mut grown = counts.to_vec();
            grown.resize(self.scopes.len(), WindowCounts::default());
            *counts = grown.into();
        }
        for counts in [&mut counts[scope], &mut self.scopes[scope].before] {
            counts.packets_lost += 1;
            counts.wire_bytes_lost += u64::from(wire_bytes);
        }
    }

    /// The numbers of the windows that ended, in the order of time.
    pub(crate) fn windows(&self) -> impl Iterator<Item = Window<'_>> {
        self.windows.iter().map(|(number, counts)| Window { series: self, number: *number, counts })
    }

    /// The windows of retired flows that ended.
    pub(crate) fn of_retired(&self) -> impl Iterator<Item = &RetiredWindow> {
        self.of_retired.iter().filter(|retired| retired.window < self.filling)
    }

    /// How many rows the windows that ended have.
    pub(crate) fn rows(&self) -> usize {
        self.windows.len() * self.scopes.len() + self.of_retired.len()
    }

    /// Forgets the windows that ended.
    pub(crate) fn forget_ended(&mut self) {
        self.windows.clear();
        self.of_retired.retain(|retired| retired.window >= self.filling);
    }
}

/// A window that ended.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    series: &'a Series,
    pub(crate) number: u64,
    counts: &'a [WindowCounts],
}

impl Window<'_> {
    /// What the owner of `scope` counted in it: nothing where the owner came later.
    pub(crate) fn counts(&self, scope: usize) -> WindowCounts {
        let is_there = self.series.scopes[scope].since <= self.number;
        let counts = self.counts.get(scope).filter(|_| is_there);
        counts.copied().unwrap_or_default()
    }
}

/// Scopes of the series by owner.
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

/// The part of the allowance that each window in which something happened adds.
const PART: u64 = 32;

/// The allowance of one series.
///
/// ```
/// use fairwind_measure::EmptyRowBudget;
///
/// let mut silence = EmptyRowBudget::with_rows(Some(320));
/// // Of two scopes: 300 rows, then 30 of the 20 that are left.
/// assert!(silence.shows(150, 2));
/// assert!(!silence.shows(15, 2));
/// silence.end();
/// assert!(silence.shows(15, 2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmptyRowBudget {
    left: u64,
    most: u64,
}

impl EmptyRowBudget {
    /// An allowance for captures: with windows of a second and one series a day and a half, with windows of
    /// 100 ms and three series more than an hour.
    pub const DEFAULT_ROWS: u64 = 1 << 17;

    /// An allowance of `most` rows; `None` shows all silence.
    pub const fn with_rows(most: Option<u64>) -> Self {
        let most = match most {
            Some(most) => most,
            None => u64::MAX,
        };
        Self { left: most, most }
    }

    /// Whether a silence of `windows` windows with rows each is shown; if so, it uses up the budget.
    pub const fn shows(&mut self, windows: u64, rows: u64) -> bool {
        if self.most == u64::MAX {
            return true;
        }
        match self.left.checked_sub(windows.saturating_mul(rows)) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// Something happens in a window.
    pub const fn end(&mut self) {
        let left = self.left.saturating_add(self.most / PART);
        self.left = if left < self.most { left } else { self.most };
    }
}
