//! What goes out ahead of data: rare, so that one look tells that there is nothing.

use crate::connection::Connection;
use crate::timestamp::timestamp_at;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment, SequenceNumber};
use std::collections::VecDeque;

/// What is to go out before any data goes.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// There may be something.
    is_any: bool,
    /// SYN, or SYN-ACK, is to be sent.
    syn: bool,
    /// An answer to a segment that belongs to no connection, or cannot be right.
    reset: Option<Box<Segment>>,
    /// Acknowledgments from before the last segment was taken.
    acknowledgments: VecDeque<Segment>,
    /// A reset of this connection, at this number.
    own_reset: Option<SequenceNumber>,
}

impl Ahead {
    /// A SYN, or SYN-ACK, is due, or not any more.
    pub(crate) fn set_syn(&mut self, due: bool) {
        self.is_any |= due;
        self.syn = due;
    }

    /// A reset answers a segment.
    pub(crate) fn reset(&mut self, reset: Segment) {
        self.is_any = true;
        self.reset = Some(Box::new(reset));
    }

    /// An acknowledgment goes out as it was before the last segment was taken.
    pub(crate) fn acknowledge(&mut self, acknowledgment: Segment) {
        self.is_any = true;
        self.acknowledgments.push_back(acknowledgment);
    }

    /// The peer is told of the end of this connection.
    pub(crate) fn reset_own(&mut self, sequence: SequenceNumber) {
        self.is_any = true;
        self.own_reset = Some(sequence);
    }
}

impl Connection {
    /// Whether anything may go ahead of data.
    #[inline]
    pub(super) fn has_ahead(&self) -> bool {
        self.ahead.is_any
    }

    /// The next segment that goes ahead of data, if any.
    #[inline(never)]
    pub(super) fn send_ahead(&mut self, now: Instant) -> Option<Segment> {
        if let Some(mut reset) = self.ahead.reset.take() {
            if let Some(timestamps) = &mut reset.options.timestamps {
                timestamps.value = timestamp_at(now);
            }
            return Some(*reset);
        }
        if let Some(acknowledgment) = self.ahead.acknowledgments.pop_front() {
            return Some(acknowledgment);
        }
        if let Some(sequence) = self.ahead.own_reset.take() {
            let mut reset = Segment::default();
            self.write_segment_at(sequence, 0, Flags::RST, now, &mut reset);
            return Some(reset);
        }
        if std::mem::take(&mut self.ahead.syn) {
            return Some(self.send_syn(now));
        }
        self.ahead.is_any = false;
        None
    }
}
