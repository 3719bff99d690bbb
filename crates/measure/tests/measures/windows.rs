//! Begin and end of the measured time, and its windows.

use crate::run::{Run, assert_number, count, number, settings};
use fairwind_measure::{
    CongestionState, Direction, DropReason, Dropped, EmptyRowBudget, FlowId, Observation, QueueId,
    Settings, Tables,
};
use fairwind_units::{Instant, Span};

/// The values of a column of `intervals` for one interval length, group or flow name.
fn series(tables: &Tables, millis: u32, name: &str, column: &str) -> Vec<f64> {
    let table = tables.get("intervals").unwrap();
    let length = f64::from(millis) / 1e3;
    (0..table.rows())
        .filter(|&row| {
            table.column("name").unwrap().text(row) == Some(name)
                && table.column("interval_s").unwrap().number(row) == Some(length)
        })
        .map(|row| table.column(column).unwrap().number(row).unwrap())
        .collect()
}

fn with_intervals(flows: &str, millis: &[u64]) -> Settings {
    Settings {
        intervals: millis.iter().map(|&millis| Span::from_millis(millis)).collect(),
        ..settings(flows)
    }
}

#[test]
fn warm_up_does_not_count() {
    let mut described = settings("a");
    described.warmup = Span::from_secs(1);
    let mut run = Run::new(&described);
    run.syn(0, 0).send(10, 0, 0, 1_000).receive(60, 0, 0, 1_000).read(60, 0, 1_000);
    run.acknowledge(110, 0, 1_000);
    run.at(500, Observation::Timeout { flow: FlowId(0) });
    run.send(1_000, 0, 1_000, 1_000).read(1_100, 0, 1_500);
    let tables = run.finish(2_000);
    assert_number(&tables, "flows", "measured_s", 0, 1.0);
    assert_eq!(count(&tables, "flows", "packets_sent", 0), 1);
    assert_eq!(count(&tables, "flows", "packets_received", 0), 0);
    assert_eq!(count(&tables, "flows", "timeouts", 0), 0);
    assert_eq!(count(&tables, "latencies", "count", 0), 0);
    // Of 1500 B read, 500 B after the warm-up of 1 s, in 1 s.
    assert_number(&tables, "flows", "goodput_bits_per_second", 0, 4_000.0);
}

#[test]
fn warm_up_transmissions_are_remembered() {
    let mut described = settings("a");
    described.warmup = Span::from_secs(1);
    let mut run = Run::new(&described);
    run.syn(0, 0).at(50, Observation::Established { flow: FlowId(0) });
    run.write(900, 0, 1_000).send(900, 0, 0, 1_000);
    run.send(1_200, 0, 0, 1_000).read(1_250, 0, 1_000).acknowledge(1_300, 0, 1_000);
    let tables = run.finish(2_000);
    assert_eq!(count(&tables, "flows", "data_segments_retransmitted", 0), 1);
    assert_number(&tables, "flows", "ack_latency_max_s", 0, 0.4);
    assert_number(&tables, "flows", "delivery_latency_max_s", 0, 0.35);
    assert_number(&tables, "flows", "setup_time_s", 0, 0.05);
}

#[test]
fn events_at_end_are_ignored() {
    let mut described = with_intervals("a", &[500]);
    described.end = Instant::from_secs(1);
    let mut run = Run::new(&described);
    run.send(999, 0, 0, 100).send(1_000, 0, 100, 100).send(1_500, 0, 200, 100);
    let tables = run.finish(2_000);
    assert_eq!(count(&tables, "flows", "packets_sent", 0), 1);
    assert_number(&tables, "flows", "measured_s", 0, 1.0);
    assert_eq!(series(&tables, 500, "a", "packets_sent"), [0.0, 1.0]);
}

#[test]
fn run_within_warm_up_measures_nothing() {
    let mut described = settings("a");
    described.warmup = Span::from_secs(1);
    let mut run = Run::new(&described);
    run.send(100, 0, 0, 100);
    let tables = run.finish(500);
    assert_eq!(count(&tables, "flows", "packets_sent", 0), 0);
    assert_number(&tables, "flows", "measured_s", 0, 0.0);
    assert_eq!(number(&tables, "flows", "throughput_bits_per_second", 0), None);
}

#[test]
fn windows_have_what_happened_in_them() {
    let mut run = Run::new(&with_intervals("ab", &[100, 250]));
    // Nothing happens in 100..300 ms; 400 ms is the first instant of a window.
    run.send(0, 0, 0, 100).send(99, 0, 0, 100).send(320, 1, 0, 50).send(400, 0, 60, 140);
    run.receive(50, 0, 0, 85).read(399, 0, 50).read(410, 0, 100);
    let tables = run.finish(620);
    assert_eq!(series(&tables, 100, "a", "start_s"), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]);
    assert_eq!(series(&tables, 100, "a", "packets_sent"), [2.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(series(&tables, 100, "b", "packets_sent"), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(series(&tables, 100, "a", "bytes_retransmitted"), [100.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    // 60..200 behind 0..100.
    assert_eq!(series(&tables, 100, "a", "bundled_bytes_sent"), [0.0, 0.0, 0.0, 0.0, 40.0, 0.0]);
    assert_eq!(series(&tables, 250, "a", "start_s"), [0.0, 0.25]);
    assert_eq!(series(&tables, 250, "a", "packets_sent"), [2.0, 1.0]);
}

#[test]
fn windows_have_rates_and_losses() {
    let mut run = Run::new(&with_intervals("a", &[100]));
    run.receive(10, 0, 0, 85).read(20, 0, 50).read(110, 0, 85);
    let (flow, direction, queue) = (FlowId(0), Direction::Forward, QueueId(0));
    let (payload_bytes, wire_bytes, reason) = (10, 50, DropReason::QueueFull);
    let waited = None;
    let lost = Observation::Dropped(Dropped {
        flow,
        direction,
        queue,
        payload_bytes,
        wire_bytes,
        reason,
        waited,
        backlog: None,
    });
    run.at(150, lost);
    run.send(105, 0, 85, 160).send(106, 0, 245, 10);
    let tables = run.finish(200);
    // 125 B, 50 B and 35 B in 100 ms each.
    assert_eq!(series(&tables, 100, "a", "throughput_bits_per_second"), [10_000.0, 0.0]);
    assert_eq!(series(&tables, 100, "a", "goodput_bits_per_second"), [4_000.0, 2_800.0]);
    assert_eq!(series(&tables, 100, "a", "packets_lost"), [0.0, 1.0]);
    assert_eq!(series(&tables, 100, "a", "wire_bytes_lost"), [0.0, 50.0]);
    // Packets of 200 B and of 50 B left in the second window, none in the first.
    assert_eq!(series(&tables, 100, "a", "wire_bytes_sent"), [0.0, 250.0]);
    assert_eq!(series(&tables, 100, "a", "packets_received"), [1.0, 0.0]);
    assert_eq!(series(&tables, 100, "a", "packets_marked"), [0.0, 0.0]);
    assert_eq!(number(&tables, "intervals", "packet_loss_ratio", 0), None);
    assert_eq!(number(&tables, "intervals", "packet_loss_ratio", 1), Some(0.5));
    assert_eq!(number(&tables, "intervals", "wire_byte_loss_ratio", 1), Some(0.2));
}

#[test]
fn windows_begin_after_warm_up_times_at_origin() {
    let mut described = with_intervals("a", &[100]);
    described.origin = Instant::from_secs(1_700_000_000);
    described.warmup = Span::from_millis(50);
    let origin = 1_700_000_000_000;
    let mut run = Run::new(&described);
    run.send(origin + 10, 0, 0, 100).send(origin + 60, 0, 100, 100);
    let tables = run.finish(origin + 280);
    assert_eq!(series(&tables, 100, "a", "start_s"), [0.05, 0.15]);
    assert_eq!(series(&tables, 100, "a", "packets_sent"), [1.0, 0.0]);
    assert_number(&tables, "flows", "measured_s", 0, 0.23);
}

#[test]
fn per_flow_windows_are_optional() {
    let mut described = with_intervals("ab", &[100]);
    described.per_flow_intervals = true;
    let mut run = Run::new(&described);
    run.send(0, 0, 0, 100).send(150, 1, 0, 100).send(160, 1, 100, 100);
    let tables = run.finish(200);
    assert_eq!(tables.get("intervals").unwrap().rows(), 2 * 4);
    assert_eq!(series(&tables, 100, "a-0", "packets_sent"), [1.0, 0.0]);
    assert_eq!(series(&tables, 100, "b-1", "packets_sent"), [0.0, 2.0]);
    assert_eq!(number(&tables, "intervals", "flow", 0), None);
    assert_eq!(count(&tables, "intervals", "flow", 3), 1);
}

#[test]
fn endpoint_samples_are_tabulated_where_asked_for() {
    let sample = Observation::Endpoint {
        flow: FlowId(0),
        cwnd_packets: 10,
        ssthresh_packets: None,
        smoothed_rtt: Some(Span::from_millis(100)),
        flight_packets: 4,
        state: CongestionState::Recovery,
    };
    for asked_for in [false, true] {
        let mut described = settings("a");
        described.keeps_endpoint_samples = asked_for;
        described.warmup = Span::from_secs(1);
        let mut run = Run::new(&described);
        run.at(100, sample);
        let tables = run.finish(2_000);
        assert_eq!(tables.get("endpoint").unwrap().rows(), usize::from(asked_for));
        if asked_for {
            assert_number(&tables, "endpoint", "time_s", 0, 0.1);
            assert_eq!(count(&tables, "endpoint", "cwnd_packets", 0), 10);
            assert_eq!(number(&tables, "endpoint", "ssthresh_packets", 0), None);
            assert_number(&tables, "endpoint", "smoothed_rtt_s", 0, 0.1);
            let state = tables.get("endpoint").unwrap().column("state").unwrap();
            assert_eq!(state.text(0), Some("recovery"));
        }
    }
}

/// The windows of 100 ms of the group `a` that have rows: their beginnings in seconds.
fn shown(max_empty_rows: Option<u64>, sent_at_millis: &[u64]) -> Vec<f64> {
    let mut described = with_intervals("ab", &[100]);
    described.max_empty_rows = max_empty_rows;
    let mut run = Run::new(&described);
    for &at in sent_at_millis {
        run.send(at, 0, 0, 100);
    }
    let last = sent_at_millis.last().copied().unwrap_or_default();
    let tables = run.finish(last + 100);
    series(&tables, 100, "a", "start_s")
}

#[test]
fn silence_rows_are_limited_by_allowance() {
    let all: Vec<f64> = (0..=10_u32).map(|window| f64::from(window * 100) / 1e3).collect();
    assert_eq!(shown(None, &[0, 1_000]), all);
    // Nine windows of two groups are eighteen rows.
    assert_eq!(shown(Some(18), &[0, 1_000]), all);
    assert_eq!(shown(Some(17), &[0, 1_000]), [0.0, 1.0]);
}

#[test]
fn jumping_clock_makes_bounded_rows() {
    // A day at a time: 863 999 windows of silence of two groups, each time.
    let leaps: Vec<u64> = (0..50).map(|day| day * 86_400_000).collect();
    assert_eq!(shown(Some(EmptyRowBudget::DEFAULT_ROWS), &leaps).len(), 50);
    // 200 s at a time: 1999 silent windows of two groups, of which each packet pays for 4096 rows.
    let steps: Vec<u64> = (0..50).map(|step| step * 200_000).collect();
    assert_eq!(shown(Some(EmptyRowBudget::DEFAULT_ROWS), &steps).len(), 49 * 2_000 + 1);
    // 400 s at a time: 3999 windows, for half of which the allowance is used up after 32 of them.
    let steps: Vec<u64> = (0..1_000).map(|step| step * 400_000).collect();
    let silent_rows = usize::try_from(EmptyRowBudget::DEFAULT_ROWS).unwrap() + 1_000 * 4096;
    let silent = shown(Some(EmptyRowBudget::DEFAULT_ROWS), &steps).len() - 1_000;
    assert!(silent * 2 <= silent_rows, "{silent} of two groups");
}
