//! Queue disciplines of scenarios, as whole runs see them.

use crate::run::{experiment, group, sum, tables, value};
use fairwind_measure::Table;
use fairwind_scenario::Document;
use fairwind_simulation::{Control, Simulation};

/// Greedy flows that fill a bottleneck, beside a thin stream, a client with requests, and datagrams.
fn scenario(queue: &str) -> String {
    format!(
        r#"
        name = "everybody at one bottleneck"
        duration = "60 s"
        [path]
        rate = "1 Mbit/s"
        rtt = "100 ms"
        queue = {queue}
        reverse_queue = {queue}
        [[flows]]
        name = "datagrams"
        count = 2
        workload = {{ kind = "constant", rate = "20 kbit/s", payload = "200 B" }}
        [[flows]]
        name = "greedy"
        count = 4
        workload = {{ kind = "greedy" }}
        [[flows]]
        name = "asking"
        count = 2
        workload = {{ kind = "request-response", request = "300 B", response = "3 kB", pause = "500 ms" }}
        [[flows]]
        name = "thin"
        count = 3
        workload = {{ kind = "thin", payload = "120 B", interval = "100 ms" }}
        "#
    )
}

/// Only `group` has room for more than one packet.
fn lost_where_only_it_has_room(name: &str) -> [f64; 4] {
    let queue = format!(
        r#"{{ discipline = "prio", bands = ["pfifo", {{ limit = "1 packet" }}],
        priomap = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
        filters = [{{ band = 0, match = {{ group = "{name}" }} }}] }}"#
    );
    let queue = queue.replace('\n', " ");
    let tables = tables(&scenario(&queue), 1);
    ["datagrams", "greedy", "asking", "thin"].map(|name| group(&tables, name, "packets_lost"))
}

#[test]
fn filters_know_the_group_of_every_packet() {
    for (place, name) in [(0, "datagrams"), (2, "asking"), (3, "thin")] {
        assert_eq!(lost_where_only_it_has_room(name)[place], 0.0, "{name} has room");
    }
    let [datagrams, _, asking, thin] = lost_where_only_it_has_room("greedy");
    let others = [datagrams, asking, thin];
    assert!(others.iter().all(|lost| *lost > 0.0), "the greedy ones are served first: {others:?}");
}

#[test]
fn answers_are_of_the_group_that_asks() {
    let queue = r#"{ discipline = "drr", classes = [{ filters = [{ group = "asking" }] }] }"#;
    let tables = tables(&scenario(queue), 1);
    // Unclassified packets are dropped: no other packet arrives.
    for name in ["datagrams", "greedy", "thin"] {
        assert_eq!(group(&tables, name, "packets_received"), 0.0, "{name}");
    }
    assert_eq!(group(&tables, "asking", "packets_lost"), 0.0);
    assert_eq!(group(&tables, "asking-responses", "packets_lost"), 0.0);
    assert!(group(&tables, "asking", "responses") > 100.0);
}

#[test]
fn fair_queue_protects_latency_of_thin_streams() {
    let latency = |queue: &str| {
        let tables = tables(&scenario(queue), 1);
        group(&tables, "thin", "ack_latency_p50_s")
    };
    let (fifo, fair) = (latency("\"pfifo\""), latency("\"fq_codel\""));
    assert!(fair < 0.15 && fifo > 1.0, "{fair} s behind fq_codel, {fifo} s behind a pfifo");
}

/// Beside greedy streams, thin ones wait least where flows are kept apart or they go first: the round trip and at most
/// a round of ten full packets of 2.4 ms each, and one that is being sent.
#[test]
fn queue_discipline_example_shows_differences() {
    let text = include_str!("../../../../examples/thin-behind-queues.toml");
    let mut document = Document::parse("thin-behind-queues.toml", text).unwrap();
    document.set("duration", "40 s").unwrap();
    let mut latencies = Vec::new();
    for point in document.grid().unwrap() {
        let experiment = document.experiment(&point).unwrap();
        let outcome = Simulation::new(&experiment, 1).unwrap().run(&Control::default()).unwrap();
        let latency = group(&outcome.tables, "thin", "ack_latency_p50_s");
        latencies.push((point.settings[0].1.clone(), latency));
    }
    let of = |name: &str| latencies.iter().find(|(known, _)| known == name).unwrap().1;
    for name in ["sfq", "fq_codel", "cake", "classes"] {
        assert!(of(name) < 0.177, "{latencies:?}");
    }
    assert!(of("pfifo") > 0.2 && of("bfifo") > 0.2, "{latencies:?}");
}

/// 100 datagrams in 10 s, the last of which has arrived at the end of 12 s, behind a link with these impairments.
fn impaired_scenario(impairments: &str) -> String {
    format!(
        "name = \"impaired\"\nduration = \"12 s\"\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"400 ms\"\n\
         impairments = {{ {impairments} }}\n[[flows]]\nname = \"calls\"\nstop = \"10 s\"\n\
         workload = {{ kind = \"constant\", rate = \"80 kbit/s\", packet = \"1000 B\" }}\n"
    )
}

/// A column of the bottleneck in a run of that.
fn impaired(impairments: &str, column: &str) -> f64 {
    value(
        tables(&impaired_scenario(impairments), 1).get("queues").unwrap(),
        "queue",
        "bottleneck",
        column,
    )
}

/// 100 datagrams, one every 100 ms, are damaged on the first link. The second one has
/// room for one in five of them, or damages them all again.
#[test]
fn damaged_packet_counts_as_one_loss() {
    let links = |second: &str| {
        format!(
            "name = \"twice\"\nduration = \"20 s\"\n[topology]\nhosts = [\"a\", \"b\"]\nrouters = [\"r\", \"s\"]\n\
             [[topology.links]]\nfrom = \"a\"\nto = \"r\"\n\
             [[topology.links]]\nname = \"first\"\nfrom = \"r\"\nto = \"s\"\nrate = \"10 Mbit/s\"\n\
             impairments = \"tc: netem corrupt 100%\"\n\
             [[topology.links]]\nname = \"second\"\nfrom = \"s\"\nto = \"b\"\n{second}\n\
             [[flows]]\nname = \"calls\"\nfrom = \"a\"\nto = \"b\"\nstop = \"10 s\"\n\
             workload = {{ kind = \"constant\", rate = \"80 kbit/s\", packet = \"1000 B\" }}\n"
        )
    };
    let seconds = [
        (
            "rate = \"16 kbit/s\"\nqueue = { limit = \"1 packets\" }",
            "drops_queue_full_packets",
            80.0,
        ),
        (
            "rate = \"10 Mbit/s\"\nimpairments = \"tc: netem corrupt 100%\"",
            "drops_link_loss_packets",
            100.0,
        ),
    ];
    for (second, column, dropped) in seconds {
        let tables = tables(&links(second), 1);
        let of = |column| group(&tables, "calls", column);
        assert_eq!((of("packets_sent"), of("packets_received")), (100.0, 0.0));
        assert_eq!((of("packets_lost"), of("packet_loss_ratio")), (100.0, 1.0), "{second}");
        let queues = tables.get("queues").unwrap();
        let found = value(queues, "queue", "second", column);
        assert!((found - dropped).abs() < 1.5, "{found} at the second queue");
    }
}

/// 100 datagrams, the 3000 bytes of each of ten more writes in three.
#[test]
fn duplicated_datagram_is_read_once() {
    let writes = "[[flows]]\nname = \"writes\"\nstop = \"1 s\"\nworkload = { kind = \"thin\", \
                  payload = \"3000 B\", interval = \"100 ms\", transport = \"udp\" }\n";
    let doubling = impaired_scenario("duplicate = { probability = \"100 %\" }") + writes;
    let tables = tables(&doubling, 1);
    for (name, packets, payload) in [("calls", 100.0, 97_200.0), ("writes", 30.0, 30_000.0)] {
        let of = |column| group(&tables, name, column);
        assert_eq!(
            (of("packets_sent"), of("packets_received")),
            (packets, 2.0 * packets),
            "{name}"
        );
        assert_eq!((of("payload_bytes_sent"), of("payload_bytes_read")), (payload, payload));
        let samples = value(tables.get("latencies").unwrap(), "name", name, "count");
        assert_eq!(samples, packets, "{name}");
    }
}

#[test]
fn link_impairments_are_counted_at_queue() {
    assert_eq!(impaired("", "enqueued_packets"), 100.0);
    for column in ["duplicated_packets", "damaged_packets", "reordered_packets"] {
        assert_eq!(impaired("", column), 0.0);
    }
    assert_eq!(impaired("duplicate = { probability = \"100 %\" }", "duplicated_packets"), 100.0);
    let damaged = "corrupt = { probability = \"100 %\" }";
    assert_eq!(impaired(damaged, "damaged_packets"), 100.0);
    assert_eq!(impaired(damaged, "drops_link_loss_packets"), 100.0);
    // Packet and copy are damaged by separate draws, and both are lost.
    let both = "corrupt = { probability = \"100 %\" }, duplicate = { probability = \"100 %\" }";
    let tables = tables(&impaired_scenario(both), 1);
    assert_eq!(group(&tables, "calls", "packets_received"), 0.0);
    let queues = tables.get("queues").unwrap();
    let expected = [
        ("duplicated_packets", 100.0),
        ("damaged_packets", 200.0),
        ("drops_link_loss_packets", 200.0),
    ];
    for (column, packets) in expected {
        assert_eq!(value(queues, "queue", "bottleneck", column), packets, "{column}");
    }
    // Every fifth packet does not wait for netem's delay, and so overtakes the one before it; the link's it waits for.
    let overtaking = "delay = \"200 ms\", reorder = { probability = \"100 %\", gap = 5 }";
    assert_eq!(impaired(overtaking, "reordered_packets"), 20.0);
    let alone = "reorder = { probability = \"100 %\", gap = 5 }";
    assert_eq!(impaired(alone, "reordered_packets"), 0.0);
}

#[test]
fn queue_windows_add_up_to_run_counts() {
    let tables = tables(&scenario("\"fq_codel\""), 1);
    let (queues, windows) = (tables.get("queues").unwrap(), tables.get("queue_intervals").unwrap());
    assert_eq!(windows.rows(), 200, "two queues for a hundred windows");
    for column in ["enqueued_packets", "drops_packets", "marks_packets"] {
        assert_eq!(sum(windows, column), sum(queues, column), "{column}");
    }
    let most = |table: &Table, column: &str| {
        let values = table.column(column).unwrap();
        (0..table.rows()).filter_map(|row| values.number(row)).fold(0.0, f64::max)
    };
    for column in ["arrival_backlog_max_packets", "sojourn_max_s"] {
        assert_eq!(most(windows, column), most(queues, column), "{column}");
    }
}

#[test]
fn streamed_events_equal_kept_events() {
    let asked = "[measure]\nqueue_events = {}\n";
    let text = scenario("\"pfifo\"") + asked;
    let whole = tables(&text, 1);
    let whole = whole.get("queue_events").unwrap();
    let (mut handed, mut most) = (Vec::new(), 0);
    let simulation = Simulation::new(&experiment(&text), 1).unwrap();
    let outcome = simulation
        .run_streaming(&Control::default(), 1000, |table| {
            most = most.max(table.rows());
            handed.push(table);
            true
        })
        .unwrap();
    handed.push(outcome.tables.get("queue_events").unwrap().clone());
    assert!(handed.len() >= 4, "{} parts", handed.len());
    // In 4096 events of the simulator there are at most as many packets at two queues.
    assert!(most < 1000 + 2 * 4096, "{most} rows waited");
    for (place, column) in whole.columns.iter().enumerate() {
        let parts = handed.iter().flat_map(|part| {
            let values = &part.columns[place].values;
            (0..part.rows()).map(move |row| (values.number(row), values.text(row)))
        });
        let kept =
            (0..whole.rows()).map(|row| (column.values.number(row), column.values.text(row)));
        assert!(parts.eq(kept), "{}", column.name);
    }
    let left_out =
        value(outcome.tables.get("queues").unwrap(), "queue", "bottleneck", "events_left_out");
    assert_eq!(left_out, 0.0);
}

#[test]
fn event_limit_includes_streamed_events() {
    let text = scenario("\"pfifo\"") + "[measure]\nqueue_events = { most = 2500 }\n";
    let mut rows = 0;
    let simulation = Simulation::new(&experiment(&text), 1).unwrap();
    let outcome = simulation.run_streaming(&Control::default(), 100, |table| {
        rows += table.rows();
        true
    });
    let last = outcome.unwrap().tables;
    assert_eq!(rows + last.get("queue_events").unwrap().rows(), 2500);
    let all = tables(&(scenario("\"pfifo\"") + "[measure]\nqueue_events = {}\n"), 1);
    let left_out = value(last.get("queues").unwrap(), "queue", "bottleneck", "events_left_out");
    assert_eq!(
        left_out,
        sum(all.get("queues").unwrap(), "enqueued_packets")
            + sum(all.get("queues").unwrap(), "drops_packets")
            - 2500.0
    );
}

#[test]
fn whoever_takes_no_more_events_ends_the_run() {
    let text = scenario("\"pfifo\"") + "[measure]\nqueue_events = {}\n";
    let simulation = Simulation::new(&experiment(&text), 1).unwrap();
    let outcome = simulation.run_streaming(&Control::default(), 100, |_| false);
    assert!(matches!(outcome, Err(fairwind_simulation::SimulationError::Cancelled)));
}
