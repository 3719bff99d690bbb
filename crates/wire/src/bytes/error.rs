//! Errors of packet parsing.

use thiserror::Error;

/// Why bytes cannot be parsed as a TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The bytes end within a header.
    #[error("{header} needs {needed_bytes} bytes, but {present_bytes} are there")]
    Truncated {
        /// The header being read.
        header: &'static str,
        /// Bytes that it needs at least.
        needed_bytes: usize,
        /// Bytes present.
        present_bytes: usize,
    },
    /// Neither IPv4 nor IPv6.
    #[error("IP version {version} is neither 4 nor 6")]
    Version {
        /// The version field.
        version: u8,
    },
    /// The length field of a header is less than its fixed part.
    #[error("a {header} header of {header_bytes} bytes is shorter than its fixed fields")]
    HeaderLength {
        /// Name of the header.
        header: &'static str,
        /// Its length field in bytes.
        header_bytes: u32,
    },
    /// The packet length in the IP header ends within the headers.
    #[error(
        "the IP header says a packet of {packet_bytes} bytes, but headers take {headers_bytes}"
    )]
    PacketLength {
        /// Packet length in the IP header.
        packet_bytes: u32,
        /// Length of the IP and TCP headers.
        headers_bytes: u32,
    },
    /// A fragment; there is no reassembly.
    #[error("the packet is a fragment")]
    Fragment,
    /// Another protocol.
    #[error("IP protocol {protocol} is not TCP")]
    NotTcp {
        /// The protocol or next-header field.
        protocol: u8,
    },
    /// The length of an option exceeds the header, or is wrong for its kind.
    #[error("TCP option of kind {kind} cannot be {length} bytes long here")]
    OptionLength {
        /// Kind of the option.
        kind: u8,
        /// Its length field.
        length: u8,
    },
}
