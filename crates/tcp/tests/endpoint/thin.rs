//! Thin streams: modified fast retransmit and linear time-outs.

use crate::pair::{End, Fate, Pair};
use fairwind_tcp::{
    AckDelay, Config, EarlyRetransmit, Event, LossRecovery, Nagle, Profile, TailLossProbe,
    ThinRecovery, ThinStreams,
};
use fairwind_units::{Instant, Span};

/// RTT 100 ms, no delayed ACKs: the round trip is exact, the time-out 300 ms. A small threshold ends
/// the initial slow start, like a first loss. Other mechanisms for thin streams are off: probes and
/// early retransmit.
pub(crate) fn thin_config(modified_fast_retransmit: bool, linear_timeouts: bool) -> Config {
    Config {
        modified_fast_retransmit,
        linear_timeouts,
        nagle: Nagle::Off,
        ack_delay: AckDelay::None,
        collapse_retransmissions: false,
        initial_ssthresh: Some(8),
        loss: LossRecovery {
            tail_loss_probe: TailLossProbe::Off,
            early_retransmit: EarlyRetransmit::Off,
            ..Profile::Linux3_16.config().loss
        },
        ..Profile::Linux3_16.config()
    }
}

/// Writes 120 B every `interval` milliseconds; the segment written at 10 s is lost `times` times.
/// Returns its delay until the read, in milliseconds.
fn delivery_of_lost_segment(config: Config, interval: u64, lost_offset: u64, times: usize) -> u64 {
    let mut pair = Pair::established(config.clone(), config);
    let mut left = times;
    let isn_offset = 1001 + u32::try_from(lost_offset).unwrap();
    pair.judged_by(move |from, _, segment| {
        let hit = from == End::Client
            && segment.payload_bytes > 0
            && segment.sequence.get() == isn_offset
            && left > 0;
        left -= usize::from(hit);
        if hit { Fate::Drop } else { Fate::Deliver }
    });
    let mut written = 0;
    let mut lost_at = None;
    let mut read_at = None;
    for tick in 0..60_000 {
        let now = Instant::from_millis(1000 + tick);
        pair.run_until(now);
        if pair.read_bytes(End::Server) as u64 > lost_offset && read_at.is_none() {
            read_at = Some(now);
        }
        if tick % interval == 0 {
            if written == lost_offset {
                lost_at = Some(now);
            }
            pair.write(End::Client, 120);
            written += 120;
        }
        if let (Some(lost), Some(read)) = (lost_at, read_at) {
            return (read - lost).as_millis();
        }
    }
    panic!("the lost segment was never delivered");
}

/// facts of a single loss: standard min(3 x 150 + 100, 300) + 50 = 350 ms.
#[test]
fn standard_thin_stream_waits_for_rto() {
    assert_eq!(delivery_of_lost_segment(thin_config(false, false), 150, 60 * 120, 1), 350);
}

/// With the first duplicate ACK: 150 + 100 + 50 = 300 ms.
#[test]
fn modified_fast_retransmit_needs_one_duplicate() {
    assert_eq!(delivery_of_lost_segment(thin_config(true, false), 150, 60 * 120, 1), 300);
}

/// At 60 ms between segments three duplicates come before the time-out: 3 x 60 + 100 + 50 = 330 ms,
/// one: 60 + 100 + 50 = 210 ms.
#[test]
fn the_gain_grows_with_the_interval() {
    assert_eq!(delivery_of_lost_segment(thin_config(false, false), 60, 60 * 120, 1), 330);
    assert_eq!(delivery_of_lost_segment(thin_config(true, false), 60, 60 * 120, 1), 210);
}

#[test]
fn modified_fast_retransmit_excludes_initial_slow_start() {
    let config = Config { initial_ssthresh: None, ..thin_config(true, false) };
    assert_eq!(delivery_of_lost_segment(config, 150, 60 * 120, 1), 350);
}

#[test]
fn modified_fast_retransmit_needs_sack() {
    let config = Config { sack: false, ..thin_config(true, false) };
    assert_eq!(delivery_of_lost_segment(config, 150, 60 * 120, 1), 350);
}

/// Times from the first transmission of one segment that never gets through to its retransmissions; the first
/// time-out is 300 ms.
pub(crate) fn retransmission_times(config: Config, count: usize) -> Vec<Span> {
    let mut pair = Pair::established(config.clone(), config);
    // Settle the round-trip estimate: the variation rests at its floor, the time-out at 300 ms.
    for at in 0..100 {
        pair.run_until(Instant::from_millis(2000 + 200 * at));
        pair.write(End::Client, 120);
    }
    pair.run_until(Instant::from_secs(30));
    assert_eq!(pair.client.retransmission_timeout(), Span::from_millis(300));
    pair.judged_by(|_, _, _| Fate::Drop);
    pair.dialogue.clear();
    pair.write(End::Client, 120);
    pair.run_until(Instant::from_secs(200));
    let sent = pair.data_from(End::Client);
    let first = sent[0].at;
    sent[1..=count].iter().map(|line| line.at - first).collect()
}

/// The same in units of the time-out.
fn retransmission_instants(config: Config, count: usize) -> Vec<u64> {
    let times = retransmission_times(config, count);
    times.iter().map(|time| time.as_nanos() / 300_000_000).collect()
}

#[test]
fn standard_back_off_doubles_every_time() {
    let instants = retransmission_instants(thin_config(false, false), 7);
    assert_eq!(instants, [1, 3, 7, 15, 31, 63, 127]);
}

#[test]
fn linear_time_outs_double_after_the_sixth() {
    let instants = retransmission_instants(thin_config(false, true), 10);
    assert_eq!(instants, [1, 2, 3, 4, 5, 6, 7, 9, 13, 21]);
}

/// After N linear time-outs, which repeat the first wait, each wait is twice the one before.
#[test]
fn linear_retries_bound_linear_timeouts() {
    for linear_retries in [0, 1, 2, 3, 6, 9] {
        let plain = thin_config(false, true);
        let thin = ThinRecovery { linear_retries, ..plain.thin };
        let waits = (0..8_u32).map(|wait| 1 << wait.saturating_sub(linear_retries));
        let mut sum = 0;
        let expected: Vec<u64> = waits
            .map(|wait: u64| {
                sum += wait;
                sum
            })
            .collect();
        let found = retransmission_instants(Config { thin, ..plain }, 8);
        assert_eq!(found, expected, "{linear_retries}");
    }
}

/// Writes `segments` small ones that all get lost, and all after them. Returns whether the second time-out came
/// as soon as the first.
fn second_timeout_is_linear(streams: ThinStreams, segments: usize, bytes: usize) -> bool {
    let plain = thin_config(false, true);
    let thin = ThinRecovery { streams, ..plain.thin };
    let config = Config { thin, initial_window: 10, ..plain };
    let mut pair = Pair::established(config.clone(), config);
    for at in 0..100 {
        pair.run_until(Instant::from_millis(2000 + 200 * at));
        pair.write(End::Client, 120);
    }
    pair.run_until(Instant::from_secs(30));
    pair.judged_by(|_, _, _| Fate::Drop);
    let begun = pair.now;
    for _ in 0..segments {
        pair.write(End::Client, bytes);
    }
    pair.run_until(Instant::from_secs(40));
    let timeout = |event: &&(Instant, End, Event)| event.2 == Event::RetransmissionTimeout;
    let mut timeouts = pair.events.iter().filter(timeout).map(|event| event.0 - begun);
    let (first, second) = (timeouts.next().unwrap(), timeouts.next().unwrap());
    assert_eq!(first, Span::from_millis(300));
    assert!(second == first * 2 || second == first * 3, "{second}");
    second == first * 2
}

#[test]
fn streams_below_the_bound_are_thin() {
    for below in 1..8 {
        let streams = ThinStreams::FewOutstanding { below };
        assert_eq!(second_timeout_is_linear(streams, 5, 120), 5 < below, "{below}");
    }
}

/// The window of ten segments does not hold back five, but holds back the rest of forty.
#[test]
fn application_limited_streams_are_thin() {
    let streams = ThinStreams::ApplicationLimited;
    assert!(second_timeout_is_linear(streams, 5, 120));
    assert!(!second_timeout_is_linear(streams, 40, 1448));
}

#[test]
fn all_streams_may_count_as_thin() {
    assert!(second_timeout_is_linear(ThinStreams::All, 40, 1448));
    assert!(!second_timeout_is_linear(ThinStreams::FewOutstanding { below: 4 }, 40, 1448));
}

/// At 60 ms between segments: n duplicates come n x 60 ms later, then 100 + 50 ms. By then up to five segments
/// are outstanding.
#[test]
fn thin_duplicate_threshold_counts_duplicates() {
    for (duplicate_threshold, delay) in [(1, 210), (2, 270), (3, 330)] {
        let plain = thin_config(true, false);
        let streams = ThinStreams::FewOutstanding { below: 6 };
        let thin = ThinRecovery { duplicate_threshold, streams, ..plain.thin };
        let config = Config { thin, ..plain };
        assert_eq!(delivery_of_lost_segment(config, 60, 60 * 120, 1), delay);
    }
}

#[test]
fn linear_timeouts_need_thin_streams() {
    let config = thin_config(false, true);
    let mut pair = Pair::established(config.clone(), config);
    pair.write(End::Client, 200_000);
    pair.run_until(Instant::from_secs(5));
    pair.judged_by(|_, _, _| Fate::Drop);
    pair.dialogue.clear();
    let before = pair.now;
    pair.write(End::Client, 20 * 1448);
    pair.run_until(Instant::from_secs(10));
    let instants: Vec<u64> = pair
        .dialogue
        .iter()
        .filter(|line| line.from == End::Client && line.at > before)
        .map(|line| (line.at - before).as_millis())
        .collect();
    assert!(instants.len() >= 3, "{instants:?}");
    let gaps: Vec<u64> = instants.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.windows(2).all(|pair| pair[1] >= 2 * pair[0] - 1), "{instants:?}");
}

/// Data that gathers while a time-out runs leaves in larger segments.
#[test]
fn data_written_during_rto_is_repacketised() {
    let config = thin_config(false, false);
    let mut pair = Pair::established(config.clone(), config);
    pair.judged_by(|from, number, _| match from {
        End::Client if number < 10 => Fate::Drop,
        _ => Fate::Deliver,
    });
    for at in 0..40 {
        pair.run_until(Instant::from_millis(1000 + 20 * at));
        pair.write(End::Client, 120);
    }
    pair.run_until(Instant::from_secs(20));
    assert_eq!(pair.read_bytes(End::Server), 40 * 120);
    let largest = pair.data_from(End::Client).iter().map(|l| l.segment.payload_bytes).max();
    assert!(largest > Some(120), "{largest:?}");
    assert!(pair.count(Event::RetransmissionTimeout) >= 1);
}
