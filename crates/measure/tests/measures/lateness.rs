//! Lateness of a network in real time.

use fairwind_measure::{Lateness, RoutedPackets};
use fairwind_units::Span;

fn lateness_of(micros: &[u64]) -> Lateness {
    let mut lateness = Lateness::new(Span::from_micros(200));
    for &late in micros {
        lateness.on_delivery(Span::from_micros(late));
    }
    lateness
}

#[test]
fn lateness_bound_applies_to_99th_percentile() {
    let mut micros = [10; 100];
    micros[7] = 5_000;
    assert!(!lateness_of(&micros).exceeds_bound());
    micros[8] = 201;
    assert!(lateness_of(&micros).exceeds_bound());
}

#[test]
fn no_deliveries_have_no_lateness() {
    let lateness = lateness_of(&[]);
    assert!(!lateness.exceeds_bound());
    assert_eq!(lateness.percentile(99.0), None);
    let table = lateness.table();
    assert_eq!(table.rows(), 1);
    assert_eq!(table.column("lateness_p99_s").unwrap().number(0), None);
}

#[test]
fn lateness_table_has_distribution() {
    let mut lateness = lateness_of(&[10, 20, 30, 1_000]);
    lateness.on_batch(1);
    lateness.on_batch(3);
    lateness.packets =
        RoutedPackets { taken: 5, unmeasured: 4, discarded: 3, refused: 2, missing: 1 };
    let table = lateness.table();
    let number = |column: &str| table.column(column).and_then(|values| values.number(0)).unwrap();
    assert!((number("bound_s") - 0.0002).abs() < 1e-12);
    assert!((number("lateness_max_s") - 0.001).abs() < 1e-12);
    assert!((number("lateness_p50_s") - 20e-6).abs() < 1e-6);
    assert!((number("deliveries_beyond_bound") - 1.0).abs() < 1e-12);
    assert!((number("batch_mean_packets") - 2.0).abs() < 1e-12);
    let counts = [
        "packets_taken",
        "packets_unmeasured",
        "packets_discarded",
        "packets_refused",
        "datagrams_missing",
    ];
    for (column, count) in counts.into_iter().zip([5.0, 4.0, 3.0, 2.0, 1.0]) {
        assert!((number(column) - count).abs() < 1e-12, "{column}");
    }
}
