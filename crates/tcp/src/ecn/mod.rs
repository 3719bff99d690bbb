//! Explicit congestion notification: negotiation, and the signals of RFC 3168.
//!
//! | module | concern |
//! |---|---|
//! | `accurate` | the feedback of Accurate ECN (RFC 9768) |
//! | `option` | its option: room, and state of the peer's |
//!
//! Source: RFC 3168 as in Linux 6.18 (`tcp_ecn.h`, `tcp_input.c`, `tcp_output.c`); RFC 9768 §3.1 as in
//! Linux 7.3.
//! Differs from RFC 3168: CWR is accepted on pure ACKs too. A receiver that has seen ECT packets treats
//! a Not-ECT packet as a retransmission and acknowledges quickly.
//! Cost: one branch per segment without ECN.

mod accurate;
mod option;

pub(crate) use accurate::{AccurateFeedback, AckedData, Failures};

use crate::config::{AccurateEcnOption, EcnConfig, EcnFeedback};
use fairwind_wire::{AccurateEcn, Ecn, Flags, Options, Segment, SequenceNumber};

/// Flags of a SYN that requests ECN.
const ECN_SETUP: u16 = Flags::ECE.bits() | Flags::CWR.bits();
/// Flags of a SYN that requests Accurate ECN (RFC 9768 §3.1.1).
const ACCURATE_SETUP: u16 = ECN_SETUP | Flags::AE.bits();
/// Number of SYNs that request ECN before the fallback: for RFC 3168, and for Accurate ECN (RFC 9768
/// §3.1.4.1).
const ATTEMPTS: u32 = 1;
const ACCURATE_ATTEMPTS: u32 = 2;

/// Negotiated mode (Linux `TCP_ECN_MODE_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Off,
    /// Our SYN requests Accurate ECN.
    Pending,
    /// RFC 3168; also while our SYN requests it.
    Classic,
    /// RFC 9768.
    Accurate,
}

/// The sending half of ECN: negotiation, ECT marks, CWR; the feedback of Accurate ECN.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags that Linux keeps as bits")]
pub(crate) struct EcnSender {
    mode: Mode,
    /// The congestion control needs ECN: it is requested, and all packets are ECT (Linux
    /// `tcp_ca_needs_ecn`).
    is_needed: bool,
    /// The next new data carries CWR (`TCP_ECN_QUEUE_CWR`).
    is_cwr_due: bool,
    /// The last segment was ECT.
    was_capable: bool,
    /// Number after the last new data; data from here on is new.
    sent_up_to: SequenceNumber,
    /// State of Accurate ECN, if either SYN requested it.
    feedback: Option<Box<AccurateFeedback>>,
    /// The codepoint of our SYN or SYN-ACK.
    syn_sent: Ecn,
    /// A SYN-ACK was sent after a time-out: the next one leaves ECN out (RFC 9768 §3.1.4.2).
    withholds: bool,
}

impl EcnSender {
    getters! {
        is_needed: bool,
        is_cwr_due: bool,
    }

    pub(crate) fn new(initial: SequenceNumber, is_needed: bool) -> Self {
        Self {
            mode: Mode::Off,
            is_needed,
            is_cwr_due: false,
            was_capable: false,
            sent_up_to: initial + 1,
            feedback: None,
            syn_sent: Ecn::NotEct,
            withholds: false,
        }
    }

    /// Whether ECN of either kind is in use.
    #[inline]
    pub(crate) fn is_negotiated(&self) -> bool {
        matches!(self.mode, Mode::Classic | Mode::Accurate)
    }

    /// Whether RFC 3168 is in use.
    pub(crate) fn is_classic(&self) -> bool {
        self.mode == Mode::Classic
    }

    /// Whether Accurate ECN (RFC 9768) is in use.
    pub(crate) fn is_accurate(&self) -> bool {
        self.mode == Mode::Accurate
    }

    /// The state of Accurate ECN, where it is in use.
    #[inline]
    pub(crate) fn accurate(&self) -> Option<&AccurateFeedback> {
        if self.mode == Mode::Accurate { self.feedback.as_deref() } else { None }
    }

    #[inline]
    pub(crate) fn accurate_mut(&mut self) -> Option<&mut AccurateFeedback> {
        if self.mode == Mode::Accurate { self.feedback.as_deref_mut() } else { None }
    }

    /// Control bits of our SYN after `repetitions` earlier ones (Linux `tcp_ecn_send_syn`).
    pub(crate) fn syn_flags(&mut self, config: &EcnConfig, repetitions: u32) -> Flags {
        let (mode, attempts, bits) = match config.outgoing {
            EcnFeedback::Accurate => (Mode::Pending, ACCURATE_ATTEMPTS, ACCURATE_SETUP),
            EcnFeedback::None if !self.is_needed => return Flags::NONE,
            EcnFeedback::None | EcnFeedback::Classic => (Mode::Classic, ATTEMPTS, ECN_SETUP),
        };
        self.mode = mode;
        let gives_up = repetitions >= attempts && config.fallback;
        if gives_up { Flags::NONE } else { Flags::from_bits(bits) }
    }

    /// Control bits of our SYN-ACK after `timeouts` of earlier ones (Linux `tcp_ecn_make_synack`).
    pub(crate) fn syn_ack_flags(&mut self, timeouts: u32) -> Flags {
        match (self.mode, self.feedback.as_deref()) {
            (Mode::Classic, _) => Flags::ECE,
            (Mode::Accurate, Some(feedback)) => {
                let flags = feedback.syn_ack_flags();
                let withholds = std::mem::replace(&mut self.withholds, timeouts > 0);
                if withholds { Flags::NONE } else { flags }
            }
            _ => Flags::NONE,
        }
    }

    /// The option of our SYN-ACK with these others; only the first transmission has it.
    pub(crate) fn syn_ack_option(
        &self,
        config: &EcnConfig,
        others: &Options,
        repetitions: u32,
    ) -> Option<AccurateEcn> {
        let wanted = self.mode == Mode::Accurate
            && config.option != AccurateEcnOption::Never
            && repetitions == 0;
        wanted.then(|| accurate::syn_ack_option(others)).flatten()
    }

    /// Counts a SYN-ACK: after two, something on the path may drop its ACE field.
    pub(crate) fn on_syn_ack_sent(&mut self, repetitions: u32) {
        if repetitions > 1
            && let Some(feedback) = self.accurate_mut()
        {
            feedback.fail(Failures::ACE_SENT);
        }
    }

    /// Codepoint of a SYN or SYN-ACK with these control bits: ECT if the congestion control needs ECN
    /// and the segment negotiates it.
    pub(crate) fn syn_codepoint(&mut self, flags: Flags) -> Ecn {
        let capable = self.is_needed && flags.contains(Flags::ECE);
        self.syn_sent = if capable { Ecn::Ect0 } else { Ecn::NotEct };
        self.syn_sent
    }

    /// Handles the SYN of an active peer (Linux `tcp_ecn_create_request`). RFC 3168 forbids ECT on a
    /// SYN, so such a SYN does not negotiate ECN, unless it requests Accurate ECN.
    pub(crate) fn on_syn(&mut self, config: &EcnConfig, syn: &Segment) {
        if accurate::is_requested(syn.flags) && config.incoming == EcnFeedback::Accurate {
            self.mode = Mode::Accurate;
            self.feedback.get_or_insert_default().on_syn(syn);
            return;
        }
        let asks = syn.flags.contains(Flags::from_bits(ECN_SETUP));
        let proper = !syn.traffic_class.ecn().is_capable() || syn.flags.contains(Flags::AE);
        let wanted = proper && config.incoming >= EcnFeedback::Classic;
        self.mode = if asks && (wanted || self.is_needed) { Mode::Classic } else { Mode::Off };
    }

    /// Handles the SYN of a simultaneous open (Linux `tcp_ecn_rcv_syn`).
    pub(crate) fn on_crossing_syn(&mut self, syn: &Segment) {
        if self.mode == Mode::Pending {
            self.mode = Mode::Classic;
            if accurate::is_requested(syn.flags) {
                self.mode = Mode::Accurate;
                self.feedback.get_or_insert_default().on_syn(syn);
            }
        }
        if self.is_classic() && !syn.flags.contains(Flags::from_bits(ECN_SETUP)) {
            self.mode = Mode::Off;
        }
    }

    /// Handles the answer to our SYN: ECE without CWR accepts RFC 3168; with Accurate ECN the ACE field
    /// reports the codepoint of our SYN (RFC 9768 §3.1.1, table 2; Linux `tcp_ecn_rcv_synack`).
    pub(crate) fn on_syn_ack(&mut self, config: &EcnConfig, answer: &Segment) {
        let of_classic = answer.flags.contains(Flags::ECE) && !answer.flags.contains(Flags::CWR);
        let has_accurate = answer.flags.contains(Flags::AE);
        self.mode = match self.mode {
            Mode::Pending => match answer.flags.bits() & ACCURATE_SETUP {
                0 | ACCURATE_SETUP => Mode::Off,
                _ if of_classic && !has_accurate => Mode::Classic,
                _ => {
                    let feedback = self.feedback.get_or_insert_default();
                    feedback.on_syn_ack(config, answer, self.syn_sent);
                    Mode::Accurate
                }
            },
            Mode::Classic if of_classic => Mode::Classic,
            _ => Mode::Off,
        };
    }

    /// The segment that ends a passive handshake. Returns whether our SYN-ACK was marked.
    pub(crate) fn on_third_ack(&mut self, config: &EcnConfig, ack: &Segment) -> bool {
        let sent = self.syn_sent;
        self.accurate_mut().is_some_and(|feedback| feedback.on_third_ack(config, ack, sent))
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
        if self.is_classic() {
            self.is_cwr_due = due;
        }
    }

    /// The window was reduced, for an ECN echo or a loss: the next new data carries CWR.
    pub(crate) fn on_reduction(&mut self) {
        self.is_cwr_due = self.is_classic();
    }

    /// The reduction was undone: no CWR is due.
    pub(crate) fn on_undo(&mut self) {
        self.is_cwr_due = false;
    }

    /// Whether an acknowledgment echoes a CE mark.
    pub(crate) fn is_echo(&self, flags: Flags) -> bool {
        self.is_classic() && flags.contains(Flags::ECE) && !flags.contains(Flags::SYN)
    }

    /// Sets the codepoint and CWR of a segment: new data is ECT and carries a due CWR; everything is
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

    /// Sets the codepoint and the ACE field of a segment with Accurate ECN: all are ECT, unless the ACE
    /// field does not arrive.
    pub(crate) fn mark_accurately(&mut self, segment: &mut Segment) {
        let Some(feedback) = self.feedback.as_deref_mut() else { return };
        self.was_capable = feedback.is_capable();
        if self.was_capable {
            segment.traffic_class = segment.traffic_class.with_ecn(Ecn::Ect0);
        }
        segment.flags |= feedback.take_ace_flags();
    }

    /// Sets the codepoint of an acknowledgment in TIME-WAIT, which counts no marks: that of the last
    /// segment (Linux `tcp_v4_timewait_ack`).
    pub(crate) fn mark_as_before(&self, segment: &mut Segment) {
        segment.traffic_class = segment.traffic_class.with_ecn(self.last_codepoint());
    }

    /// Sets the codepoint of an acknowledgment that the congestion control requests.
    pub(crate) fn mark_requested_ack(&mut self, segment: &mut Segment) {
        self.was_capable = self.is_needed;
        if self.is_needed {
            segment.traffic_class = segment.traffic_class.with_ecn(Ecn::Ect0);
        }
    }

    pub(crate) fn last_codepoint(&self) -> Ecn {
        if self.was_capable { Ecn::Ect0 } else { Ecn::NotEct }
    }
}

/// The receiving half of ECN: CE marks, and the pending echo.
#[derive(Debug, Default)]
pub(crate) struct EcnReceiver {
    /// An ECT packet with data has arrived (Linux `TCP_ECN_SEEN`).
    has_seen_capable: bool,
    /// A CE mark has arrived, and the peer has not sent CWR yet (`TCP_ECN_DEMAND_CWR`).
    is_echo_due: bool,
}

impl EcnReceiver {
    getters! {
        has_seen_capable: bool,
        is_echo_due: bool,
    }

    /// A segment has arrived that is ECT, with data or without (Accurate ECN).
    pub(crate) fn note_capable(&mut self) {
        self.has_seen_capable = true;
    }

    /// An external congestion control sets whether acknowledgments echo a mark.
    pub(crate) fn set_echo_due(&mut self, due: bool) {
        self.is_echo_due = due;
    }

    /// Handles CWR. Returns whether to acknowledge immediately, because the peer's window may be very
    /// small (Linux `tcp_ecn_accept_cwr`).
    pub(crate) fn accept_cwr(&mut self, segment: &Segment) -> bool {
        self.is_echo_due = false;
        segment.sequence_length() > 0
    }

    /// Handles the codepoint of arrived data (Linux `tcp_data_ecn_check`). Returns whether the next
    /// acknowledgments are immediate. The congestion control is notified before.
    pub(crate) fn on_data(&mut self, mark: Ecn) -> bool {
        if mark == Ecn::NotEct {
            return self.has_seen_capable;
        }
        self.has_seen_capable = true;
        mark == Ecn::Ce && !std::mem::replace(&mut self.is_echo_due, true)
    }
}
