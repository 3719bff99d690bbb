//! Every measure on observations made by hand, with the numbers worked out beside them.

#![expect(clippy::unwrap_used, reason = "a test that misses a value fails there")]

mod arrivals;
mod columns;
mod conservation;
mod counts;
mod datagrams;
mod definitions;
mod dialogues;
mod latencies;
mod lateness;
mod live;
mod loss_runs;
mod points;
mod queue_events;
mod queues;
mod retirement;
mod run;
mod settings;
mod slots;
mod trouble;
mod windows;
