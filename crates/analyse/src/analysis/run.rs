//! The loop of an analysis: the earliest packet of the sources, until all have ended; and its results.

use super::follower::{Follower, TapPair};
use super::input::{Comparison, Input};
use super::settings::{ClockMode, CountedAges, Groups, Rules, Settings, TimeLimit};
use super::source::{FrameCounts, PacketSource};
use super::{AnalysisError, Progress};
use crate::connection::{Side, Timeouts, Vantage};
use crate::one_way::{ClockModel, ClockOffsetEstimator, DepartureTaps, OneWaySettings};
use crate::trace::{FlowTrace, TraceSettings};
use fairwind_capture::{Notes, Packet};
use fairwind_measure::{Collector, Tables};
use fairwind_units::{Instant, Span};

/// Analysis of the packets at one tap or two.
///
/// [`advance`](Self::advance) reads some packets. Rows of closed connections can be taken meanwhile, so that
/// memory is bounded by open connections.
#[derive(Debug)]
pub struct Analysis<S> {
    inputs: Vec<Input<S>>,
    settings: Settings,
    groups: Groups,
    /// Exists from the first packet on.
    follower: Option<Follower>,
    facts: CaptureFacts,
    /// Preview of two inputs, until it has seen enough.
    comparison: Option<Comparison<S>>,
    /// Whether captures of this project have timestamps that no single clock can have.
    has_moved_clocks: bool,
    departure_taps: DepartureTaps,
    /// Beginning of the requested time; packets before are followed without counting.
    from: Instant,
    until: Instant,
    /// End of the warm-up, or of the time before the requested part.
    counted_from: Instant,
}

/// Timestamps below this (a year) count from the beginning of a run, not from 1970.
const LATEST_OWN: Instant = Instant::from_secs(365 * 86_400);

/// The last origin that leaves time to measure.
const LAST_BEGINNING: Instant = Instant::from_nanos(u64::MAX - 1);

impl<S: PacketSource> Analysis<S> {
    /// An analysis of one tap.
    ///
    /// # Errors
    /// If the settings are invalid.
    pub fn of_one(source: S, settings: Settings) -> Result<Self, AnalysisError> {
        Self::new(vec![Input::new(source)], settings)
    }

    /// An analysis of two taps that saw the same packets.
    ///
    /// # Errors
    /// If the settings are invalid.
    pub fn of_two(first: S, second: S, settings: Settings) -> Result<Self, AnalysisError> {
        let mut analysis = Self::new(vec![Input::new(first), Input::new(second)], settings)?;
        analysis.inputs[1].translations.clone_from(&analysis.settings.translations);
        analysis.comparison = Some(Comparison::of(&analysis.inputs[0], &analysis.inputs[1]));
        Ok(analysis)
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
            facts: CaptureFacts::default(),
            comparison: None,
            has_moved_clocks: false,
            departure_taps: DepartureTaps::default(),
            from: Instant::ZERO,
            until: Instant::MAX,
            counted_from: Instant::ZERO,
        })
    }

    /// Reads up to `packets` packets.
    pub fn advance(&mut self, packets: u64) -> Progress {
        if let Some(mut comparison) = self.comparison.take() {
            if !comparison.advance(&mut self.inputs, packets) {
                self.comparison = Some(comparison);
                return Progress::Working;
            }
            self.take_comparison(&comparison.finder);
        }
        let mut left = packets;
        while left > 0 {
            for tap in 0..self.inputs.len() {
                if !self.look_ahead(tap) {
                    return Progress::Waiting;
                }
            }
            let Some((tap, until)) = self.earliest() else {
                if let Some(follower) = &mut self.follower {
                    follower.end();
                }
                return Progress::Done;
            };
            left -= self.take(tap, until, left);
        }
        Progress::Working
    }

    /// Reads packets ahead if none are there; `false` if none can be read now.
    #[inline]
    fn look_ahead(&mut self, tap: usize) -> bool {
        let input = &mut self.inputs[tap];
        if input.next().is_some() || input.has_ended {
            return true;
        }
        if !input.read_ahead() {
            return false;
        }
        if let Some(follower) = &mut self.follower {
            input.lookup(follower);
        }
        true
    }

    /// Whether both inputs share a clock.
    fn is_one_clock(&self) -> bool {
        match self.settings.clock {
            ClockMode::Same => true,
            ClockMode::Free => false,
            ClockMode::Auto => {
                !self.has_moved_clocks
                    && self.inputs.iter().all(|input| input.source.is_own_capture())
            }
        }
    }

    /// Applies the results of the preview.
    #[cold]
    fn take_comparison(&mut self, finder: &ClockOffsetEstimator) {
        let is_one_clock = self.is_one_clock();
        // Captures of this project begin with the run, and share a clock.
        let is_known =
            is_one_clock && self.inputs.iter().all(|input| input.source.is_own_capture());
        self.facts.clock_packets = finder.found();
        if is_known && finder.fits_one_clock() {
            return;
        }
        self.departure_taps = finder.departure_taps();
        self.has_moved_clocks = self.settings.clock == ClockMode::Auto && is_known;
        if is_one_clock && !self.has_moved_clocks {
            return;
        }
        let Some(second) = self.inputs.get_mut(1) else { return };
        second.offset = finder.estimate();
        self.facts.clock_offset_nanos = second.offset.map(|offset| offset.nanos);
    }

    /// The input with the earliest packet (the first one if equal), and until when its packets precede the
    /// other's.
    #[inline]
    fn earliest(&self) -> Option<(usize, Instant)> {
        let ahead = |tap: usize| self.inputs.get(tap)?.next().map(|(ahead, _)| ahead.at);
        match (ahead(0), ahead(1)) {
            (None, None) => None,
            (Some(_), None) => Some((0, Instant::MAX)),
            (None, Some(_)) => Some((1, Instant::MAX)),
            (Some(first), Some(second)) if second < first => {
                Some((1, Instant::from_nanos(first.as_nanos() - 1)))
            }
            (Some(_), Some(second)) => Some((0, second)),
        }
    }

    /// Handles up to `most` packets of an input, not later than `until`; returns how many.
    #[inline]
    fn take(&mut self, tap: usize, until: Instant, most: u64) -> u64 {
        if self.follower.is_none() {
            self.begin(self.inputs[tap].next().map_or(Instant::ZERO, |(ahead, _)| ahead.at));
        }
        let Some(follower) = &mut self.follower else { return most };
        let input = &mut self.inputs[tap];
        let mut batch = PacketBatch::default();
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        for (ahead, packet) in input.waiting().take(most) {
            if ahead.at > until && batch.packets > 0 {
                break;
            }
            batch.count(ahead.at, packet);
            if ahead.at >= self.until {
                self.facts.outside += 1;
                continue;
            }
            if ahead.at < self.counted_from {
                self.facts.outside += u64::from(ahead.at < self.from);
            } else if !follower.is_counting {
                follower.begin_counting(self.counted_from);
            }
            follower.on_packet(tap, ahead.at, ahead.hint, packet);
        }
        input.pass(batch.packets);
        self.facts.count(tap, &batch);
        batch.packets
    }

    /// The first packet fixes when measuring begins.
    #[cold]
    fn begin(&mut self, first: Instant) {
        // Timestamps of a run of this project count from its beginning.
        let is_own_capture = self.inputs.iter().all(|input| input.source.is_own_capture());
        let usual = if is_own_capture && first < LATEST_OWN { Instant::ZERO } else { first };
        let origin = self.settings.origin.unwrap_or(usual).min(LAST_BEGINNING);
        let instant = |limit| match limit {
            TimeLimit::At(at) => at,
            TimeLimit::Since(span) => origin + span,
        };
        let settings = &self.settings;
        self.from = settings.from.map_or(Instant::ZERO, instant);
        self.until = settings.until.map_or(Instant::MAX, instant);
        let counted_from = self.from.max(origin + settings.warmup).min(LAST_BEGINNING);
        if self.until <= counted_from {
            // The requested part ends before it begins: nothing counts.
            self.until = self.from;
        }
        // The origin is limited, so that the last instants of the clock lie behind it.
        self.counted_from = counted_from.max(self.from);
        let counts_all = settings.from.is_none() && settings.warmup.is_zero();
        let until = self.until.max(counted_from + Span::from_nanos(1));
        let times = Times { origin, from: counted_from, until };
        let collector = Collector::new(&measures(settings, &self.groups, times));
        self.facts.origin = origin;
        self.follower = Some(Follower::new(
            self.rules(),
            collector,
            self.groups.clone(),
            (&self.settings.percentiles, self.settings.slowest),
            self.tap_pair(origin),
            self.settings.traces.clone(),
            self.settings.from.is_some(),
        ));
        if let Some(follower) = &mut self.follower {
            follower.streams.rows.set_origin(origin);
        }
        if counts_all {
            self.counted_from = Instant::ZERO;
            self.follower.iter_mut().for_each(|follower| follower.is_counting = true);
        }
        if let Some(tracer) = self.follower.as_mut().and_then(|follower| follower.tracer.as_mut()) {
            tracer.show_from(self.from);
        }
    }

    /// The one-way flows between two taps.
    fn tap_pair(&self, origin: Instant) -> Option<TapPair> {
        let clock = if self.is_one_clock() { ClockModel::Shared } else { ClockModel::Apart };
        let settings = &self.settings;
        let tap_pair = || {
            let directions = OneWaySettings {
                clock,
                merged_by: self.inputs.get(1).and_then(|input| input.offset),
                origin,
                intervals: settings.intervals.clone(),
                max_empty_rows: settings.max_empty_rows,
                percentiles: settings.percentiles.clone(),
                ..OneWaySettings::default()
            };
            TapPair::new(directions, self.departure_taps.clone(), &self.groups.names)
        };
        (self.inputs.len() > 1).then(tap_pair)
    }

    fn rules(&self) -> Rules {
        let settings = &self.settings;
        Rules {
            timeouts: Timeouts {
                linger: settings.linger,
                half_open: settings.half_open_timeout,
                idle: settings.idle_timeout,
            },
            vantage: match (settings.vantage, self.inputs[0].source.near_side()) {
                (Vantage::Auto, Some(Side::Opener)) => Vantage::Opener,
                (Vantage::Auto, Some(Side::Answerer)) => Vantage::Answerer,
                (vantage, _) => vantage,
            },
            is_joined: self.inputs.len() > 1,
            ages: CountedAges::of(settings),
        }
    }

    /// Facts so far.
    pub fn facts(&self) -> CaptureFacts {
        let mut facts = self.facts.clone();
        for (frames, input) in facts.frames.iter_mut().zip(&self.inputs) {
            *frames = input.source.frames();
        }
        facts.clock_steps = self.inputs.iter().map(|input| input.clock.steps).sum();
        if let Some(follower) = &self.follower {
            follower.fill_facts(&mut facts);
        }
        facts
    }

    /// The rows of closed connections, if there are at least `least`.
    pub fn take_rows(&mut self, least: usize) -> Option<Tables> {
        let follower = self.follower.as_mut().filter(|follower| follower.rows() >= least.max(1))?;
        if follower.forget_early_rows() {
            return None;
        }
        Some(follower.take_rows(self.facts.origin, least.max(1)))
    }

    /// The tables as if the analysis ended now, without rows that were taken.
    pub fn snapshot(&self) -> Tables {
        match &self.follower {
            Some(follower) => follower.snapshot(self.facts.origin),
            None => Tables { tables: Vec::new() },
        }
    }

    /// The sources, in the order of the taps.
    pub fn sources(&self) -> impl Iterator<Item = &S> {
        self.inputs.iter().map(|input| &input.source)
    }

    /// Ends the analysis; returns everything that was not taken.
    pub fn finish(mut self) -> Outcome {
        if self.follower.is_none() {
            self.begin(Instant::ZERO);
        }
        let counted_from = self.counted_from;
        if let Some(follower) = self.follower.as_mut().filter(|follower| !follower.is_counting) {
            // All packets came before the requested part.
            follower.end();
            follower.begin_counting(counted_from);
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

/// Results of an analysis.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The tables, without rows that were taken before.
    pub tables: Tables,
    /// Points of the traced flows, as in the table `traces`.
    pub traces: Vec<FlowTrace>,
    /// Anomalies of each input.
    pub notes: Vec<Notes>,
    /// Facts about the captures.
    pub facts: CaptureFacts,
}

/// Facts about the captures as a whole.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CaptureFacts {
    /// Origin of times in tables.
    pub origin: Instant,
    /// Instant of the latest TCP packet.
    pub last: Instant,
    /// Frames of each tap; zero if packets do not come out of frames.
    pub frames: [FrameCounts; 2],
    /// TCP packets of each tap.
    pub packets: [u64; 2],
    /// Bytes of these packets on the link.
    pub wire_bytes: [u64; 2],
    /// TCP packets outside the requested time.
    pub outside: u64,
    /// Packets that belong to no connection and begin none: resets.
    pub strays: u64,
    /// Timestamps a day ahead of the last one, or more than a second behind.
    pub clock_steps: u64,
    /// Connections in only one of two captures; they are analysed from that one.
    pub one_sided: u64,
    /// Nanoseconds subtracted from the second tap's timestamps; `None` with one clock or one tap.
    pub clock_offset_nanos: Option<i64>,
    /// Packets in both captures, of those that were compared for the offset; some thousands are enough.
    pub clock_packets: u64,
    /// Packets in windows beyond the limit, so that no row of losses over time has them: the windows are too
    /// short.
    pub beyond_windows: u64,
    /// Chosen connections that were not traced because there were too many.
    pub untraced: u64,
    /// Connections, without those that ended before counting began.
    pub connections: u64,
    /// Most connections open at once.
    pub most_open: u64,
}

impl CaptureFacts {
    pub(super) fn count(&mut self, tap: usize, batch: &PacketBatch) {
        self.last = self.last.max(batch.last);
        self.packets[tap & 1] += batch.packets;
        self.wire_bytes[tap & 1] += batch.wire_bytes;
    }
}

/// Packets of one tap handled in one batch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PacketBatch {
    last: Instant,
    pub(super) packets: u64,
    wire_bytes: u64,
}

impl PacketBatch {
    #[inline]
    pub(super) fn count(&mut self, at: Instant, packet: &Packet) {
        self.last = self.last.max(at);
        self.packets += 1;
        self.wire_bytes += u64::from(packet.wire_bytes);
    }
}

/// Origin, beginning and end of measured time.
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

/// The settings of the collector.
fn measures(settings: &Settings, groups: &Groups, times: Times) -> fairwind_measure::Settings {
    fairwind_measure::Settings {
        groups: groups.names.clone(),
        origin: times.origin,
        warmup: times.from.saturating_since(times.origin),
        end: times.until,
        intervals: settings.intervals.clone(),
        max_empty_rows: settings.max_empty_rows,
        per_flow_intervals: settings.per_flow_intervals,
        percentiles: settings.percentiles.clone(),
        ..fairwind_measure::Settings::default()
    }
}
