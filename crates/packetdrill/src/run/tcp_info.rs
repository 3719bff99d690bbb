//! `TCP_INFO` and socket state as variables of embedded code.
//!
//! Every field `tcpi_...` of the kernel's structure has its name here. Fields that the endpoint
//! does not keep (`None` in [`TcpInfo`]) are not defined, so code that uses them makes a script
//! unsupported. Times are in the units of the kernel: milliseconds for `tcpi_last_...` and
//! `tcpi_total_rto_time`, else microseconds. `tcpi_snd_ssthresh` is 2147483647 before the first
//! loss, `tcpi_min_rtt` 4294967295 and `tcpi_rtt` 0 before the first sample.
//!
//! Constants: states (`TCP_ESTABLISHED`, ...), recovery states (`TCP_CA_Open`, ...), bits of
//! `tcpi_options` (`TCPI_OPT_TIMESTAMPS`, ...), `TCP_INFINITE_SSTHRESH`.

use crate::code::{Environment, Value};
use fairwind_tcp::{State, TcpInfo, option_bits};
use fairwind_units::Span;

const CONSTANTS: &[(&str, i64)] = &[
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCP_INFINITE_SSTHRESH", INFINITE_SSTHRESH),
    ("TCPI_OPT_USEC_TS", 64),
    ("TCPI_OPT_TFO_CHILD", 128),
];
const OPTION_BITS: &[(&str, u32)] = &[
    ("TCPI_OPT_TIMESTAMPS", option_bits::TIMESTAMPS),
    ("TCPI_OPT_SACK", option_bits::SACK),
    ("TCPI_OPT_WSCALE", option_bits::WINDOW_SCALE),
    ("TCPI_OPT_ECN", option_bits::ECN),
    ("TCPI_OPT_ECN_SEEN", option_bits::ECN_SEEN),
    ("TCPI_OPT_SYN_DATA", option_bits::SYN_DATA),
];
const INFINITE_SSTHRESH: i64 = 0x7fff_ffff;
/// Minimum round-trip time in Linux before the first sample.
const NO_SAMPLE: i64 = 0xffff_ffff;

/// Redefines the variables of embedded code from the present state.
pub(crate) fn define_variables(information: &[(&'static str, i64)], environment: &mut Environment) {
    environment.forget("tcpi_");
    environment.forget("SK_MEMINFO_");
    for (name, number) in CONSTANTS.iter().chain(information) {
        environment.define(name, Value::Number(*number));
    }
    for (name, bit) in OPTION_BITS {
        environment.define(name, Value::Number(i64::from(*bit)));
    }
}

/// `TCP_INFO` of a connection of our endpoint.
pub(crate) fn information(info: &TcpInfo) -> Vec<(&'static str, i64)> {
    let entries = state(info).into_iter().chain(path(info)).chain(counts(info));
    entries.filter_map(|(name, number)| Some((name, number?))).collect()
}

type Entry = (&'static str, Option<i64>);

/// States, timers and negotiated options.
fn state(info: &TcpInfo) -> [Entry; 15] {
    [
        ("tcpi_state", Some(state_number(info.state))),
        ("tcpi_ca_state", Some(info.recovery.number().into())),
        ("tcpi_retransmits", small(info.consecutive_timeouts)),
        ("tcpi_probes", small(info.unanswered_probes)),
        ("tcpi_backoff", small(info.backoff)),
        ("tcpi_options", small(info.options)),
        ("tcpi_snd_wscale", info.send_window_shift.map(i64::from)),
        ("tcpi_rcv_wscale", info.receive_window_shift.map(i64::from)),
        (
            "tcpi_delivery_rate_app_limited",
            info.delivery_rate_is_application_limited.map(i64::from),
        ),
        ("tcpi_fastopen_client_fail", small(info.fast_open_failure)),
        ("tcpi_rto", Some(micros(info.retransmission_timeout))),
        ("tcpi_ato", info.acknowledgment_timeout.map(micros)),
        ("tcpi_last_data_sent", info.since_data_sent.map(millis)),
        ("tcpi_last_data_recv", info.since_data_received.map(millis)),
        ("tcpi_last_ack_recv", info.since_ack_received.map(millis)),
    ]
}

/// Path, peer and windows.
fn path(info: &TcpInfo) -> [Entry; 23] {
    [
        ("tcpi_snd_mss", Some(i64::from(info.send_mss_bytes))),
        ("tcpi_rcv_mss", small(info.receive_mss_bytes)),
        ("tcpi_advmss", small(info.announced_mss_bytes)),
        ("tcpi_pmtu", small(info.path_mtu_bytes)),
        ("tcpi_rtt", Some(info.smoothed_rtt.map_or(0, micros))),
        ("tcpi_rttvar", info.rtt_variation.map(micros)),
        ("tcpi_min_rtt", Some(info.min_rtt.map_or(NO_SAMPLE, micros))),
        ("tcpi_rcv_rtt", info.receiver_rtt.map(micros)),
        ("tcpi_rcv_space", small(info.receive_space_bytes)),
        ("tcpi_rcv_ssthresh", small(info.receive_window_threshold_bytes)),
        ("tcpi_snd_ssthresh", Some(info.slow_start_threshold.map_or(INFINITE_SSTHRESH, i64::from))),
        ("tcpi_snd_cwnd", Some(i64::from(info.congestion_window))),
        ("tcpi_reordering", small(info.reordering_segments)),
        ("tcpi_snd_wnd", Some(i64::from(info.send_window_bytes))),
        ("tcpi_rcv_wnd", Some(i64::from(info.receive_window_bytes))),
        ("tcpi_pacing_rate", large(info.pacing_rate_bytes_per_second)),
        ("tcpi_max_pacing_rate", large(info.max_pacing_rate_bytes_per_second)),
        ("tcpi_delivery_rate", large(info.delivery_rate_bytes_per_second)),
        ("tcpi_busy_time", info.busy.map(micros)),
        ("tcpi_rwnd_limited", info.window_limited.map(micros)),
        ("tcpi_sndbuf_limited", info.buffer_limited.map(micros)),
        ("tcpi_accecn_fail_mode", small(info.accurate_ecn_failure)),
        ("tcpi_accecn_opt_seen", small(info.accurate_ecn_option_seen)),
    ]
}

fn counts(info: &TcpInfo) -> [Entry; 32] {
    let delivered = |place: usize| info.delivered_bytes_by_mark.map(|by| i64::from(by[place]));
    let received = |place: usize| info.received_bytes_by_mark.map(|by| i64::from(by[place]));
    [
        ("tcpi_unacked", small(info.unacked_segments)),
        ("tcpi_sacked", small(info.sacked_segments)),
        ("tcpi_lost", small(info.lost_segments)),
        ("tcpi_retrans", small(info.retransmitted_segments)),
        ("tcpi_fackets", Some(0)),
        ("tcpi_total_retrans", small(info.total_retransmissions)),
        ("tcpi_bytes_acked", large(info.acknowledged_bytes)),
        ("tcpi_bytes_received", large(info.received_bytes)),
        ("tcpi_bytes_sent", large(info.sent_bytes)),
        ("tcpi_bytes_retrans", large(info.retransmitted_bytes)),
        ("tcpi_notsent_bytes", Some(count(info.unsent_bytes))),
        ("tcpi_segs_out", small(info.segments_sent)),
        ("tcpi_segs_in", small(info.segments_received)),
        ("tcpi_data_segs_out", small(info.data_segments_sent)),
        ("tcpi_data_segs_in", small(info.data_segments_received)),
        ("tcpi_delivered", small(info.delivered_segments)),
        ("tcpi_delivered_ce", small(info.delivered_marked_segments)),
        ("tcpi_dsack_dups", small(info.duplicate_reports)),
        ("tcpi_reord_seen", small(info.reordering_events)),
        ("tcpi_rcv_ooopack", small(info.out_of_order_segments)),
        // The kernel does not set it either.
        ("tcpi_last_ack_sent", Some(0)),
        ("tcpi_total_rto", small(info.total_timeouts)),
        ("tcpi_total_rto_recoveries", small(info.total_timeout_recoveries)),
        ("tcpi_total_rto_time", info.total_timeout_recovery.map(millis)),
        ("tcpi_received_ce", small(info.received_marked_segments)),
        ("tcpi_delivered_e1_bytes", delivered(0)),
        ("tcpi_delivered_e0_bytes", delivered(1)),
        ("tcpi_delivered_ce_bytes", delivered(2)),
        ("tcpi_received_e1_bytes", received(0)),
        ("tcpi_received_e0_bytes", received(1)),
        ("tcpi_received_ce_bytes", received(2)),
        // There are no flow labels to rehash.
        ("tcpi_rehash", None),
    ]
}

fn small(number: Option<u32>) -> Option<i64> {
    number.map(i64::from)
}

fn large(number: Option<u64>) -> Option<i64> {
    number.map(count)
}

fn micros(span: Span) -> i64 {
    count(span.as_micros())
}

fn millis(span: Span) -> i64 {
    count(span.as_micros() / 1000)
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The state of a listening socket.
pub(super) const LISTENING: i64 = 10;

/// The number of a state in the kernel's headers.
pub(super) fn state_number(state: State) -> i64 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        // A socket has parted from a connection that only waits (`tcp_time_wait`).
        State::TimeWait | State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => LISTENING,
        State::Closing => 11,
    }
}
