//! Rules about groups of flows: where they run, when, and what they write.

mod ends;
mod relay;
mod varies;
mod workload;

use super::Rules;
use crate::IpVersion;
use crate::input::ScenarioInput;
use fairwind_units::ByteCount;

pub(super) fn check(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize) {
    ends::check(rules, input, index);
    times(rules, input, index);
    workload::check(rules, input, index);
}

fn times(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize) {
    let group = &input.flows[index];
    let start = format!("flows[{index}].start");
    let spread = format!("flows[{index}].start_spread");
    let stop = format!("flows[{index}].stop");
    if group.start >= input.duration {
        let rule = format!("the experiment is over then: it lasts {}", input.duration);
        rules.report(&[&start, "duration"], rule, None);
    } else if group.start + group.start_spread > input.duration {
        let rule = format!("some flows would start after the end: it lasts {}", input.duration);
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

/// The Internet Protocol of all packets.
pub(super) fn ip_version(input: &ScenarioInput) -> IpVersion {
    let path = input.path.as_ref().map(|path| path.ip_version);
    path.or(input.topology.as_ref().map(|topology| topology.ip_version)).unwrap_or_default()
}

/// The largest IP packet, and where it is written.
pub(super) fn mtu(input: &ScenarioInput) -> (ByteCount, &'static str) {
    match (&input.path, &input.topology) {
        (Some(path), _) => (path.mtu, "path.mtu"),
        (None, Some(topology)) => (topology.mtu, "topology.mtu"),
        (None, None) => (ByteCount::new(65_535), "path"),
    }
}
