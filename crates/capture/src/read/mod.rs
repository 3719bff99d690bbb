//! Frames out of capture files: pcap and pcapng, plain or compressed, whole or damaged.
//!
//! [`CaptureReader`] goes once over one or more files of one point of observation, in the order of their
//! packets, and lends out each frame from its own buffer. Whatever is wrong in a file is noted with its
//! place, and reading goes on behind it; only where nothing can be read there is an error.
//!
//! The containers are read by own code. `pcap-parser` believes any length that its buffer can hold, hands
//! back an error without a place where reading can go on, and reads 24 million pcapng frames a second where
//! this reads 60 (36 and 65 of pcap); `pcap-file`, which writes our captures, has no byte offsets. What
//! remains of their use without the search behind damage are six fixed headers.
//!
//! Cost: some loads and compares for each frame; nothing is allocated or copied but by the large reads.

mod error;
mod fields;
mod input;
mod journal;
mod pcap;
mod pcapng;
mod reader;
mod window;

pub use error::ReadError;
pub use input::{EndOfFile, Input};
pub use journal::kinds;
pub use pcapng::{InterfaceDescription, SectionDescription};
pub use reader::{Advance, CaptureReader, Next, Progress};
