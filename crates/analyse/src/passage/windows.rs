//! Loss over time: what was sent in each window, and what of it was lost, whenever that became known.

use fairwind_units::{Instant, Span};

/// Windows that a series has at most: what comes later counts in the last one.
const MOST: usize = 1 << 22;

/// What departed in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossWindow {
    /// Packets.
    pub packets_sent: u64,
    /// Payload bytes.
    pub bytes_sent: u64,
    /// Payload bytes that had been sent before.
    pub old_bytes_sent: u64,
    /// Ranges whose fate is known.
    pub ranges_sent: u64,
    /// Packets of which nothing arrived.
    pub packets_lost: u64,
    /// Payload bytes that did not arrive.
    pub bytes_lost: u64,
    /// Those of them that had been sent before.
    pub old_bytes_lost: u64,
    /// Ranges that did not arrive.
    pub ranges_lost: u64,
}

/// The windows of one length.
#[derive(Debug, Clone)]
pub(super) struct LossSeries {
    length: Span,
    windows: Vec<LossWindow>,
    /// The windows of the last departure and of the last fate: both go on with time.
    recent: [Recent; 2],
}

#[derive(Debug, Clone, Copy)]
struct Recent {
    from: Instant,
    to: Instant,
    place: usize,
}

/// Of what an instant is asked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Occasion {
    Departure,
    Fate,
}

impl LossSeries {
    pub(super) const fn new(length: Span) -> Self {
        let nothing = Recent { from: Instant::ZERO, to: Instant::ZERO, place: 0 };
        Self { length, windows: Vec::new(), recent: [nothing; 2] }
    }

    pub(super) const fn length(&self) -> Span {
        self.length
    }

    /// The window in which a packet departed at `at`; windows count from `origin`.
    #[inline]
    pub(super) fn at(
        &mut self,
        origin: Instant,
        at: Instant,
        occasion: Occasion,
    ) -> &mut LossWindow {
        let recent = match occasion {
            Occasion::Departure => 0,
            Occasion::Fate => 1,
        };
        let known = self.recent[recent];
        if !(known.from..known.to).contains(&at) {
            self.find(origin, at, recent);
        }
        &mut self.windows[self.recent[recent].place]
    }

    #[cold]
    fn find(&mut self, origin: Instant, at: Instant, recent: usize) {
        let length = self.length.as_nanos().max(1);
        let number = at.saturating_since(origin).as_nanos() / length;
        let place = usize::try_from(number).unwrap_or(MOST).min(MOST - 1);
        if place >= self.windows.len() {
            self.windows.resize(place + 1, LossWindow::default());
        }
        let number = u64::try_from(place).unwrap_or(u64::MAX);
        let from = origin + Span::from_nanos(length) * number;
        self.recent[recent] = Recent { from, to: from + Span::from_nanos(length), place };
    }

    /// The windows in the order of time, each with its number.
    pub(super) fn windows(&self) -> impl Iterator<Item = (u64, &LossWindow)> {
        (0..).zip(&self.windows)
    }
}
