//! Keys of loss detection and recovery, and of mechanisms against losses in thin streams and small windows.

use super::Key;
use crate::endpoint::Endpoint;
use crate::kernel::{LINEAR_TIMEOUTS, THIN_DUPLICATES};
use fairwind_scenario::{Factor, LossDetection, ThinDefinition, Timers, WindowReduction};
use fairwind_units::{Ratio, Span};

/// The first release that repairs nothing early: RACK and probes had taken its place.
const WITHOUT_EARLY_RETRANSMIT: (u32, u32) = (4, 12);
/// The first release without a modified fast retransmit.
const WITHOUT_THIN_DUPLICATES: (u32, u32) = (4, 11);
/// The first release that always has RACK where it has SACK.
const RACK_ALWAYS: (u32, u32) = (6, 17);
/// The first release without forward acknowledgment.
const WITHOUT_FORWARD: (u32, u32) = (4, 15);
/// The first release that is more careful below the threshold.
const SAFE_REDUCTION: (u32, u32) = (5, 15);

/// The first release with a wheel of timers in the place of slack.
const TIMER_WHEEL: (u32, u32) = (4, 8);

/// The share of round trips that RACK and early retransmit wait.
const QUARTER: Ratio = Ratio::from_parts_per_billion(250_000_000);
/// The least time-out of a kernel, unless it is set.
const USUAL_LEAST_TIMEOUT: Span = Span::from_millis(200);
/// The first release whose probes allow for the least time-out that is set.
const PROBES_BY_LEAST_TIMEOUT: (u32, u32) = (6, 6);

const RECOVERY: &str = "net.ipv4.tcp_recovery";
/// Bits of it: RACK; a window that does not grow; no end of the wait by a number of segments.
const RACK: u8 = 1;
const STATIC_WINDOW: u8 = 2;
const NO_DUPLICATE_THRESHOLD: u8 = 4;

/// What parameters of `redundant_bundling` say without it.
const WITH_BUNDLES: &str = "has no effect without `redundant_bundling`, which is not available";

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "limited_transmit",
        setting: "none: always on",
        limits: "cannot be switched off",
        apply: |end| {
            let mechanism = "duplicate ACKs always let new data go out";
            let is_off = end.settings.limited_transmit == Some(false);
            end.refuse_if(is_off, mechanism, "leave the key out");
        },
    },
    Key {
        name: "modified_fast_retransmit",
        setting: "`TCP_THIN_DUPACK`, up to 4.10",
        limits: "takes early retransmit away where it is; gone since 4.11; `sack = false, \
                 duplicate_threshold = 1, tail_loss_probe = false` does the same for a stream that is \
                 always thin, and RACK (with SACK) nearly the same",
        apply: modified_fast_retransmit,
    },
    Key {
        name: "linear_timeouts",
        setting: "`TCP_THIN_LINEAR_TIMEOUTS` of every socket",
        limits: "six of them, while fewer than four segments are outstanding",
        apply: |end| {
            if end.settings.linear_timeouts == Some(true)
                && !end.option("TCP_THIN_LINEAR_TIMEOUTS", LINEAR_TIMEOUTS, 1)
            {
                let mechanism = "it has no TCP_THIN_LINEAR_TIMEOUTS";
                end.refuse(mechanism, "a kernel from 2.6.34 on");
            }
        },
    },
    Key {
        name: "linear_retries",
        setting: "none: 6",
        limits: "a constant (`TCP_THIN_LINEAR_RETRIES`): other values are not available",
        apply: |end| {
            let is_other = end.settings.linear_retries.is_some_and(|retries| retries != 6);
            let mechanism = "six time-outs of a thin stream do not back off, a constant";
            end.refuse_if(is_other, mechanism, "linear_retries = 6");
        },
    },
    Key {
        name: "thin_duplicate_threshold",
        setting: "none: 1",
        limits: "other values are not available; `duplicate_threshold` is, for all streams of the host",
        apply: |end| {
            let is_other = end.settings.thin_duplicate_threshold.is_some_and(|count| count != 1);
            let mechanism = "modified fast retransmit, where it is, needs one duplicate ACK";
            let alternative = "duplicate_threshold, which holds for all streams of the host";
            end.refuse_if(is_other, mechanism, alternative);
        },
    },
    Key {
        name: "thin_definition",
        setting: "none: `few-outstanding`",
        limits: "other definitions are not available",
        apply: |end| {
            let definition = end.settings.thin_definition;
            let is_other = definition.is_some_and(|it| it != ThinDefinition::FewOutstanding);
            let mechanism = "a stream is thin while fewer than four segments are outstanding";
            end.refuse_if(is_other, mechanism, "thin_definition = \"few-outstanding\"");
        },
    },
    Key {
        name: "thin_segments",
        setting: "none: 4",
        limits: "a constant of `tcp_stream_is_thin`: other values are not available",
        apply: |end| {
            let is_other = end.settings.thin_segments.is_some_and(|segments| segments != 4);
            let mechanism = "a stream is thin while fewer than four segments are outstanding";
            end.refuse_if(is_other, mechanism, "thin_segments = 4");
        },
    },
    Key {
        name: "backoff_factor",
        setting: "none: 2",
        limits: "other values are not available; `linear_timeouts` leaves the first six time-outs of a thin stream as \
                 they are, and `maximum_rto` bounds all from 1 s on",
        apply: |end| {
            let is_other = end.settings.backoff_factor.is_some_and(|factor| factor != Factor::TWO);
            let mechanism = "each time-out is twice the one before it";
            let alternative =
                "backoff_factor = 2, with linear_timeouts = true or a lower maximum_rto";
            end.refuse_if(is_other, mechanism, alternative);
        },
    },
    Key {
        name: "constants_for",
        setting: "none",
        limits: "the constants that it is about are the kernel's own, for all streams",
        apply: |_| {},
    },
    Key {
        name: "redundant_bundling",
        setting: "none: always off",
        limits: "not available: no released kernel bundles old data",
        apply: |end| {
            end.refuse_if(end.settings.redundant_bundling == Some(true), "old data never travels with new data there: the change that would do so was never taken up",
            "tail_loss_probe = true, which repeats the last segment after two round trips, or the \
             simulator");
        },
    },
    Key { name: "redundant_segments", setting: "none", limits: WITH_BUNDLES, apply: |_| {} },
    Key { name: "redundant_bytes", setting: "none", limits: WITH_BUNDLES, apply: |_| {} },
    Key { name: "redundant_interval", setting: "none", limits: WITH_BUNDLES, apply: |_| {} },
    Key { name: "redundant_streams", setting: "none", limits: WITH_BUNDLES, apply: |_| {} },
    Key {
        name: "smart_framing",
        setting: "none: always off",
        limits: "not available: segments are full, whatever the window",
        apply: |end| {
            end.refuse_if(end.settings.smart_framing == Some(true), "it sends full segments however small the window is",
            "mss, which makes all segments smaller, as \"362 B\" for a quarter of the usual ones; or the \
             simulator");
        },
    },
    Key {
        name: "loss_detection",
        setting: "`rack`: `tcp_recovery` 1; `rfc6675`: `tcp_recovery` 0, up to 6.16",
        limits: "since 6.17 SACK always brings RACK; `forward` is gone since 4.15",
        apply: loss_detection,
    },
    Key {
        name: "reordering_window",
        setting: "none: 25 %",
        limits: "other values are not available; `rack_duplicate_threshold` ends the wait at a number of segments, and \
                 `reordering_window_grows` keeps it from growing",
        apply: |end| {
            let is_other = end.settings.reordering_window.is_some_and(|share| share != QUARTER);
            let mechanism = "RACK waits a quarter of the smallest round trip";
            end.refuse_if(is_other, mechanism, "reordering_window = \"25 %\"");
        },
    },
    Key {
        name: "reordering_window_grows",
        setting: "`tcp_recovery`: bit 2 where it is off",
        limits: "",
        apply: recovery_bits,
    },
    Key {
        name: "rack_duplicate_threshold",
        setting: "`tcp_recovery`: bit 4 where it is off",
        limits: "",
        apply: recovery_bits,
    },
    Key {
        name: "lost_retransmission_detection",
        setting: "none: RACK finds them",
        limits: "cannot be switched off where there is SACK; with `rfc6675`, up to 6.16, it is off",
        apply: lost_retransmission_detection,
    },
    Key {
        name: "timers",
        setting: "none: `wheel` since 4.8, `slack` before",
        limits: "the others are not available; ticks are as long as the kernel was built for",
        apply: timers,
    },
    Key {
        name: "window_reduction",
        setting: "none: `proportional-safe` since 5.15, `proportional` before",
        limits: "the others are not available",
        apply: window_reduction,
    },
    Key {
        name: "tail_loss_probe",
        setting: "`tcp_early_retrans`: 3, or 0 where it is off",
        limits: "the kernel probes only with SACK",
        apply: |end| {
            if let Some(on) = end.settings.tail_loss_probe {
                end.sysctl("net.ipv4.tcp_early_retrans", 3 * u8::from(on));
            }
        },
    },
    Key {
        name: "probe_factor",
        setting: "none: 2",
        limits: "other values are not available",
        apply: |end| {
            let is_other = end.settings.probe_factor.is_some_and(|factor| factor != Factor::TWO);
            let mechanism = "a probe follows after two smoothed round trips";
            end.refuse_if(is_other, mechanism, "probe_factor = 2");
        },
    },
    Key {
        name: "probe_ack_delay",
        setting: "none: `minimum_rto`",
        limits: "only the value of `minimum_rto`, 200 ms unless set, which the kernel adds; up to 6.5 it is 200 ms",
        apply: probe_ack_delay,
    },
    Key {
        name: "early_retransmit",
        setting: "none: always off",
        limits: "gone since 4.12; RACK repairs as early",
        apply: early_retransmit,
    },
    Key {
        name: "early_retransmit_delay",
        setting: "`tcp_early_retrans` up to 4.11: 0 % is 1, 25 % is 2, or 3 with probes",
        limits: "has no effect without `early_retransmit`; with 0 % there are no probes, and other values are not available",
        apply: early_retransmit_delay,
    },
    Key {
        name: "forward_rto",
        setting: "`tcp_frto`: 2, or 0 where it is off",
        limits: "",
        apply: |end| {
            if let Some(on) = end.settings.forward_rto {
                end.sysctl("net.ipv4.tcp_frto", 2 * u8::from(on));
            }
        },
    },
    Key {
        name: "undo",
        setting: "none: always on",
        limits: "cannot be switched off; with `timestamps` off, and `duplicate_sack` off at the other \
                 end, only F-RTO detects needless reductions",
        apply: |end| {
            let mechanism = "reductions that prove needless are always taken back";
            let alternative = "timestamps = false and forward_rto = false here, and \
                               duplicate_sack = false in receiver_tcp: nothing then proves it";
            end.refuse_if(end.settings.undo == Some(false), mechanism, alternative);
        },
    },
    Key {
        name: "reordering_detection",
        setting: "off: `tcp_max_reordering` as `duplicate_threshold`; on: 300",
        limits: "off, RACK still notes that there was reordering, and waits a quarter of a round trip",
        apply: reordering_detection,
    },
    Key {
        name: "duplicate_threshold",
        setting: "`tcp_reordering`, for all streams of the host",
        limits: "1 to 300; with SACK, RACK proves a loss by time as well",
        apply: duplicate_threshold,
    },
    Key {
        name: "collapse_retransmissions",
        setting: "`tcp_retrans_collapse`",
        limits: "",
        apply: |end| {
            let on = end.settings.collapse_retransmissions;
            end.switch("net.ipv4.tcp_retrans_collapse", on);
        },
    },
];

fn modified_fast_retransmit(end: &mut Endpoint<'_>) {
    if end.settings.modified_fast_retransmit != Some(true) {
        return;
    }
    if end.kernel.version < WITHOUT_THIN_DUPLICATES {
        end.option("TCP_THIN_DUPACK", THIN_DUPLICATES, 1);
        return;
    }
    end.refuse(
        "it has had no modified fast retransmit since 4.11",
        "sack = false, duplicate_threshold = 1, tail_loss_probe = false, which repairs at the first \
         duplicate ACK whether a stream is thin or not; with SACK, RACK repairs a thin stream then \
         anyway",
    );
}

fn loss_detection(end: &mut Endpoint<'_>) {
    let version = end.kernel.version;
    match end.settings.loss_detection {
        None => {}
        Some(LossDetection::Rack) => recovery_bits(end),
        Some(LossDetection::Rfc6675) if version < RACK_ALWAYS => recovery_bits(end),
        Some(LossDetection::Rfc6675) => end.refuse(
            "since 6.17 losses are found by time (RACK) wherever there is SACK",
            "loss_detection = \"rack\", or sack = false, which counts duplicate ACKs",
        ),
        Some(LossDetection::Forward) if version < WITHOUT_FORWARD => {
            end.sysctl("net.ipv4.tcp_fack", 1_u8);
        }
        Some(LossDetection::Forward) => end.refuse(
            "it has had no forward acknowledgment since 4.15",
            "loss_detection = \"rack\", or sack = false, which counts duplicate ACKs",
        ),
    }
}

/// Several keys have a bit each in one sysctl.
fn recovery_bits(end: &mut Endpoint<'_>) {
    let settings = end.settings;
    let by_count =
        settings.loss_detection == Some(LossDetection::Rfc6675) && end.kernel.version < RACK_ALWAYS;
    let mut bits = if by_count { 0 } else { RACK };
    for (is_off, bit) in [
        (settings.reordering_window_grows == Some(false), STATIC_WINDOW),
        (settings.rack_duplicate_threshold == Some(false), NO_DUPLICATE_THRESHOLD),
    ] {
        bits |= if is_off { bit } else { 0 };
    }
    let is_set = settings.loss_detection.is_some()
        || settings.reordering_window_grows.is_some()
        || settings.rack_duplicate_threshold.is_some();
    if is_set {
        end.sysctl(RECOVERY, bits);
    }
}

fn probe_ack_delay(end: &mut Endpoint<'_>) {
    let Some(wanted) = end.settings.probe_ack_delay else { return };
    let has_rule = end.kernel.version >= PROBES_BY_LEAST_TIMEOUT;
    let least = end.settings.minimum_rto.filter(|_| has_rule).unwrap_or(USUAL_LEAST_TIMEOUT);
    let mechanism = format!("a probe of one segment waits {least} more, its least time-out");
    let alternative = if has_rule {
        format!("minimum_rto = \"{wanted}\" as well, or probe_ack_delay = \"{least}\"")
    } else {
        format!("probe_ack_delay = \"{least}\"")
    };
    end.refuse_if(wanted != least, &mechanism, &alternative);
}

fn early_retransmit_delay(end: &mut Endpoint<'_>) {
    let has_effect = end.settings.early_retransmit == Some(true)
        && end.kernel.version < WITHOUT_EARLY_RETRANSMIT;
    let Some(wanted) = end.settings.early_retransmit_delay.filter(|_| has_effect) else { return };
    match wanted {
        QUARTER => {}
        Ratio::ZERO if end.settings.tail_loss_probe == Some(false) => {
            end.sysctl("net.ipv4.tcp_early_retrans", 1_u8);
        }
        Ratio::ZERO => {
            let mechanism = "early retransmit without a delay excludes tail loss probes";
            end.refuse(mechanism, "tail_loss_probe = false, or early_retransmit_delay = \"25 %\"");
        }
        _ => {
            let mechanism = "early retransmit waits a quarter of a round trip, or not at all";
            end.refuse(mechanism, "early_retransmit_delay = \"25 %\" or \"0 %\"");
        }
    }
}

fn lost_retransmission_detection(end: &mut Endpoint<'_>) {
    if end.settings.sack == Some(false) {
        // As in the simulator the key then says nothing.
        return;
    }
    let by_count = end.settings.loss_detection == Some(LossDetection::Rfc6675)
        && end.kernel.version < RACK_ALWAYS;
    let (mechanism, alternative) = match (end.settings.lost_retransmission_detection, by_count) {
        (Some(false), false) => (
            "RACK detects every loss by time, that of a retransmission as well",
            "leave the key out, or sack = false",
        ),
        (Some(true), true) => (
            "without RACK a retransmission that is lost is found by its time-out only",
            "loss_detection = \"rack\", or leave the key out",
        ),
        _ => return,
    };
    end.refuse(mechanism, alternative);
}

fn timers(end: &mut Endpoint<'_>) {
    let is_wheel = end.kernel.version >= TIMER_WHEEL;
    let (there, mechanism) = if is_wheel {
        (Timers::Wheel, "timers expire at the ticks of a wheel, always")
    } else {
        (Timers::Slack, "timers expire at ticks, with slack, always")
    };
    let is_other = end.settings.timers.is_some_and(|wanted| wanted != there);
    end.refuse_if(is_other, mechanism, "leave the key out");
}

fn window_reduction(end: &mut Endpoint<'_>) {
    let there = if end.kernel.version < SAFE_REDUCTION {
        WindowReduction::Proportional
    } else {
        WindowReduction::ProportionalSafe
    };
    let is_other = end.settings.window_reduction.is_some_and(|wanted| wanted != there);
    let mechanism = "the window comes down in proportion to what is delivered, always";
    end.refuse_if(is_other, mechanism, "leave the key out");
}

fn early_retransmit(end: &mut Endpoint<'_>) {
    if end.settings.early_retransmit != Some(true) {
        return;
    }
    if end.kernel.version < WITHOUT_EARLY_RETRANSMIT {
        // 3 has both it and tail loss probes, 2 only it.
        let probes = end.settings.tail_loss_probe.unwrap_or(true);
        end.sysctl("net.ipv4.tcp_early_retrans", 2 + u8::from(probes));
        return;
    }
    end.refuse(
        "it has had no early retransmit since 4.12",
        "loss_detection = \"rack\", which repairs after a quarter of a round trip however few \
         segments are outstanding",
    );
}

fn reordering_detection(end: &mut Endpoint<'_>) {
    match end.settings.reordering_detection {
        None => {}
        Some(true) => end.sysctl("net.ipv4.tcp_max_reordering", 300_u32),
        Some(false) => {
            let threshold = end.settings.duplicate_threshold.unwrap_or(3);
            end.sysctl("net.ipv4.tcp_max_reordering", threshold);
        }
    }
}

fn duplicate_threshold(end: &mut Endpoint<'_>) {
    match end.settings.duplicate_threshold {
        None => {}
        Some(threshold @ 1..=300) => {
            end.sysctl("net.ipv4.tcp_reordering", threshold);
        }
        Some(_) => {
            let mechanism = "net.ipv4.tcp_reordering takes 1 to 300";
            end.refuse(mechanism, "duplicate_threshold = 300");
        }
    }
}
