//! Tests of a router between sockets in place of TUN devices: packets in, packets out, and reports.

use super::{FlowTable, Port, RoutedPacket, Router, RouterControl, RouterParts, lateness_bound};
use fairwind_assembly::{Assembly, CaptureWriters, FlowPlan};
use fairwind_linux as linux;
use fairwind_measure::{Lateness, Tables};
use fairwind_recorder::{ObservationWriter, REPORT_INTERVAL, Recorder, RecorderParts};
use fairwind_scenario::{Document, Experiment};
use fairwind_units::Span;
use fairwind_wire::bytes::{IpHeader, Payload, emit};
use fairwind_wire::{Ecn, Flags, Segment, SequenceNumber, TrafficClass};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::time::Duration;

/// A path with a queue of three packets, on which a packet of 1000 bytes takes 80 ms.
const PATH: &str = r#"
    name = "a slow path"
    duration = "10 s"
    [path]
    rate = "100 kbit/s"
    rtt = "40 ms"
    queue = { limit = "3 packets" }
    [[flows]]
    name = "greedy"
    workload = { kind = "greedy" }
    [[flows]]
    name = "other"
    workload = { kind = "greedy" }
"#;

/// A router at work, and the hosts' ends of its devices: one socket for each node that is a host.
struct Bench {
    flows: Vec<FlowPlan>,
    devices: Vec<Option<UnixDatagram>>,
    control: RouterControl,
    router: std::thread::JoinHandle<Result<Lateness, super::RouterError>>,
    recorder: Recorder,
}

fn experiment(path: &str) -> Experiment {
    let document = Document::parse("path.toml", path).unwrap();
    document.experiment(&document.grid().unwrap()[0]).unwrap()
}

/// A recorder of what a router of this assembly reports, and the end that the router reports to.
fn recorder_of(assembly: &Assembly<RoutedPacket>) -> (Recorder, ObservationWriter) {
    let parts = RecorderParts {
        settings: assembly.settings.clone(),
        captures: CaptureWriters::default(),
        snap: Vec::new(),
        interval: REPORT_INTERVAL,
        live: Arc::default(),
    };
    let (recorder, observations, _) = Recorder::start(parts, &[]).unwrap();
    (recorder, observations)
}

impl Bench {
    fn new() -> Self {
        Self::of(PATH)
    }

    fn of(path: &str) -> Self {
        Self::by(linux::MonotonicClock::default(), path)
    }

    fn by(clock: linux::MonotonicClock, path: &str) -> Self {
        let experiment = experiment(path);
        let assembly = Assembly::<RoutedPacket>::new(&experiment, 1, |_| true).unwrap();
        let mut devices: Vec<Option<UnixDatagram>> =
            experiment.network.nodes.iter().map(|_| None).collect();
        let mut devices_of_router = Vec::new();
        let ends = assembly.flows.iter().flat_map(|flow| [flow.sender_node, flow.receiver_node]);
        for node in ends {
            let (host, router) = UnixDatagram::pair().unwrap();
            router.set_nonblocking(true).unwrap();
            host.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            devices_of_router.push(Port {
                host: format!("{node:?}"),
                node,
                device: OwnedFd::from(router),
            });
            devices[node.index()] = Some(host);
        }
        let (recorder, observations) = recorder_of(&assembly);
        let control = RouterControl::new();
        let router = Router::new(
            RouterParts {
                network: assembly.network,
                queues: assembly.queues,
                ports: devices_of_router,
                classifier: FlowTable::new(&assembly.flows, &assembly.datagrams),
                observations,
                mtu: 1500,
                lateness_bound: Span::from_micros(200),
            },
            control.clone(),
            clock,
        )
        .unwrap();
        let router = std::thread::spawn(move || router.run());
        Self { flows: assembly.flows, devices, control, router, recorder }
    }

    fn device(&self, node: fairwind_network::NodeId) -> &UnixDatagram {
        self.devices[node.index()].as_ref().expect("the node is a host")
    }

    /// Data of a flow from its sender, `payload` bytes at `sequence`.
    fn data(&self, flow: usize, sequence: u32, payload: u32) -> Vec<u8> {
        self.data_of(TrafficClass::default(), flow, sequence, payload)
    }

    fn data_of(&self, class: TrafficClass, flow: usize, sequence: u32, payload: u32) -> Vec<u8> {
        let plan = &self.flows[flow];
        let segment = Segment {
            source_port: plan.sender_port,
            destination_port: plan.receiver_port,
            sequence: SequenceNumber::new(sequence),
            flags: Flags::ACK,
            traffic_class: class,
            payload_bytes: payload,
            ..Segment::default()
        };
        let mut packet = Vec::new();
        let payload = Payload::Pattern { stream_offset: u64::from(sequence) };
        emit(&IpHeader::new(plan.addresses), &segment, payload, &mut packet).unwrap();
        packet
    }

    fn send(&self, flow: usize, packet: &[u8]) {
        self.device(self.flows[flow].sender_node).send(packet).unwrap();
    }

    fn send_all(&self, flow: usize, packets: &[Vec<u8>]) {
        for packet in packets {
            self.send(flow, packet);
        }
    }

    fn receive(&self, flow: usize) -> Vec<u8> {
        let mut buffer = vec![0; 2000];
        let length = self.device(self.flows[flow].receiver_node).recv(&mut buffer).unwrap();
        buffer.truncate(length);
        buffer
    }

    fn finish(self) -> (Lateness, Tables) {
        self.control.stop();
        let lateness = self.router.join().unwrap().unwrap();
        (lateness, self.recorder.finish().unwrap().tables)
    }
}

fn number(tables: &Tables, table: &str, column: &str, row: usize) -> f64 {
    let values = tables.get(table).and_then(|table| table.column(column)).expect("it is there");
    values.number(row).expect("it has a number")
}

/// Clocks of both ways in which a router gets its packets: by a call for each, and by one for all.
fn clocks() -> [linux::MonotonicClock; 2] {
    [false, true].map(linux::MonotonicClock::of)
}

#[test]
fn packets_arrive_unchanged_after_path_delay() {
    for clock in clocks() {
        let bench = Bench::by(clock, PATH);
        let origin = linux::monotonic();
        bench.control.begin(origin);
        let packets: Vec<_> = (0..3).map(|k| bench.data(0, 960 * k, 960)).collect();
        bench.send_all(0, &packets);
        for packet in &packets {
            assert_eq!(&bench.receive(0), packet);
        }
        // Three packets of 80 ms each one behind the other, and 20 ms of way.
        let took = linux::monotonic().saturating_since(origin);
        assert!(took >= Span::from_millis(260), "{took}");
        let (lateness, tables) = bench.finish();
        assert_eq!(lateness.packets.taken, 3);
        assert_eq!(lateness.packets.refused, 0);
        assert!((number(&tables, "flows", "packets_sent", 0) - 3.0).abs() < 0.5);
        assert!((number(&tables, "flows", "packets_received", 0) - 3.0).abs() < 0.5);
        assert!((number(&tables, "flows", "packets_sent", 1)).abs() < 0.5);
        assert!((number(&tables, "queues", "enqueued_packets", 0) - 3.0).abs() < 0.5);
    }
}

#[test]
fn ecn_mark_is_written_into_packet() {
    let queue = "queue = { discipline = \"codel\", ce_threshold = \"40 ms\" }";
    let bench = Bench::of(&PATH.replace("queue = { limit = \"3 packets\" }", queue));
    bench.control.begin(linux::monotonic());
    // The first leaves at once; the second waits for 80 ms, and the third, which cannot be marked, for 160 ms.
    let classes = [Ecn::Ect0, Ecn::Ect0, Ecn::NotEct].map(TrafficClass::from);
    for (place, class) in (0..).zip(classes) {
        bench.send(0, &bench.data_of(class, 0, 960 * place, 960));
    }
    let arrived = [Ecn::Ect0, Ecn::Ce, Ecn::NotEct].map(TrafficClass::from);
    for (place, class) in (0..).zip(arrived) {
        assert_eq!(bench.receive(0), bench.data_of(class, 0, 960 * place, 960));
    }
    bench.finish();
}

/// The path with what happens behind its queue.
fn impaired(impairments: &str) -> Bench {
    let rtt = "rtt = \"40 ms\"";
    let bench = Bench::of(&PATH.replace(rtt, &format!("{rtt}\nimpairments = {impairments}")));
    bench.control.begin(linux::monotonic());
    bench
}

#[test]
fn duplicate_is_delivered_like_original() {
    let bench = impaired("\"tc: netem duplicate 100%\"");
    let packets: Vec<_> = (0..2).map(|k| bench.data(0, 960 * k, 960)).collect();
    bench.send_all(0, &packets);
    for packet in &packets {
        assert_eq!([&bench.receive(0), &bench.receive(0)], [packet, packet]);
    }
    let (_, tables) = bench.finish();
    assert!((number(&tables, "flows", "packets_sent", 0) - 2.0).abs() < 0.5);
    assert!((number(&tables, "flows", "packets_received", 0) - 4.0).abs() < 0.5);
}

#[test]
fn damage_breaks_checksum_and_counts_as_loss() {
    let bench = impaired("\"tc: netem corrupt 100%\"");
    let packet = bench.data(0, 0, 960);
    bench.send(0, &packet);
    let damaged = bench.receive(0);
    let turned: u32 = packet.iter().zip(&damaged).map(|(a, b)| (a ^ b).count_ones()).sum();
    assert_eq!((turned, &damaged[..20]), (1, &packet[..20]));
    let (_, tables) = bench.finish();
    assert!((number(&tables, "flows", "packets_received", 0)).abs() < 0.5);
    assert!((number(&tables, "flows", "packets_lost", 0) - 1.0).abs() < 0.5);
}

#[test]
fn duplicate_is_damaged_independently() {
    let bench = impaired("\"tc: netem corrupt 100% duplicate 100%\"");
    let packet = bench.data(0, 0, 960);
    bench.send(0, &packet);
    for arrived in [bench.receive(0), bench.receive(0)] {
        let turned: u32 = packet.iter().zip(&arrived).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert_eq!(turned, 1);
    }
    let (_, tables) = bench.finish();
    assert!((number(&tables, "flows", "packets_received", 0)).abs() < 0.5);
    assert!((number(&tables, "flows", "packets_lost", 0) - 2.0).abs() < 0.5);
    assert!((number(&tables, "queues", "duplicated_packets", 0) - 1.0).abs() < 0.5);
}

#[test]
fn flow_group_selects_band() {
    let queue = "queue = { discipline = \"prio\", bands = [{ limit = \"1 packet\" }, \"pfifo\"], \
        filters = [{ band = 0, match = { group = \"greedy\" } }, \
        { band = 1, match = { group = \"other\" } }] }";
    let bench = Bench::of(&PATH.replace("queue = { limit = \"3 packets\" }", queue));
    bench.control.begin(linux::monotonic());
    // One is on its way, one waits, and there is no room for the third; for the other group there is.
    for flow in [0, 1] {
        let packets: Vec<_> = (0..3).map(|k| bench.data(flow, 960 * k, 960)).collect();
        bench.send_all(flow, &packets);
    }
    (0..2).for_each(|_| drop(bench.receive(0)));
    (0..3).for_each(|_| drop(bench.receive(1)));
    let (_, tables) = bench.finish();
    assert!((number(&tables, "flows", "packets_lost", 0) - 1.0).abs() < 0.5);
    assert!((number(&tables, "flows", "packets_lost", 1)).abs() < 0.5);
}

#[test]
fn dropped_packets_free_their_buffers() {
    let bench = Bench::new();
    bench.control.begin(linux::monotonic());
    // One is on its way and three wait.
    let packets: Vec<_> = (0..6).map(|k| bench.data(1, 960 * k, 960)).collect();
    bench.send_all(1, &packets);
    let arrived: Vec<_> = (0..4).map(|_| bench.receive(1)).collect();
    assert_eq!(arrived, packets[..4]);
    let later = bench.data(1, 6_000, 960);
    bench.send(1, &later);
    assert_eq!(bench.receive(1), later);
    let (_, tables) = bench.finish();
    assert!((number(&tables, "flows", "packets_lost", 1) - 2.0).abs() < 0.5);
    assert!((number(&tables, "queues", "drops_queue_full_packets", 0) - 2.0).abs() < 0.5);
}

#[test]
fn icmp_is_forwarded_without_measurement() {
    let bench = Bench::new();
    bench.control.begin(linux::monotonic());
    let mut complaint = bench.data(0, 0, 100);
    // ICMP in place of TCP.
    complaint[9] = 1;
    bench.send(0, &complaint);
    let mut stray = bench.data(0, 0, 100);
    stray[16..20].copy_from_slice(&[192, 0, 2, 1]);
    bench.send(0, &stray);
    bench.send(0, b"no packet");
    let mut wrong_host = bench.data(1, 0, 100);
    wrong_host[9] = 17;
    bench.send(0, &wrong_host);
    assert_eq!(bench.receive(0), complaint);
    assert_eq!(bench.receive(1), wrong_host);
    let (lateness, tables) = bench.finish();
    let packets = lateness.packets;
    assert_eq!((packets.taken, packets.unmeasured, packets.discarded), (4, 2, 2));
    assert!((number(&tables, "flows", "packets_sent", 0)).abs() < 0.5);
}

#[test]
fn missing_device_error_names_host() {
    for clock in clocks() {
        let experiment = experiment(PATH);
        let assembly = Assembly::<RoutedPacket>::new(&experiment, 1, |_| true).unwrap();
        let flow = &assembly.flows[0];
        let classifier = FlowTable::new(&assembly.flows, &assembly.datagrams);
        // A pipe's end for writing can be watched, and fails when it is read.
        let (reading, writing) = std::io::pipe().unwrap();
        drop(reading);
        let (recorder, observations) = recorder_of(&assembly);
        let parts = RouterParts {
            network: assembly.network,
            queues: assembly.queues,
            ports: vec![Port {
                host: "greedy-sender".to_owned(),
                node: flow.sender_node,
                device: OwnedFd::from(writing),
            }],
            classifier,
            observations,
            mtu: 1500,
            lateness_bound: Span::from_micros(200),
        };
        let error = Router::new(parts, RouterControl::new(), clock).unwrap().run().unwrap_err();
        assert!(error.to_string().contains("\"greedy-sender\""), "{error}");
        recorder.finish().unwrap();
    }
}

#[test]
fn lateness_may_be_a_tenth_of_what_the_path_holds_packets_for() {
    let of = |rate: &str, more: &str| {
        let text = PATH.replace("rate = \"100 kbit/s\"", &format!("rate = \"{rate}\"\n{more}"));
        lateness_bound(&experiment(&text))
    };
    // 1500 bytes take 120 ms.
    assert_eq!(of("100 kbit/s", ""), Span::from_millis(12));
    assert_eq!(of("20 Mbit/s", ""), Span::from_micros(200));
    let bunches = |least: u32, most: u32| {
        format!(
            "reverse_impairments = {{ slot = {{ min_delay = \"{least} ms\", max_delay = \"{most} ms\" }} }}"
        )
    };
    assert_eq!(of("20 Mbit/s", &bunches(15, 25)), Span::from_millis(2));
    assert_eq!(of("20 Mbit/s", &bunches(1, 2)), Span::from_micros(200));
    assert_eq!(of("100 kbit/s", &bunches(15, 25)), Span::from_millis(12));
}
