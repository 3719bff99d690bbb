//! ACK latency, delivery latency and their distributions.

use crate::run::{Run, assert_number, count, number, settings};
use fairwind_measure::Tables;
use fairwind_units::Span;
use proptest::prelude::*;

const GROUP_ACK: usize = 0;
const GROUP_DELIVERY: usize = 1;

fn slots(tables: &Tables, group: &str, kind: &str) -> Vec<(f64, f64, u64)> {
    let table = tables.get("latency_histogram").unwrap();
    let text = |column: &str, row| table.column(column).unwrap().text(row).unwrap().to_owned();
    (0..table.rows())
        .filter(|&row| text("group", row) == group && text("kind", row) == kind)
        .map(|row| {
            let bound = |column| number(tables, "latency_histogram", column, row).unwrap();
            let samples = count(tables, "latency_histogram", "count", row);
            (bound("lower_s"), bound("upper_s"), samples)
        })
        .collect()
}

#[test]
fn each_covered_segment_gives_a_sample() {
    // Sent at 0, 10, 20 ms; the second acknowledgment covers two.
    let mut run = Run::new(&settings("a"));
    run.syn(0, 0).send(0, 0, 0, 100).send(10, 0, 100, 100).send(20, 0, 200, 100);
    run.acknowledge(50, 0, 0).acknowledge(100, 0, 100).acknowledge(140, 0, 300);
    run.acknowledge(150, 0, 300);
    let tables = run.finish(1_000);
    // Samples 100, 130, 120 ms.
    assert_eq!(count(&tables, "latencies", "count", GROUP_ACK), 3);
    assert_number(&tables, "latencies", "min_s", GROUP_ACK, 0.1);
    assert_number(&tables, "latencies", "max_s", GROUP_ACK, 0.13);
    assert_number(&tables, "flows", "ack_latency_mean_s", 0, 0.35 / 3.0);
}

#[test]
fn partial_ack_covers_nothing() {
    let mut run = Run::new(&settings("a"));
    run.syn(0, 0).send(0, 0, 0, 100).acknowledge(50, 0, 50).acknowledge(70, 0, 100);
    let tables = run.finish(1_000);
    assert_eq!(count(&tables, "latencies", "count", GROUP_ACK), 1);
    assert_number(&tables, "latencies", "max_s", GROUP_ACK, 0.07);
}

#[test]
fn retransmitted_segment_is_timed_from_first_transmission() {
    let mut run = Run::new(&settings("a"));
    run.syn(0, 0).send(10, 0, 0, 100).send(310, 0, 0, 100).send(910, 0, 0, 100);
    run.acknowledge(960, 0, 100);
    let tables = run.finish(1_000);
    assert_eq!(count(&tables, "latencies", "count", GROUP_ACK), 1);
    assert_number(&tables, "flows", "ack_latency_max_s", 0, 0.95);
}

#[test]
fn new_part_of_segment_has_own_latency() {
    let mut run = Run::new(&settings("a"));
    run.syn(0, 0).send(0, 0, 0, 100).send(200, 0, 0, 250).acknowledge(260, 0, 250);
    let tables = run.finish(1_000);
    assert_eq!(count(&tables, "latencies", "count", GROUP_ACK), 2);
    assert_number(&tables, "latencies", "min_s", GROUP_ACK, 0.06);
    assert_number(&tables, "latencies", "max_s", GROUP_ACK, 0.26);
}

#[test]
fn lost_segment_delays_later_deliveries() {
    // Writes at 0, 150, 300 ms; the first is lost and read, with the others, at 450 ms.
    let mut run = Run::new(&settings("a"));
    run.write(0, 0, 120).write(150, 0, 240).write(300, 0, 360);
    run.receive(200, 0, 120, 120).receive(350, 0, 240, 120).receive(450, 0, 0, 120);
    run.read(450, 0, 360);
    run.write(450, 0, 480).read(500, 0, 420).read(510, 0, 480);
    let tables = run.finish(1_000);
    // 450, 300, 150 ms; and 60 ms for the one that was read in halves.
    assert_eq!(count(&tables, "latencies", "count", GROUP_DELIVERY), 4);
    assert_number(&tables, "flows", "delivery_latency_mean_s", 0, 0.24);
    assert_number(&tables, "flows", "delivery_latency_max_s", 0, 0.45);
    assert_number(&tables, "latencies", "min_s", GROUP_DELIVERY, 0.06);
    assert_eq!(count(&tables, "latencies", "count", GROUP_ACK), 0);
}

#[test]
fn latencies_list_groups_then_flows() {
    let tables = Run::new(&settings("ab")).finish(1_000);
    let table = tables.get("latencies").unwrap();
    let text = |column: &str, row| table.column(column).unwrap().text(row).unwrap();
    let rows: Vec<_> = (0..table.rows())
        .map(|row| [text("scope", row), text("name", row), text("kind", row)])
        .collect();
    let expected = [
        ["group", "a", "ack"],
        ["group", "a", "delivery"],
        ["group", "b", "ack"],
        ["group", "b", "delivery"],
        ["flow", "a-0", "ack"],
        ["flow", "a-0", "delivery"],
        ["flow", "b-1", "ack"],
        ["flow", "b-1", "delivery"],
    ];
    assert_eq!(rows, expected);
    assert_eq!(number(&tables, "latencies", "p50_s", 0), None);
}

#[test]
fn percentile_columns_have_percentile_names() {
    let described =
        fairwind_measure::Settings { percentiles: vec![5.0, 99.9, 100.0], ..settings("a") };
    let tables = Run::new(&described).finish(1_000);
    let names: Vec<_> = tables
        .get("latencies")
        .unwrap()
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(names[7..], ["mean_s", "p5_s", "p99_9_s", "p100_s", "max_s"]);
}

#[test]
fn a_group_has_every_sample_of_its_flows() {
    // Flow 0: latencies 1..=70000 ms, more than a 16-bit counter holds; flow 1: one of 10 ms.
    let mut run = Run::new(&settings("aa"));
    run.write(0, 1, 1).read(10, 1, 1);
    for write in 1..=70_000 {
        run.write(0, 0, write);
    }
    for write in 1..=70_000 {
        run.read(write, 0, write);
    }
    let tables = run.finish(70_001);
    assert_eq!(count(&tables, "latencies", "count", GROUP_DELIVERY), 70_001);
    assert_number(&tables, "latencies", "max_s", GROUP_DELIVERY, 70.0);
    let median = number(&tables, "latencies", "p50_s", GROUP_DELIVERY).unwrap();
    assert!((35.0..=35.0 * 1.01).contains(&median), "{median}");
    let slots = slots(&tables, "a", "delivery");
    assert_eq!(slots.iter().map(|(_, _, count)| count).sum::<u64>(), 70_001);
    assert!(slots.windows(2).all(|pair| pair[0].1 <= pair[1].0), "slots ascend without overlap");
    assert!(slots.iter().all(|(lower, upper, _)| lower < upper));
}

#[test]
fn the_same_latency_is_counted_beyond_sixteen_bits() {
    let mut run = Run::new(&settings("a"));
    for write in 1..=70_000 {
        run.write(write, 0, write).read(write + 5, 0, write);
    }
    let tables = run.finish(80_000);
    let slots = slots(&tables, "a", "delivery");
    assert_eq!(slots.len(), 1);
    assert_eq!(slots[0].2, 70_000);
    assert_number(&tables, "flows", "delivery_latency_p99_s", 0, 0.005);
}

proptest! {
    #[test]
    fn percentiles_are_within_one_per_cent(
        mut latencies in proptest::collection::vec(1_u64..200_000, 1..300), percentile in 1_u32..=100,
    ) {
        let described = fairwind_measure::Settings {
            percentiles: vec![f64::from(percentile)],
            ..settings("a")
        };
        let mut run = Run::new(&described);
        let start = 1_000_000;
        latencies.sort_unstable_by(|one, other| other.cmp(one));
        // The longest is written first; all are read at the same instant.
        for (index, latency) in latencies.iter().enumerate() {
            run.write(start - latency, 0, index as u64 + 1);
        }
        run.read(start, 0, latencies.len() as u64);
        let tables = run.finish(start + 1);
        latencies.reverse();
        let rank = (latencies.len() * percentile as usize).div_ceil(100);
        let exact = Span::from_millis(latencies[rank - 1]).as_secs_f64();
        let column = format!("p{percentile}_s");
        let found = number(&tables, "latencies", &column, GROUP_DELIVERY).unwrap();
        prop_assert!(found >= exact && found <= exact * 1.01, "{found} for {exact}");
        let of_flow = number(&tables, "latencies", &column, 3);
        prop_assert_eq!(Some(found), of_flow, "a group of one flow has the flow's percentiles");
    }
}
