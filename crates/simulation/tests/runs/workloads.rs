//! What applications write, as it arrives.

use crate::run::{fingerprint, group, tables};

fn one_flow(workload: &str, duration: &str) -> String {
    format!(
        "name = \"one flow\"\nduration = \"{duration}\"\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"100 ms\"\n\
         [[flows]]\nname = \"flow\"\nworkload = {{ {workload} }}\n"
    )
}

/// The handshake takes 100 ms; from then on a burst begins every two seconds and has 125 messages of
/// 8 ms each, so that 30 bursts fit whole.
#[test]
fn bursts_at_a_rate_arrive_whole_on_an_idle_path() {
    let workload =
        r#"kind = "on-off", on = "1 s", off = "1 s", rate = "1 Mbit/s", message = "1000 B""#;
    let tables = tables(&one_flow(workload, "60 s"), 1);
    assert_eq!(group(&tables, "flow", "payload_bytes_read"), 30.0 * 125.0 * 1000.0);
    assert_eq!(group(&tables, "flow", "packets_lost"), 0.0);
}

/// A burst of 1 MB takes less than two seconds on 10 Mbit/s, and then nothing is sent for ten.
#[test]
fn greedy_bursts_are_as_large_as_their_volume() {
    let workload = r#"kind = "on-off", volume = "1 MB", off = "10 s""#;
    let tables = tables(&one_flow(workload, "40 s"), 1);
    assert_eq!(group(&tables, "flow", "payload_bytes_read"), 4e6);
}

#[test]
fn what_is_replayed_arrives_and_the_connection_is_closed() {
    let workload = r#"kind = "replay", writes = [{ at = "0 s", size = "10 B" },
        { at = "2 s", size = "3 kB" }, { at = "2 s", size = "7 B" }]"#;
    let tables = tables(&one_flow(workload, "10 s"), 1);
    assert_eq!(group(&tables, "flow", "payload_bytes_read"), 3017.0);
    assert_eq!(group(&tables, "flow", "flows_finished"), 1.0);
}

#[test]
fn a_page_s_objects_are_asked_for_one_after_the_other() {
    let workload = r#"kind = "web", request = "100 B", main_object = "20 kB", embedded_objects = 3,
        embedded_object = "5 kB", parsing_time = "10 ms", reading_time = "5 s", pages = 2"#;
    let tables = tables(&one_flow(workload, "60 s"), 1);
    assert_eq!(group(&tables, "flow", "responses"), 8.0);
    assert_eq!(group(&tables, "flow", "payload_bytes_read"), 800.0);
    assert_eq!(group(&tables, "flow-responses", "payload_bytes_read"), 2.0 * 35e3);
    assert_eq!(group(&tables, "flow", "flows_finished"), 1.0);
}

#[test]
fn random_workloads_are_the_same_with_the_same_seed() {
    for workload in [
        r#"kind = "web", reading_time = "1 s""#,
        r#"kind = "profile", application = "World of Warcraft""#,
        r#"kind = "on-off", off = "1 s",
            volume = { distribution = "pareto", min = "10 kB", shape = 1.2 }"#,
    ] {
        let text = one_flow(workload, "30 s");
        assert_eq!(fingerprint(&tables(&text, 5)), fingerprint(&tables(&text, 5)), "{workload}");
        assert_ne!(fingerprint(&tables(&text, 5)), fingerprint(&tables(&text, 6)), "{workload}");
    }
}

/// One write in 632 ms on average, of 98 B; an hour has some 5700 of them. The intervals' standard
/// deviation is about their mean, so 6 % is four standard errors and more.
#[test]
fn a_recorded_stream_offers_the_load_of_its_table() {
    let workload = r#"kind = "profile", application = "Anarchy Online""#;
    let tables = tables(&one_flow(workload, "3600 s"), 2);
    let load = group(&tables, "flow", "payload_bytes_read");
    let expected = 3600.0 / 0.632 * 98.0;
    assert!((load / expected - 1.0).abs() < 0.1, "{load} B for {expected} B, seed 2");
}
