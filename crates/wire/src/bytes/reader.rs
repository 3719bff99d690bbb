//! Bounds-checked byte reader.

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

/// Reads fields from the front of a slice.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    header: &'static str,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`; `header` is for error messages.
    pub(super) const fn new(bytes: &'a [u8], header: &'static str) -> Self {
        Self { bytes, position: 0, header }
    }

    /// Bytes taken or skipped so far.
    pub(super) const fn position(&self) -> usize {
        self.position
    }

    /// The next byte, without consuming it.
    pub(super) fn peek(&self) -> Result<u8, ParseError> {
        self.bytes.get(self.position).copied().ok_or_else(|| self.truncated(1))
    }

    /// The next `N` bytes.
    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], ParseError> {
        let rest = &self.bytes[self.position..];
        let field = *rest.first_chunk::<N>().ok_or_else(|| self.truncated(N))?;
        self.position += N;
        Ok(field)
    }

    /// The next 16-bit number.
    pub(super) fn take_u16(&mut self) -> Result<u16, ParseError> {
        self.take().map(u16::from_be_bytes)
    }

    /// The next 32-bit number.
    pub(super) fn take_u32(&mut self) -> Result<u32, ParseError> {
        self.take().map(u32::from_be_bytes)
    }

    /// The next `count` bytes.
    pub(super) fn take_slice(&mut self, count: usize) -> Result<&'a [u8], ParseError> {
        let rest = &self.bytes[self.position..];
        let slice = rest.get(..count).ok_or_else(|| self.truncated(count))?;
        self.position += count;
        Ok(slice)
    }

    /// Skips the next `count` bytes.
    pub(super) fn skip(&mut self, count: usize) -> Result<(), ParseError> {
        self.take_slice(count).map(|_| ())
    }

    fn truncated(&self, count: usize) -> ParseError {
        ParseError::Truncated {
            header: self.header,
            needed_bytes: self.position + count,
            present_bytes: self.bytes.len(),
        }
    }
}
