//! Accurate ECN (RFC 9768).

use crate::pair::{End, Fate, Line, Pair};
use crate::peer::{Endpoint, OFFER, segment};
use fairwind_tcp::{Config, EcnFeedback, Event, Profile};
use fairwind_units::{Instant, Span};
use fairwind_wire::{AccurateEcn, CounterOrder, Counters, Ecn, Flags, Options, Segment};

const ACE: Flags = Flags::from_bits(Flags::AE.bits() | Flags::CWR.bits() | Flags::ECE.bits());
/// The ACE field of a SYN or SYN-ACK that arrived without a mark.
const NOT_CAPABLE_SYN: Flags = Flags::CWR;

fn accurate() -> Config {
    let mut config = Profile::Linux7_3.config();
    (config.ecn.outgoing, config.ecn.incoming) = (EcnFeedback::Accurate, EcnFeedback::Accurate);
    config
}

/// The ACE field as a number.
fn ace(segment: &Segment) -> u16 {
    let bit = |flag| u16::from(segment.flags.contains(flag));
    bit(Flags::AE) << 2 | bit(Flags::CWR) << 1 | bit(Flags::ECE)
}

fn option(ect0: u32, ce: u32, ect1: u32) -> Options {
    let counters = Counters { ect0: ect0 + 1, ce, ect1: ect1 + 1 };
    let option = AccurateEcn::new(CounterOrder::Ect0First, 3, counters);
    Options { accurate_ecn: Some(option), ..Options::NONE }
}

fn marked(segment: Segment, mark: Ecn) -> Segment {
    Segment { traffic_class: segment.traffic_class.with_ecn(mark), ..segment }
}

/// A server whose client has agreed to Accurate ECN, or an older client's third ACK with `ace`.
fn server(third: Flags, options: Options) -> Endpoint {
    let mut end = Endpoint::listening(accurate());
    let syn = Segment { options: OFFER, window: 60_000, ..segment(Flags::SYN | ACE, 0, 0) };
    let answer = end.hear(&syn);
    assert_eq!(answer[0].flags, Flags::SYN | Flags::ACK | NOT_CAPABLE_SYN);
    assert_eq!(answer[0].options.accurate_ecn.map(|option| option.fields()), Some(3));
    end.now += Span::from_millis(100);
    let ack = Segment { options, ..segment(Flags::ACK | third, 1, 1) };
    end.hear(&marked(ack, Ecn::Ect0));
    assert!(end.events().contains(&Event::Established));
    end
}

/// Data of the peer's with this codepoint.
fn data(from: u32, bytes: u32, mark: Ecn) -> Segment {
    let flags = Flags::ACK | Flags::PSH | Flags::AE | Flags::ECE;
    marked(Segment { payload_bytes: bytes, ..segment(flags, from, 1) }, mark)
}

#[test]
fn negotiated_ends_send_only_ect() {
    let mut pair = Pair::new(accurate(), accurate());
    pair.run_until(Instant::from_millis(500));
    let flags: Vec<Flags> = pair.dialogue.iter().map(|line| line.segment.flags).collect();
    assert_eq!(
        flags,
        [Flags::SYN | ACE, Flags::SYN | Flags::ACK | NOT_CAPABLE_SYN, Flags::ACK | NOT_CAPABLE_SYN]
    );
    pair.dialogue.clear();
    pair.write(End::Client, 20_000);
    pair.run_until(Instant::from_secs(2));
    for Line { segment, .. } in &pair.dialogue {
        assert_eq!(segment.traffic_class.ecn(), Ecn::Ect0, "{segment:?}");
        assert_eq!(ace(segment), 5, "nothing was marked: {segment:?}");
    }
}

#[test]
fn classic_peer_gets_classic_ecn() {
    let mut classic = Profile::Linux7_3.config();
    classic.ecn.incoming = EcnFeedback::Classic;
    let mut none = classic.clone();
    none.ecn.incoming = EcnFeedback::None;
    for (server, mark) in [(classic, Ecn::Ect0), (none, Ecn::NotEct)] {
        let mut pair = Pair::new(accurate(), server);
        pair.run_until(Instant::from_millis(500));
        pair.dialogue.clear();
        pair.write(End::Client, 1_000);
        pair.run_until(Instant::from_secs(1));
        let sent = &pair.dialogue[0].segment;
        assert_eq!((sent.traffic_class.ecn(), ace(sent)), (mark, 0));
    }
}

#[test]
fn third_syn_asks_no_longer() {
    let mut pair = Pair::new(accurate(), accurate());
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Client, 0 | 1) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.run_until(Instant::from_secs(4));
    let syns: Vec<Flags> = pair
        .dialogue
        .iter()
        .filter(|line| line.from == End::Client && line.segment.flags.contains(Flags::SYN))
        .map(|line| line.segment.flags)
        .collect();
    assert_eq!(syns, [Flags::SYN | ACE, Flags::SYN | ACE, Flags::SYN]);
}

#[test]
fn marks_that_arrive_are_reported() {
    let mut end = server(NOT_CAPABLE_SYN, option(0, 0, 0));
    let answers: Vec<(u16, Option<u32>, Option<u32>)> =
        [(1, Ecn::Ce), (1001, Ecn::Ect0), (2001, Ecn::Ce), (3001, Ecn::Ce)]
            .into_iter()
            .map(|(from, mark)| {
                let sent = end.hear(&data(from, 1000, mark)).pop().unwrap();
                let option = sent.options.accurate_ecn.unwrap();
                (ace(&sent), option.ce(), option.ect0())
            })
            .collect();
    assert_eq!(
        answers,
        [
            (6, Some(1000), Some(1)),
            (6, Some(1000), Some(1001)),
            (7, Some(2000), Some(1001)),
            (0, Some(3000), Some(1001))
        ]
    );
    let seen = end.it.tcp_info(end.now);
    assert_eq!(seen.received_marked_segments, Some(3));
    assert_eq!(seen.received_bytes_by_mark, Some([0, 1000, 3000]));
}

#[test]
fn reported_marks_reduce_the_window_once() {
    let mut end = server(NOT_CAPABLE_SYN, option(0, 0, 0));
    let before = end.it.congestion_window();
    assert_eq!(end.write(2000).len(), 3);
    end.now += Span::from_millis(100);
    let report = Segment { options: option(1000, 1000, 0), ..segment(Flags::NONE, 1, 2001) };
    end.hear(&Segment { flags: Flags::ACK | Flags::AE | Flags::CWR, ..report });
    let seen = end.it.tcp_info(end.now);
    assert_eq!(seen.delivered_marked_segments, Some(1));
    assert_eq!(seen.delivered_bytes_by_mark, Some([0, 1000, 1000]));
    assert!(end.it.slow_start_threshold().is_some_and(|threshold| threshold < before));
    let sent = end.write(1000);
    assert!(!sent[0].flags.contains(Flags::CWR), "ACE counts, CWR is no signal: {sent:?}");
}

#[test]
fn feedback_that_is_zeroed_ends_marking() {
    let mut end = server(Flags::NONE, option(0, 0, 0));
    let sent = end.write(1000);
    assert_eq!(sent[0].traffic_class.ecn(), Ecn::NotEct);
    assert_eq!(end.it.tcp_info(end.now).accurate_ecn_failure, Some(2 | 8));
}

#[test]
fn dropped_option_is_not_sent_again() {
    let mut end = server(NOT_CAPABLE_SYN, option(0, 0, 0));
    let has_option =
        |sent: Vec<Segment>| sent.last().is_some_and(|last| last.options.accurate_ecn.is_some());
    assert!(has_option(end.hear(&data(1, 1000, Ecn::Ect0))));
    for expected in [true, false] {
        end.now += Span::from_millis(50);
        assert_eq!(has_option(end.hear(&data(1, 1000, Ecn::Ect0))), expected);
    }
    end.now += Span::from_millis(50);
    assert!(!has_option(end.hear(&data(1001, 1000, Ecn::Ect0))));
}

#[test]
fn full_segments_leave_room_for_the_option() {
    let mut end = server(NOT_CAPABLE_SYN, option(0, 0, 0));
    let sent = end.write(3000);
    let sizes: Vec<u32> = sent.iter().map(|segment| segment.payload_bytes).collect();
    assert_eq!(sizes, [988, 988, 988, 36]);
}

#[test]
fn many_segments_per_ack_count_with_care() {
    // Seven of ten segments may be marked while the ACE field looks like none: without byte counters
    // the maximum counts, once acknowledgments are not known to be thinned.
    let mut config = accurate();
    config.ecn.option = fairwind_tcp::AccurateEcnOption::Never;
    let mut end = Endpoint::listening(config);
    end.hear(&Segment { options: OFFER, window: 60_000, ..segment(Flags::SYN | ACE, 0, 0) });
    end.hear(&segment(Flags::ACK | NOT_CAPABLE_SYN, 1, 1));
    end.write(10_000);
    let five = Flags::ACK | Flags::AE | Flags::ECE;
    end.now += Span::from_millis(100);
    end.hear(&segment(five, 1, 1001));
    end.hear(&segment(five, 1, 10_001));
    assert_eq!(end.it.tcp_info(end.now).delivered_marked_segments, Some(8));
}
