//! Drops of pfifo and bfifo.

use crate::support::{Fact, FactLog, Numbered, general, single_link};
use fairwind_network::{Backlog, DropReason, LinkSpec, Network, Qdisc};
use fairwind_units::{BitRate, Instant, Span};

/// 1500 bytes take 1 ms.
fn slow(queue: Qdisc) -> LinkSpec {
    LinkSpec { rate: Some(BitRate::from_bits_per_second(12_000_000)), queue, ..LinkSpec::default() }
}

/// Injects packets of `sizes` at time zero, through the fused and the general link, and gives the
/// numbers of those dropped.
fn dropped_at_once(queue: &Qdisc, sizes: &[u32]) -> Vec<u64> {
    let outcomes: Vec<Vec<u64>> = [false, true]
        .into_iter()
        .map(|is_general| {
            let (topology, sender, receiver, link) = single_link(slow(queue.clone()));
            let chooser = |link, spec: &_| if is_general { general(link, spec) } else { None };
            let mut network: Network<Numbered> =
                topology.build_with(0, chooser).expect("a sound topology");
            let mut fact_log = FactLog::default();
            for (number, bytes) in (0..).zip(sizes) {
                let packet = Numbered { number, bytes: *bytes, to: receiver };
                network.inject(Instant::ZERO, sender, packet, &mut fact_log);
            }
            fact_log.links[link.index()]
                .iter()
                .filter_map(|fact| match fact {
                    Fact::Dropped { number, reason: DropReason::QueueFull, .. } => Some(*number),
                    _ => None,
                })
                .collect()
        })
        .collect();
    assert_eq!(outcomes[0], outcomes[1]);
    outcomes[0].clone()
}

#[test]
fn full_pfifo_drops_any_arrival() {
    // Number 0 is being serialised and does not count; 1 and 2 wait.
    let queue = Qdisc::Pfifo { limit_packets: 2 };
    assert_eq!(dropped_at_once(&queue, &[1500, 1500, 1500, 40, 1500]), [3, 4]);
    assert_eq!(dropped_at_once(&queue, &[40, 40, 40, 40]), [3]);
}

#[test]
fn bfifo_accepts_small_packet_after_large_drop() {
    let queue = Qdisc::Bfifo { limit_bytes: 3100 };
    assert_eq!(dropped_at_once(&queue, &[1500, 1500, 1500, 1500, 40, 60, 40]), [3, 6]);
}

#[test]
fn bfifo_fills_to_exact_limit() {
    let queue = Qdisc::Bfifo { limit_bytes: 1500 };
    assert_eq!(dropped_at_once(&queue, &[1500, 1500, 1]), [2]);
}

#[test]
fn bfifo_drops_packet_above_limit() {
    let queue = Qdisc::Bfifo { limit_bytes: 1499 };
    assert_eq!(dropped_at_once(&queue, &[1500, 1499]), [0]);
}

#[test]
fn an_unlimited_queue_drops_nothing() {
    assert!(dropped_at_once(&Qdisc::default(), &vec![1500; 5000]).is_empty());
}

#[test]
fn departure_frees_room_for_simultaneous_arrival() {
    let (topology, sender, receiver, _) = single_link(slow(Qdisc::Pfifo { limit_packets: 1 }));
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    let mut fact_log = FactLog::default();
    for (number, at) in [(0, 0), (1, 0), (2, 999_999), (3, 1_000_000)] {
        let packet = Numbered { number, bytes: 1500, to: receiver };
        network.inject(Instant::from_nanos(at), sender, packet, &mut fact_log);
    }
    network.advance_to(Instant::from_millis(2), &mut fact_log);
    let none = Backlog::default();
    let one = Backlog { packets: 1, bytes: 1500 };
    let ms = Instant::from_millis;
    let early = Instant::from_nanos(999_999);
    let expected = [
        Fact::Enqueued { at: ms(0), number: 0, backlog: none },
        Fact::DequeueResult { at: ms(0), number: 0, sojourn: Span::ZERO },
        Fact::Enqueued { at: ms(0), number: 1, backlog: none },
        Fact::Dropped { at: early, number: 2, backlog: one, reason: DropReason::QueueFull },
        Fact::DequeueResult { at: ms(1), number: 1, sojourn: Span::from_millis(1) },
        Fact::Enqueued { at: ms(1), number: 3, backlog: none },
        Fact::DequeueResult { at: ms(2), number: 3, sojourn: Span::from_millis(1) },
    ];
    assert_eq!(fact_log.links, [expected]);
}

#[test]
fn backlog_counts_ip_bytes_only() {
    let spec = LinkSpec { overhead_bytes: 500, ..slow(Qdisc::Bfifo { limit_bytes: 2000 }) };
    let (topology, sender, receiver, link) = single_link(spec);
    let mut network: Network<Numbered> = topology.build(0).unwrap();
    for number in 0..3 {
        let packet = Numbered { number, bytes: 1000, to: receiver };
        network.inject(Instant::ZERO, sender, packet, &mut ());
    }
    assert_eq!(network.link_counters(link).dropped_by_queue.packets, 0);
    let first = network.next_delivery(Instant::MAX, &mut ()).unwrap();
    assert_eq!(first.at, Instant::from_millis(1), "1000 B and 500 B of link layer");
}
