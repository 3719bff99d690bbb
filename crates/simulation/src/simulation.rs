//! The event loop: the network's next delivery, a connection's next deadline or the simulation's next timer.

mod connections;
mod tables;

use crate::SimulationError;
use crate::agenda::Agenda;
use crate::assemble::{Parts, assemble, ip_header_bytes};
use crate::capture::Recorder;
use crate::end::{DatagramStreams, End};
use crate::external_controls::ExternalControls;
use crate::packet::{Datagram, EndId, Payload, Route, SimulatedPacket, host_number};
use crate::window_caches::WindowCaches;
use fairwind_assembly::{CaptureFiles, Control, Damage, DelayQueue, QueueMap, Tap};
use fairwind_measure::{
    Collector, Direction, FlowId, Observation, Table, Tables, control_complaints_table,
    senders_table,
};
use fairwind_network::{DeliveryRef, Network};
use fairwind_scenario::Experiment;
use fairwind_tcp::PluggedAlgorithm;
use fairwind_units::{Instant, Span};
use fairwind_wire::Segment;

/// Events between two reports of progress.
const EVENTS_PER_REPORT: u32 = 4096;

/// The results of a simulation.
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

/// The inputs of a simulation besides its experiment.
#[derive(Default)]
pub struct SimulationInputs {
    /// Where to capture.
    pub captures: CaptureFiles,
    /// Congestion controls that are not in the repository, by their names in the experiment.
    pub controls: Vec<PluggedAlgorithm>,
}

/// An experiment about to be run.
pub struct Simulation {
    network: Network<SimulatedPacket>,
    queues: QueueMap,
    /// The two ends of each connection, the client's first.
    ends: Vec<End>,
    /// When the client and the server of each connection have something to do by the clock. Kept apart from the
    /// ends, because it is read more often than they are.
    deadlines: Vec<[Instant; 2]>,
    agenda: Agenda,
    /// Streams of datagrams, which have no connection.
    datagrams: DatagramStreams,
    /// Pure ACKs that their hosts delay.
    delayed_acks: DelayQueue<(EndId, Segment)>,
    /// Congestion controls that the repository does not have, or that are not the endpoint's own.
    external_controls: ExternalControls,
    /// Window caches of hosts, where any has one.
    window_caches: Option<Box<WindowCaches>>,
    collector: Collector,
    recorder: Recorder,
    ip_header_bytes: u32,
    end: Instant,
    has_relays: bool,
    sample_every: Option<Span>,
    samples_at_acks: bool,
    next_sample: Instant,
    /// When the next timer of the simulation expires: for a sample, a datagram, a delayed ACK or a window cache.
    next_timer: Instant,
    data_segments_delivered: u64,
    packets_delivered: u64,
}

impl Simulation {
    /// Builds the simulation of `experiment`, with every random choice drawn from `seed`.
    ///
    /// # Errors
    /// If the description is inconsistent; a checked scenario is not.
    pub fn new(experiment: &Experiment, seed: u64) -> Result<Self, SimulationError> {
        Self::with_captures(experiment, seed, CaptureFiles::default())
    }

    /// Like [`Simulation::new`], capturing to `files` what the experiment asks for.
    ///
    /// # Errors
    /// As [`Simulation::new`], and if a capture cannot be begun.
    pub fn with_captures(
        experiment: &Experiment,
        seed: u64,
        files: CaptureFiles,
    ) -> Result<Self, SimulationError> {
        let inputs = SimulationInputs { captures: files, ..SimulationInputs::default() };
        Self::with_inputs(experiment, seed, inputs)
    }

    /// Like [`Simulation::new`], with captures and congestion controls from outside.
    ///
    /// # Errors
    /// As [`Simulation::with_captures`], and if a congestion control is neither the repository's nor given.
    pub fn with_inputs(
        experiment: &Experiment,
        seed: u64,
        inputs: SimulationInputs,
    ) -> Result<Self, SimulationError> {
        let parts = assemble(experiment, seed, &inputs.controls)?;
        let Parts { network, queues, ends, datagrams, settings, .. } = parts;
        let recorder = match &experiment.capture {
            Some(capture) => {
                Recorder::new(inputs.captures, capture, &experiment.name, parts.captured)?
            }
            None => Recorder::default(),
        };
        let pairs = ends.chunks_exact(2);
        let deadlines: Vec<_> =
            pairs.map(|pair| [pair[0].deadline(), pair[1].deadline()]).collect();
        let mut agenda = Agenda::with_flows(deadlines.len());
        for (connection, &[client, server]) in (0..).zip(&deadlines) {
            agenda.schedule(Instant::ZERO, connection, client.min(server));
        }
        let sample_every = experiment.measure.endpoint_interval;
        Ok(Self {
            network,
            queues,
            has_relays: ends.iter().any(|end| end.joined.is_some()),
            ends,
            deadlines,
            agenda,
            datagrams,
            delayed_acks: DelayQueue::default(),
            external_controls: parts.external_controls,
            window_caches: parts.window_caches,
            collector: Collector::new(&settings),
            recorder,
            ip_header_bytes: ip_header_bytes(experiment),
            end: Instant::ZERO + experiment.duration,
            sample_every,
            samples_at_acks: experiment.measure.endpoint_every_ack,
            next_sample: sample_every.map_or(Instant::MAX, |every| Instant::ZERO + every),
            next_timer: Instant::ZERO,
            data_segments_delivered: 0,
            packets_delivered: 0,
        })
    }

    /// Runs to the end and tabulates.
    ///
    /// # Errors
    /// [`SimulationError::Cancelled`] if `control` was cancelled; a capture that could not be written.
    pub fn run(self, control: &Control) -> Result<Outcome, SimulationError> {
        self.run_streaming(control, usize::MAX, |_| true)
    }

    /// Runs like [`Simulation::run`], and gives the rows of the table `queue_events` to `take` as they come, at least
    /// `least` at a time; the outcome has the last ones only. The run is cancelled if `take` gives false.
    ///
    /// # Errors
    /// As [`Simulation::run`].
    pub fn run_streaming(
        mut self,
        control: &Control,
        least: usize,
        mut take: impl FnMut(Table) -> bool,
    ) -> Result<Outcome, SimulationError> {
        let whole = self.end.as_nanos();
        while let Some(reached) = self.run_events(EVENTS_PER_REPORT) {
            control.report(reached.as_nanos(), whole);
            if control.live().is_wanted() {
                control.live().count(&self.collector, reached);
            }
            let goes_on = self.collector.take_queue_events(least).is_none_or(&mut take);
            if control.is_cancelled() || !goes_on {
                return Err(SimulationError::Cancelled);
            }
            if self.recorder.has_failed() {
                break;
            }
        }
        control.report(whole, whole);
        if control.live().is_wanted() {
            // A simulation of few events reports no counts before its end.
            control.live().count(&self.collector, self.end);
        }
        self.finish()
    }

    /// Handles the next `events` events; `None` if nothing is left to do before the end.
    fn run_events(&mut self, events: u32) -> Option<Instant> {
        let mut reached = Instant::ZERO;
        for _ in 0..events {
            let by_clock = self.agenda.next().min(self.next_timer).min(self.end);
            let tap = &mut Tap { sink: &mut self.collector, queues: &self.queues };
            if let Some(delivery) = self.network.next_delivery_ref(by_clock, tap) {
                reached = delivery.at();
                if reached >= self.end {
                    return None;
                }
                self.on_delivery(&delivery);
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

    /// The network delivers a packet to its host.
    #[inline]
    fn on_delivery(&mut self, delivery: &DeliveryRef) {
        let (at, packet) = (delivery.at(), self.network.packet(delivery));
        self.packets_delivered += 1;
        if packet.damage != Damage::None {
            // Its checksum is wrong: the host drops it, and the link has reported that.
            return;
        }
        let (flow, direction) = (packet.route.flow, packet.route.direction);
        let wire_bytes = packet.wire_bytes;
        let (to, segment) = match &packet.payload {
            Payload::Segment(to, segment) => (*to, segment),
            Payload::Datagram(datagram) => {
                let datagram = *datagram;
                return self.on_datagram(at, flow, &datagram, wire_bytes);
            }
        };
        let received = Observation::Received { flow, direction, segment, wire_bytes };
        self.collector.observe(at, received);
        let segment = if self.samples_at_acks || self.recorder.wants(to.connection()) {
            let recorded = *segment;
            self.record_arrival(to, &recorded, at);
            // Borrowed anew, since recording needs the whole simulation.
            let Payload::Segment(_, segment) = &self.network.packet(delivery).payload else {
                return;
            };
            segment
        } else {
            segment
        };
        self.data_segments_delivered += u64::from(segment.payload_bytes > 0);
        self.ends[to.index()].endpoint.on_segment(at, segment);
        self.after_segment(to, at);
    }

    #[inline]
    fn on_clock(&mut self, now: Instant) {
        if self.next_timer <= now {
            self.on_timer(now);
        } else if let Some(connection) = self.agenda.due(now) {
            self.on_connection_deadline(connection, now);
            let deadline = self.earliest_deadline(connection);
            self.agenda.reschedule(now, connection, deadline);
        }
    }

    /// Does one thing for which a timer of the simulation has expired.
    #[cold]
    fn on_timer(&mut self, now: Instant) {
        if self.next_sample <= now {
            self.sample(now);
        } else if self.datagrams.next_deadline() <= now {
            self.send_datagrams(now);
        } else if self.delayed_acks.next_deadline() <= now {
            self.send_delayed_ack(now);
        } else if let Some(caches) = &mut self.window_caches {
            caches.on_timer(&mut self.ends, now);
        }
        let caches = self.window_caches.as_ref().map_or(Instant::MAX, |caches| caches.next_timer());
        let by_clock = self.next_sample.min(self.datagrams.next_deadline());
        self.next_timer = by_clock.min(self.delayed_acks.next_deadline()).min(caches);
    }

    /// Lets a stream that is due send its datagrams.
    fn send_datagrams(&mut self, now: Instant) {
        let Some(place) = self.datagrams.pop_due(now) else { return };
        while let Some(datagram) = self.datagrams.stream(place).poll_datagram(now) {
            let stream = self.datagrams.stream(place);
            let (node, flow, payload_bytes) =
                (stream.sender_node, stream.flow, datagram.payload_bytes);
            let route = Route {
                flow,
                direction: Direction::Forward,
                source: host_number(node),
                destination: stream.receiver_node,
            };
            let wire_bytes = self.ip_header_bytes + datagram.ip_payload_bytes();
            let sent = Observation::DatagramSent { flow, payload_bytes, wire_bytes };
            self.collector.observe(now, sent);
            let payload = Payload::Datagram(datagram);
            *self.network.reserve() =
                SimulatedPacket { route, wire_bytes, damage: Damage::None, payload };
            self.inject(node, now);
        }
        self.datagrams.schedule(place);
    }

    /// A datagram has reached its host, and is read.
    #[cold]
    fn on_datagram(&mut self, at: Instant, flow: FlowId, datagram: &Datagram, wire_bytes: u32) {
        let (segment, direction) = (&datagram.as_segment(), Direction::Forward);
        let received = Observation::Received { flow, direction, segment, wire_bytes };
        self.collector.observe(at, received);
        self.data_segments_delivered += 1;
        let read = Observation::DatagramRead {
            flow,
            payload_bytes: datagram.payload_bytes,
            written: Some(datagram.written()),
            number: Some(datagram.number()),
        };
        self.collector.observe(at, read);
    }

    fn finish(mut self) -> Result<Outcome, SimulationError> {
        let tap = &mut Tap { sink: &mut self.collector, queues: &self.queues };
        self.network.advance_to(self.end, tap);
        let senders = self.sender_rows();
        let cache_tables = self.window_cache_tables();
        let complaints = self.control_complaints();
        self.recorder.finish()?;
        let (injected, in_transit) = (self.network.injected(), self.network.in_transit());
        // Endpoints and packets of many flows take more room than their tables, which are made in their place.
        drop((self.network, self.ends));
        let mut tables = self.collector.finish(self.end);
        if !complaints.is_empty() {
            tables.tables.push(control_complaints_table(&complaints));
        }
        tables.tables.push(senders_table(&senders));
        tables.tables.extend(cache_tables);
        Ok(Outcome {
            packets_injected: injected.packets,
            packets_delivered: self.packets_delivered,
            packets_in_transit: in_transit.packets,
            data_segments_delivered: self.data_segments_delivered,
            tables,
        })
    }
}
