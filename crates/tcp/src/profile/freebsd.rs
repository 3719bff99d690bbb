//! FreeBSD 5.4 and 14.

use super::standards::rfc;
use crate::config::{
    AckCounting, AckDelay, Config, CongestionAlgorithm, EcnConfig, Growth, IdleRestart,
    LossRecovery, Receiving, ReductionBase, RttRule, WindowReduction,
};
use fairwind_units::Span;

/// Added to every time-out, for hosts that delay their acknowledgments (`tcp_rexmit_slop`).
const TIMEOUT_SLOP: Span = Span::from_millis(200);

/// FreeBSD 5.4 (May 2005).
pub(super) fn freebsd_5_4() -> Config {
    Config {
        ack_delay: AckDelay::EverySecond { limit: Span::from_millis(100) },
        ack_counting: AckCounting::PerAck,
        reduction_base: ReductionBase::Window,
        idle_restart: IdleRestart::InitialWindow,
        initial_window: 1,
        rtt_rule: RttRule::Slop(TIMEOUT_SLOP),
        initial_rto: Span::from_secs(3),
        minimum_rto: Span::from_millis(30),
        maximum_rto: Span::from_secs(64),
        // As many as are sent before an attempt is given up after 75 s.
        syn_retries: 4,
        syn_linear_retries: 4,
        retransmission_limit: 12,
        time_wait: Span::from_secs(60),
        ecn: EcnConfig::off(),
        growth: Growth { inflight_limit: true, ..Growth::rfc() },
        receiving: Receiving::freebsd_5_4(),
        ..rfc()
    }
}

/// FreeBSD 14 (November 2023).
pub(super) fn freebsd_14() -> Config {
    Config {
        ack_delay: AckDelay::EverySecond { limit: Span::from_millis(40) },
        ack_counting: AckCounting::Segments,
        congestion: CongestionAlgorithm::Cubic9438,
        initial_window: 10,
        initial_rto: Span::from_secs(1),
        ecn: EcnConfig::when_asked(),
        growth: Growth::rfc(),
        receiving: Receiving::freebsd_14(),
        syn_retries: 6,
        loss: LossRecovery { reduction: WindowReduction::Proportional, ..LossRecovery::rfc() },
        ..freebsd_5_4()
    }
}
