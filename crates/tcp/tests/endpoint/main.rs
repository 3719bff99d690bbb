//! The endpoint as its driver sees it: two ends joined by a small virtual network.

#![expect(unreachable_pub, reason = "one test program, several modules")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod acceptance;
mod close;
mod delivery;
mod ecn;
mod fast_open;
mod handshake;
mod loss;
mod pair;
mod peer;
mod reports;
mod stamps;
mod standards;
mod thin;
mod timing;
mod window;
