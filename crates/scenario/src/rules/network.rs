//! Rules about the network: paths, topologies, queues, impairments, and slots that are assigned on demand.

use super::Rules;
use crate::carrier;
use crate::input::{LinkInput, PathInput, ScenarioInput, TopologyInput};
use crate::resolve::{link_name, reverse_name};
use crate::{ImpairmentsInput, IpVersion, RateTraceInput, TerminalInput};
use fairwind_qdisc::tc::suggestion;
use fairwind_qdisc::{Carrier, Fault, HtbInput, QdiscFinding, QueueInput, QueueTable, Scale};
use fairwind_units::{BitRate, ByteCount, Ratio, Span};
use std::collections::BTreeSet;

/// Room for the IPv4 header, the longest TCP header (60 bytes, RFC 9293 section 3.1) and one byte;
/// and what a length of 16 bits can say (RFC 791 section 3.1).
const MTU_BOUNDS: std::ops::RangeInclusive<u64> = 81..=65_535;

pub(super) fn check_path(rules: &mut Rules<'_>, path: &PathInput) {
    rate_is_known(rules, path);
    if path.carrier.is_none() || rules.is_written("path.rate") {
        rate_is_positive(rules, "path.rate", path.rate);
    }
    rate_is_positive(rules, "path.reverse_rate", path.reverse_rate);
    rate_is_positive(rules, "path.access_rate", path.access_rate);
    loss_is_a_share(rules, "path.loss", path.loss);
    loss_is_a_share(rules, "path.reverse_loss", path.reverse_loss);
    mtu_is_possible(rules, "path", path.mtu, path.ip_version);
    overhead_is_small(rules, "path.overhead", path.overhead);
    let reverse_rate = path.reverse_rate.or(path.bottleneck_rate());
    let scale = |rate| Scale { rate, rtt: Some(path.base_rtt()), mtu: path.mtu };
    if reverse_rate.is_some() {
        queue_is_possible(rules, &path.queue, scale(path.rate), "path.queue");
        queue_is_possible(rules, &path.reverse_queue, scale(reverse_rate), "path.reverse_queue");
    }
    trace_is_possible(rules, "path.rate_trace", path.rate_trace.as_ref());
    impairments_are_possible(rules, "path.impairments", path.impairments.as_ref());
    impairments_are_possible(rules, "path.reverse_impairments", path.reverse_impairments.as_ref());
    delay_is_described_once(rules, path);
}

fn rate_is_known(rules: &mut Rules<'_>, path: &PathInput) {
    // Errors of a trace are reported elsewhere.
    if path.bottleneck_rate().is_none() && path.rate_trace.is_none() {
        let hint = "the rate of the bottleneck; only with a queue that shapes or a recorded rate it is optional";
        rules.broken_with_hint(&["path.rate", "path.queue"], "missing; it is required", hint);
    }
}

fn delay_is_described_once(rules: &mut Rules<'_>, path: &PathInput) {
    let hint = "write rtt, or else forward_delay and reverse_delay";
    match (path.rtt, path.forward_delay, path.reverse_delay) {
        (Some(_), Some(_), _) => {
            rules.broken_with_hint(&["path.forward_delay"], "rtt is set already", hint);
        }
        (Some(_), None, Some(_)) => {
            rules.broken_with_hint(&["path.reverse_delay"], "rtt is set already", hint);
        }
        (None, None, None) => {
            rules.broken_with_hint(&["path.rtt"], "missing; it is required", hint);
        }
        (None, Some(_), None) => {
            rules.broken_with_hint(&["path.reverse_delay"], "missing beside forward_delay", hint);
        }
        (None, None, Some(_)) => {
            rules.broken_with_hint(&["path.forward_delay"], "missing beside reverse_delay", hint);
        }
        (Some(_), None, None) | (None, Some(_), Some(_)) => {}
    }
}

pub(super) fn rate_is_positive(rules: &mut Rules<'_>, key: &str, rate: Option<BitRate>) {
    if rate == Some(BitRate::from_bits_per_second(0)) {
        rules.broken(key, "the rate must be above zero");
    }
}

fn loss_is_a_share(rules: &mut Rules<'_>, key: &str, loss: Ratio) {
    if loss > Ratio::ONE {
        rules.broken(key, "it must be at most 100 %");
    }
}

/// RFC 8200 section 5 asks every link for this much.
const LEAST_IPV6_MTU: ByteCount = ByteCount::new(1280);

/// Whether packets of the network at `key` (`path` or `topology`) may be as large, and no larger.
fn mtu_is_possible(rules: &mut Rules<'_>, key: &str, mtu: ByteCount, ip_version: IpVersion) {
    let (mtu_key, version_key) = (format!("{key}.mtu"), format!("{key}.ip_version"));
    if !MTU_BOUNDS.contains(&mtu.get()) {
        let rule = "a TCP segment needs between 81 B (headers with all options) and 65535 B";
        rules.broken(&mtu_key, rule);
    } else if ip_version == IpVersion::V6 && mtu < LEAST_IPV6_MTU {
        let rule = "IPv6 needs 1280 B or more (RFC 8200 section 5)".to_owned();
        rules.report(&[&mtu_key, &version_key], rule, None);
    }
}

fn trace_is_possible(rules: &mut Rules<'_>, key: &str, trace: Option<&RateTraceInput>) {
    let resolved = trace.map(|trace| trace.resolve(rules.recordings, key));
    report(rules, resolved.and_then(Result::err).as_slice());
}

fn impairments_are_possible(
    rules: &mut Rules<'_>,
    key: &str,
    impairments: Option<&ImpairmentsInput>,
) {
    let Some(input) = impairments else { return };
    let (netem, faults) = input.resolve(rules.recordings, key);
    report(rules, &faults);
    for oddity in netem.impairments.warnings() {
        let key = match input {
            ImpairmentsInput::Text(_) => key.to_owned(),
            ImpairmentsInput::Table(_) => format!("{key}.{}", oddity.key),
        };
        rules.warn(&[&key], oddity.rule);
    }
}

fn report(rules: &mut Rules<'_>, faults: &[Fault]) {
    for Fault { key, rule, hint } in faults {
        rules.report(&[key], rule.clone(), hint.clone());
    }
}

fn overhead_is_small(rules: &mut Rules<'_>, key: &str, overhead: ByteCount) {
    if overhead > ByteCount::new(65_535) {
        rules.broken(key, "the framing of a packet is at most 65535 B");
    }
}

pub(super) fn check_topology(rules: &mut Rules<'_>, topology: &TopologyInput) {
    mtu_is_possible(rules, "topology", topology.mtu, topology.ip_version);
    nodes_must_have_unique_names(rules, topology);
    for (index, link) in topology.links.iter().enumerate() {
        link_is_possible(rules, topology, link, &format!("topology.links[{index}]"));
    }
    links_must_have_unique_names(rules, topology);
}

fn nodes_must_have_unique_names(rules: &mut Rules<'_>, topology: &TopologyInput) {
    let mut seen = BTreeSet::new();
    for (list, names) in [("hosts", &topology.hosts), ("routers", &topology.routers)] {
        for (index, name) in names.iter().enumerate() {
            let key = format!("topology.{list}[{index}]");
            if name.trim().is_empty() {
                rules.broken(&key, "a node needs a name");
            } else if !seen.insert(name) {
                rules.broken(&key, "another node has this name already");
            }
        }
    }
}

fn link_is_possible(rules: &mut Rules<'_>, topology: &TopologyInput, link: &LinkInput, key: &str) {
    node_exists(rules, topology, &format!("{key}.from"), &link.from);
    node_exists(rules, topology, &format!("{key}.to"), &link.to);
    if link.from == link.to {
        rules.report(
            &[&format!("{key}.to"), &format!("{key}.from")],
            "a link must lead to another node".into(),
            None,
        );
    }
    let rate = format!("{key}.rate");
    if link.carrier.is_none() || rules.is_written(&rate) {
        rate_is_positive(rules, &rate, link.rate);
    }
    loss_is_a_share(rules, &format!("{key}.loss"), link.loss);
    overhead_is_small(rules, &format!("{key}.overhead"), link.overhead);
    queue_of_link_is_possible(rules, topology, link, &format!("{key}.queue"));
    trace_is_possible(rules, &format!("{key}.rate_trace"), link.rate_trace.as_ref());
    impairments_are_possible(rules, &format!("{key}.impairments"), link.impairments.as_ref());
}

fn queue_of_link_is_possible(
    rules: &mut Rules<'_>,
    topology: &TopologyInput,
    link: &LinkInput,
    key: &str,
) {
    let Some(queue) = &link.queue else { return };
    if link.rate.is_none() && link.rate_trace.is_some() {
        // Errors of the trace are reported elsewhere.
    } else if link.rate.is_none() && !queue.shapes() {
        let hint = "give the link a rate, or leave the queue out";
        rules.broken_with_hint(&[key], "a link without a rate needs no queue", hint);
    } else {
        let scale = Scale { rate: link.rate, rtt: None, mtu: topology.mtu };
        queue_is_possible(rules, queue, scale, key);
    }
}

/// Reports a name that is no node's.
fn node_exists(rules: &mut Rules<'_>, topology: &TopologyInput, key: &str, name: &str) {
    let known = topology.hosts.iter().chain(&topology.routers).map(String::as_str);
    if known.clone().any(|known| known == name) {
        return;
    }
    let hint = suggestion(name, known);
    let keys = [key, "topology.hosts", "topology.routers"];
    rules.broken_with_hint(&keys, "no such host or router", &hint);
}

fn links_must_have_unique_names(rules: &mut Rules<'_>, topology: &TopologyInput) {
    let mut seen = BTreeSet::new();
    for (index, link) in topology.links.iter().enumerate() {
        let name = link.name.clone().unwrap_or_else(|| link_name(&link.from, &link.to));
        let back = link.both_ways.then(|| reverse_name(link));
        for name in std::iter::once(name).chain(back) {
            if !seen.insert(name.clone()) {
                let key = format!("topology.links[{index}]");
                let rule = format!("another link has the name {name} already");
                rules.broken_with_hint(&[&key], rule, "rename one of them");
                break;
            }
        }
    }
    if let Some(name) = topology.bottleneck.as_ref().filter(|name| !seen.contains(*name)) {
        let hint = suggestion(name, seen.iter().map(String::as_str));
        let keys = ["topology.bottleneck", "topology.links"];
        rules.broken_with_hint(&keys, "no such link", &hint);
    }
}

/// Whether the queue at `key` is possible before what `scale` describes.
fn queue_is_possible(rules: &mut Rules<'_>, queue: &QueueInput, scale: Scale, key: &str) {
    let (resolved, faults) = queue.resolve(scale, key);
    for fault in &faults {
        rules.report(&[&fault.key], fault.rule.clone(), fault.hint.clone());
    }
    if !faults.is_empty() {
        return;
    }
    for (key, rule) in all_as_written(queue, key, &resolved.errors()) {
        rules.report(&[&key], rule, None);
    }
    let oddities = resolved.warnings(scale.rate, scale.mtu.get());
    for (key, rule) in all_as_written(queue, key, &oddities) {
        rules.warn(&[&key], rule);
    }
}

/// Findings with the keys that the author of `queue` wrote; each once, as one key may set two things.
fn all_as_written(
    queue: &QueueInput,
    key: &str,
    findings: &[QdiscFinding],
) -> Vec<(String, String)> {
    let mut written = Vec::new();
    for finding in findings {
        let finding = as_written(queue, key, finding);
        if !written.contains(&finding) {
            written.push(finding);
        }
    }
    written
}

/// The key that the author of `queue` wrote, and what is said about it.
fn as_written(queue: &QueueInput, key: &str, finding: &QdiscFinding) -> (String, String) {
    let QdiscFinding { key: inner, rule } = finding;
    match queue {
        QueueInput::Text(_) if inner.is_empty() => (key.to_owned(), rule.clone()),
        QueueInput::Text(_) => (key.to_owned(), format!("{inner}: {rule}")),
        QueueInput::Table(table) => {
            // An htb with a rate has one class, which has no key.
            let inner = match table.as_ref() {
                QueueTable::Htb(HtbInput { classes: None, .. }) => {
                    inner.strip_prefix("classes[0].").unwrap_or(inner).to_owned()
                }
                QueueTable::Hfsc(hfsc) => hfsc.written_key(inner),
                _ => inner.clone(),
            };
            (format!("{key}.{inner}"), rule.clone())
        }
    }
}

/// Groups that filters ask for exist.
pub(super) fn filters_lead_somewhere(rules: &mut Rules<'_>, input: &ScenarioInput) {
    let groups: Vec<&str> = input.flows.iter().map(|group| group.name.as_str()).collect();
    if let Some(path) = &input.path {
        groups_exist(rules, &path.queue, "path.queue", &groups);
        groups_exist(rules, &path.reverse_queue, "path.reverse_queue", &groups);
    }
    let links = input.topology.iter().flat_map(|topology| &topology.links);
    for (index, link) in links.enumerate() {
        if let Some(queue) = &link.queue {
            groups_exist(rules, queue, &format!("topology.links[{index}].queue"), &groups);
        }
    }
}

fn groups_exist(rules: &mut Rules<'_>, queue: &QueueInput, key: &str, groups: &[&str]) {
    for (inner, group) in queue.groups() {
        if !groups.contains(&group.as_str()) {
            let key = if inner.is_empty() { key.to_owned() } else { format!("{key}.{inner}") };
            let hint = suggestion(&group, groups.iter().copied());
            let rule = format!("a filter matches the group \"{group}\", which does not exist");
            rules.report(&[&key, "flows"], rule, Some(hint));
        }
    }
}

/// What a link has besides its carrier.
struct CarrierContext<'a> {
    has_carrier: bool,
    has_trace: bool,
    terminal: Option<&'a TerminalInput>,
    /// Slots of a frame, as far as the carrier is known.
    slots: Option<u32>,
}

pub(super) fn check_carrier_of_path(rules: &mut Rules<'_>, path: &PathInput, duration: Span) {
    let context = CarrierContext {
        has_carrier: path.carrier.is_some(),
        has_trace: path.rate_trace.is_some(),
        terminal: path.terminal.as_ref(),
        slots: path.carrier.as_ref().map(|carrier| carrier.slots),
    };
    one_thing_decides(rules, "path", &context);
    if let Some((slots, terminal)) = path.slots() {
        let terminals = [("path.terminal".to_owned(), terminal)];
        report(rules, &carrier::faults(&slots, "path.carrier", &terminals));
        warn(rules, &slots, "path.carrier", duration);
    }
    if path.carrier.as_ref().is_some_and(|carrier| carrier.name.is_some()) {
        let rule = "it is not used: a path has one carrier; only links of a topology name theirs";
        rules.warn(&["path.carrier.name"], rule);
    }
}

pub(super) fn check_carriers(rules: &mut Rules<'_>, topology: &TopologyInput, duration: Span) {
    carriers_must_have_unique_names(rules, topology);
    for (index, link) in topology.links.iter().enumerate() {
        let key = format!("topology.links[{index}]");
        let context = CarrierContext {
            has_carrier: link.carrier.is_some(),
            has_trace: link.rate_trace.is_some(),
            terminal: link.terminal.as_ref(),
            slots: topology.carrier_of(link).map(|carrier| topology.carriers[carrier].slots),
        };
        one_thing_decides(rules, &key, &context);
        link_is_on_a_carrier(rules, topology, link, &key);
    }
    let carriers = topology.carriers();
    for (index, carrier) in carriers.iter().enumerate() {
        let links = (0..).zip(&topology.links);
        let terminals = links.filter_map(|(number, link): (usize, _)| {
            let slots = topology.slots(link, &carriers)?;
            let key = format!("topology.links[{number}].terminal");
            (slots.carrier == index).then_some((key, slots.terminal))
        });
        let terminals: Vec<_> = terminals.collect();
        let key = format!("topology.carriers[{index}]");
        report(rules, &carrier::faults(carrier, &key, &terminals));
        warn(rules, carrier, &key, duration);
        if terminals.is_empty() {
            rules.warn(&[&key], "no link has slots of it");
        }
    }
}

/// A link has a rate, a record of one, or slots.
fn one_thing_decides(rules: &mut Rules<'_>, key: &str, context: &CarrierContext<'_>) {
    let (rate, terminal) = (format!("{key}.rate"), format!("{key}.terminal"));
    let carrier = format!("{key}.carrier");
    if !context.has_carrier {
        if context.terminal.is_some() {
            let hint = "name the carrier with its slots";
            rules.broken_with_hint(&[&terminal, &carrier], "there is no carrier", hint);
        }
        return;
    }
    if rules.is_written(&rate) {
        let hint = "leave the rate out; slots carry slot_rate each, most_slots bounds them";
        rules.broken_with_hint(&[&rate, &carrier], "its slots are its rate", hint);
    }
    if context.has_trace {
        let trace = format!("{key}.rate_trace");
        let hint = "leave one of the two out";
        rules.broken_with_hint(&[&trace, &carrier], "its slots say when packets leave", hint);
    }
    let Some(given) = context.terminal else { return };
    for (below, rule) in given.oddities(context.slots.unwrap_or(u32::MAX)) {
        rules.warn(&[&format!("{terminal}.{below}")], rule);
    }
}

fn link_is_on_a_carrier(
    rules: &mut Rules<'_>,
    topology: &TopologyInput,
    link: &LinkInput,
    key: &str,
) {
    let Some(name) = &link.carrier else { return };
    if link.both_ways {
        let hint = "set both_ways = false, and add another link for the way back";
        let keys = [&*format!("{key}.both_ways"), &*format!("{key}.carrier")];
        rules.broken_with_hint(&keys, "a terminal sends on its carrier in one direction", hint);
    }
    if topology.carrier_of(link).is_some() {
        return;
    }
    let known = topology.carriers.iter().filter_map(|carrier| carrier.name.as_deref());
    let hint = match known.clone().next() {
        Some(_) => suggestion(name, known),
        None => "describe it in topology.carriers".to_owned(),
    };
    let keys = [&*format!("{key}.carrier"), "topology.carriers"];
    rules.broken_with_hint(&keys, "no such carrier", &hint);
}

fn carriers_must_have_unique_names(rules: &mut Rules<'_>, topology: &TopologyInput) {
    let mut seen = BTreeSet::new();
    for (index, carrier) in topology.carriers.iter().enumerate() {
        let key = format!("topology.carriers[{index}].name");
        match carrier.name.as_deref().map(str::trim) {
            None | Some("") => rules.broken(&key, "a carrier needs a name, which links refer to"),
            Some(name) if !seen.insert(name) => {
                rules.broken(&key, "another carrier has this name already");
            }
            Some(_) => {}
        }
    }
}

fn warn(rules: &mut Rules<'_>, carrier: &Carrier, key: &str, duration: Span) {
    for (below, rule) in carrier::oddities(carrier, duration) {
        rules.warn(&[&format!("{key}.{below}")], rule);
    }
}
