//! The endpoint through its driver's interface: two ends, or one end and a scripted peer.

#![expect(unreachable_pub, reason = "one test program, several modules")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod acceptance;
mod accurate_ecn;
mod acknowledgments;
mod close;
mod congestion_window;
mod delivery;
mod ecn;
mod ecn_signals;
mod fast_open;
mod flow_control;
mod framing;
mod handshake;
mod linux_profiles;
mod loss;
mod lost_segments;
mod needs_ecn;
mod pair;
mod peer;
mod profiles;
mod receive_window_growth;
mod recovery_constants;
mod redundant_bundling;
mod retransmission;
mod rto;
mod thin;
mod timestamps;
mod window;
mod window_cache;
