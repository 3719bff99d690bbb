//! Sender state for algorithms: a copy of the fields of Linux' `struct tcp_sock` that algorithms use, and
//! samples of acknowledgments.
//!
//! The order of fields is that of `congestion/include/fairwind.h`, so that C code can use them in place.

use fairwind_wire::Timestamps;

/// Words of 64 bits that an algorithm has for its own state (`icsk_ca_priv`).
pub const PRIVATE_WORDS: usize = 13;

/// No round-trip sample yet.
const NO_MIN_RTT: u32 = u32::MAX;
/// Linux' `TCP_INFINITE_SSTHRESH`.
const INFINITE: u32 = 0x7fff_ffff;

/// Sending at a rate (of `struct sock`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Pacing {
    /// Bytes per second (`sk_pacing_rate`).
    pub rate: u64,
    /// Maximum rate of the application, in bytes per second (`sk_max_pacing_rate`).
    pub max_rate: u64,
    /// 0 none, 1 needed, 2 by the queue of the device (`sk_pacing_status`).
    pub status: u32,
    /// Largest bundle in bytes (`sk_gso_max_size`).
    pub largest_bundle_bytes: u32,
    /// Largest bundle in segments (`sk_gso_max_segs`).
    pub largest_bundle_segments: u16,
    /// A bundle is the data of `1 / 2^shift` s (`sk_pacing_shift`).
    pub shift: u8,
}

/// State of the algorithm (of `struct inet_connection_sock`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct InetConnectionSock {
    /// Pacing.
    pub pacing: Pacing,
    /// State of recovery in the lowest five bits (`icsk_ca_state`).
    pub state: u8,
    /// Time-outs in a row (`icsk_retransmits`).
    pub timeouts: u8,
    /// Pending acknowledgment: bit 1 scheduled, 2 timer, 16 immediate (writable; `icsk_ack.pending`).
    pub pending: u8,
    /// The algorithm's own state (`icsk_ca_priv`).
    pub private: [u64; PRIVATE_WORDS],
}

/// A sender, as an algorithm sees it. Windows are in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct TcpSock {
    /// The algorithm's own, and pacing.
    pub control: InetConnectionSock,
    /// Congestion window; writable (`snd_cwnd`).
    pub window: u32,
    /// Segments that count towards its next growth; writable (`snd_cwnd_cnt`).
    pub credit: u32,
    /// Maximum window (`snd_cwnd_clamp`).
    pub max_window: u32,
    /// Time of the last use of the window, in jiffies; writable (`snd_cwnd_stamp`).
    pub window_stamp: u32,
    /// Slow-start threshold; writable (`snd_ssthresh`).
    pub threshold: u32,
    /// Window before the last reduction (`prior_cwnd`).
    pub window_before: u32,
    /// Threshold before it (`prior_ssthresh`).
    pub threshold_before: u32,
    /// Segments delivered since the reduction began (`prr_delivered`).
    pub reduction_delivered: u32,
    /// Segments sent since (`prr_out`).
    pub reduction_sent: u32,
    /// Maximum segments outstanding in the last round trip (`max_packets_out`).
    pub max_outstanding: u32,
    /// Bit 0: the window was the limit (`is_cwnd_limited`).
    pub window_limited: u8,
    /// Linux' `TCP_ECN_...` (`ecn_flags`).
    pub ecn_flags: u8,
    /// Segments outstanding (`packets_out`).
    pub outstanding: u32,
    /// Retransmissions in flight (`retrans_out`).
    pub retransmitted: u32,
    /// Segments marked lost (`lost_out`).
    pub lost: u32,
    /// Of these, reported to have arrived (`sacked_out`).
    pub sacked: u32,
    /// Segments that may overtake one (`reordering`).
    pub reordering: u32,
    /// Segments delivered since the beginning (`delivered`).
    pub delivered: u32,
    /// Of these, with a mark (`delivered_ce`).
    pub delivered_marked: u32,
    /// Segments lost since the beginning (`lost`).
    pub losses: u32,
    /// Delivered count at which the application-limited phase ends, 0 for none; writable
    /// (`app_limited`).
    pub application_limited: u32,
    /// Retransmissions since the beginning (`total_retrans`).
    pub retransmissions: u32,
    /// Smoothed round trip in eighths of microseconds, 0 before there is one (`srtt_us`).
    pub smoothed_rtt_eighths: u32,
    /// Mean deviation in quarters of microseconds (`mdev_us`).
    pub deviation_quarters: u32,
    /// Its recent maximum (`rttvar_us`).
    pub variation_quarters: u32,
    /// Minimum round trips: three pairs of instant and microseconds, the first being the minimum
    /// (`rtt_min`).
    pub min_rtt_micros: [[u32; 2]; 3],
    /// Now, in microseconds (`tcp_mstamp`).
    pub now_micros: u64,
    /// Time of the last delivery (`delivered_mstamp`).
    pub delivered_at_micros: u64,
    /// When the segment was sent from which sending counts (`first_tx_mstamp`).
    pub first_sent_at_micros: u64,
    /// Departure time of the last bundle by pacing, in nanoseconds (`tcp_wstamp_ns`).
    pub paced_until_nanos: u64,
    /// Now, in nanoseconds (`tcp_clock_cache`).
    pub now_nanos: u64,
    /// Oldest sequence number outstanding (`snd_una`).
    pub oldest_unacked: u32,
    /// Next one to be sent (`snd_nxt`).
    pub next: u32,
    /// Next one expected of the peer (`rcv_nxt`).
    pub expected: u32,
    /// End of the written data (`write_seq`).
    pub written_end: u32,
    /// Recovery point (`high_seq`).
    pub recovery_end: u32,
    /// Bytes of a full segment (`mss_cache`).
    pub segment_bytes: u32,
    /// Window that the peer offers, in bytes (`snd_wnd`).
    pub peer_window: u32,
    /// Time of the last sent data, in jiffies of a millisecond (`lsndtime`).
    pub last_sent_jiffies: u32,
    /// Bytes acknowledged (`bytes_acked`).
    pub acknowledged_bytes: u64,
    /// Segments sent (`segs_out`).
    pub segments_sent: u32,
    /// Segments sent with payload (`data_segs_out`).
    pub data_segments_sent: u32,
    /// How the stack counts acknowledgments: 0 segments, 1 segments in slow start only, 2
    /// acknowledgments ([`AckCounting`](crate::AckCounting)).
    pub counting: u32,
    /// Timestamp of the peer (`rx_opt.rcv_tsval`).
    pub timestamp: u32,
    /// Its timestamp echo (`rx_opt.rcv_tsecr`).
    pub echoed_timestamp: u32,
    /// Bit 0: the last segment had timestamps; bit 1: negotiated (`rx_opt`).
    pub timestamp_bits: u16,
}

impl Default for InetConnectionSock {
    fn default() -> Self {
        Self {
            pacing: Pacing {
                rate: u64::MAX,
                max_rate: u64::MAX,
                status: 0,
                largest_bundle_bytes: 65_536,
                largest_bundle_segments: 65_535,
                shift: 10,
            },
            state: 0,
            timeouts: 0,
            pending: 0,
            private: [0; PRIVATE_WORDS],
        }
    }
}

impl Default for TcpSock {
    fn default() -> Self {
        Self {
            control: InetConnectionSock::default(),
            window: 0,
            credit: 0,
            max_window: u32::MAX,
            window_stamp: 0,
            threshold: INFINITE,
            window_before: 0,
            threshold_before: 0,
            reduction_delivered: 0,
            reduction_sent: 0,
            max_outstanding: 0,
            window_limited: 0,
            ecn_flags: 0,
            outstanding: 0,
            retransmitted: 0,
            lost: 0,
            sacked: 0,
            reordering: 0,
            delivered: 0,
            delivered_marked: 0,
            losses: 0,
            application_limited: 0,
            retransmissions: 0,
            smoothed_rtt_eighths: 0,
            deviation_quarters: 0,
            variation_quarters: 0,
            min_rtt_micros: [[0, NO_MIN_RTT]; 3],
            now_micros: 0,
            delivered_at_micros: 0,
            first_sent_at_micros: 0,
            paced_until_nanos: 0,
            now_nanos: 0,
            oldest_unacked: 0,
            next: 0,
            expected: 0,
            written_end: 0,
            recovery_end: 0,
            segment_bytes: 0,
            peer_window: 0,
            last_sent_jiffies: 0,
            acknowledged_bytes: 0,
            segments_sent: 0,
            data_segments_sent: 0,
            counting: 0,
            timestamp: 0,
            echoed_timestamp: 0,
            timestamp_bits: 0,
        }
    }
}

impl TcpSock {
    /// Notes the timestamps of the segment at hand, and whether both ends use them.
    pub(crate) fn note_timestamps(&mut self, stamps: Option<Timestamps>, is_agreed: bool) {
        self.timestamp_bits = u16::from(is_agreed) << 1;
        if let Some(stamps) = stamps {
            self.timestamp_bits |= 1;
            self.timestamp = stamps.value;
            self.echoed_timestamp = stamps.echo;
        }
    }

    /// Segments believed to be in flight (`tcp_packets_in_flight`).
    pub fn in_flight(&self) -> u32 {
        (self.outstanding + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }

    /// Whether the window is below the threshold (`tcp_in_slow_start`).
    pub fn is_in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Whether the window limits the sender (`tcp_is_cwnd_limited`).
    pub fn is_window_limited(&self) -> bool {
        self.window_limited & 1 != 0
            || self.is_in_slow_start() && self.window < 2 * self.max_outstanding
    }

    /// Minimum round trip in microseconds, after the first sample (`tcp_min_rtt`).
    pub fn min_rtt(&self) -> Option<u32> {
        Some(self.min_rtt_micros[0][1]).filter(|&min| min != NO_MIN_RTT)
    }
}

/// Round trip and delivery of one acknowledgment (Linux `struct ack_sample`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct AckReport {
    /// Segments taken off the queue (`pkts_acked`).
    pub acknowledged: u32,
    /// Round trip of the youngest segment in microseconds; -1 if there is none (`rtt_us`).
    pub rtt_micros: i32,
    /// Bytes in flight when that segment was sent (`in_flight`).
    pub flight_bytes: u32,
}

/// A sample of the delivery rate (Linux `struct rate_sample`; draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct RateSample {
    /// Time of the last delivery before the segment was sent, in microseconds; 0 for an invalid sample
    /// (`prior_mstamp`).
    pub delivered_at_before_micros: u64,
    /// Segments delivered then (`prior_delivered`).
    pub delivered_before: u32,
    /// Of these with a mark (`prior_delivered_ce`).
    pub marked_before: u32,
    /// Segments delivered since; -1 for an invalid sample (`delivered`).
    pub delivered: i32,
    /// Of these with a mark (`delivered_ce`).
    pub marked: i32,
    /// Time in which they were, in microseconds; -1 where it is shorter than a round trip (`interval_us`).
    pub interval_micros: i64,
    /// Time that sending took (`snd_interval_us`).
    pub sending_micros: u32,
    /// Time between acknowledgments (`rcv_interval_us`).
    pub acknowledging_micros: u32,
    /// Round trip of the youngest segment in microseconds; -1 if there is none (`rtt_us`).
    pub rtt_micros: i64,
    /// Segments marked lost by this acknowledgment (`losses`).
    pub losses: i32,
    /// Segments delivered by it (`acked_sacked`).
    pub newly_delivered: u32,
    /// In flight before it (`prior_in_flight`).
    pub flight_before: u32,
    /// End of the segment of the sample (`last_end_seq`).
    pub end: u32,
    /// The application limited the rate (`is_app_limited`).
    pub is_application_limited: bool,
    /// The segment of the sample was retransmitted (`is_retrans`).
    pub is_retransmission: bool,
    /// The acknowledgment may have been delayed (`is_ack_delayed`).
    pub is_delayed: bool,
}

/// State at the transmission of a segment. Mainline Linux does not have it; BBR version 3 does (`tx_in_flight`
/// and `lost` of `struct rate_sample`). Segments sent between the same two acknowledgments share the state of
/// the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransmitSnapshot {
    /// In flight, in segments, itself included.
    pub flight: u32,
    /// Segments marked lost since the beginning, modulo 2^32.
    pub losses: u32,
    /// The application was the limit.
    pub is_application_limited: bool,
}

/// A segment marked lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostSegment {
    /// Its first sequence number.
    pub begin: u32,
    /// Its end.
    pub end: u32,
    /// Segments marked lost since the beginning, itself included, modulo 2^32.
    pub losses: u32,
    /// State at its last transmission.
    pub at_sending: TransmitSnapshot,
}

impl RateSample {
    /// An invalid sample.
    pub const INVALID: Self = Self {
        delivered_at_before_micros: 0,
        delivered_before: 0,
        marked_before: 0,
        delivered: -1,
        marked: 0,
        interval_micros: -1,
        sending_micros: 0,
        acknowledging_micros: 0,
        rtt_micros: -1,
        losses: 0,
        newly_delivered: 0,
        flight_before: 0,
        end: 0,
        is_application_limited: false,
        is_retransmission: false,
        is_delayed: false,
    };
}

/// An acknowledgment that an algorithm requests, of the data before the present packet (Linux
/// `bpf_tcp_send_ack`, RFC 8257 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestedAck {
    /// Its number.
    pub number: u32,
    /// It echoes a mark.
    pub echoes: bool,
}
