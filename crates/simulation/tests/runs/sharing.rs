//! Memory of hosts for their connections, in complete runs.

use crate::run::{fingerprint, group, tables, value};
use fairwind_measure::Tables;

/// Payload of a full segment with timestamps.
const SEGMENT: u32 = 1448;
const ROUND_TRIP: f64 = 0.1;

/// A client that asks a server twice: first for as much as leaves a window of `taught` segments, then, on another
/// connection, for `asked` segments. No acknowledgment is delayed, and nothing takes time but the way.
fn asked_twice(taught: u32, asked: u32, sharing: &str) -> Tables {
    let group = |name: &str, segments: u32, start: &str| {
        format!(
            r#"
            [[flows]]
            name = "{name}"
            from = "client"
            to = "server"
            start = "{start}"
            workload = {{ kind = "request-response", request = "100 B", response = "{} B", exchanges = 1 }}
            tcp = {{ profile = "rfc", delayed_ack = false }}
            receiver_tcp = {{ profile = "rfc", initial_window = 1, delayed_ack = false, sharing = {sharing} }}
            "#,
            segments * SEGMENT,
        )
    };
    let text = format!(
        r#"
        name = "sharing"
        duration = "40 s"
        [topology]
        hosts = ["client", "server"]
        [[topology.links]]
        from = "client"
        to = "server"
        delay = "50 ms"
        {}{}
        "#,
        group("first", taught - 1, "0 s"),
        group("second", asked, "20 s"),
    );
    tables(&text, 1)
}

/// From the first SYN to the last byte: the handshake, and the time that the answer takes.
fn transfer_time(tables: &Tables, name: &str) -> f64 {
    ROUND_TRIP + group(tables, name, "response_time_mean_s")
}

/// Round trips of slow start from a window of 1: 3 for 5 segments and so on; with a window of 32 they are 1, 1, 1,
/// 2, 2 and 3. A transfer takes one more for the handshake.
#[test]
fn remembered_windows_shorten_transfers_as_computed() {
    let cases = [(5, 3, 1), (10, 4, 1), (20, 5, 1), (40, 6, 2), (80, 7, 2), (200, 8, 3)];
    for (segments, without, with) in cases {
        let closed = f64::from(1 + without) / f64::from(1 + with);
        let off = transfer_time(&asked_twice(32, segments, r#"{ policy = "off" }"#), "second");
        let on = transfer_time(&asked_twice(32, segments, r#"{ policy = "classic" }"#), "second");
        let found = off / on;
        assert!((found / closed - 1.0).abs() < 0.02, "{segments}: {found}, not {closed}");
    }
}

/// The window that the first answer leaves is 32; a lifetime of 15 s is over when the second one begins, after
/// nearly 20 s.
#[test]
fn outdated_window_is_not_used() {
    let after = |lifetime: &str| {
        let sharing = format!(r#"{{ policy = "classic", lifetime = "{lifetime}" }}"#);
        transfer_time(&asked_twice(32, 20, &sharing), "second")
    };
    assert!((after("15 s") - 0.6).abs() < 0.002, "{}", after("15 s"));
    assert!((after("25 s") - 0.2).abs() < 0.002, "{}", after("25 s"));
}

#[test]
fn memory_is_limited_to_capture_period() {
    let with = |keys: &str| {
        let sharing = format!(r#"{{ policy = "classic", {keys} }}"#);
        transfer_time(&asked_twice(32, 20, &sharing), "second")
    };
    let (cold, warm) = (0.6, 0.2);
    for (keys, expected) in [
        (r#"capture_from = "10 s""#, cold),
        (r#"capture_until = "10 s""#, cold),
        (r#"capture_from = "0 s", capture_until = "30 s""#, warm),
    ] {
        assert!((with(keys) - expected).abs() < 0.002, "{keys}: {}", with(keys));
    }
}

/// Half of 32 is 16: a segment short of 20, so one round trip more.
#[test]
fn bounded_trust_begins_with_half() {
    let safe = asked_twice(32, 20, r#"{ policy = "classic", trust = "safe" }"#);
    assert!((transfer_time(&safe, "second") - 0.3).abs() < 0.002);
}

/// Two transfers of `volume` from one host to another over 20 Mbit/s and 80 ms, with a queue for a fifth of what is
/// under way: 27 packets.
fn transferred_twice(volume: &str, sharing: &str) -> Tables {
    let text = format!(
        r#"
        name = "small queue"
        duration = "20 s"
        [path]
        rate = "20 Mbit/s"
        rtt = "80 ms"
        queue = {{ limit = "20 % bdp" }}
        [[flows]]
        name = "web"
        workload = {{ kind = "transfers", volume = "{volume}", transfers = 2, pause = "1 s" }}
        tcp.sharing = {sharing}
        "#
    );
    tables(&text, 1)
}

/// The first transfer leaves a window of 59, and a burst of 29 is one more than the queue holds. A loss that early ends slow
/// start at 39 segments of the 133 that the path holds, and the transfer takes more than twice as long as without a memory.
#[test]
fn bounded_trust_is_not_slower_with_small_queue() {
    let second = |sharing: &str| {
        let tables = transferred_twice("3 MB", sharing);
        value(tables.get("flows").unwrap(), "name", "web-1-2", "completion_time_s")
    };
    let none = second(r#"{ policy = "off" }"#);
    let safe = second(r#"{ policy = "classic", trust = "safe" }"#);
    assert!(safe < none, "{safe} after {none} without a memory");
}

/// A transfer that filled the queue saw round trips of more than half a second. The next one's handshake takes 100 ms,
/// and its first flight 1.6 s, for it stands behind 160 segments of others (1.2 Mbit/s carry one in 10 ms). The
/// time-out of 1 s is too short for that; three times what is remembered is not.
#[test]
fn tcp_metrics_avoid_timeout_on_long_paths() {
    let timeouts = |policy: &str| {
        let text = format!(
            r#"
            name = "metrics"
            duration = "40 s"
            [path]
            rate = "1.2 Mbit/s"
            rtt = "100 ms"
            queue = {{ limit = "400 packets" }}
            [[flows]]
            name = "flows"
            count = 2
            start_spread = "40 s"
            workload = {{ kind = "greedy", volume = "300 kB" }}
            tcp = {{ profile = "rfc", sharing = {{ policy = "{policy}" }} }}
            receiver_tcp = {{ profile = "rfc" }}
            [[flows]]
            name = "others"
            count = 4
            start = "19.96 s"
            workload = {{ kind = "greedy", volume = "58 kB" }}
            tcp = {{ profile = "rfc", initial_window = 40 }}
            receiver_tcp = {{ profile = "rfc" }}
            "#
        );
        value(tables(&text, 1).get("flows").unwrap(), "name", "flows-2", "timeouts")
    };
    assert_eq!(timeouts("off"), 1.0);
    assert_eq!(timeouts("tcp-metrics"), 0.0);
}

/// The client opens the connections and sends nothing but requests: its memory is unused here.
#[test]
fn tcp_metrics_keep_initial_window() {
    let off = transfer_time(&asked_twice(32, 80, r#"{ policy = "off" }"#), "second");
    let metrics = transfer_time(&asked_twice(32, 80, r#"{ policy = "tcp-metrics" }"#), "second");
    assert_eq!(off, metrics);
}

/// Two greedy flows from one host to another, the second one after ten seconds; the peer's window keeps them from
/// growing. Samples of both windows every 30 ms.
fn joined(sharing: &str) -> Tables {
    let text = format!(
        r#"
        name = "joined"
        duration = "20 s"
        [path]
        rate = "1 Gbit/s"
        rtt = "100 ms"
        [[flows]]
        name = "flows"
        count = 2
        start_spread = "20 s"
        workload = {{ kind = "greedy" }}
        tcp = {{ profile = "rfc", initial_ssthresh = 20, sharing = {sharing} }}
        receiver_tcp = {{ profile = "rfc", delayed_ack = false, receive_buffer = "43440 B" }}
        [measure]
        endpoint_interval = "30 ms"
        "#
    );
    tables(&text, 1)
}

/// The windows of a flow, with the instants of the samples.
fn windows(tables: &Tables, name: &str) -> Vec<(f64, f64)> {
    let samples = tables.get("endpoint").unwrap();
    let column = |name: &str| samples.column(name).unwrap_or_else(|| panic!("no column {name}"));
    let (names, times, windows) = (column("name"), column("time_s"), column("cwnd_packets"));
    (0..samples.rows())
        .filter(|&row| names.text(row) == Some(name))
        .map(|row| (times.number(row).unwrap(), windows.number(row).unwrap()))
        .collect()
}

#[test]
fn joining_connection_takes_half_the_window() {
    let tables = joined(r#"{ policy = "rfc9040" }"#);
    let first = windows(&tables, "flows-1");
    let before = first.iter().rfind(|(at, _)| *at < 10.0).unwrap().1;
    let after = first.iter().find(|(at, _)| *at > 10.0).unwrap().1;
    let joined = windows(&tables, "flows-2")[0].1;
    assert!(before >= 30.0, "{before}");
    assert_eq!(joined, (before / 2.0).floor(), "of {before}");
    let rest = before - joined;
    assert!((rest..=rest + 1.0).contains(&after), "{after} of {before}, grown by one ACK at most");
    let alone = joined_without_ensemble();
    assert_eq!(windows(&alone, "flows-2")[0].1, 3.0, "the initial window of the profile");
}

fn joined_without_ensemble() -> Tables {
    joined(r#"{ policy = "rfc9040", ensemble = false }"#)
}

/// A long transfer saves its window; the next one, two seconds later, jumps to half of it once its first flight is
/// acknowledged, and is through sooner.
#[test]
fn careful_resume_shortens_transfer() {
    let run = |policy: &str| {
        let text = format!(
            r#"
            name = "resumed"
            duration = "60 s"
            [path]
            rate = "100 Mbit/s"
            rtt = "400 ms"
            queue = {{ limit = "2 bdp" }}
            [[flows]]
            name = "flows"
            count = 2
            start_spread = "60 s"
            workload = {{ kind = "greedy", volume = "12 MB" }}
            tcp = {{ sharing = {{ policy = "{policy}", openings = "all", collect = "end" }} }}
            receiver_tcp = {{ profile = "rfc" }}
            "#
        );
        tables(&text, 1)
    };
    let times = |tables: &Tables| {
        let flows = tables.get("flows").unwrap();
        let name = |number| format!("flows-{number}");
        [1, 2].map(|number| value(flows, "name", &name(number), "completion_time_s"))
    };
    let (careful, off) = (run("careful-resume"), run("off"));
    let [first, resumed] = times(&careful);
    let [cold, again] = times(&off);
    assert_eq!(cold, first);
    assert!((again - cold).abs() < 0.01, "{again} and {cold}");
    // Three rounds of doubling less: from 20 segments to more than 160.
    assert!(resumed < first - 3.0 * 0.4, "{resumed} after {first}");
    assert_eq!(
        steps(&careful),
        [
            "flows-2 reconnaissance ",
            "flows-2 unvalidated ",
            "flows-2 validating ",
            "flows-2 normal validated",
        ]
    );
    assert!(off.get("resumptions").is_none());
}

/// Three long transfers, 20 s apart, over a path with a changing rate; the second one is still under way when
/// the third one begins, and has taught nothing new. Phases of all.
fn resumed_over(rates: &str) -> Vec<String> {
    let text = format!(
        r#"
        name = "worse"
        duration = "60 s"
        [path]
        rate = "100 Mbit/s"
        rtt = "200 ms"
        queue = {{ limit = "100 packets" }}
        rate_trace = {{ form = "steps", steps = [{rates}] }}
        [[flows]]
        name = "flows"
        count = 3
        start_spread = "60 s"
        workload = {{ kind = "greedy", volume = "12 MB" }}
        tcp = {{ sharing = {{ policy = "careful-resume" }} }}
        receiver_tcp = {{ profile = "rfc" }}
        "#
    );
    steps(&tables(&text, 1))
}

/// The path loses most of its rate before the second transfer begins, which jumps too far.
#[test]
fn retreat_discards_saved_window() {
    let steps = resumed_over(
        r#"{ rate = "100 Mbit/s", duration = "18 s" }, { rate = "2 Mbit/s", duration = "1000 s" }"#,
    );
    assert!(steps.contains(&"flows-2 safe-retreat ".to_owned()), "{steps:?}");
    assert!(!steps.iter().any(|step| step.starts_with("flows-3")), "{steps:?}");
}

/// The path stands still for three seconds, just after the second transfer has jumped at 20.4 s.
#[test]
fn timeout_after_jump_discards_saved_window() {
    let steps = resumed_over(
        r#"{ rate = "100 Mbit/s", duration = "20.5 s" }, { rate = "1 kbit/s", duration = "3 s" },
           { rate = "2 Mbit/s", duration = "1000 s" }"#,
    );
    assert!(steps.contains(&"flows-2 unvalidated ".to_owned()), "{steps:?}");
    assert!(steps.contains(&"flows-2 normal timed-out".to_owned()), "{steps:?}");
    assert!(!steps.iter().any(|step| step.starts_with("flows-3")), "{steps:?}");
}

/// Flow, phase and reason of each row of the table `resumptions`.
fn steps(tables: &Tables) -> Vec<String> {
    let table = tables.get("resumptions").unwrap();
    let text = |column: &str, row| table.column(column).unwrap().text(row).unwrap().to_owned();
    let line =
        |row| format!("{} {} {}", text("name", row), text("phase", row), text("reason", row));
    (0..table.rows()).map(line).filter(|line| !line.contains(" opening ")).collect()
}

/// Of the connections that opened at a host with a memory: flow, why they did not use what is remembered, the window
/// that they began with, and what was remembered.
fn openings(tables: &Tables) -> Vec<(String, String, f64, Option<f64>)> {
    let table = tables.get("resumptions").unwrap();
    let column = |name| table.column(name).unwrap();
    let text = |name, row| column(name).text(row).unwrap().to_owned();
    let number = |name, row| column(name).number(row);
    (0..table.rows())
        .filter(|&row| text("phase", row) == "opening")
        .map(|row| {
            let window = number("cwnd_packets", row).unwrap();
            (text("name", row), text("reason", row), window, number("saved_packets", row))
        })
        .collect()
}

#[test]
fn openings_report_window_and_reason() {
    let cases = [
        (r#"{ policy = "classic" }"#, "", 32.0),
        (r#"{ policy = "classic", trust = "safe" }"#, "", 16.0),
        (r#"{ policy = "classic", trust = "safe", largest_window = 1 }"#, "too-small", 1.0),
        (r#"{ policy = "classic", largest_window = 20 }"#, "", 20.0),
        (r#"{ policy = "classic", lifetime = "15 s" }"#, "outdated", 1.0),
        (r#"{ policy = "rfc9040" }"#, "", 32.0),
    ];
    for (sharing, reason, window) in cases {
        let found = openings(&asked_twice(32, 20, sharing));
        let first = ("first-1-responses", "unknown", 1.0, None);
        let second = ("second-1-responses", reason, window, Some(32.0));
        for ((name, reason, window, saved), expected) in found.iter().zip([first, second]) {
            let opening = (reason.as_str(), *window, *saved);
            assert_eq!(opening, (expected.1, expected.2, expected.3), "{sharing}: {name}");
        }
        assert_eq!(found.len(), 2, "{sharing}: {found:?}");
    }
    let metrics = asked_twice(32, 20, r#"{ policy = "tcp-metrics" }"#);
    assert!(metrics.get("resumptions").is_none(), "no connection begins with a window");
}

/// Four call within less than a round trip where nothing is remembered: an initial window is not divided.
#[test]
fn simultaneous_openings_without_memory_keep_initial_window() {
    let found = openings(&tables(&opened_at_once(4, ""), 1));
    assert_eq!(found.len(), 8, "{found:?}");
    for (name, reason, window, saved) in found {
        assert_eq!((reason.as_str(), window, saved), ("unknown", 10.0, None), "{name}");
    }
}

/// So many transfers that connect within 20 ms over a path of 100 ms.
fn opened_at_once(count: u32, before: &str) -> String {
    format!(
        r#"
        name = "divided"
        duration = "20 s"
        [topology]
        hosts = ["server", "client"]
        links = [{{ from = "server", to = "client", rate = "20 Mbit/s", delay = "50 ms" }}]
        {before}
        [[flows]]
        name = "web"
        from = "client"
        to = "server"
        count = {count}
        start = "10 s"
        start_spread = "20 ms"
        workload = {{ kind = "transfers", volume = "100 kB", transfers = 1 }}
        tcp = {{ sharing = {{ policy = "rfc9040" }} }}
        "#
    )
}

/// Eight clients connect within one round trip, after one alone has left a window: those with unfinished handshakes
/// divide what was advised, and none of it is lost or counted twice (RFC 9040 §7.2).
#[test]
fn simultaneous_openings_divide_remembered_window() {
    let before = r#"
        [[flows]]
        name = "before"
        from = "client"
        to = "server"
        workload = { kind = "transfers", volume = "1 MB", transfers = 1 }
        tcp = { sharing = { policy = "rfc9040" } }
    "#;
    let found = openings(&tables(&opened_at_once(8, before), 1));
    for (ends, least_saved) in [("web-responses-", 80.0), ("web-", 8.0)] {
        let is_one = |name: &str| name.strip_prefix(ends).is_some_and(|rest| rest.len() == 1);
        let of_ends: Vec<_> = found.iter().filter(|(name, ..)| is_one(name)).collect();
        let saved = of_ends[0].3.unwrap();
        assert!(saved > least_saved, "{saved} could be eight windows of their own");
        assert_eq!(of_ends.iter().map(|end| end.2).sum::<f64>(), saved, "{of_ends:?}");
        let is_even = |window: f64| (window - saved / 8.0).abs() <= 1.0;
        assert!(of_ends.iter().all(|end| is_even(end.2)), "{of_ends:?}");
    }
}

/// Of ten segments seven are used, so that the window may grow to twice that.
#[test]
fn too_small_window_is_reported() {
    let tables = transferred_twice("10 kB", r#"{ policy = "classic", trust = "safe" }"#);
    let found = openings(&tables);
    let openings: Vec<_> =
        found.iter().map(|(_, why, window, saved)| (why.as_str(), *window, *saved)).collect();
    assert_eq!(openings, [("unknown", 10.0, None), ("too-small", 10.0, Some(14.0))]);
}

/// The first answer leaves a window of 200 in slow start, half of which is saved; the second one is one segment, and so
/// there is nothing to jump for.
#[test]
fn resumption_of_ended_connection_is_closed() {
    let tables = asked_twice(200, 1, r#"{ policy = "careful-resume" }"#);
    let steps = steps(&tables);
    let ends: Vec<_> = steps.iter().map(|step| step.split_once(' ').unwrap().1).collect();
    assert_eq!(ends, ["reconnaissance ", "normal closed"]);
}

/// One peer with the window of both answers; the second one ended at 20.2 s, and the run at 40 s.
#[test]
fn remembered_table_lists_final_windows() {
    let tables = asked_twice(32, 1, r#"{ policy = "classic" }"#);
    let table = tables.get("remembered").unwrap();
    assert_eq!(table.rows(), 1);
    let column = |name| table.column(name).unwrap();
    assert_eq!(column("host").text(0), Some("server"));
    assert!(column("peer").text(0).unwrap().parse::<std::net::IpAddr>().is_ok());
    assert_eq!(column("window_packets").number(0), Some(32.0));
    let age = column("age_s").number(0).unwrap();
    assert!((age - 19.9).abs() < 0.2, "{age}");
    assert!(asked_twice(32, 20, r#"{ policy = "off" }"#).get("remembered").is_none());
    let forgotten = r#"{ policy = "classic", capture_until = "30 s" }"#;
    assert!(asked_twice(32, 20, forgotten).get("remembered").is_none());
}

#[test]
fn samples_teach_before_a_connection_is_closed() {
    let first = |sample: &str| {
        let sharing = format!(r#"{{ policy = "classic", openings = "all"{sample} }}"#);
        windows(&joined(&sharing), "flows-2")[0].1
    };
    assert_eq!(first(""), 3.0, "the first flow never closes");
    assert!(first(r#", sample_every = "1 s""#) >= 30.0);
}

#[test]
fn the_same_seed_remembers_the_same() {
    let twice = [(); 2].map(|()| fingerprint(&joined(r#"{ policy = "rfc9040" }"#)));
    assert_eq!(twice[0], twice[1]);
}
