//! Segments as bytes: IPv4 or IPv6 header, TCP header, options, payload, checksums.
//!
//! Source: RFC 791 §3.1, RFC 8200 §3, RFC 9293 §3.1, RFC 1071. [`emit`] writes one packet
//! as a host without offloading sends it; [`parse`] reads one packet of a capture or a device. Fragments and protocols
//! other than TCP are refused. Extension headers of IPv6 and options of IPv4 are skipped when read and
//! never written.
//!
//! Cost per packet: one pass over a payload of bytes. The checksum of [`Payload::Pattern`] is computed
//! without generating it.
//!
//! ```
//! use fairwind_wire::bytes::{Addresses, Checksum, IpHeader, Payload, emit, parse};
//! use fairwind_wire::{Flags, Segment};
//! let ip = IpHeader::new(Addresses::V4 {
//!     source: [10, 0, 0, 1].into(),
//!     destination: [10, 0, 0, 2].into(),
//! });
//! let segment = Segment { flags: Flags::ACK, payload_bytes: 5, ..Segment::default() };
//! let mut packet = Vec::new();
//! emit(&ip, &segment, Payload::Bytes(b"hello"), &mut packet)?;
//! let parsed = parse(&packet)?;
//! assert_eq!((parsed.segment, parsed.payload), (segment, &b"hello"[..]));
//! assert_eq!(parsed.tcp_checksum(), Checksum::Correct);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checksum;
mod emit;
mod ip;
mod options;
mod parse;
mod reader;

pub use emit::{
    EmitError, IcmpMessage, Payload, emit, emit_icmp, emit_prefix, emit_with_options,
    pattern_mismatch,
};
pub use ip::{Addresses, IpHeader, mark_congestion};
pub use options::{append_options, read_options, read_options_into};
pub use parse::{Checksum, Parsed, parse};
pub use reader::ParseError;
