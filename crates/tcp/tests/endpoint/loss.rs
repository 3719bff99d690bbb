//! Losses and recovery.

use crate::pair::{End, Fate, Pair};
use fairwind_tcp::{
    Config, CongestionAlgorithm, Event, Profile, RecoveryState, State, TailLossProbe,
};
use fairwind_units::Instant;

fn reno(sack: bool) -> Config {
    Config { sack, congestion: CongestionAlgorithm::Reno, ..Profile::Linux6_18.config() }
}

fn without_probe(mut config: Config) -> Config {
    config.loss.tail_loss_probe = TailLossProbe::Off;
    config
}

/// Sends `segments` full segments; those numbered in `lost` are lost once.
fn transfer(config: Config, segments: usize, lost: &'static [usize]) -> Pair {
    let mut pair = Pair::established(config.clone(), config);
    pair.judged_by(move |from, number, _| match from {
        End::Client if lost.contains(&number) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.write(End::Client, segments * 1448);
    pair.run_until(Instant::from_secs(30));
    assert_eq!(pair.read_bytes(End::Server), segments * 1448);
    pair
}

fn retransmitted_offsets(pair: &Pair) -> Vec<u64> {
    let mut highest = 0;
    let mut again = Vec::new();
    for line in pair.data_from(End::Client) {
        if line.offset < highest {
            again.push(line.offset / 1448);
        }
        highest = highest.max(line.offset + u64::from(line.segment.payload_bytes));
    }
    again
}

#[test]
fn three_duplicates_recover_one_loss() {
    for sack in [true, false] {
        let pair = transfer(reno(sack), 10, &[2]);
        assert_eq!(pair.count(Event::FastRetransmit), 1, "sack {sack}");
        assert_eq!(pair.count(Event::RetransmissionTimeout), 0, "sack {sack}");
        assert_eq!(retransmitted_offsets(&pair), [2], "sack {sack}");
        assert_eq!(
            pair.client.slow_start_threshold(),
            Some(6),
            "half of twelve: two of the ten were acknowledged before, sack {sack}"
        );
    }
}

#[test]
fn sack_recovers_many_losses_without_timeout() {
    let pair = transfer(reno(true), 60, &[12, 14, 16, 18, 20, 22]);
    assert_eq!(pair.count(Event::FastRetransmit), 1);
    assert_eq!(pair.count(Event::RetransmissionTimeout), 0);
    assert_eq!(retransmitted_offsets(&pair), [12, 14, 16, 18, 20, 22]);
}

/// One hole per round trip (RFC 6582), so six losses take six round trips.
#[test]
fn newreno_repairs_one_loss_per_round_trip() {
    let pair = transfer(reno(false), 60, &[12, 14, 16]);
    assert_eq!(pair.count(Event::FastRetransmit), 1);
    assert_eq!(pair.count(Event::RetransmissionTimeout), 0);
    let again = retransmitted_offsets(&pair);
    assert_eq!(again, [12, 14, 16]);
    let instants: Vec<u64> = pair
        .data_from(End::Client)
        .iter()
        .filter(|line| again.contains(&(line.offset / 1448)))
        .map(|line| line.at.as_nanos() / 1_000_000)
        .collect();
    let repairs = &instants[3..];
    assert!(repairs.windows(2).all(|pair| pair[1] - pair[0] == 100), "{repairs:?}");
}

#[test]
fn lost_tail_waits_for_rto() {
    let pair = transfer(without_probe(reno(true)), 10, &[8, 9]);
    assert_eq!(pair.count(Event::RetransmissionTimeout), 1);
    assert_eq!(retransmitted_offsets(&pair), [8, 9]);
    assert_eq!(pair.client.recovery_state(), RecoveryState::Open);
}

#[test]
fn lost_retransmission_waits_for_rto() {
    // The eleventh sent segment is the retransmission of the third.
    let pair = transfer(reno(true), 10, &[2, 10]);
    assert_eq!(pair.count(Event::FastRetransmit), 1);
    assert_eq!(pair.count(Event::RetransmissionTimeout), 1);
    assert_eq!(retransmitted_offsets(&pair), [2, 2]);
}

#[test]
fn limited_transmit_sends_on_two_duplicates() {
    for (limited_transmit, expected) in [(true, 2), (false, 0)] {
        let config = Config { limited_transmit, initial_window: 3, ..reno(true) };
        let mut pair = Pair::established(config.clone(), config);
        pair.judged_by(|from, number, _| match (from, number) {
            (End::Client, 0) => Fate::Drop,
            _ => Fate::Deliver,
        });
        pair.write(End::Client, 100 * 1448);
        pair.run_until(Instant::from_millis(1100));
        let sent = pair.data_from(End::Client).len();
        assert_eq!(sent - 3, expected, "limited transmit {limited_transmit}");
    }
}

#[test]
fn timeout_restarts_with_one_segment() {
    let config = without_probe(reno(true));
    let mut pair = Pair::established(config.clone(), config);
    pair.judged_by(|from, number, _| match from {
        End::Client if number < 10 => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.write(End::Client, 10 * 1448);
    pair.run_until(Instant::from_millis(1299));
    assert_eq!(pair.data_from(End::Client).len(), 10);
    pair.run_until(Instant::from_millis(1300));
    assert_eq!(pair.client.congestion_window(), 1);
    assert_eq!(pair.client.slow_start_threshold(), Some(5));
    assert_eq!(pair.data_from(End::Client).len(), 11, "the oldest segment alone");
    pair.run_until(Instant::from_secs(10));
    assert_eq!(pair.read_bytes(End::Server), 10 * 1448);
}

/// The acknowledgment of the retransmission covers exactly the data outstanding at the detection:
/// later data is not lost (RFC 6582 §3.2 step 5, full acknowledgment).
#[test]
fn newreno_resends_only_the_hole() {
    let pair = transfer(reno(false), 60, &[12]);
    assert_eq!(pair.count(Event::FastRetransmit), 1);
    assert_eq!(pair.count(Event::RetransmissionTimeout), 0);
    assert_eq!(retransmitted_offsets(&pair), [12]);
}

/// The last of four segments has FIN; three selective acknowledgments, including that of FIN, prove
/// the loss of the first.
#[test]
fn out_of_order_fin_segment_proves_loss() {
    let config = reno(true);
    let mut pair = Pair::established(config.clone(), config);
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Client, 0) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.client.write(4 * 1448);
    pair.client.close();
    pair.run_until(Instant::from_secs(10));
    assert_eq!(pair.count(Event::FastRetransmit), 1);
    assert_eq!(pair.count(Event::RetransmissionTimeout), 0);
    assert_eq!(pair.server.state(), State::CloseWait);
}

/// An out-of-order FIN without data is acknowledged immediately (RFC 5681 §4.2).
#[test]
fn out_of_order_fin_is_acknowledged_immediately() {
    let config = Config { initial_window: 4, ..reno(true) };
    let mut pair = Pair::established(config.clone(), config);
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Client, 0) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.write(End::Client, 1448);
    pair.close(End::Client);
    pair.run_until(Instant::from_millis(1050));
    let report = pair.dialogue.iter().find(|line| line.from == End::Server).unwrap().segment;
    let block = report.options.sack.as_slice()[0];
    assert_eq!((block.left.get(), block.right.get()), (1001 + 1448, 1001 + 1449));
}

/// The peer's window is full, so no new data can bring more evidence for the second hole: it is
/// retransmitted without evidence (RFC 6675 §4 `NextSeg`, rules 2 and 3), in the same round trip.
#[test]
fn full_window_allows_speculative_retransmission() {
    let client = reno(true);
    let server = Config { receive_buffer: 10 * 1448, ..client.clone() };
    let mut pair = Pair::established(client, server);
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Client, 0 | 8) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.write(End::Client, 50 * 1448);
    pair.run_until(Instant::from_millis(1_149));
    assert_eq!(retransmitted_offsets(&pair), [0, 8]);
}
