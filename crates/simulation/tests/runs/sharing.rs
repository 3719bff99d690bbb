//! What hosts remember of their connections, in whole runs.

use crate::run::{group, tables};
use fairwind_measure::Tables;

/// Payload of a full segment with timestamps.
const SEGMENT: u32 = 1448;
const ROUND_TRIP: f64 = 0.1;

/// A client that asks a server twice: first for as much as leaves a window of `taught` segments, then, on another
/// connection, for `asked` segments. No acknowledgment is delayed, and nothing takes time but the way.
fn asked_twice(taught: u32, asked: u32, sharing: &str) -> Tables {
    let group = |name: &str, segments: u32, start: &str| {
        format!(
            r#"
            [[flows]]
            name = "{name}"
            from = "client"
            to = "server"
            start = "{start}"
            workload = {{ kind = "request-response", request = "100 B", response = "{} B", exchanges = 1 }}
            tcp = {{ profile = "rfc", delayed_ack = false }}
            receiver_tcp = {{ profile = "rfc", initial_window = 1, delayed_ack = false, sharing = {sharing} }}
            "#,
            segments * SEGMENT,
        )
    };
    let text = format!(
        r#"
        name = "sharing"
        duration = "40 s"
        [topology]
        hosts = ["client", "server"]
        [[topology.links]]
        from = "client"
        to = "server"
        delay = "50 ms"
        {}{}
        "#,
        group("first", taught - 1, "0 s"),
        group("second", asked, "20 s"),
    );
    tables(&text, 1)
}

/// From the first SYN to the last byte: the handshake, and the time that the answer takes.
fn transfer_time(tables: &Tables, name: &str) -> f64 {
    ROUND_TRIP + group(tables, name, "response_time_mean_s")
}

/// Round trips of slow start from a window of 1: 3 for 5 segments and so on; with a window of 32 they are 1, 1, 1,
/// 2, 2 and 3. A transfer takes one more for the handshake.
#[test]
fn remembered_windows_speed_transfers_up_by_the_closed_form() {
    let cases = [(5, 3, 1), (10, 4, 1), (20, 5, 1), (40, 6, 2), (80, 7, 2), (200, 8, 3)];
    for (segments, without, with) in cases {
        let closed = f64::from(1 + without) / f64::from(1 + with);
        let off = transfer_time(&asked_twice(32, segments, r#"{ policy = "off" }"#), "second");
        let on = transfer_time(&asked_twice(32, segments, r#"{ policy = "classic" }"#), "second");
        let found = off / on;
        assert!((found / closed - 1.0).abs() < 0.02, "{segments}: {found}, not {closed}");
    }
}
