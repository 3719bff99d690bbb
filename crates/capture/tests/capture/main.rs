//! Capture files: their contents, agreement with other tools, and refused input.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail it by panicking")]

mod agreement;
mod conversation;
mod decoding;
mod file;
mod filtering;
mod foreign_reader;
mod frames;
// The same random headers are written and read by those who know only bytes.
#[path = "../../../wire/tests/headers/mod.rs"]
mod headers;
mod reading;
mod tcpdump;
