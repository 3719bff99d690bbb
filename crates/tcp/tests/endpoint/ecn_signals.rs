//! ECN signals step by step (RFC 3168 §6.1), in the profile `rfc`.

use crate::peer::{Endpoint, FULL, OFFER, ack, data, segment};
use fairwind_tcp::{Config, Profile, RecoveryState};
use fairwind_units::Span;
use fairwind_wire::{Ecn, Flags, Segment, TrafficClass};

/// An initial window of ten segments, so that there is something to lose.
fn rfc() -> Config {
    Config { timestamps: false, initial_window: 10, ..Profile::Rfc.config() }
}

/// First byte of the `index`-th segment.
fn at(index: u32) -> u32 {
    1 + index * FULL
}

fn window(end: &Endpoint) -> u32 {
    end.it.congestion_window()
}

fn threshold(end: &Endpoint) -> u32 {
    end.it.slow_start_threshold().unwrap()
}

fn with_ecn() -> Endpoint {
    let mut config = rfc();
    config.ecn = fairwind_tcp::EcnConfig::when_asked();
    let mut end = Endpoint::listening(config);
    let asks = Flags::SYN | Flags::ECE | Flags::CWR;
    let answer = end.hear(&Segment { options: OFFER, ..segment(asks, 0, 0) });
    assert_eq!(answer[0].flags, Flags::SYN | Flags::ACK | Flags::ECE);
    assert_eq!(answer[0].traffic_class.ecn(), Ecn::NotEct);
    end.hear(&ack(1));
    end
}

fn echoing(acknowledgment: u32) -> Segment {
    segment(Flags::ACK | Flags::ECE, 1, acknowledgment)
}

#[test]
fn ece_halves_window_once_per_window() {
    let mut end = with_ecn();
    end.write(60_000);
    let sent = end.hear(&echoing(at(1)));
    // Nine are outstanding after it.
    assert_eq!((threshold(&end), end.it.recovery_state()), (4, RecoveryState::Cwr));
    let mut reduced: Vec<Segment> = sent;
    for next in 2..=10 {
        reduced.extend(end.hear(&echoing(at(next))));
    }
    assert_eq!(threshold(&end), 4, "once per window of data");
    assert!(window(&end) <= 4);
    let announced: Vec<u32> =
        reduced.iter().filter(|s| s.flags.contains(Flags::CWR)).map(|s| s.sequence.get()).collect();
    assert_eq!(announced, [at(10)], "CWR on the first new data, once");
    // In the next window it counts again.
    let next = u32::try_from(reduced.len()).unwrap() + 10;
    end.hear(&echoing(at(next)));
    assert!(threshold(&end) < 4, "{}", threshold(&end));
}

#[test]
fn ce_is_echoed_until_cwr() {
    let mut end = with_ecn();
    let mut marked = data(1, 1000);
    marked.traffic_class = TrafficClass::default().with_ecn(Ecn::Ce);
    end.hear(&marked);
    let capable = |sequence| Segment {
        traffic_class: TrafficClass::default().with_ecn(Ecn::Ect0),
        ..data(sequence, 1000)
    };
    for sequence in [1001, 3001, 5001] {
        let mut answers = end.hear(&capable(sequence));
        answers.extend(end.hear(&capable(sequence + 1000)));
        assert!(!answers.is_empty());
        assert!(answers.iter().all(|s| s.flags.contains(Flags::ECE)), "{answers:?}");
    }
    let mut reduced = capable(7001);
    reduced.flags |= Flags::CWR;
    let mut answers = end.hear(&reduced);
    answers.extend(end.hear(&capable(8001)));
    assert!(answers.iter().all(|s| !s.flags.contains(Flags::ECE)), "{answers:?}");
}

#[test]
fn only_new_data_is_capable() {
    let mut end = with_ecn();
    let sent = end.write(3000);
    assert!(sent.iter().all(|s| s.traffic_class.ecn() == Ecn::Ect0));
    assert!(end.hear(&data(1, 1000)).iter().all(|s| s.traffic_class.ecn() == Ecn::NotEct));
    let pure = end.wait_millis(300);
    assert!(!pure.is_empty());
    let again = end.wait_millis(1000);
    assert!(!again.is_empty());
    for (_, segment) in pure.iter().chain(&again) {
        assert_eq!(segment.traffic_class.ecn(), Ecn::NotEct, "{segment:?}");
    }
}

#[test]
fn window_probes_are_not_ect() {
    let mut end = with_ecn();
    end.hear(&data(1, 100));
    end.hear(&Segment { window: 0, ..segment(Flags::ACK, 101, 1) });
    end.write(1000);
    let probes = end.wait(Span::from_secs(10));
    assert!(probes.len() >= 2, "{probes:?}");
    for (_, probe) in
        probes.iter().filter(|(_, s)| s.sequence_length() > 0 || s.sequence.get() == 0)
    {
        assert_eq!(probe.traffic_class.ecn(), Ecn::NotEct);
    }
}
