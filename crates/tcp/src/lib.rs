//! One TCP endpoint as a pure state machine: segments, timers and application calls in; segments,
//! a deadline and events out.
//!
//! A [`Connection`] owns no clock, socket, thread or random source. Its driver tells it the time
//! with every call, carries its segments, and keeps the stream's bytes; the endpoint counts them.
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
//! | `config`, `profile` | switches and constants; named sets of them |
//! | `connection`, `spaces`, `state` | the parts of one end and the calls of a driver; sequence space; states |
//! | `event` | what happens that a driver wants to know |
//! | `input` | an arriving segment, step by step (RFC 9293 §3.10.7) |
//! | `output` | what to send next; timers that run out |
//! | `pacing`, `delivery_rate` | sending at a rate; how fast data is delivered |
//! | `negotiation`, `timestamp` | what the SYNs agree on; the timestamp clock |
//! | `account` | what was sent, and what the sender's time went into |
//! | `segment_size`, `framing` | how large a segment may be; small windows cut into several |
//! | `write`, `send_buffer`, `written` | writing; what room there is; what the application has written and was not sent yet |
//! | `send_queue`, `scoreboard` | what is outstanding; what of it has arrived |
//! | `recovery`, `thin` | finding and repairing losses; thin streams |
//! | `congestion`, `usage` | window growth and reduction; whether the window is the limit |
//! | `inflight` | the limit that FreeBSD of old set to the flight |
//! | `ecn` | marks in place of losses |
//! | `fast_open` | data with the SYN |
//! | `rtt`, `least_rtt`, `timers` | round-trip estimation; deadlines |
//! | `flow_control` | the window that the peer offers |
//! | `receiver` | receiving: order, acknowledgments, memory, windows offered |
//! | `ranges` | ranges of sequence space, for both ends |
//! | `sharing` | what a host remembers of its connections for the next ones |
//! | `reconfigure` | changing the behaviour of an open connection |
//! | `information` | what a connection tells of itself (`TCP_INFO`) |

mod account;
mod config;
mod congestion;
mod connection;
mod delivery_rate;
mod ecn;
mod event;
mod fast_open;
mod flow_control;
mod framing;
mod inflight;
mod information;
mod input;
mod least_rtt;
mod negotiation;
mod output;
mod pacing;
mod profile;
mod ranges;
mod receiver;
mod reconfigure;
mod recovery;
mod rtt;
mod scoreboard;
mod segment_size;
mod send_buffer;
mod send_queue;
mod sharing;
mod spaces;
mod state;
mod thin;
mod timers;
mod timestamp;
mod usage;
mod write;
mod written;

pub use config::{
    AccurateEcnOption, AckAcceptance, AckCompression, AckCounting, AckDelay, BufferAccounting,
    Bundling, Config, CongestionAlgorithm, ControlAcceptance, EarlyRetransmit, EcnConfig,
    EcnFeedback, FastOpenConfig, Gathering, Growth, IdleRestart, KeepAlive, LossDetection,
    LossRecovery, LostRepairs, MtuDiscovery, MtuProbing, Nagle, OvertakenAcks, Pacing, PathConfig,
    Patience, ProbeRule, Receiving, ReductionBase, RedundantBundling, ReorderingDetection, RttRule,
    SendBufferRule, Sending, SillyWindow, SmartFraming, StampRule, TailLossProbe, TimerRule,
    WindowReduction,
};
pub use congestion::bbr::{Bbr1, Bbr3, bbr1, bbr3};
pub use congestion::plugged::{
    ACK_ECHO, ACK_SLOW_PATH, ACK_WINDOW_UPDATE, AckReport, AskedAcknowledgment, AtSending,
    CongestionControl, ControlComplaints, ControlFactory, FLAG_ECHO, Hooks, LostSegment,
    PRIVATE_WORDS, PluggedAlgorithm, RateSample, Sender, SenderControl, SenderPacing, WindowEvent,
};
pub use connection::{Connection, Ports};
pub use event::Event;
pub use fast_open::{CookieKey, FastOpenFailure, FastOpenLesson, FastOpenPermit, FastOpenSyn};
pub use information::{Information, option_bits};
pub use input::{Complaint, Unreachable};
pub use profile::{Profile, UnknownProfile};
pub use receiver::UrgentRead;
pub use sharing::{
    Advice, CarefulResumeConfig, ClassicConfig, Collection, ConnectionId, Interdependence, Lesson,
    MetricsConfig, Moment, Opener, Opening, Openings, Policy, PolicyConfig, Remembered, Resumption,
    ResumptionEnd, ResumptionPhase, Share, Sharing, TimeoutSeed, Trust, Unused, WindowCache,
};
pub use state::{RecoveryState, State};
pub use write::{Part, Writing};
