//! The error queue of a socket: ICMP errors, zero-copy completions and timestamps.

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
    /// Timestamp, if there is one.
    pub(crate) stamp: Option<Instant>,
    /// Bytes of the packet that is returned with it.
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

/// Messages of a socket besides its bytes.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    queue: VecDeque<ExtendedError>,
    /// Sends without a copy: their number, and how many bytes are acknowledged when they are done.
    uncopied: VecDeque<(u32, u64)>,
    next: u32,
    reported: u64,
    pub(crate) stamps: TimestampQueue,
}

impl Errors {
    /// Whether the queue is empty.
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

    /// Requests a completion of the last write.
    pub(crate) fn note_uncopied(&mut self, connection: &Connection) {
        let end = connection.acknowledged_bytes() + connection.unacked_bytes();
        self.uncopied.push_back((self.next, end));
        self.next = self.next.wrapping_add(1);
    }

    /// What was written last is to be stamped.
    pub(crate) fn note_stamped(
        &mut self,
        stamping: TimestampingOptions,
        connection: &Connection,
        now: Instant,
    ) {
        let reports = self.stamps.note_written(stamping, connection, now);
        self.report(reports);
    }

    /// A segment is sent.
    pub(crate) fn notice_sent(&mut self, connection: &Connection, segment: &Segment, now: Instant) {
        let reports = self.stamps.note_sent(connection, segment, now);
        self.report(reports);
    }

    /// Tells when what is acknowledged was.
    pub(crate) fn notice_delivered(&mut self, connection: &Connection, now: Instant) {
        let reports = self.stamps.note_acknowledged(connection, now);
        self.report(reports);
    }

    fn report(&mut self, reports: Vec<ExtendedError>) {
        self.reported += u64::try_from(reports.len()).unwrap_or(0);
        self.queue.extend(reports);
    }

    /// Reports completed writes; those that follow the last report are reported together
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

/// `SOF_TIMESTAMPING_TX_SOFTWARE`: when the device takes the packet.
const AT_DEVICE: u32 = 1 << 1;
/// `SOF_TIMESTAMPING_RX_SOFTWARE`
const RECEIVED: u32 = 1 << 3;
/// `SOF_TIMESTAMPING_SOFTWARE`: software timestamps are reported.
const TOLD: u32 = 1 << 4;
/// `SOF_TIMESTAMPING_OPT_ID`: each timestamp carries the byte number.
const NUMBERED: u32 = 1 << 7;
/// `SOF_TIMESTAMPING_TX_SCHED`: when the packet waits for the device.
const AT_QUEUE: u32 = 1 << 8;
/// `SOF_TIMESTAMPING_TX_ACK`
const ACKNOWLEDGED: u32 = 1 << 9;
/// `SOF_TIMESTAMPING_OPT_TSONLY`: the packet is not returned with its timestamp.
const WITHOUT_PACKET: u32 = 1 << 11;
/// `SOF_TIMESTAMPING_OPT_ID_TCP`: bytes are numbered from the next one written.
const NUMBERED_FROM_NEXT: u32 = 1 << 16;
/// `SOF_TIMESTAMPING_TX_RECORD_MASK`, without what hardware does
const OF_SENDING: u32 = AT_DEVICE | AT_QUEUE | ACKNOWLEDGED;

/// `SCM_TSTAMP_SND`, `SCM_TSTAMP_SCHED`, `SCM_TSTAMP_ACK`
const KINDS: [(u32, u32); 3] = [(AT_QUEUE, 1), (AT_DEVICE, 0), (ACKNOWLEDGED, 2)];

/// `ENOMSG`
const NO_MESSAGE: u32 = 42;
/// `SO_EE_ORIGIN_TIMESTAMPING`
const ORIGIN_STAMPS: u8 = 4;
/// Bytes of the headers returned with a packet: those of IPv4 and TCP, and its timestamps.
const HEADER_BYTES: u32 = 40;

/// Timestamping options of a socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TimestampingOptions {
    /// `SOF_TIMESTAMPING_...`
    flags: u32,
    /// Every receipt is stamped in this form (`SO_TIMESTAMP`, `SO_TIMESTAMPNS`).
    pub(crate) receipt: Option<Form>,
    /// The number of the first byte, less one, so that it is one more than nothing.
    first: u32,
}

/// Form of a receive timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Microseconds,
    Nanoseconds,
}

impl TimestampingOptions {
    /// Other flags for a socket whose connection, if there is one, is in this state.
    pub(crate) fn set(&mut self, flags: u32, connection: Option<&Connection>) -> Result<(), ()> {
        let begins = flags & NUMBERED != 0 && self.flags & NUMBERED == 0;
        if flags & NUMBERED_FROM_NEXT != 0 && flags & NUMBERED == 0 {
            return Err(());
        }
        if begins {
            let connection = connection.ok_or(())?;
            let opening = connection.state() == fairwind_tcp::State::SynSent;
            let written =
                if flags & NUMBERED_FROM_NEXT != 0 { connection.unacked_bytes() } else { 0 };
            let first = low_bits(connection.acknowledged_bytes() + written);
            self.first = first.wrapping_sub(u32::from(opening));
        }
        self.flags = flags;
        Ok(())
    }

    /// Flags as they were set.
    pub(crate) fn flags(self) -> i64 {
        i64::from(self.flags)
    }

    /// The same for one call alone, which asks for these kinds of stamps of sending.
    pub(crate) fn for_call(self, flags: Option<u32>) -> Self {
        let kept = self.flags & !OF_SENDING;
        Self { flags: flags.map_or(self.flags, |flags| kept | flags & OF_SENDING), ..self }
    }

    /// Whether anything of what is written is stamped.
    pub(crate) fn stamps_sending(self) -> bool {
        self.flags & OF_SENDING != 0
    }

    /// Whether software timestamps are reported.
    pub(crate) fn is_reported(self) -> bool {
        self.flags & TOLD != 0
    }

    /// Whether receive timestamps are reported as `SCM_TIMESTAMPING`.
    pub(crate) fn reports_timestamps(self) -> bool {
        self.flags & (RECEIVED | TOLD) == RECEIVED | TOLD
    }
}

/// A stamped byte on its way.
#[derive(Debug, Clone, Copy)]
struct TimestampedRange {
    /// How many bytes there are up to it, with it.
    end: u64,
    stamping: TimestampingOptions,
    is_sent: bool,
    payload_bytes: u32,
}

impl TimestampedRange {
    fn report(self, kind: u32, at: Instant) -> ExtendedError {
        let numbered = self.stamping.flags & NUMBERED != 0;
        let data = low_bits(self.end.wrapping_sub(1)).wrapping_sub(self.stamping.first);
        let header = if kind == 2 { 0 } else { HEADER_BYTES };
        let packet =
            if self.stamping.flags & WITHOUT_PACKET != 0 { 0 } else { self.payload_bytes + header };
        ExtendedError {
            errno: NO_MESSAGE,
            origin: ORIGIN_STAMPS,
            info: kind,
            data: if numbered { data } else { 0 },
            stamp: Some(at),
            packet_bytes: packet,
            ..ExtendedError::default()
        }
    }
}

/// Byte ranges with requested timestamps.
#[derive(Debug, Default)]
pub(crate) struct TimestampQueue {
    /// Whether times of arrival are asked for.
    pub(crate) of_receipts: bool,
    stamped: VecDeque<TimestampedRange>,
    /// When bytes arrived: how many there were, and when.
    arrivals: VecDeque<(u64, Instant)>,
}

impl TimestampQueue {
    /// What was written last ends with a timestamped byte; returns the transmissions within the call.
    pub(crate) fn note_written(
        &mut self,
        stamping: TimestampingOptions,
        connection: &Connection,
        now: Instant,
    ) -> Vec<ExtendedError> {
        let end = connection.acknowledged_bytes() + connection.unacked_bytes();
        let buffered = end - u64::from(connection.last_buffer_bytes());
        while self.stamped.back().is_some_and(|last| !last.is_sent && last.end > buffered) {
            self.stamped.pop_back();
        }
        let is_sent = connection.unsent_bytes() == 0;
        let payload_bytes = connection.segment_bytes();
        let stamped = TimestampedRange { end, stamping, is_sent, payload_bytes };
        self.stamped.push_back(stamped);
        if is_sent { sending(stamped, now) } else { Vec::new() }
    }

    /// A segment is sent.
    pub(crate) fn note_sent(
        &mut self,
        connection: &Connection,
        segment: &Segment,
        now: Instant,
    ) -> Vec<ExtendedError> {
        if self.stamped.is_empty() || segment.payload_bytes == 0 {
            return Vec::new();
        }
        let begin = connection.stream_offset(segment.sequence);
        let end = begin + u64::from(segment.payload_bytes);
        let mut reports = Vec::new();
        for stamped in &mut self.stamped {
            if stamped.end > begin && stamped.end <= end {
                stamped.is_sent = true;
                stamped.payload_bytes = segment.payload_bytes;
                reports.extend(sending(*stamped, now));
            }
        }
        reports
    }

    /// Bytes are acknowledged.
    pub(crate) fn note_acknowledged(
        &mut self,
        connection: &Connection,
        now: Instant,
    ) -> Vec<ExtendedError> {
        let mut reports = Vec::new();
        while let Some(stamped) = self.stamped.front().copied()
            && stamped.end <= connection.acknowledged_bytes()
        {
            self.stamped.pop_front();
            if stamped.stamping.flags & ACKNOWLEDGED != 0 {
                reports.push(stamped.report(2, now));
            }
        }
        reports
    }

    /// There are so many bytes received by now.
    pub(crate) fn note_received(&mut self, bytes: u64, now: Instant) {
        self.arrivals.push_back((bytes, now));
    }

    /// When the last of so many bytes arrived; what was read before is forgotten.
    pub(crate) fn arrival(&mut self, read: u64) -> Option<Instant> {
        while self.arrivals.len() > 1 && self.arrivals[0].0 < read {
            self.arrivals.pop_front();
        }
        self.arrivals.front().map(|(_, at)| *at)
    }
}

/// The stamps of a byte that is sent.
fn sending(stamped: TimestampedRange, now: Instant) -> Vec<ExtendedError> {
    let wanted = KINDS.iter().filter(|(flag, _)| *flag != ACKNOWLEDGED);
    let wanted = wanted.filter(|(flag, _)| stamped.stamping.flags & flag != 0);
    wanted.map(|(_, kind)| stamped.report(*kind, now)).collect()
}

/// Numbers of bytes turn over at 2³².
fn low_bits(count: u64) -> u32 {
    u32::try_from(count & u64::from(u32::MAX)).unwrap_or(0)
}
