//! Repairs that belong together: a fast recovery, or what follows a time-out.

/// What kind of repair is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Repair {
    /// None.
    #[default]
    None,
    /// Fast recovery (RFC 6582, RFC 6675).
    Fast,
    /// After a time-out (RFC 5681 §3.1).
    Timeout,
}

/// The repair under way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Episode {
    /// Its kind.
    pub(super) repair: Repair,
    /// Behind the last byte that was sent when it began.
    until: u64,
    /// Counts episodes, from 1; wraps past 0.
    number: u16,
    is_refuted: bool,
}

impl Episode {
    /// Begins a repair of what was sent before `highest`.
    pub(super) fn begin(&mut self, repair: Repair, highest: u64) {
        self.repair = repair;
        self.until = highest;
        self.is_refuted = false;
        self.number = self.number.wrapping_add(1).max(1);
    }

    /// Its number, 0 before the first.
    pub(super) const fn number(self) -> u16 {
        self.number
    }

    #[inline]
    pub(super) fn is_under_way(self) -> bool {
        self.repair != Repair::None
    }

    /// Everything before `offset` is acknowledged. Without SACK the repair lasts until more than it is,
    /// so that duplicates which it has caused begin no new one (RFC 6582 §3.2).
    #[inline]
    pub(super) fn follow(&mut self, offset: u64, has_sack: bool) {
        if self.is_under_way() && (offset > self.until || offset == self.until && has_sack) {
            self.repair = Repair::None;
        }
    }

    /// It is over, whatever is acknowledged.
    pub(super) fn give_up(&mut self) {
        self.repair = Repair::None;
    }

    /// It was needless, and some senders give it up (RFC 4015).
    pub(super) fn refute(&mut self) {
        self.is_refuted = true;
    }

    pub(super) const fn is_refuted(self) -> bool {
        self.is_refuted
    }
}
