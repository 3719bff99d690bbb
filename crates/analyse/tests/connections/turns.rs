//! Turns of a connection, in the table `turns`.

use crate::dialogue::{Dialogue, Pair, cell, cells, table};
use fairwind_analyse::{Outcome, Settings, TimeLimit};
use fairwind_measure::Values;
use fairwind_units::{Instant, Span};
use fairwind_wire::Flags;

/// Two requests with answers of two segments, near the client: 20 ms of way and 30 ms of the server for the first
/// one, 40 ms for the second, which comes 100 ms after the first answer.
fn two_requests() -> Dialogue {
    let mut dialogue = Dialogue::new();
    dialogue
        .set_up(0)
        .client(100_000, Flags::ACK, (1, 1, 100))
        .server(150_000, Flags::ACK, (1, 101, 1000))
        .server(153_000, Flags::ACK, (1001, 101, 1000))
        .client(153_010, Flags::ACK, (101, 2001, 0))
        .client(253_000, Flags::ACK, (101, 2001, 100))
        .server(313_000, Flags::ACK, (2001, 201, 1000))
        .client(313_010, Flags::ACK, (201, 3001, 0));
    dialogue
}

const KEYS: [&str; 5] = ["scope", "name", "responder", "tap", "kind"];

/// Turns, shortest and longest time of a row.
fn row(outcome: &Outcome, keys: [&str; 5]) -> [String; 3] {
    let turns = table(outcome, "turns");
    let rows = turns.column("flow").map_or(0, Values::len);
    let place = (0..rows).find(|&row| cells(turns, row, KEYS) == keys);
    let place = place.unwrap_or_else(|| panic!("a row {keys:?} of {turns:?}"));
    cells(turns, place, ["turns", "min_s", "max_s"])
}

const SERVER: &str = "10.0.0.2:80>10.0.0.1:50000";
const CLIENT: &str = "10.0.0.1:50000>10.0.0.2:80";

#[test]
fn response_time_is_seen_near_client() {
    let outcome = two_requests().analysed();
    let server = |kind| row(&outcome, ["flow", SERVER, "answerer", "near-requester", kind]);
    assert_eq!(server("first_byte"), ["2", "0.05", "0.06"]);
    assert_eq!(server("last_byte"), ["2", "0.053", "0.06"]);
    let client = row(&outcome, ["flow", CLIENT, "opener", "near-responder", "first_byte"]);
    assert_eq!(client, ["1", "0.1", "0.1"]);
}

#[test]
fn server_time_is_seen_at_second_tap() {
    let outcome = Pair::of(&two_requests()).analysed_by(Settings::default());
    for (tap, times) in
        [("near-requester", ["0.05", "0.06"]), ("near-responder", ["0.032", "0.042"])]
    {
        for (scope, name) in [("flow", SERVER), ("group", "all")] {
            let [turns, least, most] = row(&outcome, [scope, name, "answerer", tap, "first_byte"]);
            assert_eq!([turns.as_str(), &least, &most], ["2", times[0], times[1]]);
        }
    }
}

/// The first turn lies before the part; the response of the second one in it.
#[test]
fn part_counts_turns_that_are_answered_in_it() {
    let from = Some(TimeLimit::At(Instant::from_millis(200)));
    let outcome = two_requests().analysed_by(Settings { from, ..Settings::default() });
    let server = row(&outcome, ["flow", SERVER, "answerer", "near-requester", "first_byte"]);
    assert_eq!(server, ["1", "0.06", "0.06"]);
    let from = Span::from_millis(200);
    let by_age = Settings { connection_from: from, ..Settings::default() };
    let outcome = two_requests().analysed_by(by_age);
    let server = row(&outcome, ["group", "all", "answerer", "near-requester", "last_byte"]);
    assert_eq!(server, ["1", "0.06", "0.06"]);
}

#[test]
fn first_data_is_that_of_part() {
    let settings = Settings { origin: Some(Instant::ZERO), ..Settings::default() };
    let outcome = two_requests().analysed_by(settings.clone());
    let transport = table(&outcome, "transport");
    let first = |table, row| cell(table, row, "first_data_s");
    assert_eq!([0, 1, 2].map(|row| first(transport, row)), ["0.1", "0.15", "0.1"]);
    let from = Some(TimeLimit::At(Instant::from_millis(200)));
    let outcome = two_requests().analysed_by(Settings { from, ..settings });
    let transport = table(&outcome, "transport");
    assert_eq!([0, 1, 2].map(|row| first(transport, row)), ["0.253", "0.313", "0.253"]);
}
