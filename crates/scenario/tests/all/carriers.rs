//! Slots that are assigned on demand.

use crate::document;
use crate::errors::error;
use fairwind_qdisc::{Carrier, RequestPolicy, Terminal};
use fairwind_scenario::Experiment;
use fairwind_units::{Ratio, Span};

const SATELLITE: &str = r#"name = "satellite"
duration = "20 s"
[path]
rtt = "840 ms"
carrier = {}
terminal = { most_slots = 27, requests = { policy = "rbdc", multiplier = 4.8 } }
[[flows]]
name = "greedy"
workload = { kind = "greedy" }
"#;

const SHARED: &str = r#"name = "two terminals"
duration = "20 s"
[topology]
hosts = ["one", "two", "hub"]
[[topology.carriers]]
name = "up"
frame = "80 ms"
slots = 8
slot_rate = "100 kbit/s"
[[topology.links]]
from = "one"
to = "hub"
delay = "250 ms"
both_ways = false
carrier = "up"
[[topology.links]]
from = "two"
to = "hub"
delay = "250 ms"
both_ways = false
carrier = "up"
terminal = { guaranteed_slots = 2, requests = { policy = "forecast" } }
[[topology.links]]
from = "hub"
to = "one"
both_ways = false
[[topology.links]]
from = "hub"
to = "two"
both_ways = false
[[flows]]
name = "f"
from = "one"
to = "hub"
workload = { kind = "greedy" }
"#;

fn experiment(text: &str) -> Experiment {
    document(text).plan().expect("a sound scenario").cells.remove(0).experiment
}

fn breaks(scenario: &str, old: &str, new: &str, expected: &str) {
    assert!(scenario.contains(old), "{old} is not in the scenario");
    let text = error(&scenario.replacen(old, new, 1));
    assert!(text.contains(expected), "expected {expected}\nfound {text}");
}

#[test]
fn path_carrier_defaults_to_skyplex() {
    let experiment = experiment(SATELLITE);
    let [carrier] = experiment.network.carriers[..] else { panic!("one carrier") };
    assert_eq!(carrier, Carrier::default());
    let bottleneck = &experiment.network.links[0];
    assert_eq!(bottleneck.rate.unwrap().as_bits_per_second(), 27 * 44_000);
    let multiplier = Ratio::from_parts_per_billion(4_800_000_000);
    let terminal = bottleneck.assigned.unwrap().terminal;
    let requests = RequestPolicy::Rbdc { multiplier };
    assert_eq!(terminal, Terminal { most_slots: 27, requests, ..Terminal::default() });
    let back = serde_json::from_str::<Experiment>(&serde_json::to_string(&experiment).unwrap());
    assert_eq!(back.unwrap(), experiment);
}

#[test]
fn topology_links_share_carrier_by_name() {
    let experiment = experiment(SHARED);
    let [carrier] = experiment.network.carriers[..] else { panic!("one carrier") };
    let millis = [carrier.request_period, carrier.allocation_period, carrier.request_lifetime]
        .map(Span::as_millis);
    assert_eq!(millis, [320, 80, 640]);
    // As long as the first link's delay.
    assert_eq!(carrier.signalling_delay, Span::from_millis(250));
    let terminals = experiment.network.links[..2].iter().map(|link| link.assigned.unwrap());
    let terminals: Vec<Terminal> = terminals.map(|assigned| assigned.terminal).collect();
    let round_trip = Span::from_millis(500);
    assert_eq!(terminals[0], Terminal::default());
    assert_eq!(terminals[1].requests, RequestPolicy::Forecast { round_trip });
    assert_eq!(terminals[1].guaranteed_slots, 2);
    assert_eq!(experiment.network.links[2].assigned, None);
}

#[test]
fn invalid_carrier_is_reported_at_key() {
    let carrier = |new: &str, expected: &str| breaks(SATELLITE, "carrier = {}", new, expected);
    carrier(
        "carrier = { slots = 3 }\nrate = \"1 Mbit/s\"",
        "path.rate = \"1 Mbit/s\": its slots are its rate\n  hint: leave the rate out",
    );
    carrier("carrier = { request_lifetime = \"1 ms\" }", "path.carrier.request_lifetime");
    carrier("carrier = { slots = 0 }", "path.carrier.slots = 0");
    carrier("rate = \"1 Mbit/s\"", "path.terminal = { most_slots = 27");
    let frame =
        "carrier = { frame = \"0 s\", request_period = \"1 s\", allocation_period = \"1 s\" }";
    let errors = document(&SATELLITE.replace("carrier = {}", frame)).plan().unwrap_err();
    assert!(errors.to_string().contains("path.carrier.frame = \"0 s\": a frame must be longer"));
    breaks(
        SATELLITE,
        "most_slots = 27,",
        "guaranteed_slots = 49,",
        "path.terminal.guaranteed_slots = 49: the guaranteed slots of all terminals must fit into a frame\n  hint: 49 of 48",
    );
    breaks(SATELLITE, "multiplier = 4.8", "multiplier = -1", "multiplier = -1");
}

#[test]
fn links_must_name_existing_carrier() {
    let shared = |old: &str, new: &str, expected: &str| breaks(SHARED, old, new, expected);
    shared("carrier = \"up\"", "carrier = \"upp\"", "did you mean \"up\"?");
    let both = SHARED.replacen("both_ways = false\ncarrier", "both_ways = true\ncarrier", 1);
    let errors = document(&both).plan().unwrap_err().to_string();
    assert!(errors.contains("in one direction"), "{errors}");
    let nameless = document(&SHARED.replacen("name = \"up\"\n", "", 1)).plan().unwrap_err();
    assert!(nameless.to_string().contains("topology.carriers[0].name: a carrier needs a name"));
    shared(
        "guaranteed_slots = 2",
        "guaranteed_slots = 8",
        "topology.links[1].terminal.guaranteed_slots = 8: the guaranteed slots of all terminals must fit into a frame\n  hint: 9 of 8: topology.links[0].terminal 1, topology.links[1].terminal 8",
    );
    shared(
        "guaranteed_slots = 2",
        "guaranteed_slots = 5, most_slots = 3",
        "topology.links[1].terminal.guaranteed_slots = 5: it must not exceed most_slots, the limit of the terminal\n  \
         hint: 5 of at most 3",
    );
}

#[test]
fn only_root_cause_is_reported() {
    let carrier = |new: &str, expected: &str| breaks(SATELLITE, "carrier = {}", new, expected);
    carrier(
        "carrier = { frame = \"0 s\" }",
        "path.carrier.frame = \"0 s\": a frame must be longer",
    );
    carrier("carrier = { slot_rate = \"0 bit/s\" }", "path.carrier.slot_rate = \"0 bit/s\"");
    carrier("carrier = { request_period = \"0 s\" }", "path.carrier.request_period = \"0 s\"");
    carrier("carrier = { frame_offset = \"273 ms\" }", "it must be less than a frame");
    breaks(SHARED, "slot_rate = \"100 kbit/s\"", "slot_rate = \"0 bit/s\"", "at least one byte");
}

#[test]
fn unusual_carrier_settings_are_warned() {
    let warns = |scenario: &str, old: &str, new: &str, expected: &str| {
        assert!(scenario.contains(old), "{old} is not in the scenario");
        let plan = document(&scenario.replacen(old, new, 1)).plan().unwrap();
        let [warning] = &plan.warnings[..] else { panic!("one warning: {:?}", plan.warnings) };
        assert!(warning.contains(expected), "expected {expected}\nfound {warning}");
    };
    let often = "carrier = { request_period = \"1 us\" }";
    warns(SATELLITE, "carrier = {}", often, "path.carrier.request_period = \"1 us\": shorter than");
    let often = "carrier = { allocation_period = \"5 ms\" }";
    warns(SATELLITE, "carrier = {}", often, "more often than assignments can change");
    warns(SATELLITE, "most_slots = 27", "most_slots = 49", "it has no effect");
    let instantly = "policy = \"forecast\", round_trip = \"0 s\"";
    warns(
        SATELLITE,
        "policy = \"rbdc\", multiplier = 4.8",
        instantly,
        "without one, it predicts nothing",
    );
    let carrier = |new: &str, expected: &str| {
        warns(SATELLITE, "carrier = {}", &format!("carrier = {{ {new} }}"), expected);
    };
    carrier(
        "signalling_delay = \"1 h\"",
        "path.carrier.signalling_delay = \"1 h\": a request and its plan take 7200 s, so no request gets slots before the run ends after 20 s",
    );
    carrier("request_period = \"20 s\"", "the run ends after 20 s, so no terminal sends requests");
    carrier(
        "allocation_period = \"1 min\"",
        "the run ends after 20 s, so only the first plan is made",
    );
    carrier(
        "frame = \"1 h\"",
        "path.carrier.frame = \"1 h\": the run ends after 20 s, within the first frame",
    );
    carrier("name = \"nonsense\"", "path.carrier.name = \"nonsense\": it is not used");
    let unused = "[[topology.carriers]]\nname = \"down\"\n[[topology.links]]";
    warns(SHARED, "[[topology.links]]", unused, "no link has slots of it");
}

#[test]
fn multiplier_below_one_is_warned() {
    let text = SATELLITE.replace("multiplier = 4.8", "multiplier = 0.5");
    let plan = document(&text).plan().unwrap();
    let [warning] = &plan.warnings[..] else { panic!("one warning") };
    assert!(warning.contains("its queue grows without limit"), "{warning}");
}

#[test]
fn delay_steps_apply_to_both_directions() {
    let steps =
        "[{ duration = \"15 s\", delay = \"0 s\" }, { duration = \"15 s\", delay = \"20 ms\" }]";
    let with_steps = |steps: &str| {
        SATELLITE.replacen(
            "[[flows]]",
            &format!("reverse_impairments = {{ delay_steps = {steps} }}\n[[flows]]"),
            1,
        )
    };
    let experiment = experiment(&with_steps(steps));
    assert_eq!(experiment.network.links[1].impairments.delay_steps.len(), 2);
    assert!(experiment.network.links[0].impairments.is_none());
    let errors = document(&with_steps("[{ duration = \"0 s\", delay = \"1 s\" }]")).plan();
    let errors = errors.unwrap_err().to_string();
    assert!(errors.contains("path.reverse_impairments.delay_steps"), "{errors}");
}

#[test]
fn path_without_capacity_is_warned() {
    let warnings = |steps: &str| {
        let impairments = format!("impairments = {{ delay_steps = [{steps}] }}\n[[flows]]");
        document(&SATELLITE.replacen("[[flows]]", &impairments, 1)).plan().unwrap().warnings
    };
    let outage = "{ duration = \"1 s\", delay = \"0 s\", outage = true }";
    let [warning] = &warnings(outage)[..] else { panic!("one warning") };
    assert!(warning.contains("path.impairments.delay_steps"), "{warning}");
    assert!(warning.contains("nothing ever passes"), "{warning}");
    let ending = format!("{outage}, {{ duration = \"9 s\", delay = \"0 s\" }}");
    assert_eq!(warnings(&ending), Vec::<String>::new());
}
