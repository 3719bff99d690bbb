//! Rules about what a group's applications write.

use super::varies::varies;
use super::{ip_version, mtu};
use crate::input::ScenarioInput;
use crate::rules::Rules;
use crate::{TIMESTAMP_BYTES, Transport, Varying, WorkloadInput};
use fairwind_units::{ByteCount, Span};

pub(super) fn check(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize) {
    let key = format!("flows[{index}].workload");
    match &input.flows[index].workload {
        WorkloadInput::Thin { payload, packet, interval, transport } => {
            carried(rules, &key, *transport);
            message(rules, input, index, payload.as_ref(), packet.as_ref());
            interval_varies(rules, &format!("{key}.interval"), interval);
        }
        WorkloadInput::Profile { application, transport } => {
            carried(rules, &key, *transport);
            if application.is_greedy() && *transport == Transport::Udp {
                let hint = "use the workload constant, which has a rate";
                let rule = "a greedy stream has no rate of its own, so only TCP can carry it";
                rules.broken_with_hint(&[&format!("{key}.transport")], rule, hint);
            }
        }
        WorkloadInput::Greedy { volume } => {
            if *volume == Some(ByteCount::ZERO) {
                rules.broken(&format!("{key}.volume"), "there is nothing to send");
            }
        }
        WorkloadInput::RequestResponse { request, response, think_time, pause, .. } => {
            for (name, size) in [("request", request), ("response", response)] {
                varies(rules, &format!("{key}.{name}"), size, ByteCount::new(1));
            }
            for (name, time) in [("think_time", think_time), ("pause", pause)] {
                if let Some(time) = time {
                    varies(rules, &format!("{key}.{name}"), time, Span::ZERO);
                }
            }
        }
    }
}

fn carried(rules: &mut Rules<'_>, key: &str, transport: Transport) {
    if transport == Transport::Udp {
        rules.broken(&format!("{key}.transport"), "no engine sends datagrams yet");
    }
}

/// Time passes between writes; in a table of quantiles it may be too short for the table.
fn interval_varies(rules: &mut Rules<'_>, key: &str, interval: &Varying<Span>) {
    varies(rules, key, interval, Span::from_nanos(1));
}

fn message(
    rules: &mut Rules<'_>,
    input: &ScenarioInput,
    index: usize,
    payload: Option<&Varying<ByteCount>>,
    packet: Option<&Varying<ByteCount>>,
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
        (Some(payload), None) => varies(rules, &payload_key, payload, ByteCount::new(1)),
        (None, Some(packet)) => packet_is_possible(rules, input, index, &packet_key, packet),
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
    let least = packet.smallest_or_mean();
    if least.is_some_and(|least| least <= ByteCount::new(headers)) {
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
