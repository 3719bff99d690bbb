//! TCP options as values.

use crate::SequenceNumber;

/// `TSval` and `TSecr` of the timestamps option (RFC 7323 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// The sender's clock (`TSval`).
    pub value: u32,
    /// The peer's clock, echoed (`TSecr`).
    pub echo: u32,
}

/// One block of received sequence space (RFC 2018 §3): from `left` up to, without, `right`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: SequenceNumber,
    /// The number after the last one of the block.
    pub right: SequenceNumber,
}

/// Up to four blocks, the most recent first; beside other options fewer fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; Self::CAPACITY],
    len: u8,
}

impl SackBlocks {
    /// The most that a TCP header has room for.
    pub const CAPACITY: usize = 4;

    /// No blocks.
    pub const EMPTY: Self = Self {
        blocks: [SackBlock { left: SequenceNumber::new(0), right: SequenceNumber::new(0) };
            Self::CAPACITY],
        len: 0,
    };

    /// Adds a block behind the others; returns `false`, changing nothing, where there is no room.
    #[inline]
    pub fn push(&mut self, block: SackBlock) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.len)) else { return false };
        *slot = block;
        self.len += 1;
        true
    }

    /// The blocks in the order in which they stand in the header.
    #[inline]
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Number of blocks.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl FromIterator<SackBlock> for SackBlocks {
    /// Takes the first four.
    fn from_iter<I: IntoIterator<Item = SackBlock>>(blocks: I) -> Self {
        let mut taken = Self::EMPTY;
        for block in blocks {
            if !taken.push(block) {
                break;
            }
        }
        taken
    }
}

/// The options of one segment, in the layout that common stacks use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Maximum segment size that the sender can receive, in bytes (only with SYN).
    pub mss: Option<u16>,
    /// Shift count of the sender's window field (only with SYN, RFC 7323 §2).
    pub window_scale: Option<u8>,
    /// The sender can use selective acknowledgments (only with SYN, RFC 2018 §2).
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgments.
    pub sack: SackBlocks,
}

impl Options {
    /// No options.
    pub const NONE: Self = Self {
        mss: None,
        window_scale: None,
        sack_permitted: false,
        timestamps: None,
        sack: SackBlocks::EMPTY,
    };

    /// Bytes that these options take in a header, padding included: 0 to 40, a multiple of 4.
    ///
    /// The layout is the one that Linux and the BSDs use: MSS (4), SACK-permitted and timestamps
    /// together (12, the two NOPs of bare timestamps give way to SACK-permitted), window scale with
    /// its NOP (4), SACK blocks with two NOPs (4 + 8 each).
    #[inline]
    pub const fn wire_bytes(&self) -> u32 {
        let mut bytes = 0;
        if self.mss.is_some() {
            bytes += 4;
        }
        if self.timestamps.is_some() {
            bytes += 12;
        } else if self.sack_permitted {
            bytes += 4;
        }
        if self.window_scale.is_some() {
            bytes += 4;
        }
        if !self.sack.is_empty() {
            bytes += 4 + 8 * self.sack.len as u32;
        }
        bytes
    }
}
