//! Profiles: configurations of TCP stacks, and of the RFCs alone.
//!
//! | constant or mechanism | `rfc` | `linux-2.6` | `linux-3.16` | `linux-6.18` | `freebsd-5.4` | `freebsd-14` | source |
//! |---|---|---|---|---|---|---|---|
//! | initial window | 3 (at MSS 1460) | 3 | 10 | 10 | 1 | 10 | RFC 5681 §3.1; Linux 2.6.39 (RFC 6928); `slowstart_flightsize`; FreeBSD 10 |
//! | the same in bytes | 4380 | no limit | no limit | no limit | 1460 | 14600 | RFC 5681 §3.1, RFC 6928 §2; at least two segments |
//! | time-out before a sample | 1 s | 3 s | 1 s | 1 s | 3 s | 1 s | RFC 6298 §2.1; Linux 3.1; `TCPTV_RTOBASE` |
//! | minimum / maximum time-out | 1 s / 120 s | 200 ms / 120 s | 200 ms / 120 s | 200 ms / 120 s | 30 ms / 64 s | 30 ms / 64 s | RFC 6298 §2; `tcp.h`; `tcp_timer.h` |
//! | timers of hosts ([`Profile::timers`]) expire | exactly | exactly | exactly | with ticks of 4 ms, waits from 252 ms on in buckets | exactly | exactly | `calc_wheel_index`; Linux 4.8 |
//! | time-out rule | RFC 6298 | Linux | Linux | Linux | and 200 ms slop | and 200 ms slop | `tcp_rtt_estimator`; `tcp_rexmit_slop` |
//! | SYN retries, linear first | 7, 0 | 5, 0 | 6, 0 | 6, 4 | 4, 4 | 6, 4 | RFC 9293 §3.8.3 (3 minutes); `tcp_syn_linear_timeouts` since 6.5; `tcp_syn_backoff` within 75 s |
//! | ACK below the largest window | challenged | taken | challenged | challenged | taken | taken | RFC 5961 §5.2; `tcp_ack` since Linux 3.8 |
//! | reset or SYN elsewhere in the window | challenged | ends it | challenged | challenged | dropped; ends it | challenged | RFC 793 §3.9; RFC 5961 §3, §4, Linux 3.8, FreeBSD 5.3 and 11 |
//! | reset at the edge of out-of-order data, or after FIN | no | no | no | ends it | no | no | `tcp_reset_check`, Linux 4.7, 4.10 |
//! | challenge ACKs per second | 10 | none | 100 | no limit | none | no limit | RFC 5961 §7; `tcp_challenge_ack_limit` |
//! | lifetime of timestamps | 24 days | 24 days | 24 days | 36 minutes | 24 days | 24 days | RFC 7323 §5.5; `TCP_PAWS_WRAP` |
//! | tolerated age of timestamps | 0 | 1 tick | 1 tick | 1 tick | 0 | 0 | `TCP_PAWS_WINDOW` |
//! | ACK with an old timestamp | answered | accepted without new information | accepted without new information | accepted without new information, dropped if older | answered | answered | RFC 7323 §5.3; `tcp_disordered_ack_check` |
//! | lost SYNs that reduce the initial window to 1 | 1 | 1 | 2 | 2 | 1 | 1 | RFC 5681 §3.1; `tcp_init_metrics` |
//! | delayed ACK | every second, 200 ms | adaptive, 16 quick ACKs, immediate after reads | as 2.6 | as 2.6 | every second, 100 ms | every second, 40 ms | RFC 5681 §4.2; `tcp_input.c`, `tcp_cleanup_rbuf`; `tcp_delacktime` |
//! | window growth counts | ACKs | ACKs | segments in slow start | segments | ACKs | segments | Linux 3.13, 4.0; RFC 3465 |
//! | base of the decrease | the flight | the window | the window | the window | the window | the window | RFC 5681 equation 4; `tcp_reno_ssthresh` |
//! | Nagle | classic | Minshall | Minshall | Minshall | classic | classic | RFC 9293 §3.7.4; `tcp_output.c` |
//! | PSH | at the end of a write | and every half window | as 2.6 | as 2.6 | at the end of a write | as 5.4 | RFC 9293 §3.9.1.2; `forced_push` |
//! | segments too small for the window | RFC 9293 | less than a segment | as 2.6 | as 2.6 | RFC 9293 | as 5.4 | RFC 9293 §3.8.6.2.1; `tcp_snd_wnd_test`, `tcp_bound_to_half_wnd` |
//! | TSO bundles | no | no | yes | yes | no | no | `tcp_tso_autosize`, `tcp_tso_should_defer` |
//! | pacing: windows per round trip in slow start, afterwards | on request: 2, 1.2 | as `rfc` | as `rfc` | with `SO_MAX_PACING_RATE`: 2, 1.2 | as `rfc` | as `rfc` | `tcp_update_pacing_rate`; Linux 4.13 |
//! | retransmissions of an orphan | no separate limit | 8 | 8 | 8 | no separate limit | as 5.4 | `tcp_orphan_retries` |
//! | receive buffer counts | payload | memory | memory | memory | payload | payload | `sk_rmem_alloc` |
//! | initial and maximum receive buffer | 64 MiB | 85 KiB, 128 MiB | 85 KiB, 128 MiB | 128 KiB, 128 MiB | 64 MiB | 64 MiB | `tcp_rmem` (ample maximum, except in [`Profile::system_config`]), `tcp_moderate_rcvbuf` since Linux 2.6.7 |
//! | initial receive window, in segments | no limit | 4 | 20 | no limit | no limit | no limit | `tcp_select_initial_window`, `tcp_default_init_rwnd` |
//! | immediate ACKs while the window grows | no | yes | yes | yes | no | no | `tcp_grow_window` |
//! | ACK compression | no | no | no | after three, 1 ms | no | no | `tcp_comp_sack_delay_ns`; Linux 4.18 |
//! | D-SACK (RFC 2883) | yes | yes | yes | yes | no | yes | `tcp_dsack`; FreeBSD 13 |
//! | answers to unacceptable segments | all | all | all | twice a second without data | all | all | `tcp_invalid_ratelimit`; Linux 4.0 |
//! | SYN-ACK retries | 7 | 5 | 5 | 5 | 3 | 3 | RFC 9293 §3.8.3; `tcp_synack_retries`; `net.inet.tcp.syncache.rexmtlimit` |
//! | TIME-WAIT | 240 s | 60 s | 60 s | 60 s | 60 s | 60 s | RFC 9293 §3.4.2; `TCP_TIMEWAIT_LEN`; two `net.inet.tcp.msl` |
//! | attempts before giving up | 15 | 15 | 15 | 15 | 12 | 12 | RFC 9293 §3.8.3; `tcp_retries2`; `TCP_MAXRXTSHIFT` |
//! | idle restart | initial window | halving | halving | halving | initial window | initial window | RFC 5681 §4.1; `tcp_cwnd_restart` |
//! | flight limited by estimated bandwidth | no | no | no | no | yes | no | `tcp_xmit_bandwidth_limit` |
//! | loss detection | SACK count | FACK | FACK | RACK | SACK count | SACK count | RFC 6675 §4; `tcp_fack` up to 4.14; RFC 8985 §6 |
//! | detection of lost retransmissions | time-out | overtaken by new data | time-out | RACK | time-out | time-out | RFC 6675 §5; `tcp_sacktag_write_queue`; RFC 8985 §6 |
//! | tail loss probe | no | no | as of 3.10 | RFC 8985 §7 | no | no | `tcp_schedule_loss_probe` |
//! | early retransmit | no | no | delayed | no | no | no | RFC 5827; Linux 3.5 to 4.11 |
//! | window reduction | immediate | rate halving | PRR (RFC 6937) | PRR (RFC 9937) | immediate | PRR | `tcp_cwnd_down`, `tcp_cwnd_reduction` |
//! | F-RTO | no | no | yes | yes | no | no | RFC 5682; `tcp_frto` |
//! | undo of spurious reductions | no | yes | yes | yes | no | no | RFC 3522, RFC 3708; `tcp_try_undo_recovery` |
//! | adaptation to reordering, up to | no | 127 | 127 | 300 | no | no | `tcp_check_sack_reordering` |
//! | marked lost by a time-out | all | all | all | all but the last round trip | all | all | RFC 6675 §5.1; RFC 8985 §6.3 |
//! | speculative retransmission | yes, and rescue | no | no | no | as `rfc` | as `rfc` | RFC 6675 §4, `NextSeg` rules 3 and 4 |
//! | retransmission collapse | no | yes | yes | yes | no | no | `tcp_retrans_collapse` |
//! | ECN (RFC 3168) | on request | no | on request | on request | no | on request | `tcp_ecn` = 2 since Linux 2.6.31; `net.inet.tcp.ecn.enable` = 2 since FreeBSD 11 |
//! | Fast Open (RFC 7413) | no | no | client | client | no | no | `tcp_fastopen` = 1 since Linux 3.13 |
//! | `HyStart` | no | no | yes | yes | no | no | `hystart_update`; Linux 2.6.29 |
//! | default congestion control | Reno | BIC | CUBIC (Linux) | CUBIC (Linux) | Reno | CUBIC | Linux 2.6.8, 2.6.19; FreeBSD 14 |
//!
//! **`linux-7.3`** is `linux-6.18` except:
//!
//! | mechanism | `linux-7.3` | source |
//! |---|---|---|
//! | reset within the window of SYN-RECEIVED, but not at its beginning | challenged | RFC 9293 §3.10.7.4; `tcp_check_req` |
//! | packets are accepted | while the receive buffer is not overfull | `tcp_can_ingest` |
//! | data that is read late counts for autotuning | as of the last segment | `tcp_rcv_space_adjust` |
//! | segments are accepted | up to the furthest window edge ever offered | RFC 7323 §2.4; `tcp_max_receive_window` |
//!
//! **Switches that are off in every profile**
//!
//! | mechanism | switch | source |
//! |---|---|---|
//! | modified fast retransmit, for thin streams | [`Config::modified_fast_retransmit`] | `tcp_thin_dupack`, Linux 2.6.34 to 4.10, off by default |
//! | linear time-outs, for thin streams | [`Config::linear_timeouts`] | `tcp_thin_linear_timeouts`, Linux since 2.6.34, off by default |
//! | BBR version 1, as the kernel computes it | [`Config::congestion`] with [`crate::bbr1`] | `tcp_bbr.c`, Linux since 4.9; not the default |
//! | BBR version 3 | [`Config::congestion`] with [`crate::bbr3`] | draft-ietf-ccwg-bbr-06; in no Linux |
//! | redundant data bundling | [`crate::Sending::redundancy`] | LCN 2015; in no Linux |
//! | Accurate ECN (RFC 9768), as Linux 7.3 negotiates it | [`crate::EcnConfig`] with [`crate::EcnFeedback::Accurate`] | `tcp_ecn` = 3, off by default |
//! | SYN cookies for each SYN | [`crate::Receiving::syn_cookies`] | `tcp_syncookies` = 2, off by default |
//! | smart framing | [`crate::Sending::framing`] | IEEE/ACM Transactions on Networking 13(2), 2005; in no Linux |
//!
//! In `linux-3.16`, the socket option `TCP_THIN_DUPACK` takes early retransmit away where it switches modified fast
//! retransmit on; the parameter `tcp_thin_dupack` leaves it.
//!
//! **Missing**
//!
//! - `linux-6.18`: scripts and conversations with the kernel have exact timers; segments that have arrived are joined to
//!   larger buffers there, which may count one instance of reordering more after D-SACK. It has no modified
//!   fast retransmit to switch on any more; here the switch works in every profile, for comparison.
//! - `linux-3.16` and `linux-2.6`: receive buffers of those years in detail; they count memory and grow as those
//!   of 6.18 do, from the sizes of their own time.
//! - `linux-3.16`: the detection of lost retransmissions by forward acknowledgment, the CUBIC of that era where it
//!   differs from today's (its clock runs on while nothing is in flight, and it allows for delayed ACKs). An
//!   acknowledgment of something unsent is challenged, where it was dropped.
//! - `linux-2.6`: forward retransmission of FACK. It names the kernels from 2.6.6 to 2.6.20: set
//!   `congestion = "cubic"` for 2.6.19 and later.
//! - `rfc`: RACK and tail loss probe (RFC 8985) and `HyStart++` (RFC 9406), of which the former two can be
//!   switched on by name, and a second reduction of the threshold by a time-out during fast recovery.
//! - `freebsd-5.4`: known are its SACK and limited flight (`tcp_inflight_enable`, on since 5.x), its timers, and its
//!   acknowledgments. Assumed is the initial window of one segment, which the satellite study reports of it (Gotta, Potorti,
//!   Secchi 2006): with `tcp_do_rfc3390` on it would be three. Buffers are ample; the system's own, 32 KiB to send
//!   (`tcp.sendspace`) and 64 KiB to receive, carry 0.31 Mbit/s over 840 ms, so higher measured rates had larger ones.
//! - `freebsd-14`: `HyStart++`, and the limit of two segments per ACK in slow start (RFC 3465).
//! - All: the pause of Fast Open after black holes, a return to LISTEN from SYN-RECEIVED, windows that shrink
//!   for want of memory of the whole host, and receive buffers of FreeBSD, which are ample. All
//!   profiles count the congestion window in segments, where the RFCs count bytes; for full-sized segments that
//!   is the same.

use crate::config::{
    AckCounting, AckDelay, Config, CongestionAlgorithm, EcnConfig, FastOpenConfig, Growth,
    IdleRestart, Liveness, LossRecovery, Nagle, PathConfig, Receiving, ReductionBase, RttRule,
    Sending, ThinRecovery, TimerRule, WindowReduction,
};
use fairwind_units::Span;

/// A named behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// Only mechanisms of standards-track RFCs.
    Rfc,
    /// Linux 2.6.6 to 2.6.20 (2004 to 2007), the stacks of the congestion control and satellite
    /// studies of those years.
    Linux2_6,
    /// Linux 3.16 (August 2014), the stack of the thin-stream thesis.
    Linux3_16,
    /// Linux 6.18.
    Linux6_18,
    /// Linux 7.3.
    Linux7_3,
    /// FreeBSD 5.4 (May 2005).
    FreeBsd5_4,
    /// FreeBSD 14 (November 2023).
    FreeBsd14,
}

/// No profile has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no profile \"{name}\"; known are {}", names())]
pub struct UnknownProfile {
    /// The name as given.
    pub name: String,
}

fn names() -> String {
    Profile::ALL.map(Profile::name).join(", ")
}

impl std::str::FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.name() == name)
            .ok_or_else(|| UnknownProfile { name: name.to_owned() })
    }
}

impl Profile {
    /// All profiles, from the standards over Linux to FreeBSD.
    pub const ALL: [Self; 7] = [
        Self::Rfc,
        Self::Linux2_6,
        Self::Linux3_16,
        Self::Linux6_18,
        Self::Linux7_3,
        Self::FreeBsd5_4,
        Self::FreeBsd14,
    ];

    /// Name in scenarios and commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc => "rfc",
            Self::Linux2_6 => "linux-2.6",
            Self::Linux3_16 => "linux-3.16",
            Self::Linux6_18 => "linux-6.18",
            Self::Linux7_3 => "linux-7.3",
            Self::FreeBsd5_4 => "freebsd-5.4",
            Self::FreeBsd14 => "freebsd-14",
        }
    }

    /// The profile's switches and constants.
    pub fn config(self) -> Config {
        match self {
            Self::Rfc => rfc(),
            Self::Linux2_6 => linux_2_6(),
            Self::Linux3_16 => linux_3_16(),
            Self::Linux6_18 => linux_6_18(),
            Self::Linux7_3 => linux_7_3(),
            Self::FreeBsd5_4 => freebsd_5_4(),
            Self::FreeBsd14 => freebsd_14(),
        }
    }

    /// The profile with the default buffers of a system, where those of [`config`](Self::config) are larger:
    /// Linux 6.18 and later let them grow to 32 MiB (`tcp_rmem`). The other profiles have no such limits yet.
    pub fn system_config(self) -> Config {
        match self {
            Self::Linux6_18 | Self::Linux7_3 => with_system_buffers(self.config()),
            _ => self.config(),
        }
    }

    /// Timer rule of a host with this profile. The [`config`](Self::config) has exact timers, for
    /// conversations with other ticks.
    pub fn timers(self) -> TimerRule {
        match self {
            Self::Linux6_18 | Self::Linux7_3 => WHEEL_TIMERS,
            _ => TimerRule::Exact,
        }
    }

    /// CUBIC as this profile computes it.
    pub fn cubic(self) -> CongestionAlgorithm {
        match self {
            Self::Rfc | Self::FreeBsd5_4 | Self::FreeBsd14 => CongestionAlgorithm::Cubic9438,
            Self::Linux2_6 | Self::Linux3_16 | Self::Linux6_18 | Self::Linux7_3 => {
                CongestionAlgorithm::CubicLinux
            }
        }
    }

    /// Default rule of this profile for small segments.
    pub fn nagle(self) -> Nagle {
        self.config().nagle
    }
}

fn linux_2_6() -> Config {
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

fn linux_3_16() -> Config {
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

fn linux_7_3() -> Config {
    Config { receiving: Receiving::linux_7_3(), ..linux_6_18() }
}

fn linux_6_18() -> Config {
    Config {
        loss: LossRecovery::linux_6_18(),
        collapse_retransmissions: true,
        growth: Growth::linux(),
        liveness: Liveness::linux(),
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

/// Initial receive buffer of a socket (second number of `tcp_rmem`), in bytes of memory.
const RECEIVE_MEMORY_BYTES: u32 = 131_072;
/// The same before Linux 4.20.
const OLD_RECEIVE_MEMORY_BYTES: u32 = 87_380;
/// Maximum receive buffer of a default system (third number of `tcp_rmem`), in bytes of memory.
const MAX_RECEIVE_MEMORY_BYTES: u32 = 32 << 20;

/// Tick of timers (`CONFIG_HZ` = 250, the choice of most distributions).
const TICK: Span = Span::from_millis(4);

/// Timers of Linux 2.6.35 to 4.7.
pub const SLACK_TIMERS: TimerRule = TimerRule::Slack { tick: TICK };

/// Timers since Linux 4.8.
pub const WHEEL_TIMERS: TimerRule = TimerRule::Wheel { tick: TICK };

/// Linux since 6.18 with the buffer limits of a default system.
fn with_system_buffers(mut config: Config) -> Config {
    config.receiving.max_buffer = MAX_RECEIVE_MEMORY_BYTES;
    config
}

/// Added to every time-out, for hosts that delay their acknowledgments (`tcp_rexmit_slop`).
const TIMEOUT_SLOP: Span = Span::from_millis(200);

fn freebsd_5_4() -> Config {
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
        // Number of SYNs before an attempt is given up after 75 s.
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

fn freebsd_14() -> Config {
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

/// Buffers that never limit a path of 250 Mbit/s and 324 ms, because they are not studied by default.
pub(super) const AMPLE_BUFFER_BYTES: u32 = 64 << 20;
/// Applications write until two thirds are in use, which is as much as a receiver takes.
const AMPLE_SEND_BUFFER_BYTES: u32 = AMPLE_BUFFER_BYTES / 2 * 3;

fn rfc() -> Config {
    Config {
        mss: 1460,
        sack: true,
        timestamps: true,
        window_scaling: true,
        limited_transmit: true,
        modified_fast_retransmit: false,
        linear_timeouts: false,
        thin: ThinRecovery::LINUX,
        loss: LossRecovery::rfc(),
        collapse_retransmissions: false,
        growth: Growth::rfc(),
        liveness: Liveness::rfc(),
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
        send_buffer: AMPLE_SEND_BUFFER_BYTES,
        ecn: EcnConfig::when_asked(),
        fast_open: FastOpenConfig::off(),
    }
}
