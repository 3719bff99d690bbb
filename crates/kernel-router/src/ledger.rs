//! Packets in a queue of which only arrivals and departures are seen.
//!
//! A queue keeps the order of a flow, and a queue that is first in, first out that of all packets. So a packet is known
//! to be dropped when one behind it has left. The kernel's count of waiting packets settles the rest: if as many wait as
//! have not left, none of them is dropped; if none waits, all are.
//!
//! The instant of a drop is that of the arrival, or, for disciplines that drop what leaves, of the next departure of
//! the flow.
//!
//! What identifies a packet on both sides is all of its header that routers leave alone.

use fairwind_units::{Instant, Span};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bits of the type of service, or of the traffic class, that are for ECN (RFC 3168 §5).
const ECN: u8 = 0b11;
/// The code point of a packet that was marked.
pub(super) const CONGESTION_EXPERIENCED: u8 = 0b11;

/// A packet as a router knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) destination: IpAddr,
    /// The same for all packets of a connection in one direction.
    pub(super) flow: u64,
    /// The same before and behind a router. Two packets of a flow with equal headers share it.
    pub(super) packet: u64,
    /// Code point of ECN.
    pub(super) ecn: u8,
}

impl Header {
    /// Reads the beginning of a packet; `None` where that is not IP.
    pub(super) fn read(head: &[u8]) -> Option<Self> {
        match head.first()? >> 4 {
            4 => Self::read_v4(head),
            6 => Self::read_v6(head),
            _ => None,
        }
    }

    fn read_v4(head: &[u8]) -> Option<Self> {
        let fixed: &[u8; 20] = head.first_chunk()?;
        let behind = head.get(usize::from(fixed[0] & 0xf) * 4..).unwrap_or_default();
        let destination = Ipv4Addr::from(*fixed.last_chunk()?);
        // Type of service, time to live, checksum.
        let read = Self::of((*fixed, behind), &[1, 8, 10, 11], 12, fixed[9], destination.into());
        Some(Self { ecn: fixed[1] & ECN, ..read })
    }

    fn read_v6(head: &[u8]) -> Option<Self> {
        let (fixed, behind) = head.split_first_chunk::<40>()?;
        let destination = Ipv6Addr::from(*fixed.last_chunk()?);
        // Traffic class, with four bits of the flow label, and hop limit.
        let read = Self::of((*fixed, behind), &[0, 1, 7], 8, fixed[6], destination.into());
        Some(Self { ecn: (fixed[1] >> 4) & ECN, ..read })
    }

    /// What of a header is `changed` by routers counts nowhere; ports stand `behind` its fixed part.
    fn of<const BYTES: usize>(
        (mut fixed, behind): ([u8; BYTES], &[u8]),
        changed: &[usize],
        addresses: usize,
        protocol: u8,
        destination: IpAddr,
    ) -> Self {
        let ports = behind.get(..4).unwrap_or_default();
        let flow = hash(&[&fixed[addresses..], &[protocol], ports]);
        for place in changed {
            fixed[*place] = 0;
        }
        Self { destination, flow, packet: hash(&[&fixed, behind]), ecn: 0 }
    }
}

fn hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

/// A packet of a flow that has not left for so long counts as dropped, if the kernel has dropped as many.
const PATIENCE: Span = Span::from_secs(2);

/// When a discipline drops packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DropsAt {
    /// When they arrive.
    Arrival,
    /// When they would leave.
    Departure,
}

/// Which packets leave in the order in which they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// All.
    All,
    /// Those of a flow.
    Flow,
}

/// The place of an event among all that were seen.
pub(super) type Place = (Instant, u64);

/// What happened to a packet at a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueueEvent {
    /// It was let in.
    Accepted,
    /// It left, after this wait; marked or not.
    Left { waited: Span, is_marked: bool },
    /// It was not let in.
    Refused,
    /// It was dropped out of the queue, after this wait.
    Dropped { waited: Span },
}

/// A packet that has arrived and not left.
#[derive(Debug)]
struct Waiting<T> {
    at: Instant,
    packet: u64,
    order: u64,
    ecn: u8,
    /// Whether it is reported as let in.
    is_accepted: bool,
    content: T,
}

/// Packets of one queue.
#[derive(Debug)]
pub(super) struct Ledger<T> {
    drops: DropsAt,
    order: Order,
    /// In the order of their arrival, by flow; all under one number where the order of all is kept.
    waiting: BTreeMap<u64, VecDeque<Waiting<T>>>,
    /// Places of those that may have been refused.
    open: BTreeSet<Place>,
    /// Events with their packets, in no order.
    events: Vec<(Place, QueueEvent, T)>,
}

impl<T: Copy> Ledger<T> {
    pub(super) fn new(drops: DropsAt, order: Order) -> Self {
        Self { drops, order, waiting: BTreeMap::new(), open: BTreeSet::new(), events: Vec::new() }
    }

    fn line(&self, header: &Header) -> u64 {
        if self.order == Order::All { 0 } else { header.flow }
    }

    /// A packet arrives at the queue.
    pub(super) fn on_arrival(&mut self, place: Place, header: &Header, content: T) {
        let is_accepted = self.drops == DropsAt::Departure;
        let (at, order) = place;
        if is_accepted {
            self.events.push((place, QueueEvent::Accepted, content));
        } else {
            self.open.insert(place);
        }
        let (packet, ecn) = (header.packet, header.ecn);
        let waiting = Waiting { at, packet, order, ecn, is_accepted, content };
        self.waiting.entry(self.line(header)).or_default().push_back(waiting);
    }

    /// A packet leaves the queue; returns whether it was there. One that was not came unseen, or counts as dropped.
    #[must_use]
    pub(super) fn on_departure(&mut self, place: Place, header: &Header) -> bool {
        let line = self.line(header);
        let Some(waiting) = self.waiting.get_mut(&line) else { return false };
        let Some(index) = waiting.iter().position(|one| one.packet == header.packet) else {
            return false;
        };
        let passed: Vec<Waiting<T>> = waiting.drain(..=index).collect();
        if waiting.is_empty() {
            self.waiting.remove(&line);
        }
        let before = passed.len() - 1;
        for (number, one) in passed.into_iter().enumerate() {
            if number < before {
                self.drop_out(&one, place);
                continue;
            }
            let waited = place.0.saturating_since(one.at);
            let is_marked = header.ecn == CONGESTION_EXPERIENCED && one.ecn != header.ecn;
            self.accept(&one);
            self.events.push((place, QueueEvent::Left { waited, is_marked }, one.content));
        }
        true
    }

    fn accept(&mut self, one: &Waiting<T>) {
        if !one.is_accepted {
            self.open.remove(&(one.at, one.order));
            self.events.push(((one.at, one.order), QueueEvent::Accepted, one.content));
        }
    }

    /// One is gone at `place` at the latest.
    fn drop_out(&mut self, one: &Waiting<T>, place: Place) {
        if one.is_accepted {
            let waited = place.0.saturating_since(one.at);
            self.events.push((place, QueueEvent::Dropped { waited }, one.content));
        } else {
            let place = (one.at, one.order);
            self.open.remove(&place);
            self.events.push((place, QueueEvent::Refused, one.content));
        }
    }

    /// The kernel said at `place` that `backlog` packets wait; everything until then was reported here. `margin` is the
    /// time that a packet may need from its arrival into the queue.
    pub(super) fn settle(&mut self, place: Place, backlog: u64, margin: Span) {
        if self.all().count() as u64 == backlog {
            self.accept_all();
            return;
        }
        let missing = self.missing(place, backlog, margin);
        let candidates = self.candidates(place, margin).count() as u64;
        if missing > 0 && missing == candidates {
            self.drop_oldest(place, margin, missing);
        } else if missing > 0 && self.order == Order::Flow {
            self.drop_oldest(place, PATIENCE.max(margin), missing);
        }
    }

    /// The same for the last time: as many as are missing are dropped, the oldest ones.
    pub(super) fn finish(&mut self, place: Place, backlog: u64, margin: Span) {
        let missing = self.missing(place, backlog, margin);
        self.drop_oldest(place, margin, missing);
        self.accept_all();
    }

    fn all(&self) -> impl Iterator<Item = &Waiting<T>> {
        self.waiting.values().flatten()
    }

    /// Packets that the kernel must have dropped.
    fn missing(&self, place: Place, backlog: u64, margin: Span) -> u64 {
        let old = self.all().filter(|one| one.at + margin <= place.0).count() as u64;
        old.saturating_sub(backlog)
    }

    /// Packets that may have been dropped, at least `age` old.
    fn candidates(&self, place: Place, age: Span) -> impl Iterator<Item = &Waiting<T>> {
        let may_be = |one: &&Waiting<T>| !one.is_accepted || self.drops == DropsAt::Departure;
        self.all().filter(may_be).filter(move |one| one.at + age <= place.0)
    }

    fn drop_oldest(&mut self, place: Place, age: Span, most: u64) {
        let places = self.candidates(place, age).map(|one| (one.at, one.order));
        let oldest: BTreeSet<Place> = places.collect();
        let gone: BTreeSet<Place> =
            oldest.into_iter().take(usize::try_from(most).unwrap_or(usize::MAX)).collect();
        let mut lines = std::mem::take(&mut self.waiting);
        for line in lines.values_mut() {
            let (dropped, kept): (VecDeque<_>, VecDeque<_>) =
                line.drain(..).partition(|one| gone.contains(&(one.at, one.order)));
            *line = kept;
            for one in &dropped {
                self.drop_out(one, place);
            }
        }
        lines.retain(|_, line| !line.is_empty());
        self.waiting = lines;
    }

    fn accept_all(&mut self) {
        let mut lines = std::mem::take(&mut self.waiting);
        for one in lines.values_mut().flatten() {
            self.accept(one);
            one.is_accepted = true;
        }
        self.waiting = lines;
    }

    /// The arrival of the first packet that may have been refused: events of this queue from then on are not complete.
    pub(super) fn open_since(&self) -> Option<Instant> {
        self.open.first().map(|(at, _)| *at)
    }

    /// Takes the events that have become known, in no order.
    pub(super) fn take_events(&mut self) -> Vec<(Place, QueueEvent, T)> {
        std::mem::take(&mut self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Span = Span::ZERO;

    /// A ledger with a clock that counts events.
    struct Played(Ledger<u64>, u64);

    impl Played {
        fn new(drops: DropsAt, order: Order) -> Self {
            Self(Ledger::new(drops, order), 0)
        }

        fn place(&mut self) -> Place {
            self.1 += 1;
            (Instant::from_millis(self.1), self.1)
        }

        fn arrive(&mut self, flow: u64, packet: u64) {
            let place = self.place();
            self.0.on_arrival(place, &header(flow, packet), packet);
        }

        fn leave(&mut self, flow: u64, packet: u64) {
            let place = self.place();
            assert!(self.0.on_departure(place, &header(flow, packet)), "it was there");
        }

        fn settle(&mut self, backlog: u64) {
            let place = self.place();
            self.0.settle(place, backlog, ALL);
        }

        /// Events in order: instant in milliseconds, letter of the event, packet.
        fn events(&mut self) -> String {
            let mut events = self.0.take_events();
            events.sort_by_key(|(place, ..)| *place);
            let word = |((at, _), event, packet): &(Place, QueueEvent, u64)| {
                let letter = match event {
                    QueueEvent::Accepted => "in",
                    QueueEvent::Left { is_marked: true, .. } => "marked",
                    QueueEvent::Left { .. } => "out",
                    QueueEvent::Refused => "refused",
                    QueueEvent::Dropped { .. } => "dropped",
                };
                format!("{} {letter} {packet}", at.as_nanos() / 1_000_000)
            };
            events.iter().map(word).collect::<Vec<_>>().join(", ")
        }
    }

    fn header(flow: u64, packet: u64) -> Header {
        Header { destination: IpAddr::V4(Ipv4Addr::LOCALHOST), flow, packet, ecn: 0 }
    }

    #[test]
    fn packet_before_a_departed_one_was_refused() {
        let mut queue = Played::new(DropsAt::Arrival, Order::All);
        (1..=3).for_each(|packet| queue.arrive(packet, packet));
        assert_eq!(queue.0.open_since(), Some(Instant::from_millis(1)));
        queue.leave(3, 3);
        assert_eq!(queue.events(), "1 refused 1, 2 refused 2, 3 in 3, 4 out 3");
        assert_eq!(queue.0.open_since(), None);
    }

    #[test]
    fn other_flows_may_overtake() {
        let mut queue = Played::new(DropsAt::Arrival, Order::Flow);
        (1..=3).for_each(|packet| queue.arrive(packet % 2, packet));
        queue.leave(1, 3);
        assert_eq!(queue.events(), "1 refused 1, 3 in 3, 4 out 3");
        assert_eq!(queue.0.open_since(), Some(Instant::from_millis(2)));
        queue.leave(0, 2);
        assert_eq!(queue.events(), "2 in 2, 5 out 2");
    }

    #[test]
    fn head_drop_is_known_at_the_next_departure() {
        let mut queue = Played::new(DropsAt::Departure, Order::All);
        (1..=3).for_each(|packet| queue.arrive(1, packet));
        assert_eq!(queue.events(), "1 in 1, 2 in 2, 3 in 3");
        queue.leave(1, 3);
        assert_eq!(queue.events(), "4 dropped 1, 4 dropped 2, 4 out 3");
    }

    #[test]
    fn full_count_lets_all_in() {
        let mut queue = Played::new(DropsAt::Arrival, Order::All);
        (1..=2).for_each(|packet| queue.arrive(1, packet));
        queue.settle(2);
        assert_eq!(queue.events(), "1 in 1, 2 in 2");
        assert_eq!(queue.0.open_since(), None);
        queue.leave(1, 1);
        assert_eq!(queue.events(), "4 out 1");
    }

    #[test]
    fn empty_queue_has_dropped_the_rest() {
        for (drops, expected) in [
            (DropsAt::Arrival, "1 refused 1, 2 refused 2"),
            (DropsAt::Departure, "3 dropped 1, 3 dropped 2"),
        ] {
            let mut queue = Played::new(drops, Order::Flow);
            (1..=2).for_each(|packet| queue.arrive(packet, packet));
            let before = queue.events();
            assert_eq!(before.is_empty(), drops == DropsAt::Arrival);
            queue.settle(0);
            assert_eq!(queue.events(), expected);
        }
    }

    #[test]
    fn flow_without_departures_is_settled_after_a_while() {
        let mut queue = Played::new(DropsAt::Arrival, Order::Flow);
        queue.arrive(1, 1);
        queue.arrive(2, 2);
        queue.settle(1);
        assert_eq!(queue.events(), "", "one of two is dropped, and nobody knows which");
        queue.1 += 2000;
        queue.arrive(3, 3);
        queue.settle(2);
        assert_eq!(queue.events(), "1 refused 1");
    }

    #[test]
    fn end_counts_as_many_drops_as_the_kernel() {
        let mut queue = Played::new(DropsAt::Departure, Order::Flow);
        (1..=3).for_each(|packet| queue.arrive(packet, packet));
        queue.events();
        let place = queue.place();
        queue.0.finish(place, 1, ALL);
        assert_eq!(queue.events(), "4 dropped 1, 4 dropped 2");
    }

    #[test]
    fn departure_without_arrival_changes_nothing() {
        let mut queue = Played::new(DropsAt::Arrival, Order::All);
        let place = queue.place();
        assert!(!queue.0.on_departure(place, &header(1, 1)));
        queue.arrive(1, 2);
        let place = queue.place();
        assert!(!queue.0.on_departure(place, &header(1, 3)));
        assert_eq!(queue.events(), "");
        assert_eq!(queue.0.open_since(), Some(Instant::from_millis(2)));
    }

    #[test]
    fn changed_code_point_is_a_mark() {
        let mut queue = Played::new(DropsAt::Departure, Order::All);
        let markable = Header { ecn: 0b10, ..header(1, 1) };
        let place = queue.place();
        queue.0.on_arrival(place, &markable, 1);
        let place = queue.place();
        assert!(queue.0.on_departure(place, &Header { ecn: CONGESTION_EXPERIENCED, ..markable }));
        assert_eq!(queue.events(), "1 in 1, 2 marked 1");
    }

    fn v4() -> Vec<u8> {
        let mut head = vec![0; 60];
        (head[0], head[1], head[8], head[9]) = (0x45, 0b10, 64, 6);
        head[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        head[20..24].copy_from_slice(&[0xc0, 0, 0xea, 0x60]);
        head
    }

    fn v6() -> Vec<u8> {
        let mut head = vec![0; 100];
        (head[0], head[1], head[6], head[7]) = (0x60, 0b0010_0000, 6, 64);
        head[39] = 9;
        head
    }

    #[test]
    fn router_and_mark_change_no_identity() {
        let change = |head: &mut Vec<u8>, places: &[(usize, u8)]| {
            for &(place, value) in places {
                head[place] = value;
            }
        };
        for (head, forwarded) in
            [(v4(), [(1, 0b11), (8, 63), (10, 1)]), (v6(), [(1, 0x30), (7, 63), (7, 63)])]
        {
            let before = Header::read(&head).expect("a packet");
            let mut behind = head.clone();
            change(&mut behind, &forwarded);
            let after = Header::read(&behind).expect("a packet");
            assert_eq!(after, Header { ecn: CONGESTION_EXPERIENCED, ..before });
            assert_eq!(before.ecn, 0b10);
        }
    }

    #[test]
    fn packets_of_a_flow_differ_by_sequence_number() {
        let (first, mut second) = (v4(), v4());
        second[27] = 1;
        let [first, second] = [first, second].map(|head| Header::read(&head).expect("a packet"));
        assert_eq!(first.flow, second.flow);
        assert_ne!(first.packet, second.packet);
        assert_eq!(first.destination, IpAddr::from([10, 0, 0, 2]));
    }

    #[test]
    fn directions_are_two_flows() {
        let mut back = v4();
        back[12..20].copy_from_slice(&[10, 0, 0, 2, 10, 0, 0, 1]);
        back[20..24].copy_from_slice(&[0xea, 0x60, 0xc0, 0]);
        assert_ne!(Header::read(&v4()).map(|it| it.flow), Header::read(&back).map(|it| it.flow));
    }

    #[test]
    fn other_protocols_are_no_packets() {
        assert_eq!(Header::read(&[]), None);
        assert_eq!(Header::read(&[0x45; 19]), None);
        assert_eq!(Header::read(&[0; 60]), None);
    }
}
