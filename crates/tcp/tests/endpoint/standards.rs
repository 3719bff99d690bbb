//! Growth, reduction and repair as the standards have them, by hand (RFC 5681, RFC 6582, RFC 6675,
//! RFC 6298, RFC 3168), in the profile of the standards.

use crate::peer::{Endpoint, FULL, OFFER, ack, data, ranges, sack, segment, starts};
use fairwind_tcp::{Config, EarlyRetransmit, Event, Profile, RecoveryState};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Ecn, Flags, Options, Segment, TrafficClass};

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

// RFC 5681 §3.1

#[test]
fn the_initial_window_depends_on_the_segment_size() {
    // At most 4380 bytes or two segments, and at most three.
    for (mss, segments) in [(500, 3), (1460, 3), (1461, 2), (2190, 2), (8000, 2)] {
        let config = Config { mss: 9000, timestamps: false, ..Profile::Rfc.config() };
        let mut end = Endpoint::accepted_with(config, Options { mss: Some(mss), ..OFFER });
        assert_eq!(end.write(50_000).len(), segments, "MSS {mss}");
    }
}

#[test]
fn one_lost_syn_makes_the_initial_window_one_segment() {
    let mut end = Endpoint::answering(rfc(), OFFER);
    assert_eq!(end.wait_millis(1500).len(), 1, "the SYN-ACK again");
    end.hear(&ack(1));
    assert_eq!(end.write(50_000).len(), 1);
    let (mut end, _) = Endpoint::connecting(rfc());
    assert_eq!(end.wait_millis(1500).len(), 1, "the SYN again");
    end.hear(&Segment { options: OFFER, ..segment(Flags::SYN | Flags::ACK, 0, 1) });
    assert_eq!(end.write(50_000).len(), 1);
}

#[test]
fn the_initial_threshold_is_arbitrarily_high() {
    assert_eq!(open().it.slow_start_threshold(), None);
}

#[test]
fn slow_start_adds_a_segment_for_each_acknowledgment_of_new_data() {
    let mut end = open();
    end.write(100_000);
    end.hear(&ack(at(1)));
    assert_eq!(window(&end), 11);
    end.hear(&ack(at(4)));
    assert_eq!(window(&end), 12, "however much it covers");
    end.hear(&ack(at(4)));
    assert_eq!(window(&end), 12, "a duplicate acknowledges nothing new");
}

#[test]
fn congestion_avoidance_adds_a_segment_per_round_trip() {
    let mut end = Endpoint::accepted(Config { initial_ssthresh: Some(10), ..rfc() });
    end.write(200_000);
    let mut acknowledged = 0;
    for round in 0..5 {
        assert_eq!(window(&end), 10 + round);
        for _ in 0..10 + round {
            assert_eq!(window(&end), 10 + round);
            acknowledged += 1;
            end.hear(&ack(at(acknowledged)));
        }
    }
    assert_eq!(window(&end), 15);
}

#[test]
fn a_time_out_leaves_half_the_flight_as_threshold_and_a_window_of_one() {
    let mut end = open();
    // Six of the window's ten segments are outstanding: it is their half that counts.
    end.write(6000);
    let sent = end.wait_millis(1100);
    assert_eq!((sent.len(), sent[0].1.sequence.get()), (1, 1));
    assert_eq!((threshold(&end), window(&end)), (3, 1));
    // The repetition is lost as well: the threshold stays.
    assert_eq!(end.wait_millis(2100).len(), 1);
    assert_eq!((threshold(&end), window(&end)), (3, 1));
    // At least two segments.
    let mut end = open();
    end.write(1000);
    end.wait_millis(1100);
    assert_eq!(threshold(&end), 2);
}

#[test]
fn after_a_time_out_slow_start_leads_up_to_the_threshold() {
    let mut end = open();
    end.write(60_000);
    end.wait_millis(1100);
    assert_eq!((threshold(&end), window(&end)), (5, 1));
    let mut windows = vec![];
    for next in 1..=7 {
        end.hear(&ack(at(next)));
        windows.push(window(&end));
    }
    assert_eq!(windows, [2, 3, 4, 5, 5, 5, 5]);
}

#[test]
fn an_idle_time_of_a_time_out_leads_back_to_the_initial_window() {
    let mut end = open();
    end.write(10_000);
    for next in 1..=10 {
        end.hear(&ack(at(next)));
    }
    assert_eq!(window(&end), 20);
    end.wait(end.it.retransmission_timeout() + Span::from_millis(1));
    assert_eq!(end.write(50_000).len(), 10);
    let (quick, timeout) = (Span::from_millis(500), end.it.retransmission_timeout());
    assert!(quick < timeout);
}

// RFC 5681 §3.2, RFC 3042, RFC 6582: without SACK

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

// RFC 6675

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
    assert!(end.hear(&sack(1, &[(at(1), at(8))])).is_empty(), "once");
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

// RFC 6298

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

// RFC 3168

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
fn an_echo_of_congestion_halves_the_window_once_per_window_of_data() {
    let mut end = with_ecn();
    end.write(60_000);
    let sent = end.hear(&echoing(at(1)));
    // Nine are outstanding after it.
    assert_eq!((threshold(&end), end.it.recovery_state()), (4, RecoveryState::WindowReduced));
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
fn a_mark_is_echoed_until_the_peer_has_reduced() {
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
fn probes_of_a_closed_window_are_not_capable() {
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

// RFC 9293 §3.8.6

#[test]
fn a_closed_window_is_probed_after_a_time_out_at_growing_intervals() {
    let mut end = open();
    end.hear(&data(1, 100));
    end.wait_millis(300);
    end.hear(&Segment { window: 0, ..segment(Flags::ACK, 101, 1) });
    let timeout = end.it.retransmission_timeout();
    let begun = end.now;
    assert!(end.write(1000).iter().all(|s| s.payload_bytes == 0));
    let probes: Vec<Instant> = end.wait(Span::from_secs(100)).iter().map(|(at, _)| *at).collect();
    let gaps: Vec<Span> = probes.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(probes[0] - begun, timeout);
    assert!(gaps.len() >= 4 && gaps.windows(2).all(|two| two[1] >= two[0]), "{gaps:?}");
    assert!(gaps[3] >= timeout * 8, "{gaps:?}");
}

/// The peer takes back what it has offered: what is beyond is not sent, and repeated only once it
/// is inside again.
#[test]
fn a_window_that_is_taken_back_is_borne() {
    let mut end = open();
    end.hear(&data(1, 100));
    end.write(5000);
    end.hear(&Segment { window: 1500, ..segment(Flags::ACK, 101, at(1)) });
    assert!(end.it.write(5000) == 5000 && end.sent().iter().all(|s| s.payload_bytes == 0));
    assert!(end.wait_millis(990).is_empty());
    let repeated = end.wait_millis(110);
    let starts: Vec<u32> = repeated.iter().map(|(_, s)| s.sequence.get()).collect();
    assert_eq!(starts, [at(1)], "the oldest is repeated");
    end.hear(&Segment { window: 60_000, ..segment(Flags::ACK, 101, at(5)) });
    assert_eq!(end.it.state(), fairwind_tcp::State::Established);
    assert!(end.it.flight() > 0);
}

/// Neither a small piece of a window nor a little less than a segment is worth sending, as long as
/// there is hope for more (RFC 9293 §3.8.6.2.1).
#[test]
fn the_sender_does_not_fill_a_small_window() {
    let mut end = open();
    end.hear(&data(1, 100));
    end.hear(&Segment { window: 3300, ..segment(Flags::ACK, 101, 1) });
    let sent = end.write(50_000);
    assert_eq!(
        ranges(&sent),
        [(at(0), FULL), (at(1), FULL), (at(2), FULL)],
        "not the last 300 bytes"
    );
    let later = end.hear(&Segment { window: 600, ..segment(Flags::ACK, 101, at(3)) });
    assert!(later.iter().all(|s| s.payload_bytes == 0), "{later:?}");
    let forced = end.wait_millis(1200);
    assert_eq!(forced[0].1.payload_bytes, 600, "after a while it is");
}

/// Room is announced once it is a segment or half the buffer (RFC 9293 §3.8.6.2.2).
#[test]
fn the_receiver_does_not_announce_little_room() {
    let config = Config { receive_buffer: 10_000, mss: 1000, ..rfc() };
    let mut end = Endpoint::accepted(config);
    for index in 0..10 {
        end.hear(&data(at(index), FULL));
    }
    let window = |segments: &[Segment]| segments.last().map(|s| s.window);
    let mut announced = vec![];
    for _ in 0..5 {
        end.it.read(300);
        announced.extend(window(&end.sent()));
    }
    assert_eq!(announced, [1200], "after 1200 bytes, a full segment");
}

#[test]
fn nagle_holds_a_small_segment_while_anything_is_outstanding_unless_switched_off() {
    let mut end = open();
    assert_eq!(end.write(100).len(), 1);
    assert!(end.write(100).is_empty());
    assert_eq!(ranges(&end.hear(&ack(101))), [(101, 100)]);
    let mut end = Endpoint::accepted(Config { nagle: fairwind_tcp::Nagle::Off, ..rfc() });
    assert_eq!((end.write(100).len(), end.write(100).len()), (1, 1));
}

#[test]
fn the_last_segment_of_what_was_written_is_pushed() {
    let mut end = open();
    let flags: Vec<bool> = end.write(2500).iter().map(|s| s.flags.contains(Flags::PSH)).collect();
    assert_eq!(flags[..2], [false, false]);
    let rest = end.hear(&ack(at(2)));
    assert!(rest.iter().chain(&[]).all(|s| s.flags.contains(Flags::PSH)), "{rest:?}");
}

/// Many acknowledgments of one segment, piece by piece, are worth one (RFC 5681 §3.1, RFC 3465).
#[test]
fn acknowledgments_of_parts_of_a_segment_do_not_open_the_window() {
    let mut end = open();
    end.write(50_000);
    for part in 1..10 {
        end.hear(&ack(1 + 100 * part));
    }
    assert_eq!(window(&end), 10);
    end.hear(&ack(at(1)));
    assert_eq!(window(&end), 11);
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

/// The initial window of ten segments (RFC 6928 §2), where FreeBSD counts bytes too.
#[test]
fn ten_segments_to_begin_with_are_at_most_14600_bytes() {
    for (mss, segments) in [(536, 10), (1460, 10), (2920, 5), (8000, 2)] {
        let config = Config { mss: 9000, timestamps: false, ..Profile::FreeBsd14.config() };
        let mut end = Endpoint::accepted_with(config, Options { mss: Some(mss), ..OFFER });
        assert_eq!(end.write(50_000).len(), segments, "MSS {mss}");
    }
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

/// RFC 9293 §3.8.4: off unless asked for, not before two hours, and no single probe decides.
#[test]
fn keep_alive_is_off_by_default_and_asks_after_two_hours() {
    let mut end = open();
    assert!(end.wait(Span::from_secs(86_400)).is_empty());
    let mut config = rfc();
    config.patience.keep_alive.enabled = true;
    let mut end = Endpoint::accepted(config);
    assert!(end.wait(Span::from_secs(7199)).is_empty());
    let probe = end.wait_millis(2000).pop().unwrap().1;
    assert_eq!((probe.sequence.get(), probe.payload_bytes), (0, 0), "below what was acknowledged");
    assert_eq!(end.wait_millis(75_000).len(), 1, "unanswered: another one");
    assert_eq!(end.it.state(), fairwind_tcp::State::Established);
    end.hear(&ack(1));
    assert!(end.wait(Span::from_secs(7100)).is_empty());
    end.wait(Span::from_secs(2000));
    assert_eq!(end.events().last(), Some(&Event::TimedOut), "nine unanswered ones end it");
}

/// RFC 9293 §3.8.6: what was once offered is not taken back.
#[test]
fn the_right_edge_of_the_window_does_not_move_back() {
    let config = Config { receive_buffer: 20_000, ..rfc() };
    let offer = Options { window_scale: Some(0), ..OFFER };
    let mut end = Endpoint::accepted_with(config, offer);
    let (mut edge, mut next) = (0, 1);
    for step in 0_u32..400 {
        let mut answers = vec![];
        if step % 3 != 0 && next + 700 < edge.max(20_001) {
            answers = end.hear(&data(next, 700));
            next += 700;
        } else {
            end.it.read(step % 7 * 311);
            answers.extend(end.sent());
        }
        answers.extend(end.wait_millis(100).into_iter().map(|(_, segment)| segment));
        for answer in answers {
            let told = answer.acknowledgment.get() + u32::from(answer.window);
            assert!(told >= edge, "{told} after {edge}");
            edge = told;
        }
    }
    assert!(edge > 40_000, "{edge}");
}
