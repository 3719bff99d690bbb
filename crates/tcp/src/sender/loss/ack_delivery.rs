//! Segments that one acknowledgment delivers: the latest of them, and samples for RACK.
//!
//! Source: Linux `tcp_rate_skb_delivered`, `tcp_rack_advance`, `tcp_skb_spurious_retrans`.

use super::Rack;
use crate::sender::queue::{Sent, SentFlags};
use crate::timers::{is_earlier, timestamp_at};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

/// The segment that was sent last among those that an acknowledgment delivers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LatestDelivered {
    /// Segments delivered before it was sent.
    delivered_before: u32,
    sent_at: Instant,
    end: SequenceNumber,
    flags: SentFlags,
}

impl LatestDelivered {
    getters! {
        delivered_before: u32,
        sent_at: Instant,
        end: SequenceNumber,
        flags: SentFlags,
    }
}

/// Collects the segments that one acknowledgment delivers.
#[derive(Debug)]
pub(crate) struct AckDelivery<'a> {
    /// `None` without SACK.
    rack: Option<&'a mut Rack>,
    now: Instant,
    /// Minimum round-trip time; [`Span::MAX`] before the first sample.
    min_rtt: Span,
    /// The echoed timestamp.
    echo: Option<u32>,
    /// Transmission time and end of the segment that was sent last, and its flags.
    latest: (Instant, SequenceNumber),
    latest_flags: SentFlags,
    /// Segments delivered before it was sent; 0 if no segment is delivered.
    delivered_at_sending: u32,
}

impl<'a> AckDelivery<'a> {
    #[inline]
    pub(crate) fn new(
        rack: Option<&'a mut Rack>,
        now: Instant,
        min_rtt: Option<Span>,
        echo: Option<u32>,
    ) -> Self {
        Self {
            rack,
            now,
            min_rtt: min_rtt.unwrap_or(Span::MAX),
            echo,
            latest: (Instant::ZERO, SequenceNumber::new(0)),
            latest_flags: SentFlags::default(),
            delivered_at_sending: 0,
        }
    }

    /// The segment that was sent last.
    pub(crate) fn latest_delivered(&self) -> LatestDelivered {
        let (sent_at, end) = self.latest;
        let (delivered_before, flags) = (self.delivered_at_sending, self.latest_flags);
        LatestDelivered { delivered_before, sent_at, end, flags }
    }

    pub(crate) fn delivered_at_sending(&self) -> u32 {
        self.delivered_at_sending
    }

    /// A segment was selectively acknowledged for the first time.
    pub(crate) fn on_sacked(&mut self, sent: &Sent) {
        self.note_latest(sent);
        let (min_rtt, now) = (self.min_rtt, self.now);
        if let Some(rack) = &mut self.rack {
            rack.advance(sent, min_rtt, now);
        }
    }

    /// A segment was cumulatively acknowledged that had not been selectively acknowledged.
    #[inline]
    pub(crate) fn on_acknowledged(&mut self, sent: &Sent) {
        self.note_latest(sent);
        if sent.is_retransmitted() && self.is_answer_to_original(sent) {
            return;
        }
        let (min_rtt, now) = (self.min_rtt, self.now);
        if let Some(rack) = &mut self.rack {
            rack.advance(sent, min_rtt, now);
        }
    }

    #[inline]
    fn note_latest(&mut self, sent: &Sent) {
        let (at, end) = self.latest;
        let later = sent.transmitted_at() > at
            || sent.transmitted_at() == at
                && (self.delivered_at_sending == 0 || sent.end().is_after(end));
        if later {
            self.latest = (sent.transmitted_at(), sent.end());
            self.latest_flags = sent.flags();
            self.delivered_at_sending = sent.delivered_before();
        }
    }

    /// Whether the echoed timestamp is older than the last transmission (Linux
    /// `tcp_skb_spurious_retrans`).
    #[cold]
    fn is_answer_to_original(&self, sent: &Sent) -> bool {
        self.echo.is_some_and(|echo| is_earlier(echo, timestamp_at(sent.transmitted_at())))
    }
}
