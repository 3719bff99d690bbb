//! Named behaviours: stacks of an era, and the standards alone.
//!
//! | constant or mechanism | `rfc` | `linux-3.16` | `linux-6.18` | source |
//! |---|---|---|---|---|
//! | initial window | 3 (at MSS 1460) | 10 | 10 | RFC 5681 §3.1; Linux 2.6.39 and later |
//! | least / greatest time-out | 1 s / 120 s | 200 ms / 120 s | 200 ms / 120 s | RFC 6298 §2; `tcp.h` |
//! | time-out rule | RFC 6298 | Linux | Linux | `tcp_rtt_estimator` |
//! | SYN retries, linear first | 6, 0 | 6, 0 | 6, 4 | `tcp_syn_linear_timeouts` since 6.5 |
//! | lost SYNs that make the window start at 1 | 1 | 2 | 2 | RFC 5681 §3.1; `tcp_init_metrics` |
//! | delayed ACK | every second, 200 ms | adaptive, 16 quick, none when read | adaptive, 16 quick, none when read | RFC 5681 §4.2; `tcp_input.c`, `tcp_cleanup_rbuf` |
//! | window growth counts | ACKs | segments in slow start | segments | Linux 3.13, 4.0 |
//! | a loss reduces | the flight | the window | the window | RFC 5681 equation 4; `tcp_reno_ssthresh` |
//! | Nagle | classic | Minshall | Minshall | RFC 9293 §3.7.4; `tcp_output.c` |
//! | idle restart | initial window | halving | halving | RFC 5681 §4.1; `tcp_cwnd_restart` |
//! | retransmission collapse | no | yes | yes | `tcp_retrans_collapse` |
//! | default congestion control | Reno | CUBIC (Linux) | CUBIC (Linux) | |
//!
//! **What is missing so far.** `linux-3.16`: early retransmit, tail loss probe, FACK,
//! proportional rate reduction, F-RTO and the undo of spurious recoveries, reordering
//! detection, `HyStart`, receive-buffer auto-tuning, the CUBIC of that era where it differs
//! from today's (its clock runs on while nothing is in flight, and it allows for delayed ACKs).
//! `linux-6.18`: all of these (but FACK, early retransmit and that CUBIC, which are gone
//! there), and RACK, pacing, TSO-sized bursts, compressed SACK. `rfc`: the rescue
//! retransmission of RFC 6675 §4 (`NextSeg` rule 4), RACK and tail loss probe (RFC 8985), and a
//! second reduction of the threshold by a time-out during fast recovery. All: duplicate SACK
//! (RFC 2883), ECN (RFC 3168), keep-alive, data on SYN (and Fast Open), urgent data, the rate
//! limit of challenge ACKs and the check for ACKs that are far too old (RFC 5961 §5, §7), the
//! ageing of timestamps after 24 days of silence (RFC 7323 §5.5), path MTU discovery, a return
//! to LISTEN from SYN-RECEIVED, user time-outs. Linux gives a SYN-ACK five repetitions, here it
//! has as many as SYN. Recovery in all profiles is RFC 6675's (or RFC 6582's without SACK), and
//! the window falls to the slow-start threshold at once. `linux-6.18` has no modified fast
//! retransmit to switch on in the kernel any more; here the switch works in every profile, for
//! comparison. All profiles count the window in segments, where the RFCs count bytes; for
//! full-sized segments that is the same.

use crate::config::{
    AckCounting, AckDelay, Config, CongestionAlgorithm, IdleRestart, Nagle, ReductionBase, RttRule,
};
use fairwind_units::Span;

/// A named behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// Nothing that is not in a standards-track RFC.
    Rfc,
    /// Linux 3.16 (August 2014), the stack of the thin-stream thesis.
    Linux3_16,
    /// Linux 6.18.
    Linux6_18,
}

/// No profile has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no profile \"{name}\"; known are rfc, linux-3.16, linux-6.18")]
pub struct UnknownProfile {
    /// The name as given.
    pub name: String,
}

impl std::str::FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "rfc" => Ok(Self::Rfc),
            "linux-3.16" => Ok(Self::Linux3_16),
            "linux-6.18" => Ok(Self::Linux6_18),
            _ => Err(UnknownProfile { name: name.to_owned() }),
        }
    }
}

impl Profile {
    /// The profile's switches and constants.
    pub fn config(self) -> Config {
        match self {
            Self::Rfc => rfc(),
            Self::Linux3_16 => Config {
                ack_counting: AckCounting::SegmentsInSlowStart,
                syn_linear_retries: 0,
                ..linux()
            },
            Self::Linux6_18 => linux(),
        }
    }

    /// CUBIC as this profile computes it.
    pub fn cubic(self) -> CongestionAlgorithm {
        match self {
            Self::Rfc => CongestionAlgorithm::Cubic9438,
            Self::Linux3_16 | Self::Linux6_18 => CongestionAlgorithm::CubicLinux,
        }
    }

    /// Small segments that wait in this profile unless an application asks for no delay.
    pub fn nagle(self) -> Nagle {
        self.config().nagle
    }
}

/// Buffers that never limit a path of 250 Mbit/s and 324 ms: they are not what is studied by default.
const AMPLE_BUFFER_BYTES: u32 = 64 << 20;

fn rfc() -> Config {
    Config {
        mss: 1460,
        sack: true,
        timestamps: true,
        window_scaling: true,
        limited_transmit: true,
        modified_fast_retransmit: false,
        linear_timeouts: false,
        collapse_retransmissions: false,
        nagle: Nagle::Classic,
        ack_delay: AckDelay::EverySecond { limit: Span::from_millis(200) },
        ack_counting: AckCounting::PerAck,
        reduction_base: ReductionBase::Flight,
        idle_restart: IdleRestart::InitialWindow,
        congestion: CongestionAlgorithm::Reno,
        initial_window: 3,
        initial_ssthresh: None,
        rtt_rule: RttRule::Rfc6298,
        initial_rto: Span::from_secs(1),
        minimum_rto: Span::from_secs(1),
        maximum_rto: Span::from_secs(120),
        duplicate_threshold: 3,
        syn_retries: 6,
        syn_linear_retries: 0,
        lost_syns_forgiven: 0,
        retransmission_limit: 15,
        time_wait: Span::from_secs(240),
        receive_buffer: AMPLE_BUFFER_BYTES,
        send_buffer: AMPLE_BUFFER_BYTES,
    }
}

fn linux() -> Config {
    Config {
        collapse_retransmissions: true,
        nagle: Nagle::Minshall,
        ack_delay: AckDelay::Adaptive { quick_segments: 16 },
        ack_counting: AckCounting::Segments,
        reduction_base: ReductionBase::Window,
        idle_restart: IdleRestart::Halving,
        congestion: CongestionAlgorithm::CubicLinux,
        initial_window: 10,
        rtt_rule: RttRule::Linux,
        minimum_rto: Span::from_millis(200),
        syn_linear_retries: 4,
        lost_syns_forgiven: 1,
        time_wait: Span::from_secs(60),
        ..rfc()
    }
}
