//! The error queue of a socket: what went wrong, and what was sent without a copy and is done with.

use super::stamps::{Stamping, Stamps};
use fairwind_tcp::Connection;
use fairwind_units::Instant;
use fairwind_wire::Segment;
use std::collections::VecDeque;

/// `struct sock_extended_err`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ExtendedError {
    pub(crate) errno: u32,
    pub(crate) origin: u8,
    pub(crate) kind: u8,
    pub(crate) code: u8,
    pub(crate) info: u32,
    pub(crate) data: u32,
    /// When, where a time is told.
    pub(crate) stamp: Option<Instant>,
    /// Bytes of the packet that is told with it.
    pub(crate) packet_bytes: u32,
}

impl ExtendedError {
    /// The field of this name.
    pub(crate) fn field(&self, name: &str) -> Option<i64> {
        Some(match name {
            "ee_errno" => i64::from(self.errno),
            "ee_origin" => i64::from(self.origin),
            "ee_type" => i64::from(self.kind),
            "ee_code" => i64::from(self.code),
            "ee_info" => i64::from(self.info),
            "ee_data" => i64::from(self.data),
            _ => return None,
        })
    }
}

/// `SO_EE_ORIGIN_ZEROCOPY`
const ORIGIN_ZEROCOPY: u8 = 5;
/// `SO_EE_CODE_ZEROCOPY_COPIED`
const COPIED: u8 = 1;

/// What a socket has to tell besides bytes.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    queue: VecDeque<ExtendedError>,
    /// Sends without a copy: their number, and how many bytes are acknowledged when they are done.
    uncopied: VecDeque<(u32, u64)>,
    next: u32,
    reported: u64,
    pub(crate) stamps: Stamps,
}

impl Errors {
    /// Whether there is nothing to tell.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn peek(&self) -> Option<ExtendedError> {
        self.queue.front().copied()
    }

    pub(crate) fn take(&mut self) -> Option<ExtendedError> {
        self.queue.pop_front()
    }

    /// How often something was put into the queue.
    pub(crate) fn reported(&self) -> u64 {
        self.reported
    }

    /// What was written last is to be told of.
    pub(crate) fn note_uncopied(&mut self, connection: &Connection) {
        let end = connection.acknowledged_bytes() + connection.unacked_bytes();
        self.uncopied.push_back((self.next, end));
        self.next = self.next.wrapping_add(1);
    }

    /// What was written last is to be stamped.
    pub(crate) fn note_stamped(
        &mut self,
        stamping: Stamping,
        connection: &Connection,
        now: Instant,
    ) {
        let told = self.stamps.note_written(stamping, connection, now);
        self.report(told);
    }

    /// A segment is sent.
    pub(crate) fn notice_sent(&mut self, connection: &Connection, segment: &Segment, now: Instant) {
        let told = self.stamps.note_sent(connection, segment, now);
        self.report(told);
    }

    /// Tells when what is acknowledged was.
    pub(crate) fn notice_delivered(&mut self, connection: &Connection, now: Instant) {
        let told = self.stamps.note_acknowledged(connection, now);
        self.report(told);
    }

    fn report(&mut self, told: Vec<ExtendedError>) {
        self.reported += u64::try_from(told.len()).unwrap_or(0);
        self.queue.extend(told);
    }

    /// Tells of what is done with; what follows the last one that was told of is told of together
    /// with it (Linux `skb_zerocopy_notify_extend`).
    pub(crate) fn notice_acknowledged(&mut self, connection: &Connection) {
        let acknowledged = connection.acknowledged_bytes();
        while let Some(&(number, end)) = self.uncopied.front()
            && end <= acknowledged
        {
            self.uncopied.pop_front();
            self.reported += 1;
            match self.queue.back_mut() {
                Some(last)
                    if last.origin == ORIGIN_ZEROCOPY && last.data.wrapping_add(1) == number =>
                {
                    last.data = number;
                }
                _ => self.queue.push_back(ExtendedError {
                    origin: ORIGIN_ZEROCOPY,
                    code: COPIED,
                    info: number,
                    data: number,
                    ..ExtendedError::default()
                }),
            }
        }
    }
}
