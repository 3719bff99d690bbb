//! Smart framing: small windows cut into four segments.

use crate::pair::{End, Fate, Line, Pair};
use fairwind_tcp::{AckDelay, Config, Event, Nagle, Profile, SmartFraming};
use fairwind_units::Instant;

/// RTT 100 ms, every segment acknowledged, full segments of 1448 bytes; losses are detected by
/// three duplicates or by a time-out of 1 s.
fn config(framing: Option<SmartFraming>, initial_window: u32) -> Config {
    let mut config = Config {
        nagle: Nagle::Off,
        ack_delay: AckDelay::None,
        initial_window,
        ..Profile::Rfc.config()
    };
    config.sending.framing = framing;
    config
}

fn pair(framing: Option<SmartFraming>, initial_window: u32) -> Pair {
    Pair::established(config(framing, initial_window), config(None, initial_window))
}

const FRAMED: Option<SmartFraming> = Some(SmartFraming::USUAL);

/// Payloads of the client's data segments by the round trip in which they were sent.
fn rounds(pair: &Pair) -> Vec<Vec<u32>> {
    let mut rounds: Vec<Vec<u32>> = Vec::new();
    for Line { at, segment, .. } in pair.data_from(End::Client) {
        let round = usize::try_from((at - Instant::from_secs(1)).as_millis() / 100).unwrap();
        rounds.resize(rounds.len().max(round + 1), Vec::new());
        rounds[round].push(segment.payload_bytes);
    }
    rounds
}

#[test]
fn small_window_is_cut_into_four() {
    for (window, cut) in [(1, 362), (2, 724), (3, 1086)] {
        let mut pair = pair(FRAMED, window);
        pair.write(End::Client, 20 * 1448);
        pair.run_until(Instant::from_secs(30));
        assert_eq!(rounds(&pair)[0], [cut; 4], "of {window} segments");
        assert_eq!(pair.read_bytes(End::Server), 20 * 1448);
    }
}

#[test]
fn larger_windows_have_full_segments() {
    let mut pair = pair(FRAMED, 4);
    pair.write(End::Client, 10 * 1448);
    pair.run_until(Instant::from_secs(30));
    assert_eq!(rounds(&pair), [vec![1448; 4], vec![1448; 6]]);
}

/// Slow start doubles the window per round trip, whatever it is cut into: four pieces count as the
/// window that they are.
#[test]
fn the_window_opens_as_fast_as_without() {
    let windows = |framing| {
        let mut pair = pair(framing, 1);
        pair.write(End::Client, 40 * 1448);
        let mut windows = Vec::new();
        for round in 0..5 {
            pair.run_until(Instant::from_millis(1050 + 100 * round));
            windows.push(pair.client.congestion_window());
        }
        pair.run_until(Instant::from_secs(30));
        (windows, rounds(&pair).len())
    };
    assert_eq!(windows(None), (vec![1, 2, 4, 8, 16], 6));
    assert_eq!(windows(FRAMED), (vec![1, 2, 4, 8, 16], 6));
}

/// Two segments of data, the first lost: at most one duplicate, so a time-out of 1 s. Of four pieces the
/// first is lost, and three duplicates arrive: it is retransmitted after a round trip.
#[test]
fn framed_loss_is_found_by_duplicates() {
    let repair = |framing| {
        let mut pair = pair(framing, 2);
        pair.judged_by(|from, number, _| match (from, number) {
            (End::Client, 0) => Fate::Drop,
            _ => Fate::Deliver,
        });
        pair.write(End::Client, 2 * 1448);
        pair.run_until(Instant::from_secs(30));
        assert_eq!(pair.read_bytes(End::Server), 2 * 1448);
        let repeated =
            pair.data_from(End::Client).into_iter().skip(1).find(|line| line.offset == 0);
        let after = repeated.unwrap().at - Instant::from_secs(1);
        (
            after.as_millis(),
            pair.count(Event::FastRetransmit),
            pair.count(Event::RetransmissionTimeout),
        )
    };
    assert_eq!(repair(None), (1000, 0, 1));
    assert_eq!(repair(FRAMED), (100, 1, 0));
}

/// A window of one segment after a time-out is cut, too, once the loss is recovered; the flight never
/// exceeds the window in bytes.
#[test]
fn framed_flight_stays_within_window() {
    let mut pair = pair(FRAMED, 2);
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Client, 9 | 11 | 12 | 20 | 33) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.write(End::Client, 60 * 1448);
    let mut cut = 0;
    for step in 0..4000 {
        pair.run_until(Instant::from_millis(1000 + 5 * step));
        let window = pair.client.congestion_window() * 1448;
        let open = pair.client.recovery_state() == fairwind_tcp::RecoveryState::Open;
        if open && pair.client.segment_bytes() < 1448 {
            cut += 1;
            let in_flight = pair.client.flight() * pair.client.segment_bytes();
            assert!(in_flight <= window.max(1448), "{in_flight} B of {window} B at {}", pair.now);
        }
    }
    assert!(cut > 0, "the window never was small");
    assert_eq!(pair.read_bytes(End::Server), 60 * 1448);
}
