//! Round trips and time-outs of connections.

use crate::pair::{End, Fate, Pair};
use fairwind_tcp::{
    AckDelay, Config, Connection, LossRecovery, Ports, Profile, TailLossProbe, TimerRule,
};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;
use std::sync::Arc;

/// RFC 6298 by hand over a connection: SYN 100 ms, then data 100 ms each.
/// SRTT stays 100 ms; RTTVAR 50 -> 37.5 -> 28.125; RTO = 100 + 4 RTTVAR.
#[test]
fn rto_follows_rfc_6298() {
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

/// Karn's rule: without timestamps the acknowledgment of a retransmission gives no sample, and the
/// backed-off time-out stays until the next sample.
#[test]
fn retransmission_gives_no_sample_without_timestamps() {
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

/// Times at which an unanswered SYN sent at `start` is retransmitted, in whole milliseconds.
fn syn_retransmissions(timers: TimerRule, start: Instant) -> Vec<u64> {
    let config = Arc::new(Config { timers, ..Profile::Linux6_18.config() });
    let ports = Ports { local: 50_000, remote: 60_000 };
    let first = SequenceNumber::new(u32::try_from(start.as_nanos() / 1000).unwrap());
    let mut connection = Connection::connect(config, ports, first);
    assert!(connection.poll_segment(start).is_some());
    let mut repeated = Vec::new();
    while repeated.len() < 7 {
        let now = connection.next_deadline();
        connection.on_deadline(now);
        if connection.poll_segment(now).is_some() {
            repeated.push(now.as_nanos() / 1_000_000);
        }
    }
    repeated
}

/// Ticks of 4 ms: waits of 1 and 2 s end with whole 32 ms, one of 4 s with whole 256 ms.
#[test]
fn timeouts_expire_on_common_ticks() {
    let exact = syn_retransmissions(TimerRule::Exact, Instant::from_millis(5));
    assert_eq!(exact, [1005, 2005, 3005, 4005, 5005, 7005, 11005]);
    let wheel = Profile::Linux6_18.timers();
    let one = syn_retransmissions(wheel, Instant::from_millis(5));
    assert_eq!(one, [1024, 2048, 3072, 4096, 5120, 7136, 11264]);
    for start in [1, 12, 19] {
        assert_eq!(syn_retransmissions(wheel, Instant::from_millis(start)), one, "from {start} ms");
    }
    assert_eq!(Profile::Linux3_16.timers(), TimerRule::Exact);
}
