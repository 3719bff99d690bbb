//! What a tap near the receiver knows of the sender: its round trip, from what answers an acknowledgment.
//!
//! Source: RFC 7323 §4.1 (the echo names the acknowledgment that was seen last), and the third packet of the
//! set-up, which answers SYN-ACK. A sender that waits for its application answers late; so the least of some
//! samples counts, and what is more than twice the least of all tells nothing.

use super::cause::{AT_ONCE, Circumstances};
use super::episode::Repair;
use super::kind::{Cause, TapSide};
use super::repeats::is_earlier;
use super::stream::Stream;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment};

/// What waits for its answer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Afar {
    /// A timestamp that an acknowledgment took along, and when it left.
    stamp: Option<(u32, Instant)>,
    /// When SYN-ACK left, if it did once.
    answered_at: Option<Instant>,
    has_answered_twice: bool,
    /// The least of the last samples, and how many these are.
    least: Span,
    samples: u8,
    /// When a gap was last filled by what had been overtaken, and behind what.
    filled_at: Instant,
    filled_end: u64,
}

/// So many samples make one.
const SAMPLES: u8 = 8;

impl Stream {
    /// An acknowledgment leaves the receiver.
    #[cold]
    pub(super) fn ask_from_afar(&mut self, at: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            self.afar.has_answered_twice |= self.afar.answered_at.is_some();
            self.afar.answered_at = Some(at).filter(|_| !self.afar.has_answered_twice);
        }
        if self.afar.stamp.is_none() {
            self.afar.stamp = segment.options.timestamps.map(|stamps| (stamps.value, at));
        }
    }

    /// A segment comes to the receiver.
    #[cold]
    pub(super) fn hear_from_afar(&mut self, at: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            return;
        }
        if let Some(answered_at) = self.afar.answered_at.take() {
            let rtt = at.saturating_since(answered_at);
            self.timeout.sample(rtt, self.acknowledged, self.highest);
        }
        let (Some((value, left_at)), Some(stamps)) = (self.afar.stamp, segment.options.timestamps)
        else {
            return;
        };
        if stamps.echo == value {
            self.sample_from_afar(at.saturating_since(left_at));
        }
        if stamps.echo == value || is_earlier(value, stamps.echo) {
            self.afar.stamp = None;
        }
    }

    fn sample_from_afar(&mut self, rtt: Span) {
        if self.timeout.least().is_some_and(|least| rtt > least * 2) {
            return;
        }
        let afar = &mut self.afar;
        afar.least = if afar.samples == 0 { rtt } else { afar.least.min(rtt) };
        afar.samples += 1;
        if afar.samples == SAMPLES {
            afar.samples = 0;
            let least = afar.least;
            self.timeout.sample(least, self.acknowledged, self.highest);
        }
    }

    /// What was overtaken has come, and filled a gap that ended before `end`.
    pub(super) const fn note_filled(&mut self, at: Instant, end: u64) {
        self.afar.filled_at = at;
        self.afar.filled_end = end;
    }

    /// Whether the other side may have been told that something before `end` was lost, since it came late.
    pub(super) fn was_filled_late(&self, at: Instant, end: u64) -> bool {
        end <= self.afar.filled_end
            && at.saturating_since(self.afar.filled_at) <= self.timeout.smoothed() * 2
    }

    /// A round trip between the tap and the receiver tells of the sender's time-out where the tap is near the
    /// sender.
    #[inline]
    pub(super) fn sample_timeout(&mut self, rtt: Span) {
        if self.side == TapSide::Sender {
            self.timeout.sample(rtt, self.acknowledged, self.highest);
        }
    }
}

/// Near the receiver, what reacts to an acknowledgment comes a round trip after that has left, and so does what
/// a timer sends that the acknowledgment has set.
pub(super) fn seen_from_afar(facts: &Circumstances) -> Cause {
    let is_over = |since: Span| since * 100 >= facts.timeout * 95;
    if facts.is_acknowledged {
        // It had come, and what said so was lost or late.
        return match facts {
            _ if is_over(facts.since_advance) => Cause::Timeout,
            _ if facts.is_last => Cause::TailLossProbe,
            _ if facts.was_filled_late => Cause::FastRetransmit,
            _ if facts.repair == Repair::Timeout => Cause::AfterTimeout,
            _ => Cause::Timeout,
        };
    }
    let has_set_none = is_over(facts.since_advance.saturating_sub(facts.smoothed_rtt));
    let is_overdue = has_set_none && (facts.was_never_seen || is_over(facts.since_oldest));
    match facts.repair {
        _ if facts.is_oldest && is_overdue && !is_answer_from_afar(facts) => Cause::Timeout,
        Repair::Fast => Cause::FastRetransmit,
        Repair::Timeout => Cause::AfterTimeout,
        Repair::None if facts.has_evidence => Cause::FastRetransmit,
        Repair::None if facts.is_oldest => Cause::Timeout,
        Repair::None if facts.is_last => Cause::TailLossProbe,
        Repair::None => Cause::Unknown,
    }
}

/// Whether it comes a round trip after an acknowledgment with evidence has left, or a round trip and the wait for
/// late segments, as only an answer does where the way is quiet.
fn is_answer_from_afar(facts: &Circumstances) -> bool {
    let rtt = facts.least_rtt.as_nanos();
    let since = facts.since_news.as_nanos();
    let is_just = |wait: u64| {
        let due = rtt + wait;
        (due - due / 50..=due + due / 20 + AT_ONCE.as_nanos()).contains(&since)
    };
    facts.has_evidence && (is_just(0) || is_just(rtt / 4))
}
