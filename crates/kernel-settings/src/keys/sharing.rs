//! What the running kernel remembers of its connections.

use super::{Key, bit};
use crate::endpoint::Endpoint;
use fairwind_scenario::{
    Collection as Collected, SharedOpenings, Sharing, SharingPolicy, Trust as Trusted,
};
use fairwind_windows::{self as windows, Beginning, Collection, Trust, WindowOptions};

/// The kernel's own metrics are switched off in runs, unless they are asked for.
const NO_METRICS: &str = "net.ipv4.tcp_no_metrics_save";
/// Whether the threshold is left out of them.
const NO_THRESHOLD: &str = "net.ipv4.tcp_no_ssthresh_metrics_save";
/// What can be had in the place of what cannot.
const NEAREST: &str = "policy = \"classic\", \"tcp-metrics\" or \"off\", or the simulator";

pub(super) const KEYS: &[Key] = &[Key {
    name: "sharing",
    told: "with `classic`, a program (sock_ops) at a control group of the host's; with `tcp-metrics`, `tcp_no_metrics_save` = 0 and, \
           with `save_threshold`, `tcp_no_ssthresh_metrics_save` = 0",
    limits: "`classic` needs root, a build with eBPF and control groups of version 2, and knows neither `sample_every`, `forgetfulness` \
             nor `capture_from` and `capture_until`; a full list has its longest unused peer give way, where the simulator's takes no \
             further one. The kernel's metrics are its own: lifetime, size, what is collected and when cannot be set. `rfc9040` and `careful-resume` are not there",
    apply: sharing,
}];

fn sharing(end: &mut Endpoint<'_>) {
    let Some(sharing) = end.settings.sharing else { return };
    let mechanism = match sharing.policy {
        SharingPolicy::Off => return,
        SharingPolicy::TcpMetrics => return metrics(end, &sharing),
        SharingPolicy::Classic => return classic(end, &sharing),
        SharingPolicy::Rfc9040 => "it shares no windows among connections",
        SharingPolicy::CarefulResume => "it does not resume saved windows with care (RFC 9959)",
    };
    end.refuse("sharing", mechanism, NEAREST);
}

fn classic(end: &mut Endpoint<'_>, sharing: &Sharing) {
    let unknown = [
        ("sample_every", sharing.sample_every.is_some()),
        ("forgetfulness", sharing.forgetfulness.is_some()),
        ("capture_from", sharing.capture_from.is_some()),
        ("capture_until", sharing.capture_until.is_some()),
    ];
    for (key, _) in unknown.into_iter().filter(|(_, is_set)| *is_set) {
        let mechanism = format!("its program that remembers windows does not know {key}");
        end.refuse("sharing", &mechanism, &format!("leave out {key}, or use the simulator"));
    }
    if let Some(obstacle) = windows::obstacle_to_runs() {
        let alternative = "policy = \"tcp-metrics\" or \"off\", or the simulator";
        end.refuse("sharing", &obstacle.to_string(), alternative);
    }
    end.windows = Some(program(sharing));
}

/// The report's mechanism, but for what is said.
fn program(sharing: &Sharing) -> WindowOptions {
    let usual = WindowOptions::default();
    WindowOptions {
        lifetime: sharing.lifetime.unwrap_or(usual.lifetime),
        entries: sharing.entries.unwrap_or(usual.entries),
        trust: match sharing.trust {
            Some(Trusted::Safe) => Trust::Safe,
            Some(Trusted::Exact) | None => Trust::Exact,
        },
        beginning: match sharing.openings {
            Some(SharedOpenings::All) => Beginning::Every,
            Some(SharedOpenings::Incoming) | None => Beginning::Incoming,
        },
        collection: match sharing.classic_collection() {
            Collected::End => Collection::End,
            Collected::Close => Collection::Close,
        },
        largest_window: sharing.largest_window,
    }
}

fn metrics(end: &mut Endpoint<'_>, sharing: &Sharing) {
    let plain = Sharing {
        policy: SharingPolicy::TcpMetrics,
        save_threshold: sharing.save_threshold,
        ..Sharing::default()
    };
    if *sharing == plain {
        end.sysctl("sharing", NO_METRICS, bit(false));
        end.sysctl("sharing", NO_THRESHOLD, bit(sharing.save_threshold != Some(true)));
    } else {
        let mechanism =
            "its metrics of destinations have their own lifetime, size and times of collection";
        end.refuse("sharing", mechanism, "leave out all but policy and save_threshold");
    }
}
