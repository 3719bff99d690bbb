//! `TCP_INFO`: the fields of Linux' `struct tcp_info`.
//!
//! Source: `include/uapi/linux/tcp.h` and `tcp_get_info` of Linux 6.18. Differs: times are spans of
//! nanoseconds, and fields without a value in this endpoint are `None`. Cost: only on request.

use crate::state::{RecoveryState, State};
use fairwind_units::Span;

/// State of a connection at one instant.
///
/// `None` means that the field has no value in this endpoint, unless its description says
/// otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpInfo {
    /// Where in its life the connection is (`tcpi_state`).
    pub state: State,
    /// State of loss recovery (`tcpi_ca_state`).
    pub recovery: RecoveryState,
    /// Consecutive time-outs without progress (`tcpi_retransmits`).
    pub consecutive_timeouts: Option<u32>,
    /// Unanswered probes of a closed window or an idle connection (`tcpi_probes`).
    pub unanswered_probes: Option<u32>,
    /// Present back-offs of the time-out (`tcpi_backoff`).
    pub backoff: Option<u32>,
    /// Negotiated options, by the bits of Linux (`tcpi_options`).
    pub options: Option<u32>,
    /// Shift of the windows that the peer offers (`tcpi_snd_wscale`).
    pub send_window_shift: Option<u8>,
    /// Shift of the windows offered to the peer (`tcpi_rcv_wscale`).
    pub receive_window_shift: Option<u8>,
    /// The delivery rate was limited by the application (`tcpi_delivery_rate_app_limited`).
    pub delivery_rate_is_application_limited: Option<bool>,
    /// Why Fast Open failed, by Linux' number (`tcpi_fastopen_client_fail`).
    pub fast_open_failure: Option<u32>,
    /// The retransmission time-out in force (`tcpi_rto`).
    pub retransmission_timeout: Span,
    /// The delay of acknowledgments at present (`tcpi_ato`).
    pub acknowledgment_timeout: Option<Span>,
    /// Payload of a full segment sent, in bytes (`tcpi_snd_mss`).
    pub send_mss_bytes: u32,
    /// Estimated payload of a full segment received, in bytes (`tcpi_rcv_mss`).
    pub receive_mss_bytes: Option<u32>,
    /// Segments sent and not acknowledged (`tcpi_unacked`); of a listener, connections to accept.
    pub unacked_segments: Option<u32>,
    /// Segments selectively acknowledged (`tcpi_sacked`).
    pub sacked_segments: Option<u32>,
    /// Segments marked lost (`tcpi_lost`).
    pub lost_segments: Option<u32>,
    /// Retransmitted segments in the network (`tcpi_retrans`).
    pub retransmitted_segments: Option<u32>,
    /// Time since data was sent, or else since the connection opened (`tcpi_last_data_sent`).
    pub since_data_sent: Option<Span>,
    /// Time since data was received (`tcpi_last_data_recv`).
    pub since_data_received: Option<Span>,
    /// Time since an acknowledgment was received (`tcpi_last_ack_recv`).
    pub since_ack_received: Option<Span>,
    /// Packet size of the path in bytes (`tcpi_pmtu`).
    pub path_mtu_bytes: Option<u32>,
    /// Limit of the window offered, in bytes (`tcpi_rcv_ssthresh`).
    pub receive_window_threshold_bytes: Option<u32>,
    /// Smoothed round-trip time, after the first sample (`tcpi_rtt`).
    pub smoothed_rtt: Option<Span>,
    /// Variation of the round-trip time (`tcpi_rttvar`).
    pub rtt_variation: Option<Span>,
    /// Slow-start threshold in segments, if it was set (`tcpi_snd_ssthresh`).
    pub slow_start_threshold: Option<u32>,
    /// Congestion window in segments (`tcpi_snd_cwnd`).
    pub congestion_window: u32,
    /// Segment size announced to the peer, in bytes (`tcpi_advmss`).
    pub announced_mss_bytes: Option<u32>,
    /// Segments that may overtake one before it counts as lost (`tcpi_reordering`).
    pub reordering_segments: Option<u32>,
    /// Round-trip time as the receiver sees it (`tcpi_rcv_rtt`).
    pub receiver_rtt: Option<Span>,
    /// Bytes that the application reads in a round trip (`tcpi_rcv_space`).
    pub receive_space_bytes: Option<u32>,
    /// Segments retransmitted since the beginning (`tcpi_total_retrans`).
    pub total_retransmissions: Option<u32>,
    /// Pacing rate in bytes per second (`tcpi_pacing_rate`).
    pub pacing_rate_bytes_per_second: Option<u64>,
    /// Maximum pacing rate in bytes per second (`tcpi_max_pacing_rate`).
    pub max_pacing_rate_bytes_per_second: Option<u64>,
    /// Bytes acknowledged by the peer, control bits included (`tcpi_bytes_acked`).
    pub acknowledged_bytes: Option<u64>,
    /// Payload bytes received in order, a FIN included (`tcpi_bytes_received`).
    pub received_bytes: Option<u64>,
    /// Segments sent (`tcpi_segs_out`).
    pub segments_sent: Option<u32>,
    /// Segments received (`tcpi_segs_in`).
    pub segments_received: Option<u32>,
    /// Payload bytes written and not sent (`tcpi_notsent_bytes`).
    pub unsent_bytes: u64,
    /// Minimum round-trip time of the filter, after the first sample (`tcpi_min_rtt`).
    pub min_rtt: Option<Span>,
    /// Segments received with payload (`tcpi_data_segs_in`).
    pub data_segments_received: Option<u32>,
    /// Segments sent with payload (`tcpi_data_segs_out`).
    pub data_segments_sent: Option<u32>,
    /// Delivery rate in bytes per second (`tcpi_delivery_rate`).
    pub delivery_rate_bytes_per_second: Option<u64>,
    /// Time with data outstanding (`tcpi_busy_time`).
    pub busy: Option<Span>,
    /// Time limited by the peer's window (`tcpi_rwnd_limited`).
    pub window_limited: Option<Span>,
    /// Time limited by the send buffer (`tcpi_sndbuf_limited`).
    pub buffer_limited: Option<Span>,
    /// Delivered segments (`tcpi_delivered`).
    pub delivered_segments: Option<u32>,
    /// Delivered segments with a CE mark (`tcpi_delivered_ce`).
    pub delivered_marked_segments: Option<u32>,
    /// Payload bytes sent, repetitions included (`tcpi_bytes_sent`).
    pub sent_bytes: Option<u64>,
    /// Payload bytes retransmitted (`tcpi_bytes_retrans`).
    pub retransmitted_bytes: Option<u64>,
    /// Duplicate SACK reports received (`tcpi_dsack_dups`).
    pub duplicate_reports: Option<u32>,
    /// Number of reordering events (`tcpi_reord_seen`).
    pub reordering_events: Option<u32>,
    /// Segments received out of order (`tcpi_rcv_ooopack`).
    pub out_of_order_segments: Option<u32>,
    /// Window offered by the peer in bytes (`tcpi_snd_wnd`).
    pub send_window_bytes: u32,
    /// Window offered to the peer in bytes (`tcpi_rcv_wnd`).
    pub receive_window_bytes: u32,
    /// Time-outs since the beginning (`tcpi_total_rto`).
    pub total_timeouts: Option<u32>,
    /// Recoveries from a time-out that ended (`tcpi_total_rto_recoveries`).
    pub total_timeout_recoveries: Option<u32>,
    /// Time spent in these (`tcpi_total_rto_time`).
    pub total_timeout_recovery: Option<Span>,
    /// Segments received with the mark (`tcpi_received_ce`).
    pub received_marked_segments: Option<u32>,
    /// Delivered bytes by codepoint as the peer reports them: ECT(1), ECT(0), CE
    /// (`tcpi_delivered_e1_bytes`, `_e0_`, `_ce_`).
    pub delivered_bytes_by_mark: Option<[u32; 3]>,
    /// Received bytes by codepoint: ECT(1), ECT(0), CE (`tcpi_received_e1_bytes`, `_e0_`, `_ce_`).
    pub received_bytes_by_mark: Option<[u32; 3]>,
    /// Why accurate ECN failed, by Linux' bits (`tcpi_accecn_fail_mode`).
    pub accurate_ecn_failure: Option<u32>,
    /// State of the peer's Accurate ECN option, by the number of Linux (`tcpi_accecn_opt_seen`).
    pub accurate_ecn_option_seen: Option<u32>,
}

/// Bits of [`TcpInfo::options`] (Linux `TCPI_OPT_*`).
pub mod option_bits {
    /// Timestamps.
    pub const TIMESTAMPS: u32 = 1;
    /// Selective acknowledgments.
    pub const SACK: u32 = 2;
    /// Window scaling.
    pub const WINDOW_SCALE: u32 = 4;
    /// ECN was negotiated.
    pub const ECN: u32 = 8;
    /// A packet with an ECN codepoint was received.
    pub const ECN_SEEN: u32 = 16;
    /// The data of our SYN was acknowledged (client), or the peer's SYN carried data (server).
    pub const SYN_DATA: u32 = 32;
    /// The connection was in use before its handshake was over.
    pub const FAST_OPEN_CHILD: u32 = 128;
}
