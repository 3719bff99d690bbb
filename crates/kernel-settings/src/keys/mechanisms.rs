//! Keys of mechanisms other than loss recovery: profile, congestion control, options, ECN, pacing,
//! acknowledgments, slow start; and of windows shared among connections.

use super::Key;
use crate::controls::Missing;
use crate::endpoint::Endpoint;
use crate::kernel::NO_DELAY;
use fairwind_scenario::{Congestion, Ecn, Profile, Sharing, SharingPolicy, Trust};
use fairwind_windows::{self as windows, WindowOptions};

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "profile",
        setting: "all sysctls that matter, as Linux 6.18 has them out of the box; `tcp_no_metrics_save`",
        limits: "only `linux-6.18`, which stands for the running kernel; other systems are refused",
        apply: profile,
    },
    Key {
        name: "congestion",
        setting: "`TCP_CONGESTION` of every socket, verified afterwards; CUBIC unless set",
        limits: "what `tcp_available_congestion_control` lists; `bic` needs its module; those in C are loaded by root",
        apply: congestion,
    },
    Key {
        name: "sack",
        setting: "`tcp_sack`",
        limits: "without it the kernel counts duplicate ACKs (NewReno) and has no RACK",
        apply: |end| end.switch("net.ipv4.tcp_sack", end.settings.sack),
    },
    Key {
        name: "timestamps",
        setting: "`tcp_timestamps`",
        limits: "",
        apply: |end| end.switch("net.ipv4.tcp_timestamps", end.settings.timestamps),
    },
    Key {
        name: "window_scaling",
        setting: "`tcp_window_scaling`",
        limits: "",
        apply: |end| end.switch("net.ipv4.tcp_window_scaling", end.settings.window_scaling),
    },
    Key {
        name: "ecn",
        setting: "`tcp_ecn`: `off` 0, `when-asked` 2, `classic` 1, `accurate` 3",
        limits: "`accurate` needs a kernel that takes 3 there; 6.18 does not have it",
        apply: ecn,
    },
    Key {
        name: "nagle",
        setting: "`TCP_NODELAY` where it is off: by the key, or because the workload is interactive",
        limits: "what is on is Minshall's variant",
        apply: |end| {
            if !end.settings.has_nagle(end.workload) {
                end.option("TCP_NODELAY", NO_DELAY, 1);
            }
        },
    },
    Key {
        name: "bundling",
        setting: "off: `gso_max_segs 1` of the host's device",
        limits: "on is the kernel's way; what leaves the host are single packets in both cases",
        apply: |end| {
            if end.settings.bundling == Some(false) {
                end.device("gso_max_segs", "1");
            }
        },
    },
    Key {
        name: "pacing",
        setting: "on: `SO_MAX_PACING_RATE` beyond any link, so that TCP paces by its own timers",
        limits: "",
        apply: |end| {
            if end.settings.pacing == Some(true) {
                end.pace();
            }
        },
    },
    Key {
        name: "delayed_ack",
        setting: "off: `quickack 1` of the host's routes",
        limits: "on is the kernel's way: 40 to 200 ms, quick for the first segments",
        apply: |end| {
            if end.settings.delayed_ack == Some(false) {
                end.route("quickack", "1".to_owned());
            }
        },
    },
    Key {
        name: "ack_compression",
        setting: "off: `tcp_comp_sack_nr` 0; on: 44",
        limits: "",
        apply: |end| {
            if let Some(on) = end.settings.ack_compression {
                let most = if on { 44_u8 } else { 0 };
                end.sysctl("net.ipv4.tcp_comp_sack_nr", most);
            }
        },
    },
    Key {
        name: "duplicate_sack",
        setting: "`tcp_dsack`",
        limits: "",
        apply: |end| end.switch("net.ipv4.tcp_dsack", end.settings.duplicate_sack),
    },
    Key {
        name: "hystart",
        setting: "none: it is only read",
        limits: "a parameter of CUBIC for the whole machine: it must already have the value of the key",
        apply: hystart,
    },
    Key {
        name: "inflight_limit",
        setting: "none",
        limits: "not available: only FreeBSD has it",
        apply: |end| {
            let mechanism = "it does not bound the flight by an estimated bandwidth";
            end.refuse_if(
                end.settings.inflight_limit == Some(true),
                mechanism,
                "leave the key out",
            );
        },
    },
];

/// A profile of a current kernel is what runs, whatever its version.
fn remark_other_version(end: &mut Endpoint<'_>, name: &str, version: (u32, u32)) {
    if end.kernel.version != version {
        let release = &end.kernel.release;
        let text = format!("{name} means the running kernel, Linux {release}");
        end.remark(text);
    }
}

fn profile(end: &mut Endpoint<'_>) {
    if end.profile_is_the_senders {
        return;
    }
    let alternative = match end.settings.profile() {
        Profile::Linux6_18 => return remark_other_version(end, "linux-6.18", (6, 18)),
        Profile::Linux7_3 => return remark_other_version(end, "linux-7.3", (7, 3)),
        Profile::Rfc => {
            "leave it out, with sack = false, tail_loss_probe = false, forward_rto = false, \
             congestion = \"reno\", minimum_rto = \"1 s\", initial_window = 3"
        }
        Profile::Linux2_6 => {
            "leave it out, with sack = false, tail_loss_probe = false, forward_rto = false, \
             initial_window = 3"
        }
        Profile::Linux3_16 => {
            "leave it out, with sack = false, tail_loss_probe = false, and duplicate_threshold = 3, \
             or 1 for modified fast retransmit"
        }
        Profile::FreeBsd5_4 | Profile::FreeBsd14 => {
            "leave it out, or run it in the simulator (--on sim)"
        }
    };
    end.refuse("the running kernel cannot imitate another system", alternative);
}

fn congestion(end: &mut Endpoint<'_>) {
    let wanted = end.settings.congestion.unwrap_or(Congestion::Cubic);
    if let Congestion::Plugged(name) = wanted {
        return plugged(end, name.as_str());
    }
    wanted.name().clone_into(&mut end.congestion);
    if !end.kernel.congestion_controls.contains(wanted.name()) {
        let there: Vec<_> = end.kernel.congestion_controls.iter().map(String::as_str).collect();
        let mechanism = format!("it has no congestion control {wanted}, but {}", there.join(", "));
        let alternative = format!("load the module tcp_{wanted}, or take one that is there");
        end.refuse(&mechanism, &alternative);
    }
}

/// One in C: it is there, or is loaded for the run.
fn plugged(end: &mut Endpoint<'_>, name: &str) {
    let is_there = |name: &str| end.kernel.congestion_controls.contains(name);
    match end.kernel.loadable.kernel_name(name, is_there) {
        Ok(kernel_name) => kernel_name.clone_into(&mut end.congestion),
        Err(Missing { mechanism, alternative }) => {
            end.refuse(&mechanism, &alternative);
        }
    }
}

fn ecn(end: &mut Endpoint<'_>) {
    let value = match end.settings.ecn {
        None => return,
        Some(Ecn::Off) => 0_u8,
        Some(Ecn::Classic) => 1,
        Some(Ecn::WhenAsked) => 2,
        Some(Ecn::Accurate) if end.kernel.accurate_ecn => 3,
        Some(Ecn::Accurate) => {
            let mechanism = "net.ipv4.tcp_ecn takes no value that asks for accurate ECN";
            return end.refuse(mechanism, "ecn = \"classic\"");
        }
    };
    end.sysctl("net.ipv4.tcp_ecn", value);
}

fn hystart(end: &mut Endpoint<'_>) {
    let is_cubic = end.settings.congestion.unwrap_or(Congestion::Cubic) == Congestion::Cubic;
    match (end.settings.hystart, end.kernel.hystart) {
        (Some(wanted), Some(there)) if is_cubic && wanted != there => end.refuse(
            "it is a machine-wide parameter of CUBIC, and has the other value",
            "write it to /sys/module/tcp_cubic/parameters/hystart while nothing else runs, \
             leave the key out, or congestion = \"reno\", which has none",
        ),
        _ => {}
    }
}

/// The kernel's own metrics are switched off in runs, unless they are asked for.
const NO_METRICS: &str = "net.ipv4.tcp_no_metrics_save";
/// Whether the threshold is left out of them.
const NO_THRESHOLD: &str = "net.ipv4.tcp_no_ssthresh_metrics_save";
/// The alternatives to an unsupported policy.
const NEAREST: &str = "policy = \"classic\", \"tcp-metrics\" or \"off\", or the simulator";

pub(super) const SHARING_KEYS: &[Key] = &[Key {
    name: "sharing",
    setting: "with `classic`, a program (sock_ops) at a control group of the host's; with `tcp-metrics`, `tcp_no_metrics_save` = 0 and, \
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
    end.refuse(mechanism, NEAREST);
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
        end.refuse(&mechanism, &format!("leave out {key}, or use the simulator"));
    }
    if let Some(obstacle) = windows::obstacle_to_runs() {
        let alternative = "policy = \"tcp-metrics\" or \"off\", or the simulator";
        end.refuse(&obstacle.to_string(), alternative);
    }
    end.remember_windows(program(sharing));
}

/// The report's mechanism, with the given options.
fn program(sharing: &Sharing) -> WindowOptions {
    let usual = WindowOptions::default();
    WindowOptions {
        lifetime: sharing.lifetime.unwrap_or(usual.lifetime),
        entries: sharing.entries.unwrap_or(usual.entries),
        trust: sharing.trust.unwrap_or(Trust::Exact),
        beginning: sharing.openings.unwrap_or(usual.beginning),
        collection: sharing.classic_collection(),
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
        end.sysctl(NO_METRICS, u8::from(false));
        end.sysctl(NO_THRESHOLD, u8::from(sharing.save_threshold != Some(true)));
    } else {
        let mechanism =
            "its metrics of destinations have their own lifetime, size and times of collection";
        end.refuse(mechanism, "leave out all but policy and save_threshold");
    }
}
