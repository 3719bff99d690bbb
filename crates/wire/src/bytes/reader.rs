//! Bounds-checked byte reader.

use super::error::ParseError;

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
