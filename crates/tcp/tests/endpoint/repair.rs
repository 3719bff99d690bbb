//! Losses and their repair by hand (RFC 5681 §3.2, RFC 6582, RFC 6675, RFC 6298, RFC 5827), in the profile of
//! the standards.

use crate::peer::{Endpoint, OFFER, ack, at, sack, segment, starts, threshold, window};
use fairwind_tcp::{
    Config, EarlyRetransmit, Event, LossDetection, LostRetransmissions, Profile, RecoveryState,
};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Options, Segment};

/// Ten segments to begin with, so that there is something to lose.
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
fn the_third_duplicate_starts_fast_retransmit_with_half_the_flight() {
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
fn further_duplicates_let_new_data_go_once_the_pipe_is_below_the_window() {
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
    // Twelve went out, and one again; eleven duplicates say that eleven have left.
    let out = 12 - 11 + u32::try_from(sent.len()).unwrap();
    assert_eq!(out, half, "{sent:?}");
    assert_eq!(sent.first(), Some(&at(12)));
}

#[test]
fn a_partial_acknowledgment_repeats_the_next_hole_and_a_full_one_ends_recovery() {
    let mut end = without_sack();
    end.write(50_000);
    for _ in 0..3 {
        end.hear(&ack(1));
    }
    let half = threshold(&end);
    // The second loss, found by a partial acknowledgment, not by duplicates.
    let sent = end.hear(&ack(at(4)));
    assert_eq!(starts(&sent).first(), Some(&at(4)));
    assert_eq!(end.it.recovery_state(), RecoveryState::Recovery);
    // Everything that was outstanding when the loss was found.
    end.hear(&ack(at(12)));
    end.hear(&ack(at(13)));
    assert_eq!(end.it.recovery_state(), RecoveryState::Open);
    assert!(window(&end) <= half + 1, "{} and a step of growth over {half}", window(&end));
    assert_eq!(threshold(&end), half, "one reduction for all losses of a window");
}

/// Duplicates after a time-out that do not cover what was outstanding then are echoes of needless
/// repetitions (RFC 6582 §3.2 step 2, §5).
#[test]
fn duplicates_below_what_a_time_out_left_do_not_start_fast_retransmit() {
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
fn three_segments_above_a_hole_prove_it_lost() {
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
fn three_discontiguous_ranges_above_a_hole_prove_it_lost() {
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
fn recovery_sends_what_is_lost_then_new_data_while_the_pipe_is_below_the_window() {
    let mut end = open();
    end.write(50_000);
    // Ten out. Losses: 0 and 2; all others are reported one by one.
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
    // Ten of twelve arrived; two repairs and the new segments fill the window.
    assert_eq!(u32::try_from(sent.len()).unwrap(), half);
    assert_eq!(end.it.congestion_window(), half);
}

/// `NextSeg` rule 4: the end of the flight may be lost, and nothing above it can tell.
#[test]
fn one_rescue_retransmission_is_sent_per_recovery() {
    let mut end = open();
    end.write(10_000);
    for arrived in 2..=4 {
        end.hear(&sack(1, &[(at(1), at(arrived))]));
    }
    // Nothing new to send: unproven segments, of which only those above the highest report remain.
    let sent = starts(&end.hear(&sack(1, &[(at(1), at(7))])));
    assert_eq!(sent, [at(9)]);
    // Another end of the flight, and room for more: but once is enough.
    end.hear(&sack(1, &[(at(1), at(8))]));
    assert_eq!(starts(&end.write(1000)), [at(10)]);
    assert!(end.hear(&sack(1, &[(at(1), at(9))])).is_empty());
}

#[test]
fn a_time_out_keeps_what_was_reported_but_repairs_from_the_left() {
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

/// The receiver has dropped what it reported (RFC 2018 §8): a time-out forgets the reports.
#[test]
fn a_receiver_that_dropped_what_it_reported_gets_it_again() {
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
fn a_lost_syn_makes_the_time_out_three_seconds_where_no_sample_was_taken() {
    let (mut end, _) = Endpoint::connecting(rfc());
    end.wait_millis(1500);
    end.hear(&Segment { options: OFFER, ..segment(Flags::SYN | Flags::ACK, 0, 1) });
    assert_eq!(end.it.retransmission_timeout(), Span::from_secs(3));
}

#[test]
fn the_timer_starts_anew_with_new_acknowledgments_and_stops_with_the_last() {
    let mut end = open();
    end.write(2000);
    end.wait_millis(600);
    end.hear(&ack(at(1)));
    let timeout = end.it.retransmission_timeout();
    assert_eq!(end.it.next_deadline(), end.now + timeout, "anew for the second segment");
    end.hear(&ack(at(2)));
    assert_eq!(end.it.next_deadline(), Instant::MAX);
}

/// RFC 6582 §3.2 step 3: the timer starts anew with a partial acknowledgment.
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

/// RFC 6582 §3.2 step 1 and 2: what a recovery left outstanding is not a new loss.
#[test]
fn duplicates_within_a_recovery_do_not_reduce_the_window_again() {
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
fn two_segments_above_a_hole_prove_nothing() {
    let mut end = open();
    end.write(50_000);
    end.hear(&sack(1, &[(at(1), at(3))]));
    assert_eq!(end.it.recovery_state(), RecoveryState::Disorder);
    assert!(end.wait_millis(500).is_empty());
}

/// RFC 2018 §5: what was selectively acknowledged is not sent again before a time-out.
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

/// RFC 5827 §3: with so few outstanding that three duplicates cannot come.
#[test]
fn early_retransmit_needs_one_duplicate_less_than_there_are_segments() {
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

/// With SACK a duplicate that reports nothing may be an echo of anything (RFC 3042 §2).
#[test]
fn with_sack_a_duplicate_without_a_report_sends_nothing() {
    let mut end = open();
    end.write(50_000);
    for _ in 0..5 {
        assert!(end.hear(&ack(1)).is_empty());
    }
    assert_ne!(end.it.recovery_state(), RecoveryState::Recovery);
    assert_eq!(starts(&end.hear(&sack(1, &[(at(1), at(2))]))), [at(10)]);
}

/// Sends that repeat the first segment, which never arrives though everything else does: how many segments behind it
/// had been reported at each, and how many had been sent in all.
fn repairs_of_the_first(
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
fn linux_2_6_repeats_a_repair_once_something_sent_after_it_has_arrived() {
    let repairs = repairs_of_the_first(LostRetransmissions::ByReach, LossDetection::Fack, false);
    assert!(repairs.len() > 3, "{repairs:?}");
    for pair in repairs.windows(2) {
        let ((_, sent_before), (reported, _)) = (pair[0], pair[1]);
        assert_eq!(reported, sent_before, "the first one behind what had been sent: {repairs:?}");
    }
    assert_eq!(
        repairs_of_the_first(LostRetransmissions::TimedOut, LossDetection::Fack, false).len(),
        1
    );
}

#[test]
fn where_reordering_was_seen_a_repair_is_repeated_only_for_what_lies_as_far_behind_as_proves_a_loss()
 {
    let repairs = repairs_of_the_first(LostRetransmissions::ByReach, LossDetection::Fack, true);
    assert!(repairs.len() > 2, "{repairs:?}");
    for pair in repairs.windows(2) {
        let ((_, sent_before), (reported, _)) = (pair[0], pair[1]);
        assert_eq!(reported, sent_before + 2, "three behind it: {repairs:?}");
    }
    assert_eq!(
        repairs_of_the_first(LostRetransmissions::TimedOut, LossDetection::Fack, true).len(),
        1
    );
}

/// Without forward acknowledgment a report has to lie as far behind from the beginning.
#[test]
fn without_forward_acknowledgment_a_repair_is_repeated_as_where_reordering_was_seen() {
    let repairs = repairs_of_the_first(LostRetransmissions::ByReach, LossDetection::Rfc6675, false);
    assert!(repairs.len() > 2, "{repairs:?}");
    for pair in repairs.windows(2) {
        let ((_, sent_before), (reported, _)) = (pair[0], pair[1]);
        assert_eq!(reported, sent_before + 2, "three behind it: {repairs:?}");
    }
}
