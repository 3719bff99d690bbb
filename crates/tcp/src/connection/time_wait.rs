//! TIME-WAIT, and FIN-WAIT-2 without an application (RFC 9293 §3.10.7.4, RFC 1337, RFC 6191).
//!
//! Source: Linux 6.18 `tcp_timewait_state_process`. The driver has the listener, so it decides on a SYN that may
//! reopen the connection ([`Connection::may_be_reopened_by`](super::Connection::may_be_reopened_by)).

use crate::config::Config;
use crate::receiver::Receiver;
use fairwind_wire::{Flags, Segment};

/// What a segment causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeWaitAction {
    /// Nothing.
    Ignore,
    /// Its timestamp is echoed from now on.
    NoteTimestamp,
    /// The wait begins anew, and the timestamp is echoed from now on.
    RestartAndNoteTimestamp,
    /// An acknowledgment answers it.
    Answer,
    /// The wait begins anew, and an acknowledgment answers it.
    RestartAndAnswer,
    /// The connection is over.
    End,
    /// A reset answers it, and the connection is over.
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

    /// Whether the wait begins anew.
    pub(super) fn restarts_timer(self) -> bool {
        matches!(self, Self::RestartAndNoteTimestamp | Self::RestartAndAnswer)
    }
}
