//! Why something was sent again: the rules, in the order in which they are asked.
//!
//! A sender repeats data for one of three reasons, and each leaves another trace at a tap beside it:
//!
//! 1. *An acknowledgment told of a loss* (fast retransmit and fast recovery; RFC 5681 §3.2, RFC 6675 §5,
//!    RFC 8985 §6). The repetition follows that acknowledgment at once, or after the short wait that
//!    allows for reordering (at most a round trip, RFC 8985 §6.2 step 4; a quarter of it for early
//!    retransmit in Linux).
//! 2. *The retransmission timer ran out* (RFC 6298 §5.4). Nothing has come that would restart it for a
//!    whole time-out, and it is the oldest outstanding segment that goes. What goes after it, as long as
//!    not all is acknowledged that was outstanding then, belongs to the same repair (RFC 5681 §3.1).
//!    Where the receiver throws away what it had acknowledged selectively (it may, RFC 2018 §8), Linux does not
//!    wait so long but half a round trip, and goes on as after a time-out (`tcp_check_sack_reneging`). Nothing
//!    else makes a sender repeat what was selectively acknowledged, but what follows a time-out.
//! 3. *A tail loss probe* (RFC 8985 §7). Nothing has come for two round trips, there is no evidence of a
//!    loss, and it is the *last* segment that goes. With several segments outstanding that tells it from
//!    a time-out. With one, both are the same segment, and often at the same instant, since a probe
//!    waits no longer than the time-out: then counts what the connection does elsewhere.
//!
//! Nothing is drawn from how many duplicates there were: one suffices for thin streams (Linux
//! `thin_dupack`, `tcp_reordering` = 1), for RACK, and for early retransmit.

use super::kind::{Cause, ProbeUseCounts, TapSide};
use super::repair::Repair;
use fairwind_units::{Instant, Span};

/// A host answers an acknowledgment within this, and sends what belongs together within this.
pub(super) const AT_ONCE: Span = Span::from_millis(1);

/// Late by so much is a timer of high resolution, and one that counts ticks (two of 4 ms).
const EXACT_TIMER: Span = Span::from_millis(1);
const COARSE_TIMER: Span = Span::from_millis(8);

/// Most answers come within this.
pub(super) const FAST_ANSWER: Span = Span::from_micros(100);

/// What is known when something is sent again.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate piece of evidence")]
pub(super) struct RetransmissionContext {
    /// Where the tap is.
    pub(super) side: TapSide,
    /// The repair under way.
    pub(super) repair: Repair,
    /// It begins with the oldest outstanding byte.
    pub(super) is_oldest: bool,
    /// It ends with the last byte that was sent.
    pub(super) is_last: bool,
    /// It is one segment that was sent as such, not several joined.
    pub(super) is_single: bool,
    /// It was selectively acknowledged, and is not there when everything before it is: the receiver has
    /// thrown it away again (RFC 2018 §8).
    pub(super) is_reneged: bool,
    /// Something sent after it is known to have arrived: SACK above it, or duplicates without SACK.
    pub(super) has_loss_evidence: bool,
    /// It was sent again in this repair before.
    pub(super) is_repeated: bool,
    /// Selective acknowledgments are, or may be, in use.
    pub(super) may_sack: bool,
    /// SACK blocks may have been cut off by the capture, so that evidence may have passed unseen.
    pub(super) is_blind: bool,
    /// A probe is on its way.
    pub(super) is_probing: bool,
    /// Whether the sender probes.
    pub(super) probe_inference: ProbeUse,
    /// Since the last acknowledgment with news.
    pub(super) since_news: Span,
    /// Since the last repetition before this one.
    pub(super) since_repetition: Span,
    /// Since the timer was last set anew: by an acknowledgment that advances, or by sending the oldest
    /// segment.
    pub(super) since_timer: Span,
    /// Since the oldest segment was last sent.
    pub(super) since_oldest: Span,
    /// All of it is acknowledged.
    pub(super) is_acknowledged: bool,
    /// It came late, so that the other side may have taken it for lost.
    pub(super) was_filled_late: bool,
    /// Since an acknowledgment last advanced.
    pub(super) since_advance: Span,
    /// The oldest segment was never seen, and is known only by what was sent after it.
    pub(super) was_never_seen: bool,
    /// Smoothed round-trip time of the sender.
    pub(super) smoothed_rtt: Span,
    /// The time-out, without back-off.
    pub(super) timeout: Span,
    /// Least round-trip time.
    pub(super) least_rtt: Span,
    /// The repair under way was needless, as its first acknowledgment has shown.
    pub(super) is_refuted: bool,
    /// How long a probe waits with one segment outstanding.
    pub(super) probe_wait: Span,
}

/// What the rules say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// This cause.
    Is(Cause),
    /// A tail loss probe or a time-out: what the connection does elsewhere decides.
    ProbeOrTimeout,
}

/// The cause of a repetition.
pub(super) fn cause(context: &RetransmissionContext) -> Verdict {
    if context.is_reneged && context.repair != Repair::Timeout {
        return Verdict::Is(Cause::Timeout);
    }
    if context.side == TapSide::Receiver {
        return Verdict::Is(near_receiver(context));
    }
    let verdict = None
        .or_else(|| reaction(context))
        .or_else(|| same_burst(context))
        .or_else(|| probe(context))
        .or_else(|| timeout(context))
        .or_else(|| delayed_reaction(context))
        .unwrap_or(Verdict::Is(Cause::Unknown));
    match verdict {
        // All others are drawn from evidence that is not there, which is no proof here.
        Verdict::Is(Cause::FastRetransmit) => verdict,
        _ if context.is_blind => Verdict::Is(Cause::Unknown),
        _ => verdict,
    }
}

impl RetransmissionContext {
    /// Whether a time-out is due just now. It counts from the last acknowledgment that advanced, or,
    /// where a probe or a wait for late segments came between, from the sending of the oldest segment
    /// (Linux `tcp_rearm_rto`). A timer never runs out early.
    fn is_timeout_due_now(&self, late_by_per_mille: u64) -> bool {
        let timeout = self.timeout.as_nanos();
        let most = timeout.saturating_add(timeout / 1000 * late_by_per_mille);
        let is_now = |since: Span| (timeout - timeout / 1000..most).contains(&since.as_nanos());
        is_now(self.since_timer) || is_now(self.since_oldest)
    }

    /// Whether the wait for late segments is over just now: a quarter of the round trip after the
    /// acknowledgment that told of a loss (RFC 8985 §6.2, Linux `tcp_rack_reo_wnd`; early retransmit in
    /// Linux 3.5 to 4.11), and not later than by so much.
    fn is_wait_over_now(&self, late_by: Span) -> bool {
        let wait = (self.least_rtt / 4).as_nanos();
        let since = self.since_news.as_nanos();
        since + 500_000 >= wait && since <= wait + wait / 32 + late_by.as_nanos()
    }

    /// Whether a time-out is over that counts from the last sending of the oldest segment: had a later
    /// acknowledgment told that it was lost again, it would have gone then.
    fn is_overdue(&self) -> bool {
        self.is_repeated && self.since_oldest * 100 >= self.timeout * 99
    }
}

/// An acknowledgment with news has just come: what goes now answers it.
fn reaction(context: &RetransmissionContext) -> Option<Verdict> {
    let is_chance = context.is_oldest
        && (context.is_overdue()
            || context.since_news > FAST_ANSWER && context.is_timeout_due_now(30));
    if context.since_news > AT_ONCE || is_chance {
        return None;
    }
    match context.repair {
        // A repetition that was lost itself is found by what was sent after it, and repaired like a
        // first loss (Linux leaves the repair after a time-out for it, `FLAG_LOST_RETRANS`).
        Repair::Timeout
            if context.has_loss_evidence && (context.is_repeated || context.is_refuted) =>
        {
            Some(Verdict::Is(Cause::FastRetransmit))
        }
        Repair::Timeout => Some(Verdict::Is(Cause::AfterTimeout)),
        Repair::Fast => Some(Verdict::Is(Cause::FastRetransmit)),
        Repair::None if context.has_loss_evidence => Some(Verdict::Is(Cause::FastRetransmit)),
        // What has just advanced has set the timer anew: no time-out is near.
        Repair::None if context.since_timer <= FAST_ANSWER => {
            Some(Verdict::Is(Cause::FastRetransmit))
        }
        // An acknowledgment without evidence explains nothing.
        Repair::None => None,
    }
}

/// It goes together with a repetition that went just before.
fn same_burst(context: &RetransmissionContext) -> Option<Verdict> {
    if context.since_repetition > AT_ONCE || context.is_repeated {
        return None;
    }
    match context.repair {
        Repair::Timeout => Some(Verdict::Is(Cause::AfterTimeout)),
        Repair::Fast => Some(Verdict::Is(Cause::FastRetransmit)),
        Repair::None => None,
    }
}

/// The last segment, without evidence of any loss, and one probe at a time (RFC 8985 §7.3). Probes need
/// SACK (§7.1). They are not joined with what was sent before, as small repetitions are (Linux
/// `tcp_retrans_try_collapse`).
fn probe(context: &RetransmissionContext) -> Option<Verdict> {
    let may_probe = context.is_last
        && context.is_single
        && context.may_sack
        && !context.has_loss_evidence
        && !context.is_probing
        && context.repair == Repair::None;
    if !may_probe {
        return None;
    }
    if !context.is_oldest {
        return Some(Verdict::Is(Cause::TailLossProbe));
    }
    alone(context)
}

/// The only segment outstanding is sent again: a time-out comes not much before its time, a probe not
/// much behind it. Timers of Linux are up to an eighth late.
fn alone(context: &RetransmissionContext) -> Option<Verdict> {
    let waited = context.since_timer;
    if waited * 8 < context.timeout * 7 {
        return (waited * 4 >= context.probe_wait * 3).then_some(Verdict::Is(Cause::TailLossProbe));
    }
    if waited * 4 > context.probe_wait * 5 {
        return Some(Verdict::Is(Cause::Timeout));
    }
    Some(match context.probe_inference {
        ProbeUse::Probes => Verdict::Is(Cause::TailLossProbe),
        ProbeUse::Waits => Verdict::Is(Cause::Timeout),
        _ => Verdict::ProbeOrTimeout,
    })
}

/// The oldest segment goes after a silence. Where there is evidence of a loss, the silence must be as
/// long as a time-out, and not what a wait for late segments takes; where there is none, no other reason
/// is left.
fn timeout(context: &RetransmissionContext) -> Option<Verdict> {
    let is_explained = context.has_loss_evidence || context.repair != Repair::None;
    let has_passed = context.since_timer * 1000 >= context.timeout * 999;
    let is_due = if context.has_loss_evidence && context.is_wait_over_now(EXACT_TIMER) {
        context.is_timeout_due_now(2) || context.is_overdue()
    } else if context.has_loss_evidence && context.is_wait_over_now(COARSE_TIMER) {
        has_passed || context.is_timeout_due_now(40) || context.is_overdue()
    } else {
        context.is_timeout_due_now(130) || context.since_timer * 10 >= context.timeout * 9
    };
    (context.is_oldest && (is_due || !is_explained)).then_some(Verdict::Is(Cause::Timeout))
}

/// Evidence, or a repair under way, and some time since: the sender has waited for late segments
/// (RFC 8985 §6.2), or paces.
fn delayed_reaction(context: &RetransmissionContext) -> Option<Verdict> {
    match context.repair {
        Repair::Fast => Some(Verdict::Is(Cause::FastRetransmit)),
        Repair::Timeout => Some(Verdict::Is(Cause::AfterTimeout)),
        Repair::None => context.has_loss_evidence.then_some(Verdict::Is(Cause::FastRetransmit)),
    }
}

/// Near the receiver, what reacts to an acknowledgment comes a round trip after that has left, and so does what
/// a timer sends that the acknowledgment has set.
fn near_receiver(context: &RetransmissionContext) -> Cause {
    let is_over = |since: Span| since * 100 >= context.timeout * 95;
    if context.is_acknowledged {
        // It had come, and what said so was lost or late.
        return match context {
            _ if is_over(context.since_advance) => Cause::Timeout,
            _ if context.is_last => Cause::TailLossProbe,
            _ if context.was_filled_late => Cause::FastRetransmit,
            _ if context.repair == Repair::Timeout => Cause::AfterTimeout,
            _ => Cause::Timeout,
        };
    }
    let has_set_none = is_over(context.since_advance.saturating_sub(context.smoothed_rtt));
    let is_overdue = has_set_none && (context.was_never_seen || is_over(context.since_oldest));
    match context.repair {
        _ if context.is_oldest && is_overdue && !is_answer_near_receiver(context) => Cause::Timeout,
        Repair::Fast => Cause::FastRetransmit,
        Repair::Timeout => Cause::AfterTimeout,
        Repair::None if context.has_loss_evidence => Cause::FastRetransmit,
        Repair::None if context.is_oldest => Cause::Timeout,
        Repair::None if context.is_last => Cause::TailLossProbe,
        Repair::None => Cause::Unknown,
    }
}

/// Whether it comes a round trip after an acknowledgment with evidence has left, or a round trip and the wait for
/// late segments, as only an answer does where the way is quiet.
fn is_answer_near_receiver(context: &RetransmissionContext) -> bool {
    let rtt = context.least_rtt.as_nanos();
    let since = context.since_news.as_nanos();
    let is_just = |wait: u64| {
        let due = rtt + wait;
        (due - due / 50..=due + due / 20 + AT_ONCE.as_nanos()).contains(&since)
    };
    context.has_loss_evidence && (is_just(0) || is_just(rtt / 4))
}

/// Whether a sender uses tail loss probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ProbeUse {
    /// It has not shown.
    #[default]
    Unknown,
    /// It seems to.
    LikelyProbes,
    /// It does.
    Probes,
    /// It seems not to.
    LikelyWaits,
    /// It does not.
    Waits,
}

/// A single segment that was sent again, probe or time-out.
#[derive(Debug, Clone, Copy, Default)]
enum Single {
    /// There is none.
    #[default]
    None,
    /// It is not acknowledged.
    Out,
    /// It was acknowledged by a bare acknowledgment, and nothing was sent since.
    Acknowledged,
}

/// What is known, and what waits for it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProbeInference {
    shown: ProbeUse,
    single: Single,
    /// Nothing was lost before the single segment.
    is_first: bool,
    /// When the single segment was acknowledged, if it was.
    acknowledged_at: Instant,
    /// Repetitions that are taken for probes until it is known, and their bytes.
    undecided: u64,
    undecided_bytes: u64,
    /// How long was waited before the last of them.
    wait: Span,
}

impl ProbeInference {
    /// Counts no repetitions of before.
    pub(super) const fn reset_counts(&mut self) {
        (self.undecided, self.undecided_bytes) = (0, 0);
    }

    /// What has shown.
    pub(super) const fn shown(&self) -> ProbeUse {
        self.shown
    }

    /// Whether it is certain.
    fn has_shown(&self) -> bool {
        matches!(self.shown, ProbeUse::Probes | ProbeUse::Waits)
    }

    /// Whether the next new data, or the next acknowledgment, may tell something.
    #[inline]
    pub(super) const fn is_watching(&self) -> bool {
        !matches!(self.single, Single::None)
    }

    /// A single segment of so much payload was sent again after `wait`; it may be a probe or a time-out.
    pub(super) fn on_undecided(&mut self, wait: Span, payload: u64, is_first: bool) {
        self.wait = wait;
        self.single = Single::Out;
        self.is_first = is_first;
        if payload > 0 {
            self.undecided += 1;
            self.undecided_bytes += payload;
        }
    }

    /// New data is sent.
    #[cold]
    pub(super) fn on_new_data(&mut self, now: Instant) {
        match self.single {
            Single::Out if !self.has_shown() => {
                self.shown = ProbeUse::LikelyProbes;
            }
            Single::Acknowledged
                if self.is_first
                    && self.shown == ProbeUse::Unknown
                    && now.saturating_since(self.acknowledged_at) <= FAST_ANSWER =>
            {
                self.shown = ProbeUse::LikelyWaits;
            }
            _ => {}
        }
        self.single = Single::None;
    }

    /// All that was sent again is acknowledged, by a segment that carries nothing else or does.
    #[cold]
    pub(super) fn on_acknowledged(&mut self, at: Instant, is_bare: bool) {
        self.single = match self.single {
            Single::Out if is_bare => Single::Acknowledged,
            _ => Single::None,
        };
        self.acknowledged_at = at;
    }

    /// The cause of a repetition was found.
    pub(super) fn on_verdict(&mut self, verdict: Verdict, context: &RetransmissionContext) {
        if self.shown == ProbeUse::Probes {
            return;
        }
        if verdict == Verdict::Is(Cause::TailLossProbe) && !context.is_oldest {
            self.shown = ProbeUse::Probes;
        } else if verdict == Verdict::Is(Cause::Timeout) && context.may_sack {
            let is_alone = context.is_oldest && context.is_last && context.is_single;
            let is_plain = !is_alone
                && !context.has_loss_evidence
                && !context.is_probing
                && context.repair == Repair::None;
            let has_doubled = is_alone
                && context.is_probing
                && !self.wait.is_zero()
                && context.since_timer * 10 >= self.wait * 17;
            if is_plain || has_doubled {
                self.shown = ProbeUse::Waits;
            }
            self.wait = Span::ZERO;
        }
    }

    /// Nothing more comes. Tells `probe_use` what has shown, and gives how many repetitions, and how many
    /// bytes of them, were time-outs though they had been taken for probes.
    pub(super) fn settle(&mut self, probe_use: &mut ProbeUseCounts) -> (u64, u64) {
        let waits = match self.shown {
            ProbeUse::Unknown => probe_use.waiting > probe_use.probing,
            ProbeUse::Probes | ProbeUse::LikelyProbes => false,
            ProbeUse::Waits | ProbeUse::LikelyWaits => true,
        };
        match self.shown {
            ProbeUse::Unknown => {}
            _ if waits => probe_use.waiting += 1,
            _ => probe_use.probing += 1,
        }
        let undecided = (self.undecided, self.undecided_bytes);
        (self.undecided, self.undecided_bytes) = (0, 0);
        if waits { undecided } else { (0, 0) }
    }
}
