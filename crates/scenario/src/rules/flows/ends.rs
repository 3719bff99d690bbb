//! Rules about the two hosts of a group: that they are there, and reach each other.

use crate::error::nearest;
use crate::input::{PathInput, ScenarioInput, TopologyInput};
use crate::rules::Rules;
use std::collections::BTreeSet;

pub(super) fn check(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize) {
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
        let rule = format!("it must be no less than the path's, {path_rtt}");
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
        let rule = "data goes to another host than it comes from";
        rules.report(&[&to_key, &from_key], rule.into(), None);
        return;
    }
    // What is wrong in the topology may be the very link that is missing.
    if rules.has_errors_within("topology") {
        return;
    }
    let ways = [(from, to), (to, from)];
    if let Some((start, end)) = ways.iter().find(|(start, end)| !reaches(topology, start, end)) {
        let hint = "hosts forward nothing; join them by links and routers, in both directions";
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
        rules.broken_with_hint(&[key], "missing, but it is needed with a topology", &all());
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
    let hint =
        nearest(name, known()).map_or_else(all, |nearest| format!("did you mean \"{nearest}\"?"));
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
