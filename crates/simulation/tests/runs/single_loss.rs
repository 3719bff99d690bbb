//! A single loss of a thin stream, through network and measures, to the millisecond.

use crate::run::{group, tables};

/// One thin stream, 120 B every 150 ms, RTT 100 ms, no delayed ACKs; every hundredth packet or so is
/// lost, seldom two in a row. A threshold ends the initial slow start as a first loss would. Without
/// what else helps a thin stream.
fn longest_delivery(options: &str) -> f64 {
    let text = format!(
        r#"
        name = "single losses"
        duration = "600 s"
        [path]
        rate = "100 Mbit/s"
        rtt = "100 ms"
        loss = "0.5 %"
        [[flows]]
        name = "thin"
        workload = {{ kind = "thin", payload = "120 B", interval = "150 ms" }}
        tcp = {{ profile = "linux-3.16", initial_ssthresh = 4, tail_loss_probe = false, early_retransmit = false, {options} }}
        receiver_tcp = {{ profile = "linux-3.16", delayed_ack = false }}
        "#
    );
    let tables = tables(&text, 3);
    assert!(group(&tables, "thin", "packets_lost") > 5.0, "some losses there must be");
    group(&tables, "thin", "delivery_latency_max_s")
}

/// 350 ms by the time-out, 300 ms with modified fast retransmit (a lost packet takes the 14 us of
/// its serialisation besides).
#[test]
fn thin_stream_loss_takes_350_or_300_ms() {
    let standard = longest_delivery("modified_fast_retransmit = false");
    assert!((standard - 0.350).abs() < 0.001, "standard: {standard} s");
    let modified = longest_delivery("modified_fast_retransmit = true");
    assert!((modified - 0.300).abs() < 0.001, "modified fast retransmit: {modified} s");
}

/// 200 ms with redundant data bundling: the next packet carries the lost one's data, 150 ms later, and
/// takes 21 us more for it.
#[test]
fn thin_stream_loss_with_rdb_takes_200_ms() {
    let bundled = longest_delivery("redundant_bundling = true");
    assert!((bundled - 0.200).abs() < 0.001, "redundant data bundling: {bundled} s");
}
