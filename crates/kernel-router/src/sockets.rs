//! Packets on their way as packet sockets see them: the way where the kernel has no eBPF programs.
//!
//! A socket in each namespace sees what enters and what leaves it. What goes out by a device with a queue has arrived at
//! that queue when it entered the namespace, since routing takes no time that matters. A [`Ledger`] for each queue finds
//! out what was dropped.

use super::KernelRouterError;
use super::ledger::{DropsAt, Header, Ledger, Order, Place, QueueEvent};
use fairwind_linux::{self as linux, BacklogReader, HeldNamespace, KernelError, PacketRing};
use fairwind_measure::DropReason;
use fairwind_network::LinkId;
use fairwind_recorder::{MeasuredPacket, ObservationPoint};
use fairwind_router::FlowTable;
use fairwind_scenario::Qdisc;
use fairwind_units::{Instant, Span};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

/// Time from a packet's arrival in a namespace until it is in the queue, at most: where several processors work, and
/// where one does, which then only reads clocks meanwhile.
const FORWARDING_TIMES: [Span; 2] = [Span::from_millis(1), Span::from_micros(10)];
/// Distance of events in their order, so that those of a queue fit between.
const STEP: u64 = 1 << 20;

/// A fact about a packet, at a host or a queue.
#[derive(Debug, Clone, Copy)]
pub(super) enum PathEvent<'a> {
    /// It passed the border of a host; what it is, if anything, its length, and its first bytes.
    Border {
        point: ObservationPoint,
        measured: Option<&'a MeasuredPacket>,
        wire_bytes: u32,
        head: &'a [u8],
    },
    /// Something happened at the queue of a link, or before its loss.
    Queue {
        link: LinkId,
        event: QueueEvent,
        measured: &'a MeasuredPacket,
        wire_bytes: u32,
        /// Packets and bytes that waited before, as far as that is known.
        backlog: Option<(u32, u32)>,
        /// What a drop is.
        reason: DropReason,
    },
}

/// What a device is to the watcher.
#[derive(Debug, Clone)]
pub(super) enum SocketPoint {
    /// The veth of a host.
    Host,
    /// The queue of a link; without one, what delays and loses its packets: those do not wait.
    Queue { link: LinkId, order: Order, drops: DropsAt, queue: Option<Qdisc> },
}

impl SocketPoint {
    /// The queue of `link`.
    pub(super) fn queue(link: LinkId, queue: &Qdisc) -> Self {
        let order = if keeps_order(queue) { Order::All } else { Order::Flow };
        let drops = if drops_departures(queue) { DropsAt::Departure } else { DropsAt::Arrival };
        Self::Queue { link, order, drops, queue: Some(queue.clone()) }
    }

    /// The losses of `link`.
    pub(super) fn losses(link: LinkId) -> Self {
        let (order, drops) = (Order::All, DropsAt::Arrival);
        Self::Queue { link, order, drops, queue: None }
    }
}

/// Whether everything leaves in the order in which it came.
fn keeps_order(queue: &Qdisc) -> bool {
    match queue {
        Qdisc::Unlimited {}
        | Qdisc::Pfifo { .. }
        | Qdisc::Bfifo { .. }
        | Qdisc::Red(_)
        | Qdisc::Choke(_)
        | Qdisc::Codel(_)
        | Qdisc::Pie(_)
        | Qdisc::Tbf(_) => queue.children().into_iter().all(keeps_order),
        Qdisc::Htb(htb) => htb.classes.len() == 1 && queue.children().into_iter().all(keeps_order),
        Qdisc::Hfsc(_) => matches!(queue.children().as_slice(), [child] if keeps_order(child)),
        _ => false,
    }
}

/// Whether it drops packets that would leave.
fn drops_departures(queue: &Qdisc) -> bool {
    let own =
        matches!(queue, Qdisc::Codel(_) | Qdisc::FqCodel(_) | Qdisc::Cake(_) | Qdisc::Dualpi2(_));
    own || queue.children().into_iter().any(drops_departures)
}

/// Why `queue` dropped a packet while so many packets and bytes waited: an active queue that has room does it early.
fn reason_at(queue: &Qdisc, (packets, bytes): (u32, u32), wire_bytes: u32) -> DropReason {
    let is_full = match queue {
        Qdisc::Codel(codel) => packets >= codel.limit_packets,
        Qdisc::Pie(pie) => packets >= pie.limit_packets,
        Qdisc::Choke(choke) => packets >= choke.limit_packets,
        Qdisc::Dualpi2(dualpi2) => packets >= dualpi2.limit_packets,
        Qdisc::FqCodel(fair) => packets >= fair.limit_packets,
        Qdisc::FqPie(fair) => packets >= fair.limit_packets,
        Qdisc::Red(red) => u64::from(bytes) + u64::from(wire_bytes) > red.limit_bytes,
        // Each has nothing but limits, and those are of a band or a flow.
        Qdisc::PfifoFast(_) | Qdisc::Fq(_) => true,
        Qdisc::Cake(_) => false,
        parent => match parent.children().as_slice() {
            [child] => return reason_at(child, (packets, bytes), wire_bytes),
            // Nobody says in which class it was.
            children => children.iter().all(|child| is_passive(child)),
        },
    };
    if is_full { DropReason::QueueFull } else { DropReason::Early }
}

/// Whether nothing is dropped while there is room.
fn is_passive(queue: &Qdisc) -> bool {
    match queue {
        Qdisc::Unlimited {}
        | Qdisc::Pfifo { .. }
        | Qdisc::Bfifo { .. }
        | Qdisc::PfifoFast(_)
        | Qdisc::Sfq(_)
        | Qdisc::Fq(_) => true,
        Qdisc::Drr(_) | Qdisc::Prio(_) | Qdisc::Tbf(_) | Qdisc::Htb(_) | Qdisc::Hfsc(_) => {
            queue.children().into_iter().all(is_passive)
        }
        _ => false,
    }
}

/// A namespace with watched devices.
pub(super) struct WatchedNamespace {
    /// By the number of the device.
    pub(super) devices: BTreeMap<u32, SocketPoint>,
    /// Devices by the addresses of the hosts that they lead to.
    pub(super) ways: HashMap<IpAddr, u32>,
}

/// Sockets in all namespaces of a path.
pub struct SocketWatch {
    namespaces: Vec<NamespaceWatch>,
    /// Events that some others may still precede.
    held: BTreeMap<Place, HeldEvent>,
    queues: Vec<WatchedQueue>,
    margin: Span,
    /// Events until now.
    count: u64,
    seen: Vec<Seen>,
    /// Packets that left a queue without having been seen there.
    unexpected: u64,
}

struct NamespaceWatch {
    ring: PacketRing,
    backlogs: BacklogReader,
    /// Devices that lead to hosts.
    hosts: BTreeSet<u32>,
    /// Places among the queues, by device.
    queues: BTreeMap<u32, usize>,
    ways: HashMap<IpAddr, u32>,
}

struct WatchedQueue {
    link: LinkId,
    /// The discipline; `None` where packets are lost.
    queue: Option<Qdisc>,
    ledger: Ledger<QueuedPacket>,
    /// Packets and bytes that wait, as far as events were handed out.
    backlog: (u32, u32),
}

#[derive(Debug, Clone, Copy)]
struct QueuedPacket {
    measured: Option<MeasuredPacket>,
    wire_bytes: u32,
}

/// A packet as a socket saw it.
struct Seen {
    at: Instant,
    namespace: usize,
    interface: u32,
    is_outgoing: bool,
    header: Option<Header>,
    packet: QueuedPacket,
    head: Vec<u8>,
}

enum HeldEvent {
    Border { point: ObservationPoint, packet: QueuedPacket, head: Vec<u8> },
    Queue { queue: usize, event: QueueEvent, packet: QueuedPacket },
}

impl SocketWatch {
    /// Begins to watch.
    pub(super) fn new(
        watched: Vec<(&HeldNamespace, WatchedNamespace)>,
    ) -> Result<Self, KernelError> {
        let mut queues = Vec::new();
        let mut namespaces = Vec::new();
        for (namespace, WatchedNamespace { devices, ways }) in watched {
            let (ring, backlogs) =
                namespace.inside(|| Ok((PacketRing::open()?, BacklogReader::open()?)))?;
            let mut watch = NamespaceWatch {
                ring,
                backlogs,
                hosts: BTreeSet::new(),
                queues: BTreeMap::new(),
                ways,
            };
            for (device, point) in devices {
                match point {
                    SocketPoint::Host => {
                        watch.hosts.insert(device);
                    }
                    SocketPoint::Queue { link, order, drops, queue } => {
                        watch.queues.insert(device, queues.len());
                        let ledger = Ledger::new(drops, order);
                        queues.push(WatchedQueue { link, queue, ledger, backlog: (0, 0) });
                    }
                }
            }
            namespaces.push(watch);
        }
        let several = std::thread::available_parallelism().map_or(1, usize::from) > 1;
        let margin = FORWARDING_TIMES[usize::from(!several)];
        let (held, seen) = (BTreeMap::new(), Vec::new());
        Ok(Self { namespaces, held, queues, margin, count: 0, seen, unexpected: 0 })
    }

    /// Waits, and hands out in order what has happened before the instant that is returned; nothing will follow that is
    /// older.
    pub(super) fn read(
        &mut self,
        limit: Span,
        flows: &FlowTable,
        each: impl FnMut(Instant, PathEvent<'_>),
    ) -> Result<Instant, KernelRouterError> {
        linux::wait_readable(&[], limit);
        let now = self.take(flows, Ledger::settle)?;
        let open = self.queues.iter().filter_map(|queue| queue.ledger.open_since()).min();
        let until = open.map_or(now, |open| open.min(now));
        self.release((until, 0), each);
        Ok(until)
    }

    /// Hands out the rest.
    pub(super) fn finish(
        &mut self,
        flows: &FlowTable,
        each: impl FnMut(Instant, PathEvent<'_>),
    ) -> Result<(), KernelRouterError> {
        self.take(flows, Ledger::finish)?;
        self.release((Instant::MAX, u64::MAX), each);
        Ok(())
    }

    /// Packets that passed unseen, or whose fate was misjudged.
    pub(super) fn missed(&mut self) -> u64 {
        let rings = self.namespaces.iter_mut().map(|namespace| namespace.ring.missed());
        rings.sum::<u64>() + self.unexpected
    }

    /// Takes what the sockets have seen until the instant that is returned.
    fn take(
        &mut self,
        flows: &FlowTable,
        settle: fn(&mut Ledger<QueuedPacket>, Place, u64, Span),
    ) -> Result<Instant, KernelError> {
        let now = linux::monotonic();
        let realtime = linux::realtime();
        // In virtual time each look at a clock takes a moment.
        let between = now + linux::monotonic().saturating_since(now) / 2;
        let ahead = realtime.saturating_sub(between.as_nanos());
        let mut backlogs = Vec::new();
        for namespace in &self.namespaces {
            for (&device, &queue) in &namespace.queues {
                backlogs.push((queue, namespace.backlogs.packets(device)?));
            }
        }
        for (number, namespace) in self.namespaces.iter_mut().enumerate() {
            let NamespaceWatch { ring, hosts, .. } = namespace;
            ring.read(|packet| {
                let is_border = hosts.contains(&packet.interface);
                let (measured, wire_bytes) = flows.identify(packet.head).unzip();
                self.seen.push(Seen {
                    at: Instant::from_nanos(packet.stamp.saturating_sub(ahead)),
                    namespace: number,
                    interface: packet.interface,
                    is_outgoing: packet.is_outgoing,
                    header: Header::read(packet.head),
                    packet: QueuedPacket { measured, wire_bytes: wire_bytes.unwrap_or(0) },
                    head: if is_border { packet.head.to_vec() } else { Vec::new() },
                });
            });
        }
        let mut seen = std::mem::take(&mut self.seen);
        seen.sort_by_key(|one| one.at);
        seen.drain(..).for_each(|one| self.on_packet(one));
        self.seen = seen;
        self.count += STEP;
        for (queue, backlog) in backlogs {
            let ledger = &mut self.queues[queue].ledger;
            settle(ledger, (now, self.count), backlog.into(), self.margin);
        }
        self.hold_events();
        Ok(now)
    }

    fn on_packet(&mut self, seen: Seen) {
        self.count += STEP;
        let place = (seen.at, self.count);
        let namespace = &self.namespaces[seen.namespace];
        if let Some(header) = &seen.header {
            let device = if seen.is_outgoing {
                Some(&seen.interface)
            } else {
                namespace.ways.get(&header.destination)
            };
            let queue = device.and_then(|device| namespace.queues.get(device));
            if let Some(queue) = queue.and_then(|&place| self.queues.get_mut(place)) {
                if seen.is_outgoing {
                    let is_known = queue.ledger.on_departure(place, header);
                    // What the namespace itself sends, such as a complaint, has not arrived there.
                    self.unexpected += u64::from(!is_known && seen.packet.measured.is_some());
                } else {
                    queue.ledger.on_arrival(place, header, seen.packet);
                }
            }
        }
        if namespace.hosts.contains(&seen.interface) {
            let point = if seen.is_outgoing {
                ObservationPoint::Arrival
            } else {
                ObservationPoint::Departure
            };
            let event = HeldEvent::Border { point, packet: seen.packet, head: seen.head };
            self.held.insert(place, event);
        }
    }

    fn hold_events(&mut self) {
        for (number, queue) in self.queues.iter_mut().enumerate() {
            for (place, event, packet) in queue.ledger.take_events() {
                // Two events of one packet may share a place: the earlier one is handed out first.
                let mut place = place;
                while self.held.contains_key(&place) {
                    place.1 += 1;
                }
                self.held.insert(place, HeldEvent::Queue { queue: number, event, packet });
            }
        }
    }

    fn release(&mut self, until: Place, mut each: impl FnMut(Instant, PathEvent<'_>)) {
        let later = self.held.split_off(&until);
        for ((at, _), event) in std::mem::replace(&mut self.held, later) {
            match event {
                HeldEvent::Border { point, packet, head } => {
                    let measured = packet.measured.as_ref();
                    let wire_bytes = packet.wire_bytes;
                    each(at, PathEvent::Border { point, measured, wire_bytes, head: &head });
                }
                HeldEvent::Queue { queue, event, packet } => {
                    let queue = &mut self.queues[queue];
                    let backlog = queue.backlog;
                    queue.count(event, packet.wire_bytes);
                    let is_reported = queue.queue.is_some() || event == QueueEvent::Refused;
                    if let Some(measured) = packet.measured.as_ref().filter(|_| is_reported) {
                        let (link, wire_bytes) = (queue.link, packet.wire_bytes);
                        let reason = queue.reason(backlog, wire_bytes);
                        let backlog = queue.queue.as_ref().map(|_| backlog);
                        let event =
                            PathEvent::Queue { link, event, measured, wire_bytes, backlog, reason };
                        each(at, event);
                    }
                }
            }
        }
    }
}

impl WatchedQueue {
    fn reason(&self, backlog: (u32, u32), wire_bytes: u32) -> DropReason {
        self.queue
            .as_ref()
            .map_or(DropReason::LinkLoss, |queue| reason_at(queue, backlog, wire_bytes))
    }

    fn count(&mut self, event: QueueEvent, wire_bytes: u32) {
        let (packets, bytes) = self.backlog;
        self.backlog = match event {
            QueueEvent::Accepted => (packets + 1, bytes + wire_bytes),
            QueueEvent::Left { .. } | QueueEvent::Dropped { .. } => {
                (packets.saturating_sub(1), bytes.saturating_sub(wire_bytes))
            }
            QueueEvent::Refused => (packets, bytes),
        };
    }
}
