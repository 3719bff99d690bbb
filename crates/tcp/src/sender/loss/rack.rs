//! Loss detection by time (RACK).
//!
//! Source: RFC 8985 §6; Linux `tcp_recovery.c`.
//! Cost: an acknowledgment that brings nothing out of order costs a comparison per segment. Segments
//! sent once lie in the order of their sending anyway; those sent again are kept in a list of their
//! own, in the order of that. So only segments are touched that are lost or may be, and ranges
//! that have arrived are stepped over as a whole.

use crate::sender::queue::{Marks, Moment, SendQueue, Sent};
use crate::sender::scoreboard::Scoreboard;
use crate::timers::{is_earlier, timestamp_at};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;
use std::collections::VecDeque;

/// Recoveries without a D-SACK after which the reordering window is as at first (Linux
/// `TCP_RACK_RECOVERY_THRESH`).
const PATIENT_REPAIRS: u8 = 16;

/// A segment that was sent again.
#[derive(Debug, Clone, Copy)]
struct RetransmittedSegment {
    sequence: SequenceNumber,
    at: Instant,
}

/// What is known of the segment sent last among those that have arrived.
#[derive(Debug, Default)]
pub(crate) struct Rack {
    /// When it was sent (`rack.mstamp`, `rack.end_seq`).
    youngest: Moment,
    /// The round trip of the segment acknowledged last (`rack.rtt_us`).
    rtt: Span,
    /// Something has arrived since losses were looked for.
    advanced: bool,
    /// A needless retransmission was reported, and the patience is to grow.
    repeated: bool,
    /// Quarters of the least round-trip time to wait for late segments.
    steps: u8,
    /// Recoveries for which it stays so.
    persists: u8,
    /// Segments delivered when the patience grew last.
    delivered_at_growth: u32,
    /// Segments sent once below this absolute index have arrived or are lost.
    judged_below: u64,
    /// Those sent again, in the order of that; what is settled is forgotten once it is at the front.
    retransmitted_order: VecDeque<RetransmittedSegment>,
}

impl Rack {
    pub(crate) fn new() -> Self {
        Self { steps: 1, ..Self::default() }
    }

    /// Whether something has arrived since losses were looked for; from now on nothing has.
    pub(crate) fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// Losses are to be looked for although nothing has arrived.
    pub(crate) fn look_again(&mut self) {
        self.advanced = true;
    }

    pub(crate) fn note_dsack(&mut self) {
        self.repeated = true;
    }

    /// Whether a segment was sent before the youngest that has arrived.
    fn is_overtaken(&self, sent: &Sent) -> bool {
        sent.moment().is_before(self.youngest)
    }

    /// A segment has arrived. That of one sent more than once counts only if it can be an answer to
    /// the last transmission (RFC 8985 §6.2 step 2).
    #[inline]
    fn advance(&mut self, sent: &Sent, least_rtt: Span, now: Instant) {
        let rtt = now.saturating_since(sent.transmitted_at());
        if sent.is_retransmitted() && rtt < least_rtt {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if self.youngest.is_before(sent.moment()) {
            self.youngest = sent.moment();
        }
    }

    /// Our SYN, sent once at `sent_at`, is answered after `rtt`.
    pub(crate) fn on_handshake(&mut self, sent_at: Instant, rtt: Span) {
        self.advanced = true;
        self.rtt = rtt;
        self.youngest = Moment::new(sent_at, 0);
    }

    /// Notes that the segment at `sequence` has been sent again.
    pub(crate) fn on_retransmitted(&mut self, sequence: SequenceNumber, now: Instant) {
        self.retransmitted_order.push_back(RetransmittedSegment { sequence, at: now });
    }

    pub(crate) fn on_collapsed(&mut self, index: u64) {
        if self.judged_below > index + 1 {
            self.judged_below -= 1;
        }
    }

    /// Losses were taken back: all are looked at again, but those that time had found lost.
    pub(crate) fn reconsider(&mut self, queue: &SendQueue) {
        self.advanced = true;
        self.judged_below = queue.first_index();
    }

    /// When a segment sent at `sent_at` counts as lost, if one sent later has arrived.
    pub(crate) fn lost_at(&self, sent_at: Instant, reordering_window: Span) -> Instant {
        sent_at + self.rtt + reordering_window
    }

    /// How long late segments are waited for, beyond a round trip.
    pub(crate) fn reordering_window(&self, least_rtt: Span, smoothed: Span) -> Span {
        (least_rtt / 4 * u64::from(self.steps)).min(smoothed)
    }

    /// Lets the patience grow after a report of a needless retransmission, once per round trip
    /// (Linux `tcp_rack_update_reo_wnd`).
    #[inline]
    pub(crate) fn adapt(&mut self, delivered_at_sending: u32, delivered: u32) {
        if delivered_at_sending == 0 {
            return;
        }
        let since = delivered_at_sending.wrapping_sub(self.delivered_at_growth);
        if since > u32::MAX / 2 {
            self.repeated = false;
        }
        if self.repeated {
            self.steps = self.steps.saturating_add(1);
            self.repeated = false;
            self.delivered_at_growth = delivered;
            self.persists = PATIENT_REPAIRS;
        } else if self.persists == 0 {
            self.steps = 1;
        }
    }

    /// A repair ended well: the patience wears off. One ended as needless: it lasts.
    pub(crate) fn on_repair_ended(&mut self, needless: bool) {
        self.persists = if needless {
            (self.persists + 1).min(PATIENT_REPAIRS)
        } else {
            self.persists.saturating_sub(1)
        };
    }

    /// Marks what is lost, and tells how long to wait until all that was overtaken is judged
    /// (Linux `tcp_rack_detect_loss`).
    pub(crate) fn detect(
        &mut self,
        queue: &mut SendQueue,
        scoreboard: &Scoreboard,
        reordering_window: Span,
        now: Instant,
    ) -> Option<Span> {
        let originals = self.judge_originals(queue, scoreboard, reordering_window, now);
        let repairs = self.judge_repairs(queue, reordering_window, now);
        originals.max(repairs).map(|last| last.saturating_since(now))
    }

    fn judge_originals(
        &mut self,
        queue: &mut SendQueue,
        scoreboard: &Scoreboard,
        reordering_window: Span,
        now: Instant,
    ) -> Option<Instant> {
        let mut last = None;
        let mut index = self.judged_below.max(queue.first_index());
        while index < queue.end_index() {
            let sent = *queue.get(index);
            if sent.marks().contains(Marks::SACKED) {
                index = scoreboard.skip_range(queue, index);
            } else {
                let settled = sent.is_retransmitted()
                    || sent.marks().contains(Marks::LOST)
                    || sent.marks().contains(Marks::JUDGED);
                if !settled {
                    if !self.is_overtaken(&sent) {
                        break;
                    }
                    last = last.max(self.judge_overtaken(queue, index, reordering_window, now));
                }
                index += 1;
            }
            if last.is_none() {
                self.judged_below = index;
            }
        }
        last
    }

    /// Judges an overtaken segment lost if it is late enough; else says when it would be.
    #[inline]
    fn judge_overtaken(
        &self,
        queue: &mut SendQueue,
        index: u64,
        reordering_window: Span,
        now: Instant,
    ) -> Option<Instant> {
        let lost_at = self.lost_at(queue.get(index).transmitted_at(), reordering_window);
        if lost_at > now {
            return Some(lost_at);
        }
        queue.judge_lost(index);
        None
    }

    fn judge_repairs(
        &mut self,
        queue: &mut SendQueue,
        reordering_window: Span,
        now: Instant,
    ) -> Option<Instant> {
        let mut last = None;
        let mut place = 0;
        while let Some(&retransmitted_order) = self.retransmitted_order.get(place) {
            let index = queue.index_of(retransmitted_order.sequence);
            let current = (index < queue.end_index())
                .then(|| *queue.get(index))
                .filter(|sent| {
                    sent.is_retransmitted() && sent.transmitted_at() == retransmitted_order.at
                })
                .filter(|sent| {
                    !sent.marks().contains(Marks::SACKED) && !sent.marks().contains(Marks::JUDGED)
                });
            let Some(sent) = current else {
                self.forget(place);
                // What is not at the front is forgotten in its turn.
                place += usize::from(place > 0);
                continue;
            };
            place += 1;
            if sent.marks().contains(Marks::LOST) && !sent.marks().contains(Marks::RETRANSMITTED) {
                continue;
            }
            if !self.is_overtaken(&sent) {
                break;
            }
            last = last.max(self.judge_overtaken(queue, index, reordering_window, now));
        }
        last
    }

    fn forget(&mut self, place: usize) {
        if place == 0 {
            self.retransmitted_order.pop_front();
        }
    }
}

/// A segment that an acknowledgment reports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LatestDelivered {
    /// Segments delivered before it was sent.
    delivered_before: u32,
    sent_at: Instant,
    end: SequenceNumber,
    marks: Marks,
}

impl LatestDelivered {
    getters! {
        delivered_before: u32,
        sent_at: Instant,
        end: SequenceNumber,
        marks: Marks,
    }
}

/// Where the segments go that one acknowledgment reports.
#[derive(Debug)]
pub(crate) struct Delivery<'a> {
    /// Nothing is learnt of times without SACK.
    rack: Option<&'a mut Rack>,
    now: Instant,
    /// Least round-trip time; the greatest span where there is none yet.
    least_rtt: Span,
    /// The echoed timestamp.
    echo: Option<u32>,
    /// The one of them that was sent last, and its marks.
    latest: (Instant, SequenceNumber),
    latest_marks: Marks,
    /// Segments delivered before that was sent; 0 for none.
    delivered_at_sending: u32,
}

impl<'a> Delivery<'a> {
    #[inline]
    pub(crate) fn new(
        rack: Option<&'a mut Rack>,
        now: Instant,
        least_rtt: Option<Span>,
        echo: Option<u32>,
    ) -> Self {
        Self {
            rack,
            now,
            least_rtt: least_rtt.unwrap_or(Span::MAX),
            echo,
            latest: (Instant::ZERO, SequenceNumber::new(0)),
            latest_marks: Marks::default(),
            delivered_at_sending: 0,
        }
    }

    /// The one of the segments that was sent last.
    pub(crate) fn latest_delivered(&self) -> LatestDelivered {
        let (sent_at, end) = self.latest;
        let (delivered_before, marks) = (self.delivered_at_sending, self.latest_marks);
        LatestDelivered { delivered_before, sent_at, end, marks }
    }

    pub(crate) fn delivered_at_sending(&self) -> u32 {
        self.delivered_at_sending
    }

    /// A segment was selectively acknowledged for the first time.
    pub(crate) fn on_sacked(&mut self, sent: &Sent) {
        self.note_latest(sent);
        let (least_rtt, now) = (self.least_rtt, self.now);
        if let Some(rack) = &mut self.rack {
            rack.advance(sent, least_rtt, now);
        }
    }

    /// A segment was cumulatively acknowledged that had not been selectively acknowledged.
    #[inline]
    pub(crate) fn on_acknowledged(&mut self, sent: &Sent) {
        self.note_latest(sent);
        if sent.is_retransmitted() && self.is_answer_to_original(sent) {
            return;
        }
        let (least_rtt, now) = (self.least_rtt, self.now);
        if let Some(rack) = &mut self.rack {
            rack.advance(sent, least_rtt, now);
        }
    }

    #[inline]
    fn note_latest(&mut self, sent: &Sent) {
        let (at, end) = self.latest;
        let later = sent.transmitted_at() > at
            || sent.transmitted_at() == at
                && (self.delivered_at_sending == 0 || sent.end().is_after(end));
        if later {
            self.latest = (sent.transmitted_at(), sent.end());
            self.latest_marks = sent.marks();
            self.delivered_at_sending = sent.delivered_before();
        }
    }

    /// The peer echoes a timestamp from before the last transmission (Linux
    /// `tcp_skb_spurious_retrans`).
    #[cold]
    fn is_answer_to_original(&self, sent: &Sent) -> bool {
        self.echo.is_some_and(|echo| is_earlier(echo, timestamp_at(sent.transmitted_at())))
    }
}

#[cfg(test)]
mod tests {
    use crate::connection::{Connection, Ports};
    use crate::{Config, Profile};
    use fairwind_units::{Instant, Span};
    use fairwind_wire::{Flags, Options, Segment, SequenceNumber};
    use std::sync::Arc;

    /// Retransmissions are remembered for those who judge them by time, for nobody else.
    #[test]
    fn repetitions_are_not_kept_where_time_does_not_count() {
        let lasting = Span::from_secs(1);
        for (profile, sack, keeps) in [
            (Profile::Rfc, true, false),
            (Profile::Linux6_18, false, false),
            (Profile::Linux6_18, true, true),
        ] {
            let config = Config {
                sack,
                maximum_rto: lasting,
                retransmission_limit: 100,
                ..profile.config()
            };
            let number = SequenceNumber::new(0);
            let ports = Ports { local: 1, remote: 2 };
            let mut end = Connection::connect(Arc::new(config), ports, number);
            let mut now = Instant::from_secs(1);
            end.poll_segment(now);
            let options = Options { sack_permitted: sack, ..Options::NONE };
            let flags = Flags::SYN | Flags::ACK;
            let acknowledgment = number + 1;
            end.on_segment(
                now,
                &Segment { flags, acknowledgment, options, window: 9000, ..Segment::default() },
            );
            end.write(100);
            while end.poll_segment(now).is_some() {}
            for _ in 0..20 {
                now = end.next_deadline();
                end.on_deadline(now);
                while end.poll_segment(now).is_some() {}
            }
            assert!(end.sender().stats.retransmissions() > 10);
            assert_eq!(
                !end.sender().rack.retransmitted_order.is_empty(),
                keeps,
                "{} {sack}",
                profile.name()
            );
        }
    }
}
