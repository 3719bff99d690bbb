//! Complete runs, checked against independent laws.

#![expect(unreachable_pub, reason = "one test program, several modules")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::float_cmp, reason = "counts of packets are whole numbers")]

mod capture;
mod conservation;
mod controls;
mod determinism;
mod dialogues;
mod laws;
mod listening;
mod marks;
mod queues;
mod relays;
mod run;
mod samples;
mod senders;
mod sharing;
mod single_loss;
mod slots;
mod transfers;
mod workloads;
