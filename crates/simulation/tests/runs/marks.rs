//! Congestion marks, from the queue to the sender's window, and in the tables.

use crate::run::{group, sum, tables, value};
use fairwind_measure::Tables;

/// A greedy flow through CoDel, which marks where the endpoints understand marks.
fn through_codel(ecn: &str) -> Tables {
    let text = format!(
        r#"
        name = "marks"
        duration = "30 s"
        [path]
        rate = "5 Mbit/s"
        rtt = "40 ms"
        queue = {{ discipline = "codel", ecn = true }}
        [[flows]]
        name = "greedy"
        workload = {{ kind = "greedy" }}
        tcp = {{ ecn = "{ecn}" }}
        [measure]
        endpoint_interval = "10 ms"
        queue_events = {{ queues = ["bottleneck"] }}
        "#
    );
    tables(&text, 1)
}

fn at_bottleneck(tables: &Tables, column: &str) -> f64 {
    value(tables.get("queues").expect("a table"), "queue", "bottleneck", column)
}

fn samples_in(tables: &Tables, state: &str) -> usize {
    let endpoint = tables.get("endpoint").expect("a table");
    let states = endpoint.column("state").expect("a column");
    (0..endpoint.rows()).filter(|&row| states.text(row) == Some(state)).count()
}

fn events(tables: &Tables, event: &str) -> f64 {
    let table = tables.get("queue_events").expect("a table");
    let column = table.column("event").expect("a column");
    let found = (0..table.rows()).filter(|&row| column.text(row) == Some(event)).count();
    f64::from(u32::try_from(found).expect("few events"))
}

#[test]
fn ce_mark_reduces_window_without_loss() {
    let tables = through_codel("classic");
    let marked = at_bottleneck(&tables, "marks_packets");
    assert!(marked > 5.0, "{marked} packets are marked in 30 s");
    assert!(
        at_bottleneck(&tables, "drops_early_packets") < 0.5,
        "what can be marked is not dropped"
    );
    assert!(samples_in(&tables, "window_reduced") > 0, "the sender reduces its window");
    assert!(group(&tables, "greedy", "timeouts") < 0.5);
    // Marks that are not under way at the end have arrived.
    let arrived = group(&tables, "greedy", "packets_marked");
    assert!(arrived <= marked && arrived > marked - 3.0, "{arrived} of {marked} arrived");
}

#[test]
fn without_ecn_packets_are_dropped() {
    let tables = through_codel("off");
    assert!(at_bottleneck(&tables, "marks_packets") < 0.5);
    assert!(at_bottleneck(&tables, "drops_early_packets") > 5.0);
    assert!(group(&tables, "greedy", "packets_marked") < 0.5);
    assert_eq!(samples_in(&tables, "window_reduced"), 0);
}

#[test]
fn queue_events_add_up_to_counts() {
    for ecn in ["classic", "off"] {
        let tables = through_codel(ecn);
        let logged = |event| events(&tables, event);
        let counted = |column| at_bottleneck(&tables, column);
        let pairs = [
            (logged("accepted"), counted("enqueued_packets")),
            (logged("marked"), counted("marks_packets")),
            (logged("refused") + logged("dropped"), counted("drops_packets")),
            (logged("lost"), counted("drops_link_loss_packets")),
            (logged("accepted") + logged("refused"), {
                let drops = tables.get("queue_drops").expect("a table");
                // The reverse queue has no row here: nothing but acknowledgments is offered to it.
                value(drops, "queue", "bottleneck", "offered_packets")
            }),
        ];
        for (logged, counted) in pairs {
            assert!((logged - counted).abs() < 0.5, "{logged} events, {counted} counted");
        }
        let runs = tables.get("queue_loss_runs").expect("a table");
        let lost = sum(runs, "packets_lost");
        assert!((lost - sum(tables.get("queue_drops").expect("a table"), "packets")).abs() < 0.5);
    }
}
