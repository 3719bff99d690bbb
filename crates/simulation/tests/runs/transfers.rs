//! Consecutive transfers, each on a separate connection.

use crate::run::{fingerprint, group, tables, value};
use fairwind_measure::Tables;

/// Nothing takes time but the way, 50 ms each way: a segment is 1000 B, the first window one of them, and every segment
/// is acknowledged at once.
fn transfers(workload: &str, group: &str, duration: &str) -> String {
    format!(
        r#"
        name = "transfers"
        duration = "{duration}"
        [topology]
        hosts = ["server", "client"]
        links = [{{ from = "server", to = "client", delay = "50 ms" }}]
        [[flows]]
        name = "web"
        from = "client"
        to = "server"
        workload = {{ kind = "transfers", {workload} }}
        tcp = {{ mss = "1000 B", initial_window = 1, delayed_ack = false, timestamps = false, congestion = "reno" }}
        {group}
        "#
    )
}

fn names(tables: &Tables) -> Vec<String> {
    let flows = tables.get("flows").unwrap();
    let names = flows.column("name").unwrap();
    (0..flows.rows()).filter_map(|row| names.text(row).map(str::to_owned)).collect()
}

fn flow(tables: &Tables, name: &str, column: &str) -> f64 {
    value(tables.get("flows").unwrap(), "name", name, column)
}

fn is_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

/// A transfer of n segments takes a round trip to open and one for each round of slow start: windows of 1, 2, 4, 8, 16
/// and 9 segments are 40.
#[test]
fn transfer_time_is_handshake_plus_slow_start_rounds() {
    for (segments, rounds) in [(1, 1.0), (5, 3.0), (10, 4.0), (20, 5.0), (40, 6.0), (200, 8.0)] {
        let workload = format!("volume = \"{segments} kB\", transfers = 1");
        let tables = tables(&transfers(&workload, "", "5 s"), 1);
        is_near(flow(&tables, "web-responses-1", "completion_time_s"), 0.1 * (1.0 + rounds));
        is_near(
            group(&tables, "web-responses", "payload_bytes_read"),
            1000.0 * f64::from(segments),
        );
    }
}

/// A first window of 500 segments carries 400 in one round, though the application writes 64 KiB at a time; a receiver that
/// offers no more than that until something has come makes it several.
#[test]
fn first_flight_is_limited_by_both_windows() {
    let workload = r#"volume = "400 kB", transfers = 1"#;
    let taking = |settings: &str| {
        let text = transfers(workload, "", "5 s").replace("initial_window = 1,", settings);
        flow(&tables(&text, 1), "web-responses-1", "completion_time_s")
    };
    is_near(taking("initial_window = 500, receive_buffer = '2 MB', send_buffer = '2 MB',"), 0.2);
    let usual = taking("initial_window = 500, send_buffer = '2 MB',");
    assert!(usual > 0.299, "{usual}");
}

/// The call is answered after a round trip of 0.1 s; the handshake's last packet and every acknowledgment come 0.3 s
/// later than that, so each round of slow start takes 0.4 s. The client calls again as soon as it has read everything,
/// whatever it still holds back.
#[test]
fn ack_delay_applies_to_acks_not_syn() {
    let workload = r#"volume = "40 kB", transfers = 2, ack_delay = "300 ms""#;
    let held = tables(&transfers(workload, "", "9 s"), 1);
    for number in [1, 2] {
        let name = format!("web-responses-1-{number}");
        is_near(flow(&held, &name, "completion_time_s"), 0.1 + 0.4 * 6.0);
        is_near(flow(&held, &name, "data_segments_retransmitted"), 0.0);
    }
    is_near(flow(&held, "web-1-2", "start_s"), 2.5);
    is_near(group(&held, "web-responses", "flows_finished"), 2.0);
    is_near(group(&held, "web-responses", "ack_latency_mean_s"), 0.4);
    // A request leaves at once, and acknowledges the handshake. (With 300 ms the server would time out: it has measured
    // the round trip by that.)
    let asked = format!("{}, request = \"300 B\"", workload.replace("300", "100"));
    let asked = tables(&transfers(&asked, "", "9 s"), 1);
    is_near(flow(&asked, "web-responses-1-1", "completion_time_s"), 0.1 + 0.1 + 0.2 * 5.0);
    is_near(group(&asked, "web", "ack_latency_mean_s"), 0.1);
    let none = tables(&transfers(&workload.replace("300 ms", "0 s"), "", "9 s"), 1);
    let plain = tables(&transfers(r#"volume = "40 kB", transfers = 2"#, "", "9 s"), 1);
    assert_eq!(fingerprint(&none), fingerprint(&plain));
    assert_ne!(fingerprint(&held), fingerprint(&plain));
}

/// Only who calls holds back: what other groups of the same host acknowledge is as quick as ever.
#[test]
fn ack_delay_affects_only_its_client() {
    let workload = r#"volume = "40 kB", transfers = 1, ack_delay = "300 ms""#;
    let beside = r#"
        [[flows]]
        name = "near"
        from = "client"
        to = "server"
        workload = { kind = "transfers", volume = "40 kB", transfers = 1 }
        tcp = { mss = "1000 B", initial_window = 1, delayed_ack = false, timestamps = false, congestion = "reno" }
        "#;
    let tables = tables(&transfers(workload, beside, "5 s"), 1);
    is_near(flow(&tables, "web-responses-1", "completion_time_s"), 2.5);
    is_near(flow(&tables, "near-responses-1", "completion_time_s"), 0.7);
}

/// 40 segments take 0.7 s, and 0.3 s pass until the next call: of ten transfers five begin in 4.5 s, and four end.
#[test]
fn transfers_are_separated_by_pause() {
    let workload = r#"volume = "40 kB", transfers = 10, pause = "300 ms""#;
    let tables = tables(&transfers(workload, "", "4.5 s"), 1);
    let expected: Vec<_> = (1..=5)
        .map(|number| format!("web-1-{number}"))
        .chain((1..=5).map(|number| format!("web-responses-1-{number}")))
        .collect();
    assert_eq!(names(&tables), expected, "those that never began are in no table");
    for (number, start) in [(1, 0.0), (2, 1.0), (3, 2.0), (4, 3.0), (5, 4.0)] {
        for name in ["web-1", "web-responses-1"] {
            is_near(flow(&tables, &format!("{name}-{number}"), "start_s"), start);
        }
    }
    is_near(flow(&tables, "web-responses-1-4", "completion_time_s"), 0.7);
    is_near(group(&tables, "web-responses", "flows"), 5.0);
    is_near(group(&tables, "web-responses", "flows_finished"), 4.0);
    is_near(group(&tables, "web", "flows_failed"), 0.0);
}

/// After the stop no client connects any more, and running transfers are completed.
#[test]
fn stop_finishes_current_transfer_only() {
    let workload = r#"volume = "40 kB", transfers = 10"#;
    let tables = tables(&transfers(workload, "stop = \"1 s\"", "5 s"), 1);
    is_near(group(&tables, "web-responses", "flows_finished"), 2.0);
    is_near(flow(&tables, "web-responses-1-2", "finished_s"), 1.4);
}

/// Each of three callers has its own row of transfers, and the last of them begins a second after the first. A request
/// leaves behind the handshake's last packet and costs nothing more.
#[test]
fn parallel_clients_are_independent() {
    let workload = r#"volume = "40 kB", transfers = 2, request = "300 B""#;
    let tables = tables(&transfers(workload, "count = 3\nstart_spread = \"1.5 s\"", "9 s"), 1);
    for (name, start) in [("1-1", 0.0), ("1-2", 0.7), ("2-1", 0.5), ("3-1", 1.0), ("3-2", 1.7)] {
        is_near(flow(&tables, &format!("web-{name}"), "start_s"), start);
    }
    is_near(group(&tables, "web", "payload_bytes_read"), 1800.0);
    is_near(group(&tables, "web-responses", "flows_finished"), 6.0);
}

#[test]
fn volumes_and_pauses_are_drawn_per_transfer() {
    let workload = r#"transfers = 30, volume = { distribution = "bounded-pareto", min = "2 kB", max = "1 MB", shape = 1.2 }, pause = { distribution = "exponential", mean = "200 ms" }"#;
    let text = transfers(workload, "count = 4", "20 s");
    let one = tables(&text, 3);
    assert_eq!(fingerprint(&one), fingerprint(&tables(&text, 3)));
    assert_ne!(fingerprint(&one), fingerprint(&tables(&text, 4)));
    let bytes: Vec<_> = (1..=4)
        .map(|number| flow(&one, &format!("web-responses-1-{number}"), "payload_bytes_read"))
        .collect();
    assert!(bytes.windows(2).all(|pair| (pair[0] - pair[1]).abs() > 0.5), "{bytes:?}");
    assert!(bytes.iter().all(|&bytes| bytes >= 2000.0), "{bytes:?}");
}

/// What the called host sends goes through the bottleneck, before which it stands.
#[test]
fn data_passes_the_bottleneck() {
    let text = r#"
        name = "transfers"
        duration = "5 s"
        [path]
        rate = "10 Mbit/s"
        rtt = "100 ms"
        [[flows]]
        name = "web"
        workload = { kind = "transfers", volume = "10 kB", transfers = 3 }
        "#;
    let tables = tables(text, 1);
    let queues = tables.get("queues").unwrap();
    let forward = value(queues, "queue", "bottleneck", "enqueued_bytes");
    let reverse = value(queues, "queue", "reverse", "enqueued_bytes");
    assert!(forward > 30_000.0 && reverse < 3_000.0, "{forward} there, {reverse} back");
}
