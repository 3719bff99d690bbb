//! Workloads: defaults and rules.

use crate::errors::{breaks, error};
use crate::{document, experiment, plan, with};
use fairwind_scenario::{Burst, Distribution, Pace, Transport, Varying, WebPages, Workload};
use fairwind_units::{BitRate, ByteCount, Span};

fn workload(keys: &str) -> Workload {
    experiment(&with("kind = \"greedy\"", keys)).flows[1].workload.clone()
}

fn refused(keys: &str, expected: &str) {
    breaks("kind = \"greedy\"", keys, expected);
}

#[test]
fn burst_has_duration_or_volume() {
    let greedy = workload("kind = \"on-off\", on = \"1 s\", off = \"2 s\"");
    let constant = Varying::Constant;
    let (burst, off) = (Burst::Time(constant(Span::from_secs(1))), constant(Span::from_secs(2)));
    assert_eq!(greedy, Workload::OnOff { burst, off: off.clone(), pace: None });
    assert!(!greedy.is_interactive() && !greedy.is_answered());
    let paced =
        workload("kind = \"on-off\", volume = \"5 kB\", off = \"2 s\", rate = \"1 Mbit/s\"");
    let burst = Burst::Volume(Varying::Constant(ByteCount::new(5000)));
    let rate = BitRate::from_bits_per_second(1_000_000);
    let pace = Some(Pace { rate, message: ByteCount::new(1000) });
    assert_eq!(paced, Workload::OnOff { burst, off, pace });
    refused("kind = \"on-off\", off = \"2 s\"", "workload.on: missing");
    refused("kind = \"on-off\", on = \"1 s\", volume = \"5 kB\", off = \"2 s\"", "not both");
    refused(
        "kind = \"on-off\", on = \"1 s\", off = \"0 s\"",
        "off = \"0 s\": it must be 1 us or more",
    );
    refused(
        "kind = \"on-off\", on = \"1 s\", off = \"1 s\", message = \"100 B\"",
        "a greedy burst has no messages",
    );
}

#[test]
fn page_defaults_follow_cellular_standards() {
    let web = workload("kind = \"web\", pages = 3");
    assert!(web.is_answered());
    let Workload::Web(web) = web else { panic!("{web:?}") };
    let WebPages { request, main_object, embedded_objects, reading_time, pages, .. } = web;
    assert_eq!(request, Varying::Constant(ByteCount::new(350)));
    assert_eq!(
        main_object,
        Varying::Drawn(Distribution::Lognormal {
            mean: ByteCount::new(10_710),
            deviation: ByteCount::new(25_032),
            min: Some(ByteCount::new(100)),
            max: Some(ByteCount::new(2_000_000)),
        })
    );
    assert_eq!(
        reading_time,
        Varying::Drawn(Distribution::Exponential { mean: Span::from_secs(30) })
    );
    assert_eq!(pages, Some(3));
    // The quantiles are those of the law: a share 1 - (2 / (n + 2))^1.1 has up to n.
    let Varying::Drawn(Distribution::Empirical { quantiles, .. }) = embedded_objects else {
        panic!("a table of quantiles");
    };
    for quantile in &quantiles[..quantiles.len() - 1] {
        let expected = 1.0 - (2.0 / (f64::from(quantile.value) + 2.0)).powf(1.1);
        assert!((quantile.share.as_f64() - expected).abs() < 0.0006, "{quantile:?}");
    }
    refused("kind = \"web\", embedded_objects = \"2\"", "expected a whole number");
    refused("kind = \"web\", main_object = \"0 B\"", "it must be 1 B or more");
}

#[test]
fn replayed_writes_must_be_ordered() {
    let replay = workload(
        "kind = \"replay\", writes = [{ at = \"0 s\", size = \"10 B\" }, \
         { at = \"20 ms\", size = \"1 kB\" }]",
    );
    let Workload::Replay { writes, .. } = replay else { panic!("{replay:?}") };
    assert_eq!((writes[1].at, writes[1].size), (Span::from_millis(20), ByteCount::new(1000)));
    refused("kind = \"replay\", writes = []", "there is nothing to write");
    refused(
        "kind = \"replay\", writes = [{ at = \"1 s\", size = \"1 B\" }, \
         { at = \"0 s\", size = \"1 B\" }]",
        "writes[1].at = \"0 s\": it must not be earlier than the previous write, 1 s",
    );
    refused(
        "kind = \"replay\", writes = [{ at = \"1 s\", size = \"0 B\" }]",
        "writes[0].size = \"0 B\": it must be 1 B or more",
    );
}

#[test]
fn constant_rate_needs_payload_or_packet() {
    let tcp = "transport = \"tcp\"";
    refused(&format!("kind = \"constant\", rate = \"1 Mbit/s\", {tcp}"), "payload: missing");
    refused(
        &format!("kind = \"constant\", rate = \"0 bit/s\", payload = \"9 B\", {tcp}"),
        "the rate must be above zero",
    );
    let both = "rate = \"1 Mbit/s\", payload = \"9 B\", packet = \"99 B\"";
    refused(&format!("kind = \"constant\", {both}, {tcp}"), "not both");
    let text = error(&with(
        "kind = \"greedy\"",
        "kind = \"constant\", transport = \"tcp\", payload = \"9 B\"",
    ));
    assert!(text.contains("rate: missing"), "{text}");
}

#[test]
fn datagrams_have_no_tcp_and_smaller_headers() {
    let keys = "kind = \"constant\", rate = \"1 Mbit/s\"";
    let packet = |bytes: u32| format!("{keys}, packet = \"{bytes} B\"");
    refused(&packet(28), "the headers alone have 28 B");
    refused(&packet(1501), "it must not exceed the MTU");
    let text = with("kind = \"greedy\"", &packet(29));
    let found = plan(
        &text.replace("[[flows]]\nname = \"greedy\"", "[capture]\n[[flows]]\nname = \"greedy\""),
    );
    assert_eq!(found.cells[0].experiment.flows[1].workload.transport(), Transport::Udp);
    let warned = |part: &str| found.warnings.iter().any(|warning| warning.contains(part));
    assert!(warned("are not captured: they are datagrams"), "{:?}", found.warnings);
    refused(
        "kind = \"profile\", application = \"FTP download\", transport = \"udp\"",
        "a greedy stream has no rate,",
    );
}

#[test]
fn replayed_writes_may_come_from_file() {
    let text = with("kind = \"greedy\"", "kind = \"replay\", file = \"writes.csv\"")
        + "[sweep]\n\"flows.greedy.workload.file\" = [\"writes.csv\", \"more.csv\"]\n";
    let mut document = document(&text);
    let files: Vec<_> = document.files().into_iter().collect();
    let names: Vec<&str> = files.iter().map(|named| named.file.as_str()).collect();
    assert_eq!(names, ["more.csv", "writes.csv"]);
    let unread = document.plan().expect_err("was not read them").to_string();
    assert!(unread.contains("workload.file = \"writes.csv\": this file was not read"), "{unread}");
    document.provide(&files[1], "seconds,bytes\n0,10\n0.5,2000\n").expect("two writes");
    document.provide(&files[0], "1,7").expect("one write");
    let plan = document.plan().expect("all is there");
    let writes = |cell: usize| match &plan.cells[cell].experiment.flows[1].workload {
        Workload::Replay { writes, .. } => {
            writes.iter().map(|write| (write.at.as_nanos(), write.size.get())).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(writes(0), [(0, 10), (500_000_000, 2000)]);
    assert_eq!(writes(1), [(1_000_000_000, 7)]);
    let json = serde_json::to_string(&plan.cells[0].experiment).expect("it is JSON");
    let again: fairwind_scenario::Experiment =
        serde_json::from_str(&json).expect("it was written so");
    assert_eq!(again, plan.cells[0].experiment, "the writes are in the experiment");
    refused("kind = \"replay\"", "workload.file: missing");
    refused(
        "kind = \"replay\", file = \"a.csv\", writes = [{ at = \"0 s\", size = \"1 B\" }]",
        "not both",
    );
}

#[test]
fn lower_bound_must_not_cover_all_draws() {
    let thin = |law: &str, expected: &str| {
        let keys = "kind = \"thin\", payload = \"9 B\", interval = { distribution =";
        refused(&format!("{keys} {law} }}"), expected);
    };
    let nothing = "[{ share = \"0 %\", value = \"0 s\" }, { share = \"100 %\", value = \"0 s\" }]";
    thin(
        &format!("\"empirical\", quantiles = {nothing}"),
        "interval.quantiles[1].value = \"0 s\": it must be 1 ns or more",
    );
    thin(
        "\"lognormal\", mean = \"1 s\", deviation = \"1 s\", max = \"0 s\"",
        "interval.max = \"0 s\": it must be 1 ns or more",
    );
}

/// Two groups in a row, the second of which relays; `keys` is its workload, `further` what else is written in it.
fn split(of: &str, buffer: &str, further: &str) -> String {
    format!(
        r#"
        name = "split"
        duration = "10 s"
        [topology]
        hosts = ["server", "proxy", "client"]
        links = [{{ from = "server", to = "proxy" }}, {{ from = "proxy", to = "client" }}]
        [[flows]]
        name = "near"
        from = "server"
        to = "proxy"
        workload = {{ kind = "greedy" }}
        [[flows]]
        name = "far"
        from = "proxy"
        to = "client"
        workload = {{ kind = "relay", of = "{of}", buffer = "{buffer}" }}
        {further}
        "#
    )
}

#[test]
fn relay_forwards_data_of_other_group() {
    let relay = experiment(&split("near", "64 KiB", "")).flows[1].workload.clone();
    let expected = Workload::Relay { of: "near".to_owned(), buffer: ByteCount::new(65_536) };
    assert_eq!((relay.relayed(), relay.is_answered()), (Some("near"), false));
    assert_eq!(relay, expected);
    let refused = |text: &str, expected: &str| {
        let errors = error(text);
        assert!(errors.contains(expected), "{expected:?} is not in\n{errors}");
    };
    refused(&split("neer", "1 kB", ""), "did you mean \"near\"?");
    refused(&split("far", "1 kB", ""), "a relay must relay another group, not itself");
    refused(&split("near", "0 B", ""), "it must be at least 1 B");
    refused(&split("near", "1 kB", "count = 2"), "so the count must be equal: 1");
    refused(
        &split("near", "1 kB", "start = \"1 s\""),
        "a relay starts when a connection is accepted",
    );
    refused(&split("near", "1 kB", "stop = \"9 s\""), "stops when that is closed");
    let elsewhere = split("near", "1 kB", "").replace("from = \"proxy\"\n", "from = \"client\"\n");
    refused(&elsewhere.replace("to = \"client\"\n", "to = \"proxy\"\n"), "\"near\" goes to proxy");
    let circle = "workload = { kind = \"relay\", of = \"far\", buffer = \"1 B\" }";
    let circle = split("near", "1 kB", "").replace("workload = { kind = \"greedy\" }", circle);
    refused(&circle, "a cycle of relays: near relays far relays near");
    let answered = split("near", "1 kB", "").replace("greedy", "web");
    refused(&answered, "\"near\" has data in both directions");
    let datagrams = "{ kind = \"constant\", rate = \"1 Mbit/s\", payload = \"100 B\" }";
    let datagrams = split("near", "1 kB", "").replace("{ kind = \"greedy\" }", datagrams);
    refused(&datagrams, "\"near\" sends datagrams");
    let twice = "[[flows]]\nname = \"again\"\nfrom = \"proxy\"\nto = \"client\"\nworkload = { kind = \
                 \"relay\", of = \"near\", buffer = \"1 kB\" }";
    refused(&split("near", "1 kB", twice), "\"far\" relays it already");
    refused(
        &with("kind = \"greedy\"", "kind = \"relay\", of = \"x\", buffer = \"1 B\""),
        "a path gives every group its own hosts",
    );
}

#[test]
fn relay_buffer_below_packet_is_warned() {
    let warnings = |buffer: &str| document(&split("near", buffer, "")).plan().unwrap().warnings;
    let [warning] = &warnings("1 B")[..] else { panic!("one warning") };
    assert!(warning.contains("a packet carries up to 1.5 kB"), "{warning}");
    assert_eq!(warnings("1500 B"), Vec::<String>::new());
}

#[test]
fn transfer_server_is_left_of_bottleneck() {
    let text =
        with("kind = \"greedy\"", "kind = \"transfers\", volume = \"10 MB\", transfers = 50");
    let group = &experiment(&text).flows[1];
    let none = (Varying::Constant(Span::ZERO), Varying::Constant(ByteCount::ZERO));
    let (volume, transfers) = (Varying::Constant(ByteCount::new(10_000_000)), 50);
    let (pause, request) = none;
    let ack_delay = Span::ZERO;
    let expected = Workload::Transfers { volume, transfers, pause, request, ack_delay };
    assert_eq!(group.workload, expected);
    let hosts = (format!("{}-receiver", group.name), format!("{}-sender", group.name));
    assert_eq!((&group.from, &group.to), (&hosts.0, &hosts.1));
    assert!(group.workload.is_answered() && !group.workload.is_interactive());
    assert_eq!(group.connections(), u64::from(group.count) * 50);
}

#[test]
fn ack_delay_is_optional() {
    let of = |more: &str| {
        workload(&format!("kind = \"transfers\", volume = \"1 MB\", transfers = 2{more}"))
    };
    assert_eq!(of("").ack_delay(), Span::ZERO);
    assert_eq!(of(", ack_delay = \"0 s\""), of(""));
    let held = of(", ack_delay = \"80 ms\"");
    assert_eq!(held.ack_delay(), Span::from_millis(80));
    let written = |workload: &Workload| serde_json::to_value(workload).unwrap();
    assert_eq!(serde_json::from_value::<Workload>(written(&held)).unwrap(), held);
    // What is not held back is written as it was before there was a word for it.
    assert!(written(&of("")).get("ack_delay").is_none());
    refused("kind = \"greedy\", ack_delay = \"80 ms\"", "ack_delay");
}

#[test]
fn transfers_need_volume_and_count() {
    refused("kind = \"transfers\", volume = \"1 MB\"", "transfers");
    refused("kind = \"transfers\", volume = \"0 B\", transfers = 2", "it must be 1 B or more");
    refused("kind = \"transfers\", volume = \"1 B\", transfers = 0", "transfers");
    let empty = "kind = \"transfers\", volume = \"1 B\", transfers = 1, request = \"0 B\"";
    refused(empty, "request = \"0 B\": it must be 1 B or more");
    let text =
        with("kind = \"greedy\"", "kind = \"transfers\", volume = \"1 B\", transfers = 100_000");
    let text = text.replacen("count = ", "count = 1000 # ", 2);
    assert!(error(&text).contains("connections, and there may be"), "{}", error(&text));
}
