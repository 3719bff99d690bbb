//! Limits of data senders: the table `senders`.

use crate::run::{tables, value};
use fairwind_measure::{Tables, Values};

/// Ten seconds of one flow over 100 ms.
fn run(rate: &str, workload: &str, tcp: &str, receiver_tcp: &str) -> Tables {
    let text = format!(
        r#"
        name = "senders"
        duration = "10 s"
        [path]
        rate = "{rate}"
        rtt = "100 ms"
        [[flows]]
        name = "one"
        workload = {workload}
        tcp = {{ profile = "rfc", {tcp} }}
        receiver_tcp = {{ profile = "rfc", delayed_ack = false, {receiver_tcp} }}
        "#
    );
    tables(&text, 1)
}

fn of(tables: &Tables, column: &str) -> f64 {
    value(tables.get("senders").expect("a table"), "group", "one", column)
}

fn in_slow_start(tables: &Tables) -> bool {
    let senders = tables.get("senders").expect("a table");
    match senders.column("in_slow_start").expect("a column") {
        Values::Bool(values) => values[0],
        other => panic!("{other:?}"),
    }
}

const GREEDY: &str = r#"{ kind = "greedy" }"#;

/// Every write is outstanding for a round trip: 20 to 24 writes of 500 ms make 2.0 to 2.4 s.
#[test]
fn sparse_sender_is_busy_one_rtt_per_write() {
    let thin = r#"{ kind = "thin", payload = "100 B", interval = "500 ms" }"#;
    let tables = run("100 Mbit/s", thin, "", "");
    let flows = tables.get("flows").expect("a table");
    let writes = value(flows, "group", "one", "payload_bytes_read") / 100.0;
    let busy = of(&tables, "busy_s");
    assert!((19.0..=20.0).contains(&writes), "{writes} writes");
    assert!((busy - 0.1 * writes).abs() < 0.02, "{busy} s busy, {writes} writes");
    assert_eq!(of(&tables, "open_s"), 10.0);
    assert_eq!(of(&tables, "window_limited_s") + of(&tables, "buffer_limited_s"), 0.0);
}

/// Seven segments in 100 ms are a window that slow start outgrows within two round trips of the handshake's.
#[test]
fn small_peer_window_limits_sender() {
    let tables = run("100 Mbit/s", GREEDY, "", r#"receive_buffer = "10 kB""#);
    assert!(of(&tables, "window_limited_s") > 9.5, "{}", of(&tables, "window_limited_s"));
    assert!(of(&tables, "busy_s") > 9.8);
}

#[test]
fn a_small_send_buffer_holds_the_application_back() {
    let tables = run("100 Mbit/s", GREEDY, r#"send_buffer = "10 kB""#, "");
    assert!(of(&tables, "buffer_limited_s") > 9.0, "{}", of(&tables, "buffer_limited_s"));
    assert_eq!(of(&tables, "window_limited_s"), 0.0);
}

#[test]
fn queue_filling_flow_is_congestion_limited() {
    let tables = run("5 Mbit/s", GREEDY, "", "");
    assert!(of(&tables, "total_segments_retransmitted") > 0.0);
    assert!(!in_slow_start(&tables));
    assert!(of(&tables, "busy_s") > 9.8);
    assert_eq!(of(&tables, "window_limited_s") + of(&tables, "buffer_limited_s"), 0.0);
}

#[test]
fn lossless_flow_stays_in_slow_start() {
    let tables = run("100 Mbit/s", GREEDY, "", r#"receive_buffer = "10 kB""#);
    assert_eq!(of(&tables, "total_segments_retransmitted"), 0.0);
    assert!(in_slow_start(&tables));
}
