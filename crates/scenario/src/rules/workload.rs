//! Rules about what a group's applications write, and about quantities that vary: their distribution is possible, and
//! draws are large enough.

use super::Rules;
use super::network::rate_is_positive;
use crate::input::ScenarioInput;
use crate::{
    Distribution, Quantile, RecordedWrite, TIMESTAMP_BYTES, Transport, Varying, WebPages,
    WorkloadInput,
};
use fairwind_units::{ByteCount, Ratio, Span};
use std::fmt::Display;

pub(super) fn check(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize) {
    if input.flows[index].workload.transport() == Transport::Udp {
        datagrams(rules, input, index);
    }
    let key = format!("flows[{index}].workload");
    match &input.flows[index].workload {
        WorkloadInput::Thin { payload, packet, interval, transport: _ } => {
            message(rules, input, index, payload.as_ref(), packet.as_ref());
            varies(rules, &format!("{key}.interval"), interval, Span::from_nanos(1));
        }
        WorkloadInput::Profile { application, transport } => {
            if application.is_greedy() && *transport == Transport::Udp {
                let hint = "use the workload constant, which has a rate";
                let rule = "a greedy stream has no rate, so only TCP can carry it";
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
        WorkloadInput::OnOff { .. } => on_off(rules, &key, &input.flows[index].workload),
        WorkloadInput::Web(pages) => web(rules, &key, pages),
        WorkloadInput::Transfers { .. } => transfers(rules, input, index),
        WorkloadInput::Constant { rate, payload, packet, transport: _ } => {
            rate_is_positive(rules, &format!("{key}.rate"), Some(*rate));
            let constant = |size: &Option<ByteCount>| size.map(Varying::Constant);
            let (payload, packet) = (constant(payload), constant(packet));
            message(rules, input, index, payload.as_ref(), packet.as_ref());
        }
        WorkloadInput::Replay { file, connection, writes, transport: _ } => {
            if file.is_none() && connection.is_some() {
                let rule = "only a capture has connections, and there is no file";
                rules.broken(&format!("{key}.connection"), rule);
            }
            let file = file.as_deref().map(|file| (file, connection.as_deref()));
            replay(rules, &key, file, writes.as_deref());
        }
        WorkloadInput::Relay { .. } => {}
    }
}

/// Datagrams have no connection, and captures are of connections.
fn datagrams(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize) {
    for end in ["tcp", "receiver_tcp"] {
        let key = format!("flows[{index}].{end}");
        if rules.is_written(&key) {
            rules.warn(&[&key], "it changes nothing: the group sends datagrams");
        }
    }
    let name = &input.flows[index].name;
    let named = input
        .capture
        .as_ref()
        .is_some_and(|capture| capture.groups.as_ref().is_none_or(|groups| groups.contains(name)));
    if named {
        let rule = format!("packets of the group \"{name}\" are not captured: they are datagrams");
        rules.warn(&["capture"], rule);
    }
}

/// Bursts and silences are at least this long, so that there are not more of them than packets.
const SHORTEST: Span = Span::from_micros(1);

fn on_off(rules: &mut Rules<'_>, key: &str, workload: &WorkloadInput) {
    let WorkloadInput::OnOff { on, volume, off, rate, message } = workload else { return };
    let (on_key, volume_key) = (format!("{key}.on"), format!("{key}.volume"));
    match (on, volume) {
        (Some(_), Some(_)) => rules.broken_with_hint(
            &[&volume_key],
            "the duration of a burst is set already",
            "set on (duration of a burst) or volume (bytes of a burst), not both",
        ),
        (None, None) => rules.broken_with_hint(
            &[&on_key],
            "missing; it is required",
            "set on (duration of a burst) or volume (bytes of a burst)",
        ),
        (Some(time), None) => varies(rules, &on_key, time, SHORTEST),
        (None, Some(volume)) => varies(rules, &volume_key, volume, ByteCount::new(1)),
    }
    varies(rules, &format!("{key}.off"), off, SHORTEST);
    rate_is_positive(rules, &format!("{key}.rate"), *rate);
    let message_key = format!("{key}.message");
    if *message == Some(ByteCount::ZERO) {
        rules.broken(&message_key, "it must be 1 B or more");
    } else if message.is_some() && rate.is_none() {
        let hint = "give a rate, or leave the message out";
        rules.broken_with_hint(&[&message_key], "a greedy burst has no messages", hint);
    }
}

fn web(rules: &mut Rules<'_>, key: &str, pages: &WebPages) {
    let sizes = [
        ("request", &pages.request),
        ("main_object", &pages.main_object),
        ("embedded_object", &pages.embedded_object),
    ];
    for (name, size) in sizes {
        varies(rules, &format!("{key}.{name}"), size, ByteCount::new(1));
    }
    varies(rules, &format!("{key}.embedded_objects"), &pages.embedded_objects, 0);
    for (name, time) in
        [("parsing_time", &pages.parsing_time), ("reading_time", &pages.reading_time)]
    {
        varies(rules, &format!("{key}.{name}"), time, Span::ZERO);
    }
}

/// Largest number of connections of a group, consecutive and parallel.
const MOST_CONNECTIONS: u64 = 1_000_000;

fn transfers(rules: &mut Rules<'_>, input: &ScenarioInput, index: usize) {
    let group = &input.flows[index];
    let key = format!("flows[{index}].workload");
    let WorkloadInput::Transfers { volume, transfers, pause, request, ack_delay: _ } =
        &group.workload
    else {
        return;
    };
    varies(rules, &format!("{key}.volume"), volume, ByteCount::new(1));
    if let Some(pause) = pause {
        varies(rules, &format!("{key}.pause"), pause, Span::ZERO);
    }
    if let Some(request) = request {
        varies(rules, &format!("{key}.request"), request, ByteCount::new(1));
    }
    let connections = u64::from(group.count) * u64::from(*transfers);
    if connections > MOST_CONNECTIONS {
        let rule = format!(
            "{} callers with {transfers} transfers each are {connections} connections, and there may be \
             {MOST_CONNECTIONS}",
            group.count
        );
        rules.report(&[&format!("{key}.transfers"), &format!("flows[{index}].count")], rule, None);
    }
}

/// Of a file, its name and the connection that is asked for.
type Recording<'f> = (&'f str, Option<&'f str>);

fn replay(
    rules: &mut Rules<'_>,
    key: &str,
    file: Option<Recording<'_>>,
    writes: Option<&[RecordedWrite]>,
) {
    let (file_key, writes_key) = (format!("{key}.file"), format!("{key}.writes"));
    match (file, writes) {
        (Some(_), Some(_)) => rules.broken_with_hint(
            &[&writes_key],
            "file is set already",
            "write file (a file with the writes) or writes (the writes themselves), not both",
        ),
        (None, None) => rules.broken_with_hint(
            &[&file_key],
            "missing; it is required",
            "file is a file with the writes; writes, instead, has them in the scenario",
        ),
        (Some((file, connection)), None) => {
            if rules.recordings.writes(file, connection).is_none() {
                rules.broken(&file_key, "this file was not read");
            }
        }
        (None, Some(writes)) => are_writes(rules, &writes_key, writes),
    }
}

fn are_writes(rules: &mut Rules<'_>, key: &str, writes: &[RecordedWrite]) {
    if writes.is_empty() {
        rules.broken(key, "there is nothing to write");
    }
    for (index, write) in writes.iter().enumerate() {
        if write.size == ByteCount::ZERO {
            rules.broken(&format!("{key}[{index}].size"), "it must be 1 B or more");
        }
    }
    for (index, pair) in writes.windows(2).enumerate() {
        if pair[1].at < pair[0].at {
            let rule = format!("it must not be earlier than the previous write, {}", pair[0].at);
            rules.broken(&format!("{key}[{}].at", index + 1), rule);
        }
    }
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
            "payload is set already",
            "write payload (what the application writes) or packet (with headers), not both",
        ),
        (None, None) => rules.broken_with_hint(
            &[&payload_key],
            "missing; it is required",
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
    let version = input.ip_version();
    let (headers, with) = if group.workload.transport() == Transport::Udp {
        (version.datagram_header_bytes(), "")
    } else {
        let ends = [Some(&group.tcp), group.receiver_tcp.as_ref()];
        let has_timestamps = ends.into_iter().flatten().all(|tcp| tcp.timestamps != Some(false));
        let options = if has_timestamps { TIMESTAMP_BYTES } else { 0 };
        let with = if has_timestamps { " with timestamps" } else { " without timestamps" };
        (version.header_bytes() + options, with)
    };
    let least = packet.smallest_or_mean();
    if least.is_some_and(|least| least <= ByteCount::new(headers)) {
        let rule = format!("the headers alone have {headers} B{with}");
        rules.report(&[key, &format!("flows[{index}].tcp.timestamps")], rule, None);
        return;
    }
    let (mtu, mtu_key) = input.mtu();
    if packet.largest().is_some_and(|largest| largest > mtu) {
        rules.report(&[key, mtu_key], format!("it must not exceed the MTU, {mtu}"), None);
    }
    varies(rules, key, packet, ByteCount::new(1));
}

/// A quantity that is drawn as a number.
trait Number: Copy + Ord + Display {
    /// The number, in the unit that it is drawn in.
    fn number(self) -> u64;
    /// The quantity of this number.
    fn of(number: u64) -> Self;
}

impl Number for ByteCount {
    fn number(self) -> u64 {
        self.get()
    }
    fn of(number: u64) -> Self {
        Self::new(number)
    }
}

impl Number for Span {
    fn number(self) -> u64 {
        self.as_nanos()
    }
    fn of(number: u64) -> Self {
        Self::from_nanos(number)
    }
}

impl Number for u32 {
    fn number(self) -> u64 {
        self.into()
    }
    fn of(number: u64) -> Self {
        Self::try_from(number).unwrap_or(Self::MAX)
    }
}

/// A quantity is `least` or more, and its distribution is possible.
fn varies<T: Number>(rules: &mut Rules<'_>, key: &str, varying: &Varying<T>, least: T) {
    let distribution = match varying {
        Varying::Constant(value) => return at_least(rules, key, *value, least),
        Varying::Drawn(distribution) => distribution,
    };
    let (min_key, max_key) = (format!("{key}.min"), format!("{key}.max"));
    match distribution {
        Distribution::Uniform { min, max } => {
            if in_order(rules, (&min_key, *min), (&max_key, *max)) {
                at_least(rules, &max_key, *max, least);
            }
        }
        Distribution::Normal { mean, .. } | Distribution::Exponential { mean } => {
            at_least(rules, &format!("{key}.mean"), *mean, least);
        }
        Distribution::Pareto { min, .. } => is_positive(rules, &min_key, *min),
        Distribution::BoundedPareto { min, max, .. } => {
            is_positive(rules, &min_key, *min);
            in_order(rules, (&min_key, *min), (&max_key, *max));
        }
        Distribution::Lognormal { mean, min, max, .. } => {
            is_positive(rules, &format!("{key}.mean"), *mean);
            let is_in_order = match (min, max) {
                (Some(min), Some(max)) => in_order(rules, (&min_key, *min), (&max_key, *max)),
                _ => true,
            };
            if let Some(max) = max.filter(|_| is_in_order) {
                at_least(rules, &max_key, max, least);
            }
        }
        Distribution::Empirical { quantiles, mean } => {
            let quantiles_key = format!("{key}.quantiles");
            if !rise(rules, &quantiles_key, quantiles) {
                return;
            }
            if let Some(mean) = mean {
                mean_is_possible(rules, key, quantiles, *mean);
            }
            // Smaller draws are made the least one; not all of them may be.
            if let Some((index, largest)) = quantiles.iter().enumerate().next_back() {
                at_least(rules, &format!("{quantiles_key}[{index}].value"), largest.value, least);
            }
        }
    }
}

fn at_least<T: Number>(rules: &mut Rules<'_>, key: &str, value: T, least: T) {
    if value < least {
        rules.broken(key, format!("it must be {least} or more"));
    }
}

fn is_positive<T: Number>(rules: &mut Rules<'_>, key: &str, value: T) {
    if value.number() == 0 {
        rules.broken(key, "it must be above zero");
    }
}

/// Whether the greatest value is no less than the least.
fn in_order<T: Number>(rules: &mut Rules<'_>, min: (&str, T), max: (&str, T)) -> bool {
    if max.1 < min.1 {
        rules.report(&[max.0, min.0], format!("it must be {} or more", min.1), None);
    }
    max.1 >= min.1
}

/// Whether quantiles go from the smallest value to the largest.
fn rise<T: Number>(rules: &mut Rules<'_>, key: &str, quantiles: &[Quantile<T>]) -> bool {
    let ends = [quantiles.first(), quantiles.last()].map(|end| end.map(|end| end.share));
    if quantiles.len() < 2 || ends != [Some(Ratio::ZERO), Some(Ratio::ONE)] {
        let hint = "the smallest value has the share \"0 %\", the largest \"100 %\"";
        let rule = "quantiles go from the smallest value to the largest";
        rules.broken_with_hint(&[key], rule, hint);
        return false;
    }
    for (index, pair) in quantiles.windows(2).enumerate() {
        let item = format!("{key}[{}]", index + 1);
        if pair[1].share <= pair[0].share {
            let rule = format!("it must be above the previous share, {}", pair[0].share);
            rules.broken(&format!("{item}.share"), rule);
            return false;
        }
        if pair[1].value < pair[0].value {
            let rule = format!("it must not be less than the previous value, {}", pair[0].value);
            rules.broken(&format!("{item}.value"), rule);
            return false;
        }
    }
    true
}

/// The mean lies between those of the two extremes: all draws as small, or as large, as the quantiles
/// allow.
fn mean_is_possible<T: Number>(
    rules: &mut Rules<'_>,
    key: &str,
    quantiles: &[Quantile<T>],
    mean: T,
) {
    let billion = u128::from(Ratio::ONE.as_parts_per_billion());
    let (mut smallest, mut largest) = (0, 0);
    for pair in quantiles.windows(2) {
        let share =
            u128::from(pair[1].share.as_parts_per_billion() - pair[0].share.as_parts_per_billion());
        smallest += share * u128::from(pair[0].value.number());
        largest += share * u128::from(pair[1].value.number());
    }
    let whole = u128::from(mean.number()) * billion;
    let is_possible = smallest < whole && whole < largest || smallest == whole && whole == largest;
    if !is_possible {
        let quantity = |number| T::of(u64::try_from(number).unwrap_or(u64::MAX));
        let rule = format!(
            "with these quantiles the mean lies between {} and {}",
            quantity(smallest / billion),
            quantity(largest.div_ceil(billion)),
        );
        rules.report(&[&format!("{key}.mean"), &format!("{key}.quantiles")], rule, None);
    }
}
