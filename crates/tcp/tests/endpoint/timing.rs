//! Round trips and time-outs of whole connections.

use crate::pair::{End, Fate, Pair};
use fairwind_tcp::{AckDelay, Config, LossRecovery, Profile, TailLossProbe};
use fairwind_units::{Instant, Span};

/// RFC 6298 by hand over a connection: SYN 100 ms, then data 100 ms each.
/// SRTT stays 100 ms; RTTVAR 50 -> 37.5 -> 28.125; RTO = 100 + 4 RTTVAR.
#[test]
fn the_time_out_follows_rfc_6298_over_a_connection() {
    let config = Config {
        minimum_rto: Span::from_millis(1),
        ack_delay: AckDelay::None,
        ..Profile::Rfc.config()
    };
    let mut pair = Pair::established(config.clone(), config);
    let mut timeouts = vec![pair.client.retransmission_timeout()];
    for at in 1..=2 {
        pair.write(End::Client, 100);
        pair.run_until(Instant::from_secs(1 + at));
        timeouts.push(pair.client.retransmission_timeout());
    }
    let expected = [300_000, 250_000, 212_500].map(Span::from_micros);
    assert_eq!(timeouts, expected);
}

/// Karn's rule: without timestamps, the acknowledgment of a retransmission gives no sample, and
/// the backed-off time-out stays in force until one does.
#[test]
fn a_retransmitted_segment_gives_no_sample_without_timestamps() {
    let plain = Profile::Linux6_18.config();
    let loss = LossRecovery { tail_loss_probe: TailLossProbe::Off, ..plain.loss };
    let config = Config { timestamps: false, loss, ..plain };
    let mut pair = Pair::established(config.clone(), config);
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Client, 0) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.write(End::Client, 100);
    pair.run_until(Instant::from_secs(3));
    assert_eq!(pair.client.smoothed_rtt(), Some(Span::from_millis(100)));
    assert_eq!(pair.client.retransmission_timeout(), Span::from_millis(600));
    pair.write(End::Client, 100);
    pair.run_until(Instant::from_secs(4));
    assert!(pair.client.retransmission_timeout() <= Span::from_millis(350));
}

#[test]
fn timestamps_sample_retransmissions_too() {
    let config = Profile::Linux6_18.config();
    let mut pair = Pair::established(config.clone(), config);
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Client, 0) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.write(End::Client, 100);
    pair.run_until(Instant::from_secs(3));
    assert!(pair.client.retransmission_timeout() < Span::from_millis(400));
}
