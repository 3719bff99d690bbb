//! The segment a TCP endpoint speaks, and its bytes on the wire.
//!
//! A [`Segment`] is a TCP header as a plain struct: real fields, and a payload *length*. The
//! simulator passes it around as it is; it becomes bytes only for a capture file or a device.
//!
//! Modules: `sequence` (wrapping sequence numbers), `options` (TCP options as values), `fast_open` and
//! `accurate_ecn` (the rarer ones), `traffic_class` (congestion marks), `segment` (the header), [`bytes`]
//! (the segment as an IP packet's bytes, written and read).

mod accurate_ecn;
pub mod bytes;
mod fast_open;
mod options;
mod segment;
mod sequence;
mod traffic_class;

pub use accurate_ecn::{AccurateEcn, CounterOrder, Counters};
pub use fast_open::{Cookie, FastOpen, FastOpenKind};
pub use options::{Options, SackBlock, SackBlocks, Timestamps};
pub use segment::{Flags, Segment};
pub use sequence::SequenceNumber;
pub use traffic_class::{Ecn, TrafficClass};

/// Bytes of an IPv4 header without options.
pub const IPV4_HEADER_BYTES: u32 = 20;
/// Bytes of an IPv6 header without extension headers.
pub const IPV6_HEADER_BYTES: u32 = 40;
/// Bytes of a TCP header without options.
pub const TCP_HEADER_BYTES: u32 = 20;
