//! Conservation of bytes over random paths.

use crate::world::{World, assert_conserved, bare, data, stamped};
use fairwind_analyse::one_way::OneWaySettings;
use fairwind_units::Span;
use fairwind_wire::Flags;
use proptest::prelude::*;

/// Departure or arrival, either way; when; where in the stream; how much; stamp or none.
type Event = (u8, u16, u16, u16, Option<u8>);

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = (0_u8..4, 0_u16..2_000, 0_u16..400, 0_u16..60, proptest::option::of(0_u8..4));
    proptest::collection::vec(event, 0..200)
}

proptest! {
    #[test]
    fn all_sent_and_received_bytes_are_accounted(events in events(), loss_timeout in 0_u64..3) {
        let mut world = World::new(OneWaySettings {
            loss_timeout: Span::from_secs(loss_timeout),
            intervals: vec![Span::from_millis(300)],
            ..OneWaySettings::default()
        });
        let mut at = 5_000;
        for (what, later, start, length, stamp) in events {
            at += u64::from(later % 40);
            let packet = if length == 0 {
                bare(Flags::ACK, start.into(), later.into())
            } else {
                data(start.into(), length.into())
            };
            let packet = stamp.map_or(packet, |stamp| stamped(packet, stamp.into()));
            match what {
                0 => drop(world.sent(at, &packet)),
                1 => drop(world.came(at, &packet)),
                2 => world.sent_back(at, &packet),
                _ => world.came_back(at, &packet),
            }
        }
        let (lost, report) = world.end();
        assert_conserved(&report);
        let reported: u64 = lost.iter()
            .filter(|lost| lost.direction == fairwind_measure::Direction::Forward)
            .map(|lost| u64::from(lost.payload_bytes)).sum();
        prop_assert_eq!(reported.to_string(), report.count("payload_bytes_lost").to_string());
        let first: f64 = report.first_arrivals().iter().map(|row| row.3).sum();
        prop_assert!(first <= report.count("payload_bytes_matched"));
    }
}
