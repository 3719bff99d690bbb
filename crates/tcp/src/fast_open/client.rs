//! The end that opens: a cookie or the request for one, and data with the SYN.

use super::{FastOpenFailure, FastOpenLesson};
use crate::config::Config;
use crate::connection::{Connection, Ports};
use crate::send_queue::{Marks, Sent};
use fairwind_units::Instant;
use fairwind_wire::{FastOpen, FastOpenKind, Options, Segment, SequenceNumber};
use std::sync::Arc;

/// Room left for options, also for those that boxes on the path may add (Linux
/// `MAX_TCP_OPTION_SPACE`).
const OPTION_BYTES: u16 = 40;

/// What a SYN is to carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FastOpenSyn {
    /// The request for a cookie.
    Request(FastOpenKind),
    /// Data.
    Data {
        /// The cookie; `None` where the server takes data without.
        option: Option<FastOpen>,
        /// Bytes that the application has; as many as fit are sent.
        bytes: u32,
        /// The peer's MSS, where it is remembered, in bytes.
        peer_mss: Option<u16>,
    },
}

impl Connection {
    /// Opens actively with Fast Open: the next [`poll_segment`](Self::poll_segment) gives the SYN
    /// with what it carries. [`syn_data_bytes`](Self::syn_data_bytes) tells how much was taken.
    pub fn connect_with_fast_open(
        config: Arc<Config>,
        ports: Ports,
        initial: SequenceNumber,
        syn: FastOpenSyn,
    ) -> Self {
        let mut connection = Self::connect(config, ports, initial);
        if let FastOpenSyn::Data { bytes, peer_mss, .. } = syn {
            let own = connection.config.mss;
            let room = peer_mss.map_or(own, |peer| peer.min(own)).saturating_sub(OPTION_BYTES);
            connection.fast_open.syn_bytes = bytes.min(u32::from(room));
        } else {
            connection.fast_open.failure = Some(FastOpenFailure::CookieUnavailable);
        }
        connection.fast_open.syn = Some(syn);
        connection
    }

    /// Bytes of the application that the SYN carries.
    pub fn syn_data_bytes(&self) -> u32 {
        self.fast_open.syn_bytes
    }

    /// Says that a call waits for the connection to open in order to write: the data acknowledges the
    /// peer's SYN-ACK then (Linux `sk_write_pending`).
    pub fn expect_data(&mut self) {
        self.fast_open.data_waits = true;
    }

    /// What the answer to our SYN told, once.
    pub fn take_fast_open_lesson(&mut self) -> Option<FastOpenLesson> {
        self.fast_open.lesson.take()
    }

    /// Why data with the SYN did not save a round trip.
    pub fn fast_open_failure(&self) -> Option<FastOpenFailure> {
        self.fast_open.failure
    }

    /// The payload and option of our SYN: of the first one only (Linux `tcp_send_syn_data`).
    #[cold]
    pub(crate) fn take_fast_open_syn(&mut self, options: Options, now: Instant) -> (Options, u32) {
        let Some(syn) = self.fast_open.syn.take() else { return (options, 0) };
        let option = match syn {
            FastOpenSyn::Request(kind) => Some(FastOpen { kind, ..FastOpen::default() }),
            FastOpenSyn::Data { option, .. } => option,
        };
        self.fast_open.asked = option.map(|option| option.kind);
        let bytes = self.fast_open.syn_bytes;
        if bytes > 0 {
            self.queue_syn_data(bytes, now);
        }
        (option.map_or(options, |option| options.with_fast_open(&option)), bytes)
    }

    /// The data is outstanding by itself: if it has to be repeated, that is without SYN.
    fn queue_syn_data(&mut self, bytes: u32, now: Instant) {
        let mut marks = Marks::default();
        marks.set(Marks::PUSH);
        self.queue.push(Sent {
            sequence: self.send.initial + 1,
            length: bytes,
            transmitted_at: now,
            delivered_before: self.recovery.delivered,
            rank: self.recovery.last_sent.advance(now).rank,
            transmissions: 1,
            marks,
        });
        self.send.next = self.send.initial + 1 + bytes;
        self.send.last_sent = now;
        self.ecn.on_syn_data(self.send.next);
    }

    /// Whether Fast Open has a say in the answer to our SYN.
    pub(crate) fn opened_fast(&self) -> bool {
        self.fast_open.asked.is_some() || self.fast_open.syn_bytes > 0
    }

    /// The answer to a SYN with the option or data has been taken: what it says of the cookie and the
    /// data (Linux `tcp_rcv_fastopen_synack`). Returns whether data has to be sent again.
    #[cold]
    pub(crate) fn on_fast_open_answer(&mut self, answer: &Segment, now: Instant) -> bool {
        let outstanding = !self.queue.is_empty();
        let repeated = self.syn_transmissions > 1;
        self.learn_from(answer, outstanding, repeated);
        if outstanding {
            let failure = if repeated {
                FastOpenFailure::SynRetransmitted
            } else {
                FastOpenFailure::DataNotAcknowledged
            };
            self.fast_open.failure = Some(failure);
            self.send_syn_data_again(now);
            return true;
        }
        self.fast_open.syn_data_acknowledged = self.fast_open.syn_bytes > 0;
        // SYN and its data were one packet.
        self.recovery.delivered = self.recovery.delivered.min(1);
        self.take_syn_text(answer);
        false
    }

    fn learn_from(&mut self, answer: &Segment, outstanding: bool, repeated: bool) {
        let asked = self.fast_open.asked;
        let cookie = answer
            .options
            .fast_open()
            .filter(|option| asked.is_some() && option.cookie.is_well_formed());
        let ask_next = match asked {
            _ if repeated || cookie.is_some() || self.fast_open.syn_bytes > 0 => None,
            None => None,
            Some(FastOpenKind::Assigned) => Some(FastOpenKind::Experimental),
            Some(FastOpenKind::Experimental) => Some(FastOpenKind::Assigned),
        };
        self.fast_open.lesson = Some(FastOpenLesson {
            cookie,
            peer_mss: answer.options.mss.unwrap_or(crate::negotiation::DEFAULT_MSS),
            ask_next,
            data_was_dropped: repeated && cookie.is_none() && outstanding,
        });
    }

    /// Not a sign of congestion: the window stays (Linux `tcp_non_congestion_loss_retransmit`).
    fn send_syn_data_again(&mut self, now: Instant) {
        self.repeat_without_reduction(now);
    }

    /// Text that stands beside SYN: from here on it is in order.
    pub(crate) fn take_syn_text(&mut self, syn: &Segment) {
        self.receive.next += syn.payload_bytes;
        self.receive.offered = self.receive.offered.later(self.receive.next);
        self.receive.unread += syn.payload_bytes;
        // The answer to SYN acknowledges it.
        self.receive.last_acknowledged = self.receive.next;
    }
}
