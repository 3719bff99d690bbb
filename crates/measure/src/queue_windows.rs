//! Windows of queues: differences of what was counted between the windows' borders.
//!
//! Nothing is done per packet: what is largest in a window is read off the growth of the histograms, so it is as exact
//! as they are. A departure belongs to the window in which it is told: networks tell of the last one before a link
//! falls idle when the link next has something to do.

use crate::distribution::{Counts, Times};
use crate::histogram::Reading;
use crate::queue::{GroupAtQueue, Queue};
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
    backlog: Reading,
    /// Of each group, for putting their histograms together would cost more than all else.
    waited: Vec<Waited>,
}

/// How long packets of a group had waited at the last border.
#[derive(Debug, Clone, Default)]
struct Waited {
    sum: u128,
    samples: Reading,
}

impl Standing {
    fn of(queue: &Queue) -> Self {
        let waited = |sojourn: &Times| Waited { sum: sojourn.sum(), samples: sojourn.read() };
        Self {
            enqueued: queue.sum(GroupAtQueue::enqueued).packets,
            dropped: queue.sum(GroupAtQueue::dropped).packets,
            marked: queue.sum(GroupAtQueue::marked).packets,
            backlog_sum: queue.backlog_packets().sum(),
            backlog: queue.backlog_packets().read(),
            waited: queue.sojourns().map(waited).collect(),
        }
    }

    /// What was counted since `before`, of a queue whose greatest samples so far are these.
    fn since(
        &self,
        before: &Self,
        number: u64,
        queue: usize,
        greatest: [Option<u64>; 2],
    ) -> QueueWindow {
        let (_, backlog_most) = Counts::growth_since(&self.backlog, &before.backlog);
        let (mut left, mut waited_sum, mut waited_most) = (0, 0, None);
        let nothing = Waited::default();
        for (place, waited) in self.waited.iter().enumerate() {
            let before = before.waited.get(place).unwrap_or(&nothing);
            let (came, most) = Times::growth_since(&waited.samples, &before.samples);
            left += came;
            waited_sum += waited.sum - before.sum;
            waited_most = waited_most.max(most);
        }
        let [backlog_greatest, waited_greatest] = greatest;
        QueueWindow {
            number,
            queue,
            enqueued: self.enqueued - before.enqueued,
            dropped: self.dropped - before.dropped,
            marked: self.marked - before.marked,
            backlog_sum: self.backlog_sum - before.backlog_sum,
            backlog_most: backlog_most.zip(backlog_greatest).map(|(most, all)| most.min(all)),
            left,
            waited_sum,
            waited_most: waited_most.zip(waited_greatest).map(|(most, all)| most.min(all)),
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
    pub(crate) fn roll(&mut self, until: Instant, queues: &[Queue]) {
        if self.border > until || self.border == Instant::MAX {
            return;
        }
        let number = self.filling;
        for (place, (queue, before)) in queues.iter().zip(&mut self.before).enumerate() {
            let now = Standing::of(queue);
            let longest = queue.sojourns().filter_map(Times::maximum).max();
            let greatest = [queue.backlog_packets().maximum(), longest];
            self.windows.push(now.since(before, number, place, greatest));
            *before = now;
        }
        self.end();
        while self.border <= until && self.border != Instant::MAX {
            let number = self.filling;
            let silent = |queue| QueueWindow { number, queue, ..QueueWindow::default() };
            self.windows.extend((0..queues.len()).map(silent));
            self.end();
        }
    }

    fn end(&mut self) {
        self.filling += 1;
        self.border += self.length;
    }
}
