//! Linux, from 2.6 to 6.18.

use super::standards::rfc;
use crate::config::{
    AckCounting, AckDelay, Config, CongestionAlgorithm, EcnConfig, FastOpenConfig, Growth,
    IdleRestart, LossRecovery, Nagle, Patience, Receiving, ReductionBase, RttRule, Sending,
    TimerRule,
};
use fairwind_units::Span;

/// Linux 2.6.6 to 2.6.20.
pub(super) fn linux_2_6() -> Config {
    Config {
        ack_counting: AckCounting::PerAck,
        growth: Growth::rfc(),
        sending: Sending::linux_2_6(),
        congestion: CongestionAlgorithm::Bic,
        initial_window: 3,
        initial_rto: Span::from_secs(3),
        syn_retries: 5,
        lost_syns_forgiven: 0,
        ecn: EcnConfig::off(),
        fast_open: FastOpenConfig::off(),
        loss: LossRecovery::linux_2_6(),
        receiving: Receiving::linux_2_6(),
        ..linux_3_16()
    }
}

/// Linux 3.16 (August 2014).
pub(super) fn linux_3_16() -> Config {
    Config {
        ack_counting: AckCounting::SegmentsInSlowStart,
        sending: Sending::linux_3_16(),
        syn_linear_retries: 0,
        receive_buffer: OLD_RECEIVE_MEMORY_BYTES / 2,
        receiving: Receiving::linux_3_16(),
        loss: LossRecovery::linux_3_16(),
        ..linux_6_18()
    }
}

/// Linux 6.18.
pub(super) fn linux_6_18() -> Config {
    Config {
        loss: LossRecovery::linux_6_18(),
        collapse_retransmissions: true,
        growth: Growth::linux(),
        patience: Patience::linux(),
        sending: Sending::linux_6_18(),
        nagle: Nagle::Minshall,
        ack_delay: AckDelay::Adaptive { quick_segments: 16 },
        ack_counting: AckCounting::Segments,
        reduction_base: ReductionBase::Window,
        idle_restart: IdleRestart::Halving,
        congestion: CongestionAlgorithm::CubicLinux,
        initial_window: 10,
        initial_window_in_bytes: false,
        rtt_rule: RttRule::Linux,
        minimum_rto: Span::from_millis(200),
        syn_retries: 6,
        syn_linear_retries: 4,
        lost_syns_forgiven: 1,
        time_wait: Span::from_secs(60),
        fast_open: FastOpenConfig::from_bits(1),
        receive_buffer: RECEIVE_MEMORY_BYTES / 2,
        receiving: Receiving::linux_6_18(),
        ..rfc()
    }
}

/// What the receive buffer of a socket begins with (second number of `tcp_rmem`), in bytes of memory.
const RECEIVE_MEMORY_BYTES: u32 = 131_072;
/// The same before Linux 4.20.
const OLD_RECEIVE_MEMORY_BYTES: u32 = 87_380;
/// What it grows to in a system as it comes (third number of `tcp_rmem`), in bytes of memory.
const GREATEST_RECEIVE_MEMORY_BYTES: u32 = 32 << 20;

/// Time between ticks of the clock of timers (`CONFIG_HZ` = 250, which most distributions choose).
const TICK: Span = Span::from_millis(4);

/// Timers since Linux 4.8.
pub(super) const WHEEL: TimerRule = TimerRule::Wheel { tick: TICK };

/// Linux 6.18 with the limits of a system as it comes.
pub(super) fn with_system_buffers(mut config: Config) -> Config {
    config.receiving.greatest_buffer = GREATEST_RECEIVE_MEMORY_BYTES;
    config
}
