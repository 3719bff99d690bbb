//! Who is told of an observation, and when the warm-up, the windows and the measurement end.
//!
//! Cost: an observation given as a literal compiles to one comparison with the next border in time and
//! the code of that observation alone.

use crate::endpoint::EndpointSample;
use crate::flow::{Flow, Milestones};
use crate::interval::{Series, WindowCounts};
use crate::observation::{Direction, FlowId, Observation};
use crate::queue::Queue;
use crate::settings::Settings;
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
        let group = |group| usize::try_from(group).expect("the check compared it with a length");
        let groups = settings.groups.len();
        let scopes = groups + if settings.per_flow_intervals { settings.flows.len() } else { 0 };
        let measured_from = settings.measured_from();
        Self {
            next_border: measured_from,
            measured_from,
            is_warm: false,
            flows: settings.flows.iter().map(|_| Flow::new()).collect(),
            group_of_flow: settings.flows.iter().map(|flow| group(flow.group)).collect(),
            queues: settings.queues.iter().map(|_| Queue::new(groups)).collect(),
            series: settings
                .intervals
                .iter()
                .map(|&length| Series::new(length, measured_from, scopes))
                .collect(),
            endpoint_samples: Vec::new(),
            settings: settings.clone(),
        }
    }

    /// Takes a fact that became true at `at`.
    ///
    /// # Panics
    /// Where the observation names a flow or a queue that is not in the settings.
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
                    Direction::Forward => flow.on_forward_received(segment, wire_bytes),
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
            } if self.settings.endpoint_interval.is_some() => {
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

    /// Running totals of every scope of the series: the groups, then perhaps the flows.
    fn window_totals(&self) -> Vec<WindowCounts> {
        let mut totals = vec![WindowCounts::default(); self.settings.groups.len()];
        for (flow, group) in self.flows.iter().zip(&self.group_of_flow) {
            totals[*group].add(&WindowCounts::of(flow.totals()));
        }
        if self.settings.per_flow_intervals {
            totals.extend(self.flows.iter().map(|flow| WindowCounts::of(flow.totals())));
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
            endpoint_samples: &self.endpoint_samples,
            measured: end.saturating_since(self.measured_from),
        })
    }
}
