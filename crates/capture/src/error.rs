//! What can go wrong with a capture file.

use crate::InterfaceId;
use fairwind_wire::bytes::EmitError;
use thiserror::Error;

/// Why something could not be written; each case says what.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The writer below failed. Output is buffered, so packets shortly before may be lost, too.
    #[error("write {what} to the capture: {source}")]
    Write {
        /// What was being written when the failure showed.
        what: String,
        /// What the writer below said.
        source: std::io::Error,
    },
    /// A packet names an interface that the capture does not have.
    #[error(
        "write {what} to the capture: there is no such interface; \
         the capture has {interfaces}, numbered from 0"
    )]
    UnknownInterface {
        /// What was being written.
        what: String,
        /// The number that was named.
        interface: InterfaceId,
        /// How many there are.
        interfaces: usize,
    },
    /// A text is longer than the length field of a pcapng option can say.
    #[error("write {what} to the capture: {bytes} bytes of text are too long; shorten it to 65535")]
    TextLength {
        /// Which text.
        what: String,
        /// Its length.
        bytes: usize,
    },
    /// More bytes were given than the packet is said to have had.
    #[error(
        "write {what} to the capture: {given_bytes} bytes were given of a packet \
         that is said to have had {original_length}"
    )]
    PacketLength {
        /// Which packet.
        what: String,
        /// Bytes given.
        given_bytes: usize,
        /// Bytes that the packet is said to have had.
        original_length: u32,
    },
    /// A segment cannot be a packet.
    #[error("write {what} to the capture: {source}")]
    Segment {
        /// Which packet.
        what: String,
        /// Why it cannot.
        source: EmitError,
    },
}
