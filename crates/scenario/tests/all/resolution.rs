//! Resolved experiments: limits in packets and bytes, nodes and links, defaults.

use crate::{THIN_AGAINST_GREEDY, experiment, with};
use fairwind_scenario::{
    Document, Experiment, IpVersion, MessageSize, NodeKind, Qdisc, QueueLimit, StartPattern,
};
use fairwind_units::{BitRate, ByteCount, Ratio, Span};
use serde_json::json;

#[test]
fn the_first_experiment_resolves_to_a_dumbbell() {
    let value = serde_json::to_value(experiment(THIN_AGAINST_GREEDY)).unwrap();
    assert_eq!(
        value["network"]["links"][0],
        json!({
            "name": "bottleneck", "from": "left", "to": "right",
            "rate": "1 Mbit/s", "delay": "50 ms",
            "queue": { "discipline": "pfifo", "limit_packets": 9 },
            "loss": "0 ppb", "overhead_bytes": 0,
        })
    );
    assert_eq!(
        value["network"]["links"][1],
        json!({
            "name": "reverse", "from": "right", "to": "left",
            "rate": "1 Mbit/s", "delay": "50 ms",
            "queue": { "discipline": "pfifo", "limit_packets": 1000 },
            "loss": "0 ppb", "overhead_bytes": 0,
        })
    );
    assert_eq!(
        value["network"]["links"][2],
        json!({
            "name": "thin-sender->left", "from": "thin-sender", "to": "left",
            "delay": "0 ns", "queue": { "discipline": "unlimited" },
            "loss": "0 ppb", "overhead_bytes": 0,
        })
    );
    assert_eq!(value["network"]["bottleneck"], 0);
    assert_eq!(
        value["flows"][0],
        json!({
            "name": "thin", "count": 8, "from": "thin-sender", "to": "thin-receiver",
            "start": "0 ns", "start_spread": "0 ns", "start_pattern": "even",
            "workload": {
                "kind": "thin", "size": { "payload": "120 B" }, "interval": "150 ms",
            },
            "tcp": {
                "profile": "linux-3.16", "congestion": "cubic",
                "modified_fast_retransmit": true, "linear_timeouts": true, "nagle": false,
            },
            "receiver_tcp": { "profile": "linux-3.16" },
        })
    );
    assert_eq!(value["flows"][1]["tcp"], json!({ "profile": "linux-6.18" }));
    assert_eq!(value["measure"]["intervals"], json!(["30 s"]));
}

#[test]
fn experiment_survives_json_round_trip() {
    let text = with(
        "workload = { kind = \"greedy\" }",
        "workload = { kind = \"thin\", packet = { distribution = \"uniform\", min = \"100 B\", \
         max = \"200 B\" }, interval = { distribution = \"exponential\", mean = \"1 s\" } }\n\
         receiver_tcp = { delayed_ack = false }\nstop = \"20 s\"\n[capture]\nsnap = \"96 B\"",
    );
    for text in [THIN_AGAINST_GREEDY, &text] {
        let experiment = experiment(text);
        let json = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), experiment);
    }
}

#[test]
fn bdp_limit_rounds_up_packets() {
    let resolve = |limit: &str, megabits: u64, rtt_ms| {
        let limit: QueueLimit = limit.parse().unwrap();
        let rate = Some(BitRate::from_bits_per_second(megabits * 1_000_000));
        let (rtt, mtu) = (Some(Span::from_millis(rtt_ms)), ByteCount::new(1500));
        (limit.packets(rate, rtt, mtu).unwrap(), limit.bytes(rate, rtt, mtu).unwrap().get())
    };
    assert_eq!(resolve("1 bdp", 1, 100), (9, 12_500));
    assert_eq!(resolve("1 bdp", 5, 150), (63, 93_750));
    assert_eq!(resolve("20 % bdp", 5, 150), (13, 18_750));
    assert_eq!(resolve("2 BDP", 5, 150), (125, 187_500));
    assert_eq!(resolve("9 packets", 5, 150), (9, 13_500));
    assert_eq!(resolve("1 packet", 5, 150), (1, 1500));
    assert_eq!(resolve("64 kB", 5, 150), (43, 64_000));
    assert_eq!(resolve("20 ms", 6, 150), (10, 15_000));
    assert_eq!(resolve("1 bdp", 1, 0).0, 1);
}

#[test]
fn a_limit_is_printed_as_it_is_read() {
    for text in ["9 packets", "1 packet", "10 kB", "20 ms", "100 % bdp", "2.5 % bdp"] {
        assert_eq!(text.parse::<QueueLimit>().unwrap().to_string(), text);
    }
    assert_eq!("1 bdp".parse(), Ok(QueueLimit::BandwidthDelay(Ratio::ONE)));
    for text in ["", "9", "bdp", "packets", "9 pakets", "-1 packets", "1 bdq", "-1 bdp"] {
        assert!(text.parse::<QueueLimit>().is_err(), "{text} is not a queue limit");
    }
}

#[test]
fn a_bfifo_is_limited_in_bytes() {
    let text = with("discipline = \"pfifo\"", "discipline = \"bfifo\"");
    let queue = experiment(&text).network.links[0].queue.clone();
    assert_eq!(queue, Qdisc::Bfifo { limit_bytes: 12_500 });
    let text = with("\"pfifo\", limit = \"1 bdp\"", "\"bfifo\", limit = \"1 B\"");
    assert_eq!(experiment(&text).network.links[0].queue, Qdisc::Bfifo { limit_bytes: 1500 });
}

#[test]
fn group_rtt_adds_delay_to_access_link() {
    let text = with("name = \"greedy\"", "name = \"greedy\"\nrtt = \"130 ms\"");
    let links = experiment(&text).network.links;
    let delay = |name: &str| links.iter().find(|link| link.name == name).unwrap().delay;
    assert_eq!(delay("greedy-sender->left") + delay("left->greedy-sender"), Span::from_millis(30));
    assert_eq!(delay("greedy-sender->left"), Span::from_millis(15));
    assert_eq!(delay("thin-sender->left"), Span::ZERO);
}

#[test]
fn two_delays_take_the_place_of_the_rtt() {
    let text = with("rtt = \"100 ms\"", "forward_delay = \"70 ms\"\nreverse_delay = \"30 ms\"");
    let network = experiment(&text).network;
    assert_eq!(network.links[0].delay, Span::from_millis(70));
    assert_eq!(network.links[1].delay, Span::from_millis(30));
    assert_eq!(network.links[0].queue, Qdisc::Pfifo { limit_packets: 9 });
}

#[test]
fn reverse_and_access_links_have_keys() {
    let text = with(
        "rtt = \"100 ms\"",
        "rtt = \"100 ms\"\nreverse_rate = \"200 kbit/s\"\nreverse_loss = \"1 %\"\nloss = \"2 %\"\n\
         reverse_queue = { limit = \"1 bdp\" }\naccess_rate = \"1 Gbit/s\"\noverhead = \"18 B\"",
    );
    let links = experiment(&text).network.links;
    assert_eq!(links[1].rate, Some(BitRate::from_bits_per_second(200_000)));
    assert_eq!(links[1].queue, Qdisc::Pfifo { limit_packets: 2 });
    assert_eq!((links[0].loss, links[1].loss), ("2 %".parse().unwrap(), "1 %".parse().unwrap()));
    assert_eq!(links[0].overhead_bytes, 18);
    assert_eq!(links[2].rate, Some(BitRate::from_bits_per_second(1_000_000_000)));
}

#[test]
fn topology_links_both_ways_slowest_is_bottleneck() {
    let text = r#"
        name = "three nodes"
        duration = "10 s"
        flows = [{ name = "f", from = "a", to = "b", workload = { kind = "greedy" } }]
        [topology]
        hosts = ["a", "b"]
        routers = ["r"]
        links = [
            { from = "a", to = "r", rate = "10 Mbit/s", delay = "1 ms" },
            { name = "slow", from = "r", to = "b", rate = "1 Mbit/s", queue = { limit = "12 ms" } },
        ]
    "#;
    let network = experiment(text).network;
    let names: Vec<_> = network.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["a->r", "r->a", "slow", "slow-reverse"]);
    assert_eq!(network.bottleneck, Some(2));
    assert_eq!(network.links[0].queue, Qdisc::Pfifo { limit_packets: 1000 });
    assert_eq!(network.links[3].queue, Qdisc::Pfifo { limit_packets: 1 });
    assert_eq!(network.nodes[network.node_index("r").unwrap()].kind, NodeKind::Router);
    let chosen = text.replace("hosts =", "bottleneck = \"a->r\"\nhosts =");
    assert_eq!(experiment(&chosen).network.bottleneck, Some(0));
}

#[test]
fn starts_are_spread_evenly_or_randomly() {
    let text = with("count = 8", "count = 3\nstart = \"1 s\"\nstart_spread = \"150 ms\"");
    let mut group = experiment(&text).flows.remove(0);
    let even: Vec<_> = (0..3).map(|index| group.start_of(index, 12_345).as_millis()).collect();
    assert_eq!(even, [1000, 1050, 1100]);
    group.start_pattern = StartPattern::Random;
    assert_eq!(group.start_of(0, 0), Span::from_secs(1));
    assert_eq!(group.start_of(2, 1 << 63).as_millis(), 1075);
    assert!(group.start_of(2, u64::MAX) < Span::from_millis(1150));
}

#[test]
fn a_packet_has_its_headers_inside() {
    let text = with("payload = \"120 B\"", "packet = \"160 B\"");
    let value = serde_json::to_value(&experiment(&text).flows[0].workload).unwrap();
    assert_eq!(value["size"], json!({ "packet": "160 B" }));
    let packet = ByteCount::new(160);
    assert_eq!(MessageSize::payload_of_packet(packet, IpVersion::V4, true).get(), 108);
    assert_eq!(MessageSize::payload_of_packet(packet, IpVersion::V4, false).get(), 120);
}

#[test]
fn request_response_group_has_equal_tcp() {
    let asking = "workload = { kind = \"request-response\", request = \"300 B\", response = \"9 kB\", \
                  exchanges = 10 }\ntcp = { congestion = \"reno\" }";
    let text = with("workload = { kind = \"greedy\" }", asking);
    let value = serde_json::to_value(&experiment(&text).flows[1]).unwrap();
    assert_eq!(
        value["workload"],
        json!({
            "kind": "request-response", "request": "300 B", "response": "9 kB",
            "think_time": "0 ns", "pause": "0 ns", "exchanges": 10,
        })
    );
    let tcp = json!({ "profile": "linux-6.18", "congestion": "reno", "nagle": false });
    assert_eq!([&value["tcp"], &value["receiver_tcp"]], [&tcp, &tcp]);
    let text =
        text.replacen("congestion = \"reno\" }", "congestion = \"reno\" }\nreceiver_tcp = {}", 1);
    let value = serde_json::to_value(&experiment(&text).flows[1]).unwrap();
    assert_eq!(value["receiver_tcp"], json!({ "profile": "linux-6.18", "nagle": false }));
}

#[test]
fn ipv6_headers_leave_less_room() {
    let text = with("rtt = ", "ip_version = 6\nrtt = ");
    let value = serde_json::to_value(&experiment(&text).network).unwrap();
    assert_eq!(value["ip_version"], 6);
    let packet = ByteCount::new(160);
    assert_eq!(MessageSize::payload_of_packet(packet, IpVersion::V6, true).get(), 88);
    let usual = serde_json::to_value(experiment(THIN_AGAINST_GREEDY).network).unwrap();
    assert_eq!(usual.get("ip_version"), None, "what is usual is not said");
}

#[test]
fn impairments_reach_link_and_errors_name_keys() {
    let text = THIN_AGAINST_GREEDY.to_owned()
        + "\n[path.impairments]\njitter = { deviation = \"5 ms\", distribution = \"normal\" }\n\
         loss = { model = \"gemodel\", p = \"1 %\", r = \"20 %\", bad_loss = \"100 %\", good_loss = \"0 %\" }\n\
         reorder = { probability = \"25 %\", gap = 5 }\n";
    let impairments = experiment(&text).network.links[0].impairments.clone();
    assert_eq!(impairments.jitter.unwrap().deviation, Span::from_millis(5));
    assert_eq!(impairments.reorder.unwrap().gap, 5);
    assert!(experiment(&text).network.links[1].impairments.is_none());
}

#[test]
fn recorded_rate_applies_to_bottleneck() {
    let with_trace = |trace: &str| {
        THIN_AGAINST_GREEDY.to_owned() + "\n[path.rate_trace]\nform = \"opportunities\"\n" + trace
    };
    let text = with_trace("milliseconds = [0, 4, 10]\n");
    assert!(experiment(&text).network.links[0].rate_trace.is_some());
    let document = Document::parse("test.toml", &with_trace("milliseconds = []\n")).unwrap();
    let errors = document.plan().unwrap_err().to_string();
    assert!(errors.contains("rate_trace"), "{errors}");
}

/// Marks are useless to a sender if its peer does not echo them as it expects.
#[test]
fn receiver_inherits_dctcp_unless_set() {
    let receiver = |tcp: &str| {
        let text = format!(
            "name = \"marks\"\nduration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"20 ms\"\n\
             queue = {{ limit = \"1 BDP\" }}\n[[flows]]\nname = \"greedy\"\n\
             workload = {{ kind = \"greedy\" }}\n{tcp}\n"
        );
        serde_json::to_value(&experiment(&text).flows[0]).unwrap()["receiver_tcp"].clone()
    };
    let plain = json!({ "profile": "linux-6.18" });
    let with = |name: &str| json!({ "profile": "linux-6.18", "congestion": name });
    assert_eq!(receiver("tcp = { congestion = \"dctcp\" }"), with("dctcp"));
    assert_eq!(receiver("tcp = { congestion = \"vegas\" }"), plain);
    let other = "tcp = { congestion = \"dctcp\" }\nreceiver_tcp = { congestion = \"cubic\" }";
    assert_eq!(receiver(other), with("cubic"));
}
