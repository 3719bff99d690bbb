//! Windows of queues: differences of what was counted between the windows' borders.
//!
//! Nothing is done per packet: what is largest in a window is what the distributions take for the largest sample while
//! they are told to begin anew at each border. A departure belongs to the window in which it is told: networks tell of the last one before a link
//! falls idle when the link next has something to do.

use crate::queue::{GroupAtQueue, Maxima, Queue};
use fairwind_units::{Instant, Span};

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
struct Standing {
    enqueued: u64,
    dropped: u64,
    marked: u64,
    backlog_sum: u128,
    left: u64,
    waited_sum: u128,
    /// The greatest of all windows.
    greatest: Maxima,
}

impl Standing {
    /// What a queue did since the last border, from which on it is looked at anew.
    fn window(&mut self, number: u64, place: usize, queue: &mut Queue) -> QueueWindow {
        let greatest = queue.swap_maxima(&Maxima::default());
        self.greatest.raise(&greatest);
        let now = Self {
            enqueued: queue.sum(GroupAtQueue::enqueued).packets,
            dropped: queue.sum(GroupAtQueue::dropped).packets,
            marked: queue.sum(GroupAtQueue::marked).packets,
            backlog_sum: queue.backlog_packets().sum(),
            left: queue.groups().iter().map(GroupAtQueue::dequeued_packets).sum(),
            waited_sum: queue.groups().iter().map(|group| group.sojourn().sum()).sum(),
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
    length: Span,
    border: Instant,
    filling: u64,
    before: Vec<Standing>,
    windows: Vec<QueueWindow>,
}

impl QueueSeries {
    pub(crate) fn new(length: Span, begin: Instant, queues: usize) -> Self {
        let before = vec![Standing::default(); queues];
        Self { length, border: begin + length, filling: 0, before, windows: Vec::new() }
    }

    pub(crate) const fn length(&self) -> Span {
        self.length
    }

    pub(crate) const fn border(&self) -> Instant {
        self.border
    }

    /// The windows that ended, in the order of time, then of queues.
    pub(crate) fn windows(&self) -> &[QueueWindow] {
        &self.windows
    }

    /// Ends every window whose border is not after `until`, given the queues, of which nothing was counted since the
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

    /// Gives queues back what was greatest of all, before anybody reads it.
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
