//! The same scenario and seed give the same tables.

use crate::run::{experiment, fingerprint, tables};
use fairwind_simulation::{Control, Simulation};
use std::sync::atomic::{AtomicBool, Ordering};

const MIXED: &str = r#"
    name = "mixed"
    duration = "30 s"
    [path]
    rate = "1 Mbit/s"
    rtt = "100 ms"
    loss = "1 %"
    queue = { discipline = "pfifo", limit = "9 packets" }
    [[flows]]
    name = "greedy"
    count = 5
    start_spread = "1 s"
    start_pattern = "random"
    workload = { kind = "greedy" }
    [[flows]]
    name = "thin"
    count = 5
    workload = { kind = "thin", payload = { distribution = "normal", mean = "120 B", deviation = "20 B" }, interval = { distribution = "exponential", mean = "100 ms" } }
"#;

#[test]
fn same_seed_gives_same_tables_in_threads() {
    let here = fingerprint(&tables(MIXED, 7));
    let threads: Vec<_> =
        (0..4).map(|_| std::thread::spawn(|| fingerprint(&tables(MIXED, 7)))).collect();
    for thread in threads {
        assert!(thread.join().unwrap() == here, "tables differ between threads");
    }
}

#[test]
fn another_seed_gives_other_tables() {
    assert!(fingerprint(&tables(MIXED, 7)) != fingerprint(&tables(MIXED, 8)));
}

#[test]
fn watching_changes_no_table() {
    let control = Control::default();
    let is_over = AtomicBool::new(false);
    let (watched, seen) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                seen.extend(control.live().take());
                std::thread::yield_now();
            }
            // On a busy machine this thread may not run before the simulation is over.
            seen.extend(control.live().take());
            seen
        });
        control.live().take();
        let outcome = Simulation::new(&experiment(MIXED), 7).unwrap().run(&control).unwrap();
        is_over.store(true, Ordering::Relaxed);
        (outcome.tables, watcher.join().unwrap())
    });
    assert!(fingerprint(&watched) == fingerprint(&tables(MIXED, 7)), "tables differ if watched");
    // The first counts are asked for before the run.
    assert!(!seen.is_empty(), "nothing was counted");
    for name in ["\"name\":\"greedy\"", "\"name\":\"thin\"", "\"time_s\":"] {
        assert!(seen[0].contains(name), "{name} is missing in {}", seen[0]);
    }
}

#[test]
fn a_cancelled_simulation_stops() {
    let control = Control::default();
    control.cancel();
    let error = Simulation::new(&experiment(MIXED), 1).unwrap().run(&control).unwrap_err();
    assert_eq!(error.to_string(), "the simulation was cancelled");
}

#[test]
fn progress_reaches_one() {
    let control = Control::default();
    Simulation::new(&experiment(MIXED), 1).unwrap().run(&control).unwrap();
    assert!((control.fraction() - 1.0).abs() < f64::EPSILON);
}
