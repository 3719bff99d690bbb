//! Switches and constants of the receiving half.

use fairwind_units::Span;

/// What a receive buffer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BufferAccounting {
    /// Payload bytes: the window is what is free of them, moved on in worthwhile steps
    /// (RFC 9293 §3.8.6.2.2).
    Payload,
    /// The memory that packets take, overhead included, as Linux 6.18 counts it: the buffer is twice
    /// [`Config::receive_buffer`](crate::Config::receive_buffer) bytes of memory, of which the window is a share that follows from how
    /// well packets use theirs (`tcp_win_from_space`, `tcp_grow_window`, `__tcp_select_window`).
    Memory,
}

/// Merging the acknowledgments of segments that arrive out of order (Linux 4.18,
/// `__tcp_ack_snd_check`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckCompression {
    /// Longest time that one waits; a twentieth of the round trip where that is less
    /// (`tcp_comp_sack_delay_ns`).
    pub delay: Span,
    /// What timers may add to it (`tcp_comp_sack_slack_ns`).
    pub slack: Span,
    /// Most acknowledgments that are merged into one (`tcp_comp_sack_nr`); none for 0.
    pub most: u32,
}

/// What an acknowledgment number does that is below the oldest unacknowledged one, or above all that
/// was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AckAcceptance {
    /// What is below is a duplicate whose text counts, and what is above is answered by an ACK (RFC
    /// 9293 §3.10.7.4).
    Range,
    /// Besides, one that is further below than the largest window is forged: it is answered by a
    /// challenge ACK, and its text dropped (RFC 5961 §5.2). What is above is answered likewise
    /// (Linux 6.18 `tcp_ack`).
    Recent,
}

/// What a reset or a SYN does that lies in the window of an open connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlAcceptance {
    /// Either ends it; a SYN is answered by a reset (RFC 793 §3.9).
    Window,
    /// A reset must stand at exactly the next number and is dropped elsewhere; a SYN ends the
    /// connection (FreeBSD 5.3).
    ExactReset,
    /// A reset elsewhere than at the next number, and any SYN, is answered by a challenge ACK
    /// (RFC 5961 §3, §4).
    Challenged,
}

/// What becomes of a bare ACK with an old timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DisorderedAcks {
    /// What becomes of every old segment: it is answered and dropped (RFC 7323 §5.3).
    Refused,
    /// One that tells nothing new is taken, since ACKs overtake each other where paths are not equally
    /// long (Linux `tcp_disordered_ack`).
    Taken,
    /// Besides, one from before the next number is dropped without an answer (Linux 6.14).
    TakenOrDropped,
}

/// Protection against wrapped sequence numbers by timestamps (RFC 7323 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampRule {
    /// After so long without news a timestamp says nothing any more (RFC 7323 §5.5).
    pub life: Span,
    /// Ticks by which a timestamp may be older (Linux `TCP_PAWS_WINDOW`).
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
    /// Linux 6.18, in whose time a clock of microseconds may wrap (`TCP_PAWS_WRAP`).
    pub const LINUX_6_18: Self = Self {
        life: Span::from_secs(2147),
        disordered_acks: DisorderedAcks::TakenOrDropped,
        ..Self::LINUX_3_16
    };
}

/// The receiving half of an endpoint: which segments it accepts, what it holds and offers.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate mechanism, switched by name")]
pub struct Receiving {
    /// What the receive buffer counts.
    pub accounting: BufferAccounting,
    /// Whether the buffer grows with what the application reads per round trip
    /// (`tcp_moderate_rcvbuf`, `tcp_rcv_space_adjust`); only where it counts memory.
    pub tuning: bool,
    /// Greatest size that tuning gives the buffer, in bytes of memory (third number of `tcp_rmem`);
    /// the window shift on a SYN covers it.
    pub max_buffer: u32,
    /// Greatest size that an application may ask for, in bytes (`net.core.rmem_max`); the window
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
    /// A SACK block tells of a whole contiguous range even if the block that it belonged to was
    /// pushed out by four newer ones (RFC 2018 §4); Linux forgets such a block and begins anew.
    pub whole_blocks: bool,
    /// Acknowledgments of disorder that are merged.
    pub compression: Option<AckCompression>,
    /// Data sent that soon after data received makes a connection interactive only after so many
    /// times (`tcp_pingpong_thresh`).
    pub interactive_threshold: u32,
    /// A connection is taken for interactive from the beginning (`TCP_QUICKACK` off before it began):
    /// the last ACK of the handshake waits for data to carry it.
    pub starts_interactive: bool,
    /// Least time between two ACKs that answer unacceptable segments without data
    /// (`tcp_invalid_ratelimit`); none for zero.
    pub rejection_interval: Span,
    /// Challenge ACKs per second at most (`tcp_challenge_ack_limit`, RFC 5961 §7).
    pub challenge_limit: Option<u32>,
    /// Which acknowledgment numbers are acceptable.
    pub acknowledgments: AckAcceptance,
    /// What a reset or a SYN within the window does.
    pub control: ControlAcceptance,
    /// What old timestamps do.
    pub stamps: TimestampRule,
    /// A reset ends the connection at the right edge of what was received out of order, too, and one
    /// before the next number after the peer's FIN (`tcp_validate_incoming` since Linux 4.7 and 4.10).
    pub reset_at_edges: bool,
    /// How long an orphan waits for the peer's FIN (`tcp_fin_timeout`, `TCP_LINGER2`); `None` not at
    /// all: it is reset instead.
    pub finish_timeout: Option<Span>,
    /// Repetitions of a SYN-ACK before giving up (`tcp_synack_retries`).
    pub syn_ack_retries: u32,
    /// An answer to our first SYN that acknowledges something else is the sign of an old connection
    /// that our reset ends: the SYN is repeated at once (`tcp_rcv_synsent_state_process`).
    pub repeats_syn_after_reset: bool,
    /// Time-outs of SYN-ACK during which a bare ACK does not end the handshake (`TCP_DEFER_ACCEPT`).
    pub deferred_timeouts: u32,
    /// A reset does not end TIME-WAIT (RFC 1337; `tcp_rfc1337`).
    pub waits_through_resets: bool,
    /// Urgent data stays in line (`SO_OOBINLINE`).
    pub urgent_in_line: bool,
    /// Larger segments were merged on their way up the host from ones of so many bytes of payload
    /// (`gso_size`), which is what the peer's segment size is estimated from; `None`: none is merged.
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
    /// A listening end keeps nothing of a SYN but what its SYN-ACK's numbers and timestamps have room for
    /// (`tcp_syncookies` = 2).
    pub syn_cookies: bool,
}

/// Memory of a receive buffer that never limits a path of 250 Mbit/s and 324 ms.
const AMPLE_MEMORY_BYTES: u32 = 128 << 20;

/// Least memory of a receive buffer (`SOCK_MIN_RCVBUF`).
pub(crate) const MIN_BUFFER: u32 = 2304;

impl Receiving {
    /// What RFC 9293 and its companions ask for, and nothing else.
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

    /// FreeBSD 5.4.
    pub(crate) fn freebsd_5_4() -> Self {
        Self {
            control: ControlAcceptance::ExactReset,
            duplicate_sack: false,
            finish_timeout: Some(Span::from_secs(60)),
            syn_ack_retries: 3,
            ..Self::plain()
        }
    }

    /// FreeBSD 14.
    pub(crate) fn freebsd_14() -> Self {
        Self { control: ControlAcceptance::Challenged, duplicate_sack: true, ..Self::freebsd_5_4() }
    }

    /// Linux 7.3.
    pub fn linux_7_3() -> Self {
        Self {
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
                most: 44,
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
