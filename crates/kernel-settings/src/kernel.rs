//! The running kernel: its version, its options, and its default sysctls.
//!
//! Sysctls of a host as Linux 6.18 has them out of the box, whatever the machine's are, and what
//! experiments differ in: nothing is remembered from one connection to the next, and buffers are never
//! what limits unless a scenario says so.

use crate::controls::{ControlObject, Loadable, available};
use fairwind_linux as linux;
use fairwind_units::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Folders of the parameters of a network namespace.
const FOLDERS: [&str; 2] = ["net/ipv4", "net/core"];
/// Where CUBIC's parameters are: for the whole machine.
const HYSTART: &str = "/sys/module/tcp_cubic/parameters/hystart";

/// Waiting until a segment is full is off.
pub(crate) const NO_DELAY: i32 = libc::TCP_NODELAY;
/// The largest segment, announced and sent.
pub(crate) const GREATEST_SEGMENT: i32 = libc::TCP_MAXSEG;
/// SYNs that are repeated.
pub(crate) const SYN_COUNT: i32 = libc::TCP_SYNCNT;
/// Linear time-outs of a thin stream (`TCP_THIN_LINEAR_TIMEOUTS`).
pub(crate) const LINEAR_TIMEOUTS: i32 = 16;
/// Modified fast retransmit of a thin stream (`TCP_THIN_DUPACK`, without effect since 4.11).
pub(crate) const THIN_DUPLICATES: i32 = 17;
/// The greatest time-out in milliseconds (`TCP_RTO_MAX_MS`, since 6.15).
pub(crate) const GREATEST_TIMEOUT: i32 = 44;

/// The options at the level of TCP that settings use.
const OPTIONS: [i32; 6] =
    [NO_DELAY, GREATEST_SEGMENT, SYN_COUNT, LINEAR_TIMEOUTS, THIN_DUPLICATES, GREATEST_TIMEOUT];

/// A Linux kernel: its release and its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The release as `uname -r` prints it.
    pub release: String,
    /// The first two numbers of it.
    pub version: (u32, u32),
    /// Names of the sysctls that it has below `net.ipv4` and `net.core`.
    pub sysctls: BTreeSet<String>,
    /// Numbers of the socket options at the level of TCP that it knows, of those that settings use.
    pub socket_options: BTreeSet<i32>,
    /// Congestion controls that sockets may be given.
    pub congestion_controls: BTreeSet<String>,
    /// Congestion controls in C that are there or can be loaded.
    pub loadable: Loadable,
    /// Whether CUBIC leaves slow start early, for the whole machine; `None`: CUBIC is not there.
    pub hystart: Option<bool>,
    /// Whether a namespace may ask for accurate ECN.
    pub accurate_ecn: bool,
    /// The step of the kernel's timers.
    pub tick: Span,
}

impl Kernel {
    /// Asks the running kernel.
    pub fn running() -> Self {
        Self::running_with(&[])
    }

    /// The same, which can be given `controls`, too.
    pub fn running_with(controls: &[ControlObject]) -> Self {
        let release = linux::read_text("/proc/sys/kernel/osrelease");
        Self {
            version: version(&release),
            release,
            sysctls: FOLDERS.iter().flat_map(|folder| sysctls(folder)).collect(),
            socket_options: linux::known_tcp_options(&OPTIONS),
            congestion_controls: available().into_iter().collect(),
            loadable: Loadable::here(controls),
            hystart: match linux::read_text(HYSTART).as_str() {
                "" => None,
                value => Some(value != "0"),
            },
            accurate_ecn: asks_for_accurate_ecn(),
            tick: linux::tick(),
        }
    }

    /// Whether it has a sysctl.
    pub fn has_sysctl(&self, name: &str) -> bool {
        self.sysctls.contains(name)
    }

    /// The least whole number of ticks that is not shorter than `time`.
    pub fn in_ticks(&self, time: Span) -> Span {
        let tick = self.tick.as_nanos().max(1);
        Span::from_nanos(time.as_nanos().div_ceil(tick).saturating_mul(tick))
    }
}

fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    let mut next = || numbers.next().and_then(|number| number.parse().ok()).unwrap_or(0);
    (next(), next())
}

/// Whether `tcp_ecn` takes 3, tried in a new namespace; `false` if none can be made.
fn asks_for_accurate_ecn() -> bool {
    std::thread::spawn(|| {
        linux::enter_new_network().is_ok()
            && std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "3").is_ok()
    })
    .join()
    .unwrap_or(false)
}

fn sysctls(folder: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(Path::new("/proc/sys").join(folder)) else {
        return Vec::new();
    };
    let prefix = folder.replace('/', ".");
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .map(|name| format!("{prefix}.{name}"))
        .collect()
}

/// Up to what a socket's buffer may grow in each direction. Half of it counts as window, which is as much as
/// the simulator's endpoints offer: enough for 250 Mbit/s over 324 ms. Receive buffers begin as small as the
/// kernel's usually do, since how they grow decides how often a receiver acknowledges. Send buffers begin
/// ample: one that begins small holds two windows, which a flow that repairs losses exceeds while its peer holds
/// what came after them, so that it falls silent until the holes are filled.
pub(crate) const AMPLE_MEMORY_BYTES: u64 = 128 << 20;

/// What a connection of an experiment starts from.
const USUAL: &[(&str, &str)] = &[
    // What a scenario's keys are about.
    ("net.ipv4.tcp_congestion_control", "cubic"),
    ("net.ipv4.tcp_sack", "1"),
    ("net.ipv4.tcp_dsack", "1"),
    ("net.ipv4.tcp_timestamps", "1"),
    ("net.ipv4.tcp_window_scaling", "1"),
    ("net.ipv4.tcp_ecn", "2"),
    ("net.ipv4.tcp_early_retrans", "3"),
    ("net.ipv4.tcp_recovery", "1"),
    ("net.ipv4.tcp_frto", "2"),
    ("net.ipv4.tcp_reordering", "3"),
    ("net.ipv4.tcp_max_reordering", "300"),
    ("net.ipv4.tcp_retries2", "15"),
    ("net.ipv4.tcp_syn_retries", "6"),
    ("net.ipv4.tcp_slow_start_after_idle", "1"),
    ("net.ipv4.tcp_retrans_collapse", "1"),
    ("net.ipv4.tcp_thin_linear_timeouts", "0"),
    ("net.ipv4.tcp_comp_sack_nr", "44"),
    ("net.ipv4.tcp_comp_sack_delay_ns", "1000000"),
    ("net.ipv4.tcp_comp_sack_slack_ns", "100000"),
    ("net.ipv4.tcp_rto_min_us", "200000"),
    ("net.ipv4.tcp_rto_max_ms", "120000"),
    // What they are not about, but what would change them.
    ("net.ipv4.tcp_ecn_fallback", "1"),
    ("net.ipv4.tcp_fack", "0"),
    ("net.ipv4.tcp_thin_dupack", "0"),
    ("net.ipv4.tcp_retries1", "3"),
    ("net.ipv4.tcp_synack_retries", "5"),
    ("net.ipv4.tcp_syn_linear_timeouts", "4"),
    ("net.ipv4.tcp_fastopen", "1"),
    ("net.ipv4.tcp_mtu_probing", "0"),
    ("net.ipv4.tcp_min_tso_segs", "2"),
    ("net.ipv4.tcp_tso_win_divisor", "3"),
    ("net.ipv4.tcp_tso_rtt_log", "9"),
    ("net.ipv4.tcp_pacing_ss_ratio", "200"),
    ("net.ipv4.tcp_pacing_ca_ratio", "120"),
    ("net.ipv4.tcp_limit_output_bytes", "4194304"),
    ("net.ipv4.tcp_autocorking", "1"),
    ("net.ipv4.tcp_notsent_lowat", "4294967295"),
    ("net.ipv4.tcp_min_rtt_wlen", "300"),
    ("net.ipv4.tcp_moderate_rcvbuf", "1"),
    ("net.ipv4.tcp_app_win", "31"),
    ("net.ipv4.tcp_adv_win_scale", "1"),
    ("net.ipv4.tcp_shrink_window", "0"),
    ("net.ipv4.tcp_workaround_signed_windows", "0"),
    ("net.ipv4.tcp_plb_enabled", "0"),
    ("net.ipv4.tcp_reflect_tos", "0"),
    ("net.ipv4.tcp_pingpong_thresh", "1"),
    ("net.ipv4.tcp_backlog_ack_defer", "1"),
    ("net.ipv4.tcp_invalid_ratelimit", "500"),
    ("net.ipv4.tcp_fin_timeout", "60"),
    ("net.ipv4.ip_no_pmtu_disc", "0"),
    ("net.ipv4.ip_default_ttl", "64"),
    // Every connection starts from nothing.
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.tcp_no_ssthresh_metrics_save", "1"),
];

/// The usual sysctls that a kernel has, and ample buffers.
pub(crate) fn default_sysctls(kernel: &Kernel) -> BTreeMap<&'static str, String> {
    let mut all: BTreeMap<_, _> =
        USUAL.iter().map(|&(name, value)| (name, value.to_owned())).collect();
    all.insert("net.ipv4.tcp_rmem", format!("4096 131072 {AMPLE_MEMORY_BYTES}"));
    all.insert("net.ipv4.tcp_wmem", format!("4096 {AMPLE_MEMORY_BYTES} {AMPLE_MEMORY_BYTES}"));
    all.retain(|name, _| kernel.has_sysctl(name));
    all
}

/// Least, first and greatest memory of a buffer that keeps its size.
pub(crate) fn memory(bytes: u64) -> String {
    format!("4096 {bytes} {bytes}")
}

/// The names of all sysctls that settings speak of.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let gone = ["net.ipv4.tcp_fack", "net.ipv4.tcp_thin_dupack"];
    USUAL
        .iter()
        .map(|&(name, _)| name)
        .chain(["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"])
        .filter(move |name| !gone.contains(name))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Linux 6.18 with the sysctls that settings know, for tests that must not depend on a machine.
    pub(crate) fn linux_6_18() -> Kernel {
        let sysctls = names().map(str::to_owned).collect();
        Kernel {
            release: "6.18.0".to_owned(),
            version: (6, 18),
            sysctls,
            socket_options: OPTIONS.into_iter().collect(),
            congestion_controls: ["reno", "cubic"].map(str::to_owned).into(),
            loadable: Loadable::default(),
            hystart: Some(true),
            accurate_ecn: false,
            tick: Span::from_millis(4),
        }
    }

    #[test]
    fn release_is_parsed_to_minor_number() {
        assert_eq!(version("6.18.44-fc-v595"), (6, 18));
        assert_eq!(version("5.4"), (5, 4));
        assert_eq!(version("7.0-rc1"), (7, 0));
        assert_eq!(version(""), (0, 0));
    }

    #[test]
    fn times_round_up_to_whole_ticks() {
        let kernel = linux_6_18();
        assert_eq!(kernel.in_ticks(Span::from_millis(200)), Span::from_millis(200));
        assert_eq!(kernel.in_ticks(Span::from_millis(30)), Span::from_millis(32));
        assert_eq!(kernel.in_ticks(Span::from_nanos(1)), Span::from_millis(4));
    }
}
