//! Explicit congestion notification (RFC 3168).

use crate::pair::{End, Fate, Line, Pair};
use fairwind_tcp::{Config, EcnFeedback, Profile};
use fairwind_units::Instant;
use fairwind_wire::{Ecn, Flags};

const ASKS: Flags = Flags::from_bits(Flags::ECE.bits() | Flags::CWR.bits());

fn asking() -> Config {
    let mut config = Profile::Linux6_18.config();
    config.ecn.outgoing = EcnFeedback::Classic;
    config
}

fn established(client: Config, server: Config) -> Pair {
    let mut pair = Pair::new(client, server);
    pair.run_until(Instant::from_millis(500));
    pair
}

#[test]
fn negotiated_ecn_marks_only_data() {
    let mut pair = established(asking(), Profile::Linux6_18.config());
    assert_eq!(pair.dialogue[0].segment.flags, Flags::SYN | ASKS);
    assert_eq!(pair.dialogue[1].segment.flags, Flags::SYN | Flags::ACK | Flags::ECE);
    pair.write(End::Client, 20_000);
    pair.run_until(Instant::from_secs(2));
    for Line { segment, .. } in &pair.dialogue {
        let expected = if segment.payload_bytes > 0 { Ecn::Ect0 } else { Ecn::NotEct };
        assert_eq!(segment.traffic_class.ecn(), expected, "{segment:?}");
    }
}

#[test]
fn ecn_needs_both_ends() {
    let mut refusing = Profile::Linux6_18.config();
    refusing.ecn.incoming = EcnFeedback::None;
    for (client, server) in [(asking(), refusing), (Profile::Linux6_18.config(), asking())] {
        let mut pair = established(client, server);
        pair.write(End::Client, 5_000);
        pair.run_until(Instant::from_secs(2));
        let marked = |line: &Line| line.segment.traffic_class.ecn().is_capable();
        assert!(!pair.dialogue.iter().any(marked));
    }
}

#[test]
fn a_repeated_syn_does_not_ask_again() {
    let mut pair = Pair::new(asking(), Profile::Linux6_18.config());
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Client, 0) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.run_until(Instant::from_secs(3));
    let syns: Vec<Flags> = pair
        .dialogue
        .iter()
        .filter(|line| line.from == End::Client && line.segment.flags.contains(Flags::SYN))
        .map(|line| line.segment.flags)
        .collect();
    assert_eq!(syns, [Flags::SYN | ASKS, Flags::SYN]);
}

#[test]
fn retransmissions_are_not_capable() {
    let mut pair = established(asking(), Profile::Linux6_18.config());
    pair.dialogue.clear();
    pair.judged_by(|from, number, segment| {
        let lost = from == End::Client && number == 1 && segment.payload_bytes > 0;
        if lost { Fate::Drop } else { Fate::Deliver }
    });
    pair.write(End::Client, 20_000);
    pair.run_until(Instant::from_secs(2));
    let lost = pair.dialogue[1].segment.sequence;
    let marks: Vec<Ecn> = pair
        .dialogue
        .iter()
        .filter(|line| line.segment.sequence == lost && line.segment.payload_bytes > 0)
        .map(|line| line.segment.traffic_class.ecn())
        .collect();
    assert_eq!(marks, [Ecn::Ect0, Ecn::NotEct]);
}
