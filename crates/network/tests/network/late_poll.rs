//! Late polls: the poll frequency makes no difference.

use crate::any_carrier::{Shared, any_carrier};
use crate::support::{
    Fact, Injection, Numbered, Outcome, PollTimes, any_gap, any_link, any_size, general, run,
};
use fairwind_network::{LinkSpec, Network, NodeId, Topology};
use fairwind_units::Instant;
use proptest::prelude::*;

const END: Instant = Instant::from_secs(100);
const HOSTS: u32 = 4;

/// Hosts 0 to 3 and routers 4 and 5, every host on a router, the routers joined both ways.
fn dumbbell(specs: &[LinkSpec]) -> Topology {
    let topology = Topology::new();
    joined(topology, specs)
}

/// The same, with some of the links on a carrier.
fn dumbbell_on(shared: &Shared, specs: &[LinkSpec]) -> Topology {
    let (mut topology, mut specs) = (Topology::new(), specs.to_vec());
    shared.apply(&mut topology, &mut specs);
    joined(topology, &specs)
}

fn joined(mut topology: Topology, specs: &[LinkSpec]) -> Topology {
    let hosts: Vec<NodeId> = (0..HOSTS).map(|n| topology.add_host(format!("host {n}"))).collect();
    let routers = [topology.add_router("left"), topology.add_router("right")];
    let mut specs = specs.iter().cloned();
    let mut join = |a, b| {
        topology.add_link(a, b, specs.next().expect("a description for each link"));
        topology.add_link(b, a, specs.next().expect("a description for each link"));
    };
    for (host, router) in hosts.iter().zip(routers.iter().cycle()) {
        join(*host, *router);
    }
    join(routers[0], routers[1]);
    topology
}

fn any_traffic() -> impl Strategy<Value = Vec<Injection>> {
    let packet = (any_gap(), 0..HOSTS, 0..HOSTS, any_size());
    prop::collection::vec(packet, 0..120).prop_map(|packets| {
        let mut at = 0;
        (0..)
            .zip(packets)
            .map(|(number, (gap, from, to, bytes))| {
                at += gap;
                (Instant::from_nanos(at), NodeId(from), Numbered { number, bytes, to: NodeId(to) })
            })
            .collect()
    })
}

fn any_looks() -> impl Strategy<Value = Vec<Instant>> {
    prop::collection::vec(0_u64..200_000_000, 0..20).prop_map(|mut nanos| {
        nanos.sort_unstable();
        nanos.into_iter().map(Instant::from_nanos).collect()
    })
}

/// The network of `topology`, its links fused or general by the bits of `general_links`.
fn mixed(topology: Topology, general_links: u32) -> Network<Numbered> {
    let built = topology.build_with(7, |link, spec| {
        if general_links >> link.0 & 1 == 1 { general(link, spec) } else { None }
    });
    built.expect("every random topology is sound")
}

/// The same, of which one at most has a trace.
///
/// Opportunities of two traces are at the same instants, and so are deliveries. Which of two packets comes first then
/// is reported by the numbers of the links that accepted them last: a general link of no delay is one of these, and
/// none that packets pass without notice.
fn with_one_trace(mut specs: Vec<LinkSpec>) -> Vec<LinkSpec> {
    let traced = specs.iter_mut().filter(|spec| spec.rate_trace.is_some());
    traced.skip(1).for_each(|spec| spec.rate_trace = None);
    specs
}

/// The same outcome, its deliveries of one instant in the order of their nodes.
///
/// Jitter that keeps the order lets several packets leave a link at one instant. Where they go on to different hosts,
/// a fused link of no delay on one of the ways is passed without an acceptance, and a general one is not, so that they
/// are reported in another order. What each host gets is the same, and in the same order.
fn by_instant_and_node(mut outcome: Outcome) -> Outcome {
    outcome.deliveries.sort_by_key(|delivery| (delivery.at, delivery.node));
    outcome
}

proptest! {
    #[test]
    fn poll_frequency_does_not_change_outcome(
        specs in prop::collection::vec(any_link(), 10),
        general_links in any::<u32>(),
        injections in any_traffic(),
        looks in any_looks(),
    ) {
        let outcome = |polls| {
            run(mixed(dumbbell(&specs), general_links), &injections, &polls, END)
        };
        let expected = outcome(PollTimes::AtEveryEvent);
        prop_assert_eq!(&outcome(PollTimes::Never), &expected);
        prop_assert_eq!(&outcome(PollTimes::At(looks)), &expected);
        prop_assert_eq!(&outcome(PollTimes::ByDelivery), &expected);
        prop_assert_eq!(&outcome(PollTimes::InPlace), &expected);
    }

    #[test]
    fn poll_frequency_does_not_change_slots(
        specs in prop::collection::vec(any_link(), 10),
        shared in any_carrier(),
        injections in any_traffic(),
        looks in any_looks(),
    ) {
        let outcome = |polls| {
            run(mixed(dumbbell_on(&shared, &specs), 0), &injections, &polls, Instant::from_secs(5))
        };
        let expected = outcome(PollTimes::AtEveryEvent);
        for facts in &expected.fact_log.links {
            prop_assert!(facts.is_sorted_by_key(Fact::at));
        }
        prop_assert_eq!(&outcome(PollTimes::Never), &expected);
        prop_assert_eq!(&outcome(PollTimes::At(looks)), &expected);
        prop_assert_eq!(&outcome(PollTimes::ByDelivery), &expected);
        prop_assert_eq!(&outcome(PollTimes::InPlace), &expected);
    }

    #[test]
    fn fused_and_general_links_agree(
        specs in prop::collection::vec(any_link(), 10),
        general_links in any::<u32>(),
        injections in any_traffic(),
    ) {
        let specs = with_one_trace(specs);
        let outcome = |links| {
            let network = mixed(dumbbell(&specs), links);
            by_instant_and_node(run(network, &injections, &PollTimes::ByDelivery, END))
        };
        let fused = outcome(0);
        prop_assert_eq!(&outcome(u32::MAX), &fused);
        prop_assert_eq!(&outcome(general_links), &fused);
    }

    #[test]
    fn the_facts_of_one_link_come_in_order(
        specs in prop::collection::vec(any_link(), 10),
        general_links in any::<u32>(),
        injections in any_traffic(),
    ) {
        let outcome = run(mixed(dumbbell(&specs), general_links), &injections, &PollTimes::Never, END);
        for facts in &outcome.fact_log.links {
            prop_assert!(facts.is_sorted_by_key(Fact::at));
        }
        prop_assert!(outcome.deliveries.is_sorted_by_key(|delivery| delivery.at));
    }
}

#[test]
fn seed_determines_the_run() {
    let lossy = LinkSpec { loss: "30 %".parse().unwrap(), ..LinkSpec::default() };
    let (topology, sender, receiver, _) = crate::support::single_link(lossy);
    let injections: Vec<Injection> = (0..200)
        .map(|n| (Instant::from_millis(n), sender, Numbered { number: n, bytes: 40, to: receiver }))
        .collect();
    let outcome = |seed| {
        let network = topology.clone().build(seed).unwrap();
        run(network, &injections, &PollTimes::ByDelivery, END)
    };
    assert_eq!(outcome(1), outcome(1));
    assert_ne!(outcome(1), outcome(2));
}

#[test]
fn simultaneous_deliveries_keep_acceptance_order() {
    // On the first link 1000 B take 100 ns and 1 B less than one, so both arrive when the second
    // link delivers.
    let mut topology = Topology::new();
    let sender = topology.add_host("sender");
    let receivers = ["one", "two"].map(|name| topology.add_host(name));
    let fast = LinkSpec { rate: Some("80 Gbit/s".parse().unwrap()), ..LinkSpec::default() };
    let slow = LinkSpec { delay: "100 ns".parse().unwrap(), ..LinkSpec::default() };
    topology.add_link(sender, receivers[0], fast);
    topology.add_link(sender, receivers[1], slow);
    let injections: Vec<Injection> = (0..)
        .zip([(0, 1000), (0, 1), (1, 1500)])
        .map(|(number, (to, bytes))| {
            (Instant::ZERO, sender, Numbered { number, bytes, to: receivers[to] })
        })
        .collect();
    for general_links in [0, 1, 2, 3] {
        let network = mixed(topology.clone(), general_links);
        let outcome = run(network, &injections, &PollTimes::ByDelivery, END);
        let seen: Vec<(u64, u64)> =
            outcome.deliveries.iter().map(|d| (d.packet.number, d.at.as_nanos())).collect();
        assert_eq!(seen, [(0, 100), (1, 100), (2, 100)], "general links {general_links:b}");
    }
}
