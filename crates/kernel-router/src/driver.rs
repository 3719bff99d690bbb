//! What the kernel's packets do, told to the record as our own router tells it.

use super::KernelRouterError;
use super::path::{KernelPath, Spot};
use super::tally::Tally;
use fairwind_assembly::{QueueMap, Sink as _};
use fairwind_bpf::{PacketDeed, PacketEvent, PacketWatch};
use fairwind_linux as linux;
use fairwind_measure::{DropReason, Dropped, Lateness, Observation, QueueId};
use fairwind_network::LinkId;
use fairwind_recorder::{Journal, Measured, Sight};
use fairwind_router::{PlannedFlows, RouterSwitch};
use fairwind_units::Instant;
use std::collections::HashMap;
use std::time::Duration;

/// How long the watch waits where little happens.
const GLANCE: Duration = Duration::from_millis(5);

/// What a watcher of the kernel's packets is made of.
pub struct WatcherParts {
    /// The programs at the interfaces.
    pub watch: PacketWatch,
    /// What the places of the watch are.
    pub spots: Vec<Spot>,
    /// Which queue is on which link.
    pub queues: QueueMap,
    /// Bytes that each packet costs beyond itself, by link.
    pub overhead_bytes: Vec<u32>,
    /// Finds the flow of a packet.
    pub flows: PlannedFlows,
    /// Who is told what happens.
    pub journal: Journal,
    /// Counts of packets; there is nothing to be late for.
    pub lateness: Lateness,
    /// The network, which stands as long as it is watched.
    pub path: KernelPath,
}

/// Tells what the kernel's packets do.
pub struct Watcher {
    watch: PacketWatch,
    teller: Teller,
    switch: RouterSwitch,
    path: KernelPath,
}

/// All but the watch itself.
struct Teller {
    spots: Vec<Spot>,
    queues: QueueMap,
    overhead_bytes: Vec<u32>,
    flows: PlannedFlows,
    journal: Journal,
    lateness: Lateness,
    /// When a packet was put into a queue, by place and packet.
    waiting: HashMap<(usize, u64), Instant>,
    /// Packets at the hosts, by instants of the machine's clock.
    tally: Tally,
}

impl Watcher {
    /// A watcher of these parts, which has reported nothing yet.
    pub fn new(parts: WatcherParts, switch: RouterSwitch) -> Result<Self, KernelRouterError> {
        let WatcherParts { watch, spots, queues, overhead_bytes, flows, journal, lateness, path } =
            parts;
        let waiting = HashMap::new();
        let tally = Tally::begin(&path)?;
        let teller =
            Teller { spots, queues, overhead_bytes, flows, journal, lateness, waiting, tally };
        Ok(Self { watch, teller, switch, path })
    }

    /// Tells until the switch is turned off; how many packets there were.
    pub fn run(mut self) -> Result<Lateness, KernelRouterError> {
        let result = self.tell_all();
        self.teller.journal.finish();
        result?;
        let mut lateness = self.teller.lateness;
        // A full ring is one of the reasons why packets are missing in the tally.
        lateness.events_missed += self.watch.missed().max(self.teller.tally.missing());
        Ok(lateness)
    }

    fn tell_all(&mut self) -> Result<(), KernelRouterError> {
        let Self { watch, teller, switch, path } = self;
        while !switch.is_stopped() {
            let until = watch.read(GLANCE, |at, event| teller.on_event(switch, at, &event))?;
            teller.journal.tell(switch.time_of(until));
        }
        teller.tally.end(path, linux::monotonic)?;
        watch.finish(|at, event| teller.on_event(switch, at, &event))?;
        Ok(())
    }
}

impl Teller {
    fn on_event(&mut self, switch: &RouterSwitch, clock: Instant, event: &PacketEvent) {
        let Some(spot) = self.spots.get(event.place).copied() else { return };
        if matches!(spot, Spot::Host(_)) {
            self.tally.on_packet(clock);
        }
        let at = switch.time_of(clock);
        let (measured, wire_bytes) = self.flows.identify(event.head()).unzip();
        let wire_bytes = wire_bytes.unwrap_or(0);
        match (spot, measured) {
            (Spot::Host(_), measured) => {
                self.at_border(at, event, measured.as_ref(), wire_bytes);
            }
            (Spot::Queue(link) | Spot::Loss(link), Some(measured)) => {
                self.at_queue(at, event, link, &measured, wire_bytes);
            }
            (_, None) => {}
        }
    }

    fn at_border(
        &mut self,
        at: Instant,
        event: &PacketEvent,
        measured: Option<&Measured>,
        wire_bytes: u32,
    ) {
        let sight = match event.deed {
            PacketDeed::Arrives => Sight::Departs,
            PacketDeed::Leaves => Sight::Arrives,
            _ => return,
        };
        if sight == Sight::Departs {
            self.lateness.packets.taken += 1;
            self.lateness.packets.unmeasured += u64::from(measured.is_none());
        }
        if let Some(measured) = measured {
            let there = usize::try_from(wire_bytes).unwrap_or(usize::MAX).min(event.head().len());
            let bytes = &event.head()[..there];
            self.journal.on_packet(at, sight, measured, wire_bytes, bytes);
        }
    }

    fn at_queue(
        &mut self,
        at: Instant,
        event: &PacketEvent,
        link: LinkId,
        measured: &Measured,
        wire_bytes: u32,
    ) {
        let Some(queue) = self.queues.of(link) else { return };
        let key = (event.place, event.packet);
        let observation = match event.deed {
            PacketDeed::Enqueued => {
                self.waiting.insert(key, at);
                self.enqueued(queue, event, link, measured, wire_bytes)
            }
            PacketDeed::Dequeued => {
                // What was in the queue before the watch began is nobody's.
                let Some(since) = self.waiting.remove(&key) else { return };
                let sojourn = at.saturating_since(since);
                Observation::Dequeued { queue, flow: measured.flow, wire_bytes, sojourn }
            }
            PacketDeed::Dropped => Observation::Dropped(Dropped {
                flow: measured.flow,
                direction: measured.direction,
                queue,
                payload_bytes: measured.segment.payload_bytes,
                wire_bytes,
                reason: self.reason_at(event.place),
                waited: None,
                backlog: None,
            }),
            PacketDeed::Leaves | PacketDeed::Arrives => return,
        };
        self.journal.observe(at, observation);
    }

    fn enqueued(
        &self,
        queue: QueueId,
        event: &PacketEvent,
        link: LinkId,
        measured: &Measured,
        wire_bytes: u32,
    ) -> Observation<'static> {
        let backlog_packets = event.backlog_packets.saturating_sub(1);
        // The kernel counts what packets cost, and this one already.
        let overhead = self.overhead_bytes.get(link.index()).copied().unwrap_or(0);
        let costs = event.backlog_bytes.saturating_sub(wire_bytes + overhead);
        let backlog_bytes = costs.saturating_sub(overhead.saturating_mul(backlog_packets));
        Observation::Enqueued {
            queue,
            flow: measured.flow,
            wire_bytes,
            backlog_packets,
            backlog_bytes,
        }
    }

    fn reason_at(&self, place: usize) -> DropReason {
        match self.spots.get(place) {
            Some(Spot::Loss(_)) => DropReason::LinkLoss,
            _ => DropReason::QueueFull,
        }
    }
}
