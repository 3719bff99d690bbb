//! Split connections: one relays what arrives on another.

use crate::run::{fingerprint, group, tables, value};
use fairwind_measure::Tables;

/// A server, a proxy and a client in a row, with a connection on each half.
struct Split {
    /// Further keys of the link from the server to the proxy, and of the one from there to the client.
    links: [&'static str; 2],
    workload: &'static str,
    buffer: &'static str,
    /// Further keys of the first group.
    first: &'static str,
    duration: &'static str,
}

impl Split {
    const USUAL: Self = Self {
        links: ["delay = \"10 ms\"", "delay = \"30 ms\""],
        workload: "{ kind = \"greedy\", volume = \"1 MB\" }",
        buffer: "256 KiB",
        first: "",
        duration: "20 s",
    };

    fn text(&self) -> String {
        let Self { links: [near, far], workload, buffer, first, duration } = self;
        format!(
            r#"
            name = "a split connection"
            duration = "{duration}"
            [topology]
            hosts = ["server", "proxy", "client"]
            links = [
                {{ from = "server", to = "proxy", {near} }},
                {{ from = "proxy", to = "client", {far} }},
            ]
            [[flows]]
            name = "near"
            from = "server"
            to = "proxy"
            workload = {workload}
            {first}
            [[flows]]
            name = "far"
            from = "proxy"
            to = "client"
            workload = {{ kind = "relay", of = "near", buffer = "{buffer}" }}
            "#
        )
    }

    fn tables(&self) -> Tables {
        tables(&self.text(), 1)
    }
}

fn failure(tables: &Tables, flow: &str) -> Option<String> {
    let flows = tables.get("flows").expect("flows");
    let names = flows.column("name").expect("names");
    let row = (0..flows.rows()).find(|&row| names.text(row) == Some(flow)).expect("the flow");
    flows.column("failure").expect("failures").text(row).map(str::to_owned)
}

#[test]
fn relay_forwards_all_data_and_closes() {
    let tables = Split::USUAL.tables();
    assert_eq!(group(&tables, "near", "payload_bytes_read"), 1e6);
    assert_eq!(group(&tables, "far", "payload_bytes_read"), 1e6);
    let completed = |flow| value(tables.get("flows").unwrap(), "name", flow, "completion_time_s");
    let (near, far) = (completed("near-1"), completed("far-1"));
    // Without serialisation a round trip each way of waiting for the handshake, and whole windows afterwards.
    assert!(near < far && far < 1.5, "{near} {far}");
    for flow in ["near-1", "far-1"] {
        assert_eq!(failure(&tables, flow).as_deref().unwrap_or_default(), "");
    }
}

#[test]
fn relay_latency_covers_whole_path() {
    let thin = "{ kind = \"thin\", payload = \"100 B\", interval = \"200 ms\" }";
    let tables = Split { workload: thin, ..Split::USUAL }.tables();
    // Nothing serialises: 10 ms to the proxy, 30 ms from there, to within the histogram's hundredth.
    let median = group(&tables, "far", "delivery_latency_p50_s");
    assert!((0.040..0.0405).contains(&median), "{median}");
    let near = group(&tables, "near", "delivery_latency_p50_s");
    assert!((0.010..0.0102).contains(&near), "{near}");
    // The first message finds the second handshake at its beginning: it has come to the proxy with the end of the
    // first handshake at 30 ms, the second one takes 60 ms from then on, and 30 ms are left.
    let longest = group(&tables, "far", "delivery_latency_max_s");
    assert!((longest - 0.100).abs() < 0.001, "{longest}");
    // From the start of the transfer: 20 ms, 10 ms until the proxy knows, and 60 ms.
    let set_up = value(tables.get("flows").unwrap(), "name", "far-1", "setup_time_s");
    assert!((set_up - 0.090).abs() < 1e-9, "{set_up}");
}

#[test]
fn slow_second_half_throttles_first() {
    let slow = Split {
        links: ["rate = \"100 Mbit/s\", delay = \"1 ms\"", "rate = \"1 Mbit/s\", delay = \"1 ms\""],
        workload: "{ kind = \"greedy\" }",
        buffer: "50 kB",
        ..Split::USUAL
    };
    let tables = slow.tables();
    let (read, passed_on) =
        (group(&tables, "near", "payload_bytes_read"), group(&tables, "far", "payload_bytes_read"));
    // 20 s at 1 Mbit/s, less headers: the second half is full.
    assert!((2.2e6..2.5e6).contains(&passed_on), "{passed_on}");
    // Between the two are the buffer, less than 96 KiB unsent, and what is under way: the queue of 1000 packets at most.
    let held = read - passed_on;
    assert!((50e3..50e3 + 98_304.0 + 1.5e6).contains(&held), "{held}");
    // What the first sender sent beyond what was read is no more than a window.
    let sent = group(&tables, "near", "payload_bytes_sent");
    assert!(sent - read < 7e6, "{sent} {read}");
    let larger = Split { buffer: "1050 kB", ..slow }.tables();
    let grown = group(&larger, "near", "payload_bytes_read") - read;
    // The windows of both runs need not be alike to the segment.
    assert!((grown - 1e6).abs() < 1e5, "{grown}");
}

#[test]
fn a_relay_may_be_relayed() {
    let text = Split::USUAL
        .text()
        .replace("\"proxy\", \"client\"]", "\"proxy\", \"client\", \"last\"]")
        .replace("links = [", "links = [ { from = \"client\", to = \"last\", delay = \"5 ms\" },");
    let text = format!(
        r#"{text}
        [[flows]]
        name = "last"
        from = "client"
        to = "last"
        workload = {{ kind = "relay", of = "far", buffer = "10 kB" }}
        "#
    );
    let run = tables(&text, 1);
    assert_eq!(group(&run, "last", "payload_bytes_read"), 1e6);
    assert_eq!(fingerprint(&run), fingerprint(&tables(&text, 1)));
}

#[test]
fn whoever_stops_stops_both_halves() {
    let stopped =
        Split { workload: "{ kind = \"greedy\" }", first: "stop = \"2 s\"", ..Split::USUAL };
    let tables = stopped.tables();
    let completed = value(tables.get("flows").unwrap(), "name", "far-1", "completion_time_s");
    assert!((2.0..3.0).contains(&completed), "{completed}");
    let [near, far] = ["near", "far"].map(|name| group(&tables, name, "payload_bytes_read"));
    assert_eq!(near, far);
}

#[test]
fn unanswered_relay_aborts_first_connection() {
    let unanswered = Split {
        links: ["delay = \"10 ms\"", "delay = \"30 ms\", loss = \"100 %\""],
        workload: "{ kind = \"greedy\" }",
        duration: "300 s",
        ..Split::USUAL
    };
    let tables = unanswered.tables();
    assert_eq!(failure(&tables, "far-1").as_deref(), Some("timed-out"));
    assert_eq!(failure(&tables, "near-1").as_deref(), Some("reset"));
}
