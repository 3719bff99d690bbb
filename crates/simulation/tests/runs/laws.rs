//! Runs against closed forms.

use crate::run::{group, tables, value};

/// Reno without delayed ACKs under Bernoulli loss p keeps sqrt(3 / 2p) segments per round trip
/// (Mathis et al. 1997). With SACK and a threshold that ends slow start, within 15 %: the law takes
/// losses as periodic and leaves time-outs out.
#[test]
fn reno_throughput_follows_the_square_root_law() {
    for (loss, p) in [("0.01 %", 1e-4), ("0.1 %", 1e-3), ("0.5 %", 5e-3)] {
        let text = format!(
            r#"
            name = "square root law"
            duration = "2000 s"
            [path]
            rate = "1 Gbit/s"
            rtt = "100 ms"
            queue = {{ discipline = "pfifo", limit = "10000 packets" }}
            loss = "{loss}"
            [[flows]]
            name = "reno"
            workload = {{ kind = "greedy" }}
            tcp = {{ profile = "linux-6.18", congestion = "reno", initial_ssthresh = 50 }}
            receiver_tcp = {{ delayed_ack = false }}
            [measure]
            warmup = "100 s"
            "#
        );
        let tables = tables(&text, 11);
        let segments_per_rtt =
            group(&tables, "reno", "goodput_bits_per_second") / 8.0 / 1448.0 * 0.1;
        let law = f64::sqrt(1.5 / p);
        let ratio = segments_per_rtt / law;
        assert!((0.85..=1.15).contains(&ratio), "p = {p}: {segments_per_rtt} against {law}");
    }
}

/// One greedy flow with a queue of one BDP fills its link: 1448 payload bytes in every 1500. At
/// 1 Mbit/s that queue holds three packets, and a delayed ACK after a loss costs two percent;
/// what waited behind a hole when counting began may add half a thousandth.
#[test]
fn a_greedy_flow_fills_its_link() {
    for (rate, bits) in [("1 Mbit/s", 1e6), ("10 Mbit/s", 1e7), ("100 Mbit/s", 1e8)] {
        for congestion in ["reno", "cubic"] {
            let text = format!(
                r#"
                name = "full link"
                duration = "120 s"
                [path]
                rate = "{rate}"
                rtt = "40 ms"
                queue = {{ discipline = "pfifo", limit = "1 bdp" }}
                [[flows]]
                name = "greedy"
                workload = {{ kind = "greedy" }}
                tcp = {{ congestion = "{congestion}" }}
                [measure]
                warmup = "20 s"
                "#
            );
            let tables = tables(&text, 1);
            let goodput = group(&tables, "greedy", "goodput_bits_per_second");
            let possible = bits * 1448.0 / 1500.0;
            let share = goodput / possible;
            assert!((0.975..=1.001).contains(&share), "{rate}, {congestion}: {share}");
        }
    }
}

/// Flows alike share alike in the long run, Reno over CUBIC-free ground.
#[test]
fn flows_alike_share_alike() {
    let text = r#"
        name = "fair shares"
        duration = "600 s"
        [path]
        rate = "10 Mbit/s"
        rtt = "50 ms"
        queue = { discipline = "pfifo", limit = "1 bdp" }
        [[flows]]
        name = "reno"
        count = 4
        start_spread = "2 s"
        workload = { kind = "greedy" }
        tcp = { congestion = "reno" }
        [measure]
        warmup = "60 s"
    "#;
    let tables = tables(text, 5);
    let jain = value(tables.get("fairness").unwrap(), "name", "reno", "jain_index");
    assert!(jain > 0.95, "Jain's index is {jain}");
}

/// The delay of an idle path: half an RTT, and the packet's serialisation.
#[test]
fn idle_path_delay_is_propagation_plus_serialisation() {
    let text = r#"
        name = "idle path"
        duration = "60 s"
        [path]
        rate = "1 Mbit/s"
        rtt = "100 ms"
        [[flows]]
        name = "thin"
        workload = { kind = "thin", packet = "160 B", interval = "150 ms" }
        [measure]
        warmup = "1 s"
    "#;
    let tables = tables(text, 1);
    // 160 B at 1 Mbit/s take 1.28 ms.
    let mean = group(&tables, "thin", "delivery_latency_mean_s");
    assert!((mean - 0.051_28).abs() < 1e-9, "mean delivery latency {mean}");
    assert!((group(&tables, "thin", "delivery_latency_max_s") - 0.051_28).abs() < 1e-9);
    let rate = group(&tables, "thin", "throughput_bits_per_second");
    // 160 B every 150 ms, to within a packet.
    assert!((rate - 8533.0).abs() < 1280.0 / 59.0, "{rate} bit/s");
}

/// Over several seconds a volume arrives whole, and its completion is noted.
#[test]
fn a_volume_is_completed() {
    let text = r#"
        name = "volume"
        duration = "30 s"
        [path]
        rate = "10 Mbit/s"
        rtt = "20 ms"
        [[flows]]
        name = "file"
        workload = { kind = "greedy", volume = "1 MB" }
    "#;
    let tables = tables(text, 1);
    let flows = tables.get("flows").unwrap();
    let completion = value(flows, "name", "file-1", "completion_time_s");
    assert!(completion > 0.8 && completion < 1.5, "completed after {completion} s");
    let goodput = value(flows, "name", "file-1", "goodput_bits_per_second");
    assert!((goodput - 8e6 / 30.0).abs() < 1.0, "one megabyte in thirty seconds: {goodput} bit/s");
}
