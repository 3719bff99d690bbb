//! The loop: the network's next delivery or a flow's next deadline, whichever is due first.

mod answers;
mod datagrams;
mod holding;
mod in_turn;
mod relays;
mod remembering;
mod samples;

use crate::SimulationError;
use crate::agenda::Agenda;
use crate::assemble::{assemble, ip_header_bytes};
use crate::complaints::Governed;
use crate::datagrams::DatagramStreams;
use crate::flow::Flow;
use crate::memory::{End, Memories};
use crate::packet::SimulatedPacket;
use crate::recorder::Recorder;
use crate::relays::Relays;
use fairwind_assembly::{CaptureFiles, Control, Damage, DelayQueue, QueueMap, Tap};
use fairwind_measure::{
    Collector, Direction, FailureReason, FlowId, Observation, Table, Tables,
    control_complaints_table, senders_table,
};
use fairwind_network::{DeliveryRef, Network};
use fairwind_scenario::Experiment;
use fairwind_tcp::{Event, PluggedAlgorithm};
use fairwind_units::{Instant, Span};
use fairwind_wire::Segment;

/// Events between two looks at the control.
const EVENTS_PER_REPORT: u32 = 4096;

/// What a simulation gives.
#[derive(Debug)]
pub struct Outcome {
    /// The measures.
    pub tables: Tables,
    /// Data segments that reached their host, warm-up included.
    pub data_segments_delivered: u64,
    /// Packets that hosts gave to the network.
    pub packets_injected: u64,
    /// Packets that the network gave to hosts.
    pub packets_delivered: u64,
    /// Packets still inside the network at the end.
    pub packets_in_transit: u64,
}

/// What a simulation is handed beside the description of its experiment.
#[derive(Default)]
pub struct Provided {
    /// Where to capture.
    pub captures: CaptureFiles,
    /// Congestion controls that are not the repository's, by the names that the experiment has for them.
    pub controls: Vec<PluggedAlgorithm>,
}

/// When the two ends of a flow have something to do by the clock. Kept apart from the flows, so that
/// the many looks at it do not reach for a flow's memory.
#[derive(Debug, Clone, Copy)]
struct Deadlines {
    /// The sending endpoint's, or the application's.
    sender: Instant,
    receiver: Instant,
}

impl Deadlines {
    #[inline]
    fn earliest(self) -> Instant {
        self.sender.min(self.receiver)
    }
}

/// An experiment about to be run.
pub struct Simulation {
    network: Network<SimulatedPacket>,
    queues: QueueMap,
    flows: Vec<Flow>,
    /// Streams of datagrams, which have an agenda of their own.
    datagrams: DatagramStreams,
    /// The connections of the flows that answer, whose ids follow those of the others.
    answered: Vec<u32>,
    relays: Relays,
    governed: Governed,
    /// What hosts remember of their connections, where any does.
    memories: Option<Box<Memories>>,
    /// What senders hold back, with the connection.
    held: DelayQueue<(u32, Segment)>,
    ip_header_bytes: u32,
    deadlines: Vec<Deadlines>,
    agenda: Agenda,
    collector: Collector,
    recorder: Recorder,
    end: Instant,
    sample_every: Option<Span>,
    samples_at_acks: bool,
    /// Whether packets need no second look: there are no datagrams, no connection has data both ways or is relayed, nothing is captured or
    /// sampled at acknowledgments. One question in the place of three, at every packet.
    is_plain: bool,
    next_sample: Instant,
    /// When something is due beside the connections: a sample, a datagram, or what is held back.
    next_aside: Instant,
    data_segments_delivered: u64,
    packets_delivered: u64,
}

impl Simulation {
    /// Builds what `experiment` describes, with every random choice drawn from `seed`.
    ///
    /// # Errors
    /// Where the description is inconsistent; a checked scenario is not.
    pub fn new(experiment: &Experiment, seed: u64) -> Result<Self, SimulationError> {
        Self::with_captures(experiment, seed, CaptureFiles::default())
    }

    /// The same, capturing to `files` what the experiment wants captured.
    ///
    /// # Errors
    /// As [`Simulation::new`], and where a capture cannot be begun.
    pub fn with_captures(
        experiment: &Experiment,
        seed: u64,
        files: CaptureFiles,
    ) -> Result<Self, SimulationError> {
        let provided = Provided { captures: files, ..Provided::default() };
        Self::with_provided(experiment, seed, provided)
    }

    /// The same, with whatever an experiment may need beside its description.
    ///
    /// # Errors
    /// As [`Simulation::with_captures`], and where a congestion control is neither the repository's nor provided.
    pub fn with_provided(
        experiment: &Experiment,
        seed: u64,
        provided: Provided,
    ) -> Result<Self, SimulationError> {
        let parts = assemble(experiment, seed, &provided.controls)?;
        let recorder = match &experiment.capture {
            Some(capture) => {
                Recorder::new(provided.captures, capture, &experiment.name, parts.captured)?
            }
            None => Recorder::default(),
        };
        let deadlines: Vec<_> = parts.flows.iter().map(deadlines_of).collect();
        let mut agenda = Agenda::with_flows(deadlines.len());
        for (number, deadlines) in (0..).zip(&deadlines) {
            agenda.schedule(Instant::ZERO, number, deadlines.earliest());
        }
        let sample_every = experiment.measure.endpoint_interval;
        Ok(Self {
            network: parts.network,
            queues: parts.queues,
            flows: parts.flows,
            governed: parts.governed,
            memories: parts.memories,
            held: DelayQueue::default(),
            ip_header_bytes: ip_header_bytes(experiment),
            deadlines,
            agenda,
            collector: Collector::new(&parts.settings),
            recorder,
            end: Instant::ZERO + experiment.duration,
            sample_every,
            samples_at_acks: experiment.measure.endpoint_every_ack,
            is_plain: parts.answered.is_empty()
                && parts.datagrams.is_empty()
                && parts.relays.is_empty()
                && experiment.capture.is_none()
                && !experiment.measure.endpoint_every_ack
                && !experiment.network.links.iter().any(|link| link.impairments.corrupt.is_some()),
            datagrams: parts.datagrams,
            answered: parts.answered,
            relays: parts.relays,
            next_sample: sample_every.map_or(Instant::MAX, |every| Instant::ZERO + every),
            next_aside: Instant::ZERO,
            data_segments_delivered: 0,
            packets_delivered: 0,
        })
    }

    /// Runs to the end and tabulates.
    ///
    /// # Errors
    /// [`SimulationError::Cancelled`] where `control` asked for it; a capture that could not be
    /// written.
    pub fn run(self, control: &Control) -> Result<Outcome, SimulationError> {
        self.run_handing_on(control, usize::MAX, |_| true)
    }

    /// The same, where `take` is given the rows of the table `queue_events` as they come, at least `least` at a time; the
    /// outcome has the last ones only. Where `take` gives false, the run is cancelled.
    ///
    /// # Errors
    /// As [`Simulation::run`].
    pub fn run_handing_on(
        mut self,
        control: &Control,
        least: usize,
        mut take: impl FnMut(Table) -> bool,
    ) -> Result<Outcome, SimulationError> {
        let whole = self.end.as_nanos();
        while let Some(reached) = self.run_some(EVENTS_PER_REPORT) {
            control.report(reached.as_nanos(), whole);
            let goes_on = self.collector.take_queue_events(least).is_none_or(&mut take);
            if control.is_cancelled() || !goes_on {
                return Err(SimulationError::Cancelled);
            }
            if self.recorder.has_failed() {
                break;
            }
        }
        control.report(whole, whole);
        self.finish()
    }

    /// Does the next `events` events; `None` once nothing is left to do before the end.
    fn run_some(&mut self, events: u32) -> Option<Instant> {
        let mut reached = Instant::ZERO;
        for _ in 0..events {
            let by_clock = self.agenda.next().min(self.next_aside).min(self.end);
            let tap = &mut Tap { sink: &mut self.collector, queues: &self.queues };
            if let Some(delivery) = self.network.next_delivery_ref(by_clock, tap) {
                reached = delivery.at();
                if reached >= self.end {
                    return None;
                }
                self.on_arrival(&delivery);
                self.network.release(delivery);
            } else {
                if by_clock >= self.end {
                    return None;
                }
                reached = by_clock;
                self.on_clock(by_clock);
            }
        }
        Some(reached)
    }

    #[inline]
    fn on_clock(&mut self, now: Instant) {
        if self.next_aside <= now {
            self.on_aside(now);
        } else if let Some(number) = self.agenda.due(now) {
            self.on_flow_deadline(number, now);
            let deadlines = self.deadlines[number as usize];
            self.agenda.reschedule(now, number, deadlines.earliest());
        }
    }

    /// Does one thing that is due beside the connections.
    #[cold]
    fn on_aside(&mut self, now: Instant) {
        if self.next_sample <= now {
            self.sample(now);
        } else if self.datagrams.next() <= now {
            self.send_datagrams(now);
        } else if self.held.next_deadline() <= now {
            self.let_go(now);
        } else if let Some(memories) = &mut self.memories {
            memories.on_clock(&mut self.flows, now);
        }
        let remembered = self.memories.as_ref().map_or(Instant::MAX, |memories| memories.next());
        let by_clock = self.next_sample.min(self.datagrams.next());
        self.next_aside = by_clock.min(self.held.next_deadline()).min(remembered);
    }

    #[inline]
    fn on_arrival(&mut self, delivery: &DeliveryRef) {
        let (at, packet) = (delivery.at(), self.network.packet(delivery));
        self.packets_delivered += 1;
        if !self.is_plain && packet.damage != Damage::None {
            // Its checksum is wrong: the host throws it away, and the link has told of it.
            return;
        }
        let received = Observation::Received {
            flow: FlowId(packet.flow),
            direction: packet.direction,
            segment: &packet.segment,
            wire_bytes: packet.wire_bytes,
        };
        self.collector.observe(at, received);
        let (number, way) = if self.is_plain {
            (packet.flow, packet.direction)
        } else {
            let packet = *packet;
            if packet.is_datagram() {
                return self.on_datagram(at, &packet);
            }
            self.look_at_arrival(at, &packet)
        };
        let segment = &self.network.packet(delivery).segment;
        let carries_data = segment.payload_bytes > 0;
        let flow = &mut self.flows[number as usize];
        match way {
            Direction::Forward => {
                flow.receiver.on_segment(at, segment);
                self.data_segments_delivered += u64::from(carries_data);
                self.after_receiver_segment(number, at);
            }
            Direction::Reverse => {
                flow.sender.on_segment(at, segment);
                if !self.is_plain && carries_data {
                    self.data_segments_delivered += 1;
                    self.read_answers(number, at);
                }
                self.flush_sender(number, at);
                if !self.is_plain {
                    self.refill(number, at);
                }
            }
        }
        self.reschedule(number, at);
    }

    /// The application reads what has come in order, and the receiving endpoint answers.
    #[inline]
    fn after_receiver_segment(&mut self, number: u32, now: Instant) {
        if self.is_relayed(number) {
            return self.pass_on(number, now);
        }
        let flow = &mut self.flows[number as usize];
        let read = flow.receiver.read(now, u32::MAX);
        if read > 0 {
            if let Some(dialogue) = &mut flow.dialogue {
                dialogue.application.on_read(now, u64::from(read));
            }
            let end_offset = flow.receiver.received_bytes();
            self.collector.observe(now, Observation::Read { flow: FlowId(number), end_offset });
        }
        self.flush_receiver(number, now);
    }

    #[inline]
    fn reschedule(&mut self, number: u32, now: Instant) {
        self.agenda.schedule(now, number, self.deadlines[number as usize].earliest());
    }

    fn on_flow_deadline(&mut self, number: u32, now: Instant) {
        let Deadlines { sender, receiver } = self.deadlines[number as usize];
        if receiver <= now {
            let endpoint = &mut self.flows[number as usize].receiver;
            if endpoint.next_deadline() <= now {
                endpoint.on_deadline(now);
            }
            self.flush_receiver(number, now);
        }
        if sender <= now {
            if self.flows[number as usize].start != Instant::MAX {
                self.on_opening(number, now);
                self.remember_opening(number, now);
            }
            self.flows[number as usize].on_sender_deadline(now);
            self.flush_sender(number, now);
            if !self.is_plain {
                self.refill(number, now);
            }
        }
    }

    /// Lets the application write and the sending endpoint send, until neither has more.
    #[inline]
    fn flush_sender(&mut self, number: u32, now: Instant) {
        loop {
            let flow = &mut self.flows[number as usize];
            while let Some(end_offset) = flow.poll_write(now) {
                if self.is_plain {
                    self.collector
                        .observe(now, Observation::Written { flow: FlowId(number), end_offset });
                } else {
                    self.relays.tell_written(&mut self.collector, number, end_offset, now);
                }
            }
            if flow.is_to_be_closed() {
                flow.sender_closed = true;
                flow.sender.close();
            }
            if !flow.sender.poll_segment_into(now, &mut self.network.reserve().segment) {
                break;
            }
            self.send(number, Direction::Forward, now);
        }
        while let Some(event) = self.flows[number as usize].sender.poll_event() {
            self.on_sender_event(number, event, now);
        }
        self.deadlines[number as usize].sender = self.flows[number as usize].sender_deadline();
    }

    /// Lets what answers write and the receiving endpoint send, until neither has more.
    #[inline]
    fn flush_receiver(&mut self, number: u32, now: Instant) {
        loop {
            if !self.is_plain {
                self.write_answers(number, now);
            }
            let receiver = &mut self.flows[number as usize].receiver;
            if !receiver.poll_segment_into(now, &mut self.network.reserve().segment) {
                break;
            }
            self.send(number, Direction::Reverse, now);
        }
        while let Some(event) = self.flows[number as usize].receiver.poll_event() {
            self.on_receiver_event(number, event, now);
        }
        self.deadlines[number as usize].receiver = self.flows[number as usize].receiver_deadline();
    }

    /// Sends the segment that was written to the network's reserved packet: of connection `number`, `way` forward from the side
    /// that opened it. It is held back first where that side does so.
    #[inline]
    fn send(&mut self, number: u32, way: Direction, now: Instant) {
        if self.is_plain || !self.holds_back(number, way, now) {
            self.put_in(number, way, now);
        }
    }

    /// Puts the segment that was written to the network's reserved packet into the network.
    #[inline]
    fn put_in(&mut self, number: u32, way: Direction, now: Instant) {
        let flow = &self.flows[number as usize];
        let (from, to, source) = match way {
            Direction::Forward => (flow.sender_node, flow.receiver_node, flow.sender_host),
            Direction::Reverse => (flow.receiver_node, flow.sender_node, flow.receiver_host),
        };
        let (id, direction) = if self.is_plain {
            (FlowId(number), way)
        } else {
            self.look_at_departure(now, number, way)
        };
        let packet = self.network.reserve();
        packet.address(id.0, direction, (source, to), self.ip_header_bytes);
        let SimulatedPacket { segment, wire_bytes, .. } = packet;
        let sent = Observation::Sent { flow: id, direction, segment, wire_bytes: *wire_bytes };
        self.collector.observe(now, sent);
        let tap = &mut Tap { sink: &mut self.collector, queues: &self.queues };
        self.network.commit(now, from, tap);
    }

    #[cold]
    fn on_sender_event(&mut self, number: u32, event: Event, now: Instant) {
        self.remember_event((number, End::Sender), event, now);
        let flow = FlowId(number);
        let observation = match event {
            Event::Established => {
                self.flows[number as usize].application.begin(now);
                Observation::Established { flow }
            }
            Event::RetransmissionTimeout => Observation::Timeout { flow },
            Event::FastRetransmit => Observation::FastRetransmit { flow },
            Event::SynRetransmitted => Observation::SynRetry { flow },
            Event::ZeroWindowProbe => Observation::ZeroWindowProbe { flow },
            Event::Reset | Event::TimedOut => {
                self.flows[number as usize].application.end();
                self.give_up_relayed(number, now);
                self.on_connection_over(number, now);
                Observation::Failed { flow, reason: why_failed(event) }
            }
            Event::PeerFinished => return self.on_answers_finished(number, now),
            _ => return,
        };
        self.collector.observe(now, observation);
        if event == Event::Established {
            self.flush_sender(number, now);
        }
    }

    #[cold]
    fn on_receiver_event(&mut self, number: u32, event: Event, now: Instant) {
        self.remember_event((number, End::Receiver), event, now);
        if self.flows[number as usize].dialogue.is_some() {
            self.on_answering_event(number, event, now);
        }
        let flow = &mut self.flows[number as usize];
        if event == Event::Established {
            flow.receiver_established = true;
        }
        if self.is_relayed(number) {
            return self.on_relayed_event(number, event, now);
        }
        let flow = &mut self.flows[number as usize];
        match event {
            Event::PeerFinished => {
                match &mut flow.dialogue {
                    None => flow.receiver.close(),
                    Some(dialogue) => dialogue.application.end(),
                }
                self.collector.observe(now, Observation::Finished { flow: FlowId(number) });
                self.flush_receiver(number, now);
            }
            Event::TimedOut | Event::Reset if !flow.receiver_established => flow.listen_again(),
            _ => {}
        }
    }

    /// Captures and samples what has arrived, where that is wanted, and gives its connection and
    /// which way it goes there.
    #[cold]
    fn look_at_arrival(&mut self, at: Instant, packet: &SimulatedPacket) -> (u32, Direction) {
        let (number, way) = self.way_of(packet.flow, packet.direction);
        if self.recorder.wants(number) {
            self.record(at, number, way, false, &packet.segment);
        }
        if self.samples_at_acks {
            self.sample_what_is_found(number, way, at);
        }
        (number, way)
    }

    /// Captures what leaves, where that is wanted, and gives its flow and its direction there.
    #[cold]
    fn look_at_departure(
        &mut self,
        now: Instant,
        number: u32,
        way: Direction,
    ) -> (FlowId, Direction) {
        let segment = self.network.reserve().segment;
        if self.recorder.wants(number) {
            self.record(now, number, way, true, &segment);
        }
        match &self.flows[number as usize].dialogue {
            None => (FlowId(number), way),
            Some(dialogue) => dialogue.attribute(way, &segment),
        }
    }

    fn record(
        &mut self,
        at: Instant,
        number: u32,
        direction: Direction,
        departs: bool,
        segment: &Segment,
    ) {
        let flow = &self.flows[number as usize];
        let offset = match direction {
            _ if segment.payload_bytes == 0 => 0,
            Direction::Forward => flow.sender.stream_offset(segment.sequence),
            Direction::Reverse => flow.receiver.stream_offset(segment.sequence),
        };
        self.recorder.record(at, number, direction, departs, segment, offset);
    }

    fn finish(mut self) -> Result<Outcome, SimulationError> {
        let tap = &mut Tap { sink: &mut self.collector, queues: &self.queues };
        self.network.advance_to(self.end, tap);
        let senders = self.sender_accounts();
        let memory_tables = self.memory_tables();
        self.recorder.finish()?;
        let complaints = self.governed.complaints(&mut self.flows);
        let mut tables = self.collector.finish(self.end);
        if !complaints.is_empty() {
            tables.tables.push(control_complaints_table(&complaints));
        }
        tables.tables.push(senders_table(&senders));
        tables.tables.extend(memory_tables);
        Ok(Outcome {
            packets_injected: self.network.injected().packets,
            packets_delivered: self.packets_delivered,
            packets_in_transit: self.network.in_transit().packets,
            data_segments_delivered: self.data_segments_delivered,
            tables,
        })
    }
}

fn deadlines_of(flow: &Flow) -> Deadlines {
    Deadlines { sender: flow.sender_deadline(), receiver: flow.receiver_deadline() }
}

/// Why a connection was given up that ended with this event.
fn why_failed(event: Event) -> FailureReason {
    if event == Event::TimedOut { FailureReason::TimedOut } else { FailureReason::Reset }
}
