//! Numbers in either byte order.

/// The byte order of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    #[inline]
    pub(crate) const fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(crate) const fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(crate) const fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }

    /// Four 32-bit numbers in a row.
    #[inline]
    pub(crate) fn four(self, bytes: &[u8; 16]) -> [u32; 4] {
        let (numbers, _) = bytes.as_chunks::<4>();
        let numbers = [numbers[0], numbers[1], numbers[2], numbers[3]].map(u32::from_le_bytes);
        // One question instead of four.
        if self == Self::Little { numbers } else { numbers.map(u32::swap_bytes) }
    }

    /// The 16-bit number at a place, if it is there.
    pub(crate) fn u16_at(self, bytes: &[u8], at: usize) -> Option<u16> {
        bytes.get(at..)?.first_chunk().map(|number| self.u16(*number))
    }

    /// The 32-bit number at a place, if it is there.
    pub(crate) fn u32_at(self, bytes: &[u8], at: usize) -> Option<u32> {
        bytes.get(at..)?.first_chunk().map(|number| self.u32(*number))
    }

    /// The 64-bit number at a place, if it is there.
    pub(crate) fn u64_at(self, bytes: &[u8], at: usize) -> Option<u64> {
        bytes.get(at..)?.first_chunk().map(|number| self.u64(*number))
    }
}
