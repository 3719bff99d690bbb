//! A cursor over bytes that may end too soon, and the errors of reading.

use thiserror::Error;

/// Why bytes are not a TCP segment that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The bytes end within a header.
    #[error("{header} needs {needed_bytes} bytes, but {present_bytes} are there")]
    Truncated {
        /// What was being read.
        header: &'static str,
        /// Bytes that it needs, as far as is known.
        needed_bytes: usize,
        /// Bytes that there are.
        present_bytes: usize,
    },
    /// Neither IPv4 nor IPv6.
    #[error("IP version {version} is neither 4 nor 6")]
    Version {
        /// The version field.
        version: u8,
    },
    /// The length that a header gives itself is less than that of its fixed part.
    #[error("a {header} header of {header_bytes} bytes is shorter than its fixed fields")]
    HeaderLength {
        /// Whose header.
        header: &'static str,
        /// What it says.
        header_bytes: u32,
    },
    /// The length of the packet, as the IP header says, ends within the headers.
    #[error(
        "the IP header says a packet of {packet_bytes} bytes, but headers take {headers_bytes}"
    )]
    PacketLength {
        /// What the IP header says.
        packet_bytes: u32,
        /// What the IP and TCP headers take.
        headers_bytes: u32,
    },
    /// A part of a datagram; they are not put together here.
    #[error("the packet is a fragment")]
    Fragment,
    /// Another protocol.
    #[error("IP protocol {protocol} is not TCP")]
    NotTcp {
        /// The protocol or next-header field.
        protocol: u8,
    },
    /// An option's length leaves the header, or is not that of its kind.
    #[error("TCP option of kind {kind} cannot be {length} bytes long here")]
    OptionLength {
        /// Kind of the option.
        kind: u8,
        /// What it says.
        length: u8,
    },
}

/// Takes fields from the front of a slice.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    header: &'static str,
}

impl<'a> Reader<'a> {
    /// A cursor at the start of `bytes`; errors say that they happened in `header`.
    pub(super) const fn new(bytes: &'a [u8], header: &'static str) -> Self {
        Self { bytes, position: 0, header }
    }

    /// Bytes taken or skipped so far.
    pub(super) const fn position(&self) -> usize {
        self.position
    }

    /// The next byte, which stays.
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

    /// Leaves out the next `count` bytes.
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
