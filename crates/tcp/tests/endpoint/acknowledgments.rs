//! SACK blocks of a receiver (RFC 2018 §3, §4; RFC 2883), and times of acknowledgments.

use crate::pair::{End, Fate, Pair};
use crate::peer::{Endpoint, OFFER, blocks, data, stamped};
use fairwind_tcp::{Config, Profile};
use fairwind_units::Instant;
use fairwind_wire::{Flags, Options, Segment, Timestamps};

fn rfc() -> Config {
    Config { timestamps: false, ..Profile::Rfc.config() }
}

/// Number and blocks of the one answer.
fn report(answer: &[Segment]) -> (u32, Vec<(u32, u32)>) {
    assert_eq!(answer.len(), 1);
    (answer[0].acknowledgment.get(), blocks(&answer[0]))
}

#[test]
fn permission_travels_in_syns_only() {
    let mut pair = Pair::new(Profile::Rfc.config(), Profile::Rfc.config());
    pair.write(End::Client, 20_000);
    pair.run_until(Instant::from_secs(2));
    for line in &pair.dialogue {
        let syn = line.segment.flags.contains(Flags::SYN);
        assert_eq!(line.segment.options.sack_permitted, syn);
    }
}

#[test]
fn no_sack_without_permission() {
    let mut end = Endpoint::accepted_with(rfc(), Options { sack_permitted: false, ..OFFER });
    assert_eq!(report(&end.hear(&data(1001, 1000))), (1, vec![]));
    assert_eq!(report(&end.hear(&data(3001, 1000))), (1, vec![]));
}

/// The example of RFC 2018 §4, case 3, with segments of 500 bytes: the block of the latest segment
/// is first, the others follow in the order of the last report.
#[test]
fn sack_blocks_are_most_recent_first() {
    let mut end = Endpoint::accepted(rfc());
    assert_eq!(report(&end.hear(&data(501, 500))), (1, vec![(501, 1001)]));
    assert_eq!(report(&end.hear(&data(1501, 500))), (1, vec![(1501, 2001), (501, 1001)]));
    let all = vec![(2501, 3001), (1501, 2001), (501, 1001)];
    assert_eq!(report(&end.hear(&data(2501, 500))), (1, all));
    // The second block grows: it is first now, and whole.
    let all = vec![(1501, 2501), (2501, 3001), (501, 1001)];
    let (number, grown) = report(&end.hear(&data(2001, 500)));
    assert_eq!(number, 1);
    assert!(grown[0] == (1501, 3001) && grown[1] == (501, 1001), "{grown:?}, not {all:?}");
    // Data that advances the number is not reported; the rest is.
    assert_eq!(report(&end.hear(&data(1, 500))), (1001, vec![(1501, 3001)]));
}

#[test]
fn four_blocks_fit_and_three_beside_timestamps() {
    for stamps in [false, true] {
        let timestamps = stamps.then_some(Timestamps { value: 1, echo: 0 });
        let offer = Options { timestamps, ..OFFER };
        let config = Config { timestamps: stamps, ..Profile::Rfc.config() };
        let mut end = Endpoint::accepted_with(config, offer);
        let mut last = vec![];
        for hole in 1..=6 {
            let mut segment = data(1001 * hole, 100);
            if stamps {
                segment = stamped(segment, 1, 0);
            }
            last = report(&end.hear(&segment)).1;
        }
        let expected: Vec<(u32, u32)> = (1..=6)
            .rev()
            .take(if stamps { 3 } else { 4 })
            .map(|hole| (1001 * hole, 1001 * hole + 100))
            .collect();
        assert_eq!(last, expected);
    }
}

/// RFC 2883 §4.1, examples 1 and 2: below the acknowledgment number.
#[test]
fn acknowledged_duplicate_is_reported_once() {
    let mut end = Endpoint::accepted(rfc());
    end.hear(&data(1, 1000));
    end.hear(&data(1001, 1000));
    assert_eq!(report(&end.hear(&data(1, 1000))), (2001, vec![(1, 1001)]));
    assert_eq!(report(&end.hear(&data(3001, 1000))), (2001, vec![(3001, 4001)]), "not again");
    // The other blocks follow the duplicate.
    assert_eq!(report(&end.hear(&data(1, 1000))), (2001, vec![(1, 1001), (3001, 4001)]));
}

/// RFC 2883 §4.2: above the acknowledgment number, the block around it follows.
#[test]
fn out_of_order_dsack_precedes_its_block() {
    let mut end = Endpoint::accepted(rfc());
    for sequence in [1001, 2001, 3001] {
        end.hear(&data(sequence, 1000));
    }
    let answer = report(&end.hear(&data(2001, 1000)));
    assert_eq!(answer, (1, vec![(2001, 3001), (1001, 4001)]));
    assert_eq!(report(&end.hear(&data(4001, 1000))), (1, vec![(1001, 5001)]));
}

/// RFC 2883 §4.3: only the part that is repeated is reported.
#[test]
fn partial_duplicate_is_reported_by_dsack() {
    let mut end = Endpoint::accepted(rfc());
    end.hear(&data(1, 1000));
    end.hear(&data(501, 1000));
    let answer: Vec<Segment> = end.wait_millis(500).into_iter().map(|(_, s)| s).collect();
    assert_eq!(report(&answer), (1501, vec![(501, 1001)]));
}

#[test]
fn disorder_is_acknowledged_immediately() {
    let mut end = Endpoint::accepted(rfc());
    assert!(end.hear(&data(1, 1000)).is_empty(), "in order: delayed");
    assert_eq!(end.hear(&data(3001, 1000)).len(), 1);
    assert_eq!(end.hear(&data(5001, 1000)).len(), 1);
    assert_eq!(report(&end.hear(&data(1001, 1000))), (2001, vec![(5001, 6001), (3001, 4001)]));
    assert_eq!(end.hear(&data(2001, 1000)).len(), 1, "a hole is filled, another remains");
    assert_eq!(end.hear(&data(4001, 500)).len(), 1, "filled in part");
    assert_eq!(end.hear(&data(4501, 500)).len(), 1);
}

#[test]
fn every_second_full_segment_is_acknowledged() {
    let mut end = Endpoint::accepted(rfc());
    for pair in 0..5 {
        assert!(end.hear(&data(1 + 2000 * pair, 1000)).is_empty());
        assert_eq!(
            report(&end.hear(&data(1001 + 2000 * pair, 1000))),
            (2001 + 2000 * pair, vec![])
        );
    }
    end.hear(&data(10_001, 1000));
    let answers = end.wait_millis(499);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].1.acknowledgment.get(), 11_001);
}

/// The sender keeps all data until it is acknowledged in order, and the receiver keeps reported
/// data: it never has to arrive again.
#[test]
fn sacked_data_is_kept() {
    let mut pair = Pair::established(Profile::Rfc.config(), Profile::Rfc.config());
    pair.judged_by(|from, number, segment| {
        let first = from == End::Client && segment.payload_bytes > 0 && number % 4 == 1;
        if first && number < 20 { Fate::Drop } else { Fate::Deliver }
    });
    pair.write(End::Client, 100_000);
    pair.run_until(Instant::from_secs(60));
    assert_eq!(pair.read_bytes(End::Server), 100_000);
    let mut reported: Vec<(u32, u32)> = vec![];
    for line in &pair.dialogue {
        let sent = (line.segment.sequence.get(), line.segment.end().get());
        if line.from == End::Server {
            reported.extend(blocks(&line.segment));
        } else if let Some(block) = reported.iter().find(|b| b.0 <= sent.0 && sent.1 <= b.1) {
            panic!("{sent:?} was sent again after {block:?} was reported at {}", line.at);
        }
    }
}
