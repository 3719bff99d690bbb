//! Constants of loss recovery: back-off, probes, early retransmit, reordering window.

use crate::pair::{End, Fate, Pair};
use crate::thin::{retransmission_times, thin_config};
use fairwind_tcp::{
    AckDelay, Config, EarlyRetransmit, Event, Factor, LossRecovery, Nagle, Profile,
    RecoveryConstants, TailLossProbe, ThinRecovery, ThinStreams,
};
use fairwind_units::{Instant, Ratio, Span};

const RFC: RecoveryConstants = RecoveryConstants::RFC;

/// So many hundredths.
fn factor(percent: u64) -> Factor {
    Factor::from_ratio(Ratio::from_parts_per_billion(percent * 10_000_000))
}

fn with_constants(config: &Config, constants: RecoveryConstants) -> Config {
    Config { loss: LossRecovery { constants, ..config.loss }, ..config.clone() }
}

/// The first `count` sums of a wait of 300 ms times the powers of `percent` hundredths.
fn geometric_sums(percent: u64, count: usize) -> Vec<Span> {
    let mut wait = Span::from_millis(300);
    let mut sum = Span::ZERO;
    let mut sums = Vec::new();
    for _ in 0..count {
        sum += wait;
        sums.push(sum);
        wait = wait * percent / 100;
    }
    sums
}

#[test]
fn timeouts_grow_by_the_backoff_factor() {
    for percent in [100, 125, 150, 200, 300] {
        let constants = RecoveryConstants { backoff_factor: factor(percent), ..RFC };
        let config = with_constants(&thin_config(false, false), constants);
        let found = retransmission_times(config, 5);
        assert_eq!(found, geometric_sums(percent, 5), "{percent} %");
    }
}

#[test]
fn backoff_follows_linear_timeouts() {
    let constants = RecoveryConstants { backoff_factor: factor(150), ..RFC };
    let plain = thin_config(false, true);
    let thin = ThinRecovery { linear_retries: 2, ..plain.thin };
    let found = retransmission_times(with_constants(&Config { thin, ..plain }, constants), 5);
    // Waits of 300, 300, 300, 450 and 675 ms.
    assert_eq!(found, [300, 600, 900, 1350, 2025].map(Span::from_millis));
}

#[test]
fn backoff_stays_within_maximum_rto() {
    let constants = RecoveryConstants { backoff_factor: factor(150), ..RFC };
    let plain = Config { maximum_rto: Span::from_millis(500), ..thin_config(false, false) };
    let found = retransmission_times(with_constants(&plain, constants), 4);
    assert_eq!(found, [300, 750, 1250, 1750].map(Span::from_millis));
}

/// Constants for thin streams hold for them only: a stream of one segment is thin, one of forty is not.
#[test]
fn thin_constants_hold_for_thin_streams() {
    let constants = Some(RecoveryConstants { backoff_factor: factor(100), ..RFC });
    let plain = thin_config(false, false);
    let thin = ThinRecovery { constants, ..plain.thin };
    let config = Config { thin, ..plain };
    assert_eq!(retransmission_times(config.clone(), 4), geometric_sums(100, 4));
    let none = ThinStreams::FewOutstanding { below: 1 };
    let config = Config { thin: ThinRecovery { streams: none, ..thin }, ..config };
    assert_eq!(retransmission_times(config, 4), geometric_sums(200, 4));
}

/// A pair of the profile with a settled round trip of 100 ms, and a time-out of 300 ms.
fn settled(config: Config) -> Pair {
    let receiver = Config { ack_delay: AckDelay::None, ..config.clone() };
    let mut pair = Pair::established(config, receiver);
    for at in 0..100 {
        pair.run_until(Instant::from_millis(2000 + 200 * at));
        pair.write(End::Client, 120);
    }
    pair.run_until(Instant::from_secs(30));
    assert_eq!(pair.client.smoothed_rtt(), Some(Span::from_millis(100)));
    assert_eq!(pair.client.retransmission_timeout(), Span::from_millis(300));
    pair.dialogue.clear();
    pair.events.clear();
    pair
}

fn current() -> Config {
    Config { nagle: Nagle::Off, ..Profile::Linux6_18.config() }
}

/// When a probe follows `segments` lost ones that were written at once.
fn probe_wait(config: Config, segments: usize) -> Option<Span> {
    let mut pair = settled(config);
    pair.judged_by(|_, _, _| Fate::Drop);
    let begun = pair.now;
    for _ in 0..segments {
        pair.write(End::Client, 120);
    }
    pair.run_until(begun + Span::from_secs(1));
    let mut events = pair.events.iter();
    events.find(|event| event.2 == Event::TailLossProbe).map(|event| event.0 - begun)
}

/// Several segments: the factor times 100 ms, and 2 ms. One segment: the factor times 100 ms, and the
/// allowance, which is the minimum time-out by default; the time-out of 300 ms bounds it.
#[test]
fn probe_waits_factor_and_allowance() {
    let at = |percent, allowance: Option<u64>, segments| {
        let probe_ack_delay = allowance.map(Span::from_millis);
        let constants = RecoveryConstants { probe_factor: factor(percent), probe_ack_delay, ..RFC };
        probe_wait(with_constants(&current(), constants), segments)
    };
    let millis = |millis| Some(Span::from_millis(millis));
    assert_eq!(at(200, None, 2), millis(202));
    assert_eq!(at(125, None, 2), millis(127));
    assert_eq!(at(150, Some(10), 3), millis(152));
    assert_eq!(at(200, None, 1), millis(300));
    assert_eq!(at(200, Some(25), 1), millis(225));
    assert_eq!(at(110, Some(0), 1), millis(110));
}

/// Linux 3.10: twice the round trip; for one segment at least one and a half and the allowance.
#[test]
fn old_probe_has_the_same_constants() {
    let at = |percent, allowance, segments| {
        let probe_ack_delay = Some(Span::from_millis(allowance));
        let constants = RecoveryConstants { probe_factor: factor(percent), probe_ack_delay, ..RFC };
        let mut config = with_constants(&thin_config(false, false), constants);
        config.loss.tail_loss_probe = TailLossProbe::Linux3_10;
        probe_wait(config, segments)
    };
    let millis = |millis| Some(Span::from_millis(millis));
    assert_eq!(at(200, 200, 2), millis(200));
    assert_eq!(at(125, 200, 2), millis(125));
    assert_eq!(at(125, 20, 1), millis(170));
    assert_eq!(at(200, 20, 1), millis(200));
}

/// When the first of two segments is retransmitted, which gets lost; the second is written `later`
/// milliseconds after it.
fn retransmission_of_first(config: Config, later: u64) -> Span {
    let mut pair = settled(config);
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Client, 0) => Fate::Drop,
        _ => Fate::Deliver,
    });
    let begun = pair.now;
    pair.write(End::Client, 120);
    pair.run_until(begun + Span::from_millis(later));
    pair.write(End::Client, 120);
    pair.run_until(begun + Span::from_secs(1));
    let sent = pair.data_from(End::Client);
    let again = sent[1..].iter().find(|line| line.offset == sent[0].offset);
    again.expect("the lost segment is retransmitted").at - begun
}

/// The acknowledgment of the second segment comes after 110 ms. Then the first is lost if a round trip and the
/// reordering window have passed; else a timer waits for the rest and 2 ms.
#[test]
fn rack_waits_the_reordering_window() {
    for (percent, expected) in [(0, 110), (10, 110), (25, 127), (50, 152), (100, 202)] {
        let constants = RecoveryConstants { reordering_window: factor(percent), ..RFC };
        let found = retransmission_of_first(with_constants(&current(), constants), 10);
        assert_eq!(found, Span::from_millis(expected), "{percent} %");
    }
}

/// The acknowledgment of the second segment comes after 110 ms; then the delay passes, at least 2 ms.
#[test]
fn early_retransmit_waits_part_of_round_trip() {
    for (percent, expected) in [(0, 112), (1, 112), (10, 120), (25, 135), (100, 210)] {
        let plain = thin_config(false, false);
        let early_retransmit_delay = factor(percent);
        let early_retransmit = EarlyRetransmit::Delayed;
        let loss = LossRecovery { early_retransmit, early_retransmit_delay, ..plain.loss };
        let found = retransmission_of_first(Config { loss, ..plain }, 10);
        assert_eq!(found, Span::from_millis(expected), "{percent} %");
    }
}
