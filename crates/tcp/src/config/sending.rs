//! Sending: how written data is cut, pushed and bundled; how losses are found and repaired.
//!
//! How evenly data leaves.
//!
//! How small windows are cut.
//!
//! Old data that travels along with new data.
//!
//! How the congestion window grows, beyond the choice of an algorithm.

use fairwind_units::Span;

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
    pub min_segments: u32,
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
const MAX_SEND_BUFFER_BYTES: u32 = 4 << 20;

impl SendBufferRule {
    /// As a Linux host begins.
    pub const LINUX: Self = Self::Memory {
        overhead_bytes: BUFFER_OVERHEAD_BYTES,
        greatest: Some(MAX_SEND_BUFFER_BYTES),
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
        min_segments: 2,
        window_divisor: Some(3),
        pushed: true,
        half_window: true,
        by_time: true,
    };
}

/// Data leaves at a rate, not in bursts (Linux `sk_pacing_status`, `tcp_update_pacing_rate`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pacing {
    /// Bundles wait until the one before would be through at the rate. In Linux: once the
    /// application has set a greatest rate, or where the congestion control asks for it.
    pub enabled: bool,
    /// The application's bound on the rate in bytes per second (`SO_MAX_PACING_RATE`); `None` for no
    /// bound. The size of bundles follows it too.
    pub max_bytes_per_second: Option<u64>,
    /// The rate in slow start, in percent of a window per smoothed round trip (Linux
    /// `tcp_pacing_ss_ratio`).
    pub slow_start_percent: u16,
    /// The rate from half the slow-start threshold on (Linux `tcp_pacing_ca_ratio`).
    pub avoidance_percent: u16,
    /// The bundle with which so many segments of data were sent is the first that the next one waits
    /// for.
    pub unpaced_segments: u32,
}

impl Pacing {
    /// As Linux since 4.13; off until it is asked for.
    pub const LINUX: Self = Self {
        enabled: false,
        max_bytes_per_second: None,
        slow_start_percent: 200,
        avoidance_percent: 120,
        unpaced_segments: 10,
    };
}

/// Smart framing: a window of fewer full segments is cut into so many smaller ones, that a loss among
/// them be found by duplicate acknowledgments.
///
/// Source: M. Mellia, M. Meo, C. Casetti, "TCP Smart Framing: A Segmentation Algorithm to Reduce TCP
/// Latency", IEEE/ACM Transactions on Networking 13(2), 2005.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmartFraming {
    /// Segments that a small window is cut into.
    pub segments: u32,
}

impl SmartFraming {
    /// Four segments: one that is lost, and three behind it.
    pub const USUAL: Self = Self { segments: 4 };
}

/// Redundant data bundling (RDB): a segment of new data carries, before it, what was sent shortly before
/// and is not acknowledged yet, as far as that fits; only while few segments are in flight.
///
/// Source: B. R. Opstad et al., "Latency and Fairness Trade-Off for Thin Streams using Redundant Data
/// Bundling in TCP", LCN 2015; the authors' changes to Linux, whose parameters these are. No kernel
/// that was released has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedundantBundling {
    /// Most payload of a segment with old data in bytes (`tcp_rdb_max_bytes`); `None` for a full
    /// segment.
    pub max_bytes: Option<u32>,
    /// Most older segments that one carries (`tcp_rdb_max_packets`); `None` for as many as fit.
    pub max_segments: Option<u32>,
    /// A stream is thin while fewer segments are in flight than a sender has that writes so often within
    /// the least round trip (`tcp_thin_dpifl_itt_lower_bound`). More than zero.
    pub min_interval: Span,
}

impl RedundantBundling {
    /// The authors' defaults: one older segment, up to a full segment, streams that write every 10 ms
    /// or less often.
    pub const USUAL: Self =
        Self { max_bytes: None, max_segments: Some(1), min_interval: Span::from_millis(10) };
}

/// What `HyStart` looks at.
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
    /// What of that ends slow start (`hystart_detect`).
    pub hystart_signs: HyStartSigns,
    /// New data waits while more is in flight than the estimated bandwidth-delay product and two
    /// segments (FreeBSD 4.7 to 6, `tcp_xmit_bandwidth_limit`).
    pub inflight_limit: bool,
    /// The host remembers what its connections find out: they tell of what matters to that
    /// ([`WindowCache`](crate::WindowCache)).
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

    /// What `HyStart` looks at, where it is in use.
    pub(crate) fn hystart_in_use(self) -> Option<HyStartSigns> {
        self.hystart.then_some(self.hystart_signs)
    }

    /// Linux since 2.6.29.
    pub const fn linux() -> Self {
        Self { hystart: true, ..Self::rfc() }
    }
}

/// How a loss is found while selective acknowledgments come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossDetection {
    /// By time: a segment is lost once one sent sufficiently later has arrived (RFC 8985 §6).
    Rack,
    /// By count: [`duplicate_threshold`](crate::Config::duplicate_threshold) segments selectively
    /// acknowledged above it (RFC 6675 §4, `IsLost`).
    Rfc6675,
    /// By reach: all but the last [`duplicate_threshold`](crate::Config::duplicate_threshold)
    /// segments below the highest one selectively acknowledged, as long as no reordering was seen;
    /// by count afterwards (forward acknowledgment; Linux up to 4.14, `tcp_fack`).
    Fack,
}

/// When a segment that was sent again is found to be lost once more, unless by time (RACK).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostRetransmissions {
    /// When its time-out runs out (RFC 6675 §5).
    TimedOut,
    /// By reach: once something has arrived that was sent for the first time after it, or as many segments further as
    /// prove a loss where reordering was seen, or losses are not found by reach themselves
    /// ([`LossDetection::Fack`]; Linux 2.6, `LostRetransmit`).
    ByReach,
}

/// When the last segment of a flight is sent again without waiting for the time-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TailLossProbe {
    /// Never.
    Off,
    /// After two round trips, at least 10 ms; with one segment outstanding one and a half and 200 ms.
    /// Not while the window and the application would let new data go (Linux 3.10).
    Linux3_10,
    /// After two round trips and 2 ms; with one segment outstanding two and the least time-out
    /// (RFC 8985 §7, Linux `tcp_schedule_loss_probe`).
    Rfc8985,
}

/// How the window comes down to the new slow-start threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowReduction {
    /// At once (RFC 6675 §5 step 4.2).
    AtOnce,
    /// One segment less for every second ACK (Linux up to 3.1).
    RateHalving,
    /// In proportion to what is delivered, slow start below the threshold (RFC 6937, PRR-SSRB;
    /// Linux 3.2 to 4.2).
    Proportional,
    /// In proportion to what is delivered; below the threshold slow start only while the repair goes
    /// well (RFC 9937; Linux `tcp_cwnd_reduction`).
    ProportionalSafe,
}

/// Recovery that begins before three duplicates where fewer than four segments are outstanding
/// (RFC 5827).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EarlyRetransmit {
    /// Never.
    Off,
    /// At once.
    Immediate,
    /// After a quarter of the round trip, at least 2 ms, once reordering was seen (Linux 3.5 to 4.11).
    Delayed,
}

/// What is told from segments that arrive in another order than they were sent in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReorderingDetection {
    /// Nothing.
    Off,
    /// The threshold of duplicates follows the greatest distance seen, up to `greatest` (Linux
    /// `tcp_check_sack_reordering`).
    Measured {
        /// Greatest threshold in segments (Linux `tcp_max_reordering`).
        greatest: u32,
    },
}

/// Mechanisms that find and repair losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate mechanism, switched by name")]
pub struct LossRecovery {
    /// How a loss is found with SACK.
    pub detection: LossDetection,
    /// How the loss of a retransmission is found with SACK, where `detection` does not tell.
    pub lost_retransmissions: LostRetransmissions,
    /// RACK waits for late segments no longer than until the threshold of duplicates is reached
    /// (RFC 8985 §6.2 step 4; off: Linux `tcp_recovery` bit 2).
    pub rack_duplicate_threshold: bool,
    /// RACK waits longer after D-SACKs (RFC 8985 §6.2 step 4; off: Linux `tcp_recovery` bit 1).
    pub rack_adapts: bool,
    /// The probe for losses at the end of a flight.
    pub tail_loss_probe: TailLossProbe,
    /// Early retransmit.
    pub early_retransmit: EarlyRetransmit,
    /// How the window falls.
    pub reduction: WindowReduction,
    /// After a time-out new data is tried first, to find out whether it was spurious (RFC 5682).
    pub forward_rto: bool,
    /// A reduction proven unnecessary by timestamps (RFC 3522) or D-SACK (RFC 3708) is taken back.
    pub undo: bool,
    /// What reordering teaches.
    pub reordering: ReorderingDetection,
    /// After a time-out only segments older than a round trip are taken for lost (RFC 8985 §6.3).
    pub timeout_spares_recent: bool,
    /// Where nothing else may go in recovery, segments whose loss is not proven, and the last one
    /// once (RFC 6675 §4, `NextSeg` rules 3 and 4).
    pub speculative_retransmission: bool,
    /// How long a least round-trip time is believed (Linux `tcp_min_rtt_wlen`).
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
            reduction: WindowReduction::AtOnce,
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
            reordering: ReorderingDetection::Measured { greatest: 127 },
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
            reordering: ReorderingDetection::Measured { greatest: 300 },
            timeout_spares_recent: true,
            speculative_retransmission: false,
            ..Self::rfc()
        }
    }
}
