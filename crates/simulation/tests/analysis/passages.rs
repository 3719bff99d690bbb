//! Network measures from two captures against those of the simulation.

use fairwind_analyse::one_way::{
    FlowName, FlowPairDescription, FlowPairId, OneWayFlows, OneWaySettings, Tap,
};
use fairwind_analyse::{CaptureSource, NextPacket, PacketSource};
use fairwind_capture::{EndOfFile, Input, Packet};
use fairwind_measure::{Direction, Table, Tables};
use fairwind_scenario::{Document, Experiment};
use fairwind_simulation::{CaptureFiles, Control, Simulation};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

fn experiment(text: &str) -> Experiment {
    let document = Document::parse("test.toml", text).unwrap_or_else(|it| panic!("{it}"));
    let point = &document.grid().expect("a grid")[0];
    document.experiment(point).unwrap_or_else(|it| panic!("{it}"))
}

/// The simulation's own tables, the rows of flows by two captures, and those of groups.
fn run_and_join(name: &str, text: &str) -> (Tables, Tables, Tables) {
    let path = |point: &str| {
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("passed-{name}-{point}.pcapng"))
    };
    let create =
        |point| Some(Box::new(File::create(path(point)).expect("a file")) as Box<dyn Write + Send>);
    let files = CaptureFiles { sender: create("sender"), receiver: create("receiver") };
    let simulation = Simulation::with_captures(&experiment(text), 11, files).expect("it holds");
    let tables = simulation.run(&Control::default()).expect("it runs").tables;
    let open = |point| {
        CaptureSource::open(vec![Input::Path(path(point))], EndOfFile::Final).expect("a capture")
    };
    let (flows, groups) = join(open("sender"), open("receiver"));
    (tables, flows, groups)
}

/// Both captures in the order of time; what happens at once departs before it arrives.
fn join(mut sender: CaptureSource, mut receiver: CaptureSource) -> (Tables, Tables) {
    let mut passages = OneWayFlows::new(OneWaySettings::default());
    let group = passages.add_group("all");
    // Receivers' ports are above senders', and count groups: the simulation numbers flows in this order.
    let mut crossings: BTreeMap<(u16, u16), FlowPairId> = BTreeMap::new();
    let (mut there, mut here) = (Packet::EMPTY, Packet::EMPTY);
    let (mut is_left, mut is_waiting) = (
        sender.next(&mut here) == NextPacket::Packet,
        receiver.next(&mut there) == NextPacket::Packet,
    );
    while is_left || is_waiting {
        let is_sender = is_left && (!is_waiting || here.at <= there.at);
        let packet = if is_sender { here } else { there };
        let ports = (packet.segment.source_port, packet.segment.destination_port);
        let is_forward = ports.0 < ports.1;
        let key = if is_forward { (ports.1, ports.0) } else { ports };
        let id = *crossings.entry(key).or_insert_with(|| {
            passages.open(FlowPairDescription {
                group,
                data_groups: [group; 2],
                connection: 0,
                opener: Tap::Sender,
                counted_from: fairwind_units::Instant::ZERO,
            })
        });
        let direction = if is_forward { Direction::Forward } else { Direction::Reverse };
        if is_sender == is_forward {
            passages.on_departure(id, direction, packet.at, &packet);
        } else {
            passages.on_arrival(id, direction, packet.at, &packet);
        }
        if is_sender {
            is_left = sender.next(&mut here) == NextPacket::Packet;
        } else {
            is_waiting = receiver.next(&mut there) == NextPacket::Packet;
        }
    }
    for (number, id) in (0..).zip(crossings.values()) {
        passages.close(*id, FlowName { number, name: "" }, None);
    }
    passages.finish();
    let rows = passages.take_rows(usize::MAX).expect("there are flows");
    (rows, passages.group_tables())
}

fn number(table: &Table, column: &str, row: usize) -> f64 {
    let values = table.column(column).unwrap_or_else(|| panic!("there is {column}"));
    values.number(row).unwrap_or_else(|| panic!("{column} has a number in row {row}"))
}

/// Columns that the simulation's table has with the same meaning.
const SAME: [&str; 9] = [
    "packets_sent",
    "packets_received",
    "packets_lost",
    "wire_bytes_sent",
    "wire_bytes_lost",
    "payload_bytes_sent",
    "payload_bytes_lost",
    "ack_packets_sent",
    "ack_packets_lost",
];

/// Transfers that are over long before the run is, so that nothing is under way at its end.
fn scenario(path: &str, tcp: &str, capture: &str) -> String {
    format!(
        r#"
        name = "passed"
        duration = "90 s"
        [path]
        rate = "3 Mbit/s"
        rtt = "80 ms"
        queue = {{ discipline = "pfifo", limit = "15 packets" }}
        {path}
        [[flows]]
        name = "greedy"
        count = 4
        workload = {{ kind = "greedy", volume = "700 kB" }}
        {tcp}
        [[flows]]
        name = "thin"
        count = 6
        start_spread = "1 s"
        stop = "40 s"
        workload = {{ kind = "thin", payload = "120 B", interval = "60 ms" }}
        {tcp}
        [capture]
        points = ["sender", "receiver"]
        {capture}
    "#
    )
}

#[test]
fn losses_match_network_packet_by_packet() {
    let variants = [
        ("plain", "loss = \"1 %\"\nreverse_loss = \"1 %\"", "", ""),
        ("heavy", "loss = \"6 %\"\nreverse_loss = \"4 %\"", "", ""),
        ("no-stamps", "loss = \"3 %\"", "tcp = { timestamps = false }", ""),
        ("no-sack", "loss = \"3 %\"", "tcp = { sack = false, timestamps = false }", ""),
        ("old", "loss = \"2 %\"", "tcp = { profile = \"linux-3.16\" }", ""),
        ("snap", "loss = \"2 %\"\nip_version = 6", "", "snap = \"96 B\""),
        ("queue", "", "tcp = { delayed_ack = false }", ""),
    ];
    for (name, path, tcp, capture) in variants {
        let (truth, joined, _) = run_and_join(name, &scenario(path, tcp, capture));
        let (truth, joined) = (truth.get("flows").unwrap(), joined.get("passages").unwrap());
        assert_eq!(truth.rows(), joined.rows(), "{name}");
        for row in 0..truth.rows() {
            for column in SAME {
                let (known, found) = (number(truth, column, row), number(joined, column, row));
                assert!((known - found).abs() < 0.5, "{name} {row} {column}: {known} {found}");
            }
            let unjudged = number(joined, "packets_unjudged", row);
            assert!(unjudged < 0.5, "{name} {row}: {unjudged} unjudged");
        }
        let lost: f64 = (0..truth.rows()).map(|row| number(truth, "packets_lost", row)).sum();
        assert!(lost > 30.0, "{name}: {lost} lost, which is no test");
    }
}

#[test]
fn application_delay_equals_delivery_latency() {
    let text = scenario("loss = \"2 %\"", "tcp = { nagle = false }", "");
    let (truth, joined, _) = run_and_join("delays", &text);
    let (truth, delays) = (truth.get("flows").unwrap(), joined.get("delays").unwrap());
    let layer = delays.column("layer").unwrap();
    let mut compared = 0;
    for row in (0..delays.rows()).filter(|&row| layer.text(row) == Some("application")) {
        let flow = format!("{:.0}", number(delays, "flow", row)).parse::<usize>().unwrap();
        let is_thin = truth.column("group").unwrap().text(flow) == Some("thin");
        if !is_thin {
            continue;
        }
        compared += 1;
        // All writes are equally long, so bytes and writes weigh the same.
        let median = number(truth, "delivery_latency_p50_s", flow);
        let found = number(delays, "p50_s", row);
        assert!((median - found).abs() <= median / 100.0, "{flow}: {median} {found}");
        // What is written while the window is closed waits before it is sent.
        let (known, found) =
            (number(truth, "delivery_latency_max_s", flow), number(delays, "max_s", row));
        assert!(found <= known + 1e-6 && found > known - 0.1, "{flow}: {known} {found}");
    }
    assert_eq!(compared, 6);
}

#[test]
fn packets_at_end_are_lost_or_unjudged() {
    let text = scenario("loss = \"3 %\"", "", "").replace("90 s", "7 s").replace("40 s", "6900 ms");
    let (truth, joined, _) = run_and_join("cut", &text);
    let (truth, joined) = (truth.get("flows").unwrap(), joined.get("passages").unwrap());
    let column = |table: &Table, column: &str| -> f64 {
        (0..table.rows()).map(|row| number(table, column, row)).sum()
    };
    let (known, found) = (column(truth, "packets_lost"), column(joined, "packets_lost"));
    let unjudged = column(joined, "packets_unjudged");
    assert!(found <= known && known <= found + unjudged, "{known} {found} {unjudged}");
    let arrived = column(joined, "packets_received");
    assert!((column(joined, "packets_sent") - arrived - found - unjudged).abs() < 0.5);
}
