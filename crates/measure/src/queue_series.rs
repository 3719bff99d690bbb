//! Queues over time: events, windows, and slots of a carrier.

use crate::observation::{DropReason, FramesAssigned, QueueId};
use crate::queue::{GroupAtQueue, Maxima, Queue};
use fairwind_units::{Instant, Span};

/// Which events of queues are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueEventSettings {
    /// Of these queues only; of all unless said.
    pub queues: Option<Vec<QueueId>>,
    /// From this instant on.
    pub from: Instant,
    /// Before this instant.
    pub until: Instant,
    /// Largest number, counted from the first one.
    pub most: usize,
}

/// Kind of a queue event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueEventKind {
    Accepted,
    /// Not let in.
    Refused(DropReason),
    /// Dropped out of the queue after this wait.
    Dropped(DropReason, Span),
    /// Lost on the link behind the queue.
    Lost,
    Marked,
}

impl QueueEventKind {
    pub(crate) const fn of_drop(reason: DropReason, waited: Option<Span>) -> Self {
        match (reason, waited) {
            (DropReason::LinkLoss, _) => Self::Lost,
            (_, Some(waited)) => Self::Dropped(reason, waited),
            (_, None) => Self::Refused(reason),
        }
    }
}

/// One event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueEvent {
    pub(crate) at: Instant,
    pub(crate) queue: QueueId,
    /// The flow's number in tables.
    pub(crate) flow: u64,
    /// Its group.
    pub(crate) group: usize,
    pub(crate) wire_bytes: u32,
    /// Packets and bytes that waited, where reported.
    pub(crate) backlog: Option<(u32, u32)>,
    pub(crate) kind: QueueEventKind,
}

/// The events that were asked for.
#[derive(Debug, Clone)]
pub(crate) struct QueueEvents {
    asked: QueueEventSettings,
    pub(crate) kept: Vec<QueueEvent>,
    /// Events with rows that were taken.
    taken: usize,
    /// Events that there was no room for.
    pub(crate) left_out: u64,
}

impl QueueEvents {
    pub(crate) const fn new(asked: QueueEventSettings) -> Self {
        Self { asked, kept: Vec::new(), taken: 0, left_out: 0 }
    }

    /// Keeps what happened where it was asked for.
    pub(crate) fn take(&mut self, event: QueueEvent) {
        let asked = &self.asked;
        let is_asked = (asked.from..asked.until).contains(&event.at)
            && asked.queues.as_ref().is_none_or(|queues| queues.contains(&event.queue));
        if !is_asked {
            return;
        }
        if self.taken + self.kept.len() < asked.most {
            self.kept.push(event);
        } else {
            self.left_out += 1;
        }
    }

    /// Forgets those that are kept: their rows were taken.
    pub(crate) fn forget_kept(&mut self) {
        self.taken += self.kept.len();
        self.kept.clear();
    }
}

/// What a queue did in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct QueueWindow {
    /// The window's number in its series.
    pub(crate) number: u64,
    /// The queue's place in lists of queues.
    pub(crate) queue: usize,
    pub(crate) enqueued: u64,
    pub(crate) dropped: u64,
    pub(crate) marked: u64,
    /// Sum of the packets that accepted arrivals found, and the most.
    pub(crate) backlog_sum: u128,
    pub(crate) backlog_most: Option<u64>,
    /// Packets that left, nanoseconds that they waited, and the most.
    pub(crate) left: u64,
    pub(crate) waited_sum: u128,
    pub(crate) waited_most: Option<u64>,
}

/// What had been counted of a queue at the last border.
#[derive(Debug, Clone, Default)]
struct QueueTotals {
    enqueued: u64,
    dropped: u64,
    marked: u64,
    backlog_sum: u128,
    left: u64,
    waited_sum: u128,
    /// The greatest of all windows.
    greatest: Maxima,
}

impl QueueTotals {
    /// What a queue did since the last border, from which on it is looked at anew.
    fn window(&mut self, number: u64, place: usize, queue: &mut Queue) -> QueueWindow {
        let greatest = queue.swap_maxima(&Maxima::default());
        self.greatest.raise(&greatest);
        let now = Self {
            enqueued: queue.sum(|group| group.enqueued).packets,
            dropped: queue.sum(GroupAtQueue::dropped).packets,
            marked: queue.sum(|group| group.marked).packets,
            backlog_sum: queue.backlog_packets.sum(),
            left: queue.groups.iter().map(|group| group.dequeued_packets).sum(),
            waited_sum: queue.groups.iter().map(|group| group.sojourn.sum()).sum(),
            greatest: std::mem::take(&mut self.greatest),
        };
        let before = std::mem::replace(self, now);
        let (enqueued, left) = (self.enqueued - before.enqueued, self.left - before.left);
        QueueWindow {
            number,
            queue: place,
            enqueued,
            dropped: self.dropped - before.dropped,
            marked: self.marked - before.marked,
            backlog_sum: self.backlog_sum - before.backlog_sum,
            backlog_most: (enqueued > 0).then_some(greatest.backlog),
            left,
            waited_sum: self.waited_sum - before.waited_sum,
            waited_most: (left > 0).then_some(greatest.wait()),
        }
    }
}

/// The windows of one length, for every queue.
#[derive(Debug, Clone)]
pub(crate) struct QueueSeries {
    pub(crate) length: Span,
    /// End of the window that is being filled.
    pub(crate) border: Instant,
    filling: u64,
    before: Vec<QueueTotals>,
    /// The windows that ended, in the order of time, then of queues.
    pub(crate) windows: Vec<QueueWindow>,
}

impl QueueSeries {
    pub(crate) fn new(length: Span, begin: Instant, queues: usize) -> Self {
        let before = vec![QueueTotals::default(); queues];
        Self { length, border: begin + length, filling: 0, before, windows: Vec::new() }
    }

    /// Ends every window that ends at `until` or before, given the queues, of which nothing was counted since the
    /// first of these borders.
    pub(crate) fn roll(&mut self, until: Instant, queues: &mut [Queue]) {
        if self.border > until || self.border == Instant::MAX {
            return;
        }
        let number = self.filling;
        for (place, (queue, before)) in queues.iter_mut().zip(&mut self.before).enumerate() {
            self.windows.push(before.window(number, place, queue));
        }
        self.end();
        while self.border <= until && self.border != Instant::MAX {
            let number = self.filling;
            let silent = |queue| QueueWindow { number, queue, ..QueueWindow::default() };
            self.windows.extend((0..queues.len()).map(silent));
            self.end();
        }
    }

    /// Gives queues their overall maxima back, before these are read.
    pub(crate) fn restore(&self, queues: &mut [Queue]) {
        for (queue, before) in queues.iter_mut().zip(&self.before) {
            let mut greatest = queue.swap_maxima(&Maxima::default());
            greatest.raise(&before.greatest);
            queue.swap_maxima(&greatest);
        }
    }

    fn end(&mut self) {
        self.filling += 1;
        self.border += self.length;
    }
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
    /// By window, as far as anything was reported.
    pub(crate) windows: Vec<SlotCounts>,
    /// How long its frames last.
    pub(crate) frame: Span,
}

/// Slots of all queues, from the end of the warm-up to the end.
#[derive(Debug, Clone)]
pub(crate) struct SlotBook {
    begin: Instant,
    end: Instant,
    /// Length of the windows, if there are any.
    pub(crate) length: Option<Span>,
    queues: Vec<Slots>,
}

impl SlotBook {
    pub(crate) fn new(begin: Instant, end: Instant, length: Option<Span>, queues: usize) -> Self {
        Self { begin, end, length, queues: vec![Slots::default(); queues] }
    }

    /// Those that have slots, with their places in lists of queues.
    pub(crate) fn queues(&self) -> impl Iterator<Item = (usize, &Slots)> {
        self.queues.iter().enumerate().filter(|(_, slots)| slots.all.frames > 0)
    }

    pub(crate) fn on_assigned(&mut self, at: Instant, queue: usize, assigned: &FramesAssigned) {
        self.queues[queue].frame = assigned.frame;
        let nanos = assigned.frame.as_nanos().max(1);
        // Frames before the beginning and after the end are passed over at once.
        let before = self.begin.saturating_since(at).as_nanos().div_ceil(nanos);
        let until = self.end.saturating_since(at).as_nanos().div_ceil(nanos);
        for number in before..until.min(assigned.frames) {
            let slots = assigned.guaranteed + assigned.by_rate + assigned.by_volume + assigned.free;
            self.count(at + assigned.frame.saturating_mul(number), queue, |counts| {
                counts.frames += 1;
                counts.guaranteed += u64::from(assigned.guaranteed);
                counts.by_rate += u64::from(assigned.by_rate);
                counts.by_volume += u64::from(assigned.by_volume);
                counts.free += u64::from(assigned.free);
                counts.capacity_bytes += u64::from(slots) * u64::from(assigned.slot_bytes);
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
