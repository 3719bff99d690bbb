//! Tests of the tables from packets of made-up connections.

use super::*;
use fairwind_assembly::CaptureWriters;
use fairwind_measure::{Settings, Tables};
use fairwind_recorder::{ObservationPoint, REPORT_INTERVAL, Recorder, RecorderParts};
use fairwind_wire::bytes::{IpHeader, Payload, emit};

const NODES: [NodeId; 2] = [NodeId(0), NodeId(1)];

/// Packets between a program's port 40000 and port 80 outside.
struct Scene {
    connections: ConnectionTracker,
    observations: ObservationWriter,
    recorder: Recorder,
    now: Instant,
    /// Of the program.
    port: u16,
}

impl Scene {
    fn new() -> Self {
        let settings = Settings {
            groups: GROUPS.map(str::to_owned).to_vec(),
            end: Instant::from_millis(100_000),
            ..Settings::default()
        };
        let parts = RecorderParts {
            settings,
            captures: CaptureWriters::default(),
            snap: Vec::new(),
            interval: REPORT_INTERVAL,
            live: std::sync::Arc::default(),
        };
        let (recorder, mut observations, _) = Recorder::start(parts, &[]).unwrap();
        let mut connections = ConnectionTracker::new(NODES, true, 0);
        connections.begin(&mut observations);
        Self { connections, observations, recorder, now: Instant::ZERO, port: 40_000 }
    }

    /// A packet of the program, with these numbers.
    fn program(
        &mut self,
        flags: Flags,
        sequence: u32,
        number: u32,
        payload: &[u8],
    ) -> MeasuredPacket {
        self.packet(Side::Program, flags, (sequence, number), payload)
    }

    fn outside(
        &mut self,
        flags: Flags,
        sequence: u32,
        number: u32,
        payload: &[u8],
    ) -> MeasuredPacket {
        self.packet(Side::Outside, flags, (sequence, number), payload)
    }

    fn packet(
        &mut self,
        from: Side,
        flags: Flags,
        (sequence, number): (u32, u32),
        payload: &[u8],
    ) -> MeasuredPacket {
        let forward =
            Addresses::V4 { source: [100, 64, 0, 2].into(), destination: [100, 64, 0, 1].into() };
        let (addresses, ports) = match from {
            Side::Program => (forward, (self.port, 80)),
            Side::Outside => (forward.reversed(), (80, self.port)),
        };
        let segment = Segment {
            source_port: ports.0,
            destination_port: ports.1,
            sequence: SequenceNumber::new(sequence),
            acknowledgment: SequenceNumber::new(number),
            flags,
            payload_bytes: u32::try_from(payload.len()).unwrap(),
            ..Segment::default()
        };
        let mut bytes = Vec::new();
        emit(&IpHeader::new(addresses), &segment, Payload::Bytes(payload), &mut bytes).unwrap();
        self.raw(from, &bytes)
    }

    fn raw(&mut self, from: Side, bytes: &[u8]) -> MeasuredPacket {
        let node = NODES[from.index()];
        let sorted = self.connections.classify(self.now, node, bytes, &mut self.observations);
        let Classification::Flow(to, measured) = sorted else { panic!("all is measured") };
        assert_eq!(to, NODES[from.other().index()]);
        let length = u32::try_from(bytes.len()).unwrap();
        self.observations.on_packet(
            self.now,
            ObservationPoint::Departure,
            &measured,
            length,
            bytes,
        );
        self.now += fairwind_units::Span::from_millis(10);
        measured
    }

    fn handshake(&mut self) {
        self.program(Flags::SYN, 100, 0, b"");
        self.outside(Flags::SYN | Flags::ACK, u32::MAX, 101, b"");
        self.program(Flags::ACK, 101, 0, b"");
    }

    fn finish(mut self) -> Tables {
        self.recorder.end_at(self.now);
        self.observations.finish();
        self.recorder.finish().unwrap().tables
    }
}

/// A column of the table `flows` as text, in the order of the flows.
fn flows(tables: &Tables, column: &str) -> Vec<String> {
    let table = tables.get("flows").unwrap();
    let column = table.column(column).unwrap();
    let show = |row| match (column.text(row), column.number(row)) {
        (Some(text), _) => text.to_owned(),
        (None, Some(number)) => number.to_string(),
        (None, None) => "-".to_owned(),
    };
    (0..table.rows()).map(show).collect()
}

#[test]
fn finished_connection_expires_after_a_minute() {
    let mut scene = Scene::new();
    let refused = |scene: &mut Scene, port| {
        scene.port = port;
        scene.program(Flags::SYN, 100, 0, b"");
        scene.outside(Flags::RST | Flags::ACK, 0, 101, b"");
    };
    refused(&mut scene, 40_000);
    scene.now = Instant::from_millis(50_000);
    refused(&mut scene, 40_001);
    assert_eq!(scene.connections.known.len(), 2, "what is under way may still come");
    scene.now = Instant::from_millis(70_000);
    refused(&mut scene, 40_002);
    assert_eq!(scene.connections.known.len(), 2, "the first is gone, the second is not");
    // One that was opened anew on the same ports is another one.
    scene.port = 40_001;
    scene.program(Flags::SYN, 900, 0, b"");
    scene.now = Instant::from_millis(140_000);
    refused(&mut scene, 40_003);
    assert_eq!(scene.connections.known.len(), 2, "the one that goes on, and the newest");
}

#[test]
fn connection_has_two_flows_from_syn() {
    let mut scene = Scene::new();
    scene.handshake();
    let request = scene.program(Flags::ACK, 101, 0, b"please");
    let response = scene.outside(Flags::ACK, 0, 107, b"here you are");
    let bare = scene.program(Flags::ACK, 107, 12, b"");
    assert_eq!((request.flow, request.direction), (FlowId(2), Direction::Forward));
    assert_eq!((response.flow, response.direction), (FlowId(3), Direction::Forward));
    assert_eq!((bare.flow, bare.direction), (FlowId(3), Direction::Reverse));
    let tables = scene.finish();
    assert_eq!(flows(&tables, "group")[2..], ["from-program", "to-program"]);
    let names = ["100.64.0.2:40000 > 100.64.0.1:80", "100.64.0.1:80 > 100.64.0.2:40000"];
    assert_eq!(flows(&tables, "name")[2..], names);
    assert_eq!(flows(&tables, "payload_bytes_sent")[2..], ["6", "12"]);
    assert_eq!(flows(&tables, "payload_bytes_read")[2..], ["6", "12"], "across the wrap, too");
    assert_eq!(flows(&tables, "setup_time_s")[2..], ["0.02", "0.02"]);
}

#[test]
fn direction_finishes_when_fin_is_acked() {
    let mut scene = Scene::new();
    scene.handshake();
    scene.program(Flags::FIN | Flags::ACK, 101, 0, b"");
    scene.outside(Flags::ACK, 0, 102, b"the rest");
    scene.outside(Flags::FIN | Flags::ACK, 8, 102, b"");
    scene.program(Flags::ACK, 102, 9, b"");
    let tables = scene.finish();
    assert_eq!(flows(&tables, "finished_s")[2..], ["0.04", "0.06"]);
    assert_eq!(flows(&tables, "payload_bytes_read")[2..], ["0", "8"], "a FIN is no payload");
    assert_eq!(flows(&tables, "failed_s")[2..], ["-", "-"]);
}

#[test]
fn reset_fails_unfinished_flows() {
    let mut scene = Scene::new();
    scene.handshake();
    scene.program(Flags::FIN | Flags::ACK, 101, 0, b"");
    scene.outside(Flags::ACK, 0, 102, b"");
    scene.program(Flags::RST, 102, 0, b"");
    let tables = scene.finish();
    assert_eq!(flows(&tables, "failed_s")[2..], ["-", "0.05"]);
}

#[test]
fn reused_ports_start_new_connection() {
    let mut scene = Scene::new();
    scene.handshake();
    scene.program(Flags::SYN, 5000, 0, b"");
    let again = scene.program(Flags::SYN, 5000, 0, b"");
    assert_eq!(again.flow, FlowId(4));
    let tables = scene.finish();
    assert_eq!(flows(&tables, "syn_retries")[2..], ["0", "0", "1", "0"]);
}

#[test]
fn other_packets_are_counted_per_direction() {
    let mut scene = Scene::new();
    assert_eq!(scene.raw(Side::Program, b"\x45 no packet at all").flow, FlowId(0));
    assert_eq!(scene.raw(Side::Outside, b"\x60").flow, FlowId(1));
    let stray = scene.outside(Flags::ACK, 1, 1, b"nobody saw how this began");
    assert_eq!(stray.flow, FlowId(1));
    let tables = scene.finish();
    assert_eq!(flows(&tables, "group"), ["other", "other"]);
    assert_eq!(flows(&tables, "setup_time_s"), ["0", "0"], "no connection is missed");
    assert_eq!(flows(&tables, "packets_sent"), ["1", "2"]);
}
