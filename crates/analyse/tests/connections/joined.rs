//! Connections that two taps see.

use crate::dialogue::{CLIENT, Dialogue, Pair, WAY, cell, cells, table};
use fairwind_analyse::{
    AddressTranslation, Analysis, ClockMode, NextPacket, Outcome, PacketSource, Progress, Settings,
    TimeLimit,
};
use fairwind_capture::Packet;
use fairwind_units::{Instant, Span};
use fairwind_wire::Flags;
use fairwind_wire::bytes::Addresses;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Ten segments of 100 bytes, ten milliseconds apart, each acknowledged 20 ms later, and an end.
fn transfer() -> Dialogue {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(1_000_000);
    for segment in 0..10_u32 {
        let at = 1_100_000 + u64::from(segment) * 30_000;
        dialogue.client(at, Flags::ACK, (1 + segment * 100, 1, 100)).server(
            at + 20_000,
            Flags::ACK,
            (1, 101 + segment * 100, 0),
        );
    }
    dialogue
}

pub(crate) fn same_clock() -> Settings {
    Settings { clock: ClockMode::Same, ..Settings::default() }
}

#[test]
fn departures_match_arrivals_at_other_tap() {
    let outcome = Pair::of(&transfer()).analysed_by(same_clock());
    let flows = table(&outcome, "flows");
    let columns = ["packets_sent", "packets_received", "packets_lost", "payload_bytes_read"];
    assert_eq!(cells(flows, 0, columns), ["12", "12", "0", "1000"]);
    let connections = table(&outcome, "connections");
    let columns = ["taps", "vantage", "opener_packets", "answerer_packets", "answer_time_s"];
    assert_eq!(cells(connections, 0, columns), ["both", "near-opener", "12", "11", "0.02"]);
    let passages = table(&outcome, "passages");
    let rows = 0..passages.rows();
    let scopes: Vec<_> = rows.map(|row| cell(passages, row, "scope")).collect();
    assert_eq!(scopes, ["flow", "group"]);
    let columns = ["packets_sent", "packets_received", "ack_packets_sent", "payload_bytes_lost"];
    // Packets without payload that came back, the answer to SYN among them, as in `flows`.
    assert_eq!(cells(passages, 0, columns), ["12", "12", "11", "0"]);
    assert_eq!(outcome.facts.one_sided, 0);
}

/// The first of the ten segments is on its way when the part that is asked for begins: sent before, it arrives and is
/// acknowledged within.
#[test]
fn requested_part_follows_connections_from_their_beginning() {
    let from = Some(TimeLimit::Since(Span::from_millis(100) + WAY / 2));
    let outcome = Pair::of(&transfer()).analysed_by(Settings { from, ..same_clock() });
    let flows = table(&outcome, "flows");
    let columns = ["packets_sent", "packets_received", "packets_lost", "payload_bytes_read"];
    assert_eq!(cells(flows, 0, columns), ["9", "10", "0", "1000"]);
    let connections = table(&outcome, "connections");
    assert_eq!(cells(connections, 0, ["taps", "beginning"]), ["both", "syn"]);
    let passages = table(&outcome, "passages");
    let columns = ["packets_sent", "packets_received", "packets_lost", "packets_duplicated"];
    assert_eq!(cells(passages, 0, columns), ["9", "10", "0", "0"]);
    assert_eq!(cell(table(&outcome, "delays"), 0, "min_s"), WAY.as_secs_f64().to_string());

    let alone = transfer().analysed_by(Settings { from, ..Settings::default() });
    assert_eq!(cell(table(&alone, "connections"), 0, "vantage"), "near-opener");
    let columns = ["packets_sent", "ack_latency_max_s", "payload_bytes_read"];
    assert_eq!(cells(table(&alone, "flows"), 0, columns), ["9", "0.02", "1000"]);
    let columns = ["data_segments", "rtt_min_s", "rtt_max_s"];
    let segments = cells(table(&alone, "transport"), 0, columns);
    assert_eq!(segments, ["9", "0.02", "0.02"]);
}

/// From 1.25 s on every segment takes a millisecond longer than before: the part has no packet without it.
#[test]
fn delays_of_part_exceed_smallest_before_it() {
    let from = Span::from_millis(250);
    let mut pair = Pair::of(&transfer());
    for packet in &mut pair.near_server.packets {
        if packet.segment.payload_bytes > 0 && packet.at > Instant::from_secs(1) + from {
            packet.at += Span::from_millis(1);
        }
    }
    let by_time = Settings { from: Some(TimeLimit::Since(from)), ..same_clock() };
    let by_age = Settings { connection_from: from, ..same_clock() };
    let columns = ["payload_bytes", "variation_mean_s", "variation_max_s"];
    for settings in [by_time, by_age] {
        let outcome = pair.analysed_by(settings);
        assert_eq!(cells(table(&outcome, "delays"), 0, columns), ["500", "0.001", "0.001"]);
    }
    let whole = pair.analysed_by(same_clock());
    let columns = ["payload_bytes", "variation_mean_s", "variation_max_s"];
    assert_eq!(cells(table(&whole, "delays"), 0, columns), ["1000", "0.0005", "0.001"]);
}

#[test]
fn connection_before_requested_part_is_omitted() {
    let mut dialogue = transfer();
    dialogue.client(1_500_000, Flags::RST, (1001, 0, 0));
    let from = Some(TimeLimit::Since(Span::from_secs(1)));
    let outcome = dialogue.analysed_by(Settings { from, ..Settings::default() });
    for name in ["flows", "connections"] {
        assert_eq!(table(&outcome, name).rows(), 0, "{name}");
    }
    assert_eq!(cell(table(&outcome, "groups"), 0, "packets_sent"), "0");
}

#[test]
fn missing_packet_is_lost_and_retransmission_is_not() {
    let mut dialogue = Dialogue::new();
    dialogue
        .set_up(1_000_000)
        .client(1_100_000, Flags::ACK, (1, 1, 100))
        .client(1_300_000, Flags::ACK, (1, 1, 100))
        .server(1_320_000, Flags::ACK, (1, 101, 0));
    let mut pair = Pair::of(&dialogue);
    let lost = pair.near_server.packets.iter().position(|packet| packet.segment.payload_bytes > 0);
    pair.near_server.packets.remove(lost.expect("data"));
    let outcome = pair.analysed_by(same_clock());
    let columns = ["packets_sent", "packets_received", "packets_lost", "payload_bytes_lost"];
    assert_eq!(cells(table(&outcome, "passages"), 0, columns), ["4", "3", "1", "100"]);
    assert_eq!(cells(table(&outcome, "flows"), 0, columns), ["4", "3", "1", "100"]);
}

/// The answer to SYN leaves the server at 1.011 s, and what acknowledges it comes there at 1.02901 s.
#[test]
fn answerer_set_up_is_timed_at_near_tap() {
    let answered = |retries: u64| {
        let mut dialogue = Dialogue::new();
        dialogue.syn(1_000_000);
        for retry in 0..=retries {
            dialogue.syn_ack(1_020_000 + retry);
        }
        dialogue.ack(1_020_010).server(1_500_000, Flags::ACK, (1, 1, 1000)).client(
            1_500_010,
            Flags::ACK,
            (1, 1001, 0),
        );
        let outcome = Pair::of(&dialogue).analysed_by(same_clock());
        let transport = table(&outcome, "transport");
        (0..transport.rows())
            .filter(|&row| cell(transport, row, "scope") == "flow")
            .find(|&row| cell(transport, row, "name").starts_with("10.0.0.2"))
            .map(|row| cell(transport, row, "handshake_rtt_mean_s"))
    };
    assert_eq!(answered(0).as_deref(), Some("0.01801"));
    assert_eq!(answered(1).as_deref(), Some(""), "a SYN that was sent twice (RFC 6298 §3)");
}

/// What the answerer sends is read as arriving before it is read as leaving, in the same instant.
#[test]
fn one_capture_for_both_taps_has_no_losses() {
    let mut dialogue = Dialogue::new();
    dialogue
        .set_up(1_000_000)
        .client(1_100_000, Flags::ACK, (1, 1, 100))
        .server(1_120_000, Flags::ACK, (1, 101, 0))
        .server(1_121_000, Flags::ACK, (1, 101, 0))
        .server(1_121_000, Flags::ACK, (1, 101, 0))
        .server(1_130_000, Flags::ACK, (1, 101, 500))
        .server(1_430_000, Flags::ACK, (1, 101, 500))
        .server(1_430_000, Flags::ACK, (1, 101, 500))
        .client(1_430_010, Flags::ACK, (101, 501, 0))
        .client(1_430_010, Flags::ACK, (101, 501, 0));
    let pair = Pair { near_client: dialogue.clone(), near_server: dialogue };
    let outcome = pair.analysed_by(same_clock());
    let passages = table(&outcome, "passages");
    let columns = ["packets_lost", "packets_duplicated", "packets_unjudged", "ack_packets_lost"];
    for row in 0..passages.rows() {
        assert_eq!(cells(passages, row, columns), ["0", "0", "0", "0"]);
    }
    let columns = ["payload_bytes_sent", "payload_bytes_matched", "packets_received"];
    assert_eq!(cells(passages, 1, columns), ["1500", "1500", "7"]);
    let columns = ["packets_sent", "packets_received", "packets_lost"];
    assert_eq!(cells(table(&outcome, "flows"), 1, columns), ["4", "4", "0"]);
}

#[test]
fn two_clocks_are_compared_by_common_packets() {
    let mut pair = Pair::of(&transfer());
    for packet in &mut pair.near_server.packets {
        packet.at = Instant::ZERO + packet.at.since_origin().saturating_sub(Span::from_millis(700));
    }
    let outcome = pair.analysed_by(Settings { clock: ClockMode::Free, ..Settings::default() });
    assert_eq!(outcome.facts.clock_offset_nanos, Some(-700_000_000));
    assert_eq!(cell(table(&outcome, "clocks"), 0, "offset_s"), "-0.7");
    let columns = ["packets_sent", "packets_received", "packets_lost", "payload_bytes_read"];
    assert_eq!(cells(table(&outcome, "flows"), 0, columns), ["12", "12", "0", "1000"]);
    assert_eq!(cell(table(&outcome, "connections"), 0, "vantage"), "near-opener");
    let delays = table(&outcome, "delays");
    assert_eq!(cell(delays, 0, "min_s"), WAY.as_secs_f64().to_string());
}

/// Packets that can be read again.
#[derive(Debug, Clone)]
struct Kept {
    packets: Arc<Vec<Packet>>,
    next: usize,
}

impl Kept {
    fn of(packets: Vec<Packet>) -> Self {
        Self { packets: Arc::new(packets), next: 0 }
    }
}

impl PacketSource for Kept {
    fn next(&mut self, packet: &mut Packet) -> NextPacket {
        let Some(next) = self.packets.get(self.next) else { return NextPacket::End };
        *packet = *next;
        self.next += 1;
        NextPacket::Packet
    }

    fn reopen(&self) -> Option<Self> {
        Some(Self { next: 0, ..self.clone() })
    }
}

/// The capture near the server was begun half a minute, and 60 000 packets, after the other one, with a clock
/// that is 700 s behind.
#[test]
fn captures_with_different_begin_use_common_packets() {
    let mut dialogue = Dialogue::new();
    dialogue.set_up(800_000_000);
    for segment in 0..32_000_u32 {
        let at = 800_100_000 + u64::from(segment) * 1_000;
        dialogue.client(at, Flags::ACK, (1 + segment * 100, 1, 100));
        dialogue.server(at + 20_000, Flags::ACK, (1, 101 + segment * 100, 0));
    }
    dialogue.packets.sort_by_key(|packet| packet.at);
    let Pair { near_client, mut near_server } = Pair::of(&dialogue);
    near_server.packets.retain(|packet| packet.at >= Instant::from_secs(830));
    for packet in &mut near_server.packets {
        packet.at = Instant::ZERO + packet.at.since_origin().saturating_sub(Span::from_secs(700));
    }
    let (first, second) = (Kept::of(near_client.packets), Kept::of(near_server.packets));
    let settings = Settings { clock: ClockMode::Free, ..Settings::default() };
    let mut analysis = Analysis::of_two(first, second, settings).unwrap();
    while analysis.advance(1_000) != Progress::Done {}
    let outcome = analysis.finish();
    assert_eq!(outcome.facts.clock_offset_nanos, Some(-700_000_000_000));
    let clocks = table(&outcome, "clocks");
    assert_eq!(cells(clocks, 0, ["clock", "offset_s", "is_symmetric"]), ["apart", "-700", "true"]);
    // Half a minute of segments had left before the receiver's capture began.
    let columns = ["data_packets_sent", "packets_lost", "payload_bytes_duplicated"];
    assert_eq!(cells(table(&outcome, "passages"), 0, columns), ["32000", "0", "0"]);
    let delays = table(&outcome, "delays");
    assert_eq!(cell(delays, 0, "min_s"), WAY.as_secs_f64().to_string());
}

#[test]
fn captures_without_common_packets_have_no_offset() {
    let mut pair = Pair::of(&transfer());
    for packet in &mut pair.near_server.packets {
        packet.segment.window = 7;
    }
    let outcome = pair.analysed_by(Settings { clock: ClockMode::Free, ..Settings::default() });
    assert_eq!((outcome.facts.clock_packets, outcome.facts.clock_offset_nanos), (0, None));
    let mut other = transfer();
    other.packets.clear();
    let pair = Pair { near_client: transfer(), near_server: other };
    let outcome = pair.analysed_by(Settings { clock: ClockMode::Free, ..Settings::default() });
    assert_eq!(cells(table(&outcome, "clocks"), 0, ["offset_s", "is_symmetric"]), ["", "false"]);
}

#[test]
fn captures_may_be_swapped() {
    let Pair { near_client, near_server } = Pair::of(&transfer());
    let pair = Pair { near_client: near_server, near_server: near_client };
    let outcome = pair.analysed_by(same_clock());
    let columns = ["packets_sent", "packets_received", "packets_lost", "payload_bytes_read"];
    assert_eq!(cells(table(&outcome, "flows"), 0, columns), ["12", "12", "0", "1000"]);
    assert_eq!(cell(table(&outcome, "connections"), 0, "vantage"), "near-answerer");
}

#[test]
fn connection_in_one_capture_is_analysed() {
    let mut pair = Pair::of(&transfer());
    let mut other = transfer();
    other.client_port = 0;
    for packet in &mut other.packets {
        let segment = &mut packet.segment;
        let port = if segment.source_port == 80 {
            &mut segment.destination_port
        } else {
            &mut segment.source_port
        };
        *port = 50_001;
        packet.at += Span::from_micros(1);
    }
    pair.near_client.packets.extend(other.packets);
    pair.near_client.packets.sort_by_key(|packet| packet.at);
    let outcome = pair.analysed_by(Settings { clock: ClockMode::Free, ..Settings::default() });
    assert_eq!(outcome.facts.one_sided, 1);
    let columns = ["packets_sent", "packets_received", "packets_lost"];
    let of_flow = |outcome: &Outcome, flow| cells(table(outcome, "flows"), flow, columns);
    assert_eq!(of_flow(&outcome, 0), ["12", "12", "0"]);
    assert_eq!(of_flow(&outcome, 1), ["12", "", ""]);
    assert_eq!(cell(table(&outcome, "passages"), 1, "packets_unjudged"), "12");
    assert_eq!(cell(table(&outcome, "connections"), 1, "taps"), "first");
    // With one clock both are taken to have watched one path: nothing of it has come.
    let outcome = pair.analysed_by(same_clock());
    assert_eq!(of_flow(&outcome, 1), ["12", "0", "12"]);
    assert_eq!(cell(table(&outcome, "passages"), 1, "packets_lost"), "12");
}

/// The capture near the client begins after two of ten segments: what the other one shows before tells not which
/// of the two belongs to which side.
#[test]
fn late_capture_keeps_its_near_side() {
    let mut pair = Pair::of(&transfer());
    pair.near_client.packets.retain(|packet| packet.at >= Instant::from_millis(1150));
    for clock in [ClockMode::Free, ClockMode::Same] {
        let outcome = pair.analysed_by(Settings { clock, ..Settings::default() });
        assert_eq!(cell(table(&outcome, "connections"), 0, "vantage"), "near-opener");
        let columns = ["packets_sent", "packets_received", "packets_lost"];
        assert_eq!(cells(table(&outcome, "flows"), 0, columns), ["8", "12", "0"]);
        let columns = ["payload_bytes_matched", "payload_bytes_departure_unseen"];
        assert_eq!(cells(table(&outcome, "passages"), 0, columns), ["800", "200"]);
    }
}

#[test]
fn settings_decide_vantage_with_translated_addresses() {
    let mut pair = Pair::of(&transfer());
    let outside = Ipv4Addr::new(192, 0, 2, 7);
    for packet in &mut pair.near_server.packets {
        let Addresses::V4 { source, destination } = &mut packet.addresses else { continue };
        if *source == CLIENT {
            *source = outside;
            packet.segment.source_port = 61_000;
        } else {
            *destination = outside;
            packet.segment.destination_port = 61_000;
        }
    }
    let translation = AddressTranslation {
        first: (IpAddr::V4(CLIENT), Some(50_000)),
        second: (IpAddr::V4(outside), Some(61_000)),
    };
    let settings = Settings { translations: vec![translation], ..same_clock() };
    let outcome = pair.analysed_by(settings);
    let flows = table(&outcome, "flows");
    assert_eq!(flows.rows(), 1);
    let columns = ["name", "packets_sent", "packets_received"];
    assert_eq!(cells(flows, 0, columns), ["10.0.0.1:50000>10.0.0.2:80", "12", "12"]);
}
