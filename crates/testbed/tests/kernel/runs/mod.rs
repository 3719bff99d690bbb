//! Whole experiments on the kernel: hosts, router and record together.

#![expect(clippy::unwrap_used, reason = "a test that meets an error fails there")]

mod captures;
pub(crate) mod controls;
mod datagrams;
mod faults;
mod impaired;
mod killed;
mod relays;
mod remembered;
pub(crate) mod stage;
mod tables;
