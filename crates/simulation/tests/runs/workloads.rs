//! Arrival of what applications write.

use crate::run::{fingerprint, group, outcome, tables};
use fairwind_measure::{Tables, Values};

fn one_flow(workload: &str, duration: &str) -> String {
    format!(
        "name = \"one flow\"\nduration = \"{duration}\"\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"100 ms\"\n\
         [[flows]]\nname = \"flow\"\nworkload = {{ {workload} }}\n"
    )
}

/// The handshake takes 100 ms; from then on a burst begins every two seconds and has 125 messages of
/// 8 ms each, so that 30 bursts fit whole.
#[test]
fn bursts_arrive_complete_on_idle_path() {
    let workload =
        r#"kind = "on-off", on = "1 s", off = "1 s", rate = "1 Mbit/s", message = "1000 B""#;
    let tables = tables(&one_flow(workload, "60 s"), 1);
    assert_eq!(group(&tables, "flow", "payload_bytes_read"), 30.0 * 125.0 * 1000.0);
    assert_eq!(group(&tables, "flow", "packets_lost"), 0.0);
}

/// A burst of 1 MB takes less than two seconds on 10 Mbit/s, and then nothing is sent for ten.
#[test]
fn greedy_bursts_are_as_large_as_their_volume() {
    let workload = r#"kind = "on-off", volume = "1 MB", off = "10 s""#;
    let tables = tables(&one_flow(workload, "40 s"), 1);
    assert_eq!(group(&tables, "flow", "payload_bytes_read"), 4e6);
}

#[test]
fn replayed_writes_arrive_and_connection_closes() {
    let workload = r#"kind = "replay", writes = [{ at = "0 s", size = "10 B" },
        { at = "2 s", size = "3 kB" }, { at = "2 s", size = "7 B" }]"#;
    let tables = tables(&one_flow(workload, "10 s"), 1);
    assert_eq!(group(&tables, "flow", "payload_bytes_read"), 3017.0);
    assert_eq!(group(&tables, "flow", "flows_finished"), 1.0);
}

#[test]
fn page_objects_are_requested_in_turn() {
    let workload = r#"kind = "web", request = "100 B", main_object = "20 kB", embedded_objects = 3,
        embedded_object = "5 kB", parsing_time = "10 ms", reading_time = "5 s", pages = 2"#;
    let tables = tables(&one_flow(workload, "60 s"), 1);
    assert_eq!(group(&tables, "flow", "responses"), 8.0);
    assert_eq!(group(&tables, "flow", "payload_bytes_read"), 800.0);
    assert_eq!(group(&tables, "flow-responses", "payload_bytes_read"), 2.0 * 35e3);
    assert_eq!(group(&tables, "flow", "flows_finished"), 1.0);
}

fn is_missing(tables: &Tables, table: &str, name: &str, column: &str) -> bool {
    let table = tables.get(table).unwrap();
    let names = table.column(if table.name == "groups" { "group" } else { "name" }).unwrap();
    let row = (0..table.rows()).find(|&row| names.text(row) == Some(name)).unwrap();
    match table.column(column).unwrap() {
        Values::OptionalBool(values) => values[row].is_none(),
        values => values.number(row).is_none(),
    }
}

/// Packets of 1500 B at 1 Mbit/s leave every 12 ms: 834 in 10 s. On 10 Mbit/s and 50 ms each arrives
/// 51.2 ms later, so the last one that arrives in time is number 830.
#[test]
fn constant_bit_rate_is_exact_to_nanosecond() {
    let workload = r#"kind = "constant", rate = "1 Mbit/s", packet = "1500 B""#;
    let tables = tables(&one_flow(workload, "10 s"), 1);
    assert_eq!(group(&tables, "flow", "packets_sent"), 834.0);
    assert_eq!(group(&tables, "flow", "wire_bytes_sent"), 834.0 * 1500.0);
    assert_eq!(group(&tables, "flow", "payload_bytes_sent"), 834.0 * 1472.0);
    assert_eq!(group(&tables, "flow", "packets_received"), 830.0);
    assert_eq!(group(&tables, "flow", "payload_bytes_read"), 830.0 * 1472.0);
    assert_eq!(group(&tables, "flow", "packets_lost"), 0.0);
    for column in ["delivery_latency_mean_s", "delivery_latency_max_s"] {
        let delay = group(&tables, "flow", column);
        assert!((delay - 0.0512).abs() < 1e-9, "{column} is {delay}");
    }
    for column in ["timeouts", "bytes_retransmitted", "ack_packets_sent", "ack_latency_mean_s"] {
        assert!(is_missing(&tables, "groups", "flow", column), "{column}");
        assert!(is_missing(&tables, "flows", "flow-1", column), "{column}");
    }
    assert!(is_missing(&tables, "flows", "flow-1", "established"));
    assert!(is_missing(&tables, "flows", "flow-1", "setup_time_s"));
}

/// Twice the rate of the link: half of the packets find no room, and the others take it whole. Each waits
/// for the rest of the packet in service and, but at the beginning, for nine before it.
#[test]
fn datagram_overload_loses_excess() {
    let workload = r#"kind = "constant", rate = "2 Mbit/s", packet = "1250 B""#;
    let text = one_flow(workload, "100 s")
        .replace("10 Mbit/s", "1 Mbit/s")
        .replace("rtt = \"100 ms\"", "rtt = \"101 ms\"\nqueue = { limit = \"10 packets\" }");
    let outcome = outcome(&text, 1);
    let (tables, waiting) = (&outcome.tables, outcome.packets_in_transit);
    let count = |column| group(tables, "flow", column);
    assert_eq!(count("packets_sent"), 20_000.0, "one every 5 ms");
    // The first packet arrives after 60.5 ms, and one every 10 ms from then on.
    assert_eq!(count("packets_received"), 9994.0);
    #[expect(clippy::cast_precision_loss, reason = "a few")]
    let waiting = waiting as f64;
    assert_eq!(count("packets_sent") - count("packets_received"), count("packets_lost") + waiting);
    let loss = count("packet_loss_ratio");
    assert!((loss - 0.5).abs() < 0.001, "{loss} of all are lost");
    // Nine or ten packets of 10 ms before it, its own transmission, and 50.5 ms.
    let delay = count("delivery_latency_max_s");
    assert!((0.1504..0.1606).contains(&delay), "{delay} s at most");
}

/// A write that is larger than a packet leaves as several datagrams, at once.
#[test]
fn a_large_write_is_several_datagrams() {
    let workload = r#"kind = "replay", transport = "udp", writes = [{ at = "1 s", size = "3 kB" },
        { at = "1 s", size = "100 B" }]"#;
    let tables = tables(&one_flow(workload, "10 s"), 1);
    // 1472 + 1472 + 56 B, and 100 B; each with 28 B of headers.
    assert_eq!(group(&tables, "flow", "packets_received"), 4.0);
    assert_eq!(group(&tables, "flow", "wire_bytes_received"), 3100.0 + 4.0 * 28.0);
}

/// From 1 s on, every 12 ms, before 2 s: 84 packets for each of two flows.
#[test]
fn datagrams_respect_start_and_stop() {
    let workload = r#"kind = "constant", rate = "1 Mbit/s", packet = "1500 B""#;
    let text = one_flow(workload, "10 s")
        .replace("name = \"flow\"", "name = \"flow\"\ncount = 2\nstart = \"1 s\"\nstop = \"2 s\"");
    let tables = tables(&text, 1);
    assert_eq!(group(&tables, "flow", "packets_received"), 168.0);
}

/// A connection beside datagrams behaves as beside nothing, where the path has room for both.
#[test]
fn datagrams_and_answering_connections_are_distinguished() {
    let text = one_flow(r#"kind = "constant", rate = "80 kbit/s", packet = "100 B""#, "10 s")
        + "[[flows]]\nname = \"web\"\nworkload = { kind = \"request-response\", \
           request = \"100 B\", response = \"1 kB\", pause = \"1 s\" }\n\
           [[flows]]\nname = \"thin\"\nworkload = { kind = \"thin\", payload = \"72 B\", \
           interval = \"10 ms\", transport = \"udp\" }\n";
    let tables = tables(&text, 1);
    assert_eq!(group(&tables, "flow", "packets_sent"), 1000.0, "one every 10 ms");
    assert_eq!(group(&tables, "thin", "packets_sent"), 1000.0);
    assert_eq!(group(&tables, "thin", "wire_bytes_sent"), 100_000.0);
    assert_eq!(group(&tables, "web", "responses"), 9.0, "at 0.1 s, and every 1.1 s");
    assert_eq!(group(&tables, "web-responses", "payload_bytes_read"), 9000.0);
}

#[test]
fn random_workloads_repeat_with_seed() {
    for workload in [
        r#"kind = "web", reading_time = "1 s""#,
        r#"kind = "profile", application = "Skype (UDP)", transport = "udp""#,
        r#"kind = "profile", application = "World of Warcraft""#,
        r#"kind = "on-off", off = "1 s",
            volume = { distribution = "pareto", min = "10 kB", shape = 1.2 }"#,
    ] {
        let text = one_flow(workload, "30 s");
        assert_eq!(fingerprint(&tables(&text, 5)), fingerprint(&tables(&text, 5)), "{workload}");
        assert_ne!(fingerprint(&tables(&text, 5)), fingerprint(&tables(&text, 6)), "{workload}");
    }
}

/// One write in 632 ms on average, of 98 B; an hour has some 5700 of them. The intervals' standard
/// deviation is about their mean, so 6 % is four standard errors and more.
#[test]
fn recorded_stream_offers_its_load() {
    let workload = r#"kind = "profile", application = "Anarchy Online""#;
    let tables = tables(&one_flow(workload, "3600 s"), 2);
    let load = group(&tables, "flow", "payload_bytes_read");
    let expected = 3600.0 / 0.632 * 98.0;
    assert!((load / expected - 1.0).abs() < 0.1, "{load} B for {expected} B, seed 2");
}
