//! Every rule that a scenario can break, with its message.

use crate::{THIN_AGAINST_GREEDY, document, plan, with};
use fairwind_scenario::{Document, ScenarioErrors};

const PARKING: &str = r#"name = "two hosts"
duration = "10 s"
[topology]
hosts = ["a", "b"]
routers = ["r"]
[[topology.links]]
from = "a"
to = "r"
rate = "1 Mbit/s"
queue = { limit = "9 packets" }
[[topology.links]]
from = "r"
to = "b"
[[flows]]
name = "f"
from = "a"
to = "b"
workload = { kind = "greedy" }
"#;

fn errors(text: &str) -> ScenarioErrors {
    document(text).plan().expect_err("the scenario breaks a rule")
}

/// The only error of `text`, as printed, without the file.
pub(crate) fn error(text: &str) -> String {
    let errors = errors(text);
    assert_eq!(errors.errors.len(), 1, "{errors}");
    errors.errors[0].to_string()
}

/// Asserts that changing `old` to `new` in the first experiment is answered with `expected`.
pub(crate) fn breaks(old: &str, new: &str, expected: &str) {
    let text = error(&with(old, new));
    assert!(text.contains(expected), "expected {expected}\nfound {text}");
}

fn breaks_topology(old: &str, new: &str, expected: &str) {
    assert!(PARKING.contains(old), "{old} is not in the scenario");
    let text = error(&PARKING.replacen(old, new, 1));
    assert!(text.contains(expected), "expected {expected}\nfound {text}");
}

#[test]
fn error_prints_file_line_key_and_hint() {
    let text = errors(&with("interval = \"150 ms\"", "interval = 150")).to_string();
    assert_eq!(
        text,
        "test.toml:11: flows[0].workload.interval = 150: a time needs a unit, \
         for example \"20 ms\"\n  hint: write it as a text, in quotes"
    );
}

#[test]
fn all_errors_are_reported_in_file_order() {
    let text = with("duration = \"300 s\"", "duration = 300")
        .replace("count = 8", "count = 0")
        .replace("rtt = \"100 ms\"", "rtt = \"100 ms\"\nforward_delay = \"1 ms\"\nlos = \"1 %\"")
        .replace("interval = \"150 ms\"", "interval = \"-1 ms\", packet = \"1 kB\"");
    let found = errors(&text);
    let keys: Vec<_> = found.errors.iter().map(|error| error.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "duration",
            "path.forward_delay",
            "path.los",
            "flows[0].count",
            "flows[0].workload.interval",
            "flows[0].workload.packet",
            "flows[1].count",
        ]
    );
}

#[test]
fn invalid_toml_reports_every_line() {
    let found = Document::parse("x.toml", "name = \"a\"\nduration = \n[path\nrate = 1 2\n");
    let found = found.unwrap_err();
    assert!(found.to_string().starts_with("x.toml:2: this is not TOML: "), "{found}");
    assert!(found.errors.len() > 1, "{found}");
}

#[test]
fn types_are_checked() {
    breaks(
        "count = 8",
        "count = \"8\"",
        "expected a whole number, found a text\n  hint: write it without quotes",
    );
    breaks("count = 8", "count = 1.5", "expected a whole number, found a number");
    breaks("count = 8", "count = 0", "it must be between 1 and 1000000");
    breaks(
        "linear_timeouts = true",
        "linear_timeouts = 1",
        "expected true or false, found a whole number",
    );
    breaks(
        "rate = \"1 Mbit/s\"",
        "rate = true",
        "expected a rate such as \"10 Mbit/s\", found true or false",
    );
    breaks("rate = \"1 Mbit/s\"", "rate = \"1\"", "\"1\" has no unit; a rate needs one");
    breaks(
        "rate = \"1 Mbit/s\"",
        "rate = \"1 MB/s\"",
        "\"MB/s\" is not a unit of rate; known are Gbit/s",
    );
    breaks("rtt = \"100 ms\"", "rtt = \"-100 ms\"", "is negative");
    breaks(
        "rtt = \"100 ms\"",
        "rtt = 2024-01-01",
        "expected a time such as \"20 ms\", found a date",
    );
    breaks("limit = \"1 bdp\"", "limit = 9", "a queue limit needs a unit");
    breaks("limit = \"1 bdp\"", "limit = \"9\"", "a queue limit is a number of packets");
    breaks(
        "queue = { discipline = \"pfifo\", limit = \"1 bdp\" }",
        "queue = \"1 bdp\"",
        "path.queue = \"1 bdp\": this is a limit: write { limit = \"1 bdp\" }",
    );
    breaks(
        "[[flows]]\nname = \"greedy\"\ncount = 8",
        "[[flows]]\nname = \"greedy\"\ntcp = 1",
        "expected a table, found a whole number\n  hint: known keys are",
    );
    breaks("duration", "seed = -1\nduration", "seed = -1: it must be 0 or more");
    breaks("duration", "repeat = 0\nduration", "repeat = 0: it must be between 1 and");
    breaks("duration", "seed = 18446744073709551616\nduration", "expected a whole number");
    breaks("tcp = { profile", "tcp = { initial_window = 0, profile", "it must be 1 or more");
}

#[test]
fn table_instead_of_list_is_explained() {
    let text = "name = \"x\"\nduration = \"1 s\"\npath = { rate = \"1 Mbit/s\", rtt = \"1 s\" }\n[flows]\n";
    assert!(error(text).contains("write [[flows]], once for every element"));
}

#[test]
fn unknown_words_suggest_nearest() {
    breaks(
        "congestion =",
        "congestoin =",
        "flows[0].tcp.congestoin = \"cubic\": unknown key\n  hint: did you mean \"congestion\"?",
    );
    breaks("duration =", "durations =", "did you mean \"duration\"?");
    breaks("\"cubic\"", "\"qubic\"", "known are reno, bic, cubic, bbr, bbr3, ");
    breaks("\"cubic\"", "\"qubic\"", "\n  hint: did you mean \"cubic\"?");
    breaks("\"cubic\"", "\"reno-d\"", "\n  hint: did you mean \"reno-c\"?");
    breaks("linux-3.16", "linux-3.15", "did you mean \"linux-3.16\"?");
    breaks("kind = \"greedy\"", "kind = \"greddy\"", "did you mean \"greedy\"?");
    breaks(
        "kind = \"greedy\"",
        "kind = \"greedy\", interval = \"1 s\"",
        "only thin has this key\n  hint: known keys are kind, volume",
    );
    breaks("kind = \"greedy\"", "kind = 1", "expected one of thin, greedy");
    breaks("[path]", "[zzz]\n[path]", "zzz = {}: unknown key\n  hint: known keys are");
    breaks("[path]", "[measure]\npercentils = [1]\n[path]", "did you mean \"percentiles\"?");
}

#[test]
fn missing_keys_are_named_with_their_meaning() {
    breaks(
        "duration = \"300 s\"",
        "",
        "duration: missing; it is required\n  hint: Duration, warm-up included",
    );
    breaks("interval = \"150 ms\"", "", "flows[0].workload.interval: missing");
    breaks(
        "kind = \"greedy\"",
        "",
        "flows[1].workload.kind: missing; it is required\n  hint: one of thin, greedy",
    );
    let text = errors("").to_string();
    assert!(text.contains("name: missing") && text.contains("flows: missing"), "{text}");
}

#[test]
fn missing_key_reports_line_of_table() {
    let found = errors(&with("name = \"greedy\"\n", ""));
    assert_eq!((found.errors[0].key.as_str(), found.errors[0].line), ("flows[1].name", Some(13)));
    let found = errors(&with("rate = \"1 Mbit/s\"\n", ""));
    assert_eq!((found.errors[0].key.as_str(), found.errors[0].line), ("path.rate", Some(4)));
}

#[test]
fn exactly_one_network_is_required() {
    let both = format!("{THIN_AGAINST_GREEDY}\n[topology]\nhosts = []\nlinks = []\n");
    assert!(error(&both).contains("by [path] or by [topology], not by both"));
    let none =
        "name = \"x\"\nduration = \"1 s\"\n[[flows]]\nname = \"f\"\nworkload.kind = \"greedy\"";
    assert!(error(none).contains("describe the network"));
}

#[test]
fn a_path_has_one_delay_and_possible_values() {
    breaks("rtt = \"100 ms\"", "", "path.rtt: missing");
    breaks(
        "rtt = \"100 ms\"",
        "forward_delay = \"1 ms\"",
        "path.reverse_delay: missing beside forward_delay",
    );
    breaks("rtt = \"100 ms\"", "reverse_delay = \"1 ms\"", "path.forward_delay: missing");
    breaks("rtt = \"100 ms\"", "rtt = \"1 s\"\nreverse_delay = \"1 ms\"", "rtt is set already");
    breaks("rate = \"1 Mbit/s\"", "rate = \"0 bit/s\"", "the rate must be above zero");
    breaks("rtt =", "loss = \"101 %\"\nrtt =", "it must be at most 100 %");
    breaks("rtt =", "mtu = \"60 B\"\nrtt =", "between 81 B");
    breaks("rtt =", "overhead = \"1 MB\"\nrtt =", "at most 65535 B");
    breaks("limit = \"1 bdp\"", "limit = \"0 packets\"", "a queue must hold at least one packet");
    breaks("limit = \"1 bdp\"", "limit = \"5000000000 packets\"", "at most 4294967295");
}

#[test]
fn groups_are_possible() {
    breaks(
        "name = \"greedy\"",
        "name = \"thin\"",
        "flows[1].name = \"thin\": another group has this name already",
    );
    breaks("name = \"greedy\"", "name = \"a.b\"", "a name is made of letters");
    breaks(
        "name = \"greedy\"",
        "name = \"greedy\"\nfrom = \"x\"",
        "hosts are named only with a topology",
    );
    breaks(
        "name = \"greedy\"",
        "name = \"greedy\"\nrtt = \"99 ms\"",
        "it must not be less than the path's, 100 ms",
    );
    breaks("count = 8", "start = \"300 s\"", "the experiment ends before");
    breaks("count = 8", "start_spread = \"301 s\"", "some flows would start after the end");
    breaks("count = 8", "start = \"2 s\"\nstop = \"2 s\"", "it must be after the start");
    breaks(
        "count = 8",
        "start_spread = \"2 s\"\nstop = \"1 s\"",
        "some flows would stop before they start",
    );
    breaks("kind = \"greedy\"", "kind = \"greedy\", volume = \"0 B\"", "there is nothing to send");
    assert!(error("name = \"x\"\nduration = \"1 s\"\nflows = []\npath = { rate = \"1 bit/s\", rtt = \"1 s\" }")
        .contains("at least one group of flows"));
}

#[test]
fn messages_are_possible() {
    breaks("payload = \"120 B\"", "payload = \"120 B\", packet = \"160 B\"", "not both");
    breaks("payload = \"120 B\",", "", "flows[0].workload.payload: missing");
    breaks("payload = \"120 B\"", "payload = \"0 B\"", "it must be 1 B or more");
    breaks(
        "payload = \"120 B\"",
        "packet = \"52 B\"",
        "the headers alone have 52 B with timestamps",
    );
    breaks("payload = \"120 B\"", "packet = \"1501 B\"", "it must not exceed the MTU, 1.5 kB");
    breaks("interval = \"150 ms\"", "interval = \"0 s\"", "it must be 1 ns or more");
    let uniform = "interval = { distribution = \"uniform\", min = \"2 s\", max = \"1 s\" }";
    breaks(
        "interval = \"150 ms\"",
        uniform,
        "flows[0].workload.interval.max = \"1 s\": it must be 2 s or more",
    );
    let exponential = "interval = { distribution = \"exponential\", mean = \"0 s\" }";
    breaks(
        "interval = \"150 ms\"",
        exponential,
        "interval.mean = \"0 s\": it must be 1 ns or more",
    );
    let unknown = "interval = { distribution = \"cauchy\", mean = \"1 s\" }";
    breaks("interval = \"150 ms\"", unknown, "known are uniform, normal, exponential");
    let without_timestamps = with("payload = \"120 B\"", "packet = \"52 B\"")
        .replace("tcp = { profile", "tcp = { timestamps = false, profile");
    assert_eq!(plan(&without_timestamps).cells.len(), 1);
}

#[test]
fn distributions_are_possible() {
    let interval = |law: &str, expected: &str| {
        breaks(
            "interval = \"150 ms\"",
            &format!("interval = {{ distribution = {law} }}"),
            expected,
        );
    };
    interval("\"pareto\", min = \"0 s\", shape = 1.2", "it must be above zero");
    interval("\"pareto\", min = \"1 s\", shape = 0.2", "it must be between 0.5 and 100");
    interval(
        "\"bounded-pareto\", min = \"2 s\", max = \"1 s\", shape = 1",
        "interval.max = \"1 s\": it must be 2 s or more",
    );
    interval(
        "\"lognormal\", mean = \"1 s\", deviation = \"1 s\", min = \"3 s\", max = \"2 s\"",
        "it must be 3 s or more",
    );
    interval("\"lognormal\", mean = \"0 s\", deviation = \"1 s\"", "it must be above zero");
    let empirical = |points: &[(&str, &str)], rest: &str, expected: &str| {
        let point = |(share, value): &(&str, &str)| {
            format!("{{ share = \"{share}\", value = \"{value}\" }}")
        };
        let points = points.iter().map(point).collect::<Vec<_>>().join(", ");
        interval(&format!("\"empirical\", quantiles = [{points}]{rest}"), expected);
    };
    empirical(&[], "", "quantiles go from the smallest value to the largest");
    empirical(&[("0 %", "1 s"), ("50 %", "2 s")], "", "the largest \"100 %\"");
    empirical(
        &[("0 %", "1 s"), ("0 %", "2 s"), ("100 %", "3 s")],
        "",
        "quantiles[1].share = \"0 %\": it must be above the previous share, 0 ppb",
    );
    empirical(
        &[("0 %", "2 s"), ("100 %", "1 s")],
        "",
        "quantiles[1].value = \"1 s\": it must not be less than the previous value, 2 s",
    );
    // Half of all draws are from 0 to 1 s, the rest from 1 s to 3 s: 0.5 to 2 s on average.
    let halves = [("0 %", "0 s"), ("50 %", "1 s"), ("100 %", "3 s")];
    let bounds = "with these quantiles the mean lies between 500 ms and 2 s";
    empirical(&halves, ", mean = \"2 s\"", bounds);
    empirical(&halves, ", mean = \"500 ms\"", bounds);
}

#[test]
fn recorded_application_name_comes_from_table() {
    let profile = |name: &str, expected: &str| {
        let workload = format!("kind = \"profile\", application = \"{name}\"");
        breaks("kind = \"greedy\"", &workload, expected);
    };
    profile("World of Warcaft", "did you mean \"World of Warcraft\"?");
    profile("Halo 3 (7 players)", "known are Anarchy Online, Age of Conan, BZFlag");
    profile("ssh", "did you mean \"SSH text session\"?");
}

#[test]
fn tcp_settings_fit_together() {
    let tcp = |new: &str, expected: &str| {
        breaks("tcp = { profile", &format!("tcp = {{ {new}, profile"), expected);
    };
    tcp("minimum_rto = \"2 s\", maximum_rto = \"1 s\"", "no more than maximum_rto, 1 s");
    tcp("initial_rto = \"2 s\", maximum_rto = \"1 s\"", "no more than maximum_rto, 1 s");
    tcp("minimum_rto = \"0 s\"", "a time-out must be above zero");
    tcp("receive_buffer = \"0 B\"", "a buffer needs at least 1 B");
    tcp("mss = \"1461 B\"", "a packet of 1.5 kB has room for 1.46 kB");
    tcp("mss = \"40 B\"", "it must be more than 40 B");
    tcp("send_buffer = \"2 GB\"", "it must be at most 1 GiB");
    tcp("syn_retries = 128", "between 0 and 127");
    tcp("redundant_bytes = \"0 B\"", "a bundle must not be empty");
    tcp("redundant_interval = \"0 s\"", "it must be 1 us or more");
    tcp("backoff_factor = 0.5", "tcp.backoff_factor = 0.5: it must be between 1 and 4");
    tcp("backoff_factor = 5", "it must be between 1 and 4");
    tcp("backoff_factor = \"150 %\"", "expected a number, found a text");
    tcp("probe_factor = 0", "it must be between 1 and 8");
    tcp("linear_retries = 256", "it must be between 0 and 255");
    tcp("thin_segments = 0", "tcp.thin_segments = 0: it must be 1 or more");
    tcp("thin_segments = 4294967296", "it must be between 1 and 4294967295");
    tcp("thin_duplicate_threshold = 0", "it must be between 1 and 255");
    tcp("thin_definition = \"thin\"", "few-outstanding, application-limited, all");
    tcp("constants_for = \"thn\"", "did you mean \"thin\"?");
    tcp("redundant_streams = \"none\"", "interval, thin, all");
    tcp("probe_ack_delay = 25", "a time needs a unit");
    tcp("reordering_window = 0.25", "a share needs a unit");
    tcp("reordering_window = \"101 %\"", "between 0 % and 100 % of the smallest round trip");
    tcp("early_retransmit_delay = \"200 %\"", "between 0 % and 100 % of the smoothed round trip");
}

#[test]
fn measures_and_captures_are_validated() {
    let top = |new: &str, expected: &str| breaks("[path]", &format!("{new}\n[path]"), expected);
    breaks(
        "duration = \"300 s\"",
        "duration = \"0 s\"\nmeasure.intervals = []",
        "must be above zero",
    );
    top("[measure]\nwarmup = \"300 s\"\nintervals = []", "shorter than the duration, 300 s");
    top(
        "[measure]\nintervals = [\"0 s\"]",
        "measure.intervals[0] = \"0 s\": an interval must be above",
    );
    top("[measure]\nintervals = [\"1 s\", \"1000 ms\"]", "occurs twice");
    top("[measure]\nendpoint_interval = \"0 s\"", "an interval must be above");
    for key in
        ["intervals = [\"29 us\"]", "queue_interval = \"29 us\"", "endpoint_interval = \"29 us\""]
    {
        top(
            &format!("[measure]\n{key}"),
            "10344827 of them fit into 300 s; a run has at most 10000000",
        );
    }
    top(
        "[measure]\npercentiles = [50, 101]",
        "measure.percentiles[1] = 101: it must be between 0 and 100",
    );
    top("[measure]\npercentiles = [nan]", "it must be between 0 and 100");
    top("[measure]\npercentiles = [50, 50.0]", "occurs twice");
    top("[capture]\npoints = [\"sender\", \"sender\"]", "occurs twice");
    top("[capture]\npoints = []", "at least one point");
    top("[capture]\npoints = [\"router\"]", "known are sender, receiver");
    top("[capture]\nsnap = \"0 B\"", "it must be at least 1 B");
    top("[capture]\ngroups = [\"fat\"]", "no such group; there are thin, greedy");
    breaks(
        "name = \"thin streams against greedy streams\"",
        "name = \" \"",
        "an experiment needs a name",
    );
}

#[test]
fn excessive_duration_is_blamed_on_the_duration() {
    let message = error(&with("300 s", "1000000 h"));
    assert!(message.starts_with("duration = \"1000000 h\": a run has at most"), "{message}");
    assert!(message.contains("hint: shorten it, or set measure.intervals"), "{message}");
    let message = error(&(with("300 s", "1000000 h") + "[measure]\nintervals = [\"1 s\"]\n"));
    assert!(message.contains("measure.intervals[0] = \"1 s\""), "{message}");
}

#[test]
fn window_longer_than_run_is_warning() {
    let short = with("300 s", "20 s");
    let plan = plan(&short.replace("[path]", "[measure]\nintervals = [\"30 s\"]\n[path]"));
    assert_eq!(plan.warnings.len(), 1);
    assert!(plan.warnings[0].contains("longer than the measured time, 20 s"));
}

#[test]
fn rack_makes_lost_retransmission_key_redundant() {
    let warnings = |tcp: &str| {
        let workload = "workload = { kind = \"greedy\" }";
        plan(&with(workload, &format!("{workload}\ntcp = {{ {tcp} }}"))).warnings
    };
    for by_time in [
        "lost_retransmission_detection = true",
        "lost_retransmission_detection = false",
        "lost_retransmission_detection = true, profile = \"linux-3.16\", loss_detection = \"rack\"",
    ] {
        let [warning] = &warnings(by_time)[..] else { panic!("one warning: {by_time}") };
        let expected = "flows[1].tcp.lost_retransmission_detection = ";
        assert!(
            warning.contains(expected) && warning.contains("this key has no effect"),
            "{warning}"
        );
    }
    for otherwise in [
        "loss_detection = \"rack\"",
        "lost_retransmission_detection = true, profile = \"linux-3.16\"",
        "lost_retransmission_detection = true, profile = \"rfc\"",
        "lost_retransmission_detection = true, loss_detection = \"forward\"",
        "lost_retransmission_detection = true, sack = false",
    ] {
        assert_eq!(warnings(otherwise), [""; 0], "{otherwise}");
    }
}

#[test]
fn default_window_gives_no_warning() {
    assert_eq!(plan(&with("300 s", "20 s")).warnings, [""; 0]);
}

#[test]
fn ratio_without_unit_is_refused() {
    for share in ["1", "0.01"] {
        let rule = format!("path.loss = \"{share}\": \"{share}\" has no unit; a share needs one");
        breaks("rtt =", &format!("loss = \"{share}\"\nrtt ="), &rule);
    }
}

#[test]
fn a_topology_is_possible() {
    assert_eq!(plan(PARKING).cells.len(), 1);
    breaks_topology(
        "from = \"a\"\nto = \"b\"",
        "from = \"aa\"\nto = \"b\"",
        "flows[0].from = \"aa\": no such host\n  hint: ",
    );
    breaks_topology("from = \"a\"\nto = \"b\"", "from = \"r\"\nto = \"b\"", "this is a router");
    breaks_topology(
        "from = \"a\"\nto = \"b\"",
        "from = \"a\"\nto = \"a\"",
        "must be different hosts",
    );
    breaks_topology(
        "from = \"a\"\nto = \"b\"",
        "to = \"b\"",
        "flows[0].from: missing; it is required with a topology",
    );
    breaks_topology("name = \"f\"", "name = \"f\"\nrtt = \"1 s\"", "only with a path");
    breaks_topology(
        "routers = [\"r\"]",
        "routers = [\"r\", \"a\"]",
        "topology.routers[1] = \"a\": another node has this name",
    );
    breaks_topology(
        "from = \"r\"\nto = \"b\"",
        "from = \"r\"\nto = \"b\"\nboth_ways = false",
        "no links lead from b to a",
    );
    breaks_topology("to = \"r\"\n", "to = \"r\"\nloss = \"200 %\"\n", "at most 100 %");
    breaks_topology("rate = \"1 Mbit/s\"\n", "", "a link without a rate needs no queue");
    breaks_topology(
        "\"9 packets\"",
        "\"1 bdp\"",
        "no round-trip time for the bandwidth-delay product",
    );
    breaks_topology(
        "from = \"r\"\nto = \"b\"",
        "from = \"r\"\nto = \"b\"\n[[topology.links]]\nfrom = \"b\"\nto = \"r\"",
        "topology.links[2]",
    );
    breaks_topology("hosts =", "bottleneck = \"a>r\"\nhosts =", "did you mean \"a->r\"?");
    let nowhere = "from = \"r\"\nto = \"b\"\n[[topology.links]]\nfrom = \"r\"\nto = \"x\"";
    breaks_topology(
        "from = \"r\"\nto = \"b\"",
        nowhere,
        "topology.links[2].to = \"x\": no such host or router",
    );
    let itself =
        "from = \"r\"\nto = \"b\"\n[[topology.links]]\nname = \"l\"\nfrom = \"r\"\nto = \"r\"";
    breaks_topology("from = \"r\"\nto = \"b\"", itself, "a link must lead to another node");
}

#[test]
fn hosts_forward_nothing() {
    breaks_topology(
        "hosts = [\"a\", \"b\"]\nrouters = [\"r\"]",
        "hosts = [\"a\", \"b\", \"r\"]",
        "no links lead from a to b",
    );
}

#[test]
fn a_sweep_that_sets_nothing_is_refused() {
    let sweep = |sweep: &str, expected: &str| {
        let text = error(&format!("{THIN_AGAINST_GREEDY}[sweep]\n{sweep}\n"));
        assert!(text.contains(expected), "expected {expected}\nfound {text}");
    };
    sweep(
        "\"flows.fat.count\" = [1]",
        "sweep.\"flows.fat.count\": there is no \"fat\"; known are thin, greedy",
    );
    sweep("\"flows.5.count\" = [1]", "there is no \"5\"");
    sweep("\"pth.rate\" = [\"1 Mbit/s\"]", "did you mean path?");
    sweep("\"path.rate.x\" = [\"1 Mbit/s\"]", "there is no key \"x\" in a text");
    sweep("\"topology.links.*.rate\" = [\"1 Mbit/s\"]", "there are no links");
    sweep("\"flows.*.count\" = []", "the list is empty");
    sweep("\"flows.*.count\" = [1, 1]", "1 is there twice");
    sweep("\"flows.*.count\" = 3", "an axis is a list of values");
    sweep("seed = [1, 2]", "seed is not swept");
    sweep("repeat = 0", "it must be between 1 and");
    sweep("variant = {}", "the axis has no labels");
    sweep("variant = { a = 1 }", "a label of a named axis is a table");
    sweep("variant = { a = { \"pat.rtt\" = 1 } }", "did you mean path?");
    sweep("flows.thin.count = [1]\n\"flows.thin.count\" = [2]", "this axis is there twice");
    let axis = |i| format!("\"flows.thin.tcp.x{i}\" = [1,2,3,4,5,6,7,8,9]");
    let large = (0..5).map(axis).collect::<Vec<_>>().join("\n");
    sweep(&large, "a grid has at most 10000 points");
    let twice = format!("repeat = 2\n{THIN_AGAINST_GREEDY}[sweep]\nrepeat = 2\n");
    assert!(error(&twice).contains("repeat is there already"));
}

#[test]
fn error_at_some_points_names_them() {
    let text =
        format!("{THIN_AGAINST_GREEDY}[sweep]\n\"flows.thin.rtt\" = [\"200 ms\", \"50 ms\"]\n");
    let text = error(&text);
    assert!(text.contains("(with flows.thin.rtt = 50 ms)"), "{text}");
    let text = format!("{THIN_AGAINST_GREEDY}[sweep]\n\"flows.*.conut\" = [1, 2]\n");
    let found = errors(&text);
    assert!(found.errors.iter().all(|error| error.line == Some(18)), "{found}");
}

#[test]
fn errors_can_be_read_by_machines() {
    let value = serde_json::to_value(errors(&with("count = 8", "count = 0"))).unwrap();
    assert_eq!(value["file"], "test.toml");
    assert_eq!(value["errors"][0]["line"], 10);
    assert_eq!(value["errors"][0]["key"], "flows[0].count");
    assert_eq!(value["errors"][0]["value"], "0");
}

#[test]
fn ip_version_is_4_or_6_with_minimum_mtu() {
    let path = |new: &str, expected: &str| breaks("rtt = ", &format!("{new}\nrtt = "), expected);
    path("ip_version = 5", "path.ip_version = 5: known are 4, 6");
    path("ip_version = \"6\"", "expected a whole number, found a text\n  hint: write it without");
    path("ip_version = 6\nmtu = \"1000 B\"", "IPv6 needs 1280 B or more (RFC 8200 section 5)");
    breaks_topology("hosts =", "mtu = \"600 B\"\nip_version = 6\nhosts =", "IPv6 needs 1280 B");
    let text = with("payload = \"120 B\"", "packet = \"70 B\"");
    let text = text.replacen("rtt =", "ip_version = 6\nrtt =", 1);
    assert!(error(&text).contains("the headers alone have 72 B with timestamps"), "{text}");
    let text = with("tcp = { profile", "tcp = { mss = \"1450 B\", profile");
    let text = text.replacen("rtt =", "ip_version = 6\nrtt =", 1);
    assert!(error(&text).contains("has room for 1.44 kB beside its headers"), "{text}");
}

#[test]
fn requests_and_responses_are_possible() {
    let workload = |new: &str, expected: &str| {
        let new = format!("workload = {{ kind = \"request-response\", {new} }}");
        breaks("workload = { kind = \"greedy\" }", &new, expected);
    };
    workload(
        "request = \"0 B\", response = \"9 kB\"",
        "workload.request = \"0 B\": it must be 1 B",
    );
    workload(
        "request = \"1 B\", response = { distribution = \"exponential\", mean = \"0 B\" }",
        "workload.response.mean = \"0 B\": it must be 1 B or more",
    );
    workload("request = \"1 B\"", "response");
    workload("request = \"1 B\", response = \"1 B\", exchanges = 0", "it must be 1 or more");
    workload(
        "request = \"1 B\", response = \"1 B\", pause = { distribution = \"uniform\", min = \"2 s\", max = \"1 s\" }",
        "workload.pause.max = \"1 s\": it must be 2 s or more",
    );
    workload("request = \"1 B\", response = \"1 B\", volume = \"1 B\"", "volume");
}

#[test]
fn group_name_differs_from_response_names() {
    let text = with(
        "workload = { kind = \"thin\", payload = \"120 B\", interval = \"150 ms\" }",
        "workload = { kind = \"request-response\", request = \"1 B\", response = \"1 B\" }",
    );
    let text = text.replacen("name = \"greedy\"", "name = \"thin-responses\"", 1);
    assert!(error(&text).contains("the responses of the group \"thin\" have this name"), "{text}");
}

#[test]
fn custom_congestion_control_must_be_registered() {
    breaks(
        "\"cubic\"",
        "\"zephyr\"",
        "\n  hint: one of your own becomes known by `fairwind congestion build zephyr.c`, \
         a class of Python where it is given to `run(congestion=...)`",
    );
    breaks("\"cubic\"", "\"my control\"", "letters, digits, - and _, and begins with a letter");
    breaks("\"cubic\"", "\"a234567890123456789012345678901b\"", "at most 31 letters");
    breaks(
        "\"cubic\"",
        "2",
        "expected a congestion control such as \"cubic\", found a whole number",
    );
    let mut document = document(&with("\"cubic\"", "\"zephyr\""));
    document.provide_control("zephyr");
    let plan = document.plan().expect("it is known now");
    let congestion = plan.cells[0].experiment.flows.iter().find_map(|group| group.tcp.congestion);
    assert_eq!(congestion.expect("it is set").name(), "zephyr");
}
