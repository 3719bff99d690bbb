//! Urgent data on the receiving side: one byte of the stream is marked (RFC 9293 §3.8.5, RFC 6093).
//!
//! Source: Linux 6.18 `tcp_check_urg`, `tcp_recv_urg`, `tcp_recvmsg_locked`, `tcp_inq`.
//!
//! As all well-known stacks do, the byte before the one that the pointer points to is the urgent one.
//! Unless it is to stay in line (`SO_OOBINLINE`), it is no part of what is read, and can be asked for
//! apart. Reading stops in front of it once.

use super::Receiver;
use fairwind_wire::{Segment, SequenceNumber};

/// The urgent byte that the application has not passed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UrgentByte {
    at: SequenceNumber,
    /// The application has taken it apart from the stream.
    taken: bool,
}

/// What asking for the urgent byte gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrgentRead {
    /// The byte.
    Byte,
    /// It is announced and has not arrived.
    NotYet,
    /// There is none.
    Nothing,
}

impl Receiver {
    /// Notes where urgent data ends, if that is news.
    #[cold]
    pub(crate) fn note_urgent(&mut self, segment: &Segment) {
        let offset = u32::from(segment.urgent.saturating_sub(1));
        let at = segment.sequence + offset;
        let known = self.space.urgent;
        let is_news =
            at.is_at_or_after(self.space.next) && known.is_none_or(|known| at.is_after(known.at));
        if !is_news {
            return;
        }
        if known.is_some_and(|known| known.at == self.next_read()) && self.space.unread > 0 {
            self.pass_urgent_byte();
        }
        self.space.urgent = Some(UrgentByte { at, taken: false });
    }

    /// The number that is read next.
    fn next_read(&self) -> SequenceNumber {
        let fin = u32::from(self.has_taken_fin());
        self.space.next - self.space.unread - fin
    }

    /// Distance to the urgent byte, where it has arrived.
    fn to_urgent(&self) -> Option<u32> {
        let urgent = self.space.urgent?;
        let distance = urgent.at.distance_from(self.next_read());
        (distance < self.space.unread).then_some(distance)
    }

    #[inline]
    fn is_urgent_in_line(&self) -> bool {
        self.config.receiving.urgent_in_line
    }

    /// What can be read around an urgent byte.
    #[cold]
    pub(super) fn readable_around_urgent(&self) -> u32 {
        match self.to_urgent() {
            Some(0) if self.is_urgent_in_line() => self.space.unread,
            Some(0) => self.space.unread - 1,
            Some(distance) => distance,
            None => self.space.unread,
        }
    }

    /// Bytes that the application is told of when it asks (`SIOCINQ`): up to an urgent byte.
    pub(crate) fn inquired_bytes(&self) -> u32 {
        let all = self.space.unread;
        if self.is_urgent_in_line() { all } else { self.to_urgent().unwrap_or(all) }
    }

    /// Whether the urgent byte is what comes next (`SIOCATMARK`).
    #[inline]
    pub(crate) fn is_at_mark(&self) -> bool {
        self.space.urgent.is_some_and(|urgent| urgent.at == self.next_read())
    }

    /// Asks for the urgent byte apart from the stream (`MSG_OOB`), `peek`ing or for good.
    pub(crate) fn read_urgent(&mut self, peek: bool) -> UrgentRead {
        let arrived = self.to_urgent().is_some();
        let in_line = self.is_urgent_in_line();
        match &mut self.space.urgent {
            Some(urgent) if !urgent.taken && !in_line => {
                if !arrived {
                    return UrgentRead::NotYet;
                }
                urgent.taken = !peek;
                UrgentRead::Byte
            }
            _ => UrgentRead::Nothing,
        }
    }

    /// Before a read: an urgent byte that comes next is left out.
    #[cold]
    pub(super) fn skip_urgent(&mut self) {
        if self.to_urgent() == Some(0) && !self.is_urgent_in_line() {
            self.pass_urgent_byte();
            self.space.urgent = None;
        }
    }

    fn pass_urgent_byte(&mut self) {
        self.space.unread -= 1;
        self.space.read_bytes += 1;
        self.buffer.release(1);
    }

    /// After a read: what was read past is urgent no more.
    #[cold]
    pub(super) fn forget_passed_urgent(&mut self) {
        let next = self.next_read();
        self.space.urgent = self.space.urgent.filter(|urgent| urgent.at.is_at_or_after(next));
    }
}
