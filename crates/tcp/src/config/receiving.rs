//! Settings of the receiving half.

use fairwind_units::Span;

/// Unit of the receive buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BufferAccounting {
    /// Payload bytes: the window is the free part, advanced in useful steps (RFC 9293 §3.8.6.2.2).
    Payload,
    /// Memory of packets, overhead included, as in Linux 6.18. The buffer is twice
    /// [`Config::receive_buffer`](crate::Config::receive_buffer) bytes of memory. The window is a share of it
    /// that depends on the overhead of packets (`tcp_win_from_space`, `tcp_grow_window`,
    /// `__tcp_select_window`).
    Memory,
}

/// Merging the acknowledgments of segments that arrive out of order (Linux 4.18,
/// `__tcp_ack_snd_check`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckCompression {
    /// Maximum delay of an acknowledgment; a twentieth of the round trip if that is less
    /// (`tcp_comp_sack_delay_ns`).
    pub delay: Span,
    /// Slack of the timer (`tcp_comp_sack_slack_ns`).
    pub slack: Span,
    /// Most acknowledgments that are merged into one (`tcp_comp_sack_nr`); none for 0.
    pub max_acks: u32,
}

/// Treatment of an acknowledgment number below the oldest unacknowledged one, or above all sent
/// data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AckAcceptance {
    /// A lower one is a duplicate, whose text is accepted; a higher one is answered with an ACK
    /// (RFC 9293 §3.10.7.4).
    Range,
    /// Also, one that is lower by more than the largest window is forged: it is answered with a
    /// challenge ACK, and its text is dropped (RFC 5961 §5.2). The same holds for a higher one
    /// (Linux 6.18 `tcp_ack`).
    Recent,
}

/// Treatment of a reset or a SYN within the window of an open connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlAcceptance {
    /// Either ends it; a SYN is answered with a reset (RFC 793 §3.9).
    Window,
    /// A reset must have exactly the next number, others are dropped; a SYN ends the connection
    /// (FreeBSD 5.3).
    ExactReset,
    /// A reset with another than the next number, and any SYN, is answered with a challenge ACK
    /// (RFC 5961 §3, §4).
    Challenged,
}

/// Treatment of a bare ACK with an old timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DisorderedAcks {
    /// Like every old segment, it is answered and dropped (RFC 7323 §5.3).
    Refused,
    /// One without new information is accepted, because ACKs may be reordered (Linux
    /// `tcp_disordered_ack`).
    Taken,
    /// Also, one from before the next number is dropped without an answer (Linux 6.14).
    TakenOrDropped,
}

/// Protection against wrapped sequence numbers by timestamps (RFC 7323 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampRule {
    /// Age at which a timestamp is no longer compared (RFC 7323 §5.5).
    pub life: Span,
    /// Tolerated age of a timestamp in ticks (Linux `TCP_PAWS_WINDOW`).
    pub tolerated_ticks: i32,
    /// Old bare ACKs.
    pub disordered_acks: DisorderedAcks,
}

impl TimestampRule {
    /// As RFC 7323 has it, for a clock of milliseconds.
    pub const RFC: Self = Self {
        life: Span::from_secs(24 * 24 * 3600),
        tolerated_ticks: 0,
        disordered_acks: DisorderedAcks::Refused,
    };
    /// Linux of old.
    pub const LINUX_3_16: Self =
        Self { tolerated_ticks: 1, disordered_acks: DisorderedAcks::Taken, ..Self::RFC };
    /// Linux 6.18, whose microsecond clock wraps earlier (`TCP_PAWS_WRAP`).
    pub const LINUX_6_18: Self = Self {
        life: Span::from_secs(2147),
        disordered_acks: DisorderedAcks::TakenOrDropped,
        ..Self::LINUX_3_16
    };
}

/// Settings of the receiving half: acceptance, buffer, window, acknowledgments.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate mechanism, switched by name")]
pub struct Receiving {
    /// Unit of the receive buffer.
    pub accounting: BufferAccounting,
    /// Receive-buffer autotuning (`tcp_moderate_rcvbuf`, `tcp_rcv_space_adjust`); only for a buffer
    /// that counts memory.
    pub tuning: bool,
    /// Autotuning counts data as read when the last segment came or went (`tcp_mstamp`), as in Linux 7.3; up to 6.18
    /// `tcp_rcv_space_adjust` reads the clock.
    pub tunes_by_cached_clock: bool,
    /// Maximum buffer of autotuning in bytes of memory (third number of `tcp_rmem`); the window
    /// shift of a SYN covers it.
    pub max_buffer: u32,
    /// Maximum buffer that an application may request in bytes (`net.core.rmem_max`); the window
    /// shift covers it too.
    pub max_request: u32,
    /// The application has set the size (`SO_RCVBUF`): it does not change by itself.
    pub buffer_is_set: bool,
    /// Largest window to offer, in bytes (`TCP_WINDOW_CLAMP`).
    pub window_clamp: Option<u32>,
    /// Window offered on the SYN in segments (route metric `initrwnd`, `tcp_default_init_rwnd` of Linux
    /// before 4.19).
    pub initial_window: Option<u32>,
    /// Whether the right edge of a scaled window may move back (`tcp_shrink_window`).
    pub shrinks: bool,
    /// Bytes of payload that wake a reader (`SO_RCVLOWAT`): with fewer, an ACK does not wait for the
    /// window to move.
    pub low_water: u32,
    /// Report duplicate segments in SACK options (RFC 2883; `tcp_dsack`).
    pub duplicate_sack: bool,
    /// A SACK block reports a whole contiguous range even if four newer blocks have displaced its
    /// block (RFC 2018 §4); Linux forgets such a block.
    pub whole_blocks: bool,
    /// Acknowledgments of disorder that are merged.
    pub compression: Option<AckCompression>,
    /// Number of replies soon after received data that make a connection interactive
    /// (`tcp_pingpong_thresh`).
    pub interactive_threshold: u32,
    /// A connection starts as interactive (`TCP_QUICKACK` off before it): the last ACK of the
    /// handshake waits for data.
    pub starts_interactive: bool,
    /// Minimum interval between ACKs that answer unacceptable segments without data
    /// (`tcp_invalid_ratelimit`); zero for no limit.
    pub rejection_interval: Span,
    /// Maximum number of challenge ACKs per second (`tcp_challenge_ack_limit`, RFC 5961 §7).
    pub challenge_limit: Option<u32>,
    /// Which acknowledgment numbers are acceptable.
    pub acknowledgments: AckAcceptance,
    /// Treatment of a reset or a SYN within the window.
    pub control: ControlAcceptance,
    /// Treatment of old timestamps.
    pub stamps: TimestampRule,
    /// A reset at the right edge of out-of-order data also ends the connection, and so does one before
    /// the next number after the peer's FIN (`tcp_validate_incoming` since Linux 4.7 and 4.10).
    pub reset_at_edges: bool,
    /// How long an orphan waits for the peer's FIN (`tcp_fin_timeout`, `TCP_LINGER2`); `None`: it is
    /// reset immediately.
    pub finish_timeout: Option<Span>,
    /// Repetitions of a SYN-ACK before giving up (`tcp_synack_retries`).
    pub syn_ack_retries: u32,
    /// A wrong acknowledgment of our first SYN comes from an old connection, which our reset ends:
    /// the SYN is retransmitted immediately (`tcp_rcv_synsent_state_process`).
    pub repeats_syn_after_reset: bool,
    /// Time-outs of SYN-ACK during which a bare ACK does not end the handshake (`TCP_DEFER_ACCEPT`).
    pub deferred_timeouts: u32,
    /// A reset does not end TIME-WAIT (RFC 1337; `tcp_rfc1337`).
    pub waits_through_resets: bool,
    /// Urgent data stays in line (`SO_OOBINLINE`).
    pub urgent_in_line: bool,
    /// Payload size of the segments from which the host merged larger ones (`gso_size`); the estimate
    /// of the peer's segment size uses it. `None`: segments are not merged.
    pub merged_from: Option<u32>,
    /// A reset within the window of SYN-RECEIVED, but not at its beginning, is challenged (RFC 9293
    /// §3.10.7.4; `tcp_check_req` since Linux 7).
    pub challenges_half_open: bool,
    /// Segments are taken up to the furthest number that was ever offered, though the window has shrunk
    /// (RFC 7323 §2.4; `tcp_max_receive_window` since Linux 7).
    pub takes_ever_offered: bool,
    /// A packet is taken while the buffer is not overfull, not only where the buffer has room for its payload
    /// (`tcp_can_ingest` since Linux 7).
    pub allows_overcommit: bool,
    /// A listening end keeps no state of a SYN beyond the numbers and timestamps of its SYN-ACK
    /// (`tcp_syncookies` = 2).
    pub syn_cookies: bool,
}

/// Memory of a receive buffer that never limits a path of 250 Mbit/s and 324 ms.
const AMPLE_MEMORY_BYTES: u32 = 128 << 20;

/// Minimum memory of a receive buffer (`SOCK_MIN_RCVBUF`).
pub(crate) const MIN_BUFFER: u32 = 2304;

impl Receiving {
    /// Only the requirements of RFC 9293 and related RFCs.
    pub fn rfc() -> Self {
        Self {
            acknowledgments: AckAcceptance::Recent,
            control: ControlAcceptance::Challenged,
            challenge_limit: Some(10),
            ..Self::plain()
        }
    }

    /// As RFC 9293 has it, before blind attacks were a concern.
    pub(crate) fn plain() -> Self {
        Self {
            accounting: BufferAccounting::Payload,
            tuning: false,
            tunes_by_cached_clock: false,
            max_buffer: 0,
            max_request: 0,
            buffer_is_set: false,
            window_clamp: None,
            initial_window: None,
            shrinks: false,
            low_water: 1,
            duplicate_sack: true,
            whole_blocks: true,
            compression: None,
            interactive_threshold: 1,
            starts_interactive: false,
            rejection_interval: Span::ZERO,
            challenge_limit: None,
            acknowledgments: AckAcceptance::Range,
            control: ControlAcceptance::Window,
            stamps: TimestampRule::RFC,
            reset_at_edges: false,
            finish_timeout: Some(Span::from_secs(120)),
            syn_ack_retries: 7,
            repeats_syn_after_reset: false,
            deferred_timeouts: 0,
            waits_through_resets: false,
            urgent_in_line: false,
            merged_from: None,
            challenges_half_open: false,
            takes_ever_offered: false,
            allows_overcommit: false,
            syn_cookies: false,
        }
    }

    /// Linux before acknowledgments of disorder were merged.
    pub fn linux_3_16() -> Self {
        Self {
            initial_window: Some(20),
            compression: None,
            rejection_interval: Span::ZERO,
            challenge_limit: Some(100),
            stamps: TimestampRule::LINUX_3_16,
            reset_at_edges: false,
            repeats_syn_after_reset: false,
            ..Self::linux_6_18()
        }
    }

    /// Linux before RFC 5961.
    pub(crate) fn linux_2_6() -> Self {
        Self {
            acknowledgments: AckAcceptance::Range,
            control: ControlAcceptance::Window,
            challenge_limit: None,
            initial_window: Some(4),
            ..Self::linux_3_16()
        }
    }

    pub(crate) fn freebsd_5_4() -> Self {
        Self {
            control: ControlAcceptance::ExactReset,
            duplicate_sack: false,
            finish_timeout: Some(Span::from_secs(60)),
            syn_ack_retries: 3,
            ..Self::plain()
        }
    }

    pub(crate) fn freebsd_14() -> Self {
        Self { control: ControlAcceptance::Challenged, duplicate_sack: true, ..Self::freebsd_5_4() }
    }

    /// Linux 7.3.
    pub fn linux_7_3() -> Self {
        Self {
            tunes_by_cached_clock: true,
            challenges_half_open: true,
            takes_ever_offered: true,
            allows_overcommit: true,
            ..Self::linux_6_18()
        }
    }

    /// Linux 6.18.
    pub fn linux_6_18() -> Self {
        Self {
            accounting: BufferAccounting::Memory,
            tuning: true,
            max_buffer: AMPLE_MEMORY_BYTES,
            max_request: 4 << 20,
            whole_blocks: false,
            compression: Some(AckCompression {
                delay: Span::from_millis(1),
                slack: Span::from_micros(100),
                max_acks: 44,
            }),
            rejection_interval: Span::from_millis(500),
            acknowledgments: AckAcceptance::Recent,
            control: ControlAcceptance::Challenged,
            stamps: TimestampRule::LINUX_6_18,
            reset_at_edges: true,
            finish_timeout: Some(Span::from_secs(60)),
            syn_ack_retries: 5,
            repeats_syn_after_reset: true,
            ..Self::plain()
        }
    }
}
