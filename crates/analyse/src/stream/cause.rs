//! Causes of retransmissions: the rules in the order in which they apply.
//!
//! A sender retransmits for one of three reasons. Each leaves a different trace at a tap near it:
//!
//! 1. *Acknowledgments show a loss*: fast retransmit and fast recovery (RFC 5681 §3.2, RFC 6675 §5, RFC 8985
//!    §6). The retransmission follows the acknowledgment at once, or after the short wait that allows for
//!    reordering: at most a round trip (RFC 8985 §6.2 step 4), a quarter of it for early retransmit in Linux.
//! 2. *The retransmission timer expires* (RFC 6298 §5.4). Nothing that restarts the timer has come for a whole
//!    timeout, and the oldest outstanding segment is sent. Retransmissions after it belong to the same repair
//!    until everything outstanding at the timeout is acknowledged (RFC 5681 §3.1). If the receiver discards
//!    data that it had selectively acknowledged (RFC 2018 §8), Linux waits only half a round trip and goes on
//!    as after a timeout (`tcp_check_sack_reneging`). Apart from repairs after timeouts, senders retransmit
//!    selectively acknowledged data for no other reason.
//! 3. *A tail loss probe* (RFC 8985 §7). Nothing has come for two round trips, there is no evidence of a loss,
//!    and the *last* segment is sent. With several segments outstanding this differs from a timeout. With one,
//!    both send the same segment, often at the same instant, because a probe waits no longer than the timeout.
//!    Then the other retransmissions of the connection decide.
//!
//! The number of duplicates decides nothing: one is enough for thin streams (Linux `thin_dupack`,
//! `tcp_reordering` = 1), for RACK, and for early retransmit.

use super::measures::{Cause, ProbeUseCounts, TapSide};
use super::repair::Repair;
use fairwind_units::{Instant, Span};

/// Time within which a host reacts to an acknowledgment, and sends a burst.
pub(super) const AT_ONCE: Span = Span::from_millis(1);

/// Lateness of a high-resolution timer, and of one that counts ticks (two of 4 ms).
const EXACT_TIMER: Span = Span::from_millis(1);
const COARSE_TIMER: Span = Span::from_millis(8);

/// Time within which most reactions come.
pub(super) const FAST_ANSWER: Span = Span::from_micros(100);

/// Evidence at a retransmission.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate piece of evidence")]
pub(super) struct RetransmissionContext {
    /// Side of the tap.
    pub(super) side: TapSide,
    /// Repair in progress.
    pub(super) repair: Repair,
    /// It begins with the oldest outstanding byte.
    pub(super) is_oldest: bool,
    /// It ends with the last byte that was sent.
    pub(super) is_last: bool,
    /// It is one segment of the first transmission, not several joined.
    pub(super) is_single: bool,
    /// It was selectively acknowledged, but is missing once everything before it is acknowledged: the receiver
    /// has discarded it (RFC 2018 §8).
    pub(super) is_reneged: bool,
    /// Something sent after it has arrived: SACK above it, or duplicate acknowledgments without SACK.
    pub(super) has_loss_evidence: bool,
    /// It was retransmitted in this repair before.
    pub(super) is_repeated: bool,
    /// SACK is, or may be, in use.
    pub(super) may_sack: bool,
    /// The capture may have cut SACK blocks, so that evidence may be missing.
    pub(super) is_blind: bool,
    /// A probe is outstanding.
    pub(super) is_probing: bool,
    /// Whether the sender uses tail loss probes.
    pub(super) probe_inference: ProbeUse,
    /// Since the last acknowledgment that brought news.
    pub(super) since_news: Span,
    /// Since the last retransmission.
    pub(super) since_repetition: Span,
    /// Since the timer was last restarted: by an acknowledgment that advances, or by sending the oldest
    /// segment.
    pub(super) since_timer: Span,
    /// Since the oldest segment was last sent.
    pub(super) since_oldest: Span,
    /// All of it is acknowledged.
    pub(super) is_acknowledged: bool,
    /// It arrived late, so that the receiver may have reported it as lost.
    pub(super) was_filled_late: bool,
    /// Since an acknowledgment last advanced.
    pub(super) since_advance: Span,
    /// The oldest segment was not seen at the tap; later ones imply it.
    pub(super) was_never_seen: bool,
    /// Smoothed round-trip time of the sender.
    pub(super) smoothed_rtt: Span,
    /// Timeout without backoff.
    pub(super) timeout: Span,
    /// Least round-trip time.
    pub(super) least_rtt: Span,
    /// The repair was spurious, as its first acknowledgment has shown.
    pub(super) is_refuted: bool,
    /// How long a probe waits with one segment outstanding.
    pub(super) probe_wait: Span,
}

/// Result of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// This cause.
    Is(Cause),
    /// A tail loss probe or a timeout: the rest of the connection decides.
    ProbeOrTimeout,
}

/// Infers the cause of a retransmission.
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
        // All other rules use missing evidence, which proves nothing here.
        Verdict::Is(Cause::FastRetransmit) => verdict,
        _ if context.is_blind => Verdict::Is(Cause::Unknown),
        _ => verdict,
    }
}

impl RetransmissionContext {
    /// Whether a timeout is due now: after the last acknowledgment that advanced, or, after a probe or a
    /// reordering wait, after the last transmission of the oldest segment (Linux `tcp_rearm_rto`). Timers never
    /// expire early.
    fn is_timeout_due_now(&self, late_by_per_mille: u64) -> bool {
        let timeout = self.timeout.as_nanos();
        let most = timeout.saturating_add(timeout / 1000 * late_by_per_mille);
        let is_now = |since: Span| (timeout - timeout / 1000..most).contains(&since.as_nanos());
        is_now(self.since_timer) || is_now(self.since_oldest)
    }

    /// Whether the reordering wait ends now: a quarter of the round trip after the acknowledgment that showed
    /// the loss (RFC 8985 §6.2, Linux `tcp_rack_reo_wnd`; early retransmit in Linux 3.5 to 4.11), with this
    /// lateness.
    fn is_wait_over_now(&self, late_by: Span) -> bool {
        let wait = (self.least_rtt / 4).as_nanos();
        let since = self.since_news.as_nanos();
        since + 500_000 >= wait && since <= wait + wait / 32 + late_by.as_nanos()
    }

    /// Whether a timeout has passed since the oldest segment was last sent. Had an acknowledgment shown that it
    /// was lost again, it would have been sent earlier.
    fn is_overdue(&self) -> bool {
        self.is_repeated && self.since_oldest * 100 >= self.timeout * 99
    }
}

/// An acknowledgment with news has just come: the retransmission reacts to it.
fn reaction(context: &RetransmissionContext) -> Option<Verdict> {
    let is_chance = context.is_oldest
        && (context.is_overdue()
            || context.since_news > FAST_ANSWER && context.is_timeout_due_now(30));
    if context.since_news > AT_ONCE || is_chance {
        return None;
    }
    match context.repair {
        // Data sent later shows that a retransmission was lost, which is repaired like a first loss (Linux
        // leaves the repair after a timeout, `FLAG_LOST_RETRANS`).
        Repair::Timeout
            if context.has_loss_evidence && (context.is_repeated || context.is_refuted) =>
        {
            Some(Verdict::Is(Cause::FastRetransmit))
        }
        Repair::Timeout => Some(Verdict::Is(Cause::AfterTimeout)),
        Repair::Fast => Some(Verdict::Is(Cause::FastRetransmit)),
        Repair::None if context.has_loss_evidence => Some(Verdict::Is(Cause::FastRetransmit)),
        // The acknowledgment that advances has restarted the timer: no timeout is near.
        Repair::None if context.since_timer <= FAST_ANSWER => {
            Some(Verdict::Is(Cause::FastRetransmit))
        }
        // Without evidence the acknowledgment explains nothing.
        Repair::None => None,
    }
}

/// It belongs to a burst with the retransmission before.
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

/// The last segment, without evidence of a loss, one probe at a time (RFC 8985 §7.3). Probes need SACK (§7.1).
/// Unlike other small retransmissions they are not joined with segments before (Linux
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

/// The only outstanding segment is retransmitted: a timeout does not come much before its time, a probe not
/// much after it. Linux timers are up to an eighth late.
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

/// The oldest segment after silence. With evidence of a loss, the silence must be as long as a timeout and
/// differ from the reordering wait. Without evidence no other reason is left.
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

/// There is evidence or a repair, some time ago: the sender waited for reordering (RFC 8985 §6.2), or paces.
fn delayed_reaction(context: &RetransmissionContext) -> Option<Verdict> {
    match context.repair {
        Repair::Fast => Some(Verdict::Is(Cause::FastRetransmit)),
        Repair::Timeout => Some(Verdict::Is(Cause::AfterTimeout)),
        Repair::None => context.has_loss_evidence.then_some(Verdict::Is(Cause::FastRetransmit)),
    }
}

/// Near the receiver, reactions to an acknowledgment come a round trip after it has left, and timers that it
/// restarts fire a round trip later.
fn near_receiver(context: &RetransmissionContext) -> Cause {
    let is_over = |since: Span| since * 100 >= context.timeout * 95;
    if context.is_acknowledged {
        // It had arrived, and its acknowledgment was lost or late.
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

/// Whether it comes a round trip after an acknowledgment with evidence, or a round trip and the reordering
/// wait.
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
///
/// Decides the cause if a single segment was retransmitted and the wait fits both a probe and a timeout.
///
/// Source: RFC 8985 §7; Linux `tcp_schedule_loss_probe`, `tcp_send_loss_probe`, `tcp_enter_loss`. Evidence:
/// - The last of several outstanding segments is sent after silence: it probes.
/// - The oldest of several is sent, without evidence of a loss or a probe before: it does not probe.
/// - A single segment is sent again and again. After a timeout the next wait is twice as long: it does not
///   probe. After a probe the next wait is the first whole timeout. (Linear timeouts show nothing.)
/// - New data is sent while the retransmitted segment is outstanding: a timeout leaves a window of one segment
///   and would hold it back, so it seems to probe. New data waits, after the first loss of all, until the
///   segment is acknowledged, and is sent at once: a probe would have left room for it, so it seems not to
///   probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ProbeUse {
    /// No evidence.
    #[default]
    Unknown,
    /// It seems to probe.
    LikelyProbes,
    /// It probes.
    Probes,
    /// It seems not to probe.
    LikelyWaits,
    /// It does not probe.
    Waits,
}

/// State of a single retransmitted segment, probe or timeout.
#[derive(Debug, Clone, Copy, Default)]
enum SingleSegment {
    /// None.
    #[default]
    None,
    /// Outstanding.
    Out,
    /// Acknowledged without data, and nothing was sent since.
    Acknowledged,
}

/// Inference of probes from retransmissions of single segments.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProbeInference {
    /// The result so far.
    pub(super) shown: ProbeUse,
    single: SingleSegment,
    /// Whether nothing was lost before it.
    is_first: bool,
    /// When it was acknowledged.
    acknowledged_at: Instant,
    /// Retransmissions counted as probes for now, and their bytes.
    undecided: u64,
    undecided_bytes: u64,
    /// The wait before the last of them.
    wait: Span,
}

impl ProbeInference {
    /// Discards the retransmissions counted so far.
    pub(super) const fn reset_counts(&mut self) {
        (self.undecided, self.undecided_bytes) = (0, 0);
    }

    /// Whether the result is certain.
    fn has_shown(&self) -> bool {
        matches!(self.shown, ProbeUse::Probes | ProbeUse::Waits)
    }

    /// Whether the next new data or acknowledgment may be evidence.
    #[inline]
    pub(super) const fn is_watching(&self) -> bool {
        !matches!(self.single, SingleSegment::None)
    }

    /// A single segment was retransmitted after `wait`, as a probe or after a timeout.
    pub(super) fn on_undecided(&mut self, wait: Span, payload: u64, is_first: bool) {
        self.wait = wait;
        self.single = SingleSegment::Out;
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
            SingleSegment::Out if !self.has_shown() => {
                self.shown = ProbeUse::LikelyProbes;
            }
            SingleSegment::Acknowledged
                if self.is_first
                    && self.shown == ProbeUse::Unknown
                    && now.saturating_since(self.acknowledged_at) <= FAST_ANSWER =>
            {
                self.shown = ProbeUse::LikelyWaits;
            }
            _ => {}
        }
        self.single = SingleSegment::None;
    }

    /// Everything retransmitted is acknowledged.
    #[cold]
    pub(super) fn on_acknowledged(&mut self, at: Instant, is_bare: bool) {
        self.single = match self.single {
            SingleSegment::Out if is_bare => SingleSegment::Acknowledged,
            _ => SingleSegment::None,
        };
        self.acknowledged_at = at;
    }

    /// Takes the cause of a retransmission.
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

    /// Ends the stream: adds the result to `probe_use`, and returns retransmissions and bytes that were counted
    /// as probes but were timeouts.
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
