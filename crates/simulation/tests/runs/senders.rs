//! Limits of data senders: the table `senders`.

use crate::run::{tables, value};
use fairwind_measure::{Tables, Values};

/// Ten seconds of one flow over 100 ms, as in the RFCs.
fn run(rate: &str, workload: &str, tcp: &str, receiver_tcp: &str) -> Tables {
    run_as("rfc", &format!("rate = \"{rate}\""), workload, (tcp, receiver_tcp))
}

fn run_as(profile: &str, link: &str, workload: &str, (tcp, receiver_tcp): (&str, &str)) -> Tables {
    let text = format!(
        r#"
        name = "senders"
        duration = "10 s"
        [path]
        rtt = "100 ms"
        {link}
        [[flows]]
        name = "one"
        workload = {workload}
        tcp = {{ profile = "{profile}", {tcp} }}
        receiver_tcp = {{ profile = "{profile}", delayed_ack = false, {receiver_tcp} }}
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

/// The application writes 64 KiB whenever a third of the buffer is free: two thirds of Linux' 41.1 kB of memory hold 21.3
/// kB in bundles of two segments. What of these is not on the way over the path, there or back, leaves the queue first.
/// The end of a write that is larger than a buffer of the kernel waits for the next write, which makes it somewhat more.
#[test]
fn application_is_woken_when_a_third_of_the_send_buffer_is_free() {
    let link = r#"rate = "1 Mbit/s"
        queue = { discipline = "pfifo", limit = "100 packets" }"#;
    let tables = run_as("linux-6.18", link, GREEDY, (r#"send_buffer = "32 kB""#, ""));
    let bytes_per_second = 1e6 / 8.0 * 1448.0 / 1500.0;
    let ahead = 32_000.0 * 2.0 / 3.0 - 0.1 * bytes_per_second;
    let expected = (ahead + f64::from(64 << 10)) / bytes_per_second + 0.05;
    let groups = tables.get("groups").expect("a table");
    let median = value(groups, "group", "one", "delivery_latency_p50_s");
    assert_eq!(value(groups, "group", "one", "packets_lost"), 0.0);
    let (least, most) = (0.97 * expected, 1.1 * expected);
    assert!((least..most).contains(&median), "{median} s, {least} to {most} s expected");
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
