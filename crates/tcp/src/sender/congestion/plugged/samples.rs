//! What an acknowledgment has told, as algorithms are handed it; laid out in memory as C has it.

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
    /// When something had been delivered last as the segment was sent, in microseconds; 0 for an invalid
    /// sample (`prior_mstamp`).
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
    /// Segments found lost by this acknowledgment (`losses`).
    pub losses: i32,
    /// Segments delivered by it (`acked_sacked`).
    pub newly_delivered: u32,
    /// In flight before it (`prior_in_flight`).
    pub flight_before: u32,
    /// Sequence number behind the segment of the sample (`last_end_seq`).
    pub end: u32,
    /// The application limited the rate (`is_app_limited`).
    pub is_application_limited: bool,
    /// The segment of the sample was sent again (`is_retrans`).
    pub is_retransmission: bool,
    /// The acknowledgment may have been delayed (`is_ack_delayed`).
    pub is_delayed: bool,
}

/// What held when a segment was sent. Linux' mainline has no such thing; it is from BBR version 3 there
/// (`tx_in_flight` and `lost` of `struct rate_sample`). Segments sent between the same two acknowledgments have
/// what held of the last of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AtSending {
    /// In flight, in segments, itself included.
    pub flight: u32,
    /// Segments marked lost since the beginning, modulo 2^32.
    pub losses: u32,
    /// The application was the limit.
    pub is_application_limited: bool,
}

/// A segment that is taken for lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostSegment {
    /// Its first sequence number.
    pub begin: u32,
    /// The one behind it.
    pub end: u32,
    /// Segments marked lost since the beginning, itself included, modulo 2^32.
    pub losses: u32,
    /// What held when it was sent last.
    pub at_sending: AtSending,
}

impl RateSample {
    /// A sample that tells no rate.
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

/// An acknowledgment that an algorithm asks for, about what had come before the packet at hand (Linux
/// `bpf_tcp_send_ack`, RFC 8257 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedAcknowledgment {
    /// Its number.
    pub number: u32,
    /// It echoes a mark.
    pub echoes: bool,
}
