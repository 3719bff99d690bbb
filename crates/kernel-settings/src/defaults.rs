//! Sysctls of a host as Linux 6.18 has them out of the box, whatever the machine's are, and what
//! experiments differ in: nothing is remembered from one connection to the next, and buffers are never
//! what limits unless a scenario says so.

use super::Kernel;
use std::collections::BTreeMap;

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
pub(crate) fn sysctls(kernel: &Kernel) -> BTreeMap<&'static str, String> {
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
