//! Collector: dispatch of observations, and the ends of warm-up, windows and measurement.
//!
//! Cost: an observation given as a literal compiles to one comparison with the next border in time and
//! the code of that observation alone.

use crate::distribution::Percentiles;
use crate::flow::{Flow, Milestones};
use crate::interval::{Scopes, Series, WindowCounts};
use crate::observation::{Direction, DropReason, Dropped, FlowId, Observation, QueueId};
use crate::queue::{Fate, ImpairmentCounts, Queue};
use crate::queue_series::{QueueEvent, QueueEventKind, QueueEvents, QueueSeries, SlotBook};
use crate::rows::{EndpointSample, GroupSum, Retired, latency_percentiles};
use crate::settings::{FlowDescription, Settings, SettingsError};
use fairwind_units::{Instant, Span};

/// Takes observations and gives tables.
///
/// Observations come in the order of their instants. One that comes late is counted in the window
/// that is open when it comes. Only [`Observation::Dequeued`], of which windows count nothing, may come
/// late without harm.
///
/// Flows may come while measuring ([`add_flow`](Self::add_flow)) and go ([`retire`](Self::retire)): what
/// is kept is then in proportion to the flows that are open, not to all that there were, if their rows
/// are taken ([`take_retired`](Self::take_retired)) from time to time.
#[derive(Debug, Clone)]
pub struct Collector {
    /// First instant at which something other than counting is due: the end of the warm-up, a
    /// window's border, or the end.
    next_border: Instant,
    pub(crate) measured_from: Instant,
    pub(crate) is_warm: bool,
    pub(crate) flows: Vec<Flow>,
    /// Group of each flow, apart from the flows so that a queue's observation touches no flow.
    group_of_flow: Vec<usize>,
    /// Number of each flow in tables; `None` where the flow is retired and the place free.
    pub(crate) numbers: Vec<Option<u64>>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) series: Vec<Series>,
    /// Windows of queues, where they are asked for.
    pub(crate) queue_series: Option<QueueSeries>,
    pub(crate) slots: SlotBook,
    pub(crate) scopes: Scopes,
    pub(crate) endpoint_samples: Vec<EndpointSample>,
    pub(crate) queue_events: Option<QueueEvents>,
    pub(crate) retired: Retired,
    /// Percentiles of latencies that some table shows.
    pub(crate) percentiles: Percentiles,
    pub(crate) settings: Settings,
}

impl Collector {
    /// A collector that has seen nothing.
    ///
    /// # Panics
    /// Where [`Settings::check`] finds an error.
    pub fn new(settings: &Settings) -> Self {
        if let Err(error) = settings.check() {
            panic!("settings are checked before a collector is made of them: {error}");
        }
        let groups = settings.groups.len();
        let scopes = Scopes::of(settings);
        let measured_from = settings.measured_from();
        Self {
            next_border: measured_from,
            measured_from,
            is_warm: false,
            flows: flows(&settings.flows),
            group_of_flow: settings.flows.iter().map(FlowDescription::group_index).collect(),
            numbers: (0..).map(Some).take(settings.flows.len()).collect(),
            queues: settings.queues.iter().map(|_| Queue::new(groups)).collect(),
            series: settings
                .intervals
                .iter()
                .map(|&length| Series::new(length, settings, scopes.count))
                .collect(),
            queue_series: settings
                .queue_interval
                .map(|length| QueueSeries::new(length, measured_from, settings.queues.len())),
            slots: SlotBook::new(
                measured_from,
                settings.end,
                settings.queue_interval,
                settings.queues.len(),
            ),
            scopes,
            endpoint_samples: Vec::new(),
            queue_events: settings.queue_events.clone().map(QueueEvents::new),
            retired: Retired::new(settings),
            percentiles: latency_percentiles(settings),
            settings: settings.clone(),
        }
    }

    /// Adds a group while measuring, and gives its index; its name is not one that there is.
    ///
    /// # Panics
    /// At 2^32 groups.
    pub fn add_group(&mut self, name: &str) -> u32 {
        let index = u32::try_from(self.settings.groups.len()).expect("fewer than 2^32 groups");
        self.settings.groups.push(name.to_owned());
        self.queues.iter_mut().for_each(Queue::add_group);
        let scope = self.add_scope();
        self.scopes.of_group.push(scope);
        self.retired.groups.push(GroupSum::new());
        index
    }

    /// Adds a flow while measuring, and gives its id; observations may name it from now on. The id may be
    /// that of a flow that is retired; its number in tables is its own.
    ///
    /// # Errors
    /// Where its group is not there, or the flow that it answers is not, or has an answer.
    ///
    /// # Panics
    /// At 2^32 flows.
    pub fn add_flow(&mut self, description: FlowDescription) -> Result<FlowId, SettingsError> {
        self.check_new_flow(&description)?;
        let number = Some(self.retired.next_number());
        let id = self.retired.free.pop().unwrap_or_else(|| {
            FlowId(u32::try_from(self.flows.len()).expect("fewer than 2^32 flows"))
        });
        if let Some(answered) = description.answers {
            self.flow(answered).opposite = Some(id);
        }
        let (mut flow, group) = (Flow::new(description.answers), description.group_index());
        // The connection may have been established before there was data of both sides.
        let answered = description.answers.map(|answered| &self.flows[answered.index()]);
        flow.milestones.established = answered.and_then(|flow| flow.milestones.established);
        let place = id.index();
        if place < self.flows.len() {
            self.flows[place] = flow;
            self.group_of_flow[place] = group;
            self.numbers[place] = number;
            self.settings.flows[place] = description;
            if let Some(&scope) = self.scopes.of_flow.get(place) {
                self.series.iter_mut().for_each(|series| series.reuse_scope(scope));
            }
        } else {
            self.flows.push(flow);
            self.group_of_flow.push(group);
            self.numbers.push(number);
            self.settings.flows.push(description);
            if self.settings.per_flow_intervals {
                let scope = self.add_scope();
                self.scopes.of_flow.push(scope);
            }
        }
        Ok(id)
    }

    fn check_new_flow(&self, description: &FlowDescription) -> Result<(), SettingsError> {
        let number = self.retired.coming_number();
        self.settings.check_group(number, description)?;
        let Some(answered) = description.answers else { return Ok(()) };
        let (name, answers) = (|| description.name.clone(), answered.0);
        let is_there = self.number_of(answered).is_some();
        if !is_there || self.settings.flows[answered.index()].answers.is_some() {
            return Err(SettingsError::NothingToAnswer { flow: number, name: name(), answers });
        }
        if self.flows[answered.index()].opposite.is_some() {
            return Err(SettingsError::AnsweredTwice { flow: number, name: name(), answers });
        }
        Ok(())
    }

    /// The number of a flow in tables; `None` where there is no such flow, or no more.
    pub fn number_of(&self, flow: FlowId) -> Option<u64> {
        self.numbers.get(flow.index()).copied().flatten()
    }

    fn add_scope(&mut self) -> usize {
        self.series.iter_mut().for_each(Series::add_scope);
        self.scopes.add()
    }

    /// Reads what an observation of a packet of this flow needs first, so that it is near when the observation
    /// comes: where flows are many, it is worth while to do so for several coming observations at once. The
    /// number means nothing.
    #[inline]
    pub fn prefetch(&self, flow: FlowId) -> u64 {
        self.flows.get(flow.index()).map_or(0, Flow::prefetch)
    }

    /// Takes a fact that became true at `at`.
    ///
    /// # Panics
    /// Where the observation names a flow or a queue that is neither in the settings nor added since.
    #[expect(clippy::inline_always, reason = "a literal observation becomes its own code only so")]
    #[inline(always)]
    pub fn observe(&mut self, at: Instant, observation: Observation<'_>) {
        if at >= self.next_border && !self.cross(at) {
            return;
        }
        match observation {
            Observation::Sent { flow, direction, segment, wire_bytes } => {
                let flow = &mut self.flows[flow.index()];
                match direction {
                    Direction::Forward => flow.on_forward_sent(at, segment, wire_bytes),
                    Direction::Reverse => flow.on_reverse_sent(segment),
                }
            }
            Observation::Received { flow, direction, segment, wire_bytes } => {
                let flow = &mut self.flows[flow.index()];
                match direction {
                    Direction::Forward => {
                        flow.on_forward_received(segment, wire_bytes);
                        if let Some(opposite) = flow.opposite {
                            self.flows[opposite.index()].on_reverse_received(at, segment);
                        }
                    }
                    Direction::Reverse => flow.on_reverse_received(at, segment),
                }
            }
            Observation::Dropped(dropped) => self.on_dropped(at, &dropped),
            Observation::Lost { flow, direction, payload_bytes, wire_bytes } => {
                // A lost packet may have left in the warm-up, or in a window that has ended.
                if !self.is_warm || at >= self.measured_from {
                    self.flow(flow).on_dropped(direction, payload_bytes, wire_bytes);
                    self.count_loss_late(at, flow, direction, wire_bytes);
                }
            }
            Observation::Enqueued { queue, flow, wire_bytes, backlog_packets, backlog_bytes } => {
                let group = self.group_of_flow[flow.index()];
                let known = &mut self.queues[queue.index()];
                known.on_enqueued(group, wire_bytes, backlog_packets, backlog_bytes);
                if self.queue_events.is_some() {
                    known.keep_backlog_bytes(backlog_bytes);
                    let backlog = Some((backlog_packets, backlog_bytes));
                    self.keep(at, (queue, flow), wire_bytes, backlog, QueueEventKind::Accepted);
                }
            }
            Observation::Dequeued { queue, flow, wire_bytes, sojourn } => {
                // Networks may report a departure long after it was due, so perhaps one within
                // the warm-up when that is already over.
                if at >= self.measured_from {
                    let measured = at.saturating_since(self.measured_from);
                    let group = self.group_of_flow[flow.index()];
                    self.queues[queue.index()].on_dequeued(measured, group, wire_bytes, sojourn);
                }
            }
            Observation::Written { flow, end_offset } => {
                self.flows[flow.index()].on_written(at, end_offset);
            }
            Observation::Read { flow, end_offset } => {
                self.flows[flow.index()].on_read(at, end_offset);
            }
            seldom => self.observe_seldom(at, seldom),
        }
    }

    /// Takes two facts at once: an idle queue let in a packet at `at`, and it left at `at`. The same as
    /// [`Observation::Enqueued`] and [`Observation::Dequeued`] one after the other, for less.
    ///
    /// # Panics
    /// As [`Collector::observe`].
    #[inline]
    pub fn observe_through(&mut self, at: Instant, queue: QueueId, flow: FlowId, wire_bytes: u32) {
        if at >= self.next_border && !self.cross(at) {
            return;
        }
        let group = self.group_of_flow[flow.index()];
        let known = &mut self.queues[queue.index()];
        if at >= self.measured_from {
            known.on_through(group, wire_bytes);
        } else {
            known.on_enqueued(group, wire_bytes, 0, 0);
        }
        if self.queue_events.is_some() {
            known.keep_backlog_bytes(0);
            self.keep(at, (queue, flow), wire_bytes, Some((0, 0)), QueueEventKind::Accepted);
        }
    }

    /// Keeps what happened to a packet at a queue, where that was asked for.
    #[cold]
    fn keep(
        &mut self,
        at: Instant,
        (queue, flow): (QueueId, FlowId),
        wire_bytes: u32,
        backlog: Option<(u32, u32)>,
        kind: QueueEventKind,
    ) {
        let (number, group) = (self.number_of(flow), self.group_of_flow[flow.index()]);
        if let (Some(events), Some(flow)) = (&mut self.queue_events, number) {
            events.take(QueueEvent { at, queue, flow, group, wire_bytes, backlog, kind });
        }
    }

    /// A packet is dropped at a queue, or lost behind it.
    fn on_dropped(&mut self, at: Instant, dropped: &Dropped) {
        let Dropped { flow, direction, queue, payload_bytes, wire_bytes, reason, waited, backlog } =
            *dropped;
        self.flow(flow).on_dropped(direction, payload_bytes, wire_bytes);
        self.drop_at_queue(at, (queue, flow), wire_bytes, (reason, waited), backlog);
    }

    /// What a drop is to the queue.
    fn drop_at_queue(
        &mut self,
        at: Instant,
        (queue, flow): (QueueId, FlowId),
        wire_bytes: u32,
        (reason, waited): (DropReason, Option<Span>),
        backlog: Option<(u32, u32)>,
    ) {
        let group = self.group_of_flow[flow.index()];
        let connection = self.connection_of(flow);
        let fate = Fate { reason, has_waited: waited.is_some(), wire_bytes };
        self.queues[queue.index()].on_dropped(group, connection, fate);
        self.keep(at, (queue, flow), wire_bytes, backlog, QueueEventKind::of_drop(reason, waited));
    }

    /// A number that both flows of one connection share, and no others.
    fn connection_of(&self, flow: FlowId) -> u64 {
        let opening = self.settings.flows[flow.index()].answers.unwrap_or(flow);
        // Late reports of an ended flow belong to no other flow.
        self.number_of(opening).or_else(|| self.number_of(flow)).unwrap_or(u64::MAX)
    }

    /// A loss belongs to the window in which the packet left.
    fn count_loss_late(
        &mut self,
        at: Instant,
        flow: FlowId,
        direction: Direction,
        wire_bytes: u32,
    ) {
        if direction == Direction::Forward && self.is_warm {
            let since = at.saturating_since(self.measured_from);
            let group = self.scopes.of_group[self.group_of_flow[flow.index()]];
            let of_flow = self.scopes.of_flow.get(flow.index());
            for scope in std::iter::once(group).chain(of_flow.copied()) {
                self.series
                    .iter_mut()
                    .for_each(|series| series.count_loss(scope, since, wire_bytes));
            }
        }
    }

    /// What does not happen for each packet.
    fn observe_seldom(&mut self, at: Instant, observation: Observation<'_>) {
        match observation {
            Observation::DatagramSent { flow, payload_bytes, wire_bytes } => {
                self.flow(flow).on_datagram_sent(payload_bytes, wire_bytes);
            }
            Observation::DatagramRead { flow, payload_bytes, written, number } => {
                self.flow(flow).on_datagram_read(at, payload_bytes, written, number);
            }
            Observation::Answered { flow, asked } => self.flow(flow).on_answered(at, asked),
            Observation::Timeout { flow } => self.flow(flow).on_timeout(),
            Observation::FastRetransmit { flow } => {
                self.flow(flow).totals.fast_retransmits += 1;
            }
            Observation::SynRetry { flow } => self.flow(flow).on_syn_retry(),
            Observation::ZeroWindowProbe { flow } => {
                self.flow(flow).totals.zero_window_probes += 1;
            }
            Observation::Opened { flow } => self.open(flow, at),
            Observation::Established { flow } => {
                self.milestones(flow).establish(at);
                if let Some(opposite) = self.flow(flow).opposite {
                    self.milestones(opposite).establish(at);
                }
            }
            Observation::Finished { flow } => {
                self.milestones(flow).finished.get_or_insert(at);
            }
            Observation::Failed { flow, reason } => {
                self.milestones(flow).failed.get_or_insert((at, reason));
            }
            Observation::Endpoint {
                flow,
                cwnd_packets,
                ssthresh_packets,
                smoothed_rtt,
                flight_packets,
                state,
            } if self.settings.keeps_endpoint_samples => {
                let number = self.number_of(flow);
                self.endpoint_samples.push(EndpointSample {
                    at,
                    flow: number.expect("the flow is one of the settings' flows, or added since"),
                    cwnd_packets,
                    ssthresh_packets,
                    smoothed_rtt,
                    flight_packets,
                    state,
                });
            }
            other => self.observe_at_queue(at, other),
        }
    }

    /// A flow that awaited another one begins, and what answers it; of others it was known before.
    fn open(&mut self, flow: FlowId, at: Instant) {
        let opposite = self.flow(flow).opposite;
        for opened in std::iter::once(flow).chain(opposite) {
            let start = &mut self.settings.flows[opened.index()].start;
            if *start == FlowDescription::START_PENDING {
                *start = at;
            }
        }
    }

    /// Rare reports of a queue.
    fn observe_at_queue(&mut self, at: Instant, observation: Observation<'_>) {
        match observation {
            Observation::Marked { queue, flow, wire_bytes } => {
                let group = self.group_of_flow[flow.index()];
                self.queues[queue.index()].on_marked(group, wire_bytes);
                self.keep(at, (queue, flow), wire_bytes, None, QueueEventKind::Marked);
            }
            Observation::DroppedDamaged { flow, queue, wire_bytes, reason, waited, backlog } => {
                self.drop_at_queue(at, (queue, flow), wire_bytes, (reason, waited), backlog);
            }
            Observation::Duplicated { queue } => self.impaired(queue).duplicated += 1,
            Observation::Damaged { queue } => self.impaired(queue).damaged += 1,
            Observation::Reordered { queue } => self.impaired(queue).reordered += 1,
            Observation::SlotsAssigned { queue, frames } => {
                self.slots.on_assigned(at, queue.index(), &frames);
            }
            Observation::SlotUsed { queue, sent_bytes } => {
                self.slots.on_used(at, queue.index(), sent_bytes);
            }
            Observation::CapacityRequested { queue, bits_per_second, volume_bytes } => {
                self.slots.on_requested(at, queue.index(), bits_per_second, volume_bytes);
            }
            // Samples that were not asked for; and the observations that were taken before.
            _ => {}
        }
    }

    fn impaired(&mut self, queue: QueueId) -> &mut ImpairmentCounts {
        &mut self.queues[queue.index()].impaired
    }

    /// When a flow did all that it was meant to do, or was given up; `None` if it has not.
    pub(crate) fn over(&self, flow: FlowId) -> Option<Instant> {
        let milestones = &self.flows[flow.index()].milestones;
        milestones.finished.or(milestones.failed.map(|(at, _)| at))
    }

    /// When the warm-up ends.
    #[inline]
    pub const fn measured_from(&self) -> Instant {
        self.measured_from
    }

    /// Bytes of a flow's stream that have arrived in order at its receiver, as far as reported.
    ///
    /// # Panics
    /// Where there is no such flow.
    #[inline]
    pub fn arrived_in_order(&self, flow: FlowId) -> u64 {
        self.flows[flow.index()].arrived_in_order()
    }

    pub(crate) fn flow(&mut self, flow: FlowId) -> &mut Flow {
        &mut self.flows[flow.index()]
    }

    fn milestones(&mut self, flow: FlowId) -> &mut Milestones {
        &mut self.flow(flow).milestones
    }

    /// Ends what ends by `at`.
    pub(crate) fn pass(&mut self, at: Instant) {
        if at >= self.next_border {
            self.cross(at);
        }
    }

    /// Ends what ends by `at`; whether an observation at `at` still counts.
    #[cold]
    fn cross(&mut self, at: Instant) -> bool {
        if !self.is_warm && at >= self.measured_from {
            self.end_warmup();
        }
        if self.is_warm {
            self.end_windows(at.min(self.settings.end));
        }
        let begin = (!self.is_warm).then_some(self.measured_from);
        let of_queues = self.queue_series.as_ref().map(|series| series.border);
        let borders = self.series.iter().map(|series| series.border).chain(begin).chain(of_queues);
        self.next_border = borders.fold(self.settings.end, Instant::min);
        at < self.settings.end
    }

    pub(crate) fn end_warmup(&mut self) {
        self.is_warm = true;
        self.flows.iter_mut().for_each(Flow::end_warmup);
        self.queues.iter_mut().for_each(Queue::end_warmup);
    }

    fn end_windows(&mut self, until: Instant) {
        if self.series.iter().any(|series| series.border <= until) {
            let totals = self.window_totals();
            self.series.iter_mut().for_each(|series| series.roll(until, &totals));
        }
        if let Some(series) = &mut self.queue_series {
            series.roll(until, &mut self.queues);
        }
    }

    /// Running totals of every scope of the series.
    fn window_totals(&self) -> Vec<WindowCounts> {
        let mut totals = vec![WindowCounts::default(); self.scopes.count];
        for (retired, scope) in self.retired.groups.iter().zip(&self.scopes.of_group) {
            totals[*scope] = WindowCounts::of(&retired.totals);
        }
        for (flow, group) in self.flows.iter().zip(&self.group_of_flow) {
            totals[self.scopes.of_group[*group]].add(&WindowCounts::of(&flow.totals));
        }
        for (flow, scope) in self.flows.iter().zip(&self.scopes.of_flow) {
            totals[*scope] = WindowCounts::of(&flow.totals);
        }
        totals
    }
}

/// The flows that are described, each knowing the one that goes the other way.
fn flows(descriptions: &[FlowDescription]) -> Vec<Flow> {
    let mut flows: Vec<Flow> = descriptions.iter().map(|flow| Flow::new(flow.answers)).collect();
    for (id, description) in (0..).zip(descriptions) {
        if let Some(answered) = description.answers {
            flows[answered.index()].opposite = Some(FlowId(id));
        }
    }
    flows
}
