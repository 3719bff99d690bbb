//! Congestion controls that listen to marks and delay, by name in a scenario.

use crate::run::{group, tables, value};
use fairwind_measure::Tables;

/// A greedy flow with an algorithm, over 100 Mbit/s and 10 ms, through a queue.
fn greedy(congestion: &str, queue: &str) -> Tables {
    let text = format!(
        r#"
        name = "listening"
        duration = "5 s"
        [path]
        rate = "100 Mbit/s"
        rtt = "10 ms"
        queue = {queue}
        [[flows]]
        name = "greedy"
        workload = {{ kind = "greedy" }}
        tcp = {{ congestion = "{congestion}", receive_buffer = "4 MB", send_buffer = "4 MB" }}
        [measure]
        warmup = "1 s"
        "#
    );
    tables(&text, 1)
}

fn at_bottleneck(tables: &Tables, column: &str) -> f64 {
    value(tables.get("queues").expect("a table"), "queue", "bottleneck", column)
}

/// Payload is 1448 of 1500 bytes: at most 96.5 Mbit/s.
fn goodput_megabits(tables: &Tables) -> f64 {
    group(tables, "greedy", "goodput_bits_per_second") / 1e6
}

/// 20 packets of 1500 bytes wait 2.4 ms at 100 Mbit/s. What CoDel marks for being late itself is out of the way.
#[test]
fn dctcp_keeps_queue_at_codel_threshold() {
    let codel =
        r#"{ discipline = "codel", ecn = true, target = "50 ms", ce_threshold = "2400 us" }"#;
    let tables = greedy("dctcp", codel);
    let mean = at_bottleneck(&tables, "sojourn_mean_s");
    assert!((0.0008..0.0026).contains(&mean), "{mean} s");
    assert!(at_bottleneck(&tables, "sojourn_max_s") < 0.0040);
    assert!(at_bottleneck(&tables, "marks_packets") > 100.0);
    assert!(at_bottleneck(&tables, "drops_packets") < 0.5);
    let goodput = goodput_megabits(&tables);
    assert!(goodput > 95.0, "{goodput} Mbit/s");
}

/// RED that marks everything from 30 kB on, as RFC 8257 §3.1 wants it of a switch, but for its average, which follows.
#[test]
fn dctcp_keeps_queue_at_red_step() {
    let red = r#"{ discipline = "red", limit = "900 kB", min = "30 kB", max = "31 kB", avpkt = "1500 B",
                   burst = 21, probability = "100 %", ecn = true }"#;
    let tables = greedy("dctcp", &red.replace('\n', " "));
    let mean = at_bottleneck(&tables, "sojourn_mean_s");
    assert!((0.0003..0.0035).contains(&mean), "{mean} s");
    assert!(at_bottleneck(&tables, "marks_packets") > 100.0);
    assert!(at_bottleneck(&tables, "drops_packets") < 0.5);
    let goodput = goodput_megabits(&tables);
    assert!(goodput > 94.0, "{goodput} Mbit/s");
}

/// A queue of 1200 packets is 144 ms, which who waits for losses fills at some time. Vegas leaves two to four packets in
/// it at its shortest moments, and Linux' bundles of a millisecond, eight packets, on top; FAST leaves 20 on average,
/// which are 2.4 ms; LEDBAT ends its slow start at 75 ms and goes up to 100 from there, by a quarter of a segment per
/// round trip at first.
#[test]
fn delay_based_control_keeps_target_queue() {
    let pfifo = r#"{ discipline = "pfifo", limit = "1200 packets" }"#;
    for (congestion, least, most) in
        [("vegas", 0.000_2, 0.001_5), ("fast", 0.001_8, 0.003_2), ("ledbat", 0.070, 0.105)]
    {
        let tables = greedy(congestion, pfifo);
        let mean = at_bottleneck(&tables, "sojourn_mean_s");
        assert!((least..most).contains(&mean), "{congestion}: {mean} s");
        let goodput = goodput_megabits(&tables);
        assert!(goodput > 94.0, "{congestion}: {goodput} Mbit/s");
    }
}
