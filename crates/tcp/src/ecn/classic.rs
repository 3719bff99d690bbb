//! One signal per round trip (RFC 3168 §6.1.2, §6.1.3).

use super::{Ecn, Mode};
use crate::congestion::plugged::WindowEvent;
use crate::connection::Connection;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};

/// Acknowledgments that go out at once after a mark (Linux `tcp_data_ecn_check`).
const QUICK_ACKNOWLEDGMENTS: u32 = 2;

impl Ecn {
    /// Marks a segment to be sent: new data is capable and says that the window was reduced, everything is
    /// capable where the congestion control lives by marks, and everything echoes a mark (Linux `tcp_ecn_send`).
    pub(crate) fn mark(&mut self, segment: &mut Segment) {
        let is_new = segment.payload_bytes > 0 && !segment.sequence.is_before(self.sent_up_to);
        self.was_capable = is_new || self.is_needed;
        if self.was_capable {
            segment.traffic_class = segment.traffic_class.with_ecn(fairwind_wire::Ecn::Ect0);
        }
        if is_new {
            self.sent_up_to = segment.sequence + segment.payload_bytes;
            if std::mem::take(&mut self.owes_reduced) {
                segment.flags |= Flags::CWR;
            }
        }
        if self.demands_reduction {
            segment.flags |= Flags::ECE;
        }
    }

    /// The same for an acknowledgment that is asked for, with the echo that was told.
    pub(crate) fn mark_asked(&mut self, segment: &mut Segment, echoes: bool) {
        self.was_capable = self.is_needed;
        if self.is_needed {
            segment.traffic_class = segment.traffic_class.with_ecn(fairwind_wire::Ecn::Ect0);
        }
        if echoes {
            segment.flags |= Flags::ECE;
        }
    }

    /// The peer has reduced its window. Returns whether this is to be acknowledged at once, since
    /// that window may be very small (Linux `tcp_ecn_accept_cwr`).
    fn accept_reduced(&mut self, segment: &Segment) -> bool {
        self.demands_reduction = false;
        segment.sequence_length() > 0
    }
}

impl Connection {
    /// The control bits of an acceptable acknowledgment.
    #[inline]
    pub(crate) fn follow_reduced(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::CWR) && self.ecn.accept_reduced(segment) {
            self.acknowledger.now = true;
        }
    }

    /// The mark of data that is taken (Linux `tcp_data_ecn_check`).
    #[inline]
    pub(crate) fn follow_mark(&mut self, segment: &Segment, now: Instant) {
        if self.ecn.mode != Mode::Disabled {
            self.follow_classic_mark(segment.traffic_class.ecn(), now);
        }
    }

    fn follow_classic_mark(&mut self, mark: fairwind_wire::Ecn, now: Instant) {
        use fairwind_wire::Ecn::{Ce, Ect0, Ect1, NotEct};
        match mark {
            NotEct if self.ecn.seen => self.acknowledge_next_quickly(QUICK_ACKNOWLEDGMENTS),
            NotEct => {}
            Ce => {
                if self.ecn.is_needed {
                    self.tell_mark(WindowEvent::MarkedData, now);
                }
                if !self.ecn.demands_reduction {
                    self.acknowledge_next_quickly(QUICK_ACKNOWLEDGMENTS);
                    self.ecn.demands_reduction = true;
                }
                self.ecn.seen = true;
            }
            Ect0 | Ect1 => {
                if self.ecn.is_needed {
                    self.tell_mark(WindowEvent::UnmarkedData, now);
                }
                self.ecn.seen = true;
            }
        }
    }
}
