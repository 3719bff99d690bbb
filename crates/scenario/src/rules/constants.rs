//! Rules about constants of loss recovery and limits of mechanisms for thin streams.

use super::Rules;
use crate::{BundlingStreams, ConstantsFor, TcpSettings, ThinDefinition};
use fairwind_units::Ratio;

pub(super) fn check(rules: &mut Rules<'_>, tcp: &TcpSettings, key: &str) {
    for (name, share, whole) in [
        ("reordering_window", tcp.reordering_window, "smallest round trip (RFC 8985 section 6.2)"),
        ("early_retransmit_delay", tcp.early_retransmit_delay, "smoothed round trip"),
    ] {
        if share.is_some_and(|share| share > Ratio::ONE) {
            let rule = format!("it must be between 0 % and 100 % of the {whole}");
            rules.broken(&format!("{key}.{name}"), rule);
        }
    }
    let keys = mechanisms(tcp).into_iter().chain(detections(tcp)).chain(scopes(tcp));
    for Dependent { name, is_set, has_effect, needs } in keys {
        if is_set && !has_effect {
            let rule = format!("this key has no effect; leave it out, or set {needs}");
            rules.warn(&[&format!("{key}.{name}")], rule);
        }
    }
}

/// A key that has an effect only with others.
struct Dependent {
    name: &'static str,
    is_set: bool,
    has_effect: bool,
    /// Settings with which it has one.
    needs: &'static str,
}

/// A warning, not an error, because a sweep may have the key where it has an effect. One that switches the mechanism
/// itself, off here, is no reason to warn.
fn mechanisms(tcp: &TcpSettings) -> [Dependent; 4] {
    [
        Dependent {
            name: "linear_retries",
            is_set: tcp.linear_retries.is_some(),
            has_effect: tcp.linear_timeouts.is_some(),
            needs: "linear_timeouts = true",
        },
        Dependent {
            name: "thin_duplicate_threshold",
            is_set: tcp.thin_duplicate_threshold.is_some(),
            has_effect: tcp.modified_fast_retransmit.is_some(),
            needs: "modified_fast_retransmit = true",
        },
        Dependent {
            name: "redundant_streams",
            is_set: tcp.redundant_streams.is_some(),
            has_effect: tcp.redundant_bundling.is_some(),
            needs: "redundant_bundling = true",
        },
        Dependent {
            name: "redundant_interval",
            is_set: tcp.redundant_interval.is_some(),
            has_effect: matches!(tcp.redundant_streams, None | Some(BundlingStreams::Interval)),
            needs: "redundant_streams = \"interval\"",
        },
    ]
}

fn detections(tcp: &TcpSettings) -> [Dependent; 6] {
    let by_time = tcp.finds_losses_by_time();
    let rack = |name, is_set| Dependent {
        name,
        is_set,
        has_effect: by_time,
        needs: "loss_detection = \"rack\", with sack",
    };
    let probes = |name, is_set| Dependent {
        name,
        is_set,
        has_effect: tcp.probes_tails() || tcp.tail_loss_probe.is_some(),
        needs: "tail_loss_probe = true, with sack",
    };
    [
        rack("reordering_window", tcp.reordering_window.is_some()),
        rack("reordering_window_grows", tcp.reordering_window_grows.is_some()),
        rack("rack_duplicate_threshold", tcp.rack_duplicate_threshold.is_some()),
        probes("probe_factor", tcp.probe_factor.is_some()),
        probes("probe_ack_delay", tcp.probe_ack_delay.is_some()),
        Dependent {
            name: "early_retransmit_delay",
            is_set: tcp.early_retransmit_delay.is_some(),
            has_effect: tcp.retransmits_early() || tcp.early_retransmit.is_some(),
            needs: "early_retransmit = true",
        },
    ]
}

fn scopes(tcp: &TcpSettings) -> [Dependent; 3] {
    let is_few = matches!(tcp.thin_definition, None | Some(ThinDefinition::FewOutstanding));
    let has_constants = tcp.backoff_factor.is_some()
        || tcp.probe_factor.is_some()
        || tcp.probe_ack_delay.is_some()
        || tcp.reordering_window.is_some();
    let for_thin = tcp.constants_for == Some(ConstantsFor::Thin);
    let bundles_thin = tcp.redundant_streams == Some(BundlingStreams::Thin);
    let has_mechanism = tcp.linear_timeouts.is_some()
        || tcp.modified_fast_retransmit.is_some()
        || bundles_thin && tcp.redundant_bundling.is_some()
        || for_thin && has_constants;
    [
        Dependent {
            name: "thin_segments",
            is_set: tcp.thin_segments.is_some(),
            has_effect: is_few && has_mechanism,
            needs: "thin_definition = \"few-outstanding\" and a mechanism for thin streams, such as \
                    linear_timeouts = true",
        },
        Dependent {
            name: "thin_definition",
            is_set: tcp.thin_definition.is_some(),
            has_effect: has_mechanism,
            needs: "a mechanism for thin streams, such as linear_timeouts = true",
        },
        Dependent {
            name: "constants_for",
            is_set: for_thin,
            has_effect: has_constants,
            needs: "one of backoff_factor, probe_factor, probe_ack_delay and reordering_window",
        },
    ]
}
