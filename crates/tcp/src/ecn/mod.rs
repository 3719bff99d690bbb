//! Explicit congestion notification: a queue marks packets instead of dropping them, the receiver
//! tells the sender, and the sender slows down.
//!
//! Source: RFC 3168 as Linux 6.18 has it (`tcp_ecn.h`, `tcp_input.c`, `tcp_output.c`).
//! Differs from RFC 3168: CWR is believed on pure ACKs too, and a receiver that has seen capable
//! packets takes one that is not for a repetition and acknowledges quickly.
//! Cost: one branch per segment where nothing was agreed.

mod classic;
mod marks;
mod opening;

use crate::connection::Connection;
use fairwind_wire::{Flags, SequenceNumber, TrafficClass};

/// What was agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Disabled,
    Classic,
}

/// What one end keeps of ECN.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags that Linux keeps as bits")]
pub(crate) struct Ecn {
    pub(crate) mode: Mode,
    /// The congestion control lives by marks: it is asked for, and all packets are capable (Linux
    /// `tcp_ca_needs_ecn`).
    pub(crate) is_needed: bool,
    /// A capable packet with data has arrived (Linux `TCP_ECN_SEEN`).
    pub(crate) seen: bool,
    /// A marked one has, and the peer has not said that it slowed down (`TCP_ECN_DEMAND_CWR`).
    demands_reduction: bool,
    /// We have slowed down, and the next new data is to say so (`TCP_ECN_QUEUE_CWR`).
    owes_reduced: bool,
    /// The last segment was capable.
    was_capable: bool,
    /// Number after the last one that was sent as data: from here on it is new.
    sent_up_to: SequenceNumber,
}

impl Ecn {
    pub(crate) fn new(initial: SequenceNumber, is_needed: bool) -> Self {
        Self {
            mode: Mode::Disabled,
            is_needed,
            seen: false,
            demands_reduction: false,
            owes_reduced: false,
            was_capable: false,
            sent_up_to: initial + 1,
        }
    }

    /// Data went out with the SYN, up to this number.
    pub(crate) fn on_syn_data(&mut self, end: SequenceNumber) {
        self.sent_up_to = end;
    }

    /// Whether anything was agreed.
    #[inline]
    pub(crate) fn is_agreed(&self) -> bool {
        self.mode != Mode::Disabled
    }

    /// The next new data is to say that the window was reduced.
    pub(crate) fn owes_reduced(&self) -> bool {
        self.owes_reduced
    }

    /// A mark is to be echoed.
    pub(crate) fn demands_reduction(&self) -> bool {
        self.demands_reduction
    }

    /// A congestion control from outside says what is to be told to the peer.
    pub(crate) fn adopt(&mut self, owes_reduced: bool, demands_reduction: bool) {
        if self.is_agreed() {
            self.owes_reduced = owes_reduced;
            self.demands_reduction = demands_reduction;
        }
    }

    /// The window was reduced, for a mark or a loss: the next new data says so.
    #[inline]
    pub(crate) fn on_reduction(&mut self) {
        self.owes_reduced = self.mode == Mode::Classic;
    }

    /// The reduction was taken back: there is nothing to say.
    pub(crate) fn on_undo(&mut self) {
        self.owes_reduced = false;
    }

    /// Whether an acknowledgment says that packets of ours were marked.
    #[inline]
    pub(crate) fn is_echo(&self, flags: Flags) -> bool {
        self.mode == Mode::Classic && flags.contains(Flags::ECE) && !flags.contains(Flags::SYN)
    }
}

impl Connection {
    /// The service that packets ask for, with the mark of the last one (Linux keeps both in `IP_TOS`).
    pub fn traffic_class(&self) -> TrafficClass {
        let mark = if self.ecn.was_capable {
            fairwind_wire::Ecn::Ect0
        } else {
            fairwind_wire::Ecn::NotEct
        };
        self.config.ecn.service.with_ecn(mark)
    }
}
