//! Closing a connection.

use crate::pair::{End, Fate, Pair};
use fairwind_tcp::{Event, Profile, State};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment};

fn established() -> Pair {
    let config = Profile::Linux6_18.config();
    Pair::established(config.clone(), config)
}

#[test]
fn half_closed_connection_still_receives_data() {
    let mut pair = established();
    pair.write(End::Client, 500);
    pair.close(End::Client);
    pair.run_until(Instant::from_secs(2));
    assert_eq!(pair.client.state(), State::FinWait2);
    assert_eq!(pair.server.state(), State::CloseWait);
    pair.write(End::Server, 5000);
    pair.run_until(Instant::from_secs(3));
    assert_eq!((pair.read_bytes(End::Server), pair.read_bytes(End::Client)), (500, 5000));
    pair.close(End::Server);
    pair.run_until(Instant::from_secs(4));
    assert_eq!(pair.server.state(), State::Closed);
    assert_eq!(pair.client.state(), State::TimeWait);
    pair.run_to_rest(Instant::from_secs(100));
    assert_eq!(pair.client.state(), State::Closed);
    assert_eq!(pair.count(Event::Closed), 2);
}

#[test]
fn fin_travels_with_the_last_data() {
    let mut pair = established();
    // Nothing is in flight, so the first write is sent immediately; FIN joins the waiting data.
    pair.client.write(3000);
    pair.client.close();
    pair.flush();
    let last = pair.data_from(End::Client).pop().unwrap().segment;
    assert!(last.flags.contains(Flags::FIN | Flags::PSH), "{:?}", last.flags);
}

#[test]
fn both_may_close_at_once() {
    let mut pair = established();
    pair.client.close();
    pair.server.close();
    pair.run_until(Instant::from_millis(1050));
    assert_eq!((pair.client.state(), pair.server.state()), (State::Closing, State::Closing));
    pair.run_until(Instant::from_secs(2));
    assert_eq!((pair.client.state(), pair.server.state()), (State::TimeWait, State::TimeWait));
}

#[test]
fn lost_fin_is_retransmitted_and_acknowledged() {
    let mut pair = established();
    pair.judged_by(|from, number, _| match (from, number) {
        // The first FIN, and the ACK of the peer's FIN.
        (End::Client, 0 | 2) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.close(End::Client);
    pair.run_until(Instant::from_secs(3));
    assert_eq!(pair.server.state(), State::CloseWait);
    pair.close(End::Server);
    pair.run_until(Instant::from_secs(6));
    assert_eq!(pair.server.state(), State::Closed);
    assert_eq!(pair.client.state(), State::TimeWait);
    // The repetition restarted TIME-WAIT.
    assert!(pair.client.next_deadline() > Instant::from_secs(3) + Span::from_secs(60));
}

#[test]
fn an_abort_resets_the_peer() {
    let mut pair = established();
    pair.client.abort();
    pair.run_until(Instant::from_secs(2));
    assert_eq!((pair.client.state(), pair.server.state()), (State::Closed, State::Closed));
    assert_eq!(pair.count(Event::Reset), 1);
}

/// A driver that waits for the end hears of it, whatever ends TIME-WAIT.
#[test]
fn reset_ends_time_wait() {
    let mut pair = established();
    pair.close(End::Client);
    pair.run_until(Instant::from_secs(2));
    pair.close(End::Server);
    pair.run_until(Instant::from_secs(3));
    assert_eq!(pair.client.state(), State::TimeWait);
    let before = pair.count(Event::Closed);
    let reset = Segment {
        sequence: pair
            .dialogue
            .iter()
            .rfind(|l| l.from == End::Client)
            .unwrap()
            .segment
            .acknowledgment,
        flags: Flags::RST,
        ..Segment::default()
    };
    let now = pair.now;
    pair.client.on_segment(now, &reset);
    pair.flush();
    assert_eq!(pair.client.state(), State::Closed);
    assert_eq!((pair.count(Event::Closed) - before, pair.count(Event::Reset)), (1, 0));
}

#[test]
fn unanswered_connection_is_given_up() {
    let mut pair = established();
    pair.judged_by(|_, _, _| Fate::Drop);
    pair.write(End::Client, 100);
    pair.run_to_rest(Instant::from_secs(5000));
    assert_eq!(pair.count(Event::TimedOut), 1);
    let at = pair.events.last().unwrap().0;
    // 0.2 s doubled nine times, then 120 s six times: 924.6 s after the first time-out.
    assert!(at >= Instant::from_secs(924) && at <= Instant::from_secs(1060), "given up at {at}");
}
