//! Rules about slots that are assigned on demand.

use super::Rules;
use crate::TerminalInput;
use crate::carrier;
use crate::error::nearest;
use crate::input::{LinkInput, PathInput, TopologyInput};
use crate::queue::Fault;
use fairwind_qdisc::Carrier;
use fairwind_units::Span;
use std::collections::BTreeSet;

/// What a link says beside its carrier.
struct Beside<'a> {
    has_carrier: bool,
    has_trace: bool,
    terminal: Option<&'a TerminalInput>,
    /// Slots of a frame, as far as the carrier is known.
    slots: Option<u32>,
}

pub(super) fn check_path(rules: &mut Rules<'_>, path: &PathInput, duration: Span) {
    let beside = Beside {
        has_carrier: path.carrier.is_some(),
        has_trace: path.rate_trace.is_some(),
        terminal: path.terminal.as_ref(),
        slots: path.carrier.as_ref().map(|carrier| carrier.slots),
    };
    one_thing_decides(rules, "path", &beside);
    if let Some((slots, terminal)) = path.slots() {
        let terminals = [("path.terminal".to_owned(), terminal)];
        report(rules, carrier::faults(&slots, "path.carrier", &terminals));
        warn(rules, &slots, "path.carrier", duration);
    }
    if path.carrier.as_ref().is_some_and(|carrier| carrier.name.is_some()) {
        let rule =
            "nothing asks for it: a path has one carrier, only links of a topology name theirs";
        rules.warn(&["path.carrier.name"], rule);
    }
}

pub(super) fn check_topology(rules: &mut Rules<'_>, topology: &TopologyInput, duration: Span) {
    carriers_are_told_apart(rules, topology);
    for (index, link) in topology.links.iter().enumerate() {
        let key = format!("topology.links[{index}]");
        let beside = Beside {
            has_carrier: link.carrier.is_some(),
            has_trace: link.rate_trace.is_some(),
            terminal: link.terminal.as_ref(),
            slots: topology.carrier_of(link).map(|carrier| topology.carriers[carrier].slots),
        };
        one_thing_decides(rules, &key, &beside);
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
        report(rules, carrier::faults(carrier, &key, &terminals));
        warn(rules, carrier, &key, duration);
        if terminals.is_empty() {
            rules.warn(&[&key], "no link has slots of it");
        }
    }
}

/// A link has a rate, a record of one, or slots.
fn one_thing_decides(rules: &mut Rules<'_>, key: &str, beside: &Beside<'_>) {
    let (rate, terminal) = (format!("{key}.rate"), format!("{key}.terminal"));
    let carrier = format!("{key}.carrier");
    if !beside.has_carrier {
        if beside.terminal.is_some() {
            let hint = "say of which carrier it has slots";
            rules.broken_with_hint(&[&terminal, &carrier], "there is no carrier", hint);
        }
        return;
    }
    if rules.is_written(&rate) {
        let hint = "leave the rate out; slots carry slot_rate each, most_slots bounds them";
        rules.broken_with_hint(&[&rate, &carrier], "its slots are its rate", hint);
    }
    if beside.has_trace {
        let trace = format!("{key}.rate_trace");
        let hint = "leave one of the two out";
        rules.broken_with_hint(&[&trace, &carrier], "its slots say when packets leave", hint);
    }
    let Some(given) = beside.terminal else { return };
    for (below, rule) in given.oddities(beside.slots.unwrap_or(u32::MAX)) {
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
        let hint = "write both_ways = false, and a link of its own for the way back";
        let keys = [&*format!("{key}.both_ways"), &*format!("{key}.carrier")];
        rules.broken_with_hint(&keys, "a terminal sends on its carrier in one direction", hint);
    }
    if topology.carrier_of(link).is_some() {
        return;
    }
    let known = || topology.carriers.iter().filter_map(|carrier| carrier.name.as_deref());
    let hint = match nearest(name, known()) {
        Some(nearest) => format!("did you mean \"{nearest}\"?"),
        None if known().next().is_none() => "describe it in topology.carriers".to_owned(),
        None => format!("there are {}", known().collect::<Vec<_>>().join(", ")),
    };
    let keys = [&*format!("{key}.carrier"), "topology.carriers"];
    rules.broken_with_hint(&keys, "no such carrier", &hint);
}

fn carriers_are_told_apart(rules: &mut Rules<'_>, topology: &TopologyInput) {
    let mut seen = BTreeSet::new();
    for (index, carrier) in topology.carriers.iter().enumerate() {
        let key = format!("topology.carriers[{index}].name");
        match carrier.name.as_deref().map(str::trim) {
            None | Some("") => rules.broken(&key, "a carrier has a name, by which links call it"),
            Some(name) if !seen.insert(name) => {
                rules.broken(&key, "another carrier is called so already");
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

fn report(rules: &mut Rules<'_>, faults: Vec<Fault>) {
    for Fault { key, rule, hint } in faults {
        rules.report(&[&key], rule, hint);
    }
}
