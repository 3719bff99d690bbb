//! Observations of packets in the kernel's own network, and counts of missed ones.
//!
//! A program at a tracepoint does not see every event. The kernel skips a program that would run within
//! itself. Some machines skip all programs, uncounted, in soft interrupts on top of certain processes. The
//! devices count every packet, so their counters show how many events are missing. Packets that pass while
//! the counters are read hide as many missing ones; the count of missing events is never too high.

use super::KernelRouterError;
use super::ledger::QueueEvent;
use super::path::{KernelPath, PathWatch, WatchPoint};
use super::sockets::PathEvent;
use fairwind_assembly::{QueueMap, Sink as _};
use fairwind_bpf::{PacketEvent, PacketEventKind};
use fairwind_linux as linux;
use fairwind_linux::KernelError;
use fairwind_measure::{DropReason, Dropped, Lateness, Observation};
use fairwind_network::LinkId;
use fairwind_recorder::{ObservationPoint, ObservationWriter};
use fairwind_router::{FlowTable, RouterControl};
use fairwind_units::{Instant, Span};
use std::collections::HashMap;
use std::time::Duration;

/// How long the watch waits where little happens.
const GLANCE: Duration = Duration::from_millis(5);
/// The longest that it waits.
const LONGEST_GLANCE: Span = Span::from_millis(100);

/// Parts of a [`PathObserver`].
pub struct PathObserverParts {
    /// What reports the packets.
    pub watch: PathWatch,
    /// Which queue is on which link.
    pub queues: QueueMap,
    /// Bytes that each packet costs beyond itself, by link.
    pub overhead_bytes: Vec<u32>,
    /// Finds the flow of a packet.
    pub flows: FlowTable,
    /// Where events are reported.
    pub observations: ObservationWriter,
    /// Counts of packets; there is nothing to be late for.
    pub lateness: Lateness,
    /// The network, which stands as long as it is watched.
    pub path: KernelPath,
}

/// Reports packet events of the kernel.
pub struct PathObserver {
    watch: PathWatch,
    flows: FlowTable,
    translator: EventTranslator,
    control: RouterControl,
    path: KernelPath,
}

/// All but the watch itself.
struct EventTranslator {
    queues: QueueMap,
    overhead_bytes: Vec<u32>,
    observations: ObservationWriter,
    lateness: Lateness,
    /// When a packet was put into a queue, by place and packet.
    waiting: HashMap<(usize, u64), Instant>,
    /// Packets at the hosts, by instants of the machine's clock.
    tally: PacketCount,
}

impl PathObserver {
    /// A watcher of these parts, which has reported nothing yet.
    pub fn new(
        parts: PathObserverParts,
        control: RouterControl,
    ) -> Result<Self, KernelRouterError> {
        let tally = PacketCount::begin(&parts.path)?;
        let translator = EventTranslator {
            queues: parts.queues,
            overhead_bytes: parts.overhead_bytes,
            observations: parts.observations,
            lateness: parts.lateness,
            waiting: HashMap::new(),
            tally,
        };
        Ok(Self { watch: parts.watch, flows: parts.flows, translator, control, path: parts.path })
    }

    /// Reports events until it is stopped; returns how many packets there were.
    pub fn run(mut self) -> Result<Lateness, KernelRouterError> {
        let result = self.translate_all();
        self.translator.observations.finish();
        result?;
        let mut lateness = self.translator.lateness;
        // A full ring is one of the reasons why packets are missing in the tally.
        let missed = match &mut self.watch {
            PathWatch::Programs(watch, _) => watch.missed(),
            PathWatch::Sockets(watch) => watch.missed(),
        };
        lateness.events_missed += missed.max(self.translator.tally.missing());
        Ok(lateness)
    }

    fn translate_all(&mut self) -> Result<(), KernelRouterError> {
        let Self { watch, flows, translator, control, path } = self;
        // Who reports seldom need not look often; but what packet sockets have seen has to fit in their memory.
        let glance = translator.observations.interval().min(LONGEST_GLANCE);
        while !control.is_stopped() {
            let until = match watch {
                PathWatch::Programs(watch, points) => watch.read(GLANCE, |at, event| {
                    translator.on_event(control, at, (points, flows), &event);
                })?,
                PathWatch::Sockets(watch) => watch.read(glance, flows, |at, event| {
                    translator.on_path_event(control, at, event);
                })?,
            };
            translator.observations.advance(control.time_of(until));
        }
        translator.tally.end(path, linux::monotonic)?;
        match watch {
            PathWatch::Programs(watch, points) => {
                watch.finish(|at, event| {
                    translator.on_event(control, at, (points, flows), &event);
                })?;
            }
            PathWatch::Sockets(watch) => {
                watch.finish(flows, |at, event| translator.on_path_event(control, at, event))?;
            }
        }
        Ok(())
    }
}

impl EventTranslator {
    fn on_event(
        &mut self,
        control: &RouterControl,
        clock: Instant,
        (points, flows): (&[WatchPoint], &FlowTable),
        event: &PacketEvent,
    ) {
        let Some(spot) = points.get(event.place).copied() else { return };
        let (measured, wire_bytes) = flows.identify(event.head()).unzip();
        let (measured, wire_bytes) = (measured.as_ref(), wire_bytes.unwrap_or(0));
        let (link, reason) = match spot {
            WatchPoint::Host => {
                let point = match event.kind {
                    PacketEventKind::Arrives => ObservationPoint::Departure,
                    PacketEventKind::Leaves => ObservationPoint::Arrival,
                    _ => return,
                };
                let head = event.head();
                let event = PathEvent::Border { point, measured, wire_bytes, head };
                return self.on_path_event(control, clock, event);
            }
            WatchPoint::Queue(link) => (link, DropReason::QueueFull),
            WatchPoint::Loss(link) => (link, DropReason::LinkLoss),
        };
        let Some(measured) = measured else { return };
        let at = control.time_of(clock);
        let key = (event.place, event.packet);
        let (event, backlog) = match event.kind {
            PacketEventKind::Enqueued => {
                self.waiting.insert(key, at);
                (QueueEvent::Accepted, Some(self.backlog_before(event, link, wire_bytes)))
            }
            PacketEventKind::Dequeued => {
                // Packets that were queued before the watch began belong to no flow.
                let Some(since) = self.waiting.remove(&key) else { return };
                let waited = at.saturating_since(since);
                (QueueEvent::Left { waited, is_marked: false }, None)
            }
            PacketEventKind::Dropped => (QueueEvent::Refused, None),
            PacketEventKind::Leaves | PacketEventKind::Arrives => return,
        };
        let event = PathEvent::Queue { link, event, measured, wire_bytes, backlog, reason };
        self.on_path_event(control, clock, event);
    }

    /// Packets and bytes that waited before a packet was put into the queue.
    fn backlog_before(&self, event: &PacketEvent, link: LinkId, wire_bytes: u32) -> (u32, u32) {
        let packets = event.backlog_packets.saturating_sub(1);
        // The kernel counts what packets cost, and this one already.
        let overhead = self.overhead_bytes.get(link.index()).copied().unwrap_or(0);
        let costs = event.backlog_bytes.saturating_sub(wire_bytes + overhead);
        (packets, costs.saturating_sub(overhead.saturating_mul(packets)))
    }

    /// An event that packet sockets have seen, or programs.
    fn on_path_event(&mut self, control: &RouterControl, clock: Instant, event: PathEvent<'_>) {
        let at = control.time_of(clock);
        match event {
            PathEvent::Border { point, measured, wire_bytes, head } => {
                self.tally.on_packet(clock);
                if point == ObservationPoint::Departure {
                    self.lateness.packets.taken += 1;
                    self.lateness.packets.unmeasured += u64::from(measured.is_none());
                }
                if let Some(measured) = measured {
                    let there = usize::try_from(wire_bytes).unwrap_or(usize::MAX).min(head.len());
                    self.observations.on_packet(at, point, measured, wire_bytes, &head[..there]);
                }
            }
            PathEvent::Queue { link, event, measured, wire_bytes, backlog, reason } => {
                let Some(queue) = self.queues.of(link) else { return };
                let flow = measured.flow;
                if let QueueEvent::Left { is_marked: true, .. } = event {
                    self.observations.observe(at, Observation::Marked { queue, flow, wire_bytes });
                }
                let drop = |waited| {
                    Observation::Dropped(Dropped {
                        flow,
                        direction: measured.direction,
                        queue,
                        payload_bytes: measured.segment.payload_bytes,
                        wire_bytes,
                        reason,
                        waited,
                        backlog,
                    })
                };
                let (backlog_packets, backlog_bytes) = backlog.unwrap_or_default();
                let observation = match event {
                    QueueEvent::Accepted => Observation::Enqueued {
                        queue,
                        flow,
                        wire_bytes,
                        backlog_packets,
                        backlog_bytes,
                    },
                    QueueEvent::Left { waited, .. } => {
                        Observation::Dequeued { queue, flow, wire_bytes, sojourn: waited }
                    }
                    QueueEvent::Refused => drop(None),
                    QueueEvent::Dropped { waited } => drop(Some(waited)),
                };
                self.observations.observe(at, observation);
            }
        }
    }
}

/// Packets that passed, by devices and by programs.
#[derive(Debug)]
struct PacketCount {
    /// What the devices had counted when the tally began.
    before: u64,
    /// What they counted until the tally ended, and the instant of that.
    passed: Option<(u64, Instant)>,
    reported: u64,
}

impl PacketCount {
    /// Begins; the programs have to be at work.
    fn begin(path: &KernelPath) -> Result<Self, KernelError> {
        Ok(Self::from(path.passed()?))
    }

    fn from(before: u64) -> Self {
        Self { before, passed: None, reported: 0 }
    }

    /// Reads the counters for the last time; `clock` gives the instant after that.
    fn end(
        &mut self,
        path: &KernelPath,
        clock: impl FnOnce() -> Instant,
    ) -> Result<(), KernelError> {
        let after = path.passed()?;
        self.end_with(after, clock());
        Ok(())
    }

    fn end_with(&mut self, after: u64, by: Instant) {
        self.passed = Some((after.saturating_sub(self.before), by));
    }

    /// A program has reported a packet.
    fn on_packet(&mut self, at: Instant) {
        if self.passed.is_none_or(|(_, by)| at <= by) {
            self.reported += 1;
        }
    }

    /// How many packets no program reported, at least.
    fn missing(&self) -> u64 {
        self.passed.map_or(0, |(passed, _)| passed.saturating_sub(self.reported))
    }
}

#[cfg(test)]
mod tests {
    use super::PacketCount;
    use fairwind_units::Instant;

    #[test]
    fn unreported_packets_count_as_missing() {
        let mut tally = PacketCount::from(100);
        for millis in 1..=7 {
            tally.on_packet(Instant::from_millis(millis));
        }
        tally.end_with(110, Instant::from_millis(9));
        tally.on_packet(Instant::from_millis(8));
        assert_eq!(tally.missing(), 2);
        // The counters could not yet know of these.
        tally.on_packet(Instant::from_millis(10));
        tally.on_packet(Instant::from_millis(11));
        assert_eq!(tally.missing(), 2);
    }

    #[test]
    fn missing_count_is_never_negative() {
        let mut tally = PacketCount::from(0);
        tally.on_packet(Instant::from_millis(1));
        tally.end_with(0, Instant::from_millis(2));
        assert_eq!(tally.missing(), 0);
    }
}
