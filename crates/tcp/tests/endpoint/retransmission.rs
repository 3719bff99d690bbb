//! Losses and recovery step by step (RFC 5681 §3.2, RFC 6582, RFC 6675, RFC 6298, RFC 5827), in the profile
//! `rfc`.

use crate::peer::{Endpoint, OFFER, ack, at, sack, segment, starts, threshold, window};
use fairwind_tcp::{
    Config, EarlyRetransmit, Event, LossDetection, LostRetransmissions, Profile, RecoveryState,
};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Options, Segment};

/// An initial window of ten segments, so that there is something to lose.
fn rfc() -> Config {
    Config { timestamps: false, initial_window: 10, ..Profile::Rfc.config() }
}

fn open() -> Endpoint {
    Endpoint::accepted(rfc())
}

fn without_sack() -> Endpoint {
    Endpoint::accepted_with(rfc(), Options { sack_permitted: false, ..OFFER })
}

#[test]
fn third_duplicate_starts_fast_retransmit() {
    let mut end = without_sack();
    end.write(50_000);
    assert_eq!(starts(&end.hear(&ack(1))), [at(10)], "limited transmit");
    assert_eq!(starts(&end.hear(&ack(1))), [at(11)]);
    assert_eq!(window(&end), 10);
    let sent = end.hear(&ack(1));
    assert_eq!(starts(&sent), [at(0)]);
    // Twelve are outstanding, and limited transmit's two do not count (RFC 5681 §3.2 step 2).
    assert_eq!(threshold(&end), 5);
    assert_eq!(end.it.recovery_state(), RecoveryState::Recovery);
    assert!(end.events().contains(&Event::FastRetransmit));
}

#[test]
fn duplicates_release_data_below_window() {
    let mut end = without_sack();
    end.write(50_000);
    for _ in 0..3 {
        end.hear(&ack(1));
    }
    let half = threshold(&end);
    let mut sent = vec![];
    for _ in 0..8 {
        sent.extend(starts(&end.hear(&ack(1))));
    }
    // Twelve segments and one retransmission were sent; eleven duplicates show that eleven have
    // left.
    let out = 12 - 11 + u32::try_from(sent.len()).unwrap();
    assert_eq!(out, half, "{sent:?}");
    assert_eq!(sent.first(), Some(&at(12)));
}

#[test]
fn partial_ack_retransmits_next_hole() {
    let mut end = without_sack();
    end.write(50_000);
    for _ in 0..3 {
        end.hear(&ack(1));
    }
    let half = threshold(&end);
    // A partial acknowledgment detects the second loss, not duplicates.
    let sent = end.hear(&ack(at(4)));
    assert_eq!(starts(&sent).first(), Some(&at(4)));
    assert_eq!(end.it.recovery_state(), RecoveryState::Recovery);
    // Everything that was outstanding at the detection.
    end.hear(&ack(at(12)));
    end.hear(&ack(at(13)));
    assert_eq!(end.it.recovery_state(), RecoveryState::Open);
    assert!(window(&end) <= half + 1, "{} and a step of growth over {half}", window(&end));
    assert_eq!(threshold(&end), half, "one reduction for all losses of a window");
}

/// Duplicates after a time-out that do not cover the data outstanding then come from spurious
/// retransmissions (RFC 6582 §3.2 step 2, §5).
#[test]
fn duplicates_after_timeout_start_no_recovery() {
    let mut end = without_sack();
    end.write(50_000);
    end.wait_millis(1100);
    end.events();
    end.hear(&ack(at(2)));
    for _ in 0..4 {
        end.hear(&ack(at(2)));
    }
    assert!(!end.events().contains(&Event::FastRetransmit));
    assert_eq!(end.it.recovery_state(), RecoveryState::Loss);
}

#[test]
fn three_sacked_segments_prove_loss() {
    let mut end = open();
    end.write(50_000);
    assert_eq!(starts(&end.hear(&sack(1, &[(at(1), at(2))]))), [at(10)]);
    assert_eq!(starts(&end.hear(&sack(1, &[(at(1), at(3))]))), [at(11)]);
    let sent = end.hear(&sack(1, &[(at(1), at(4))]));
    assert_eq!(starts(&sent), [at(0)]);
    assert_eq!(end.it.recovery_state(), RecoveryState::Recovery);
}

/// Discontiguous blocks count, too: three of them, however small.
#[test]
fn three_sacked_ranges_prove_loss() {
    let mut end = open();
    end.write(50_000);
    end.hear(&sack(1, &[(at(2), at(3))]));
    end.hear(&sack(1, &[(at(4), at(5)), (at(2), at(3))]));
    let sent = end.hear(&sack(1, &[(at(6), at(7)), (at(4), at(5)), (at(2), at(3))]));
    assert_eq!(starts(&sent), [at(0)]);
    // The second segment has three above it as well, the fourth has but two.
    assert_eq!(
        starts(&end.hear(&sack(1, &[(at(6), at(9)), (at(4), at(5)), (at(2), at(3))]))).first(),
        Some(&at(1))
    );
}

#[test]
fn recovery_sends_lost_then_new_data() {
    let mut end = open();
    end.write(50_000);
    // Ten segments sent, 0 and 2 lost; all others are reported one by one.
    end.hear(&sack(1, &[(at(1), at(2))]));
    end.hear(&sack(1, &[(at(3), at(4)), (at(1), at(2))]));
    let mut sent = vec![];
    for arrived in 5..=12 {
        sent.extend(starts(&end.hear(&sack(1, &[(at(3), at(arrived)), (at(1), at(2))]))));
    }
    let half = threshold(&end);
    assert_eq!(half, 5, "of the ten that were out before limited transmit");
    assert_eq!(sent[..2], [at(0), at(2)]);
    assert!(sent[2..].iter().zip(12..).all(|(&start, index)| start == at(index)), "{sent:?}");
    // Ten of twelve arrived; two retransmissions and the new segments fill the window.
    assert_eq!(u32::try_from(sent.len()).unwrap(), half);
    assert_eq!(end.it.congestion_window(), half);
}

/// `NextSeg` rule 4: the end of the flight may be lost, and no later segment can show it.
#[test]
fn one_rescue_retransmission_is_sent_per_recovery() {
    let mut end = open();
    end.write(10_000);
    for arrived in 2..=4 {
        end.hear(&sack(1, &[(at(1), at(arrived))]));
    }
    // No new data: segments without proof of loss, of which only those above the highest report
    // remain.
    let sent = starts(&end.hear(&sack(1, &[(at(1), at(7))])));
    assert_eq!(sent, [at(9)]);
    // Another end of the flight and more room, but the rescue retransmission is sent once.
    end.hear(&sack(1, &[(at(1), at(8))]));
    assert_eq!(starts(&end.write(1000)), [at(10)]);
    assert!(end.hear(&sack(1, &[(at(1), at(9))])).is_empty());
}

#[test]
fn timeout_keeps_sacks_and_retransmits_oldest() {
    let mut end = open();
    end.write(10_000);
    end.hear(&sack(1, &[(at(4), at(6))]));
    let first = end.wait_millis(1200);
    assert_eq!(first[0].1.sequence.get(), at(0));
    let mut sent = vec![];
    for next in [1, 2, 3, 4] {
        let mut answer = sack(at(next), &[(at(4), at(6))]);
        if next == 4 {
            answer = ack(at(6));
        }
        sent.extend(starts(&end.hear(&answer)));
    }
    sent.sort_unstable();
    sent.dedup();
    let expected: Vec<u32> = [1, 2, 3, 6, 7, 8].into_iter().map(at).collect();
    assert_eq!(
        sent[..expected.len().min(sent.len())],
        expected[..sent.len().min(expected.len())],
        "what was reported is not sent"
    );
    assert!(sent.len() >= 5);
}

/// The receiver has reneged (RFC 2018 §8): a time-out forgets the reports.
#[test]
fn reneged_data_is_retransmitted() {
    let mut end = open();
    end.write(4000);
    end.hear(&sack(1, &[(at(1), at(4))]));
    // The retransmission arrives, and the acknowledgment covers nothing else.
    end.hear(&ack(at(1)));
    let mut sent: Vec<u32> = vec![];
    for next in 2..=4 {
        let repaired = end.wait(Span::from_secs(2));
        sent.extend(repaired.iter().map(|(_, s)| s.sequence.get()));
        sent.extend(starts(&end.hear(&ack(at(next)))));
    }
    assert_eq!(sent[..3], [at(1), at(2), at(3)], "what was reported goes out again");
    assert_eq!(end.it.flight(), 0);
}

#[test]
fn lost_syn_sets_rto_to_three_seconds() {
    let (mut end, _) = Endpoint::connecting(rfc());
    end.wait_millis(1500);
    end.hear(&Segment { options: OFFER, ..segment(Flags::SYN | Flags::ACK, 0, 1) });
    assert_eq!(end.it.retransmission_timeout(), Span::from_secs(3));
}

#[test]
fn new_acks_restart_rto_timer() {
    let mut end = open();
    end.write(2000);
    end.wait_millis(600);
    end.hear(&ack(at(1)));
    let timeout = end.it.retransmission_timeout();
    assert_eq!(end.it.next_deadline(), end.now + timeout, "anew for the second segment");
    end.hear(&ack(at(2)));
    assert_eq!(end.it.next_deadline(), Instant::MAX);
}

/// RFC 6582 §3.2 step 3: a partial acknowledgment restarts the timer.
#[test]
fn a_partial_acknowledgment_restarts_the_timer() {
    let mut end = without_sack();
    end.write(50_000);
    for _ in 0..3 {
        end.hear(&ack(1));
    }
    end.wait_millis(300);
    end.hear(&ack(at(4)));
    assert_eq!(end.it.next_deadline(), end.now + end.it.retransmission_timeout());
}

/// RFC 6582 §3.2 step 1 and 2: data left outstanding by a recovery is not a new loss.
#[test]
fn duplicates_in_recovery_reduce_nothing() {
    let mut end = without_sack();
    end.write(50_000);
    for _ in 0..6 {
        end.hear(&ack(1));
    }
    end.events();
    end.hear(&ack(at(4)));
    for _ in 0..6 {
        end.hear(&ack(at(4)));
    }
    assert!(!end.events().contains(&Event::FastRetransmit));
    assert_eq!(threshold(&end), 5);
}

/// The `IsLost` of RFC 6675 counts segments: two above a hole, however large, are not enough.
#[test]
fn two_sacked_segments_prove_no_loss() {
    let mut end = open();
    end.write(50_000);
    end.hear(&sack(1, &[(at(1), at(3))]));
    assert_eq!(end.it.recovery_state(), RecoveryState::Disorder);
    assert!(end.wait_millis(500).is_empty());
}

/// RFC 2018 §5: selectively acknowledged data is not retransmitted before a time-out.
#[test]
fn only_holes_are_repaired() {
    let mut end = open();
    end.write(10_000);
    end.hear(&sack(1, &[(at(1), at(2))]));
    end.hear(&sack(1, &[(at(3), at(4)), (at(1), at(2))]));
    let mut sent = starts(&end.hear(&sack(1, &[(at(5), at(8)), (at(3), at(4)), (at(1), at(2))])));
    for next in [1, 3, 5, 9] {
        sent.extend(starts(&end.hear(&sack(at(next), &[(at(5), at(8)), (at(3), at(4))]))));
    }
    sent.sort_unstable();
    assert!(
        sent.iter().all(|start| [at(0), at(2), at(4), at(8), at(9)].contains(start)),
        "{sent:?}"
    );
    assert!(sent.starts_with(&[at(0), at(2), at(4)]), "{sent:?}");
}

/// RFC 5827 §3: too few segments are outstanding for three duplicates.
#[test]
fn early_retransmit_needs_fewer_duplicates() {
    for (sacks, expected) in [(false, EarlyRetransmit::Immediate), (true, EarlyRetransmit::Off)] {
        let mut config = rfc();
        config.loss.early_retransmit = expected;
        let offer = Options { sack_permitted: sacks, ..OFFER };
        let mut end = Endpoint::accepted_with(config, offer);
        end.write(3000);
        end.hear(&sack_if(sacks, at(1), at(2)));
        let sent = starts(&end.hear(&sack_if(sacks, at(1), at(3))));
        let expected = if expected == EarlyRetransmit::Off { vec![] } else { vec![at(0)] };
        assert_eq!(sent, expected);
    }
    let mut config = rfc();
    config.loss.early_retransmit = EarlyRetransmit::Immediate;
    let mut end = Endpoint::accepted(config);
    end.write(3000);
    end.hear(&sack(1, &[(at(1), at(2))]));
    assert_eq!(starts(&end.hear(&sack(1, &[(at(1), at(3))]))), [at(0)]);
}

fn sack_if(sacks: bool, left: u32, right: u32) -> Segment {
    if sacks { sack(1, &[(left, right)]) } else { ack(1) }
}

/// With SACK a duplicate without a block may have any cause (RFC 3042 §2).
#[test]
fn duplicate_without_sack_sends_nothing() {
    let mut end = open();
    end.write(50_000);
    for _ in 0..5 {
        assert!(end.hear(&ack(1)).is_empty());
    }
    assert_ne!(end.it.recovery_state(), RecoveryState::Recovery);
    assert_eq!(starts(&end.hear(&sack(1, &[(at(1), at(2))]))), [at(10)]);
}

/// Retransmissions of the first segment, which never arrives while all others do: for each the number of later
/// segments reported, and the number of segments sent.
fn retransmissions_of_first(
    lost_retransmissions: LostRetransmissions,
    detection: LossDetection,
    reordered: bool,
) -> Vec<(u32, u32)> {
    let mut config = Config { timestamps: false, initial_window: 10, ..Profile::Linux2_6.config() };
    config.loss.lost_retransmissions = lost_retransmissions;
    config.loss.detection = detection;
    let mut end = Endpoint::accepted(config);
    let mut sent = u32::try_from(end.write(90_000).len()).unwrap();
    if reordered {
        sent += u32::try_from(end.hear(&sack(1, &[(at(2), at(3))])).len()).unwrap();
    }
    let mut repairs = vec![];
    let mut reported = 0;
    while reported + 1 < sent {
        reported += 1;
        for start in starts(&end.hear(&sack(1, &[(at(1), at(reported + 1))]))) {
            if start == at(0) {
                repairs.push((reported, sent));
            } else {
                sent += 1;
            }
        }
    }
    repairs
}

#[test]
fn linux_2_6_detects_overtaken_retransmission() {
    let repairs =
        retransmissions_of_first(LostRetransmissions::ByReach, LossDetection::Fack, false);
    assert!(repairs.len() > 3, "{repairs:?}");
    for pair in repairs.windows(2) {
        let ((_, sent_before), (reported, _)) = (pair[0], pair[1]);
        assert_eq!(reported, sent_before, "the first one behind what had been sent: {repairs:?}");
    }
    assert_eq!(
        retransmissions_of_first(LostRetransmissions::TimedOut, LossDetection::Fack, false).len(),
        1
    );
}

#[test]
fn reordering_delays_lost_retransmission_detection() {
    let repairs = retransmissions_of_first(LostRetransmissions::ByReach, LossDetection::Fack, true);
    assert!(repairs.len() > 2, "{repairs:?}");
    for pair in repairs.windows(2) {
        let ((_, sent_before), (reported, _)) = (pair[0], pair[1]);
        assert_eq!(reported, sent_before + 2, "three behind it: {repairs:?}");
    }
    assert_eq!(
        retransmissions_of_first(LostRetransmissions::TimedOut, LossDetection::Fack, true).len(),
        1
    );
}

/// Without FACK a report must lie a reordering threshold further from the beginning.
#[test]
fn lost_retransmission_without_fack_needs_threshold() {
    let repairs =
        retransmissions_of_first(LostRetransmissions::ByReach, LossDetection::Rfc6675, false);
    assert!(repairs.len() > 2, "{repairs:?}");
    for pair in repairs.windows(2) {
        let ((_, sent_before), (reported, _)) = (pair[0], pair[1]);
        assert_eq!(reported, sent_before + 2, "three behind it: {repairs:?}");
    }
}
