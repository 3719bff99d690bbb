//! Queues: every discipline with defaults, with parameters, in trees, and refused input.

use crate::errors::error;
use crate::{document, experiment, plan, with};
use fairwind_scenario::Qdisc;
use serde_json::{Value, json};

const QUEUE: &str = "{ discipline = \"pfifo\", limit = \"1 bdp\" }";

/// What the bottleneck's queue (1 Mbit/s, 100 ms) resolves to, as JSON.
fn resolved(queue: &str) -> Value {
    let experiment = experiment(&with(QUEUE, queue));
    serde_json::to_value(&experiment.network.links[0].queue).expect("a queue is JSON")
}

fn refused(queue: &str, expected: &str) {
    let text = error(&with(QUEUE, queue));
    assert!(text.contains(expected), "expected {expected}\nfound {text}");
}

#[test]
fn name_selects_discipline_with_tc_defaults() {
    for name in ["pfifo", "bfifo", "codel", "pie", "dualpi2", "sfq", "fq_codel", "fq_pie", "cake"] {
        let by_name = resolved(&format!("\"{name}\""));
        assert_eq!(by_name["discipline"], *name);
        assert_eq!(by_name, resolved(&format!("{{ discipline = \"{name}\" }}")), "{name}");
    }
    assert_eq!(resolved("\"pfifo\""), json!({ "discipline": "pfifo", "limit_packets": 1000 }));
    assert_eq!(resolved("\"bfifo\""), json!({ "discipline": "bfifo", "limit_bytes": 1_514_000 }));
    assert_eq!(
        resolved("\"fq_codel\""),
        json!({
            "discipline": "fq_codel", "limit_packets": 10_240, "flows": 1024, "quantum_bytes": 1514,
            "target": "5 ms", "interval": "100 ms", "ecn": true,
            "memory_limit_bytes": 33_554_432, "drop_batch_packets": 64,
        })
    );
}

#[test]
fn discipline_defaults_to_pfifo() {
    assert_eq!(resolved("{ limit = \"63 packets\" }")["limit_packets"], 63);
    assert_eq!(resolved("{ limit = \"63 packets\" }")["discipline"], "pfifo");
    assert_eq!(resolved("{}")["limit_packets"], 1000);
}

#[test]
fn parameters_have_the_names_that_tc_gives_them() {
    assert_eq!(
        resolved(
            "{ discipline = \"codel\", limit = \"2 bdp\", target = \"20 ms\", interval = \"300 ms\", \
             ecn = true, ce_threshold = \"1 ms\" }"
        ),
        json!({
            "discipline": "codel", "limit_packets": 17, "target": "20 ms", "interval": "300 ms",
            "ecn": true, "ce_threshold": "1 ms",
        })
    );
    assert_eq!(
        resolved(
            "{ discipline = \"pie\", limit = \"24 ms\", target = \"20 ms\", tupdate = \"30 ms\", \
             alpha = 3, beta = 21, ecn = true, bytemode = true, dq_rate_estimator = true }"
        ),
        json!({
            "discipline": "pie", "limit_packets": 2, "target": "20 ms", "update": "30 ms",
            "alpha": 3, "beta": 21, "ecn": true, "bytemode": true, "departure_rate": true,
        })
    );
    assert_eq!(
        resolved(
            "{ discipline = \"sfq\", limit = \"64 packets\", quantum = \"3 kB\", divisor = 512, \
             flows = 60, depth = 10, perturb = \"10 s\", headdrop = true }"
        ),
        json!({
            "discipline": "sfq", "limit_packets": 64, "quantum_bytes": 3000, "divisor": 512,
            "flows": 60, "depth_packets": 10, "perturb": "10 s", "head_drop": true,
        })
    );
    assert_eq!(
        resolved(
            "{ discipline = \"cake\", bandwidth = \"900 kbit/s\", tins = \"besteffort\", \
                  isolation = \"flows\", rtt = \"30 ms\", overhead = \"38 B\", memlimit = \"1 MiB\" }"
        ),
        json!({
            "discipline": "cake", "bandwidth": "900 kbit/s", "tins": "besteffort",
            "isolation": "flows", "rtt": "30 ms", "overhead_bytes": 38,
            "memory_limit_bytes": 1_048_576,
        })
    );
}

#[test]
fn red_and_choke_thresholds_follow_floyd() {
    // A quarter of the limit, a third of that; (2 x 5000 + 15 000) / 3000 packets.
    assert_eq!(
        resolved("{ discipline = \"red\", limit = \"60 kB\" }"),
        json!({
            "discipline": "red", "limit_bytes": 60_000, "min_bytes": 5000, "max_bytes": 15_000,
            "average_packet_bytes": 1000, "burst_packets": 8, "probability": "2 %",
            "bandwidth": "1 Mbit/s", "ecn": false, "hard_drop": false, "gentle": false,
            "adaptive": false,
        })
    );
    let red =
        resolved("{ discipline = \"red\", limit = \"60 kB\", min = \"4 kB\", avpkt = \"500 B\" }");
    assert_eq!([&red["min_bytes"], &red["max_bytes"]], [4000, 12_000]);
    assert_eq!(red["burst_packets"], 13);
    assert_eq!(
        resolved("{ discipline = \"choke\", limit = \"60 packets\" }"),
        json!({
            "discipline": "choke", "limit_packets": 60, "min_packets": 5, "max_packets": 15,
            "burst_packets": 8, "average_packet_bytes": 1000, "probability": "2 %",
            "bandwidth": "1 Mbit/s", "ecn": false,
        })
    );
}

#[test]
fn nested_limits_use_rate_of_shaper() {
    let queue = resolved(
        "{ discipline = \"htb\", rate = \"500 kbit/s\", burst = \"1520 B\", child = \
         { discipline = \"prio\", bands = [{ limit = \"1 bdp\" }, \"fq_codel\"], priomap = \
         [1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1], filters = [{ band = 0, match = \
         { group = \"thin\" } }] } }",
    );
    let class = &queue["classes"][0];
    assert_eq!(queue["default_class"], 0);
    assert_eq!(
        [&class["name"], &class["rate"], &class["ceil"]],
        ["1:1", "500 kbit/s", "500 kbit/s"]
    );
    assert_eq!([&class["burst_bytes"], &class["ceil_burst_bytes"]], [1520, 1600]);
    // 62 500 B/s divided by 10.
    assert_eq!(class["quantum_bytes"], 6250);
    // 500 kbit/s x 100 ms = 6250 B: 5 packets.
    assert_eq!(class["child"]["bands"][0], json!({ "discipline": "pfifo", "limit_packets": 5 }));
    assert_eq!(class["child"]["bands"][1]["discipline"], "fq_codel");
    assert_eq!(class["child"]["filters"], json!([[{ "group": "thin" }, 0]]));
}

#[test]
fn classes_of_htb_name_their_parents() {
    let queue = resolved(
        "{ discipline = \"htb\", default = \"1:20\", classes = [\
         { name = \"1:1\", rate = \"1 Mbit/s\" }, \
         { name = \"1:10\", parent = \"1:1\", rate = \"300 kbit/s\", ceil = \"1 Mbit/s\", prio = 1, \
           filters = [{ destination_port = 443 }], child = \"sfq\" }, \
         { name = \"1:20\", parent = \"1:1\", rate = \"700 kbit/s\", quantum = \"1514 B\" }] }",
    );
    assert_eq!(queue["default_class"], 2);
    assert_eq!(queue["classes"][0].get("child"), None);
    assert_eq!(
        queue["classes"][1],
        json!({
            "name": "1:10", "parent": 0, "rate": "300 kbit/s", "ceil": "1 Mbit/s",
            "burst_bytes": 1600, "ceil_burst_bytes": 1600, "priority": 1, "quantum_bytes": 3750,
            "filters": [{ "destination_port": 443 }], "child": resolved("\"sfq\""),
        })
    );
    assert_eq!(
        queue["classes"][2]["child"],
        json!({ "discipline": "pfifo", "limit_packets": 1000 })
    );
}

#[test]
fn curves_of_hfsc_are_rates_pieces_or_delays() {
    let queue = resolved(
        "{ discipline = \"hfsc\", default = \"rest\", classes = [\
         { name = \"all\", ls = \"900 kbit/s\", ul = \"900 kbit/s\" }, \
         { parent = \"all\", sc = { umax = \"250 B\", dmax = \"10 ms\", rate = \"100 kbit/s\" }, \
           filters = [{ group = \"thin\" }] }, \
         { name = \"rest\", parent = \"all\", ls = { m1 = \"0 bit/s\", d = \"50 ms\", m2 = \"800 kbit/s\" }, \
           ul = \"500 kbit/s\", child = { limit = \"100 ms\" } }, \
         { parent = \"all\", ls = \"1 Mbit/s\", child = { limit = \"100 ms\" } }] }",
    );
    let linear = |rate: &str| json!({ "m1": "0 bit/s", "d": "0 ns", "m2": rate });
    assert_eq!(queue["default_class"], 2);
    assert_eq!(queue["classes"][0]["upper_limit"], linear("900 kbit/s"));
    // 250 B within 10 ms are 200 kbit/s.
    let fast = json!({ "m1": "200 kbit/s", "d": "10 ms", "m2": "100 kbit/s" });
    assert_eq!(queue["classes"][1]["real_time"], fast);
    assert_eq!(queue["classes"][1]["link_sharing"], fast);
    let late = json!({ "m1": "0 bit/s", "d": "50 ms", "m2": "800 kbit/s" });
    assert_eq!(queue["classes"][2]["link_sharing"], late);
    // 500 kbit/s x 100 ms = 6250 B: 5 packets.
    let child = json!({ "discipline": "pfifo", "limit_packets": 5 });
    assert_eq!(queue["classes"][2]["child"], child);
    // What is above limits it, too: 900 kbit/s x 100 ms = 11 250 B.
    assert_eq!(queue["classes"][3]["child"]["limit_packets"], 8);
}

#[test]
fn classes_of_hfsc_have_what_they_need() {
    let class = |text: &str| format!("{{ discipline = \"hfsc\", classes = [{text}] }}");
    let refusals = [
        ("{}", "path.queue.classes[0].ls: a class needs ls, rt, or sc for both"),
        (
            "{ ls = { m1 = \"1 Mbit/s\", d = \"1 ms\" } }",
            "classes[0].ls = { m1 = \"1 Mbit/s\", d = \"1 ms\" }: it needs m2, or rate",
        ),
        (
            "{ ls = { m2 = \"1 Mbit/s\", rate = \"1 Mbit/s\" } }",
            "it has either m1, d and m2, or umax, dmax and rate",
        ),
        (
            "{ sc = \"1 Mbit/s\", rt = \"1 Mbit/s\" }",
            "classes[0].sc = \"1 Mbit/s\": it sets rt and ls, of which one is set already",
        ),
        (
            "{ rt = \"1 Mbit/s\", ul = \"1 Mbit/s\" }",
            "classes[0].ul = \"1 Mbit/s\": it limits link sharing, so it needs ls",
        ),
        (
            "{ ls = { m1 = \"2 Mbit/s\", m2 = \"1 Mbit/s\" } }",
            "classes[0].ls.m1 = \"2 Mbit/s\": without d it has no effect",
        ),
        (
            "{ ls = \"1 Mbit/s\", child = { discipline = \"htb\", rate = \"1 Mbit/s\" } }",
            "a queue that holds packets back stalls all other classes",
        ),
        (
            "{ sc = { m1 = \"2 Mbit/s\", m2 = \"1 Mbit/s\" } }",
            "classes[0].sc.m1 = \"2 Mbit/s\": without d it has no effect",
        ),
        (
            "{ ls = \"0 bit/s\" }",
            "path.queue.classes[0].ls = \"0 bit/s\": the rate must be above zero",
        ),
        (
            "{ ls = { umax = \"1 kB\", dmax = \"1500 ns\", rate = \"1 kbit/s\" } }",
            "classes[0].ls.dmax = \"1500 ns\": it must be a whole number of microseconds",
        ),
        (
            "{ name = \"a\", rt = \"1 Mbit/s\" }, { parent = \"a\", ls = \"1 Mbit/s\" }",
            "a class with classes below needs ls",
        ),
    ];
    for (text, rule) in refusals {
        refused(&class(text), rule);
    }
}

#[test]
fn tbf_limit_follows_from_latency() {
    // 1 Mbit/s x 48 ms = 6000 B, and the burst.
    let queue = resolved(
        "{ discipline = \"tbf\", rate = \"1 Mbit/s\", burst = \"2 kB\", latency = \"48 ms\" }",
    );
    assert_eq!([&queue["burst_bytes"], &queue["limit_bytes"]], [2000, 8000]);
    // 2 Mbit/s x 24 ms = 6000 B, and one packet; without the peak it would be 5000 B.
    let queue = resolved(
        "{ discipline = \"tbf\", rate = \"1 Mbit/s\", burst = \"9 kB\", latency = \"24 ms\", \
         peakrate = \"2 Mbit/s\", mtu = \"1500 B\" }",
    );
    assert_eq!(queue["limit_bytes"], 7500);
}

#[test]
fn a_drr_has_classes() {
    let queue = resolved(
        "{ discipline = \"drr\", classes = [{ quantum = \"600 B\", filters = [{ group = \"thin\" }], \
         child = { discipline = \"bfifo\", limit = \"9 kB\" } }, {}] }",
    );
    assert_eq!(
        queue["classes"],
        json!([
            {
                "quantum_bytes": 600, "filters": [{ "group": "thin" }],
                "child": { "discipline": "bfifo", "limit_bytes": 9000 },
            },
            { "quantum_bytes": 1514, "child": { "discipline": "pfifo", "limit_packets": 1000 } },
        ])
    );
}

#[test]
fn queues_are_swept_by_name_and_by_key() {
    let text = with(
        "[[flows]]",
        "[sweep]\n\"path.queue\" = [\"sfq\", { discipline = \"codel\" }]\n[[flows]]",
    );
    let names: Vec<_> = plan(&text)
        .cells
        .iter()
        .map(|cell| cell.experiment.network.links[0].queue.name())
        .collect();
    assert_eq!(names, ["sfq", "codel"]);
    let mut document = document(&with(QUEUE, "{ discipline = \"codel\" }"));
    document.set("path.queue.target", "20 ms").unwrap();
    let plan = document.plan().unwrap();
    let Qdisc::Codel(codel) = &plan.cells[0].experiment.network.links[0].queue else { panic!() };
    assert_eq!(codel.target.as_millis(), 20);
}

#[test]
fn unknown_queue_suggests_nearest() {
    refused(
        "\"fq_coddle\"",
        "path.queue = \"fq_coddle\": it names no queue discipline; did you mean \"fq_codel\"?",
    );
    refused("\"x9\"", "it names no queue discipline; known are pfifo, ");
    refused("\"tbf\"", "tbf needs parameters: write \"tc: tbf rate 1mbit burst 2k latency 50ms\"");
    refused("{ discipline = \"fqcodel\" }", "did you mean \"fq_codel\"?");
    refused(
        "{ discipline = \"codel\", targt = \"5 ms\" }",
        "unknown key\n  hint: did you mean \"target\"?",
    );
    refused(
        "{ discipline = \"pfifo\", target = \"5 ms\" }",
        "only codel, pie, dualpi2, fq_codel, fq_pie has this key",
    );
    refused("63", "expected a queue discipline such as \"fq_codel\", found a whole number");
}

#[test]
fn limits_are_checked_wherever_they_stand() {
    refused(
        "{ discipline = \"prio\", bands = [\"pfifo\", { limit = \"0 packets\" }] }",
        "path.queue.bands[1].limit = \"0 packets\": a queue must hold at least one packet",
    );
    refused(
        "{ discipline = \"tbf\", rate = \"1 Mbit/s\", burst = \"2 kB\" }",
        "path.queue.limit: missing; it is required\n  hint: set limit or latency",
    );
    refused("{ discipline = \"htb\" }", "path.queue.rate: missing; it is required");
    refused(
        "{ discipline = \"htb\", classes = [{ rate = \"1 Mbit/s\", parent = \"1:2\" }] }",
        "path.queue.classes[0].parent = \"1:2\": no class has this name\n  hint: did you mean \"1:1\"?",
    );
    refused(
        "{ discipline = \"prio\", priomap = [0, 1] }",
        "path.queue.priomap = [0, 1]: there must be 16 priorities, not 2",
    );
}

#[test]
fn both_forms_of_tc_syntax_are_accepted() {
    let chain = resolved("\"tc: htb rate 500kbit burst 1520 / pfifo limit 63\"");
    assert_eq!(
        chain,
        resolved(
            "{ discipline = \"htb\", rate = \"500 kbit/s\", burst = \"1520 B\", child = \
             { limit = \"63 packets\" } }"
        )
    );
    let commands = resolved(
        "\"\"\"
tc qdisc add dev eth0 root handle 1: htb default 1
tc class add dev eth0 parent 1: classid 1:1 htb rate 500kbit burst 1520
tc qdisc add dev eth0 parent 1:1 pfifo limit 63\"\"\"",
    );
    assert_eq!(chain, commands);
    assert_eq!(
        resolved("\"tc: red limit 60000\""),
        resolved("{ discipline = \"red\", limit = \"60 kB\" }")
    );
}

#[test]
fn tc_syntax_errors_have_column() {
    refused(
        "\"tc: codel taget 5ms\"",
        "path.queue = \"tc: codel taget 5ms\": column 11: \"taget\" is not a parameter of codel; did you mean \"target\"?",
    );
    refused(
        "\"codel target 5ms\"",
        "write \"tc: codel target 5ms\" for the syntax of tc, or a table",
    );
    refused("\"tc: netem delay 50ms\"", "column 5: netem is not a queue but an impairment");
}

#[test]
fn contradictory_tree_is_refused() {
    refused(
        "{ discipline = \"htb\", classes = [{ rate = \"2 Mbit/s\", ceil = \"1 Mbit/s\" }] }",
        "path.queue.classes[0].ceil = \"1 Mbit/s\": the ceil 1 Mbit/s is below the rate 2 Mbit/s",
    );
    refused(
        "{ discipline = \"prio\", bands = [\"pfifo\", \"pfifo\"], priomap = \
         [0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] }",
        "path.queue.priomap = [0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]: there are 2 bands, counted from 0",
    );
    refused(
        "{ discipline = \"prio\", bands = [\"pfifo\"] }",
        "path.queue.bands = [\"pfifo\"]: there must be 2 to 16 bands",
    );
    refused(
        "{ discipline = \"red\", limit = \"60 kB\", min = \"20 kB\", max = \"10 kB\" }",
        "path.queue.min = \"20 kB\": min 20000 must be below max 10000: swap them",
    );
    refused(
        "{ discipline = \"red\", limit = \"60 kB\", max = \"70 kB\" }",
        "path.queue.max = \"70 kB\": max 70000 is above the limit 60000",
    );
    refused(
        "{ discipline = \"drr\", classes = [] }",
        "path.queue.classes = []: it needs a class; without one, all packets are dropped",
    );
    refused(
        "{ discipline = \"sfq\", divisor = 1000 }",
        "path.queue.divisor = 1000: it must be a power of two",
    );
    refused(
        "{ discipline = \"codel\", interval = \"0 s\" }",
        "path.queue.interval = \"0 s\": it must be above zero",
    );
    refused(
        "\"tc: htb rate 5mbit ceil 1mbit\"",
        "classes[0].ceil: the ceil 1 Mbit/s is below the rate 5 Mbit/s: raise it",
    );
    refused("\"tc: pfifo limit 0\"", "limit: a queue must hold at least one packet");
}

#[test]
fn filter_of_unknown_group_suggests_nearest() {
    refused(
        "{ discipline = \"drr\", classes = [{ filters = [{ group = \"thinn\" }] }, {}] }",
        "path.queue.classes[0].filters[0].group = \"thinn\": a filter matches the group \"thinn\", which does not \
         exist\n  hint: did you mean \"thin\"?",
    );
    refused(
        "\"tc: htb default 2 / class 1:1 rate 1mbit match group fat / class 1:2 rate 1mbit\"",
        "a filter matches the group \"fat\", which does not exist\n  hint: there are thin, greedy",
    );
}

#[test]
fn misleading_impairments_are_warned() {
    let warned = |impairments: &str, expected: &str| {
        let text = crate::THIN_AGAINST_GREEDY.replacen(
            "[path]",
            &format!("[path]\nimpairments = {impairments}"),
            1,
        );
        let warnings = plan(&text).warnings;
        assert!(
            warnings.iter().any(|warning| warning.contains(expected)),
            "{expected}\n{warnings:?}"
        );
    };
    warned("\"tc: netem loss 2% 25%\"", "0.0057 % of the packets are lost, not 2 %");
    let nothing = "path.impairments.reorder = { probability = \"25 %\" }: packets that overtake skip netem's own delay, and there is none";
    warned("{ reorder = { probability = \"25 %\" } }", nothing);
}

#[test]
fn commands_are_taken_as_a_script_has_them() {
    let script = "# my link\ntc qdisc del dev $DEV root 2>/dev/null || true\nsudo tc qdisc add dev $DEV root \\\n  fq_codel limit 50";
    let queue = |text: &str| {
        let text = format!("'''\n{text}'''");
        experiment(&with(QUEUE, &text)).network.links[0].queue.clone()
    };
    let chain =
        experiment(&with(QUEUE, "\"tc: fq_codel limit 50\"")).network.links[0].queue.clone();
    assert_eq!(queue(script), chain);
    let impaired = |value: &str| {
        let path = format!("[path]\nimpairments = \"{value}\"");
        experiment(&crate::THIN_AGAINST_GREEDY.replacen("[path]", &path, 1)).network.links[0]
            .clone()
    };
    let command = "tc qdisc add dev eth0 root handle 1: netem delay 10ms loss 1%";
    assert_eq!(impaired(command), impaired("tc: netem delay 10ms loss 1%"));
}

#[test]
fn script_errors_have_line_and_suggestion() {
    let script = "'''\ntc qdisc add dev eth0 root handle 1: htb default 10\n\
        tc class add dev eth0 parent 1: classid 1:1 htb rate 500kbit\n\
        tc class add dev eth0 parent 1:1 classid 1:10 htb rate 500kbit\n\
        tc qdisc add dev eth0 parent 1:1 fq_codel'''";
    refused(script, "line 4, column 34: the class 1:1 has children, so it holds no packets");
    refused(script, "path.queue = \"tc qdisc add dev eth0 root handle 1: htb default 10 ...\"");
    refused("\"cbq\"", "cbq is not supported; the nearest is htb");
    refused("\"hfsc\"", "hfsc needs parameters: write \"tc: hfsc default 2 / class");
    refused("\"tc: mq\"", "mq is not supported; the nearest is the discipline below it");
    refused("\"tc: cake bandwidth 900kbit nat wash mpu 64\"", "cake's mpu is not modelled");
    experiment(&with(QUEUE, "\"tc: cake bandwidth 900kbit nat wash\""));
}

#[test]
fn unusual_queues_are_warned() {
    let warned = |queue: &str, expected: &str| {
        let warnings = plan(&with(QUEUE, queue)).warnings;
        assert!(
            warnings.iter().any(|warning| warning.contains(expected)),
            "{expected}\n{warnings:?}"
        );
    };
    warned(
        "{ discipline = \"tbf\", rate = \"500 kbit/s\", burst = \"1 kB\", limit = \"64 kB\" }",
        "path.queue.burst = \"1 kB\": packets above it never fit and are dropped; packets have up to 1.5 kB",
    );
    // 1500 B at 1 Mbit/s take 12 ms.
    warned("\"fq_codel\"", "target: below 12 ms, the time of one packet of 1.5 kB at 1 Mbit/s");
    warned(
        "{ discipline = \"red\", limit = \"60 kB\", min = \"10 kB\", max = \"15 kB\" }",
        "path.queue.max = \"15 kB\": less than twice min",
    );
    warned(
        "{ discipline = \"htb\", classes = [{ name = \"1:1\", rate = \"1 Mbit/s\" }, \
         { parent = \"1:1\", rate = \"600 kbit/s\" }, { parent = \"1:1\", rate = \"500 kbit/s\" }] }",
        "path.queue.classes[0].rate = \"1 Mbit/s\": the classes below are sure of 1.1 Mbit/s together",
    );
    warned(
        "{ discipline = \"drr\", classes = [{ filters = [{ group = \"thin\" }] }, {}] }",
        "classes[1].filters",
    );
    warned(
        "\"tc: htb rate 2mbit\"",
        "classes[0].rate: above the link's 1 Mbit/s: it has no effect",
    );
    warned(
        "{ discipline = \"htb\", classes = [{ rate = \"500 kbit/s\" }] }",
        "path.queue.default: missing: packets without a matching filter pass unshaped, as in the kernel",
    );
    warned(
        "{ discipline = \"hfsc\", classes = [{ sc = \"2 Mbit/s\", filters = [{ group = \"thin\" }] }] }",
        "path.queue.classes[0].sc = \"2 Mbit/s\": real-time curves promise 2 Mbit/s together, and the link has 1 Mbit/s",
    );
    warned(
        "\"tc: hfsc default 2 / class 1:1 ls rate 1mbit / class 1:2 ls rate 1mbit ul rate 2mbit\"",
        "classes[1].ul: above the link's 1 Mbit/s: it has no effect",
    );
    assert!(
        plan(&with(QUEUE, "{ discipline = \"fq_codel\", target = \"15 ms\" }")).warnings.is_empty()
    );
}

#[test]
fn shaper_replaces_path_rate() {
    let shaped = with("rate = \"1 Mbit/s\"\n", "").replace(
        QUEUE,
        "\"tc: htb rate 500kbit / pfifo limit 9\"\nreverse_queue = { limit = \"1 bdp\" }",
    );
    let links = experiment(&shaped).network.links;
    assert_eq!(links[0].rate, None);
    assert_eq!(links[0].queue.shaped_rate().unwrap().as_bits_per_second(), 500_000);
    // The way back has the same rate, and a queue of its product with the round trip: 6250 B.
    assert_eq!(links[1].rate.unwrap().as_bits_per_second(), 500_000);
    assert_eq!(links[1].queue, Qdisc::Pfifo { limit_packets: 5 });
    let text = error(&with("rate = \"1 Mbit/s\"\n", ""));
    assert!(
        text.starts_with("path.rate: missing; it is required\n  hint: the rate of the bottleneck;"),
        "{text}"
    );
}

#[test]
fn impairment_delay_is_part_of_rtt() {
    let added =
        "impairments = \"tc: netem delay 30ms\"\nreverse_impairments = { delay = \"20 ms\" }";
    let path = |rtt: &str| {
        let text = with("rtt = \"100 ms\"", &format!("rtt = \"50 ms\"\n{added}"));
        text.replacen("[[flows]]", &format!("[[flows]]\nrtt = \"{rtt}\""), 1)
    };
    let plain = experiment(&with("rtt = \"100 ms\"", "rtt = \"100 ms\""));
    let network = experiment(&path("140 ms")).network;
    // 25 + 30 ms there, 25 + 20 ms back: 100 ms, which one bandwidth-delay product is of.
    let delays = [&network.links[0], &network.links[1]].map(|link| link.delay.as_millis());
    assert_eq!(delays, [55, 45]);
    assert_eq!(network.links[0].queue, plain.network.links[0].queue);
    // The group's 40 ms more are on its way to the bottleneck and back.
    assert_eq!([2, 3].map(|place: usize| network.links[place].delay.as_millis()), [20, 20]);
    let text = error(&path("99 ms"));
    assert!(text.contains("it must not be less than the path's, 100 ms"), "{text}");
}

#[test]
fn netem_text_is_read_and_delay_added() {
    let path = |impairments: &str| {
        with("rtt = \"100 ms\"", &format!("rtt = \"100 ms\"\nimpairments = {impairments}"))
    };
    let link = |impairments: &str| experiment(&path(impairments)).network.links[0].clone();
    let text = link(
        "\"tc: netem delay 30ms 5ms 25% distribution normal loss gemodel 1% 10% 80% 0.1% duplicate 1% reorder 25% 50% gap 5 slot 10ms 20ms packets 4\"",
    );
    let table = link(
        "{ delay = \"30 ms\", jitter = { deviation = \"5 ms\", correlation = \"25 %\", distribution = \"normal\" }, \
         loss = { model = \"gemodel\", p = \"1 %\", r = \"10 %\", bad_loss = \"80 %\", good_loss = \"0.1 %\" }, \
         duplicate = { probability = \"1 %\" }, \
         reorder = { probability = \"25 %\", correlation = \"50 %\", gap = 5 }, \
         slot = { min_delay = \"10 ms\", max_delay = \"20 ms\", packets = 4 } }",
    );
    assert_eq!(text.impairments, table.impairments);
    assert_eq!([text.delay.as_millis(), table.delay.as_millis()], [80, 80]);
    let breaks = |impairments: &str, expected: &str| {
        let text = error(&path(impairments));
        assert!(text.contains(expected), "{text}");
    };
    breaks(
        "\"tc: netem los 1%\"",
        "column 11: \"los\" is not a parameter of netem; did you mean \"loss\"?",
    );
    breaks("\"tc: netem rate 1mbit\"", "column 11: the rate belongs to the link");
    breaks("\"netem loss 1%\"", "write \"tc: netem delay 50ms 5ms loss 1%\", or a table");
    breaks("\"tc: netem loss 101%\"", "it must be at most 100 %");
}
