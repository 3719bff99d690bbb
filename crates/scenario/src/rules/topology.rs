//! Rules about hosts, routers and links.

use super::path::{loss_is_a_share, mtu_is_possible, overhead_is_small, rate_is_positive};
use super::{Rules, queue};
use crate::error::nearest;
use crate::input::{LinkInput, TopologyInput};
use crate::queue::Scale;
use crate::resolve::{link_name, reverse_name};
use std::collections::BTreeSet;

pub(super) fn check(rules: &mut Rules<'_>, topology: &TopologyInput) {
    mtu_is_possible(rules, "topology", topology.mtu, topology.ip_version);
    nodes_are_told_apart(rules, topology);
    for (index, link) in topology.links.iter().enumerate() {
        link_is_possible(rules, topology, link, &format!("topology.links[{index}]"));
    }
    links_are_told_apart(rules, topology);
}

fn nodes_are_told_apart(rules: &mut Rules<'_>, topology: &TopologyInput) {
    let mut seen = BTreeSet::new();
    for (list, names) in [("hosts", &topology.hosts), ("routers", &topology.routers)] {
        for (index, name) in names.iter().enumerate() {
            let key = format!("topology.{list}[{index}]");
            if name.trim().is_empty() {
                rules.broken(&key, "a node has a name");
            } else if !seen.insert(name) {
                rules.broken(&key, "another node is called so already");
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
            "a link leads to another node".into(),
            None,
        );
    }
    let rate = format!("{key}.rate");
    if link.carrier.is_none() || rules.is_written(&rate) {
        rate_is_positive(rules, &rate, link.rate);
    }
    loss_is_a_share(rules, &format!("{key}.loss"), link.loss);
    overhead_is_small(rules, &format!("{key}.overhead"), link.overhead);
    queue_is_possible(rules, topology, link, &format!("{key}.queue"));
    super::path::trace_is_possible(rules, &format!("{key}.rate_trace"), link.rate_trace.as_ref());
    super::path::impairments_are_possible(
        rules,
        &format!("{key}.impairments"),
        link.impairments.as_ref(),
    );
}

fn queue_is_possible(rules: &mut Rules<'_>, topology: &TopologyInput, link: &LinkInput, key: &str) {
    let Some(queue) = &link.queue else { return };
    if link.rate.is_none() && link.rate_trace.is_some() {
        // Of the trace it is told elsewhere what is wrong with it.
    } else if link.rate.is_none() && !queue.shapes() {
        let hint = "give the link a rate, or leave the queue out";
        rules.broken_with_hint(&[key], "nothing waits before a link without a rate", hint);
    } else {
        let scale = Scale { rate: link.rate, rtt: None, mtu: topology.mtu };
        queue::check(rules, queue, scale, key);
    }
}

/// Reports a name that is no node's.
fn node_exists(rules: &mut Rules<'_>, topology: &TopologyInput, key: &str, name: &str) {
    let known = || topology.hosts.iter().chain(&topology.routers).map(String::as_str);
    if known().any(|known| known == name) {
        return;
    }
    let hint = nearest(name, known()).map_or_else(
        || format!("there are {}", known().collect::<Vec<_>>().join(", ")),
        |nearest| format!("did you mean \"{nearest}\"?"),
    );
    let keys = [key, "topology.hosts", "topology.routers"];
    rules.broken_with_hint(&keys, "no such host or router", &hint);
}

fn links_are_told_apart(rules: &mut Rules<'_>, topology: &TopologyInput) {
    let mut seen = BTreeSet::new();
    for (index, link) in topology.links.iter().enumerate() {
        let name = link.name.clone().unwrap_or_else(|| link_name(&link.from, &link.to));
        let back = link.both_ways.then(|| reverse_name(link));
        for name in std::iter::once(name).chain(back) {
            if !seen.insert(name.clone()) {
                let key = format!("topology.links[{index}]");
                let rule = format!("another link is called {name} already");
                rules.broken_with_hint(&[&key], rule, "give one of them a name of its own");
                break;
            }
        }
    }
    if let Some(name) = topology.bottleneck.as_ref().filter(|name| !seen.contains(*name)) {
        let known = nearest(name, seen.iter().map(String::as_str));
        let hint = known.map_or_else(
            || format!("there are {}", seen.iter().cloned().collect::<Vec<_>>().join(", ")),
            |nearest| format!("did you mean \"{nearest}\"?"),
        );
        let keys = ["topology.bottleneck", "topology.links"];
        rules.broken_with_hint(&keys, "no such link", &hint);
    }
}
