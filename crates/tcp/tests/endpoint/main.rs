//! The endpoint as its driver sees it: two ends joined by a small virtual network.

#![expect(unreachable_pub, reason = "one test program, several modules")]

mod close;
mod delivery;
mod handshake;
mod loss;
mod pair;
mod thin;
mod timing;
mod window;
