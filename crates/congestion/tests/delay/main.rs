//! Congestion controls that listen to delay, bandwidth and marks: closed forms, and what they do on a path.

mod dctcp;
mod driven;
mod fast;
mod illinois;
mod ledbat;
mod path;
mod vegas;
mod westwood;
