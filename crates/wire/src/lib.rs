//! TCP segments, and their bytes on the wire.
//!
//! A [`Segment`] is a TCP header as a plain struct: fields, and a payload *length*. The simulator passes it
//! around in this form; it becomes bytes only for a capture file or a device.
//!
//! Modules: `sequence` (wrapping sequence numbers), `options` (TCP options as values), `segment` (the header,
//! and the traffic class with its ECN codepoint), [`bytes`] (the segment as the bytes of an IP packet, written
//! and read).

pub mod bytes;
mod options;
mod segment;
mod sequence;

pub use options::{
    AccurateEcn, Cookie, CounterOrder, Counters, FastOpen, FastOpenKind, Options, SackBlock,
    SackBlocks, Timestamps,
};
pub use segment::{Ecn, Flags, Segment, TrafficClass};
pub use sequence::SequenceNumber;

/// Bytes of an IPv4 header without options.
pub const IPV4_HEADER_BYTES: u32 = 20;
/// Bytes of an IPv6 header without extension headers.
pub const IPV6_HEADER_BYTES: u32 = 40;
/// Bytes of a TCP header without options.
pub const TCP_HEADER_BYTES: u32 = 20;
