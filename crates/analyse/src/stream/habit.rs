//! Does the sender use tail loss probes? That decides where a single segment was sent again and the
//! wait fits a probe as well as a time-out.
//!
//! Source: RFC 8985 §7; Linux `tcp_schedule_loss_probe`, `tcp_send_loss_probe`, `tcp_enter_loss`.
//! What shows:
//! - The last of several outstanding segments goes after a silence: it does.
//! - The oldest of several goes, without evidence of a loss or a probe before: it does not.
//! - A single segment goes again and again. After a time-out the next wait is twice as long: it does not.
//!   After a probe the next wait is the first whole time-out. (Linear time-outs do not tell.)
//! - New data goes while the single segment is out again: a time-out leaves a window of one segment and
//!   would hold it back, so it seems to. New data waits, after the first loss of all, until the segment
//!   is acknowledged, and goes in that instant: a probe would have left room for it, so it seems not to.

use super::cause::{Circumstances, FAST_ANSWER, Verdict};
use super::episode::Repair;
use super::kind::{Cause, ProbeUseCounts};
use fairwind_units::{Instant, Span};

/// Whether a sender uses tail loss probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ProbeHabit {
    /// It has not shown.
    #[default]
    Unknown,
    /// It seems to.
    SeemsToProbe,
    /// It does.
    Probes,
    /// It seems not to.
    SeemsToWait,
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
pub(super) struct Habit {
    shown: ProbeHabit,
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

impl Habit {
    /// Counts no repetitions of before.
    pub(super) const fn reset_counts(&mut self) {
        (self.undecided, self.undecided_bytes) = (0, 0);
    }

    /// What has shown.
    pub(super) const fn shown(&self) -> ProbeHabit {
        self.shown
    }

    /// Whether it is certain.
    fn has_shown(&self) -> bool {
        matches!(self.shown, ProbeHabit::Probes | ProbeHabit::Waits)
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
                self.shown = ProbeHabit::SeemsToProbe;
            }
            Single::Acknowledged
                if self.is_first
                    && self.shown == ProbeHabit::Unknown
                    && now.saturating_since(self.acknowledged_at) <= FAST_ANSWER =>
            {
                self.shown = ProbeHabit::SeemsToWait;
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
    pub(super) fn on_verdict(&mut self, verdict: Verdict, facts: &Circumstances) {
        if self.shown == ProbeHabit::Probes {
            return;
        }
        if verdict == Verdict::Is(Cause::TailLossProbe) && !facts.is_oldest {
            self.shown = ProbeHabit::Probes;
        } else if verdict == Verdict::Is(Cause::Timeout) && facts.may_sack {
            let is_alone = facts.is_oldest && facts.is_last && facts.is_single;
            let is_plain = !is_alone
                && !facts.has_evidence
                && !facts.is_probing
                && facts.repair == Repair::None;
            let has_doubled = is_alone
                && facts.is_probing
                && !self.wait.is_zero()
                && facts.since_timer * 10 >= self.wait * 17;
            if is_plain || has_doubled {
                self.shown = ProbeHabit::Waits;
            }
            self.wait = Span::ZERO;
        }
    }

    /// Nothing more comes. Tells `habits` what has shown, and gives how many repetitions, and how many
    /// bytes of them, were time-outs though they had been taken for probes.
    pub(super) fn settle(&mut self, habits: &mut ProbeUseCounts) -> (u64, u64) {
        let waits = match self.shown {
            ProbeHabit::Unknown => habits.waiting > habits.probing,
            ProbeHabit::Probes | ProbeHabit::SeemsToProbe => false,
            ProbeHabit::Waits | ProbeHabit::SeemsToWait => true,
        };
        match self.shown {
            ProbeHabit::Unknown => {}
            _ if waits => habits.waiting += 1,
            _ => habits.probing += 1,
        }
        let undecided = (self.undecided, self.undecided_bytes);
        (self.undecided, self.undecided_bytes) = (0, 0);
        if waits { undecided } else { (0, 0) }
    }
}
