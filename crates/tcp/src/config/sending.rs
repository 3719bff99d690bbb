//! What goes out when: how written data is cut, pushed and bundled.

use super::{Pacing, RedundantBundling, SmartFraming};

/// How what the application writes is gathered before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gathering {
    /// As one stream: PSH marks the end of each write that was sent to its end (RFC 9293 §3.9.1.2).
    Stream,
    /// In buffers as Linux does (`tcp_sendmsg_locked`): of whole segments, at most half the largest
    /// window of the peer, each filled before the next begins. PSH stands at the end of a buffer:
    /// where a write ended, and wherever half the largest window was written since the last PSH
    /// (`forced_push`).
    Buffers {
        /// Most bytes of one buffer (`sk_gso_max_size`).
        largest_bytes: u32,
    },
}

/// When a segment is too small for the peer's window to be worth sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SillyWindow {
    /// Unless it is full-sized, or half of the largest window, or all there is (RFC 9293 §3.8.6.2.1).
    Rfc,
    /// Unless it is full-sized or a whole buffer; a full size is at most half the largest window
    /// (Linux `tcp_snd_wnd_test`, `tcp_bound_to_half_wnd`).
    WholeBuffer,
}

/// Bundles of segments that are sent as one (TSO), and waiting for a larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bundling {
    /// A bundle carries what the pacing rate sends in `1 / 2^shift` s (Linux `sk_pacing_shift`: 10,
    /// about a millisecond).
    pub pacing_shift: u32,
    /// Where the least round trip is short, the bundle is larger: by the largest size, halved for
    /// every `2^log` µs of it (Linux `tcp_tso_rtt_log`); `None` for no such bonus.
    pub rtt_log: Option<u32>,
    /// Least segments of a bundle (Linux `tcp_min_tso_segs`).
    pub least_segments: u32,
    /// A bundle of this fraction of the window does not wait for more (Linux
    /// `tcp_tso_win_divisor`); `None`: one of more than three segments does not.
    pub window_divisor: Option<u32>,
    /// A bundle of more than one segment ends with PSH (Linux 4.20, for the receiver's offload).
    pub pushed: bool,
    /// One bundle takes half the congestion window at most, so that two are under way (Linux 4.0).
    pub half_window: bool,
    /// A bundle waits only where the last one was sent less than a millisecond ago, and the next
    /// acknowledgment is due within half a round trip or a millisecond (Linux 4.20).
    pub by_time: bool,
}

/// What room the send buffer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendBufferRule {
    /// Payload bytes count; a write is taken in part where it does not fit.
    Payload,
    /// Memory counts, as in Linux: payload, and so many bytes for every buffer, written or sent. A
    /// buffer is begun while less than the limit is in use, and then filled.
    Memory {
        /// Bytes that a buffer takes besides its payload (`truesize` of an empty one).
        overhead_bytes: u32,
        /// The buffer grows with the congestion window up to this (the third of `tcp_wmem`);
        /// `None` where the application has set a size (`SO_SNDBUF`).
        greatest: Option<u32>,
    },
}

/// The sending half's switches and constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// How what is written is gathered.
    pub gathering: Gathering,
    /// What is too small for the peer's window.
    pub silly_window: SillyWindow,
    /// Bundles of segments; `None` sends segment by segment.
    pub bundling: Option<Bundling>,
    /// Nothing less than full-sized goes (`TCP_CORK`), until a probe's time is over.
    pub cork: bool,
    /// What room the send buffer has.
    pub buffer_rule: SendBufferRule,
    /// The application is let write while fewer bytes than this are not sent yet
    /// (`TCP_NOTSENT_LOWAT`); `None` for no limit.
    pub unsent_low_water: Option<u32>,
    /// The rate of delivery is sampled, for those who ask (`tcpi_delivery_rate`).
    pub delivery_rate: bool,
    /// How evenly bundles leave.
    pub pacing: Pacing,
    /// Old data that travels along with new data; `None` for none.
    pub redundancy: Option<RedundantBundling>,
    /// How small windows are cut; `None` for full segments always.
    pub framing: Option<SmartFraming>,
}

/// Linux' bound on one bundle: 64 KiB less the headers' room, less one.
const LARGEST_BUNDLE_BYTES: u32 = 65_279;

/// Memory of a buffer without payload (`truesize` on 64-bit machines).
const BUFFER_OVERHEAD_BYTES: u32 = 832;
/// The third of Linux' `tcp_wmem`.
const GREATEST_SEND_BUFFER_BYTES: u32 = 4 << 20;

impl SendBufferRule {
    /// As a Linux host begins.
    pub const LINUX: Self = Self::Memory {
        overhead_bytes: BUFFER_OVERHEAD_BYTES,
        greatest: Some(GREATEST_SEND_BUFFER_BYTES),
    };
}

impl Sending {
    /// Segment by segment, as the standards tell.
    pub const fn rfc() -> Self {
        Self {
            gathering: Gathering::Stream,
            silly_window: SillyWindow::Rfc,
            bundling: None,
            cork: false,
            buffer_rule: SendBufferRule::Payload,
            unsent_low_water: None,
            delivery_rate: false,
            pacing: Pacing::LINUX,
            redundancy: None,
            framing: None,
        }
    }

    /// Linux 2.6.6 to 2.6.20, on a device that does not segment.
    pub const fn linux_2_6() -> Self {
        Self { bundling: None, ..Self::linux_6_18() }
    }

    /// Linux 3.16.
    pub const fn linux_3_16() -> Self {
        Self {
            bundling: Some(Bundling {
                rtt_log: None,
                pushed: false,
                half_window: false,
                by_time: false,
                ..Bundling::LINUX
            }),
            ..Self::linux_6_18()
        }
    }

    /// Linux 6.18.
    pub const fn linux_6_18() -> Self {
        Self {
            gathering: Gathering::Buffers { largest_bytes: LARGEST_BUNDLE_BYTES },
            silly_window: SillyWindow::WholeBuffer,
            bundling: Some(Bundling::LINUX),
            cork: false,
            buffer_rule: SendBufferRule::Payload,
            unsent_low_water: None,
            delivery_rate: false,
            pacing: Pacing::LINUX,
            redundancy: None,
            framing: None,
        }
    }
}

impl Bundling {
    /// As of Linux 6.18.
    pub const LINUX: Self = Self {
        pacing_shift: 10,
        rtt_log: Some(9),
        least_segments: 2,
        window_divisor: Some(3),
        pushed: true,
        half_window: true,
        by_time: true,
    };
}
