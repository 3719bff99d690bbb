//! Connections without traffic: TIME-WAIT, FIN-WAIT-2 without an application, keep-alive probes.
//!
//! RFC 9293 §3.10.7.4, §3.8.4, RFC 1337, RFC 6191, RFC 1122 §4.2.3.6.
//!
//! Source: Linux 6.18 `tcp_timewait_state_process`, `tcp_keepalive_timer`. The driver has the listener, so it decides on a SYN that may
//! reopen the connection ([`Connection::may_be_reopened_by`](crate::Connection::may_be_reopened_by)).

use crate::config::{Config, KeepAlive, Liveness};
use crate::receiver::Receiver;
use crate::timers::{Clock, Timer};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment};

/// Response to a segment in an idle state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeWaitAction {
    /// None.
    Ignore,
    /// Its timestamp is echoed from now on.
    NoteTimestamp,
    /// The wait restarts, and the timestamp will be echoed.
    RestartAndNoteTimestamp,
    /// An acknowledgment.
    Answer,
    /// The wait restarts, and an acknowledgment is sent.
    RestartAndAnswer,
    /// The connection is over.
    End,
    /// A reset, which ends the connection.
    Reset,
    /// It is the peer's FIN.
    TakeFin,
}

impl TimeWaitAction {
    /// In TIME-WAIT.
    pub(super) fn for_segment(segment: &Segment, receiver: &Receiver, config: &Config) -> Self {
        let old = receiver.is_older(segment);
        let rst = segment.flags.contains(Flags::RST);
        let bare = segment.sequence_length() == 0;
        if !old && segment.sequence == receiver.next() && (bare || rst) {
            match (rst, config.receiving.waits_through_resets) {
                (true, false) => Self::End,
                (true, true) => Self::NoteTimestamp,
                (false, _) => Self::RestartAndNoteTimestamp,
            }
        } else if rst {
            Self::Ignore
        } else if old || segment.flags.contains(Flags::ACK) {
            Self::RestartAndAnswer
        } else {
            Self::Answer
        }
    }

    /// The peer's FIN is awaited; no application reads.
    pub(super) fn for_orphan(segment: &Segment, receiver: &Receiver) -> Self {
        let next = receiver.next();
        if receiver.is_older(segment) || !receiver.is_in_closing_window(segment) {
            Self::Answer
        } else if segment.flags.contains(Flags::RST) {
            Self::End
        } else if segment.flags.contains(Flags::SYN) && segment.sequence.is_at_or_after(next) {
            Self::Reset
        } else if segment.flags.contains(Flags::ACK) && segment.end().is_after(next) {
            let is_fin = segment.flags.contains(Flags::FIN) && segment.end() == next + 1;
            if is_fin { Self::TakeFin } else { Self::Reset }
        } else {
            Self::Ignore
        }
    }

    pub(super) fn restarts_timer(self) -> bool {
        matches!(self, Self::RestartAndNoteTimestamp | Self::RestartAndAnswer)
    }
}

/// The timer that watches for silence.
#[derive(Debug, Default)]
pub(super) struct KeepAliveTimer {
    timer: Timer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeepAliveAction {
    /// None yet.
    Wait,
    Probe,
    /// The peer does not answer: a reset ends the connection.
    GiveUp,
}

impl KeepAliveTimer {
    /// The connection is open.
    pub(super) fn begin(&mut self, keep_alive: &KeepAlive, now: Instant) {
        if keep_alive.enabled {
            self.timer.set(now, keep_alive.idle);
        }
    }

    pub(super) fn stop(&mut self) {
        self.timer.stop();
    }

    pub(super) fn due(&self) -> Instant {
        self.timer.due()
    }

    /// Unsets the timer if it runs out, and returns whether it does.
    pub(super) fn expire(&mut self, clock: Clock, now: Instant) -> bool {
        self.timer.expire(clock, now)
    }

    /// The settings of an open connection have changed; the peer has been silent for `silence`.
    #[cold]
    pub(super) fn change(
        &mut self,
        before: &KeepAlive,
        after: &KeepAlive,
        silence: Span,
        now: Instant,
    ) {
        if !after.enabled {
            self.timer.stop();
        } else if !before.enabled {
            self.timer.set(now, after.idle);
        } else if before.idle != after.idle {
            self.timer.set(now, after.idle.saturating_sub(silence));
        }
    }

    /// The timer has run out: `busy` if data is outstanding or waits, `probes` went unanswered.
    #[cold]
    pub(super) fn on_deadline(
        &mut self,
        settings: &Liveness,
        busy: bool,
        silence: Span,
        probes: u32,
        now: Instant,
    ) -> KeepAliveAction {
        let keep_alive = &settings.keep_alive;
        let (wait, action) = if busy {
            (keep_alive.idle, KeepAliveAction::Wait)
        } else if silence < keep_alive.idle {
            (keep_alive.idle.saturating_sub(silence), KeepAliveAction::Wait)
        } else {
            let is_gone = match settings.user_timeout {
                Some(limit) => silence >= limit && probes > 0,
                None => probes >= keep_alive.probes,
            };
            if is_gone {
                return KeepAliveAction::GiveUp;
            }
            (keep_alive.interval, KeepAliveAction::Probe)
        };
        self.timer.set(now, wait);
        action
    }
}
