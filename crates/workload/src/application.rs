//! Any application, behind one face.

use crate::{Greedy, Thin};
use fairwind_units::Instant;
use serde::{Deserialize, Serialize};

/// The application of one flow. It can be handed to another process, and goes on there as it would
/// have here.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Application {
    /// Always has more to send.
    Greedy(Greedy),
    /// Writes little, and seldom.
    Thin(Thin),
}

impl Application {
    /// The connection is open: writing begins.
    pub fn begin(&mut self, now: Instant) {
        if let Self::Thin(thin) = self {
            thin.begin(now);
        }
    }

    /// Nothing more is written.
    pub fn end(&mut self) {
        match self {
            Self::Greedy(greedy) => *greedy = Greedy::new(Some(0)),
            Self::Thin(thin) => thin.end(),
        }
    }

    /// When [`poll_write`](Self::poll_write) is to be asked next by the clock; [`Instant::MAX`] for
    /// never. A greedy application is asked whenever something has been sent.
    #[inline]
    pub fn next_write(&self) -> Instant {
        match self {
            Self::Greedy(_) => Instant::MAX,
            Self::Thin(thin) => thin.next_write(),
        }
    }

    /// Bytes that the application writes now, given how many it wrote that are unsent.
    #[inline]
    pub fn poll_write(&mut self, now: Instant, unsent: u64) -> Option<u64> {
        match self {
            Self::Greedy(greedy) => greedy.poll_write(unsent),
            Self::Thin(thin) => thin.poll_write(now),
        }
    }

    /// Whether everything that the application ever wanted to write is written.
    #[inline]
    pub fn is_finished(&self) -> bool {
        match self {
            Self::Greedy(greedy) => greedy.is_finished(),
            Self::Thin(_) => false,
        }
    }
}
