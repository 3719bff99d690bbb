//! Tests of congestion controls by delay, bandwidth and marks: closed forms, and behaviour on a path.

mod dctcp;
mod driven;
mod fast;
mod illinois;
mod ledbat;
mod path;
mod vegas;
mod westwood;
