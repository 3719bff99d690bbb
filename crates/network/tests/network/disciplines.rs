//! The general link with a discipline that is not FIFO.

use crate::support::{Fact, FactLog, Numbered, single_link};
use fairwind_network::{
    Backlog, DequeueResult, DropReason, LinkSpec, Network, Qdisc, QueueActions, QueueDiscipline,
    QueuedPacket,
};
use fairwind_units::Instant;

/// Last in, first out, for two packets; a third pushes out the oldest.
#[derive(Default)]
struct Stack {
    waiting: Vec<QueuedPacket>,
}

impl QueueDiscipline for Stack {
    fn enqueue(
        &mut self,
        _: Instant,
        arrival: QueuedPacket,
        effects: &mut QueueActions,
    ) -> Result<(), DropReason> {
        if arrival.bytes() > 1500 {
            return Err(DropReason::QueueFull);
        }
        self.waiting.push(arrival);
        if self.waiting.len() > 2 {
            effects.drop(self.waiting.remove(0), DropReason::QueueFull);
        }
        Ok(())
    }

    fn dequeue(&mut self, _: Instant, _: &mut QueueActions) -> DequeueResult {
        self.waiting.pop().map_or(DequeueResult::Empty, DequeueResult::Packet)
    }

    fn backlog(&self) -> Backlog {
        let bytes = self.waiting.iter().map(|waiting| u64::from(waiting.bytes())).sum();
        Backlog { packets: u32::try_from(self.waiting.len()).expect("two at most"), bytes }
    }
}

#[test]
fn discipline_selects_departures_and_drops() {
    let spec = LinkSpec { rate: Some("12 Mbit/s".parse().unwrap()), ..LinkSpec::default() };
    let (topology, sender, receiver, link) = single_link(spec);
    let mut network: Network<Numbered> =
        topology.build_with(0, |_, _| Some(Box::new(Stack::default()))).unwrap();
    let mut fact_log = FactLog::default();
    for (number, bytes) in [(0, 1500), (1, 1500), (2, 1500), (3, 1500), (4, 9000)] {
        let packet = Numbered { number, bytes, to: receiver };
        network.inject(Instant::ZERO, sender, packet, &mut fact_log);
    }
    let delivered: Vec<(u64, Instant)> =
        std::iter::from_fn(|| network.next_delivery(Instant::MAX, &mut fact_log))
            .map(|delivery| (delivery.packet.number, delivery.at))
            .collect();
    let ms = Instant::from_millis;
    assert_eq!(delivered, [(0, ms(1)), (3, ms(2)), (2, ms(3))]);
    let drops: Vec<(u64, u32)> = fact_log.links[0]
        .iter()
        .filter_map(|fact| match fact {
            Fact::Dropped { number, backlog, .. } => Some((*number, backlog.packets)),
            _ => None,
        })
        .collect();
    assert_eq!(drops, [(1, 3), (4, 2)], "the oldest counts in the backlog, the refused does not");
    let counters = network.link_counters(link);
    assert_eq!(counters.offered.packets, 5);
    assert_eq!(counters.dropped_by_queue.packets, 2);
    assert_eq!(counters.inside().packets, 0);
}

/// CoDel with 5 ms and 100 ms before a link that takes a millisecond per packet.
fn codel(ecn: bool) -> LinkSpec {
    let codel = fairwind_qdisc::Codel { ecn, ..fairwind_qdisc::Codel::default() };
    LinkSpec {
        rate: Some("12 Mbit/s".parse().expect("a rate")),
        queue: Qdisc::Codel(codel),
        ..LinkSpec::default()
    }
}

#[test]
fn codel_drops_after_interval_with_increasing_rate() {
    let (topology, sender, receiver, _) = single_link(codel(false));
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    let mut fact_log = FactLog::default();
    for number in 0..1000 {
        let packet = Numbered { number, bytes: 1500, to: receiver };
        network.inject(Instant::ZERO, sender, packet, &mut fact_log);
    }
    network.advance_to(Instant::from_millis(400), &mut fact_log);
    let drops: Vec<u64> = fact_log.links[0]
        .iter()
        .filter(|fact| matches!(fact, Fact::Dropped { reason: DropReason::Early, .. }))
        .map(|fact| fact.at().as_nanos() / 1_000_000)
        .collect();
    // Above 5 ms from 5 ms on; an interval later the first is dropped, and the others 100 / sqrt(n) ms after the one
    // before, each at the next departure, which come every millisecond: 105, 205, 275.7, 333.4, 383.4.
    assert_eq!(drops, [105, 205, 276, 334, 384]);
}
