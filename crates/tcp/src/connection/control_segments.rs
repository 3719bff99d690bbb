//! Control segments, which precede data: resets, early acknowledgments, SYN; rate limits of responses (RFC
//! 5961 §7).
//!
//! Source: Linux 6.18 `tcp_oow_rate_limited`, `tcp_send_challenge_ack`, which counts the challenge ACKs of all
//! connections and varies their limit at random.

use crate::config::Config;
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment, SequenceNumber};
use std::collections::VecDeque;

/// Control segments that wait. They are rare, so one flag shows that there is none.
#[derive(Debug, Default)]
pub(super) struct ControlSegments {
    /// A control segment may be due.
    is_any: bool,
    /// A SYN or SYN-ACK is due.
    syn: bool,
    /// A response to a segment without a connection or with an invalid acknowledgment.
    reset: Option<Box<Segment>>,
    /// Acknowledgments composed before the last segment was processed.
    acknowledgments: VecDeque<Segment>,
    /// A reset of this connection, at this number.
    own_reset: Option<SequenceNumber>,
}

#[derive(Debug)]
pub(super) enum ControlSegment {
    /// A reset in response to a segment.
    Reset(Box<Segment>),
    /// A complete acknowledgment.
    Acknowledgment(Segment),
    /// A reset of this connection, at this number.
    OwnReset(SequenceNumber),
    /// SYN, or SYN-ACK.
    Syn,
}

impl ControlSegments {
    /// Sets whether a SYN or SYN-ACK is due.
    pub(super) fn set_syn(&mut self, due: bool) {
        self.is_any |= due;
        self.syn = due;
    }

    /// Queues a reset in response to a segment without a connection (RFC 9293 §3.10.7.1).
    pub(super) fn reset(&mut self, segment: &Segment) {
        self.is_any = true;
        let reply = Segment {
            source_port: segment.destination_port,
            destination_port: segment.source_port,
            ..Segment::default()
        };
        let reset = if segment.flags.contains(Flags::ACK) {
            Segment { sequence: segment.acknowledgment, flags: Flags::RST, ..reply }
        } else {
            Segment { acknowledgment: segment.end(), flags: Flags::RST | Flags::ACK, ..reply }
        };
        self.reset = Some(Box::new(reset));
    }

    /// Queues an acknowledgment composed before the last segment was processed.
    pub(super) fn acknowledge(&mut self, acknowledgment: Segment) {
        self.is_any = true;
        self.acknowledgments.push_back(acknowledgment);
    }

    /// A reset ends this connection.
    pub(super) fn reset_own(&mut self, sequence: SequenceNumber) {
        self.is_any = true;
        self.own_reset = Some(sequence);
    }

    pub(super) fn is_any(&self) -> bool {
        self.is_any
    }

    pub(super) fn next(&mut self) -> Option<ControlSegment> {
        if let Some(reset) = self.reset.take() {
            return Some(ControlSegment::Reset(reset));
        }
        if let Some(acknowledgment) = self.acknowledgments.pop_front() {
            return Some(ControlSegment::Acknowledgment(acknowledgment));
        }
        if let Some(sequence) = self.own_reset.take() {
            return Some(ControlSegment::OwnReset(sequence));
        }
        if std::mem::take(&mut self.syn) {
            return Some(ControlSegment::Syn);
        }
        self.is_any = false;
        None
    }
}

/// Time of the last response to an unacceptable segment, and number of challenge ACKs.
#[derive(Debug, Default)]
pub(super) struct ResponseLimit {
    last: Option<Instant>,
    /// Second of the last challenge ACK.
    second: u64,
    /// Challenge ACKs that were due in it.
    challenges: u32,
}

impl ResponseLimit {
    /// Whether an unacceptable segment may be answered; counts the answer.
    pub(super) fn allows_response(&mut self, config: &Config, now: Instant) -> bool {
        let interval = config.receiving.rejection_interval;
        if self.last.is_some_and(|last| now.saturating_since(last) < interval) {
            return false;
        }
        self.last = Some(now);
        true
    }

    /// Whether a challenge ACK may be sent; counts it.
    pub(super) fn allows_challenge(&mut self, config: &Config, now: Instant) -> bool {
        if !self.allows_response(config, now) {
            return false;
        }
        let Some(limit) = config.receiving.challenge_limit else { return true };
        let second = now.as_nanos() / 1_000_000_000;
        if self.second != second {
            (self.second, self.challenges) = (second, 0);
        }
        self.challenges += 1;
        self.challenges <= limit
    }
}
