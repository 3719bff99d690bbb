//! Settings of the sending half: segmentation, send buffer, pacing, window growth, loss recovery.

use super::Config;
use super::recovery_constants::{Factor, RecoveryConstants};
use crate::sender::congestion::plugged::MIN_TSO_SEGS;
use fairwind_units::Span;

/// Buffering of written data before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gathering {
    /// As one stream: PSH marks the end of each write that was sent to its end (RFC 9293 §3.9.1.2).
    Stream,
    /// In buffers, as in Linux (`tcp_sendmsg_locked`): of whole segments, at most half the largest
    /// window of the peer, each filled before the next begins. A buffer ends with PSH at the end of
    /// a write, and after half the largest window since the last PSH (`forced_push`).
    Buffers {
        /// Maximum bytes of one buffer (`sk_gso_max_size`).
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
    /// A bundle carries the data that the pacing rate sends in `1 / 2^shift` s (Linux
    /// `sk_pacing_shift`: 10, about a millisecond).
    pub pacing_shift: u32,
    /// For a short minimum round trip the bundle is larger: by the maximum size, halved for every
    /// `2^log` µs (Linux `tcp_tso_rtt_log`); `None` for no such bonus.
    pub rtt_log: Option<u32>,
    /// Minimum segments of a bundle (Linux `tcp_min_tso_segs`).
    pub min_segments: u32,
    /// A bundle of this fraction of the window does not wait for more (Linux
    /// `tcp_tso_win_divisor`); `None`: a bundle of more than three segments does not wait.
    pub window_divisor: Option<u32>,
    /// A bundle of more than one segment ends with PSH (Linux 4.20, for the receiver's offload).
    pub pushed: bool,
    /// One bundle takes at most half the congestion window, so that two are in flight (Linux 4.0).
    pub half_window: bool,
    /// A bundle waits only if the last one was sent less than a millisecond ago and the next
    /// acknowledgment is due within half a round trip or a millisecond (Linux 4.20).
    pub by_time: bool,
}

/// Unit of the send buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendBufferRule {
    /// Payload bytes count; a write is taken in part where it does not fit.
    Payload,
    /// Memory counts, as in Linux: payload plus an overhead for every buffer, written or sent. A
    /// new buffer may begin while less than the limit is in use.
    Memory {
        /// Overhead of a buffer in bytes (`truesize` of an empty one).
        overhead_bytes: u32,
        /// The buffer grows with the congestion window up to this (the third of `tcp_wmem`);
        /// `None` where the application has set a size (`SO_SNDBUF`).
        max: Option<u32>,
    },
}

/// The sending half's switches and constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// Buffering of written data.
    pub gathering: Gathering,
    /// Avoidance of small segments for a small window.
    pub silly_window: SillyWindow,
    /// Bundles of segments; `None` sends segment by segment.
    pub bundling: Option<Bundling>,
    /// Only full-sized segments are sent (`TCP_CORK`), until the probe timer expires.
    pub cork: bool,
    /// Unit of the send buffer.
    pub buffer_rule: SendBufferRule,
    /// The application may write while fewer bytes than this are unsent (`TCP_NOTSENT_LOWAT`);
    /// `None` for no limit.
    pub unsent_low_water: Option<u32>,
    /// The delivery rate is sampled (`tcpi_delivery_rate`).
    pub delivery_rate: bool,
    /// Pacing of bundles.
    pub pacing: Pacing,
    /// Old data that travels along with new data; `None` for none.
    pub redundancy: Option<RedundantBundling>,
    /// Smart framing; `None` for full segments only.
    pub framing: Option<SmartFraming>,
}

/// Maximum size of a bundle in Linux: 64 KiB less the headers, less one.
const LARGEST_BUNDLE_BYTES: u32 = 65_279;

/// Memory of a buffer without payload (`truesize` on 64-bit machines).
const BUFFER_OVERHEAD_BYTES: u32 = 832;
/// The least that Linux' `tcp_wmem` may be (`SOCK_MIN_SNDBUF` rounded down to pages).
const MIN_SEND_MEMORY_BYTES: u64 = 4_096;
/// The third of Linux' `tcp_wmem`.
const MAX_SEND_BUFFER_BYTES: u32 = 4 << 20;

impl SendBufferRule {
    /// As a Linux host begins.
    pub const LINUX: Self =
        Self::Memory { overhead_bytes: BUFFER_OVERHEAD_BYTES, max: Some(MAX_SEND_BUFFER_BYTES) };
}

/// Memory that `bytes` of data take in Linux' send buffer, in bundles of two full segments of
/// `segment` bytes: at least what `tcp_wmem` must be.
pub fn send_memory(bytes: u64, segment: u64) -> u64 {
    let overhead = (bytes * u64::from(BUFFER_OVERHEAD_BYTES)).div_ceil(2 * segment.max(1));
    (bytes + overhead).max(MIN_SEND_MEMORY_BYTES)
}

impl Config {
    /// Sets the send buffer to `bytes` of data, and lets it grow no more; in Linux, which counts
    /// memory, to their [`send_memory`].
    pub fn set_send_buffer(&mut self, bytes: u32) {
        if self.sending.gathering == Gathering::Stream {
            self.send_buffer = bytes;
            return;
        }
        let memory = send_memory(bytes.into(), self.mss.into());
        self.send_buffer = u32::try_from(memory).unwrap_or(u32::MAX);
        self.sending.buffer_rule =
            SendBufferRule::Memory { overhead_bytes: BUFFER_OVERHEAD_BYTES, max: None };
    }
}

impl Sending {
    /// Segment by segment, as in the RFCs.
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
            ..Self::rfc()
        }
    }
}

impl Bundling {
    /// As of Linux 6.18.
    pub const LINUX: Self = Self {
        pacing_shift: 10,
        rtt_log: Some(9),
        min_segments: MIN_TSO_SEGS,
        window_divisor: Some(3),
        pushed: true,
        half_window: true,
        by_time: true,
    };
}

/// Data leaves at a rate, not in bursts (Linux `sk_pacing_status`, `tcp_update_pacing_rate`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pacing {
    /// Bundles wait for the pacing rate. In Linux: once the application has set a maximum rate, or
    /// if the congestion control requests it.
    pub enabled: bool,
    /// The application's bound on the rate in bytes per second (`SO_MAX_PACING_RATE`); `None` for no
    /// bound. The size of bundles follows it too.
    pub max_bytes_per_second: Option<u64>,
    /// The rate in slow start, in percent of a window per smoothed round trip (Linux
    /// `tcp_pacing_ss_ratio`).
    pub slow_start_percent: u16,
    /// The rate from half the slow-start threshold on (Linux `tcp_pacing_ca_ratio`).
    pub avoidance_percent: u16,
    /// Pacing begins after the bundle that contains this number of sent data segments.
    pub unpaced_segments: u32,
}

impl Pacing {
    /// As Linux since 4.13; off by default.
    pub const LINUX: Self = Self {
        enabled: false,
        max_bytes_per_second: None,
        slow_start_percent: 200,
        avoidance_percent: 120,
        unpaced_segments: 10,
    };
}

/// Smart framing: a window of fewer full segments is cut into this number of smaller ones, so that
/// duplicate ACKs can detect a loss.
///
/// Source: M. Mellia, M. Meo, C. Casetti, "TCP Smart Framing: A Segmentation Algorithm to Reduce TCP
/// Latency", IEEE/ACM Transactions on Networking 13(2), 2005.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmartFraming {
    /// Segments that a small window is cut into.
    pub segments: u32,
}

impl SmartFraming {
    /// Four segments: one lost segment, and three after it.
    pub const USUAL: Self = Self { segments: 4 };
}

/// Which streams bundle old data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BundlingStreams {
    /// Those with fewer segments in flight than a sender with the
    /// [minimum interval](RedundantBundling::min_interval) has within the minimum round trip
    /// (`tcp_thin_dpifl_itt_lower_bound`).
    Interval,
    /// Those that are thin for loss recovery ([`ThinStreams`](crate::ThinStreams)).
    Thin,
    /// All.
    All,
}

/// Redundant data bundling (RDB): a segment of new data also carries recently sent, unacknowledged data
/// before it, as far as that fits; only while few segments are in flight.
///
/// Source: B. R. Opstad et al., "Latency and Fairness Trade-Off for Thin Streams using Redundant Data
/// Bundling in TCP", LCN 2015. The parameters are those of the authors' Linux patches, which no released
/// kernel has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedundantBundling {
    /// Maximum payload of a segment with old data in bytes (`tcp_rdb_max_bytes`); `None` for a full
    /// segment.
    pub max_bytes: Option<u32>,
    /// Maximum number of older segments in one segment (`tcp_rdb_max_packets`); `None` for no
    /// limit.
    pub max_segments: Option<u32>,
    /// Which streams bundle.
    pub streams: BundlingStreams,
    /// A stream is thin while fewer segments are in flight than a sender with this write interval has
    /// within the minimum round trip (`tcp_thin_dpifl_itt_lower_bound`). More than zero.
    pub min_interval: Span,
}

impl RedundantBundling {
    /// The authors' defaults: one older segment, up to a full segment, write intervals of at least 10
    /// ms.
    pub const USUAL: Self = Self {
        max_bytes: None,
        max_segments: Some(1),
        streams: BundlingStreams::Interval,
        min_interval: Span::from_millis(10),
    };
}

/// Signals of `HyStart`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HyStartSigns {
    /// Neither.
    None,
    /// Long trains of acknowledgments.
    Trains,
    /// Late acknowledgments.
    Delay,
    /// Both.
    TrainsAndDelay,
}

/// Switches of window growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// CUBIC leaves slow start before a loss, when acknowledgments come in long trains or later than
    /// they did (`HyStart` of Linux since 2.6.29, `hystart_update`; cf. RFC 9406).
    pub hystart: bool,
    /// Signals that end slow start (`hystart_detect`).
    pub hystart_signs: HyStartSigns,
    /// New data waits while more is in flight than the estimated bandwidth-delay product and two
    /// segments (FreeBSD 4.7 to 6, `tcp_xmit_bandwidth_limit`).
    pub inflight_limit: bool,
    /// Connections report to the window cache of the host ([`WindowCache`](crate::WindowCache)).
    pub shares: bool,
}

impl Growth {
    /// Slow start ends with a loss.
    pub const fn rfc() -> Self {
        Self {
            hystart: false,
            hystart_signs: HyStartSigns::TrainsAndDelay,
            inflight_limit: false,
            shares: false,
        }
    }

    /// Signals of `HyStart`, if it is on.
    pub(crate) fn hystart_in_use(self) -> Option<HyStartSigns> {
        self.hystart.then_some(self.hystart_signs)
    }

    /// Linux since 2.6.29.
    pub const fn linux() -> Self {
        Self { hystart: true, ..Self::rfc() }
    }
}

/// Loss detection with SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossDetection {
    /// RACK, by time: a segment is lost if one sent sufficiently later has been delivered (RFC 8985
    /// §6).
    Rack,
    /// By count: [`duplicate_threshold`](crate::Config::duplicate_threshold) segments selectively
    /// acknowledged above it (RFC 6675 §4, `IsLost`).
    Rfc6675,
    /// FACK: all but the last [`duplicate_threshold`](crate::Config::duplicate_threshold) segments
    /// below the highest selectively acknowledged one are lost. After reordering, the SACK count
    /// applies (Linux up to 4.14, `tcp_fack`).
    Fack,
}

/// Detection of lost retransmissions, without RACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostRetransmissions {
    /// When its time-out runs out (RFC 6675 §5).
    TimedOut,
    /// When data first sent after the retransmission is selectively acknowledged. After reordering, or without
    /// FACK ([`LossDetection::Fack`]), that data must lie a reordering threshold further (Linux 2.6,
    /// `LostRetransmit`).
    ByReach,
}

/// Tail loss probe: retransmission of the last segment before the time-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TailLossProbe {
    /// Never.
    Off,
    /// After two round trips, at least 10 ms; with one segment outstanding after one and a half and
    /// 200 ms. Not while new data may be sent (Linux 3.10).
    Linux3_10,
    /// After two round trips and 2 ms; with one segment outstanding after two and the minimum
    /// time-out (RFC 8985 §7, Linux `tcp_schedule_loss_probe`).
    Rfc8985,
}

/// Reduction of the window to the new slow-start threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowReduction {
    /// Immediately (RFC 6675 §5 step 4.2).
    Immediate,
    /// Rate halving: one segment less for every second ACK (Linux up to 3.1).
    RateHalving,
    /// PRR: in proportion to delivered data, slow start below the threshold (RFC 6937, PRR-SSRB;
    /// Linux 3.2 to 4.2).
    Proportional,
    /// PRR: in proportion to delivered data; below the threshold slow start only while recovery
    /// makes good progress (RFC 9937; Linux `tcp_cwnd_reduction`).
    ProportionalSafe,
}

/// Recovery that begins before three duplicates where fewer than four segments are outstanding
/// (RFC 5827).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EarlyRetransmit {
    /// Never.
    Off,
    /// Immediately.
    Immediate,
    /// After [a part](LossRecovery::early_retransmit_delay) of the round trip, at least 2 ms (Linux 3.5 to
    /// 4.11).
    Delayed,
}

/// Adaptation to reordering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReorderingDetection {
    /// None.
    Off,
    /// The duplicate threshold follows the largest reordering distance, up to a maximum (Linux
    /// `tcp_check_sack_reordering`).
    Measured {
        /// Maximum threshold in segments (Linux `tcp_max_reordering`).
        max: u32,
    },
}

/// Mechanisms of loss detection and recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate mechanism, switched by name")]
pub struct LossRecovery {
    /// Loss detection with SACK.
    pub detection: LossDetection,
    /// Detection of lost retransmissions with SACK, without RACK.
    pub lost_retransmissions: LostRetransmissions,
    /// RACK stops waiting for reordered segments at the duplicate threshold (RFC 8985 §6.2 step 4;
    /// off: Linux `tcp_recovery` bit 2).
    pub rack_duplicate_threshold: bool,
    /// RACK waits longer after D-SACKs (RFC 8985 §6.2 step 4; off: Linux `tcp_recovery` bit 1).
    pub rack_adapts: bool,
    /// The probe for losses at the end of a flight.
    pub tail_loss_probe: TailLossProbe,
    /// Early retransmit.
    pub early_retransmit: EarlyRetransmit,
    /// Part of the smoothed round trip that [`EarlyRetransmit::Delayed`] waits (Linux: 1/4).
    pub early_retransmit_delay: Factor,
    /// Back-off, probes and reordering window.
    pub constants: RecoveryConstants,
    /// Window reduction.
    pub reduction: WindowReduction,
    /// F-RTO: new data first after a time-out, to detect a spurious one (RFC 5682).
    pub forward_rto: bool,
    /// A reduction proven unnecessary by timestamps (RFC 3522) or D-SACK (RFC 3708) is taken back.
    pub undo: bool,
    /// Adaptation to reordering.
    pub reordering: ReorderingDetection,
    /// A time-out marks only segments older than a round trip lost (RFC 8985 §6.3).
    pub timeout_spares_recent: bool,
    /// When nothing else may be sent in recovery, segments without proof of loss are retransmitted,
    /// and once the last one (RFC 6675 §4, `NextSeg` rules 3 and 4).
    pub speculative_retransmission: bool,
    /// Window of the minimum round-trip filter (Linux `tcp_min_rtt_wlen`).
    pub min_rtt_window: Span,
}

impl LossRecovery {
    /// Standards-track RFCs: RFC 6675, RFC 5681, RFC 6582.
    pub(crate) fn rfc() -> Self {
        Self {
            detection: LossDetection::Rfc6675,
            lost_retransmissions: LostRetransmissions::TimedOut,
            rack_duplicate_threshold: true,
            rack_adapts: true,
            tail_loss_probe: TailLossProbe::Off,
            early_retransmit: EarlyRetransmit::Off,
            early_retransmit_delay: Factor::QUARTER,
            constants: RecoveryConstants::RFC,
            reduction: WindowReduction::Immediate,
            forward_rto: false,
            undo: false,
            reordering: ReorderingDetection::Off,
            timeout_spares_recent: false,
            speculative_retransmission: true,
            min_rtt_window: Span::from_secs(300),
        }
    }

    /// Linux 2.6.6 to 2.6.20.
    pub(crate) fn linux_2_6() -> Self {
        Self {
            tail_loss_probe: TailLossProbe::Off,
            early_retransmit: EarlyRetransmit::Off,
            reduction: WindowReduction::RateHalving,
            forward_rto: false,
            lost_retransmissions: LostRetransmissions::ByReach,
            ..Self::linux_3_16()
        }
    }

    /// Linux 3.16.
    pub(crate) fn linux_3_16() -> Self {
        Self {
            detection: LossDetection::Fack,
            tail_loss_probe: TailLossProbe::Linux3_10,
            early_retransmit: EarlyRetransmit::Delayed,
            reduction: WindowReduction::Proportional,
            reordering: ReorderingDetection::Measured { max: 127 },
            timeout_spares_recent: false,
            ..Self::linux_6_18()
        }
    }

    /// Linux 6.18.
    pub(crate) fn linux_6_18() -> Self {
        Self {
            detection: LossDetection::Rack,
            tail_loss_probe: TailLossProbe::Rfc8985,
            early_retransmit: EarlyRetransmit::Off,
            reduction: WindowReduction::ProportionalSafe,
            forward_rto: true,
            undo: true,
            reordering: ReorderingDetection::Measured { max: 300 },
            timeout_spares_recent: true,
            speculative_retransmission: false,
            ..Self::rfc()
        }
    }
}
