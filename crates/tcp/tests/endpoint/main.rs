//! The endpoint as its driver sees it: two ends joined by a small virtual network.

#![expect(unreachable_pub, reason = "one test program, several modules")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod acceptance;
mod accurate_ecn;
mod careful_resume;
mod close;
mod delivery;
mod ecn;
mod eras;
mod eras_of_linux;
mod fast_open;
mod framing;
mod growing;
mod growth;
mod handshake;
mod lived_by_marks;
mod loss;
mod marks;
mod pair;
mod peer;
mod redundancy;
mod repair;
mod reports;
mod segments;
mod sparing;
mod stamps;
mod thin;
mod timing;
mod window;
