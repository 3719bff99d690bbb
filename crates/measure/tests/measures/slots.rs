//! Slots of a carrier: assigned, used and requested by a queue.

use crate::run::{Run, assert_number, count, number, settings};
use fairwind_measure::{FramesAssigned, Observation, QueueId};
use fairwind_units::{Instant, Span};

const QUEUE: QueueId = QueueId(0);

/// Frames of 100 ms with slots of 1000 bytes: one guaranteed, two by rate.
fn assigned(frames: u64) -> Observation<'static> {
    let frames = FramesAssigned {
        frames,
        frame: Span::from_millis(100),
        slot_bytes: 1_000,
        guaranteed: 1,
        by_rate: 2,
        by_volume: 0,
        free: 0,
    };
    Observation::SlotsAssigned { queue: QUEUE, frames }
}

#[test]
fn late_slot_reports_count_in_measured_time() {
    let mut described = settings("a");
    described.warmup = Span::from_secs(1);
    described.end = Instant::from_secs(3);
    described.queue_interval = Some(Span::from_secs(1));
    let mut run = Run::new(&described);
    // Frames at 0, 100, ... 4900 ms; those from 1 s on count, and those before the end at 3 s.
    run.at(0, assigned(50));
    run.at(900, Observation::SlotUsed { queue: QUEUE, sent_bytes: 1_000 });
    run.at(1_500, Observation::SlotUsed { queue: QUEUE, sent_bytes: 250 });
    let request = |bits_per_second, volume_bytes| Observation::CapacityRequested {
        queue: QUEUE,
        bits_per_second,
        volume_bytes,
    };
    run.at(1_600, request(Some(100_000), 0)).at(2_600, request(Some(300_000), 0));
    run.at(2_700, request(None, 5_000));
    let tables = run.finish(3_000);
    let slots = |name| count(&tables, "slots", name, 0);
    assert_eq!([slots("frames"), slots("slots_assigned"), slots("slots_by_rate")], [20, 60, 40]);
    assert_eq!(
        [slots("slots_guaranteed"), slots("slots_by_volume"), slots("slots_free")],
        [20, 0, 0]
    );
    assert_eq!(
        [slots("slots_used"), slots("carried_bytes"), slots("capacity_bytes")],
        [1, 250, 60_000]
    );
    assert_eq!([slots("requests"), slots("requested_bytes")], [3, 5_000]);
    assert_number(&tables, "slots", "frame_s", 0, 0.1);
    assert_number(&tables, "slots", "slot_use_ratio", 0, 1.0 / 60.0);
    assert_number(&tables, "slots", "capacity_use_ratio", 0, 250.0 / 60_000.0);
    // 3000 bytes in every 100 ms.
    assert_number(&tables, "slots", "assigned_bits_per_second", 0, 240_000.0);
    assert_number(&tables, "slots", "requested_mean_bits_per_second", 0, 200_000.0);
    assert_eq!(slots("requested_max_bits_per_second"), 300_000);

    let windows =
        |name| [0, 1].map(|row| number(&tables, "slot_intervals", name, row).unwrap_or(-1.0));
    let is = |name, expected: [f64; 2]| {
        for (found, expected) in windows(name).into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{name}: {found}, not {expected}");
        }
    };
    is("start_s", [1.0, 2.0]);
    is("interval_s", [1.0, 1.0]);
    is("slots_assigned", [30.0, 30.0]);
    is("slots_used", [1.0, 0.0]);
    is("requested_mean_bits_per_second", [100_000.0, 300_000.0]);
    is("assigned_bits_per_second", [240_000.0, 240_000.0]);
    assert_eq!(tables.get("slot_intervals").map(fairwind_measure::Table::rows), Some(2));
}

#[test]
fn queues_without_slots_have_no_rows() {
    let tables = Run::new(&settings("a")).finish(1_000);
    assert_eq!(tables.get("slots").map(fairwind_measure::Table::rows), Some(0));
}
