//! How another thread follows a run, and stops it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared between the thread that runs an experiment and those that watch.
#[derive(Debug, Default)]
pub struct Control {
    /// Share of the experiment's time that has passed, in parts per billion.
    done: AtomicU64,
    cancelled: AtomicBool,
}

impl Control {
    /// Share of the experiment's time that has passed, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "at most a billion")]
    pub fn fraction(&self) -> f64 {
        self.done.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// Asks the run to stop, which it does soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Tells that `passed_nanos` of `whole_nanos` have passed.
    pub fn report(&self, passed_nanos: u64, whole_nanos: u64) {
        let share = u128::from(passed_nanos) * 1_000_000_000 / u128::from(whole_nanos.max(1));
        self.done.store(u64::try_from(share).unwrap_or(1_000_000_000), Ordering::Relaxed);
    }
}
