//! Captures: packets as pcapng files that other tools read, and frames out of the captures of others.
//!
//! *Writing.* Packets, seen at named points and exact instants, go in; a pcapng file (sections 4.1 to 4.3 of
//! the IETF draft "PCAP Now Generic") comes out, streaming, into any [`std::io::Write`]. One
//! interface stands for one point of observation, time has nanoseconds, and packets begin with
//! their IP header (link type RAW). The same packets give the same bytes on every machine.
//!
//! The writer opens no file and reads no clock, keeps no packet, and puts nothing in order: packets
//! stand in the file as they were handed in. Instants are written as time since 1970, so those of a
//! virtual run begin there.
//!
//! ```
//! use fairwind_capture::{CaptureWriter, Interface, InterfaceId, Section};
//! use fairwind_units::Instant;
//! use fairwind_wire::bytes::{Addresses, IpHeader, Payload};
//! use fairwind_wire::{Flags, Segment};
//!
//! let interfaces = vec![Interface::new("sender")];
//! let mut capture = CaptureWriter::new(Vec::new(), &Section::default(), interfaces)?;
//! let ip = IpHeader::new(Addresses::V4 {
//!     source: [10, 0, 0, 1].into(),
//!     destination: [10, 0, 0, 2].into(),
//! });
//! let segment = Segment { flags: Flags::ACK, payload_bytes: 1448, ..Segment::default() };
//! let payload = Payload::Pattern { stream_offset: 0 };
//! capture.write_segment(Instant::from_millis(20), InterfaceId(0), &ip, &segment, payload)?;
//! let file: Vec<u8> = capture.finish()?;
//! assert!(file.len() > 1488);
//! # Ok::<(), fairwind_capture::CaptureError>(())
//! ```
//!
//! *Reading.* Files, folders of rotated files and streams of pcap or pcapng, plain or compressed with
//! gzip or zstd, go into a [`CaptureReader`]; [`Frame`]s come out, one after the other. What is wrong in
//! a file becomes [`Notes`], and reading goes on behind it.
//!
//! Modules: `writer` (a pcapng file as a stream); `read` (containers, damage, compression), `note`, `packet` (frames and
//! packets), `decode` (a frame as a TCP packet), `filter` (which packets are requested).

mod decode;
mod filter;
mod note;
mod packet;
mod read;
mod writer;

pub use decode::decode;
pub use filter::{Filter, FilterError, FilterProblem};
pub use note::{Location, Note, NoteKind, Notes};
pub use packet::{Anomalies, Frame, LinkType, Packet, SkipReason};
pub use read::{
    Advance, CaptureReader, EndOfFile, Input, InterfaceDescription, Next, Progress, ReadError,
    SectionDescription, kinds,
};
pub use writer::{CaptureError, CaptureWriter, Interface, InterfaceId, Section};
