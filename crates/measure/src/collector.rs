//! Who is told of an observation, and when the warm-up, the windows and the measurement end.
//!
//! Cost: an observation given as a literal compiles to one comparison with the next border in time and
//! the code of that observation alone.

use crate::endpoint::EndpointSample;
use crate::flow::{Flow, Milestones};
use crate::interval::{Scopes, Series, WindowCounts};
use crate::observation::{Direction, FlowId, Observation};
use crate::queue::Queue;
use crate::settings::{FlowDescription, Settings, SettingsError};
use crate::table::Tables;
use crate::tabulate::{Measurement, tables};
use fairwind_units::Instant;

/// Takes observations and gives tables.
///
/// Observations come in the order of their instants. One that comes late is counted in the window
/// that is open when it comes. Only [`Observation::Dequeued`], of which windows count nothing, may come
/// late without harm.
#[derive(Debug, Clone)]
pub struct Collector {
    /// First instant at which something other than counting is due: the end of the warm-up, a
    /// window's border, or the end.
    next_border: Instant,
    measured_from: Instant,
    is_warm: bool,
    flows: Vec<Flow>,
    /// Group of each flow, apart from the flows so that a queue's observation touches no flow.
    group_of_flow: Vec<usize>,
    queues: Vec<Queue>,
    series: Vec<Series>,
    scopes: Scopes,
    endpoint_samples: Vec<EndpointSample>,
    settings: Settings,
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
            group_of_flow: settings.flows.iter().map(group_index).collect(),
            queues: settings.queues.iter().map(|_| Queue::new(groups)).collect(),
            series: settings
                .intervals
                .iter()
                .map(|&length| Series::new(length, measured_from, scopes.count))
                .collect(),
            scopes,
            endpoint_samples: Vec::new(),
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
        index
    }

    /// Adds a flow while measuring, and gives its id; observations may name it from now on.
    ///
    /// # Errors
    /// Where its group is not there, or the flow that it answers is not, or has an answer.
    ///
    /// # Panics
    /// At 2^32 flows.
    pub fn add_flow(&mut self, description: FlowDescription) -> Result<FlowId, SettingsError> {
        let index = self.settings.flows.len();
        self.settings.check_flow(index, &description)?;
        let id = FlowId(u32::try_from(index).expect("fewer than 2^32 flows"));
        if let Some(answered) = description.answers {
            let answered_flow = self.flow(answered);
            if answered_flow.opposite().is_some() {
                let (name, answers) = (description.name, answered.0);
                return Err(SettingsError::AnsweredTwice { flow: index, name, answers });
            }
            answered_flow.set_opposite(id);
        }
        self.flows.push(Flow::new(description.answers));
        self.group_of_flow.push(group_index(&description));
        self.settings.flows.push(description);
        if self.settings.per_flow_intervals {
            let scope = self.add_scope();
            self.scopes.of_flow.push(scope);
        }
        Ok(id)
    }

    fn add_scope(&mut self) -> usize {
        self.series.iter_mut().for_each(Series::add_scope);
        self.scopes.add()
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
                        if let Some(opposite) = flow.opposite() {
                            self.flows[opposite.index()].on_reverse_received(at, segment);
                        }
                    }
                    Direction::Reverse => flow.on_reverse_received(at, segment),
                }
            }
            Observation::Dropped { flow, direction, queue, payload_bytes, wire_bytes, reason } => {
                let group = self.group_of_flow[flow.index()];
                self.queues[queue.index()].on_dropped(group, reason, wire_bytes);
                let flow = &mut self.flows[flow.index()];
                match direction {
                    Direction::Forward => flow.on_forward_dropped(payload_bytes, wire_bytes),
                    Direction::Reverse => flow.on_reverse_dropped(payload_bytes),
                }
            }
            Observation::Enqueued { queue, flow, wire_bytes, backlog_packets, backlog_bytes } => {
                let group = self.group_of_flow[flow.index()];
                let queue = &mut self.queues[queue.index()];
                queue.on_enqueued(group, wire_bytes, backlog_packets, backlog_bytes);
            }
            Observation::Dequeued { queue, wire_bytes, sojourn } => {
                // Networks may tell of a departure long after it was due, so perhaps of one within
                // the warm-up when that is already over.
                if at >= self.measured_from {
                    let measured = at.saturating_since(self.measured_from);
                    self.queues[queue.index()].on_dequeued(measured, wire_bytes, sojourn);
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

    /// What does not happen for each packet.
    fn observe_seldom(&mut self, at: Instant, observation: Observation<'_>) {
        match observation {
            Observation::Answered { flow, asked } => self.flow(flow).on_answered(at, asked),
            Observation::Timeout { flow } => self.flow(flow).totals_mut().timeouts += 1,
            Observation::FastRetransmit { flow } => {
                self.flow(flow).totals_mut().fast_retransmits += 1;
            }
            Observation::SynRetry { flow } => self.flow(flow).totals_mut().syn_retries += 1,
            Observation::ZeroWindowProbe { flow } => {
                self.flow(flow).totals_mut().zero_window_probes += 1;
            }
            Observation::Established { flow } => {
                self.milestones(flow).established.get_or_insert(at);
                if let Some(opposite) = self.flow(flow).opposite() {
                    self.milestones(opposite).established.get_or_insert(at);
                }
            }
            Observation::Finished { flow } => {
                self.milestones(flow).finished.get_or_insert(at);
            }
            Observation::Failed { flow } => {
                self.milestones(flow).failed.get_or_insert(at);
            }
            Observation::Endpoint {
                flow,
                cwnd_packets,
                ssthresh_packets,
                smoothed_rtt,
                flight_packets,
                state,
            } if self.settings.keeps_endpoint_samples => {
                assert!(flow.index() < self.flows.len(), "the flow is one of the settings' flows");
                self.endpoint_samples.push(EndpointSample {
                    at,
                    flow,
                    cwnd_packets,
                    ssthresh_packets,
                    smoothed_rtt,
                    flight_packets,
                    state,
                });
            }
            // Samples that were not asked for; and the observations that `observe` has taken.
            _ => {}
        }
    }

    fn flow(&mut self, flow: FlowId) -> &mut Flow {
        &mut self.flows[flow.index()]
    }

    fn milestones(&mut self, flow: FlowId) -> &mut Milestones {
        &mut self.flow(flow).milestones
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
        let borders = self.series.iter().map(Series::border).chain(begin);
        self.next_border = borders.fold(self.settings.end, Instant::min);
        at < self.settings.end
    }

    fn end_warmup(&mut self) {
        self.is_warm = true;
        self.flows.iter_mut().for_each(Flow::end_warmup);
        self.queues.iter_mut().for_each(Queue::end_warmup);
    }

    fn end_windows(&mut self, until: Instant) {
        if self.series.iter().any(|series| series.border() <= until) {
            let totals = self.window_totals();
            self.series.iter_mut().for_each(|series| series.roll(until, &totals));
        }
    }

    /// Running totals of every scope of the series.
    fn window_totals(&self) -> Vec<WindowCounts> {
        let mut totals = vec![WindowCounts::default(); self.scopes.count];
        for (flow, group) in self.flows.iter().zip(&self.group_of_flow) {
            totals[self.scopes.of_group[*group]].add(&WindowCounts::of(flow.totals()));
        }
        for (flow, scope) in self.flows.iter().zip(&self.scopes.of_flow) {
            totals[*scope] = WindowCounts::of(flow.totals());
        }
        totals
    }

    /// The tables of what was measured up to `end`, or up to the settings' end if that is earlier.
    pub fn finish(mut self, end: Instant) -> Tables {
        let end = end.min(self.settings.end);
        self.cross(end);
        if !self.is_warm {
            // The run ended within the warm-up: nothing of it counts.
            self.end_warmup();
        }
        tables(&Measurement {
            settings: &self.settings,
            flows: &self.flows,
            queues: &self.queues,
            series: &self.series,
            scopes: &self.scopes,
            endpoint_samples: &self.endpoint_samples,
            measured: end.saturating_since(self.measured_from),
        })
    }
}

/// The flows that are described, each knowing the one that goes the other way.
fn flows(descriptions: &[FlowDescription]) -> Vec<Flow> {
    let mut flows: Vec<Flow> = descriptions.iter().map(|flow| Flow::new(flow.answers)).collect();
    for (id, description) in (0..).zip(descriptions) {
        if let Some(answered) = description.answers {
            flows[answered.index()].set_opposite(FlowId(id));
        }
    }
    flows
}

fn group_index(flow: &FlowDescription) -> usize {
    usize::try_from(flow.group).expect("the check compared it with a length")
}
