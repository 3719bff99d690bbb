//! Rules about groups of flows: where they run, when, and what they write.

mod ends;

use super::Rules;
use crate::input::ScenarioInput;
use crate::{Distribution, IpVersion, TIMESTAMP_BYTES, Varying, WorkloadInput};
use fairwind_units::{ByteCount, Span};

pub(super) fn check(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize) {
    let key = format!("flows[{index}]");
    ends::check(rules, input, index);
    times(rules, input, index);
    match input.flows[index].workload {
        WorkloadInput::Thin { payload, packet, interval } => {
            message(rules, input, index, payload, packet);
            varies(rules, &format!("{key}.workload.interval"), &interval, Span::from_nanos(1));
        }
        WorkloadInput::Greedy { volume } => {
            if volume == Some(ByteCount::ZERO) {
                rules.broken(&format!("{key}.workload.volume"), "there is nothing to send");
            }
        }
        WorkloadInput::RequestResponse { request, response, think_time, pause, .. } => {
            for (name, size) in [("request", request), ("response", response)] {
                varies(rules, &format!("{key}.workload.{name}"), &size, ByteCount::new(1));
            }
            for (name, time) in [("think_time", think_time), ("pause", pause)] {
                let key = format!("{key}.workload.{name}");
                if let Some(time) = time {
                    varies(rules, &key, &time, Span::ZERO);
                }
            }
        }
    }
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

fn message(
    rules: &mut Rules<'_>,
    input: &ScenarioInput,
    index: usize,
    payload: Option<Varying<ByteCount>>,
    packet: Option<Varying<ByteCount>>,
) {
    let payload_key = format!("flows[{index}].workload.payload");
    let packet_key = format!("flows[{index}].workload.packet");
    match (payload, packet) {
        (Some(_), Some(_)) => rules.broken_with_hint(
            &[&packet_key],
            "there is a payload already",
            "write payload (what the application writes) or packet (with headers), not both",
        ),
        (None, None) => rules.broken_with_hint(
            &[&payload_key],
            "missing, but it is needed",
            "payload is what the application writes; packet, instead, includes the headers",
        ),
        (Some(payload), None) => varies(rules, &payload_key, &payload, ByteCount::new(1)),
        (None, Some(packet)) => packet_is_possible(rules, input, index, &packet_key, &packet),
    }
}

/// A packet has room for its headers and one byte, and is no larger than the MTU.
fn packet_is_possible(
    rules: &mut Rules<'_>,
    input: &ScenarioInput,
    index: usize,
    key: &str,
    packet: &Varying<ByteCount>,
) {
    let group = &input.flows[index];
    let ends = [Some(&group.tcp), group.receiver_tcp.as_ref()];
    let timestamps = ends.into_iter().flatten().all(|tcp| tcp.timestamps != Some(false));
    let version = ip_version(input);
    let headers = version.header_bytes() + if timestamps { TIMESTAMP_BYTES } else { 0 };
    if packet.smallest_or_mean() <= ByteCount::new(headers) {
        let with = if timestamps { "with timestamps" } else { "without timestamps" };
        let rule = format!("the headers alone have {headers} B {with}");
        rules.report(&[key, &format!("flows[{index}].tcp.timestamps")], rule, None);
        return;
    }
    let (mtu, mtu_key) = mtu(input);
    if packet.largest().is_some_and(|largest| largest > mtu) {
        rules.report(&[key, mtu_key], format!("no packet is larger than the MTU, {mtu}"), None);
    }
    varies(rules, key, packet, ByteCount::new(1));
}

/// A quantity is `least` or more, and its distribution is possible.
fn varies<T: Copy + Ord + std::fmt::Display>(
    rules: &mut Rules<'_>,
    key: &str,
    varying: &Varying<T>,
    least: T,
) {
    match *varying {
        Varying::Constant(value) if value < least => {
            rules.broken(key, format!("it must be {least} or more"));
        }
        Varying::Drawn(Distribution::Uniform { min, max }) => {
            let (min_key, max_key) = (format!("{key}.min"), format!("{key}.max"));
            if max < min {
                rules.report(&[&max_key, &min_key], format!("it must be {min} or more"), None);
            } else if max < least {
                rules.broken(&max_key, format!("it must be {least} or more"));
            }
        }
        Varying::Drawn(Distribution::Normal { mean, .. } | Distribution::Exponential { mean })
            if mean < least =>
        {
            rules.broken(&format!("{key}.mean"), format!("it must be {least} or more"));
        }
        _ => {}
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
