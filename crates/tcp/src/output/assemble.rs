//! Headers: SYN, RST, ACK, probe, and the fields that all segments share.

use crate::congestion::plugged::AskedAcknowledgment;
use crate::connection::Connection;
use crate::event::Event;
use crate::negotiation::syn_options;
use crate::state::State;
use crate::timestamp::timestamp_at;
use fairwind_units::Instant;
use fairwind_wire::{Ecn, Flags, Options, SackBlocks, Segment, SequenceNumber, Timestamps};

impl Connection {
    /// Writes a segment of an open connection at `sequence`, acknowledging what has arrived.
    #[inline]
    pub(super) fn write_segment_at(
        &mut self,
        sequence: SequenceNumber,
        payload_bytes: u32,
        flags: Flags,
        now: Instant,
        into: &mut Segment,
    ) {
        self.compose(sequence, payload_bytes, flags, now, into);
        if self.ecn.is_agreed() {
            self.ecn.mark(into);
        }
        self.note_acknowledged();
        if self.send.urgent_end.is_some() {
            self.mark_urgent(into);
        }
    }

    /// An acknowledgment of what had come before the segment at hand, which settles nothing of what is owed
    /// (Linux `__tcp_send_ack`, `tcp_event_ack_sent`).
    pub(crate) fn acknowledge_before(
        &mut self,
        asked: AskedAcknowledgment,
        now: Instant,
    ) -> Segment {
        let sequence = self.acceptable_sequence();
        let mut segment = Segment::default();
        self.compose(sequence, 0, Flags::NONE, now, &mut segment);
        segment.acknowledgment = SequenceNumber::new(asked.number);
        self.ecn.mark_asked(&mut segment, asked.echoes);
        segment
    }

    /// Writes what segments have in common; it is counted as sent.
    ///
    /// Field by field to where it is to be: a segment that is copied right after it was written has the processor
    /// wait until all of it is.
    #[inline]
    fn compose(
        &mut self,
        sequence: SequenceNumber,
        payload_bytes: u32,
        flags: Flags,
        now: Instant,
        into: &mut Segment,
    ) {
        let window = self.choose_window();
        self.send.last_transmitted = now;
        self.account.on_segment(payload_bytes);
        *into = Segment {
            source_port: self.ports.local,
            destination_port: self.ports.remote,
            sequence,
            acknowledgment: self.receive.next,
            flags: flags | Flags::ACK,
            window,
            urgent: 0,
            traffic_class: self.config.ecn.service.with_ecn(Ecn::NotEct),
            payload_bytes,
            options: Options { timestamps: self.timestamps(now), ..Options::NONE },
        };
        if self.reassembly.has_blocks() {
            into.options.sack = self.report_blocks(payload_bytes);
        }
    }

    /// The SACK blocks that fit; a duplicate is reported once.
    fn report_blocks(&mut self, payload_bytes: u32) -> SackBlocks {
        let blocks = self.reassembly.sack_blocks(self.negotiated.sack_room(payload_bytes));
        if !blocks.is_empty() {
            self.reassembly.forget_duplicate();
        }
        blocks
    }

    /// Any segment with ACK settles what is owed.
    #[inline]
    fn note_acknowledged(&mut self) {
        self.receive.last_acknowledged = self.receive.next;
        self.acknowledger.on_acknowledged();
        self.timers.delayed_ack.stop();
    }

    #[inline]
    fn timestamps(&self, now: Instant) -> Option<Timestamps> {
        self.negotiated
            .timestamps
            .then(|| Timestamps { value: timestamp_at(now), echo: self.receive.recent_timestamp })
    }

    pub(crate) fn send_ack(&mut self, now: Instant) -> Segment {
        let mut segment = Segment::default();
        self.write_ack(now, &mut segment);
        segment
    }

    /// Writes an acknowledgment of what has arrived.
    pub(super) fn write_ack(&mut self, now: Instant, into: &mut Segment) {
        let sequence = self.acceptable_sequence();
        self.write_segment_at(sequence, 0, Flags::NONE, now, into);
    }

    /// The next number to send, or the edge of a window that was closed over it, so that the peer
    /// finds the segment acceptable (Linux `tcp_acceptable_seq`).
    pub(crate) fn acceptable_sequence(&self) -> SequenceNumber {
        let edge = self.send.oldest_unacked + self.send.window;
        let within = edge.is_at_or_after(self.send.next)
            || self.send.next.distance_from(edge) < 1 << self.negotiated.receive_shift;
        if within { self.send.next } else { edge }
    }

    /// An ACK one number below the window: unacceptable, so that the peer answers with its window
    /// (as Linux probes; RFC 9293 §3.8.6.1 would send a byte of data).
    pub(super) fn write_probe(&mut self, now: Instant, into: &mut Segment) {
        self.probe_due = false;
        self.events.push_back(Event::ZeroWindowProbe);
        self.write_segment_at(self.send.oldest_unacked - 1, 0, Flags::NONE, now, into);
    }

    /// SYN, or SYN-ACK once the peer's SYN is known (RFC 9293 §3.5).
    pub(super) fn send_syn(&mut self, now: Instant) -> Segment {
        if self.syn_transmissions == 0 {
            self.syn_sent_at = now;
        } else {
            self.events.push_back(Event::SynRetransmitted);
            self.recovery.retransmissions += 1;
        }
        self.syn_transmissions += 1;
        if self.state == State::SynSent || !self.is_passive {
            self.account.on_segment(0);
        }
        self.send.next = self.send.next.later(self.send.initial + 1);
        if !self.timers.retransmission.is_set() {
            self.timers.retransmission.set(now, self.backoff.timeout);
        }
        let answers = self.state == State::SynReceived;
        let window = self.choose_syn_window();
        let flags = if answers {
            Flags::SYN | Flags::ACK | self.ecn.syn_ack_flags()
        } else {
            Flags::SYN | self.ecn.syn_flags(&self.config.ecn, self.syn_transmissions - 1)
        };
        // Whoever has sent a SYN himself answers the crossing one with the same options.
        let agreed = (answers && self.is_passive).then_some(&self.negotiated);
        let mut options =
            syn_options(&self.config, agreed, self.peer_scales, self.first_window.shift);
        let stamped = agreed.map_or(self.config.timestamps, |agreed| agreed.timestamps);
        options.timestamps = stamped
            .then(|| Timestamps { value: timestamp_at(now), echo: self.receive.recent_timestamp });
        let payload_bytes = if answers {
            options = self.take_fast_open_reply(options);
            0
        } else {
            let (with_fast_open, bytes) = self.take_fast_open_syn(options, now);
            options = with_fast_open;
            bytes
        };
        Segment {
            source_port: self.ports.local,
            destination_port: self.ports.remote,
            sequence: self.send.initial,
            acknowledgment: if answers { self.receive.next } else { SequenceNumber::default() },
            flags,
            window,
            urgent: 0,
            traffic_class: self.config.ecn.service.with_ecn(self.ecn.mark_of_syn(flags)),
            payload_bytes,
            options,
        }
    }

    /// A SYN's window is not scaled (RFC 7323 §2.2).
    fn choose_syn_window(&mut self) -> u16 {
        if self.state == State::SynSent {
            self.choose_first_window();
        }
        self.receive.announced = self.receive.next + self.first_window.bytes;
        self.receive.offered = self.receive.announced;
        u16::try_from(self.first_window.bytes).unwrap_or(u16::MAX)
    }

    /// The answer to a segment that belongs to no connection (RFC 9293 §3.10.7.1).
    pub(crate) fn reset_for(segment: &Segment) -> Segment {
        let reply = Segment {
            source_port: segment.destination_port,
            destination_port: segment.source_port,
            ..Segment::default()
        };
        if segment.flags.contains(Flags::ACK) {
            Segment { sequence: segment.acknowledgment, flags: Flags::RST, ..reply }
        } else {
            Segment { acknowledgment: segment.end(), flags: Flags::RST | Flags::ACK, ..reply }
        }
    }
}
