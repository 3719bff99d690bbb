//! The segments that took longest, and what held them up: the first that somebody asks for whose messages
//! come late.
//!
//! A [`Wait`] ends when the oldest segment that is outstanding is acknowledged (one tap), or when a hole at
//! the receiver is filled (two taps). What lay behind it and became known to have arrived in the same instant
//! waited for it, and is told of in the same row: one outage is one row, not hundreds.
//!
//! Modules: `waits` (the longest of all), `table` (their rows).

mod table;
mod waits;

pub(crate) use table::{COLUMNS, slowest_table};
pub(crate) use waits::{SeenAt, Wait, Waits};
