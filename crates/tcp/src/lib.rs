//! One TCP endpoint as a pure state machine: segments, timers and application calls in; segments,
//! a deadline and events out.
//!
//! A [`Connection`] owns no clock, socket, thread or random source. Its driver passes the time
//! with every call, carries its segments, and keeps the bytes of the stream; the endpoint counts them.
//! The simulator drives it in virtual time, and a device driver may do so in real time.
//!
//! ```
//! use fairwind_tcp::{Connection, Ports, Profile, State};
//! use fairwind_units::Instant;
//! use fairwind_wire::SequenceNumber;
//! use std::sync::Arc;
//!
//! let config = Arc::new(Profile::Linux6_18.config());
//! let ports = Ports { local: 5000, remote: 80 };
//! let mut client = Connection::connect(config.clone(), ports, SequenceNumber::new(7));
//! let ports = Ports { local: 80, remote: 5000 };
//! let mut server = Connection::listen(config, ports, SequenceNumber::new(9));
//!
//! let now = Instant::ZERO;
//! let syn = client.poll_segment(now).expect("a SYN");
//! server.on_segment(now, &syn);
//! let answer = server.poll_segment(now).expect("a SYN-ACK");
//! client.on_segment(now, &answer);
//! assert_eq!(client.state(), State::Established);
//! ```
//!
//! | module | concern |
//! |---|---|
//! | `connection` | one end: input, output, life cycle, the driver's interface |
//! | `handshake` | SYN, option negotiation, Fast Open |
//! | `sender` | send queue, scoreboard, loss recovery, congestion window, pacing, probes |
//! | `receiver` | sequence checks, reassembly, acknowledgments, the offered window |
//! | `ecn` | ECN and Accurate ECN |
//! | `timers` | timers; the timestamp clock |
//! | `state` | states, events, ICMP errors |
//! | `config`, `profile` | settings, and named sets of them |
//! | `window_cache` | caches of congestion state for later connections |
//! | `tcp_info` | `TCP_INFO` |

#[macro_use]
mod accessors;
mod config;
mod connection;
mod ecn;
mod handshake;
mod profile;
mod ranges;
mod receiver;
mod sender;
mod state;
mod tcp_info;
mod timers;
mod window_cache;

pub use config::{
    AccurateEcnOption, AckAcceptance, AckCompression, AckCounting, AckDelay, BufferAccounting,
    Bundling, BundlingStreams, Config, CongestionAlgorithm, ControlAcceptance, DisorderedAcks,
    EarlyRetransmit, EcnConfig, EcnFeedback, Factor, FastOpenConfig, Gathering, Growth,
    HyStartSigns, IdleRestart, KeepAlive, Liveness, LossDetection, LossRecovery,
    LostRetransmissions, MtuDiscovery, MtuProbing, Nagle, Pacing, PathConfig, ProbeRule, Receiving,
    RecoveryConstants, ReductionBase, RedundantBundling, ReorderingDetection, RttRule,
    SendBufferRule, Sending, SillyWindow, SmartFraming, TailLossProbe, ThinRecovery, ThinStreams,
    TimerRule, TimestampRule, WindowReduction, send_memory,
};
pub use connection::{Connection, Ports};
pub use handshake::{CookieKey, FastOpenFailure, FastOpenPermit, FastOpenSyn, FastOpenUpdate};
pub use profile::{Profile, SLACK_TIMERS, UnknownProfile, WHEEL_TIMERS};
pub use receiver::{RefusedSegments, UrgentRead};
pub use sender::congestion::bbr::{Bbr1, Bbr3, bbr1, bbr3};
pub use sender::congestion::plugged::{
    ACK_ECHO, ACK_SLOW_PATH, ACK_WINDOW_UPDATE, AckReport, CongestionControl, ControlFactory,
    ControlFaults, FLAG_ACKNOWLEDGED, FLAG_ADVANCED, FLAG_ECHO, FLAG_SACKED, Hooks,
    InetConnectionSock, LostSegment, MIN_TSO_SEGS, PRIVATE_WORDS, PluggedAlgorithm, RateSample,
    RequestedAck, SockPacing, TcpSock, TransmitSnapshot, WindowEvent,
};
pub use sender::{Part, WriteFlags};
pub use state::{Event, IcmpError, RecoveryState, State, Unreachable};
pub use tcp_info::{TcpInfo, option_bits};
pub use window_cache::{
    Advice, CacheEntry, CacheMiss, CarefulResumeConfig, ClassicConfig, Collection, ConnectionId,
    MetricsConfig, Opener, Opening, Openings, PolicyConfig, ReportKind, Resumption, ResumptionEnd,
    ResumptionPhase, Share, Sharing, TcbSharingConfig, TimeoutSeed, Trust, WindowCache,
    WindowReport,
};
