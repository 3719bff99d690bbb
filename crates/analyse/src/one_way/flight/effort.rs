//! How much may be searched for arrivals that are not simply the next ones.
//!
//! A pair of captures can be made in which every arrival is put together of many bits of thousands of
//! repetitions. So each packet pays for some steps, of which many can be saved up, and what they do not
//! suffice for is not searched. Ordinary pairs need a few steps for a packet, those with many repetitions
//! under way a few hundred.

/// Steps that a departure pays for.
pub(super) const FOR_DEPARTURE: u32 = 1 << 12;
/// Steps that an arrival which is searched for pays for.
pub(super) const FOR_SEARCH: u32 = 1 << 10;
/// Steps that can be saved up: some ten milliseconds.
const MOST: u32 = 1 << 22;

/// The steps that are left.
#[derive(Debug, Clone, Default)]
pub(super) struct Effort {
    left: u32,
    /// How many departures have paid.
    paid: u32,
    /// All that was ever spent.
    #[cfg(test)]
    pub(super) spent: u64,
}

impl Effort {
    /// A search begins, after so many departures.
    pub(super) fn begin(&mut self, departures: u32) {
        let new = departures.wrapping_sub(self.paid);
        self.paid = departures;
        let earned = new.saturating_mul(FOR_DEPARTURE).saturating_add(FOR_SEARCH);
        self.left = self.left.saturating_add(earned).min(MOST);
    }

    /// The steps that may still be taken.
    pub(super) fn left(&self) -> usize {
        usize::try_from(self.left).unwrap_or(usize::MAX)
    }

    /// So many steps were taken.
    pub(super) fn spend(&mut self, steps: usize) {
        self.left = self.left.saturating_sub(u32::try_from(steps).unwrap_or(u32::MAX));
        #[cfg(test)]
        {
            self.spent += u64::try_from(steps).unwrap_or(u64::MAX);
        }
    }
}
