//! Copies that a link makes of packets: netem has them pass its losses, its damage and its delay
//! again, and makes no copy of a copy.

use crate::support::{Fact, FactLog, Numbered, single_link};
use fairwind_network::{DropReason, LinkCounters, LinkSpec, Network};
use fairwind_qdisc::{Chance, Impairments, Jitter, JitterDistribution, Loss};
use fairwind_units::{Instant, Ratio, Span};

/// Delivered packets, by number and instant in milliseconds, and the reports.
struct Outcome {
    arrived: Vec<(u64, u64)>,
    counters: LinkCounters,
    fact_log: FactLog,
}

/// To each packet on its own.
fn independent(probability: Ratio) -> Chance {
    Chance { probability, correlation: Ratio::ZERO }
}

const HALF: Ratio = Ratio::from_parts_per_billion(500_000_000);

/// One packet each millisecond is copied by a link of 20 ms, which does the rest of `impairments` besides.
fn outcome(packets: u64, impairments: Impairments) -> Outcome {
    let impairments = Impairments { duplicate: Some(independent(Ratio::ONE)), ..impairments };
    let delay = Span::from_millis(20);
    let (topology, sender, receiver, link) =
        single_link(LinkSpec { delay, impairments, ..LinkSpec::default() });
    let mut network: Network<Numbered> = topology.build(7).expect("a sound network");
    let mut fact_log = FactLog::default();
    for number in 0..packets {
        let packet = Numbered { number, bytes: 100, to: receiver };
        network.inject(Instant::from_millis(number), sender, packet, &mut fact_log);
    }
    let deliveries = std::iter::from_fn(|| network.next_delivery(Instant::MAX, &mut fact_log));
    let arrived =
        deliveries.map(|delivery| (delivery.packet.number, delivery.at.as_nanos() / 1_000_000));
    let arrived = arrived.collect();
    Outcome { arrived, counters: network.link_counters(link), fact_log }
}

fn share(of: u64, packets: u64) -> f64 {
    f64::from(u32::try_from(of).expect("fewer than 2^32"))
        / f64::from(u32::try_from(packets).expect("fewer than 2^32"))
}

#[test]
fn copies_advance_recorded_losses() {
    let loss = Some(Loss::Recorded { lost: vec![false, true, false] });
    let outcome = outcome(4, Impairments { loss, ..Impairments::default() });
    // Turns are: 0 stays, its copy is lost; 1 stays, its copy stays; of 2 one is lost, so that there is no copy; 3 and
    // its copy stay.
    let numbers: Vec<u64> = outcome.arrived.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 1, 1, 2, 3, 3]);
    let LinkCounters { offered, duplicated, lost_by_link, delivered, .. } = outcome.counters;
    let counts = [offered, duplicated, lost_by_link, delivered].map(|volume| volume.packets);
    assert_eq!(counts, [4, 3, 1, 6]);
    let found = outcome.fact_log.links[0].iter().filter_map(|fact| match fact {
        Fact::Dropped { at, number, reason: DropReason::LinkLoss, .. } => Some((*at, *number)),
        _ => None,
    });
    assert_eq!(found.collect::<Vec<_>>(), [(Instant::ZERO, 0)]);
}

#[test]
fn half_loss_with_copies_delivers_5_per_4() {
    let loss = Some(Loss::Random { probability: HALF, correlation: Ratio::ZERO });
    let packets = 100_000;
    let counters = outcome(packets, Impairments { loss, ..Impairments::default() }).counters;
    // With a loss of p, p of the packets come once; of the others 1 - p come twice and p once: 2 - 2p + p^2 in all.
    assert!((share(counters.delivered.packets, packets) - 1.25).abs() < 0.01);
    assert!((share(counters.duplicated.packets, packets) - 0.5).abs() < 0.01);
    assert!((share(counters.lost_by_link.packets, packets) - 0.25).abs() < 0.01);
}

#[test]
fn copies_are_damaged_as_often_as_other_packets() {
    let packets = 100_000;
    let impairments = Impairments { corrupt: Some(independent(HALF)), ..Impairments::default() };
    let counters = outcome(packets, impairments).counters;
    assert_eq!(counters.delivered.packets, 2 * packets);
    assert!((share(counters.corrupted.packets, 2 * packets) - 0.5).abs() < 0.01);
}

#[test]
fn copy_has_separate_delay() {
    let jitter = Some(Jitter {
        deviation: Span::from_millis(10),
        distribution: JitterDistribution::Table,
        table: vec![-8192, 8192],
        correlation: Ratio::ZERO,
        keep_order: false,
    });
    let outcome = outcome(1000, Impairments { jitter, ..Impairments::default() });
    // 20 ms more or less 10: the two of a packet are 20 ms apart for one half.
    let mut ends = vec![Vec::new(); 1000];
    for (number, at) in &outcome.arrived {
        ends[usize::try_from(*number).unwrap()].push(at - number);
    }
    assert!(
        ends.iter().all(|ends| ends.len() == 2 && ends.iter().all(|end| [10, 30].contains(end)))
    );
    let apart = ends.iter().filter(|ends| ends[0] != ends[1]).count();
    assert!((400..600).contains(&apart), "{apart}");
}
