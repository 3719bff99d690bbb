//! Refused topologies and their errors.

use crate::support::{Numbered, single_link};
use fairwind_network::{LinkSpec, NodeId, Qdisc, Topology, TopologyError};
use fairwind_qdisc::{FqCodel, Htb, HtbClass, Impairments, Loss, RateTrace};
use fairwind_units::{BitRate, Ratio};

fn error(topology: Topology) -> TopologyError {
    topology.build::<Numbered>(0).err().expect("the topology is refused")
}

fn error_of_link(spec: LinkSpec) -> String {
    error(single_link(spec).0).to_string()
}

#[test]
fn two_nodes_of_one_name_are_refused() {
    let mut topology = Topology::new();
    topology.add_host("twin");
    topology.add_router("twin");
    assert_eq!(error(topology), TopologyError::DuplicateName { name: "twin".to_owned() });
}

#[test]
fn a_link_to_an_unknown_node_is_refused() {
    let mut topology = Topology::new();
    let a = topology.add_host("a");
    let link = topology.add_link(a, NodeId(5), LinkSpec::default());
    let expected = TopologyError::UnknownNode { link, node: NodeId(5), nodes: 1 };
    assert_eq!(error(topology), expected);
    assert_eq!(
        expected.to_string(),
        "link 0 ends at node 5, but there are only 1 nodes; use the ids that add_host and \
         add_router gave"
    );
}

#[test]
fn a_link_to_itself_is_refused() {
    let mut topology = Topology::new();
    let a = topology.add_host("a");
    topology.add_link(a, a, LinkSpec::default());
    assert_eq!(error(topology).to_string(), "link 0 leads from \"a\" to itself");
}

#[test]
fn a_rate_of_zero_is_refused() {
    let rate = Some(BitRate::from_bits_per_second(0));
    let message = error_of_link(LinkSpec { rate, ..LinkSpec::default() });
    assert!(message.starts_with("link sender->receiver has rate 0"), "{message}");
}

#[test]
fn a_queue_limit_of_zero_is_refused() {
    for queue in [Qdisc::Pfifo { limit_packets: 0 }, Qdisc::Bfifo { limit_bytes: 0 }] {
        let message = error_of_link(LinkSpec { queue, ..LinkSpec::default() });
        let expected = "link sender->receiver: limit: a queue must hold at least one packet";
        assert!(message.ends_with(expected), "{message}");
    }
}

#[test]
fn contradictory_class_tree_is_refused() {
    let rate = BitRate::from_bits_per_second;
    let classes = vec![
        HtbClass { child: None, ..HtbClass::new("1:1", rate(1_000_000), 10) },
        HtbClass {
            parent: Some(0),
            ceil: rate(1_000_000),
            ..HtbClass::new("1:2", rate(2_000_000), 10)
        },
    ];
    let htb = Htb { classes, ..Htb::default() };
    let above = "classes[1].ceil: the ceil 1 Mbit/s is below the rate 2 Mbit/s";
    let lost = Htb { default_class: Some(7), ..htb.clone() };
    let fair = FqCodel { quantum_bytes: 0, ..FqCodel::default() };
    for (queue, expected) in [
        (Qdisc::Htb(htb), above),
        (Qdisc::Htb(lost), above),
        (Qdisc::FqCodel(fair), "quantum: a flow or class must"),
    ] {
        let message = error_of_link(LinkSpec { queue, ..LinkSpec::default() });
        let begin = "the queue of link sender->receiver: ";
        assert!(message.starts_with(&format!("{begin}{expected}")), "{message}");
    }
}

#[test]
fn impairments_and_recorded_rates_are_validated() {
    let lost = Some(Loss::Recorded { lost: Vec::new() });
    let impairments = Impairments { loss: lost, ..Impairments::default() };
    let message = error_of_link(LinkSpec { impairments, ..LinkSpec::default() });
    assert!(
        message.starts_with("the impairments of link sender->receiver: loss.lost"),
        "{message}"
    );
    let rate_trace = Some(RateTrace::Opportunities { milliseconds: vec![5, 4] });
    let message = error_of_link(LinkSpec { rate_trace, ..LinkSpec::default() });
    assert!(message.ends_with("link sender->receiver: instants must not decrease"), "{message}");
}

#[test]
fn a_loss_above_one_is_refused() {
    let loss = Ratio::from_parts_per_billion(1_010_000_000);
    let message = error_of_link(LinkSpec { loss, ..LinkSpec::default() });
    assert_eq!(message, "link sender->receiver has loss 101 %; a probability is at most 100 %");
}
