//! Which transmission of bytes came first.

use super::transmission::Copy;

/// Retransmissions that are told apart; later ones count as the last of them.
const REPEATS: usize = 8;

/// Ranges, and bytes in them, that came first by one kind of transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FirstArrival {
    /// Ranges.
    pub ranges: u64,
    /// Bytes in them.
    pub bytes: u64,
}

impl FirstArrival {
    const fn add(&mut self, other: Self) {
        self.ranges += other.ranges;
        self.bytes += other.bytes;
    }
}

/// By what transmission bytes came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FirstArrivals {
    /// By the packet in which they were sent first.
    pub original: FirstArrival,
    /// As the old bytes of a packet with new ones (RDB).
    pub bundle: FirstArrival,
    /// By the first, second, ... retransmission; the last place counts all later ones.
    pub retransmissions: [FirstArrival; REPEATS],
}

impl FirstArrivals {
    /// `bytes` in one range came first by `copy`, as new ones of it (`is_new`) or as old ones.
    #[inline]
    pub(super) fn count(&mut self, copy: Copy, is_new: bool, bytes: u64) {
        let came = match copy {
            Copy::First if is_new => &mut self.original,
            Copy::First => &mut self.bundle,
            Copy::Again(repeat) => {
                let place = usize::from(repeat).clamp(1, REPEATS) - 1;
                &mut self.retransmissions[place]
            }
        };
        came.add(FirstArrival { ranges: 1, bytes });
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.original.add(other.original);
        self.bundle.add(other.bundle);
        for (sum, more) in self.retransmissions.iter_mut().zip(other.retransmissions) {
            sum.add(more);
        }
    }

    /// Each kind with its name and what retransmission it is.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (&'static str, Option<u64>, FirstArrival)> {
        let first = [("original", None, self.original), ("bundle", None, self.bundle)];
        let again = (1..).zip(self.retransmissions);
        let again = again.map(|(repeat, came)| ("retransmission", Some(repeat), came));
        first.into_iter().chain(again).filter(|(.., came)| came.ranges > 0)
    }
}
