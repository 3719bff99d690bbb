//! The fields of an event, as the program has put them into the ring.

/// An event's bytes. A field that lies outside reads as zero: programs and readers are of one build.
#[derive(Debug, Clone, Copy)]
pub struct RawEvent<'a>(pub &'a [u8]);

impl<'a> RawEvent<'a> {
    /// `count` bytes at `offset`; empty beyond the end.
    pub fn bytes(self, offset: usize, count: usize) -> &'a [u8] {
        self.0.get(offset..offset + count).unwrap_or_default()
    }

    fn array<const N: usize>(self, offset: usize) -> [u8; N] {
        self.bytes(offset, N).try_into().unwrap_or([0; N])
    }

    /// The byte at `offset`.
    pub fn u8(self, offset: usize) -> u8 {
        u8::from_ne_bytes(self.array(offset))
    }

    /// The number of 16 bits at `offset`.
    pub fn u16(self, offset: usize) -> u16 {
        u16::from_ne_bytes(self.array(offset))
    }

    /// The number of 32 bits at `offset`.
    pub fn u32(self, offset: usize) -> u32 {
        u32::from_ne_bytes(self.array(offset))
    }

    /// The number of 64 bits at `offset`.
    pub fn u64(self, offset: usize) -> u64 {
        u64::from_ne_bytes(self.array(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::RawEvent;

    #[test]
    fn fields_are_read_in_the_machines_own_order_of_bytes() {
        let bytes: Vec<u8> = 0x0102_0304_0506_0708_u64.to_ne_bytes().into();
        let record = RawEvent(&bytes);
        assert_eq!(record.u64(0), 0x0102_0304_0506_0708);
        let halves = [record.u32(0), record.u32(4)];
        let expected = if cfg!(target_endian = "little") {
            [0x0506_0708, 0x0102_0304]
        } else {
            [0x0102_0304, 0x0506_0708]
        };
        assert_eq!(halves, expected);
    }

    #[test]
    fn a_field_beyond_the_end_is_zero() {
        assert_eq!(RawEvent(&[1, 2]).u32(0), 0);
    }
}
