//! Every measure on observations made by hand, with the numbers worked out beside them.

mod columns;
mod conservation;
mod counts;
mod latencies;
mod queues;
mod run;
mod settings;
mod windows;
