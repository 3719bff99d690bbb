//! Runs of losses of a group at a queue.

use crate::run::{Run, assert_number, count, number, settings};
use fairwind_measure::{Direction, DropReason, Dropped, FlowId, Observation, QueueId, Tables};
use fairwind_units::Span;

const QUEUE: QueueId = QueueId(0);

/// One letter a packet, each a millisecond behind the other: a lower-case one of flow `a`, `b`, ... is let
/// in, an upper-case one is refused.
fn arrivals(run: &mut Run, letters: &str) {
    for (millis, letter) in (0..).zip(letters.chars()) {
        let flow = FlowId(u32::from(letter.to_ascii_lowercase()) - u32::from('a'));
        let queue = QUEUE;
        let packet = if letter.is_lowercase() {
            let (wire_bytes, backlog_packets, backlog_bytes) = (100, 0, 0);
            Observation::Enqueued { queue, flow, wire_bytes, backlog_packets, backlog_bytes }
        } else {
            dropped(flow, DropReason::QueueFull, None)
        };
        run.at(millis, packet);
    }
}

fn dropped(flow: FlowId, reason: DropReason, waited: Option<Span>) -> Observation<'static> {
    let (queue, direction, payload_bytes, wire_bytes) = (QUEUE, Direction::Forward, 60, 100);
    let backlog = None;
    Observation::Dropped(Dropped {
        flow,
        direction,
        queue,
        payload_bytes,
        wire_bytes,
        reason,
        waited,
        backlog,
    })
}

fn left(flow: FlowId) -> Observation<'static> {
    Observation::Dequeued { queue: QUEUE, flow, wire_bytes: 100, sojourn: Span::ZERO }
}

/// Lengths of runs, and how many there were of each.
fn lengths(tables: &Tables) -> Vec<(u64, u64)> {
    let rows = 0..tables.get("queue_loss_run_lengths").unwrap().rows();
    let cell = |column, row| count(tables, "queue_loss_run_lengths", column, row);
    rows.map(|row| (cell("length_packets", row), cell("runs", row))).collect()
}

#[test]
fn refused_runs_have_length_and_affected_connections() {
    // Runs in the group's row of 16 packets: A; AB; BB; ABA. Lost 8, in runs of two or more 7; in runs that hit
    // two connections AB and ABA, 5; in runs in which one lost more than one BB and ABA, 5.
    let mut run = Run::new(&settings("xx"));
    arrivals(&mut run, "aAabABbBBaaabABA");
    let tables = run.finish(1_000);
    assert_eq!(count(&tables, "queue_loss_runs", "packets_sent", 0), 16);
    assert_eq!(count(&tables, "queue_loss_runs", "packets_lost", 0), 8);
    assert_number(&tables, "queue_loss_runs", "packet_loss_ratio", 0, 0.5);
    assert_number(&tables, "queue_loss_runs", "in_succession_ratio", 0, 7.0 / 8.0);
    assert_number(&tables, "queue_loss_runs", "among_connections_ratio", 0, 5.0 / 8.0);
    assert_number(&tables, "queue_loss_runs", "within_connections_ratio", 0, 5.0 / 8.0);
    assert_eq!(lengths(&tables), [(1, 1), (2, 2), (3, 1)]);
}

#[test]
fn packets_of_other_groups_end_no_run() {
    // The group of a and c loses two in a row; what b gets through in between is another group's.
    let mut run = Run::new(&settings("xyx"));
    arrivals(&mut run, "aAbbCaB");
    let tables = run.finish(1_000);
    assert_eq!(lengths(&tables), [(2, 1), (1, 1)]);
    assert_number(&tables, "queue_loss_runs", "among_connections_ratio", 0, 1.0);
    assert_number(&tables, "queue_loss_runs", "within_connections_ratio", 0, 0.0);
    assert_number(&tables, "queue_loss_runs", "in_succession_ratio", 1, 0.0);
}

#[test]
fn queue_drops_form_run_until_departure() {
    let mut run = Run::new(&settings("x"));
    let early = dropped(FlowId(0), DropReason::Early, Some(Span::from_millis(5)));
    run.at(0, left(FlowId(0))).at(1, early).at(2, early);
    // Arrivals form another row: they are accepted in the meantime.
    arrivals(&mut run, "aaaaaa");
    run.at(8, early).at(9, left(FlowId(0))).at(10, early);
    assert_eq!(lengths(&run.finish(1_000)), [(1, 1), (3, 1)]);
}

#[test]
fn link_losses_form_run_until_delivery() {
    let mut run = Run::new(&settings("x"));
    for (millis, letter) in (0..).zip("lossLOSSloLo".chars()) {
        run.at(2 * millis, left(FlowId(0)));
        if letter.is_uppercase() {
            run.at(2 * millis + 1, dropped(FlowId(0), DropReason::LinkLoss, None));
        }
    }
    assert_eq!(lengths(&run.finish(1_000)), [(1, 1), (4, 1)]);
}

#[test]
fn both_flows_of_a_connection_are_one_connection() {
    let mut described = settings("xx");
    described.flows[1].answers = Some(FlowId(0));
    let mut run = Run::new(&described);
    arrivals(&mut run, "aABb");
    let tables = run.finish(1_000);
    assert_number(&tables, "queue_loss_runs", "among_connections_ratio", 0, 0.0);
    assert_number(&tables, "queue_loss_runs", "within_connections_ratio", 0, 1.0);
}

#[test]
fn without_losses_shares_are_missing() {
    let mut run = Run::new(&settings("x"));
    arrivals(&mut run, "aaa");
    let tables = run.finish(1_000);
    assert_number(&tables, "queue_loss_runs", "packet_loss_ratio", 0, 0.0);
    assert_eq!(number(&tables, "queue_loss_runs", "in_succession_ratio", 0), None);
    assert_eq!(lengths(&tables), []);
}
