//! The standards alone.

use crate::config::{
    AckCounting, AckDelay, Config, CongestionAlgorithm, EcnConfig, FastOpenConfig, Growth,
    IdleRestart, LossRecovery, Nagle, PathConfig, Patience, Receiving, ReductionBase, RttRule,
    Sending, TimerRule,
};
use fairwind_units::Span;

/// Buffers that never limit a path of 250 Mbit/s and 324 ms: they are not what is studied by default.
pub(super) const AMPLE_BUFFER_BYTES: u32 = 64 << 20;

/// Nothing that is not in a standards-track RFC.
pub(super) fn rfc() -> Config {
    Config {
        mss: 1460,
        sack: true,
        timestamps: true,
        window_scaling: true,
        limited_transmit: true,
        modified_fast_retransmit: false,
        linear_timeouts: false,
        loss: LossRecovery::rfc(),
        collapse_retransmissions: false,
        growth: Growth::rfc(),
        patience: Patience::rfc(),
        sending: Sending::rfc(),
        path: PathConfig::rfc(),
        nagle: Nagle::Classic,
        ack_delay: AckDelay::EverySecond { limit: Span::from_millis(200) },
        ack_counting: AckCounting::PerAck,
        reduction_base: ReductionBase::Flight,
        idle_restart: IdleRestart::InitialWindow,
        congestion: CongestionAlgorithm::Reno,
        initial_window: 3,
        initial_window_in_bytes: true,
        initial_ssthresh: None,
        rtt_rule: RttRule::Rfc6298,
        timers: TimerRule::Exact,
        initial_rto: Span::from_secs(1),
        minimum_rto: Span::from_secs(1),
        maximum_rto: Span::from_secs(120),
        duplicate_threshold: 3,
        syn_retries: 7,
        syn_linear_retries: 0,
        lost_syns_forgiven: 0,
        retransmission_limit: 15,
        time_wait: Span::from_secs(240),
        receive_buffer: AMPLE_BUFFER_BYTES,
        receiving: Receiving::rfc(),
        send_buffer: AMPLE_BUFFER_BYTES,
        ecn: EcnConfig::when_asked(),
        fast_open: FastOpenConfig::off(),
    }
}
