//! Rules about groups of flows: where they run, when, and what they relay.

use super::{Rules, workload};
use crate::input::{FlowsInput, PathInput, ScenarioInput, TopologyInput};
use crate::{Transport, WorkloadInput};
use fairwind_qdisc::tc::suggestion;
use fairwind_units::ByteCount;
use std::collections::BTreeSet;

pub(super) fn check(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize) {
    ends(rules, input, index);
    times(rules, input, index);
    workload::check(rules, input, index);
    relay(rules, input, index);
}

fn times(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize) {
    let group = &input.flows[index];
    let start = format!("flows[{index}].start");
    let spread = format!("flows[{index}].start_spread");
    let stop = format!("flows[{index}].stop");
    if group.start >= input.duration {
        let rule = format!("the experiment ends before, after {}", input.duration);
        rules.report(&[&start, "duration"], rule, None);
    } else if group.start + group.start_spread > input.duration {
        let rule =
            format!("some flows would start after the end of the experiment, {}", input.duration);
        rules.report(&[&spread, &start, "duration"], rule, None);
    }
    let Some(stops_at) = group.stop else { return };
    if stops_at <= group.start {
        rules.report(
            &[&stop, &start],
            format!("it must be after the start, {}", group.start),
            None,
        );
    } else if stops_at < group.start + group.start_spread {
        let last = group.start + group.start_spread;
        let rule = format!("some flows would stop before they start, at up to {last}");
        rules.report(&[&stop, &start, &spread], rule, None);
    }
}

/// The two hosts of a group are there, and reach each other.
fn ends(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize) {
    match (&input.path, &input.topology) {
        (Some(_), None) => on_a_path(rules, input, index),
        (None, Some(topology)) => on_a_topology(rules, input, topology, index),
        // Without one network there is nothing to compare with; that is reported elsewhere.
        _ => {}
    }
}

fn on_a_path(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize) {
    let group = &input.flows[index];
    for (name, end) in [("from", &group.from), ("to", &group.to)] {
        if end.is_some() {
            let hint = "a path gives every group its own hosts; leave it out, or use [topology]";
            let rule = "hosts are named only with a topology";
            rules.broken_with_hint(&[&format!("flows[{index}].{name}")], rule, hint);
        }
    }
    let path_rtt = input.path.as_ref().map(PathInput::base_rtt).unwrap_or_default();
    if group.rtt.is_some_and(|rtt| rtt < path_rtt) {
        let key = format!("flows[{index}].rtt");
        let rule = format!("it must not be less than the path's, {path_rtt}");
        let delays = ["path.rtt", "path.forward_delay", "path.reverse_delay"];
        let added = ["path.impairments", "path.reverse_impairments"];
        rules.report(&[&key, delays[0], delays[1], delays[2], added[0], added[1]], rule, None);
    }
}

fn on_a_topology(
    rules: &mut Rules<'_>,
    input: &ScenarioInput,
    topology: &TopologyInput,
    index: usize,
) {
    let group = &input.flows[index];
    let (from_key, to_key) = (format!("flows[{index}].from"), format!("flows[{index}].to"));
    if group.rtt.is_some() {
        let key = format!("flows[{index}].rtt");
        let hint = "give the delay to the links of the topology";
        rules.broken_with_hint(&[&key], "a group has its own rtt only with a path", hint);
    }
    let from = host(rules, topology, &from_key, group.from.as_deref());
    let to = host(rules, topology, &to_key, group.to.as_deref());
    let (Some(from), Some(to)) = (from, to) else { return };
    if from == to {
        let rule = "source and destination must be different hosts";
        rules.report(&[&to_key, &from_key], rule.into(), None);
        return;
    }
    // The missing link may be the error in the topology.
    if rules.has_errors_within("topology") {
        return;
    }
    let ways = [(from, to), (to, from)];
    if let Some((start, end)) = ways.iter().find(|(start, end)| !reaches(topology, start, end)) {
        let hint = "hosts do not forward; connect them by links and routers, in both directions";
        let rule = format!("no links lead from {start} to {end}");
        rules.broken_with_hint(&[&to_key, &from_key], rule, hint);
    }
}

/// The host called `name`, where there is one.
fn host<'n>(
    rules: &mut Rules<'_>,
    topology: &TopologyInput,
    key: &str,
    name: Option<&'n str>,
) -> Option<&'n str> {
    let known = || topology.hosts.iter().map(String::as_str);
    let all = || format!("there are {}", known().collect::<Vec<_>>().join(", "));
    let Some(name) = name else {
        rules.broken_with_hint(&[key], "missing; it is required with a topology", &all());
        return None;
    };
    if known().any(|known| known == name) {
        return Some(name);
    }
    if topology.routers.iter().any(|router| router == name) {
        let rule = "this is a router; flows begin and end at hosts";
        rules.broken_with_hint(&[key], rule, &all());
        return None;
    }
    let hint = suggestion(name, known());
    rules.broken_with_hint(&[key, "topology.hosts"], "no such host", &hint);
    None
}

/// Whether links lead from `start` to `end` with only routers between.
fn reaches(topology: &TopologyInput, start: &str, end: &str) -> bool {
    let mut reached = BTreeSet::from([start]);
    let mut waiting = vec![start];
    while let Some(node) = waiting.pop() {
        if node == end {
            return true;
        }
        if node != start && topology.hosts.iter().any(|host| host == node) {
            continue;
        }
        for link in &topology.links {
            let back = link.both_ways && link.to == node;
            let next = if link.from == node { &link.to } else { &link.from };
            if (link.from == node || back) && reached.insert(next) {
                waiting.push(next);
            }
        }
    }
    false
}

/// A group that passes on what another one brings has one to relay, and room.
fn relay(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize) {
    let WorkloadInput::Relay { of, buffer } = &input.flows[index].workload else { return };
    if *buffer == ByteCount::ZERO {
        let hint = "256 KiB is a start; a bandwidth-delay product keeps a path full";
        let key = format!("flows[{index}].workload.buffer");
        rules.broken_with_hint(&[&key], "it must be at least 1 B", hint);
    }
    let (packet, _) = input.mtu();
    if (ByteCount::new(1)..packet).contains(buffer) {
        let key = format!("flows[{index}].workload.buffer");
        let rule = format!(
            "a packet carries up to {packet}: with a smaller buffer the relay works in small parts"
        );
        rules.warn(&[&key], rule);
    }
    relay_has_no_times(rules, index);
    if input.path.is_some() {
        let hint = "describe the network by [topology], with a host between two links";
        let rule = "a path gives every group its own hosts, but a relay needs the host where another group ends";
        rules.broken_with_hint(&[&format!("flows[{index}].workload"), "path"], rule, hint);
        return;
    }
    let key = format!("flows[{index}].workload.of");
    let Some(relayed) = input.flows.iter().position(|group| group.name == *of) else {
        let hint = suggestion(of, input.flows.iter().map(|group| group.name.as_str()));
        rules.broken_with_hint(&[&key, "flows"], "no such group", &hint);
        return;
    };
    if !is_in_a_circle(rules, input, index, &key) {
        pair(rules, input, (index, relayed), &key);
    }
}

/// A relay begins and ends with what it relays.
fn relay_has_no_times(rules: &mut Rules<'_>, index: usize) {
    for name in ["start", "start_spread", "start_pattern", "stop"] {
        let key = format!("flows[{index}].{name}");
        if rules.is_written(&key) {
            let hint = "leave it out, or give it to the group that it relays";
            let rule =
                "a relay starts when a connection is accepted, and stops when that is closed";
            rules.broken_with_hint(&[&key], rule, hint);
        }
    }
}

/// The index of the group that `group` relays.
fn relayed(input: &ScenarioInput, group: &FlowsInput) -> Option<usize> {
    let WorkloadInput::Relay { of, .. } = &group.workload else { return None };
    input.flows.iter().position(|other| other.name == *of)
}

/// Whether nothing ever comes, because the group relays itself in the end.
fn is_in_a_circle(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize, key: &str) -> bool {
    let mut names = vec![input.flows[index].name.as_str()];
    let (mut at, mut first) = (index, index);
    for _ in 0..input.flows.len() {
        let Some(before) = relayed(input, &input.flows[at]) else { return false };
        at = before;
        first = first.min(at);
        names.push(&input.flows[at].name);
        if at == index {
            let rule = match names.len() {
                2 => "a relay must relay another group, not itself".to_owned(),
                _ => format!("a cycle of relays: {}", names.join(" relays ")),
            };
            if first == index {
                rules.report(&[key], rule, None);
            }
            return true;
        }
    }
    // The circle is among other groups and is reported there.
    true
}

/// The two groups fit together, connection by connection.
fn pair(rules: &mut Rules<'_>, input: &ScenarioInput, (index, relayed): (usize, usize), key: &str) {
    let (group, first) = (&input.flows[index], &input.flows[relayed]);
    if first.workload.transport() == Transport::Udp {
        rules.broken(key, format!("\"{}\" sends datagrams; a relay needs connections", first.name));
    }
    if first.workload.is_answered() {
        let hint = "two groups with volumes, one each way, stand for requests and responses";
        let rule = format!(
            "\"{}\" has data in both directions; a relay supports one direction only",
            first.name
        );
        rules.broken_with_hint(&[key], rule, hint);
    }
    if first.count != group.count {
        let count = format!("flows[{index}].count");
        let rule = format!(
            "each connection relays one of \"{}\", so the count must be equal: {}",
            first.name, first.count
        );
        rules.report(&[&count, &format!("flows[{relayed}].count")], rule, None);
    }
    if let (Some(from), Some(to)) = (&group.from, &first.to)
        && from != to
    {
        let from = format!("flows[{index}].from");
        let rule = format!(
            "a relay must be at the host where its data arrives: \"{}\" goes to {to}",
            first.name
        );
        rules.report(&[&from, &format!("flows[{relayed}].to")], rule, None);
    }
    let same = |other: &FlowsInput| matches!(&other.workload, WorkloadInput::Relay { of, .. } if *of == first.name);
    if let Some(earlier) = input.flows[..index].iter().find(|other| same(other)) {
        let rule = format!("\"{}\" relays it already", earlier.name);
        rules.report(&[key], rule, None);
    }
}
