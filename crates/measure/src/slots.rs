//! Slots of a carrier that queues have: assigned, used, asked for.
//!
//! Whoever assigns them tells of frames when somebody looks, so facts come late; each is counted in the window of its
//! own instant.

use fairwind_units::{Instant, Span};

/// What is assigned to a queue in each of some frames one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramesAssigned {
    /// So many frames, all the same.
    pub frames: u64,
    /// How long each lasts.
    pub frame: Span,
    /// What a slot carries.
    pub slot_bytes: u32,
    /// Slots of each frame that are the queue's own (CRA).
    pub guaranteed: u32,
    /// Slots of each frame for a rate that was asked for (RBDC).
    pub by_rate: u32,
    /// Slots of each frame for a volume that was asked for (VBDC, AVBDC).
    pub by_volume: u32,
    /// Slots of each frame that nobody asked for (FCA).
    pub free: u32,
}

/// Slots of some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SlotCounts {
    pub(crate) frames: u64,
    pub(crate) guaranteed: u64,
    pub(crate) by_rate: u64,
    pub(crate) by_volume: u64,
    pub(crate) free: u64,
    /// Bytes that all of them can carry, and did.
    pub(crate) capacity_bytes: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) used: u64,
    pub(crate) requests: u64,
    /// Of requests for a rate: how many, their sum, and the most.
    pub(crate) rates: u64,
    pub(crate) rate_sum: u128,
    pub(crate) rate_most: u64,
    pub(crate) volume_bytes: u64,
}

impl SlotCounts {
    pub(crate) fn assigned(&self) -> u64 {
        self.guaranteed + self.by_rate + self.by_volume + self.free
    }
}

/// Slots of one queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slots {
    pub(crate) all: SlotCounts,
    /// By window, as far as anything was told.
    pub(crate) windows: Vec<SlotCounts>,
    /// How long its frames last.
    pub(crate) frame: Span,
}

/// Slots of all queues, from the end of the warm-up to the end.
#[derive(Debug, Clone)]
pub(crate) struct SlotBook {
    begin: Instant,
    end: Instant,
    length: Option<Span>,
    queues: Vec<Slots>,
}

impl SlotBook {
    pub(crate) fn new(begin: Instant, end: Instant, length: Option<Span>, queues: usize) -> Self {
        Self { begin, end, length, queues: vec![Slots::default(); queues] }
    }

    /// Length of the windows; none where there are none.
    pub(crate) fn length(&self) -> Option<Span> {
        self.length
    }

    /// Those that have slots, with their places in lists of queues.
    pub(crate) fn queues(&self) -> impl Iterator<Item = (usize, &Slots)> {
        self.queues.iter().enumerate().filter(|(_, slots)| slots.all.frames > 0)
    }

    pub(crate) fn on_assigned(&mut self, at: Instant, queue: usize, told: &FramesAssigned) {
        self.queues[queue].frame = told.frame;
        let nanos = told.frame.as_nanos().max(1);
        // Frames before the beginning and after the end are passed over at once.
        let before = self.begin.saturating_since(at).as_nanos().div_ceil(nanos);
        let until = self.end.saturating_since(at).as_nanos().div_ceil(nanos);
        for number in before..until.min(told.frames) {
            let slots = told.guaranteed + told.by_rate + told.by_volume + told.free;
            self.count(at + told.frame.saturating_mul(number), queue, |counts| {
                counts.frames += 1;
                counts.guaranteed += u64::from(told.guaranteed);
                counts.by_rate += u64::from(told.by_rate);
                counts.by_volume += u64::from(told.by_volume);
                counts.free += u64::from(told.free);
                counts.capacity_bytes += u64::from(slots) * u64::from(told.slot_bytes);
            });
        }
    }

    pub(crate) fn on_used(&mut self, at: Instant, queue: usize, sent_bytes: u32) {
        self.count(at, queue, |counts| {
            counts.used += 1;
            counts.sent_bytes += u64::from(sent_bytes);
        });
    }

    pub(crate) fn on_requested(
        &mut self,
        at: Instant,
        queue: usize,
        bits_per_second: Option<u64>,
        volume_bytes: u64,
    ) {
        self.count(at, queue, |counts| {
            counts.requests += 1;
            counts.volume_bytes += volume_bytes;
            if let Some(rate) = bits_per_second {
                counts.rates += 1;
                counts.rate_sum += u128::from(rate);
                counts.rate_most = counts.rate_most.max(rate);
            }
        });
    }

    fn count(&mut self, at: Instant, queue: usize, change: impl Fn(&mut SlotCounts)) {
        if at < self.begin || at >= self.end {
            return;
        }
        let slots = &mut self.queues[queue];
        change(&mut slots.all);
        let Some(length) = self.length else { return };
        let number = at.saturating_since(self.begin).as_nanos() / length.as_nanos().max(1);
        let number = usize::try_from(number).unwrap_or(usize::MAX - 1);
        if slots.windows.len() <= number {
            slots.windows.resize(number + 1, SlotCounts::default());
        }
        change(&mut slots.windows[number]);
    }
}
