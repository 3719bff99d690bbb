//! Advice of a window cache: what a connection begins with.
//!
//! Source: RFC 9040, RFC 9959; Linux `tcp_init_metrics`.

use super::Sender;
use super::congestion::resumption::{Resume, ResumptionPhase};
use crate::state::RecoveryState;
use crate::window_cache::{Advice, ConnectionId, Lesson, Share, TimeoutSeed, Unused};
use fairwind_units::Span;

/// What a connection takes over from others before it.
#[derive(Debug, Default)]
pub(super) struct Inherited {
    /// What the connection begins with once the handshake is over.
    advice: Option<Box<Advice>>,
    /// A saved window that is resumed with care (RFC 9959).
    resume: Option<Box<Resume>>,
    /// Why the connection did not begin with the advised window.
    unused: Option<Unused>,
}

impl Inherited {
    /// Whether a saved window is resumed.
    pub(super) fn is_resuming(&self) -> bool {
        self.resume.is_some()
    }

    /// The resumption under way.
    #[inline]
    pub(super) fn resume(&self) -> Option<&Resume> {
        self.resume.as_deref()
    }

    /// Takes the resumption under way.
    pub(super) fn take_resume(&mut self) -> Option<Box<Resume>> {
        self.resume.take()
    }

    /// Sets the resumption under way.
    pub(super) fn set_resume(&mut self, resume: Box<Resume>) {
        self.resume = Some(resume);
    }
}

impl Sender {
    /// Takes advice; `has_opened` if it takes effect at once.
    pub(crate) fn advise(&mut self, advice: Advice, has_opened: bool) {
        if let Some(TimeoutSeed::Estimator { rtt, variation }) = advice.timeout
            && self.rtt.smoothed().is_none()
        {
            self.rtt.seed(rtt, variation);
            self.rto.set_timeout(self.rtt.timeout(&self.config));
        }
        if has_opened {
            self.take_advice(&advice);
        } else {
            self.inherited.advice = (advice != Advice::default()).then(|| Box::new(advice));
        }
    }

    /// The handshake is over: what was advised takes effect.
    pub(super) fn take_pending_advice(&mut self) {
        if let Some(advice) = self.inherited.advice.take() {
            self.take_advice(&advice);
        }
    }

    #[cold]
    fn take_advice(&mut self, advice: &Advice) {
        if advice.window.or(advice.least_window).is_some() {
            self.inherited.unused = self.take_window(advice).err();
        }
        if let Some(threshold) = advice.slow_start_threshold {
            self.window.set_threshold(threshold.max(2));
        }
        if let Some(reordering) = advice.reordering {
            self.reordering.set_threshold(reordering);
        }
        if let Some(TimeoutSeed::FirstTimeout { rtt }) = advice.timeout
            && self.rtt.smoothed().is_none_or(|smoothed| rtt > smoothed)
        {
            self.rto.set_timeout(rtt + (rtt * 2).max(self.config.minimum_rto));
        }
        if let Some(resumption) = advice.resumption
            && !self.is_plugged()
        {
            self.begin_resumption(resumption);
        }
    }

    /// The connection begins with the window that was advised, unless it does not fit.
    fn take_window(&mut self, advice: &Advice) -> Result<(), Unused> {
        if self.rto.expired() > self.config.lost_syns_forgiven {
            return Err(Unused::Unfit);
        }
        let window = advice.window.unwrap_or(self.window.segments()).max(1);
        self.window.set_segments(window);
        let Some(least) = advice.least_window else { return Ok(()) };
        if least <= window {
            return Err(Unused::TooSmall);
        }
        if !self.is_on_path(advice.path_rtt) {
            return Err(Unused::Unfit);
        }
        self.window.set_segments(least);
        self.pace_first_flight();
        Ok(())
    }

    /// Whether the handshake lost nothing and took as long as the path that is remembered: more than half of its
    /// least round trip and at most ten times that (as RFC 9959 §4.2.1 tells paths apart). A server that was opened
    /// early (RFC 7413) knows neither yet, and takes the path for the same.
    fn is_on_path(&self, least: Option<Span>) -> bool {
        let is_same = |(least, found): (Span, Span)| found * 2 > least && found <= least * 10;
        self.stats.retransmissions() == 0 && least.zip(self.rtt.smoothed()).is_none_or(is_same)
    }

    /// Why the connection has not begun with the window that it was advised; `None` where it has, where none was, and
    /// before the handshake is over.
    pub(crate) fn why_unused(&self) -> Option<Unused> {
        self.inherited.unused
    }

    /// The window is another one from now on, because connections to the same peer share it; while a loss is
    /// repaired it is left alone. Before the handshake is over it is what the connection will begin with.
    pub(crate) fn take_share(&mut self, share: &Share, has_opened: bool) {
        if !has_opened {
            let advice = self.inherited.advice.get_or_insert_default();
            advice.window = Some(share.window.max(1));
            advice.least_window = None;
            advice.slow_start_threshold =
                share.slow_start_threshold.or(advice.slow_start_threshold);
        } else if matches!(self.recovery.state(), RecoveryState::Open | RecoveryState::Disorder) {
            self.window.set_segments(share.window.max(1));
            if let Some(threshold) = share.slow_start_threshold {
                self.window.set_threshold(threshold.max(2));
            }
            self.window.drop_credit();
            self.update_pacing_rate();
        }
    }

    /// Whether the connection was advised a window to begin with.
    pub(crate) fn has_advised_window(&self) -> bool {
        self.inherited.advice.as_deref().is_some_and(|advice| advice.window.is_some())
    }

    /// What the connection has found out. Before its handshake is over its window and its threshold are those that
    /// it will begin with.
    pub(crate) fn lesson(&self, connection: ConnectionId, has_opened: bool) -> Lesson {
        let advice = self.inherited.advice.as_deref().filter(|_| !has_opened);
        Lesson {
            connection,
            window: advice.and_then(|advice| advice.window).unwrap_or(self.window.segments()),
            initial_window: self.window.initial(),
            slow_start_threshold: advice
                .and_then(|advice| advice.slow_start_threshold)
                .or_else(|| self.slow_start_threshold()),
            smoothed_rtt: self.rtt.smoothed(),
            rtt_variation: self.rtt.deviation(self.config.rtt_rule),
            least_rtt: self.rtt.minimum(),
            retransmissions: self.stats.retransmissions(),
            is_backed_off: self.rto.doublings() > 0,
            is_open: self.recovery.state() == RecoveryState::Open,
            reordering: self.reordering.threshold(),
            usual_reordering: self.config.duplicate_threshold,
            segment_bytes: self.segment_bytes,
            is_resuming: self.inherited.resume.as_deref().is_some_and(Resume::is_unvalidated),
        }
    }

    /// The phase of a careful resumption, while there is one.
    pub(crate) fn resumption_phase(&self) -> Option<ResumptionPhase> {
        self.inherited.resume().map(Resume::phase)
    }
}

#[cfg(test)]
mod tests;
