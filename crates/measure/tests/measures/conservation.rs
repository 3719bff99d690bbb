//! Conservation: packets sent are received, lost or in flight; windows add up to totals.

use crate::run::{HEADER_BYTES, Run, count, number, settings};
use fairwind_measure::{Direction, DropReason, Dropped, FlowId, Observation, QueueId, Settings};
use fairwind_units::Span;
use proptest::prelude::*;

/// What becomes of a packet that is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Arrives,
    IsLost,
    StaysInFlight,
}

fn fates() -> impl Strategy<Value = Vec<(u64, u32, Fate, bool)>> {
    let fate = prop_oneof![
        6 => Just(Fate::Arrives),
        2 => Just(Fate::IsLost),
        1 => Just(Fate::StaysInFlight),
    ];
    proptest::collection::vec((0..40_u64, 1..1_461_u32, fate, any::<bool>()), 0..200)
}

proptest! {
    #[test]
    fn sent_is_received_and_lost_and_in_flight(packets in fates()) {
        let mut run = Run::new(&Settings {
            intervals: vec![Span::from_millis(1)],
            ..settings("a")
        });
        let (mut highest, mut millis) = (0_u64, 0);
        let (mut retransmitted, mut bundled) = (0, 0);
        let (mut in_flight, mut in_flight_payload) = (0, 0);
        let mut seen = vec![false; 200 * 1_460];
        let mut duplicate = 0;
        for (gap, length, fate, is_again) in packets {
            millis += gap;
            // Again: something that begins before the highest byte sent, all of it every second time.
            let back = u64::from(if millis % 2 == 0 { length } else { length / 2 });
            let offset = if is_again { highest.saturating_sub(back) } else { highest };
            let end = offset + u64::from(length);
            // What brings something new is a bundle, whatever else it brings.
            *(if end > highest { &mut bundled } else { &mut retransmitted }) += (highest - offset).min(end - offset);
            highest = highest.max(end);
            run.send(millis, 0, offset, length);
            match fate {
                Fate::Arrives => {
                    run.receive(millis, 0, offset, length);
                    let bytes = &mut seen[usize::try_from(offset)?..usize::try_from(end)?];
                    duplicate += bytes.iter().filter(|seen| **seen).count() as u64;
                    bytes.fill(true);
                }
                Fate::IsLost => {
                    run.at(millis, Observation::Dropped(Dropped {
                        flow: FlowId(0),
                        direction: Direction::Forward,
                        queue: QueueId(0),
                        payload_bytes: length,
                        wire_bytes: length + HEADER_BYTES,
                        reason: DropReason::QueueFull,
                        waited: None,
backlog: None,
                    }));
                }
                Fate::StaysInFlight => {
                    in_flight += 1;
                    in_flight_payload += u64::from(length);
                }
            }
        }
        let tables = run.finish(millis + 1);
        let flow = |column: &str| count(&tables, "flows", column, 0);
        prop_assert_eq!(
            flow("packets_sent"),
            flow("packets_received") + flow("packets_lost") + in_flight
        );
        prop_assert_eq!(
            flow("payload_bytes_sent"),
            flow("payload_bytes_received") + flow("payload_bytes_lost") + in_flight_payload
        );
        prop_assert_eq!(
            flow("wire_bytes_sent"),
            flow("wire_bytes_received")
                + flow("wire_bytes_lost")
                + in_flight_payload
                + in_flight * u64::from(HEADER_BYTES)
        );
        prop_assert_eq!(flow("bytes_retransmitted"), retransmitted);
        prop_assert_eq!(flow("bundled_bytes_sent"), bundled);
        prop_assert_eq!(flow("payload_bytes_duplicate"), duplicate);
        for column in ["packets_sent", "bytes_retransmitted", "bundled_bytes_sent", "packets_lost"] {
            let windows = tables.get("intervals").unwrap().rows();
            let sum: u64 = (0..windows).map(|row| count(&tables, "intervals", column, row)).sum();
            prop_assert_eq!(sum, flow(column), "the windows of {}", column);
        }
        prop_assert_eq!(count(&tables, "queue_drops", "packets", 0), flow("packets_lost"));
        prop_assert_eq!(number(&tables, "flows", "goodput_bits_per_second", 0), Some(0.0));
    }
}
