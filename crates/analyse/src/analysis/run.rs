//! The loop: the earlier packet of each source, until there is none.

use super::clock::Continuous;
use super::follower::{Follower, Rules};
use super::groups::Groups;
use super::outcome::{Facts, Outcome};
use super::settings::{Limit, Settings};
use super::source::{Next, PacketSource};
use super::{AnalysisError, Progress};
use crate::connection::{Patience, Side, Vantage};
use crate::trace::TraceSettings;
use fairwind_capture::{NoteKind, Notes, Packet};
use fairwind_measure::{Collector, Tables};
use fairwind_units::{Instant, Span};

/// The analysis of what one tap saw, or two.
///
/// Sources are read as far as [`advance`](Self::advance) is told; rows of connections that are over can be
/// taken away while it goes on, so that memory is bounded by those that are open.
#[derive(Debug)]
pub struct Analysis<S> {
    inputs: Vec<Input<S>>,
    settings: Settings,
    groups: Groups,
    /// From the first packet on that counts.
    follower: Option<Follower>,
    facts: Facts,
    from: Instant,
    until: Instant,
}

/// A source, and the packet of it that comes next.
#[derive(Debug)]
struct Input<S> {
    source: S,
    clock: Continuous,
    /// The packet that has been read and not yet taken.
    ahead: Packet,
    at: Instant,
    state: State,
    own_notes: Notes,
}

/// The clock was set, or a record is damaged.
const CLOCK_STEP: NoteKind = NoteKind::new(
    "clock_steps",
    "a timestamp is a day ahead of the one before or more than a second behind, so no time was counted there",
    "timestamp",
    "timestamps",
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its next packet is to be read.
    Empty,
    /// The next packet is there.
    Ahead,
    Ended,
}

/// The clock of a run of ours is behind this (a year), and a clock that counts from 1970 is not.
const LATEST_OWN: Instant = Instant::from_secs(365 * 86_400);

impl<S: PacketSource> Input<S> {
    fn new(source: S) -> Self {
        Self {
            source,
            clock: Continuous::new(),
            ahead: Packet::EMPTY,
            at: Instant::ZERO,
            state: State::Empty,
            own_notes: Notes::NONE,
        }
    }

    fn notes(&self) -> Notes {
        let mut notes = self.source.notes();
        notes.merge(&self.own_notes);
        notes
    }

    #[cold]
    fn note_step(&mut self) {
        if let Some(place) = self.source.place() {
            self.own_notes.record(CLOCK_STEP, || place);
        }
    }

    /// Reads the next packet if it is not there; `false` where it must be waited for.
    #[inline]
    fn look_ahead(&mut self) -> bool {
        if self.state != State::Empty {
            return true;
        }
        match self.source.next(&mut self.ahead) {
            Next::Packet => {
                let steps = self.clock.steps;
                self.at = self.clock.at(self.ahead.at);
                if self.clock.steps != steps {
                    self.note_step();
                }
                self.state = State::Ahead;
                true
            }
            Next::Wait => false,
            Next::End => {
                self.state = State::Ended;
                true
            }
        }
    }
}

impl<S: PacketSource> Analysis<S> {
    /// An analysis of what one tap saw.
    ///
    /// # Errors
    /// Where the settings are not such that anything can be measured.
    pub fn of_one(source: S, settings: Settings) -> Result<Self, AnalysisError> {
        Self::new(vec![Input::new(source)], settings)
    }

    /// An analysis of what two taps saw of the same packets.
    ///
    /// # Errors
    /// Where the settings are not such that anything can be measured.
    pub fn of_two(first: S, second: S, settings: Settings) -> Result<Self, AnalysisError> {
        Self::new(vec![Input::new(first), Input::new(second)], settings)
    }

    fn new(inputs: Vec<Input<S>>, settings: Settings) -> Result<Self, AnalysisError> {
        let groups = Groups::new(&settings.groups)?;
        measures(&settings, &groups, Times::default()).check()?;
        if let Some(filter) = settings.traces.as_ref().and_then(TraceSettings::filter_of_packets) {
            return Err(AnalysisError::DrawnPackets { filter: filter.to_string() });
        }
        Ok(Self {
            inputs,
            settings,
            groups,
            follower: None,
            facts: Facts::default(),
            from: Instant::ZERO,
            until: Instant::MAX,
        })
    }

    /// Reads up to `packets` packets.
    pub fn advance(&mut self, packets: u64) -> Progress {
        for _ in 0..packets {
            if !self.inputs.iter_mut().all(Input::look_ahead) {
                return Progress::Waiting;
            }
            let Some(tap) = self.earliest() else { return Progress::Done };
            self.take(tap);
        }
        Progress::Working
    }

    /// The input whose next packet is the earlier one; the first one where both are as early.
    #[inline]
    fn earliest(&self) -> Option<usize> {
        let ahead = |tap: usize| {
            let input = self.inputs.get(tap)?;
            (input.state == State::Ahead).then_some(input.at)
        };
        match (ahead(0), ahead(1)) {
            (None, None) => None,
            (Some(_), None) => Some(0),
            (None, Some(_)) => Some(1),
            (Some(first), Some(second)) => Some(usize::from(second < first)),
        }
    }

    #[inline]
    fn take(&mut self, tap: usize) {
        let input = &mut self.inputs[tap];
        input.state = State::Empty;
        let at = input.at;
        self.facts.count(tap, at, &input.ahead);
        if self.follower.is_none() {
            self.begin(at);
        }
        if at < self.from || at >= self.until {
            self.facts.outside += 1;
            return;
        }
        if let Some(follower) = &mut self.follower {
            follower.on_packet(tap, at, &self.inputs[tap].ahead);
        }
    }

    /// With the first packet it is known when measuring begins.
    #[cold]
    fn begin(&mut self, first: Instant) {
        // The clock of a run of ours counts from its beginning.
        let is_own = self.inputs.iter().all(|input| input.source.is_own());
        let usual = if is_own && first < LATEST_OWN { Instant::ZERO } else { first };
        let origin = self.settings.origin.unwrap_or(usual);
        let instant = |limit| match limit {
            Limit::At(at) => at,
            Limit::Since(span) => origin + span,
        };
        let settings = &self.settings;
        self.from = settings.from.map_or(Instant::ZERO, instant);
        self.until = settings.until.map_or(Instant::MAX, instant);
        let counted_from = self.from.max(origin + settings.warmup);
        if self.until <= counted_from {
            // The part that is asked for is over before it begins: nothing counts.
            self.until = self.from;
        }
        let until = self.until.max(counted_from + Span::from_nanos(1));
        let times = Times { origin, from: counted_from, until };
        let collector = Collector::new(&measures(settings, &self.groups, times));
        self.facts.origin = origin;
        self.follower = Some(Follower::new(
            self.rules(),
            collector,
            self.groups.clone(),
            &self.settings.percentiles,
            self.settings.traces.clone(),
        ));
    }

    fn rules(&self) -> Rules {
        let settings = &self.settings;
        Rules {
            patience: Patience {
                linger: settings.linger,
                half_open: settings.half_open_timeout,
                idle: settings.idle_timeout,
            },
            vantage: match (settings.vantage, self.inputs[0].source.near()) {
                (Vantage::Auto, Some(Side::Opener)) => Vantage::Opener,
                (Vantage::Auto, Some(Side::Answerer)) => Vantage::Answerer,
                (vantage, _) => vantage,
            },
            is_joined: self.inputs.len() > 1,
            limits_connections: settings.connection_from > Span::ZERO
                || settings.connection_until.is_some(),
            connection_from: settings.connection_from,
            connection_until: settings.connection_until,
        }
    }

    /// What is known so far.
    pub fn facts(&self) -> Facts {
        let mut facts = self.facts.clone();
        for (frames, input) in facts.frames.iter_mut().zip(&self.inputs) {
            *frames = input.source.frames();
        }
        facts.clock_steps = self.inputs.iter().map(|input| input.clock.steps).sum();
        if let Some(follower) = &self.follower {
            follower.tell_facts(&mut facts);
        }
        facts
    }

    /// The rows of connections that are over and have not been taken, if there are at least `least`.
    pub fn take_rows(&mut self, least: usize) -> Option<Tables> {
        let follower = self.follower.as_mut().filter(|follower| follower.rows() >= least.max(1))?;
        Some(follower.take_rows(self.facts.origin))
    }

    /// The tables as they would be if everything ended now, without the rows that were taken.
    pub fn snapshot(&self) -> Tables {
        match &self.follower {
            Some(follower) => follower.snapshot(self.facts.origin),
            None => Tables { tables: Vec::new() },
        }
    }

    /// The sources, the first tap's first.
    pub fn sources(&self) -> impl Iterator<Item = &S> {
        self.inputs.iter().map(|input| &input.source)
    }

    /// Everything that has not been taken.
    pub fn finish(mut self) -> Outcome {
        if self.follower.is_none() {
            self.begin(Instant::ZERO);
        }
        let facts = self.facts();
        let notes = self.inputs.iter().map(Input::notes).collect();
        let end = self.settings.until.map_or(facts.last, |_| self.until);
        let (tables, traces) = match self.follower {
            Some(follower) => follower.finish(facts.origin, end),
            None => (Tables { tables: Vec::new() }, Vec::new()),
        };
        Outcome { tables, traces, notes, facts }
    }
}

/// When measures begin and end.
#[derive(Debug, Clone, Copy)]
struct Times {
    origin: Instant,
    from: Instant,
    until: Instant,
}

impl Default for Times {
    fn default() -> Self {
        Self { origin: Instant::ZERO, from: Instant::ZERO, until: Instant::MAX }
    }
}

/// Silence of more windows than this leaves no rows.
const MOST_SILENT_WINDOWS: u64 = 100_000;

/// What the measures are asked for.
fn measures(settings: &Settings, groups: &Groups, times: Times) -> fairwind_measure::Settings {
    fairwind_measure::Settings {
        groups: groups.names.clone(),
        origin: times.origin,
        warmup: times.from.saturating_since(times.origin),
        end: times.until,
        intervals: settings.intervals.clone(),
        most_silent_windows: Some(MOST_SILENT_WINDOWS),
        per_flow_intervals: settings.per_flow_intervals,
        percentiles: settings.percentiles.clone(),
        ..fairwind_measure::Settings::default()
    }
}
