//! Requests and responses: both directions of a connection carry data.

use crate::run::{experiment, fingerprint, group, outcome, sum, tables, value};
use fairwind_simulation::{CaptureFiles, Control, Simulation};

fn asking(path: &str, workload: &str, more: &str) -> String {
    format!(
        r#"
        name = "dialogue"
        duration = "60 s"
        [path]
        rate = "10 Mbit/s"
        rtt = "100 ms"
        {path}
        [[flows]]
        name = "web"
        workload = {{ kind = "request-response", {workload} }}
        {more}
        "#
    )
}

/// On an idle path a response that fits one packet takes the round trip, the time to think, and
/// both packets' serialisation: 152 B and 1052 B at 10 Mbit/s are 121.6 and 841.6 us.
#[test]
fn response_time_is_rtt_plus_think_time() {
    let text = asking(
        "",
        r#"request = "100 B", response = "1000 B", think_time = "5 ms", pause = "1 s""#,
        // The first request waits behind the handshake's last packet.
        "[measure]\nwarmup = \"1 s\"",
    );
    let tables = tables(&text, 1);
    let expected = 0.1 + 0.005 + 0.000_121_6 + 0.000_841_6;
    for column in ["response_time_mean_s", "response_time_max_s"] {
        let time = group(&tables, "web", column);
        assert!((time - expected).abs() < 1e-9, "{column} is {time}, not {expected}");
    }
    // The handshake takes 0.1 s; from then on an exchange begins every 1.106 s, the first of them
    // in the warm-up.
    assert_eq!(group(&tables, "web", "responses"), 54.0);
    assert_eq!(group(&tables, "web", "payload_bytes_read"), 5_400.0);
    assert_eq!(group(&tables, "web-responses", "payload_bytes_read"), 54_000.0);
    let delivery = group(&tables, "web-responses", "delivery_latency_max_s");
    assert!((delivery - 0.050_841_6).abs() < 1e-9, "one write is delivered in {delivery} s");
}

/// A request and a response that follow each other at once carry each other's acknowledgments: of
/// bare ones there are those of opening and closing.
#[test]
fn data_segment_carries_ack_of_request() {
    let text = asking("", r#"request = "100 B", response = "1000 B", exchanges = 20"#, "");
    let tables = tables(&text, 1);
    for name in ["web", "web-responses"] {
        let bare = group(&tables, name, "ack_packets_sent");
        assert!(bare <= 3.0, "{bare} bare acknowledgments of {name}");
        assert_eq!(group(&tables, name, "data_segments_sent"), 20.0);
    }
    // Each request is acknowledged by its response; the first waits for 41.6 us behind the
    // handshake's last packet.
    let latency = group(&tables, "web", "ack_latency_max_s");
    assert!((latency - 0.101_004_8).abs() < 1e-9, "{latency} s");
    let latencies = tables.get("latencies").unwrap();
    assert_eq!(value(latencies, "name", "web", "count"), 20.0);
}

#[test]
fn a_connection_is_closed_after_its_last_exchange() {
    let text = asking("", r#"request = "400 B", response = "30 kB", exchanges = 3"#, "");
    let tables = tables(&text, 1);
    for name in ["web", "web-responses"] {
        assert_eq!(group(&tables, name, "flows_established"), 1.0, "{name}");
        assert_eq!(group(&tables, name, "flows_finished"), 1.0, "{name}");
        assert_eq!(group(&tables, name, "flows_failed"), 0.0, "{name}");
    }
    assert_eq!(group(&tables, "web", "responses"), 3.0);
    assert_eq!(group(&tables, "web-responses", "payload_bytes_read"), 90_000.0);
    let finished = value(tables.get("flows").unwrap(), "name", "web-responses-1", "finished_s");
    assert!(finished < 2.0, "finished after {finished} s");
}

#[test]
fn request_before_stop_is_answered() {
    let workload = r#"request = "400 B", response = "30 kB", think_time = "3 s""#;
    let tables = tables(&asking("", workload, "stop = \"1 s\""), 1);
    assert_eq!(group(&tables, "web", "responses"), 1.0);
    assert_eq!(group(&tables, "web-responses", "payload_bytes_read"), 30_000.0);
    assert_eq!(group(&tables, "web-responses", "flows_finished"), 1.0);
}

/// Responses that never end are a download: they fill the way back as a greedy flow fills its own,
/// and the requests take nothing of it.
#[test]
fn large_responses_fill_the_way_back() {
    let path = r#"reverse_rate = "4 Mbit/s""#;
    let text = asking(path, r#"request = "400 B", response = "1 GB""#, "");
    let tables = tables(&format!("{text}\n[measure]\nwarmup = \"10 s\"\n"), 1);
    let goodput = group(&tables, "web-responses", "goodput_bits_per_second");
    let share = goodput / (4e6 * 1448.0 / 1500.0);
    assert!((0.975..=1.001).contains(&share), "{share}");
    assert_eq!(group(&tables, "web", "goodput_bits_per_second"), 0.0);
    // What acknowledges the responses is theirs.
    assert_eq!(group(&tables, "web", "packets_sent"), 0.0);
    assert!(group(&tables, "web-responses", "ack_packets_sent") > 5_000.0);
    let drops = tables.get("queue_drops").unwrap();
    let enqueued = |row| drops.column("enqueued_packets").unwrap().number(row).unwrap();
    // Queues: bottleneck, reverse; groups: web, web-responses. All packets are of the responses.
    assert_eq!([enqueued(0), enqueued(2)], [0.0, 0.0]);
    assert!(enqueued(1) > 5_000.0 && enqueued(3) > 10_000.0);
}

#[test]
fn every_response_comes_in_spite_of_losses() {
    let workload = r#"
        request = { distribution = "uniform", min = "100 B", max = "5 kB" },
        response = { distribution = "exponential", mean = "30 kB" },
        think_time = { distribution = "exponential", mean = "5 ms" },
        pause = { distribution = "exponential", mean = "50 ms" }, exchanges = 30"#;
    let path = "loss = \"3 %\"\nreverse_loss = \"3 %\"";
    let text = asking(path, &workload.replace('\n', " "), "count = 20\nstart_spread = \"1 s\"");
    let text = text.replace("60 s", "600 s");
    let outcome = outcome(&text, 7);
    let tables = &outcome.tables;
    assert_eq!(group(tables, "web", "responses"), 600.0);
    for name in ["web", "web-responses"] {
        assert_eq!(group(tables, name, "flows_finished"), 20.0, "{name}");
        let read = group(tables, name, "payload_bytes_read");
        let received = group(tables, name, "payload_bytes_received");
        let duplicate = group(tables, name, "payload_bytes_duplicate");
        assert_eq!(read, received - duplicate, "{name}: each byte was read once");
        assert!(group(tables, name, "data_segments_retransmitted") > 0.0, "{name}");
    }
    let flows = tables.get("flows").unwrap();
    let sent = sum(flows, "packets_sent") + sum(flows, "ack_packets_sent");
    #[expect(clippy::cast_precision_loss, reason = "a count of packets")]
    let injected = outcome.packets_injected as f64;
    assert_eq!(sent, injected, "each packet is of one flow");
    assert_eq!(fingerprint(tables), fingerprint(&crate::run::tables(&text, 7)));
}

#[test]
fn both_sides_endpoints_are_sampled() {
    let workload = r#"request = "400 B", response = "300 kB""#;
    let text = asking("", workload, "[measure]\nendpoint_interval = \"1 s\"");
    let tables = tables(&text, 1);
    let endpoint = tables.get("endpoint").unwrap();
    let samples = |name| {
        (0..endpoint.rows())
            .filter(|&row| endpoint.column("name").unwrap().text(row) == Some(name))
            .count()
    };
    assert_eq!([samples("web-1"), samples("web-responses-1")], [59, 59]);
    let cwnd = value(endpoint, "name", "web-responses-1", "cwnd_packets");
    assert!(cwnd > 10.0, "the window of who answers grows: {cwnd}");
}

/// IPv6 headers have 20 B more: 1428 payload bytes in every packet of 1500, and small packets of the
/// size that was asked for.
#[test]
fn ipv6_packets_carry_less() {
    let workloads = [
        ("kind = \"greedy\"", 1500.0, 1428.0),
        ("kind = \"thin\", packet = \"160 B\", interval = \"150 ms\"", 160.0, 88.0),
    ];
    for (workload, packet, payload) in workloads {
        let text = format!(
            r#"
            name = "ipv6"
            duration = "60 s"
            [path]
            rate = "10 Mbit/s"
            rtt = "40 ms"
            ip_version = 6
            [[flows]]
            name = "group"
            workload = {{ {workload} }}
            [measure]
            warmup = "10 s"
            "#
        );
        let tables = tables(&text, 1);
        let sent = |column| group(&tables, "group", column);
        assert_eq!(sent("wire_bytes_sent") / sent("packets_sent"), packet);
        assert_eq!(sent("payload_bytes_sent") / sent("packets_sent"), payload);
    }
}

#[test]
fn ipv6_exchange_capture_is_well_formed() {
    if std::process::Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed (Debian package tshark)");
        return;
    }
    let workload = r#"request = "2 kB", response = "20 kB", exchanges = 20"#;
    let path = "ip_version = 6\nloss = \"2 %\"\nreverse_loss = \"2 %\"";
    let text = asking(path, workload, "[capture]\npoints = [\"sender\"]");
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("dialogue.pcapng");
    let sender: Box<dyn std::io::Write + Send> = Box::new(std::fs::File::create(&file).unwrap());
    let files = CaptureFiles { sender: Some(sender), receiver: None };
    let simulation = Simulation::with_captures(&experiment(&text), 3, files).unwrap();
    let tables = simulation.run(&Control::default()).unwrap().tables;

    let select = |filter: &str| {
        let strict = ["-o", "tcp.check_checksum:TRUE", "-Y", filter];
        let fields = ["-T", "fields", "-e", "frame.number"];
        crate::capture::tshark(&file, &[&strict[..], &fields].concat()).unwrap().len()
    };
    assert_eq!(select("_ws.malformed || tcp.checksum.status == 0 || !tcp || !ipv6"), 0);
    assert_eq!(select("tcp.segment.overlap.conflict == 1"), 0);
    #[expect(clippy::cast_precision_loss, reason = "a count of packets")]
    let counted = |filter| select(filter) as f64;
    let sent = group(&tables, "web", "data_segments_sent");
    assert_eq!(counted("tcp.len > 0 && tcp.dstport == 60000"), sent);
    // The sender's side sees the answers that arrive.
    assert!(counted("tcp.len > 0 && tcp.srcport == 60000") >= 20.0 * 20_000.0 / 1428.0);
}
