//! Careful Resume (RFC 9959): the connection's part.
//!
//! Source: RFC 9959 §3 (phases) and §4 (guidelines).
//!
//! *Reconnaissance*: slow start, until the first flight is acknowledged without congestion, the minimum round
//! trip confirms the path (more than half of the saved one, at most ten times it), and the window limits the
//! sender. *Unvalidated*: the window jumps to half of the saved one; data is paced over the round trip, for at
//! most one round trip. *Validating*: the window is the flight size, and grows normally, until all data of the
//! jump is acknowledged. *Safe retreat*: after congestion the window falls to half of the pipe size and stays
//! there until the jump is acknowledged and recovered; then the threshold is a share of the pipe size.
//! *Normal*: congestion control continues normally.
//!
//! Differs: windows and the pipe size (`PipeSize`) are in segments. Safe retreat also ends with recovery (§3.5
//! allows that), so that recovery does not raise the window. A phase changes on an acknowledgment or a
//! time-out.
//! Parameters: [`Resumption`](crate::Resumption).
//! Cost: nothing for other connections, a few comparisons per ACK while it lasts.

use crate::sender::{AckEvent, AckFlags, Sender};
use crate::state::{Event, RecoveryState, ResumptionEnd, ResumptionPhase};
use crate::window_cache::Resumption;
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

/// Maximum ratio of the round trip to the saved one on the same path (RFC 9959 §4.2.1).
const MAX_RTT_RATIO: u64 = 10;

#[derive(Debug)]
pub(crate) struct CarefulResumeState {
    plan: Resumption,
    phase: ResumptionPhase,
    /// Pipe size in segments (`PipeSize`).
    carried: u32,
    /// Segments in flight at the jump that are not delivered yet.
    before: u32,
    /// End of the first flight, after its first acknowledgment.
    first_flight: Option<SequenceNumber>,
    jumped_at: Instant,
    /// First number sent after the jump, and the end of that data.
    unvalidated: (SequenceNumber, SequenceNumber),
}

impl CarefulResumeState {
    pub(crate) fn phase(&self) -> ResumptionPhase {
        self.phase
    }

    /// Whether the window exceeds the validated size.
    pub(crate) fn is_unvalidated(&self) -> bool {
        !matches!(self.phase, ResumptionPhase::Reconnaissance | ResumptionPhase::Normal(_))
    }

    /// Adds delivered segments that were sent after the jump to the pipe size, which includes those in flight
    /// before (RFC 9959 §3.3, appendix A). If one of those is lost, the count lags by one until its
    /// retransmission.
    fn count(&mut self, ack: &AckEvent) {
        if !self.is_unvalidated() {
            return;
        }
        let before = ack.delivered().min(self.before);
        self.before -= before;
        self.carried = self.carried.saturating_add(ack.delivered() - before);
    }

    /// Whether the round trip is one of the saved path.
    fn is_path_confirmed(&self, min: Span) -> bool {
        let saved = self.plan.saved_rtt;
        min * 2 > saved && min <= saved * MAX_RTT_RATIO
    }

    /// Threshold after congestion.
    fn threshold(&self) -> u32 {
        let share = self.plan.retreat.of(u64::from(self.carried));
        u32::try_from(share).unwrap_or(u32::MAX).max(2)
    }

    /// Window of safe retreat (RFC 9959 §3.5).
    fn retreat_window(&self) -> u32 {
        (self.carried / 2).max(1)
    }
}

impl Sender {
    pub(crate) fn begin_careful_resume(&mut self, plan: Resumption) {
        let next = self.send.next();
        self.inherited.set_resume(Box::new(CarefulResumeState {
            plan,
            phase: ResumptionPhase::Reconnaissance,
            carried: 0,
            before: 0,
            first_flight: None,
            jumped_at: Instant::ZERO,
            unvalidated: (next, next),
        }));
        self.fast_path.leave();
        self.report_phase(ResumptionPhase::Reconnaissance);
    }

    fn report_phase(&mut self, phase: ResumptionPhase) {
        self.events.push_back(Event::Resumption(phase));
    }

    /// Whether the window has jumped and data is paced for it.
    pub(crate) fn is_jumping(&self) -> bool {
        self.inherited.resume().is_some_and(|resume| resume.phase == ResumptionPhase::Unvalidated)
    }

    /// Follows one acknowledgment, after the window has changed as usual.
    #[cold]
    pub(crate) fn update_careful_resume(&mut self, ack: &AckEvent) {
        let Some(mut resume) = self.inherited.take_resume() else { return };
        resume.count(ack);
        let next = match resume.phase {
            ResumptionPhase::Reconnaissance => self.reconnoitre(&mut resume, ack),
            ResumptionPhase::Unvalidated => self.on_ack_after_jump(&mut resume, ack),
            ResumptionPhase::Validating => self.validate(&mut resume),
            ResumptionPhase::SafeRetreat => self.on_ack_in_safe_retreat(&resume),
            ResumptionPhase::Normal(_) => None,
        };
        if let Some(phase) = next {
            resume.phase = phase;
            self.report_phase(phase);
        }
        if matches!(resume.phase, ResumptionPhase::Normal(_)) {
            self.update_fast_path();
        } else {
            self.inherited.set_resume(resume);
        }
    }

    /// Ends Careful Resume at a time-out (RFC 9959 §3.6).
    #[cold]
    pub(crate) fn end_careful_resume_by_timeout(&mut self) {
        let Some(resume) = self.inherited.take_resume() else { return };
        if resume.is_unvalidated() {
            let threshold = self.window.slow_start_threshold.min(resume.threshold());
            self.window.slow_start_threshold = threshold;
            self.undo.clear();
        }
        self.end_jump_pace();
        self.update_fast_path();
        self.report_phase(ResumptionPhase::Normal(ResumptionEnd::TimedOut));
    }

    fn is_congested(&self) -> bool {
        !matches!(self.recovery.state(), RecoveryState::Open | RecoveryState::Disorder)
    }

    /// RFC 9959 §3.2.
    fn reconnoitre(
        &mut self,
        resume: &mut CarefulResumeState,
        ack: &AckEvent,
    ) -> Option<ResumptionPhase> {
        let end = |why| Some(ResumptionPhase::Normal(why));
        if self.is_congested() {
            return end(ResumptionEnd::Congested);
        }
        if !ack.has(AckFlags::ADVANCED) {
            return None;
        }
        let first_flight = *resume.first_flight.get_or_insert(self.send.next());
        if self.send.oldest_unacked().is_before(first_flight) {
            return None;
        }
        let min = self.rtt.minimum()?;
        if !resume.is_path_confirmed(min) {
            return end(ResumptionEnd::PathChanged);
        }
        if resume.plan.jump <= self.window.segments {
            return end(ResumptionEnd::NothingToGain);
        }
        let room = u64::from(self.window.segments.saturating_sub(self.in_flight()));
        if self.written.unsent() <= room * u64::from(self.segment_bytes) {
            return None;
        }
        self.jump(resume, ack.now());
        Some(ResumptionPhase::Unvalidated)
    }

    /// RFC 9959 §3.3: begins the jump.
    fn jump(&mut self, resume: &mut CarefulResumeState, now: Instant) {
        resume.carried = self.in_flight();
        resume.before = resume.carried;
        resume.jumped_at = now;
        resume.unvalidated = (self.send.next(), self.send.next());
        self.window.segments = resume.plan.jump;
        self.window.drop_credit();
        self.pace_jump(resume.plan.jump);
    }

    /// RFC 9959 §3.3, while the window is not validated.
    fn on_ack_after_jump(
        &mut self,
        resume: &mut CarefulResumeState,
        ack: &AckEvent,
    ) -> Option<ResumptionPhase> {
        resume.unvalidated.1 = self.send.next();
        let is_other_path = self.rtt.minimum().is_some_and(|min| !resume.is_path_confirmed(min));
        if self.is_congested() || is_other_path {
            return Some(self.retreat(resume));
        }
        self.window.segments = resume.plan.jump;
        let first = resume.unvalidated.0;
        let is_acknowledged = self.send.oldest_unacked().is_after(first)
            || self.negotiated.has_sack() && self.highest_sacked().is_after(first);
        let is_sent = self.in_flight() + ack.delivered() >= resume.plan.jump;
        let elapsed = ack.now().saturating_since(resume.jumped_at);
        let is_late = self.rtt.smoothed().is_some_and(|smoothed| elapsed > smoothed);
        if !(is_acknowledged || is_sent || is_late) {
            return None;
        }
        self.end_jump_pace();
        let in_flight = self.in_flight();
        if in_flight < self.window.initial || in_flight <= resume.carried {
            self.window.segments = resume.carried.max(self.window.initial);
            return Some(ResumptionPhase::Normal(ResumptionEnd::RateLimited));
        }
        self.window.segments = in_flight;
        Some(ResumptionPhase::Validating)
    }

    /// RFC 9959 §3.4.
    fn validate(&mut self, resume: &mut CarefulResumeState) -> Option<ResumptionPhase> {
        if self.is_congested() {
            return Some(self.retreat(resume));
        }
        let is_validated = self.send.oldest_unacked().is_at_or_after(resume.unvalidated.1);
        is_validated.then_some(ResumptionPhase::Normal(ResumptionEnd::Validated))
    }

    /// RFC 9959 §3.5: begins safe retreat. One lost segment is retransmitted immediately, and the
    /// reduction cannot be undone.
    fn retreat(&mut self, resume: &CarefulResumeState) -> ResumptionPhase {
        self.end_jump_pace();
        self.undo.clear();
        self.window.segments = resume.retreat_window();
        self.window.slow_start_threshold = resume.retreat_window().max(2);
        if self.queue.lost() > self.queue.retransmitted() {
            self.retransmissions.force();
        }
        ResumptionPhase::SafeRetreat
    }

    /// RFC 9959 §3.5: safe retreat. The pipe size is still counted, but the window does not follow it.
    fn on_ack_in_safe_retreat(&mut self, resume: &CarefulResumeState) -> Option<ResumptionPhase> {
        self.window.segments = self.window.segments.min(self.window.slow_start_threshold);
        let is_over = self.send.oldest_unacked().is_at_or_after(resume.unvalidated.1);
        if !is_over || self.is_congested() {
            return None;
        }
        self.window.slow_start_threshold = resume.threshold();
        Some(ResumptionPhase::Normal(ResumptionEnd::Retreated))
    }
}
