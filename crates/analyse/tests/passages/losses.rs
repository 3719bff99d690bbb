//! Lost packets, received ones, and those with an unknown fate.

use crate::world::{HEADER, World, assert_conserved, bare, data, ms, number, stamped};
use fairwind_analyse::one_way::{
    ClockModel, FlowName, FlowPairDescription, OneWayFlows, OneWaySettings, Tap,
};
use fairwind_measure::Direction;
use fairwind_units::{Instant, Span};
use fairwind_wire::Flags;

const KNOWN: [&str; 3] = ["packets_sent", "packets_lost", "packets_unjudged"];

#[test]
fn missing_original_is_lost_retransmission_is_not() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(0, &stamped(data(100, 1000), 1));
    world.sent(1, &stamped(data(1100, 500), 2));
    world.passed(2, &stamped(data(1600, 1000), 3));
    world.passed(50, &stamped(data(1100, 500), 50));
    let (lost, report) = world.end();
    assert_eq!(lost.len(), 1);
    let lost = lost[0];
    assert_eq!((lost.connection, lost.direction, lost.at), (7, Direction::Forward, ms(1)));
    assert_eq!((lost.payload_bytes, lost.wire_bytes, lost.has_length), (500, 500 + HEADER, true));
    assert_eq!(report.counts(KNOWN), [4.0, 1.0, 0.0]);
    let bytes = ["payload_bytes_sent", "payload_bytes_lost", "wire_bytes_lost"];
    assert_eq!(report.counts(bytes), [3000.0, 500.0, 552.0]);
    assert_eq!(report.counts(["ranges_received", "ranges_lost"]), [3.0, 1.0]);
    assert_eq!(report.count("packet_loss_ratio"), 0.25);
    assert_eq!(report.count("range_loss_ratio"), 0.25);
    assert_eq!(report.count("payload_byte_loss_ratio"), 500.0 / 3000.0);
    assert_eq!(report.count("redundant_bytes_sent"), 500.0);
    assert_conserved(&report);
}

#[test]
fn delay_identifies_copy_without_timestamps() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(0, &data(100, 1000));
    // The last packet is lost, and repeated by a time-out.
    world.sent(10, &data(1100, 1000));
    world.sent(300, &data(1100, 1000));
    let arrival = world.came(310, &data(1100, 1000));
    assert_eq!((arrival.delay, arrival.repeat), (Some(10_000_000), 1));
    let (lost, report) = world.end();
    assert_eq!(lost.iter().map(|lost| lost.at).collect::<Vec<_>>(), [ms(10)]);
    assert_conserved(&report);
}

#[test]
fn late_packet_is_not_lost() {
    let mut world = World::new(OneWaySettings::default());
    for packet in 0..5_u32 {
        world.sent(packet.into(), &data(100 + packet * 10, 10));
    }
    // In another order than sent.
    for (at, packet) in [(10, 0), (12, 2), (13, 4), (14, 3), (30, 1)] {
        world.came(at, &data(100 + packet * 10, 10));
    }
    let (lost, report) = world.end();
    assert!(lost.is_empty());
    assert_eq!(report.counts(KNOWN), [5.0, 0.0, 0.0]);
    assert_eq!(report.delay("network", "max_s"), 29.0);
    assert_conserved(&report);
}

#[test]
fn packets_in_flight_at_end_are_unjudged() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(0, &data(100, 1000));
    world.passed(5, &data(1100, 1000));
    world.sent(16, &data(2100, 1000));
    world.sent(18, &data(3100, 400));
    let (lost, report) = world.end();
    assert!(lost.is_empty());
    assert_eq!(report.counts(KNOWN), [4.0, 0.0, 2.0]);
    let unjudged = ["payload_bytes_unjudged", "ranges_unjudged", "payload_bytes_lost"];
    assert_eq!(report.counts(unjudged), [1400.0, 2.0, 0.0]);
    assert_conserved(&report);
}

#[test]
fn loss_is_reported_after_loss_wait() {
    let mut world = World::new(OneWaySettings {
        loss_timeout: Span::from_secs(2),
        ..OneWaySettings::default()
    });
    world.sent(0, &data(100, 10));
    let mut reported = Vec::new();
    for packet in 1..40_u32 {
        world.passed(u64::from(packet) * 100, &data(100 + packet * 10, 10));
        reported.extend(world.passages.next_lost().map(|_| packet));
    }
    // A quarter more each for the sake of many at once.
    assert!(reported.len() == 1 && (25..=31).contains(&reported[0]), "{reported:?}");
    let (_, report) = world.end();
    assert_eq!(report.counts(KNOWN), [40.0, 1.0, 0.0]);
}

#[test]
fn packets_without_payload_match_by_headers() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(0, &bare(Flags::SYN, 99, 0));
    world.sent_back(10, &bare(Flags::SYN | Flags::ACK, 499, 100));
    world.came_back(20, &bare(Flags::SYN | Flags::ACK, 499, 100));
    world.passed(20, &bare(Flags::ACK, 100, 500));
    for packet in 0..4_u32 {
        world.passed(30 + u64::from(packet), &data(100 + packet * 10, 10));
        let acknowledgment = bare(Flags::ACK, 500, 110 + packet * 10);
        world.sent_back(40 + u64::from(packet), &acknowledgment);
        if packet != 1 {
            world.came_back(50 + u64::from(packet), &acknowledgment);
        }
    }
    world.sent(60, &bare(Flags::FIN | Flags::ACK, 140, 500));
    world.passed(260, &bare(Flags::FIN | Flags::ACK, 140, 500));
    let (lost, report) = world.end();
    let lost: Vec<_> = lost.iter().map(|lost| (lost.direction, lost.at, lost.has_length)).collect();
    assert_eq!(
        lost,
        [(Direction::Reverse, ms(41), false)],
        "two equal FINs cannot be distinguished: the second one may still arrive"
    );
    assert_eq!(report.counts(["ack_packets_sent", "ack_packets_lost"]), [5.0, 1.0]);
    assert_eq!(report.count("ack_loss_ratio"), 0.2);
}

#[test]
fn departures_before_other_capture_are_not_lost() {
    let settings = OneWaySettings { clock: ClockModel::Apart, ..OneWaySettings::default() };
    let mut world = World::new(settings);
    for packet in 0..5_u32 {
        world.sent(u64::from(packet) * 1000, &data(100 + packet * 10, 10));
    }
    for packet in 5..9_u32 {
        world.passed(u64::from(packet) * 1000, &data(100 + packet * 10, 10));
    }
    world.sent(9_000, &data(190, 10));
    world.passed(9_001, &data(200, 10));
    world.passed(9_002, &data(190, 10));
    let (lost, report) = world.end();
    assert_eq!(lost.iter().map(|lost| lost.at).collect::<Vec<_>>(), [ms(9_000)]);
    assert_eq!(report.counts(KNOWN), [12.0, 1.0, 5.0]);
    assert_conserved(&report);
}

#[test]
fn acknowledged_bytes_missing_in_capture_are_not_lost() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(0, &data(100, 100));
    world.sent(1, &data(200, 100));
    world.passed(2, &data(300, 100));
    world.sent_back(13, &bare(Flags::ACK, 500, 400));
    world.came_back(23, &bare(Flags::ACK, 500, 400));
    world.passed(200, &data(400, 100));
    let (lost, report) = world.end();
    assert!(lost.is_empty());
    assert_eq!(report.counts(KNOWN), [4.0, 0.0, 1.0]);
    assert_eq!(report.count("payload_bytes_arrival_unseen"), 100.0);
    assert_eq!(report.delay("application", "max_s"), 208.0, "from 2 ms on");
    assert_conserved(&report);
}

#[test]
fn losses_count_in_window_of_departure() {
    let mut world = World::new(OneWaySettings {
        origin: Instant::from_secs(1),
        intervals: vec![Span::from_secs(1)],
        ..OneWaySettings::default()
    });
    world.passed(1_000, &data(100, 100));
    world.sent(1_999, &data(200, 100));
    world.passed(2_100, &data(300, 100));
    // Old and new bytes in one packet, lost; then the repetition of the first loss.
    world.sent(2_200, &data(400, 60));
    world.sent(2_300, &data(400, 100));
    world.passed(3_500, &data(200, 100));
    world.passed(3_600, &data(400, 100));
    let (_, report) = world.end();
    let table = report.groups.get("losses").unwrap();
    let row = |columns: [&str; 4], row: usize| columns.map(|column| number(table, column, row));
    assert_eq!(table.rows(), 3);
    let packets = ["start_s", "packets_sent", "packets_lost", "ranges_lost"];
    assert_eq!(row(packets, 0), [0.0, 2.0, 1.0, 1.0]);
    assert_eq!(row(packets, 1), [1.0, 3.0, 2.0, 2.0]);
    assert_eq!(row(packets, 2), [2.0, 2.0, 0.0, 0.0]);
    let bytes = ["payload_bytes_sent", "payload_bytes_lost", "old_bytes_lost", "new_bytes_lost"];
    assert_eq!(row(bytes, 0), [200.0, 100.0, 0.0, 100.0]);
    assert_eq!(row(bytes, 1), [260.0, 160.0, 60.0, 100.0]);
    assert_eq!(row(bytes, 2), [200.0, 0.0, 0.0, 0.0]);
    let ratios = [
        "range_loss_ratio",
        "payload_byte_loss_ratio",
        "old_share_of_lost_ratio",
        "payload_byte_loss_of_total_ratio",
    ];
    assert_eq!(row(ratios, 1), [2.0 / 3.0, 160.0 / 260.0, 60.0 / 160.0, 160.0 / 660.0]);
    let rest =
        ["old_byte_loss_ratio", "new_byte_loss_ratio", "range_loss_of_total_ratio", "ranges_sent"];
    assert_eq!(row(rest, 1), [60.0 / 260.0, 100.0 / 260.0, 2.0 / 7.0, 3.0]);
    let sent = ["interval_s", "old_bytes_sent", "new_bytes_sent", "payload_bytes_sent"];
    assert_eq!(row(sent, 2), [1.0, 200.0, 0.0, 200.0]);
}

#[test]
fn jump_of_decades_adds_one_loss_window() {
    let mut world = World::new(OneWaySettings {
        intervals: vec![Span::from_millis(1)],
        ..OneWaySettings::default()
    });
    world.passed(0, &data(100, 100));
    world.passed(5, &data(200, 100));
    world.passed(1_000_000_000_000, &data(300, 100));
    let (_, report) = world.end();
    let starts = |table: &str| {
        let table = report.groups.get(table).unwrap();
        (0..table.rows()).map(|row| number(table, "start_s", row)).collect::<Vec<_>>()
    };
    // Four milliseconds of silence belong to the series; thirty years do not.
    assert_eq!(starts("losses"), [0.0, 0.001, 0.002, 0.003, 0.004, 0.005, 1_000_000_000.0]);
    assert_eq!(starts("queueing"), [0.0, 0.005, 1_000_000_000.0]);
}

#[test]
fn connection_unseen_at_other_tap_has_no_losses() {
    for (clock, lost) in [(ClockModel::Apart, 0.0), (ClockModel::Shared, 3.0)] {
        let mut world = World::new(OneWaySettings { clock, ..OneWaySettings::default() });
        // Another connection is seen at both.
        let description = FlowPairDescription {
            group: 0,
            data_groups: [0; 2],
            connection: 8,
            opener: Tap::Sender,
            counted_from: Instant::ZERO,
        };
        let other = world.passages.open(description);
        for at in (0..100).map(|second| second * 1_000) {
            let packet = data(u32::try_from(at).unwrap(), 1_000);
            world.passages.on_departure(other, Direction::Forward, ms(at), &packet);
            world.passages.on_arrival(other, Direction::Forward, ms(at + 10), &packet);
            if at < 3_000 {
                world.sent(at, &packet);
            }
        }
        let (reported, report) = world.end();
        assert_eq!(reported.len(), if lost > 0.0 { 3 } else { 0 });
        assert_eq!(report.counts(KNOWN), [3.0, lost, 3.0 - lost]);
    }
}

/// Memory and time stay within bounds where the other capture shows nothing of a connection, or all
/// packets have one timestamp.
#[test]
fn unarrived_packets_are_forgotten() {
    for step in [0, 1] {
        let mut world = World::new(OneWaySettings::default());
        world.passed(0, &data(100, 10));
        let packets = 300_000_u32;
        for packet in 1..=packets {
            world.sent(u64::from(packet) / 10 * step, &data(100 + packet * 10, 10));
        }
        let (lost, report) = world.end();
        let [sent, lost_packets, unjudged] = report.counts(KNOWN);
        assert_eq!((sent, lost_packets + unjudged), (300_001.0, 300_000.0));
        assert_eq!(u32::try_from(lost.len()).map(f64::from), Ok(lost_packets));
        assert!(lost_packets > 150_000.0, "{lost_packets} lost");
        assert_conserved(&report);
    }
}

/// Forty thousand retransmissions of as many segments that never arrive, and arrivals that are none of them:
/// each is compared with few of them, so that this ends soon; and the last retransmission is still found.
#[test]
fn arrivals_match_without_scanning_all_retransmissions() {
    let mut world = World::new(OneWaySettings::default());
    world.passed(0, &stamped(data(100, 10), 1));
    let packets = 40_000_u32;
    for time in [2, 3] {
        for packet in 1..=packets {
            world.sent(time.into(), &stamped(data(100 + packet * 10, 10), time));
        }
    }
    for packet in 1..=packets {
        world.came(10, &stamped(data(100 + packet, 1), 1));
    }
    assert_eq!(world.came(13, &stamped(data(100 + packets * 10, 10), 3)).repeat, 1);
    let (_, report) = world.end();
    assert_eq!(report.count("payload_bytes_matched"), 20.0);
    assert_conserved(&report);
}

/// The answer to SYN leaves, and is lost, before the answering side has sent data.
#[test]
fn loss_counts_where_its_departure_did() {
    let intervals = vec![Span::from_secs(1)];
    let mut passages = OneWayFlows::new(OneWaySettings { intervals, ..OneWaySettings::default() });
    let [connections, answers] = ["connections", "answers"].map(|name| passages.add_group(name));
    let id = passages.open(FlowPairDescription {
        group: connections,
        data_groups: [connections, answers],
        connection: 1,
        opener: Tap::Sender,
        counted_from: Instant::ZERO,
    });
    passages.on_departure(id, Direction::Reverse, ms(0), &bare(Flags::SYN, 99, 1));
    for sequence in [100, 200, 300] {
        let at = u64::from(sequence);
        passages.on_departure(id, Direction::Reverse, ms(at), &data(sequence, 100));
        if sequence != 200 {
            passages.on_arrival(id, Direction::Reverse, ms(at + 10), &data(sequence, 100));
        }
    }
    let name = |number, name| FlowName { number, name };
    passages.close(id, name(0, "there"), Some(name(1, "back")));
    passages.finish();
    while passages.take_rows(100).is_some() {}
    let tables = passages.group_tables();
    for table in ["losses", "loss_runs"] {
        let table = tables.get(table).unwrap();
        let row = |row| ["packets_sent", "packets_lost"].map(|column| number(table, column, row));
        assert_eq!([row(0), row(1)], [[1.0, 1.0], [3.0, 1.0]]);
    }
}
