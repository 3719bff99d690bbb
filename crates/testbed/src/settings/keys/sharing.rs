//! What the running kernel remembers of its connections.

use super::{Key, bit};
use crate::settings::end::End;
use fairwind_scenario::{Sharing, SharingPolicy};

/// The kernel's own metrics are switched off in runs, unless they are asked for.
const NO_METRICS: &str = "net.ipv4.tcp_no_metrics_save";
/// Whether the threshold is left out of them.
const NO_THRESHOLD: &str = "net.ipv4.tcp_no_ssthresh_metrics_save";

pub(super) const KEYS: &[Key] = &[Key {
    name: "sharing",
    told: "with `tcp-metrics`, `tcp_no_metrics_save` = 0 and, with `save_threshold`, `tcp_no_ssthresh_metrics_save` = 0",
    limits: "of the policies, only `tcp-metrics`: the kernel neither begins with a remembered window nor shares or resumes one. \
             Its metrics are its own: lifetime, size, what is collected and when cannot be set",
    apply: sharing,
}];

fn sharing(end: &mut End<'_>) {
    let Some(sharing) = end.settings.sharing else { return };
    let nearest = "policy = \"tcp-metrics\" or \"off\", or the simulator";
    let mechanism = match sharing.policy {
        SharingPolicy::Off => return,
        SharingPolicy::TcpMetrics => return metrics(end, &sharing),
        SharingPolicy::Classic => "it begins with no remembered window of its own",
        SharingPolicy::Rfc9040 => "it shares no windows among connections",
        SharingPolicy::CarefulResume => "it does not resume saved windows with care (RFC 9959)",
    };
    end.refuse("sharing", mechanism, nearest);
}

fn metrics(end: &mut End<'_>, sharing: &Sharing) {
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
