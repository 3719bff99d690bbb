//! Rules about groups that pass on what others bring.

use crate::error::nearest;
use crate::input::{FlowsInput, ScenarioInput};
use crate::rules::Rules;
use crate::rules::flows::mtu;
use crate::{Transport, WorkloadInput};
use fairwind_units::ByteCount;

pub(super) fn check(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize) {
    let WorkloadInput::Relay { of, buffer } = &input.flows[index].workload else { return };
    if *buffer == ByteCount::ZERO {
        let hint = "256 KiB is a beginning; as much as the round trip takes keeps a path full";
        let key = format!("flows[{index}].workload.buffer");
        rules.broken_with_hint(&[&key], "it passes on what it has room for: 1 B or more", hint);
    }
    let (packet, _) = mtu(input);
    if (ByteCount::new(1)..packet).contains(buffer) {
        let key = format!("flows[{index}].workload.buffer");
        let rule = format!(
            "a packet brings up to {packet}: what has no room waits for what is passed on in small parts"
        );
        rules.warn(&[&key], rule);
    }
    times(rules, index);
    if input.path.is_some() {
        let hint = "describe the network by [topology], with a host between two links";
        let rule =
            "a path gives every group its own hosts, and a relay is where another group ends";
        rules.broken_with_hint(&[&format!("flows[{index}].workload"), "path"], rule, hint);
        return;
    }
    let key = format!("flows[{index}].workload.of");
    let Some(relayed) = input.flows.iter().position(|group| group.name == *of) else {
        let names = || input.flows.iter().map(|group| group.name.as_str());
        let all = || format!("there are {}", names().collect::<Vec<_>>().join(", "));
        let hint = nearest(of, names()).map_or_else(all, |it| format!("did you mean \"{it}\"?"));
        rules.broken_with_hint(&[&key, "flows"], "no such group", &hint);
        return;
    };
    if !is_in_a_circle(rules, input, index, &key) {
        pair(rules, input, (index, relayed), &key);
    }
}

/// A relay begins and ends with what it relays.
fn times(rules: &mut Rules<'_>, index: usize) {
    for name in ["start", "start_spread", "start_pattern", "stop"] {
        let key = format!("flows[{index}].{name}");
        if rules.is_written(&key) {
            let hint = "leave it out, or give it to the group that it relays";
            let rule = "a relay begins when a connection comes, and stops when that is closed";
            rules.broken_with_hint(&[&key], rule, hint);
        }
    }
}

/// The place of the group whose data `group` passes on.
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
                2 => "a relay passes on what another group brings, not its own".to_owned(),
                _ => format!("a circle: {}; nobody begins", names.join(" relays ")),
            };
            if first == index {
                rules.report(&[key], rule, None);
            }
            return true;
        }
    }
    // The circle is among others, of which it is told.
    true
}

/// The two groups fit together, connection by connection.
fn pair(rules: &mut Rules<'_>, input: &ScenarioInput, (index, relayed): (usize, usize), key: &str) {
    let (group, first) = (&input.flows[index], &input.flows[relayed]);
    if first.workload.transport() == Transport::Udp {
        rules.broken(key, format!("\"{}\" sends datagrams; a relay joins connections", first.name));
    }
    if first.workload.is_answered() {
        let hint = "two groups with volumes, one each way, stand for requests and responses";
        let rule = format!("\"{}\" has data both ways; a relay passes on one way only", first.name);
        rules.broken_with_hint(&[key], rule, hint);
    }
    if first.count != group.count {
        let count = format!("flows[{index}].count");
        let rule = format!(
            "each connection relays one of \"{}\", so there are as many: {}",
            first.name, first.count
        );
        rules.report(&[&count, &format!("flows[{relayed}].count")], rule, None);
    }
    if let (Some(from), Some(to)) = (&group.from, &first.to)
        && from != to
    {
        let from = format!("flows[{index}].from");
        let rule = format!("a relay is where its data comes to: \"{}\" goes to {to}", first.name);
        rules.report(&[&from, &format!("flows[{relayed}].to")], rule, None);
    }
    let same = |other: &FlowsInput| matches!(&other.workload, WorkloadInput::Relay { of, .. } if *of == first.name);
    if let Some(earlier) = input.flows[..index].iter().find(|other| same(other)) {
        let rule = format!("\"{}\" relays it already", earlier.name);
        rules.report(&[key], rule, None);
    }
}
