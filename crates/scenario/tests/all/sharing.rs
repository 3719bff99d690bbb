//! Memory of hosts: keys, rules and errors.

use crate::errors::{breaks, error};
use crate::{document, experiment, with};
use fairwind_scenario::{SharedOpenings, Sharing, SharingPolicy};
use fairwind_units::Span;

const WORKLOAD: &str = "workload = { kind = \"greedy\" }\n";

/// Greedy flows of hosts that remember.
fn greedy(sharing: &str) -> String {
    with(WORKLOAD, &format!("{WORKLOAD}tcp.sharing = {sharing}\n"))
}

fn refuses(sharing: &str, expected: &str) {
    breaks(WORKLOAD, &format!("{WORKLOAD}tcp.sharing = {sharing}\n"), expected);
}

#[test]
fn policy_sets_defaults() {
    let text =
        greedy(r#"{ policy = "classic", lifetime = "30 s", entries = 7, openings = "all" }"#);
    let expected = Sharing {
        policy: SharingPolicy::Classic,
        lifetime: Some(Span::from_secs(30)),
        entries: Some(7),
        openings: Some(SharedOpenings::All),
        ..Sharing::default()
    };
    assert_eq!(experiment(&text).flows[1].tcp.sharing, Some(expected));
    assert_eq!(experiment(&text).flows[1].receiver_tcp.sharing, None);
}

#[test]
fn all_policies_have_the_names_that_scenarios_use() {
    for policy in SharingPolicy::ALL {
        let text = greedy(&format!("{{ policy = \"{}\", openings = \"all\" }}", policy.name()));
        assert_eq!(experiment(&text).flows[1].tcp.sharing.unwrap().policy, policy);
    }
}

#[test]
fn unknown_policy_suggests_nearest() {
    refuses(r#"{ policy = "clasic" }"#, "did you mean \"classic\"?");
    refuses(r#"{ policy = "careful" }"#, "careful-resume");
    refuses("{ lifetime = \"1 s\" }", "policy");
}

#[test]
fn lifetime_and_entries_must_be_positive() {
    refuses(
        r#"{ policy = "classic", openings = "all", lifetime = "0 s" }"#,
        "flows[1].tcp.sharing.lifetime = \"0 s\": a lifetime of zero makes the memory useless",
    );
    refuses(
        r#"{ policy = "classic", openings = "all", entries = 0 }"#,
        "flows[1].tcp.sharing.entries = 0: it must be between 1 and 1000000",
    );
    refuses(
        r#"{ policy = "classic", openings = "all", sample_every = "0 ms" }"#,
        "it must be above zero",
    );
}

#[test]
fn shares_are_shares() {
    refuses(
        r#"{ policy = "classic", openings = "all", forgetfulness = "120 %" }"#,
        "it must be between 0 % and 100 %",
    );
    for retreat in ["49 %", "101 %"] {
        let sharing = format!("{{ policy = \"careful-resume\", retreat = \"{retreat}\" }}");
        refuses(&sharing, "it must be between 50 % and 100 %");
    }
}

#[test]
fn key_of_other_policy_is_refused() {
    refuses(
        r#"{ policy = "rfc9040", trust = "safe" }"#,
        "the policy ignores this key; it belongs to classic",
    );
    refuses(
        r#"{ policy = "classic", openings = "all", ensemble = true }"#,
        "it belongs to rfc9040",
    );
    refuses(
        r#"{ policy = "tcp-metrics", largest_window = 9 }"#,
        "classic, rfc9040, careful-resume",
    );
}

#[test]
fn a_capture_ends_after_it_has_begun() {
    refuses(
        r#"{ policy = "rfc9040", capture_from = "9 s", capture_until = "9 s" }"#,
        "it must be after the beginning, 9 s",
    );
}

#[test]
fn only_windows_are_resumed_with_care() {
    let text = with(
        WORKLOAD,
        &format!(
            "{WORKLOAD}tcp = {{ congestion = \"bbr\", sharing = {{ policy = \"careful-resume\" }} }}\n"
        ),
    );
    assert!(
        error(&text).contains("careful resume works only with reno, bic and cubic, not with bbr")
    );
}

#[test]
fn memory_of_opening_hosts_is_warned() {
    let warnings = |sharing: &str| document(&greedy(sharing)).plan().unwrap().warnings.len();
    let before = document(&with(WORKLOAD, WORKLOAD)).plan().unwrap().warnings.len();
    assert_eq!(warnings(r#"{ policy = "classic" }"#), before + 1);
    assert_eq!(warnings(r#"{ policy = "classic", openings = "all" }"#), before);
    assert_eq!(warnings(r#"{ policy = "rfc9040" }"#), before);
    assert_eq!(warnings(r#"{ policy = "off" }"#), before);
    assert_eq!(warnings(r#"{ policy = "off", trust = "safe" }"#), before, "as a sweep leaves it");
}

#[test]
fn accepting_host_needs_own_memory_settings() {
    let transfers = "workload = { kind = \"transfers\", volume = \"10 KB\", transfers = 3 }\n\
                     tcp.sharing = { policy = \"classic\" }\n";
    let warnings = |more: &str| {
        document(&with(WORKLOAD, &format!("{transfers}{more}"))).plan().unwrap().warnings
    };
    let expected = "the accepting hosts have separate settings";
    let has_warning = |warnings: Vec<String>| warnings.iter().any(|it| it.contains(expected));
    assert!(has_warning(warnings("receiver_tcp = { delayed_ack = false }\n")));
    assert!(!has_warning(warnings("receiver_tcp.sharing = { policy = \"classic\" }\n")));
    assert!(!has_warning(warnings("")), "the same settings as who opens");
}

const ONE_HOST: &str = r#"name = "one host"
duration = "10 s"
[topology]
hosts = ["a", "b"]
[[topology.links]]
from = "a"
to = "b"
[[flows]]
name = "f"
from = "a"
to = "b"
workload = { kind = "greedy" }
tcp.sharing = { policy = "rfc9040" }
[[flows]]
name = "g"
from = "a"
to = "b"
workload = { kind = "greedy" }
tcp.sharing = { policy = "rfc9040" }
"#;

#[test]
fn ineffective_impairments_are_warned() {
    let has_warning = |sharing: &str, expected: &str| {
        let plan = document(&greedy(sharing)).plan().unwrap();
        let is_told = plan.warnings.iter().any(|warning| warning.contains(expected));
        assert!(is_told, "expected {expected}\nfound {:?}", plan.warnings);
    };
    has_warning(
        r#"{ policy = "rfc9040", capture_from = "1000 h" }"#,
        "flows[1].tcp.sharing.capture_from = \"1000 h\": the run ends after",
    );
    has_warning(
        r#"{ policy = "off", lifetime = "1 min" }"#,
        "the other keys of sharing have no effect",
    );
}

#[test]
fn number_of_samples_is_limited() {
    refuses(
        r#"{ policy = "rfc9040", sample_every = "1 ns" }"#,
        "flows[1].tcp.sharing.sample_every = \"1 ns\":",
    );
}

#[test]
fn groups_on_one_host_describe_its_memory_alike() {
    assert!(document(ONE_HOST).plan().is_ok());
    let last = ONE_HOST.rfind("\"rfc9040\"").unwrap();
    let differing = format!("{}\"tcp-metrics\" }}\n", &ONE_HOST[..last]);
    let text = error(&differing);
    assert!(text.contains("host \"a\" has one memory for all its connections"), "{text}");
    let off = format!("{}\"off\" }}\n", &ONE_HOST[..last]);
    assert!(document(&off).plan().is_ok(), "who does not share has no say");
}

/// Two clients fetch from one server, which has the settings of both groups.
#[test]
fn server_of_two_groups_has_one_memory() {
    let group = |client: &str, policy: &str| {
        format!(
            "[[flows]]\nname = \"from-{client}\"\nfrom = \"{client}\"\nto = \"server\"\n\
             workload = {{ kind = \"transfers\", volume = \"10 kB\", transfers = 2 }}\n\
             tcp.sharing = {{ policy = \"{policy}\" }}\n"
        )
    };
    let scenario = |second: &str| {
        format!(
            "name = \"one server\"\nduration = \"10 s\"\n[topology]\nhosts = [\"a\", \"b\", \"server\"]\n\
             [[topology.links]]\nfrom = \"a\"\nto = \"server\"\n\
             [[topology.links]]\nfrom = \"b\"\nto = \"server\"\n{}{}",
            group("a", "classic"),
            group("b", second),
        )
    };
    let text = error(&scenario("rfc9040"));
    assert!(text.contains("host \"server\" has one memory for all its connections"), "{text}");
    assert!(text.contains("flows[1].tcp.sharing"), "{text}");
    assert!(document(&scenario("classic")).plan().is_ok());
}
