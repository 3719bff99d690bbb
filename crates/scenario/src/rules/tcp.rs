//! Rules about a TCP endpoint's settings, and about what hosts remember of their connections.

use super::{Rules, constants, interval_is_possible};
use crate::input::{FlowsInput, ScenarioInput};
use crate::{Congestion, SharedOpenings, Sharing, SharingPolicy, TcpSettings};
use fairwind_qdisc::tc::nearest;
use fairwind_units::{ByteCount, Ratio, Span};
use std::collections::BTreeMap;

/// The TCP header's length field leaves 40 bytes for options (RFC 9293 section 3.1).
const LONGEST_OPTIONS: ByteCount = ByteCount::new(40);

/// Round trips are divided by the interval of bundling streams in microseconds.
const LEAST_INTERVAL: Span = Span::from_micros(1);

/// The largest window that window scaling can announce (RFC 7323 section 2.3).
const LARGEST_BUFFER: ByteCount = ByteCount::new(1 << 30);

pub(super) fn check(rules: &mut Rules<'_>, tcp: &TcpSettings, key: &str, input: &ScenarioInput) {
    congestion_is_known(rules, tcp, &format!("{key}.congestion"));
    timeouts_are_ordered(rules, tcp, key);
    bundles_are_possible(rules, tcp, key);
    repairs_are_judged_once(rules, tcp, key);
    constants::check(rules, tcp, key);
    sharing_is_possible(rules, tcp, key, input.duration);
    buffer_is_possible(rules, &format!("{key}.receive_buffer"), tcp.receive_buffer);
    buffer_is_possible(rules, &format!("{key}.send_buffer"), tcp.send_buffer);
    let mss_key = format!("{key}.mss");
    let (mtu, mtu_key) = input.mtu();
    let largest = mtu.saturating_sub(ByteCount::new(input.ip_version().header_bytes()));
    match tcp.mss {
        Some(mss) if mss <= LONGEST_OPTIONS => {
            let rule = format!("more than {LONGEST_OPTIONS}: options may take as much of it");
            rules.broken(&mss_key, format!("it must be {rule} (RFC 9293 section 3.1)"));
        }
        Some(mss) if mss > largest => {
            let rule = format!("a packet of {mtu} has room for {largest} beside its headers");
            rules.report(&[&mss_key, mtu_key], rule, None);
        }
        _ => {}
    }
}

fn congestion_is_known(rules: &mut Rules<'_>, tcp: &TcpSettings, key: &str) {
    let Some(Congestion::Plugged(name)) = &tcp.congestion else {
        return own_controls_have_no_parameters(rules, key);
    };
    let mut known: Vec<&str> = Congestion::known().collect();
    known.extend(rules.recordings.controls());
    if known.contains(&name.as_str()) {
        return;
    }
    let rule = format!("known are {}", known.join(", "));
    let hint = nearest(name.as_str(), known.iter().copied()).map_or_else(
        || {
            let name = name.as_str();
            format!(
                "one of your own becomes known by `fairwind congestion build {name}.c`, \
                 a class of Python where it is given to `run(congestion=...)`"
            )
        },
        |word| format!("did you mean \"{word}\"?"),
    );
    rules.report(&[key], rule, Some(hint));
}

fn own_controls_have_no_parameters(rules: &mut Rules<'_>, key: &str) {
    let (node, true) = rules.node.locate(key) else { return };
    if node.get("name").is_none() {
        return; // it is reported as missing
    }
    let set: Vec<String> = node.entries().iter().map(|(name, _)| name.clone()).collect();
    for name in set.iter().filter(|name| *name != "name") {
        let rule = "a congestion control of the endpoint has no parameters";
        let hint = "only classes of Python and C files have them";
        rules.broken_with_hint(&[&format!("{key}.{name}")], rule, hint);
    }
}

/// RACK finds lost retransmissions like any other loss. A warning, not an error, because a sweep over profiles may have
/// the key where it has an effect.
fn repairs_are_judged_once(rules: &mut Rules<'_>, tcp: &TcpSettings, key: &str) {
    if tcp.lost_retransmission_detection.is_some() && tcp.finds_losses_by_time() {
        let keys = ["lost_retransmission_detection", "loss_detection", "profile"];
        let keys = keys.map(|name| format!("{key}.{name}"));
        let rule = "RACK also detects lost retransmissions, so this key has no effect; leave it out, or set \
                    loss_detection = \"forward\" or \"rfc6675\"";
        rules.warn(&keys.each_ref().map(String::as_str), rule);
    }
}

fn bundles_are_possible(rules: &mut Rules<'_>, tcp: &TcpSettings, key: &str) {
    if tcp.redundant_bytes == Some(ByteCount::ZERO) {
        let rule = "a bundle must not be empty: leave the key out for full segments, or set \
                    redundant_bundling = false";
        rules.broken(&format!("{key}.redundant_bytes"), rule);
    }
    if tcp.redundant_interval.is_some_and(|interval| interval < LEAST_INTERVAL) {
        let rule =
            format!("it must be {LEAST_INTERVAL} or more; shorter intervals are not distinguished");
        rules.broken(&format!("{key}.redundant_interval"), rule);
    }
}

fn buffer_is_possible(rules: &mut Rules<'_>, key: &str, size: Option<ByteCount>) {
    match size {
        Some(ByteCount::ZERO) => rules.broken(key, "a buffer needs at least 1 B"),
        Some(size) if size > LARGEST_BUFFER => {
            rules.broken(key, "it must be at most 1 GiB (RFC 7323 section 2.3)");
        }
        _ => {}
    }
}

fn timeouts_are_ordered(rules: &mut Rules<'_>, tcp: &TcpSettings, key: &str) {
    let name = |name: &str| format!("{key}.{name}");
    let (initial, minimum, maximum) =
        (name("initial_rto"), name("minimum_rto"), name("maximum_rto"));
    let times =
        [(&initial, tcp.initial_rto), (&minimum, tcp.minimum_rto), (&maximum, tcp.maximum_rto)];
    for (key, time) in times {
        if time == Some(Span::ZERO) {
            rules.broken(key, "a time-out must be above zero");
        }
    }
    let Some(longest) = tcp.maximum_rto else { return };
    for (key, time) in [(&initial, tcp.initial_rto), (&minimum, tcp.minimum_rto)] {
        if time.is_some_and(|time| time > longest) {
            let rule = format!("it must be no more than maximum_rto, {longest}");
            rules.report(&[key, &maximum], rule, None);
        }
    }
}

/// Half of what was seen to be carried is the least that a retreat may go down to (RFC 9959 section 3.5).
const LEAST_RETREAT: Ratio = Ratio::from_parts_per_billion(500_000_000);

fn sharing_is_possible(rules: &mut Rules<'_>, tcp: &TcpSettings, key: &str, duration: Span) {
    let Some(sharing) = &tcp.sharing else { return };
    let key = &format!("{key}.sharing");
    if sharing.policy == SharingPolicy::Off {
        empty_input_has_no_notes(rules, sharing, key);
    }
    resumption_has_a_window(rules, tcp, sharing, key);
    if sharing.lifetime == Some(Span::ZERO) {
        let rule = "a lifetime of zero makes the memory useless: give a time such as \"10 min\", or set \
                    policy = \"off\"";
        rules.broken(&format!("{key}.lifetime"), rule);
    }
    let samples = format!("{key}.sample_every");
    if sharing.sample_every == Some(Span::ZERO) {
        rules.broken(&samples, "it must be above zero: leave the key out for no samples");
    } else {
        interval_is_possible(rules, &samples, sharing.sample_every, duration);
    }
    if sharing.capture_from.is_some_and(|from| from >= duration) {
        let keys = [format!("{key}.capture_from"), "duration".to_owned()];
        let rule = format!("the run ends after {duration}, so nothing is remembered");
        rules.warn(&[&keys[0], &keys[1]], rule);
    }
    shares_are_possible(rules, sharing, key);
    keys_are_the_policys(rules, sharing, key);
    if let Some(until) = sharing.capture_until
        && until <= sharing.capture_from.unwrap_or_default()
    {
        let from = sharing.capture_from.unwrap_or_default();
        let keys = [format!("{key}.capture_until"), format!("{key}.capture_from")];
        rules.report(
            &[&keys[0], &keys[1]],
            format!("it must be after the beginning, {from}"),
            None,
        );
    }
}

/// With sharing off, keys of all policies have no effect. A warning, not an error, because a sweep may switch sharing off;
/// the keys of one policy are what it then leaves.
fn empty_input_has_no_notes(rules: &mut Rules<'_>, sharing: &Sharing, key: &str) {
    let is_said = sharing.lifetime.is_some()
        || sharing.entries.is_some()
        || sharing.openings.is_some()
        || sharing.collect.is_some()
        || sharing.sample_every.is_some()
        || sharing.capture_from.is_some()
        || sharing.capture_until.is_some();
    if is_said {
        let rule = "nothing is remembered: the other keys of sharing have no effect";
        rules.warn(&[&format!("{key}.policy")], rule);
    }
}

/// Windows are resumed where a window is what the congestion control sets.
fn resumption_has_a_window(rules: &mut Rules<'_>, tcp: &TcpSettings, sharing: &Sharing, key: &str) {
    let has_window = match tcp.congestion {
        None | Some(Congestion::Reno | Congestion::Bic | Congestion::Cubic) => true,
        Some(Congestion::Bbr | Congestion::Bbr3 | Congestion::Plugged(_)) => false,
    };
    if sharing.policy == SharingPolicy::CarefulResume && !has_window {
        let congestion = tcp.congestion.as_ref().map_or("", Congestion::name);
        let rule =
            format!("careful resume works only with reno, bic and cubic, not with {congestion}");
        rules.broken(&format!("{key}.policy"), rule);
    }
}

fn shares_are_possible(rules: &mut Rules<'_>, sharing: &Sharing, key: &str) {
    if sharing.forgetfulness.is_some_and(|share| share > Ratio::ONE) {
        rules.broken(&format!("{key}.forgetfulness"), "it must be between 0 % and 100 %");
    }
    if sharing.retreat.is_some_and(|share| !(LEAST_RETREAT..=Ratio::ONE).contains(&share)) {
        let rule = "it must be between 50 % and 100 % (RFC 9959 section 3.5)";
        rules.broken(&format!("{key}.retreat"), rule);
    }
}

/// A key that the policy does not look at would seem to do something.
fn keys_are_the_policys(rules: &mut Rules<'_>, sharing: &Sharing, key: &str) {
    use SharingPolicy::{CarefulResume, Classic, Off, Rfc9040, TcpMetrics};
    let policy = sharing.policy;
    let written: [(&str, bool, &[SharingPolicy]); 6] = [
        ("forgetfulness", sharing.forgetfulness.is_some(), &[Classic]),
        ("trust", sharing.trust.is_some(), &[Classic]),
        ("largest_window", sharing.largest_window.is_some(), &[Classic, Rfc9040, CarefulResume]),
        ("ensemble", sharing.ensemble.is_some(), &[Rfc9040]),
        ("save_threshold", sharing.save_threshold.is_some(), &[TcpMetrics]),
        ("retreat", sharing.retreat.is_some(), &[CarefulResume]),
    ];
    for (name, is_written, policies) in written {
        if is_written && policy != Off && !policies.contains(&policy) {
            let names: Vec<_> = policies.iter().map(|policy| policy.name()).collect();
            let keys = [format!("{key}.{name}"), format!("{key}.policy")];
            let rule = format!("the policy ignores this key; it belongs to {}", names.join(", "));
            rules.report(&[&keys[0], &keys[1]], rule, None);
        }
    }
}

/// If only incoming connections use the memory, some host must accept connections and remember.
pub(super) fn somebody_is_served(rules: &mut Rules<'_>, group: &FlowsInput, key: &str) {
    let Some(sharing) = active(&group.tcp) else { return };
    let is_usual = sharing.openings.is_none() && sharing.policy == SharingPolicy::Classic;
    if sharing.openings != Some(SharedOpenings::Incoming) && !is_usual {
        return;
    }
    let written = format!("{key}.tcp.sharing");
    if !group.workload.is_answered() {
        let rule = "these hosts open their connections themselves, but only incoming connections use the \
                    memory; set openings = \"all\"";
        rules.warn(&[&written], rule);
    } else if group.receiver_tcp.as_ref().is_some_and(|tcp| active(tcp).is_none()) {
        let rule = "only incoming connections use the memory, but the accepting hosts have separate settings \
                    without sharing; set sharing there";
        rules.warn(&[&written, &format!("{key}.receiver_tcp")], rule);
    }
}

/// A host has one memory, which the groups that share on it describe alike.
pub(super) fn hosts_agree(rules: &mut Rules<'_>, input: &ScenarioInput) {
    let mut hosts: BTreeMap<&str, (&Sharing, String)> = BTreeMap::new();
    for (index, group) in input.flows.iter().enumerate() {
        for (host, tcp, key) in ends(group, index) {
            let Some(host) = host else { continue };
            let Some(sharing) = tcp.and_then(active) else { continue };
            match hosts.get(host) {
                Some((there, first)) if *there != sharing => {
                    let rule = format!(
                        "host \"{host}\" has one memory for all its connections, and {first} differs: \
                         use the same settings, or separate hosts"
                    );
                    rules.report(&[&key, first], rule, None);
                }
                Some(_) => {}
                None => drop(hosts.insert(host, (sharing, key))),
            }
        }
    }
}

/// The two ends of a group: host, settings, and where they are written. Who answers has those of who asks where
/// nothing else is said.
fn ends(group: &FlowsInput, index: usize) -> [(Option<&str>, Option<&TcpSettings>, String); 2] {
    let key = |table| format!("flows[{index}].{table}.sharing");
    let (answers, written) = match &group.receiver_tcp {
        Some(tcp) => (Some(tcp), "receiver_tcp"),
        None => (group.workload.is_answered().then_some(&group.tcp), "tcp"),
    };
    [
        (group.from.as_deref(), Some(&group.tcp), key("tcp")),
        (group.to.as_deref(), answers, key(written)),
    ]
}

fn active(tcp: &TcpSettings) -> Option<&Sharing> {
    tcp.sharing.as_ref().filter(|sharing| sharing.policy != SharingPolicy::Off)
}
