//! Forward RTO recovery (F-RTO): detection of spurious time-outs.
//!
//! Source: RFC 5682 §2.1, §3.1; Linux `tcp_process_loss`, `tp->frto`.

use super::Transmission;
use crate::sender::transmit::NagleOverride;
use crate::sender::{AckEvent, AckFlags, Outgoing, Sender};
use fairwind_units::Instant;

/// F-RTO state: whether new data is tried first after the time-out.
#[derive(Debug, Default)]
pub(crate) struct FRto {
    is_active: bool,
}

impl FRto {
    pub(super) fn is_active(&self) -> bool {
        self.is_active
    }

    /// Begins after a time-out, if the conditions of RFC 5682 hold.
    pub(super) fn set_active(&mut self, active: bool) {
        self.is_active = active;
    }

    /// Ends the trial: the time-out was not spurious, or there is no proof.
    pub(crate) fn stop(&mut self) {
        self.is_active = false;
    }
}

impl Sender {
    /// Handles an acknowledgment while F-RTO is active. An acknowledgment of an original transmission proves
    /// the time-out spurious; the first other one that advances is answered with new data. Returns whether
    /// the acknowledgment needs no further processing.
    pub(super) fn on_ack_during_frto(&mut self, ack: &AckEvent, recovered: bool) -> bool {
        if ack.has(AckFlags::ORIGINAL_ACKNOWLEDGED) && self.try_undo_loss(ack, true) {
            return true;
        }
        if self.send.next().is_after(self.recovery.end()) {
            if ack.has(AckFlags::SACKED) || ack.duplicates() > 0 {
                self.frto.stop();
            }
        } else if ack.has(AckFlags::ADVANCED) && !recovered {
            self.recovery.set_end(self.send.next());
            if self.written.unsent() > 0 && self.usable_window() > 0 {
                self.retransmissions.set_due(Transmission::NewFirst);
                return true;
            }
            self.frto.stop();
        }
        false
    }

    /// Sends new data before any retransmission; without new data F-RTO ends.
    pub(in crate::sender) fn send_frto_data(&mut self, now: Instant) -> Option<Outgoing> {
        self.budget.set_override(NagleOverride::Push);
        if let Some(outgoing) = self.send_new(now) {
            return Some(outgoing);
        }
        if self.send.next().is_after(self.recovery.end()) {
            self.retransmissions.set_due(Transmission::None);
        } else {
            self.frto.stop();
            self.retransmissions.set_due(Transmission::Lost);
        }
        None
    }
}
