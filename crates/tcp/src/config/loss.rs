//! How losses are found and repaired: one switch or constant per mechanism.

use fairwind_units::Span;

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
    Forward,
}

/// When a segment that was sent again is found to be lost once more, unless by time (RACK).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostRetransmissions {
    /// When its time-out runs out (RFC 6675 §5).
    TimedOut,
    /// By reach: once something has arrived that was sent for the first time after it, or as many segments further as
    /// prove a loss where reordering was seen, or losses are not found by reach themselves
    /// ([`LossDetection::Forward`]; Linux 2.6, `LostRetransmit`).
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
    pub least_rtt_window: Span,
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
            least_rtt_window: Span::from_secs(300),
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
            detection: LossDetection::Forward,
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
