//! Rules about a dumbbell, and about queues and links anywhere.

use super::Rules;
use super::queue;
use crate::input::PathInput;
use crate::queue::{Fault, Scale};
use crate::{ImpairmentsInput, IpVersion, RateTraceInput};
use fairwind_units::{BitRate, ByteCount, Ratio};

/// Room for the IPv4 header, the longest TCP header (60 bytes, RFC 9293 section 3.1) and one byte;
/// and what a length of 16 bits can say (RFC 791 section 3.1).
const MTU_BOUNDS: std::ops::RangeInclusive<u64> = 81..=65_535;

pub(super) fn check(rules: &mut Rules<'_>, path: &PathInput) {
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
        queue::check(rules, &path.queue, scale(path.rate), "path.queue");
        queue::check(rules, &path.reverse_queue, scale(reverse_rate), "path.reverse_queue");
    }
    trace_is_possible(rules, "path.rate_trace", path.rate_trace.as_ref());
    impairments_are_possible(rules, "path.impairments", path.impairments.as_ref());
    impairments_are_possible(rules, "path.reverse_impairments", path.reverse_impairments.as_ref());
    delay_is_described_once(rules, path);
}

fn rate_is_known(rules: &mut Rules<'_>, path: &PathInput) {
    // Of a trace it is told elsewhere what is wrong with it.
    if path.bottleneck_rate().is_none() && path.rate_trace.is_none() {
        let hint = "the rate of the bottleneck; only a queue that shapes or a recorded rate makes it needless";
        rules.broken_with_hint(&["path.rate", "path.queue"], "missing, but it is needed", hint);
    }
}

fn delay_is_described_once(rules: &mut Rules<'_>, path: &PathInput) {
    let hint = "write rtt, or else forward_delay and reverse_delay";
    match (path.rtt, path.forward_delay, path.reverse_delay) {
        (Some(_), Some(_), _) => {
            rules.broken_with_hint(&["path.forward_delay"], "there is an rtt already", hint);
        }
        (Some(_), None, Some(_)) => {
            rules.broken_with_hint(&["path.reverse_delay"], "there is an rtt already", hint);
        }
        (None, None, None) => {
            rules.broken_with_hint(&["path.rtt"], "missing, but it is needed", hint);
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
        rules.broken(key, "nothing would pass at a rate of zero");
    }
}

pub(super) fn loss_is_a_share(rules: &mut Rules<'_>, key: &str, loss: Ratio) {
    if loss > Ratio::ONE {
        rules.broken(key, "no more than 100 % can be lost");
    }
}

/// RFC 8200 section 5 asks every link for this much.
const LEAST_IPV6_MTU: ByteCount = ByteCount::new(1280);

/// Whether packets of the network at `key` (`path` or `topology`) may be as large, and no larger.
pub(super) fn mtu_is_possible(
    rules: &mut Rules<'_>,
    key: &str,
    mtu: ByteCount,
    ip_version: IpVersion,
) {
    let (mtu_key, version_key) = (format!("{key}.mtu"), format!("{key}.ip_version"));
    if !MTU_BOUNDS.contains(&mtu.get()) {
        let rule = "a TCP segment needs between 81 B (headers with all options) and 65535 B";
        rules.broken(&mtu_key, rule);
    } else if ip_version == IpVersion::V6 && mtu < LEAST_IPV6_MTU {
        let rule = "IPv6 needs 1280 B or more (RFC 8200 section 5)".to_owned();
        rules.report(&[&mtu_key, &version_key], rule, None);
    }
}

pub(super) fn trace_is_possible(rules: &mut Rules<'_>, key: &str, trace: Option<&RateTraceInput>) {
    let resolved = trace.map(|trace| trace.resolve(rules.recordings, key));
    report(rules, resolved.and_then(Result::err).as_slice());
}

pub(super) fn impairments_are_possible(
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

pub(super) fn overhead_is_small(rules: &mut Rules<'_>, key: &str, overhead: ByteCount) {
    if overhead > ByteCount::new(65_535) {
        rules.broken(key, "the framing of a packet is at most 65535 B");
    }
}
