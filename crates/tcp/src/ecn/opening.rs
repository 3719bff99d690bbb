//! What the SYNs agree on (RFC 3168 §6.1.1).

use super::{Ecn, Mode};
use crate::config::{EcnConfig, EcnFeedback};
use fairwind_wire::{Flags, Segment};

/// A SYN that asks for ECN.
const ASKS: u16 = Flags::ECE.bits() | Flags::CWR.bits();

impl Ecn {
    /// Control bits of our SYN, of which `repetitions` were sent before (Linux `tcp_ecn_send_syn`).
    pub(crate) fn syn_flags(&mut self, config: &EcnConfig, repetitions: u32) -> Flags {
        if config.outgoing == EcnFeedback::None && !self.is_needed {
            return Flags::NONE;
        }
        self.mode = Mode::Classic;
        if repetitions > 0 && config.fallback { Flags::NONE } else { Flags::from_bits(ASKS) }
    }

    /// Control bits of our SYN-ACK.
    pub(crate) fn syn_ack_flags(&self) -> Flags {
        if self.is_agreed() { Flags::ECE } else { Flags::NONE }
    }

    /// The mark of a SYN or SYN-ACK with these control bits: capable where marks are lived by and it asks or
    /// agrees.
    pub(crate) fn mark_of_syn(&self, flags: Flags) -> fairwind_wire::Ecn {
        if self.is_needed && flags.contains(Flags::ECE) {
            fairwind_wire::Ecn::Ect0
        } else {
            fairwind_wire::Ecn::NotEct
        }
    }

    /// The SYN of a peer that opens (Linux `tcp_ecn_create_request`). A SYN that is itself capable is
    /// not what RFC 3168 allows, so nobody agrees to it, unless its sender knows Accurate ECN.
    pub(crate) fn on_syn(&mut self, config: &EcnConfig, syn: &Segment) {
        let asks = syn.flags.contains(Flags::from_bits(ASKS));
        let proper = !syn.traffic_class.ecn().is_capable() || syn.flags.contains(Flags::AE);
        let wanted = proper && config.incoming >= EcnFeedback::Classic;
        let agreed = asks && (wanted || self.is_needed);
        self.mode = if agreed { Mode::Classic } else { Mode::Disabled };
    }

    /// The SYN of a peer that opens while we do (Linux `tcp_ecn_rcv_syn`).
    pub(crate) fn on_crossing_syn(&mut self, syn: &Segment) {
        if !syn.flags.contains(Flags::from_bits(ASKS)) {
            self.mode = Mode::Disabled;
        }
    }

    /// The answer to our SYN: ECE without CWR agrees (Linux `tcp_ecn_rcv_synack`).
    pub(crate) fn on_syn_ack(&mut self, answer: &Segment) {
        let agrees = answer.flags.contains(Flags::ECE) && !answer.flags.contains(Flags::CWR);
        if !agrees {
            self.mode = Mode::Disabled;
        }
    }
}
