//! Explicit congestion notification (RFC 3168): negotiation, and the signals of either half.
//!
//! Source: RFC 3168 as Linux 6.18 has it (`tcp_ecn.h`, `tcp_input.c`, `tcp_output.c`).
//! Differs from RFC 3168: CWR is accepted on pure ACKs too. A receiver that has seen ECT packets takes
//! a Not-ECT packet for a retransmission and acknowledges quickly.
//! Cost: one branch per segment where ECN was not negotiated.

use crate::config::{EcnConfig, EcnFeedback};
use fairwind_wire::{Ecn, Flags, Segment, SequenceNumber};

/// A SYN that asks for ECN.
const ECN_SETUP: u16 = Flags::ECE.bits() | Flags::CWR.bits();

/// The sending half of ECN: negotiation, ECT marks, CWR.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags that Linux keeps as bits")]
pub(crate) struct EcnSender {
    is_negotiated: bool,
    /// The congestion control needs ECN: it is asked for, and all packets are ECT (Linux
    /// `tcp_ca_needs_ecn`).
    is_needed: bool,
    /// The next new data carries CWR (`TCP_ECN_QUEUE_CWR`).
    is_cwr_due: bool,
    /// The last segment was ECT.
    was_capable: bool,
    /// Number after the last new data; data from here on is new.
    sent_up_to: SequenceNumber,
}

impl EcnSender {
    getters! {
        is_negotiated: bool,
        is_needed: bool,
        is_cwr_due: bool,
    }

    pub(crate) fn new(initial: SequenceNumber, is_needed: bool) -> Self {
        Self {
            is_negotiated: false,
            is_needed,
            is_cwr_due: false,
            was_capable: false,
            sent_up_to: initial + 1,
        }
    }

    /// Control bits of our SYN after `repetitions` earlier ones (Linux `tcp_ecn_send_syn`).
    pub(crate) fn syn_flags(&mut self, config: &EcnConfig, repetitions: u32) -> Flags {
        if config.outgoing == EcnFeedback::None && !self.is_needed {
            return Flags::NONE;
        }
        self.is_negotiated = true;
        if repetitions > 0 && config.fallback { Flags::NONE } else { Flags::from_bits(ECN_SETUP) }
    }

    /// Control bits of our SYN-ACK.
    pub(crate) fn syn_ack_flags(&self) -> Flags {
        if self.is_negotiated { Flags::ECE } else { Flags::NONE }
    }

    /// The code point of a SYN or SYN-ACK with these control bits: ECT if the congestion control needs
    /// ECN and the segment asks for it or agrees.
    pub(crate) fn syn_code_point(&self, flags: Flags) -> Ecn {
        if self.is_needed && flags.contains(Flags::ECE) { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// The SYN of a peer that opens (Linux `tcp_ecn_create_request`). RFC 3168 forbids ECT on a SYN, so
    /// such a SYN does not negotiate ECN, unless its sender knows Accurate ECN.
    pub(crate) fn on_syn(&mut self, config: &EcnConfig, syn: &Segment) {
        let asks = syn.flags.contains(Flags::from_bits(ECN_SETUP));
        let proper = !syn.traffic_class.ecn().is_capable() || syn.flags.contains(Flags::AE);
        let wanted = proper && config.incoming >= EcnFeedback::Classic;
        self.is_negotiated = asks && (wanted || self.is_needed);
    }

    /// The SYN of a peer that opens at the same time (Linux `tcp_ecn_rcv_syn`).
    pub(crate) fn on_crossing_syn(&mut self, syn: &Segment) {
        if !syn.flags.contains(Flags::from_bits(ECN_SETUP)) {
            self.is_negotiated = false;
        }
    }

    /// The answer to our SYN: ECE without CWR agrees (Linux `tcp_ecn_rcv_synack`).
    pub(crate) fn on_syn_ack(&mut self, answer: &Segment) {
        let agrees = answer.flags.contains(Flags::ECE) && !answer.flags.contains(Flags::CWR);
        if !agrees {
            self.is_negotiated = false;
        }
    }

    /// Data went out with the SYN, up to this number.
    pub(crate) fn on_syn_data(&mut self, end: SequenceNumber) {
        self.sent_up_to = end;
    }

    /// Follows a change of the congestion control.
    pub(crate) fn set_needed(&mut self, is_needed: bool) {
        self.is_needed = is_needed;
    }

    /// An external congestion control sets whether CWR is due.
    pub(crate) fn set_cwr_due(&mut self, due: bool) {
        if self.is_negotiated {
            self.is_cwr_due = due;
        }
    }

    /// The window was reduced, for an ECN echo or a loss: the next new data carries CWR.
    pub(crate) fn on_reduction(&mut self) {
        self.is_cwr_due = self.is_negotiated;
    }

    /// The reduction was undone: no CWR is due.
    pub(crate) fn on_undo(&mut self) {
        self.is_cwr_due = false;
    }

    /// Whether an acknowledgment echoes a CE mark.
    pub(crate) fn is_echo(&self, flags: Flags) -> bool {
        self.is_negotiated && flags.contains(Flags::ECE) && !flags.contains(Flags::SYN)
    }

    /// Sets the code point and CWR of a segment: new data is ECT and carries a due CWR; everything is
    /// ECT where the congestion control needs ECN (Linux `tcp_ecn_send`).
    pub(crate) fn mark(&mut self, segment: &mut Segment) {
        let is_new = segment.payload_bytes > 0 && !segment.sequence.is_before(self.sent_up_to);
        self.was_capable = is_new || self.is_needed;
        if self.was_capable {
            segment.traffic_class = segment.traffic_class.with_ecn(Ecn::Ect0);
        }
        if is_new {
            self.sent_up_to = segment.sequence + segment.payload_bytes;
            if std::mem::take(&mut self.is_cwr_due) {
                segment.flags |= Flags::CWR;
            }
        }
    }

    /// Sets the code point of an acknowledgment that the congestion control requests.
    pub(crate) fn mark_requested_ack(&mut self, segment: &mut Segment) {
        self.was_capable = self.is_needed;
        if self.is_needed {
            segment.traffic_class = segment.traffic_class.with_ecn(Ecn::Ect0);
        }
    }

    /// The code point of the last segment.
    pub(crate) fn last_code_point(&self) -> Ecn {
        if self.was_capable { Ecn::Ect0 } else { Ecn::NotEct }
    }
}

/// The receiving half of ECN: CE marks seen and the echo that is owed.
#[derive(Debug, Default)]
pub(crate) struct EcnReceiver {
    /// An ECT packet with data has arrived (Linux `TCP_ECN_SEEN`).
    has_seen_capable: bool,
    /// A CE mark has arrived, and the peer has not answered with CWR (`TCP_ECN_DEMAND_CWR`).
    is_echo_due: bool,
}

impl EcnReceiver {
    getters! {
        has_seen_capable: bool,
        is_echo_due: bool,
    }

    /// An external congestion control sets whether acknowledgments echo a mark.
    pub(crate) fn set_echo_due(&mut self, due: bool) {
        self.is_echo_due = due;
    }

    /// The peer has reduced its window (CWR). Returns whether an acknowledgment goes out at once, because
    /// that window may be very small (Linux `tcp_ecn_accept_cwr`).
    pub(crate) fn accept_cwr(&mut self, segment: &Segment) -> bool {
        self.is_echo_due = false;
        segment.sequence_length() > 0
    }

    /// The code point of data that has arrived (Linux `tcp_data_ecn_check`). Returns whether the next
    /// acknowledgments go out at once. The congestion control is notified before.
    pub(crate) fn on_data(&mut self, mark: Ecn) -> bool {
        if mark == Ecn::NotEct {
            return self.has_seen_capable;
        }
        self.has_seen_capable = true;
        mark == Ecn::Ce && !std::mem::replace(&mut self.is_echo_due, true)
    }
}
