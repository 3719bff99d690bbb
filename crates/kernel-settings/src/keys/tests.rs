use super::keys;
use crate::kernel::tests::linux_6_18;
use crate::{Kernel, Settings, of};
use fairwind_scenario::{Document, json_schema};
use std::collections::BTreeSet;

/// Settings for a greedy group with these tables, or all refusals in one text.
fn settings(kernel: &Kernel, tables: &str) -> Result<Settings, String> {
    let text = format!(
        "name = \"one\"\nduration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"100 ms\"\n\
         queue = {{ limit = \"1 bdp\" }}\n[[flows]]\nname = \"greedy\"\n\
         workload = {{ kind = \"greedy\" }}\n{tables}"
    );
    let plan = Document::parse("test", &text).and_then(|document| document.plan());
    let plan = plan.map_err(|errors| errors.to_string())?;
    of(&plan.cells[0].experiment, kernel).map_err(|refusals| refusals.to_string())
}

fn sysctl<'s>(settings: &'s Settings, host: usize, name: &str) -> &'s str {
    let found = settings.hosts[host].sysctls.iter().find(|one| one.name == name);
    found.map_or("", |one| one.value.as_str())
}

#[test]
fn every_scenario_key_has_a_setting() {
    let schema = json_schema();
    let table = &schema["$defs"]["TcpSettings"]["properties"];
    let known: BTreeSet<_> = table.as_object().unwrap().keys().map(String::as_str).collect();
    let ruled: BTreeSet<_> = keys().map(|key| key.name).collect();
    assert_eq!(ruled, known);
    assert_eq!(keys().count(), ruled.len(), "a key has two rules");
}

#[test]
fn default_host_has_linux_defaults() {
    let settings = settings(&linux_6_18(), "").unwrap();
    assert_eq!(settings.hosts.len(), 2);
    for host in 0..2 {
        assert_eq!(sysctl(&settings, host, "net.ipv4.tcp_sack"), "1");
        assert_eq!(sysctl(&settings, host, "net.ipv4.tcp_congestion_control"), "cubic");
        assert_eq!(sysctl(&settings, host, "net.ipv4.tcp_no_metrics_save"), "1");
        assert_eq!(settings.hosts[host].route_attributes, [""; 0]);
        assert_eq!(settings.hosts[host].device_attributes, [""; 0]);
    }
    assert_eq!(settings.groups[0].sender.congestion.as_deref(), Some("cubic"));
    assert_eq!(settings.remarks, []);
}

#[test]
fn senders_and_receivers_get_their_own_settings() {
    let tables = "tcp = { initial_window = 4, sack = false }\n\
                  receiver_tcp = { delayed_ack = false, sack = true }";
    let settings = settings(&linux_6_18(), tables).unwrap();
    let [sender, receiver] = &settings.hosts[..] else { panic!("two hosts") };
    assert_eq!(sender.route_attributes, ["initcwnd", "4"]);
    assert_eq!(receiver.route_attributes, ["quickack", "1"]);
    assert_eq!(sysctl(&settings, 0, "net.ipv4.tcp_sack"), "0");
    assert_eq!(sysctl(&settings, 1, "net.ipv4.tcp_sack"), "1");
}

#[test]
fn all_refusals_are_reported_at_once() {
    let tables = "tcp = { profile = \"linux-3.16\", modified_fast_retransmit = true, \
                  initial_rto = \"3 s\", initial_ssthresh = 20, redundant_bundling = true, \
                  smart_framing = true }\n\
                  receiver_tcp = { undo = false }";
    let text = settings(&linux_6_18(), tables).unwrap_err();
    let keys = ["profile", "modified_fast_retransmit", "initial_rto", "initial_ssthresh"];
    for key in keys.into_iter().chain(["redundant_bundling", "smart_framing"]) {
        assert!(text.contains(&format!("flows.greedy.tcp.{key} = ")), "{key} is missing: {text}");
    }
    assert!(text.contains("flows.greedy.receiver_tcp.undo = false: Linux 6.18.0: "), "{text}");
    assert!(text.contains("duplicate_threshold = 1"), "{text}");
}

/// What a kernel has anyway may be said; anything else is refused with the constant.
#[test]
fn constants_of_kernels_may_only_be_repeated() {
    for (key, same, other, mechanism) in [
        ("linear_retries", "6", "3", "six time-outs"),
        ("thin_duplicate_threshold", "1", "2", "one duplicate ACK"),
        ("thin_definition", "\"few-outstanding\"", "\"all\"", "fewer than four segments"),
        ("thin_definition", "\"few-outstanding\"", "\"application-limited\"", "fewer than four"),
        ("thin_segments", "4", "8", "fewer than four segments"),
        ("backoff_factor", "2", "1.5", "twice the one before"),
        ("probe_factor", "2.0", "1.25", "two smoothed round trips"),
        ("probe_ack_delay", "\"200 ms\"", "\"25 ms\"", "minimum_rto = \"25 ms\" as well"),
        ("reordering_window", "\"25 %\"", "\"10 %\"", "a quarter of the smallest round trip"),
    ] {
        let of = |value: &str| settings(&linux_6_18(), &format!("tcp = {{ {key} = {value} }}"));
        assert_eq!(of(same).map(|_| ()), Ok(()), "{key}");
        let text = of(other).unwrap_err();
        assert!(text.contains(&format!("flows.greedy.tcp.{key} = ")), "{text}");
        assert!(text.contains(mechanism), "{text}");
    }
}

/// Since 6.6 a probe of one segment allows for the least time-out that is set.
#[test]
fn probes_allow_for_least_timeout() {
    let tables = "tcp = { probe_ack_delay = \"40 ms\", minimum_rto = \"40 ms\" }";
    assert!(settings(&linux_6_18(), tables).is_ok());
    let old = Kernel { release: "6.5.0".to_owned(), version: (6, 5), ..linux_6_18() };
    let text = settings(&old, tables).unwrap_err();
    assert!(text.contains("nearest: probe_ack_delay = \"200 ms\""), "{text}");
}

#[test]
fn recovery_keys_share_one_sysctl() {
    let old = Kernel { release: "6.12.0".to_owned(), version: (6, 12), ..linux_6_18() };
    let bits = |kernel: &Kernel, keys: &str| {
        let settings = settings(kernel, &format!("tcp = {{ {keys} }}")).unwrap();
        sysctl(&settings, 0, "net.ipv4.tcp_recovery").to_owned()
    };
    let (fixed, waits) = ("reordering_window_grows = false", "rack_duplicate_threshold = false");
    assert_eq!(bits(&linux_6_18(), "reordering_window_grows = true"), "1");
    assert_eq!(bits(&linux_6_18(), fixed), "3");
    assert_eq!(bits(&linux_6_18(), waits), "5");
    assert_eq!(bits(&linux_6_18(), &format!("{fixed}, {waits}")), "7");
    assert_eq!(bits(&old, &format!("{fixed}, loss_detection = \"rfc6675\"")), "2");
    assert_eq!(bits(&old, &format!("{fixed}, {waits}, loss_detection = \"rack\"")), "7");
}

#[test]
fn early_retransmit_delays_are_modes() {
    let old = Kernel { release: "4.9.0".to_owned(), version: (4, 9), ..linux_6_18() };
    let mode = |keys: &str| {
        let settings = settings(&old, &format!("tcp = {{ early_retransmit = true, {keys} }}"))?;
        Ok::<_, String>(sysctl(&settings, 0, "net.ipv4.tcp_early_retrans").to_owned())
    };
    let without = "tail_loss_probe = false, early_retransmit_delay";
    assert_eq!(mode("early_retransmit_delay = \"25 %\""), Ok("3".to_owned()));
    assert_eq!(mode(&format!("{without} = \"25 %\"")), Ok("2".to_owned()));
    assert_eq!(mode(&format!("{without} = \"0 %\"")), Ok("1".to_owned()));
    let text = mode("early_retransmit_delay = \"0 %\"").unwrap_err();
    assert!(text.contains("tail_loss_probe = false"), "{text}");
    let text = mode("early_retransmit_delay = \"50 %\"").unwrap_err();
    assert!(text.contains("a quarter of a round trip"), "{text}");
}

#[test]
fn rack_kernels_detect_lost_retransmissions() {
    let new = linux_6_18();
    let old = Kernel { release: "6.12.0".to_owned(), version: (6, 12), ..linux_6_18() };
    let detection = |kernel: &Kernel, on: bool, others: &str| {
        let tables = format!("tcp = {{ lost_retransmission_detection = {on}{others} }}");
        settings(kernel, &tables).map(|_| ())
    };
    let (by_count, without) = (", loss_detection = \"rfc6675\"", ", sack = false");
    for (kernel, on, others) in [
        (&new, true, ""),
        (&old, true, ""),
        (&old, false, by_count),
        (&new, false, without),
        (&new, true, without),
    ] {
        assert_eq!(detection(kernel, on, others), Ok(()), "{on}{others}");
    }
    for (kernel, on, others) in [(&new, false, ""), (&old, false, ""), (&old, true, by_count)] {
        let text = detection(kernel, on, others).unwrap_err();
        assert!(text.contains("tcp.lost_retransmission_detection = "), "{text}");
    }
}

#[test]
fn inherited_profile_is_refused_once() {
    let text = settings(&linux_6_18(), "tcp = { profile = \"linux-3.16\" }").unwrap_err();
    assert!(text.contains("flows.greedy.tcp.profile"), "{text}");
    assert!(!text.contains("receiver_tcp"), "{text}");
    let tables = "receiver_tcp = { profile = \"linux-3.16\" }";
    let text = settings(&linux_6_18(), tables).unwrap_err();
    assert!(text.contains("flows.greedy.receiver_tcp.profile"), "{text}");
}

#[test]
fn removed_features_are_used_on_older_kernels() {
    let mut kernel = linux_6_18();
    kernel.version = (6, 12);
    let settings = settings(&kernel, "tcp = { loss_detection = \"rfc6675\" }").unwrap();
    assert_eq!(sysctl(&settings, 0, "net.ipv4.tcp_recovery"), "0");
    assert!(settings.remarks[0].text.contains("linux-6.18 means the running kernel"));
}

#[test]
fn missing_sysctl_is_refused_only_if_needed() {
    let mut kernel = linux_6_18();
    kernel.sysctls.remove("net.ipv4.tcp_frto");
    assert!(settings(&kernel, "").is_ok());
    let text = settings(&kernel, "tcp = { forward_rto = false }").unwrap_err();
    assert!(text.contains("it has no sysctl net.ipv4.tcp_frto"), "{text}");
}

#[test]
fn times_round_up_to_kernel_timer_steps() {
    let settings = settings(&linux_6_18(), "tcp = { minimum_rto = \"30 ms\" }").unwrap();
    assert_eq!(sysctl(&settings, 0, "net.ipv4.tcp_rto_min_us"), "32000");
    assert!(settings.remarks[0].text.contains("32 ms instead of 30 ms"), "{settings:?}");
}

/// Two groups from one host to another; the second has these tables.
fn on_one_host(tables: &str) -> Result<Settings, String> {
    let text = format!(
        "name = \"one\"\nduration = \"1 s\"\n\
         [topology]\nhosts = [\"a\", \"b\"]\n\
         links = [{{ name = \"ab\", from = \"a\", to = \"b\", rate = \"1 Mbit/s\", delay = \"1 ms\" }},\n\
                  {{ name = \"ba\", from = \"b\", to = \"a\", delay = \"1 ms\" }}]\n\
         [[flows]]\nname = \"plain\"\nfrom = \"a\"\nto = \"b\"\nworkload = {{ kind = \"greedy\" }}\n\
         [[flows]]\nname = \"other\"\nfrom = \"a\"\nto = \"b\"\n{tables}"
    );
    let plan = Document::parse("test", &text).and_then(|document| document.plan()).unwrap();
    of(&plan.cells[0].experiment, &linux_6_18()).map_err(|refusals| refusals.to_string())
}

#[test]
fn groups_on_one_host_must_agree() {
    let all =
        |key: &str| on_one_host(&format!("workload = {{ kind = \"greedy\" }}\ntcp = {{ {key} }}"));
    let refused = all("sack = false").unwrap_err();
    assert!(refused.contains("sysctl net.ipv4.tcp_sack"), "{refused}");
    assert!(refused.contains("group plain wants \"1\" on the same host a"), "{refused}");
    // A socket option needs no separate host.
    assert!(all("linear_timeouts = true").is_ok());
}

#[test]
fn datagram_streams_need_no_host_settings() {
    let call = "workload = { kind = \"constant\", rate = \"64 kbit/s\", packet = \"200 B\" }";
    let shared = on_one_host(call).unwrap();
    assert_eq!(shared.hosts.len(), 2);
    assert!(shared.groups[1].sender.options.is_empty());
    // A path gives every group its own hosts.
    let alone = settings(
        &linux_6_18(),
        &format!("tcp = {{ sack = false }}\n[[flows]]\nname = \"call\"\n{call}"),
    )
    .unwrap();
    let sack = |host| sysctl(&alone, host, "net.ipv4.tcp_sack").to_owned();
    let mut all: Vec<String> = (0..4).map(sack).collect();
    all.sort();
    assert_eq!(all, ["0", "1", "1", "1"], "the sender's alone, and the others are as usual");
}
