//! The error queue of a socket: ICMP errors, zero-copy completions and timestamps.

use crate::script::constants::{
    ENOMSG, SCM_TSTAMP_ACK, SCM_TSTAMP_SCHED, SCM_TSTAMP_SND, SO_EE_CODE_ZEROCOPY_COPIED,
    SO_EE_ORIGIN_TIMESTAMPING, SO_EE_ORIGIN_ZEROCOPY, SOF_TIMESTAMPING_OPT_ID,
    SOF_TIMESTAMPING_OPT_ID_TCP, SOF_TIMESTAMPING_OPT_TSONLY, SOF_TIMESTAMPING_RX_SOFTWARE,
    SOF_TIMESTAMPING_SOFTWARE, SOF_TIMESTAMPING_TX_ACK, SOF_TIMESTAMPING_TX_SCHED,
    SOF_TIMESTAMPING_TX_SOFTWARE,
};
use fairwind_tcp::Connection;
use fairwind_units::Instant;
use fairwind_wire::Segment;
use std::collections::VecDeque;

/// `struct sock_extended_err`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ExtendedError {
    errno: i64,
    origin: i64,
    kind: i64,
    code: i64,
    info: i64,
    data: i64,
    pub(crate) stamp: Option<Instant>,
    /// Bytes of the packet that is returned with it.
    pub(crate) packet_bytes: u32,
}

impl ExtendedError {
    pub(crate) fn field(&self, name: &str) -> Option<i64> {
        Some(match name {
            "ee_errno" => self.errno,
            "ee_origin" => self.origin,
            "ee_type" => self.kind,
            "ee_code" => self.code,
            "ee_info" => self.info,
            "ee_data" => self.data,
            _ => return None,
        })
    }
}

/// `SOF_TIMESTAMPING_TX_RECORD_MASK`, without hardware timestamps.
const TX_FLAGS: i64 =
    SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_TX_ACK;

/// Pending messages of a socket's error queue, and the byte ranges that trigger them.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    queue: VecDeque<ExtendedError>,
    /// Zero-copy sends: their number, and the acknowledged bytes that complete them.
    zero_copy_sends: VecDeque<(u32, u64)>,
    next: u32,
    reported: u64,
    pub(crate) timestamps_receive: bool,
    stamped: VecDeque<TimestampedRange>,
    /// Bytes received so far, and the time of their arrival.
    arrivals: VecDeque<(u64, Instant)>,
}

impl Errors {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn peek(&self) -> Option<ExtendedError> {
        self.queue.front().copied()
    }

    pub(crate) fn take(&mut self) -> Option<ExtendedError> {
        self.queue.pop_front()
    }

    /// Number of messages put into the queue.
    pub(crate) fn reported(&self) -> u64 {
        self.reported
    }

    /// Requests a completion of the last write.
    pub(crate) fn note_zero_copy(&mut self, connection: &Connection) {
        let end = connection.acknowledged_bytes() + connection.unacked_bytes();
        self.zero_copy_sends.push_back((self.next, end));
        self.next = self.next.wrapping_add(1);
    }

    /// Requests a timestamp for the last byte of the last write; reports transmissions within the
    /// call.
    pub(crate) fn note_timestamped(
        &mut self,
        stamping: TimestampingOptions,
        connection: &Connection,
        now: Instant,
    ) {
        let end = connection.acknowledged_bytes() + connection.unacked_bytes();
        let buffered = end - u64::from(connection.last_buffer_bytes());
        while self.stamped.back().is_some_and(|last| !last.is_sent && last.end > buffered) {
            self.stamped.pop_back();
        }
        let is_sent = connection.unsent_bytes() == 0;
        let payload_bytes = connection.segment_bytes();
        let stamped = TimestampedRange { end, stamping, is_sent, payload_bytes };
        self.stamped.push_back(stamped);
        if is_sent {
            self.report(stamped.transmissions(now));
        }
    }

    pub(crate) fn notice_sent(&mut self, connection: &Connection, segment: &Segment, now: Instant) {
        if self.stamped.is_empty() || segment.payload_bytes == 0 {
            return;
        }
        let begin = connection.stream_offset(segment.sequence);
        let end = begin + u64::from(segment.payload_bytes);
        let mut reports = Vec::new();
        for stamped in &mut self.stamped {
            if stamped.end > begin && stamped.end <= end {
                stamped.is_sent = true;
                stamped.payload_bytes = segment.payload_bytes;
                reports.extend(stamped.transmissions(now));
            }
        }
        self.report(reports);
    }

    /// Reports the timestamps of acknowledged bytes.
    pub(crate) fn notice_delivered(&mut self, connection: &Connection, now: Instant) {
        while let Some(stamped) = self.stamped.front().copied()
            && stamped.end <= connection.acknowledged_bytes()
        {
            self.stamped.pop_front();
            if stamped.stamping.flags & SOF_TIMESTAMPING_TX_ACK != 0 {
                self.report(vec![stamped.report(SCM_TSTAMP_ACK, now)]);
            }
        }
    }

    fn report(&mut self, reports: Vec<ExtendedError>) {
        self.reported += u64::try_from(reports.len()).unwrap_or(0);
        self.queue.extend(reports);
    }

    /// Records that `bytes` bytes have been received.
    pub(crate) fn on_received(&mut self, bytes: u64, now: Instant) {
        self.arrivals.push_back((bytes, now));
    }

    /// Time of arrival of byte `read`; forgets earlier ones.
    pub(crate) fn arrival(&mut self, read: u64) -> Option<Instant> {
        while self.arrivals.len() > 1 && self.arrivals[0].0 < read {
            self.arrivals.pop_front();
        }
        self.arrivals.front().map(|(_, at)| *at)
    }

    /// Reports completed writes; consecutive ones are merged into the last report (Linux
    /// `skb_zerocopy_notify_extend`).
    pub(crate) fn on_acknowledged(&mut self, connection: &Connection) {
        let acknowledged = connection.acknowledged_bytes();
        while let Some(&(number, end)) = self.zero_copy_sends.front()
            && end <= acknowledged
        {
            self.zero_copy_sends.pop_front();
            self.reported += 1;
            let number = i64::from(number);
            match self.queue.back_mut() {
                Some(last) if last.origin == SO_EE_ORIGIN_ZEROCOPY && last.data + 1 == number => {
                    last.data = number;
                }
                _ => self.queue.push_back(ExtendedError {
                    origin: SO_EE_ORIGIN_ZEROCOPY,
                    code: SO_EE_CODE_ZEROCOPY_COPIED,
                    info: number,
                    data: number,
                    ..ExtendedError::default()
                }),
            }
        }
    }
}

/// Header bytes of a returned packet: IPv4, TCP and timestamps.
const HEADER_BYTES: u32 = 40;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TimestampingOptions {
    /// `SOF_TIMESTAMPING_...`
    flags: i64,
    /// Every receipt is stamped in this form (`SO_TIMESTAMP`, `SO_TIMESTAMPNS`).
    pub(crate) receipt: Option<Form>,
    /// Number of the first byte, less one.
    first: u32,
}

/// Form of a receive timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Microseconds,
    Nanoseconds,
}

impl TimestampingOptions {
    /// Sets other flags for a socket whose connection, if any, is in this state.
    pub(crate) fn set(&mut self, flags: i64, connection: Option<&Connection>) -> Result<(), ()> {
        let begins =
            flags & SOF_TIMESTAMPING_OPT_ID != 0 && self.flags & SOF_TIMESTAMPING_OPT_ID == 0;
        if flags & SOF_TIMESTAMPING_OPT_ID_TCP != 0 && flags & SOF_TIMESTAMPING_OPT_ID == 0 {
            return Err(());
        }
        if begins {
            let connection = connection.ok_or(())?;
            let opening = connection.state() == fairwind_tcp::State::SynSent;
            let written = if flags & SOF_TIMESTAMPING_OPT_ID_TCP != 0 {
                connection.unacked_bytes()
            } else {
                0
            };
            let first = low_bits(connection.acknowledged_bytes() + written);
            self.first = first.wrapping_sub(u32::from(opening));
        }
        self.flags = flags;
        Ok(())
    }

    /// Flags as they were set.
    pub(crate) fn flags(self) -> i64 {
        self.flags
    }

    /// Adds the transmit timestamps that one call requests.
    pub(crate) fn for_call(self, flags: Option<i64>) -> Self {
        let kept = self.flags & !TX_FLAGS;
        Self { flags: flags.map_or(self.flags, |flags| kept | flags & TX_FLAGS), ..self }
    }

    /// Whether any byte of a write is timestamped.
    pub(crate) fn timestamps_sending(self) -> bool {
        self.flags & TX_FLAGS != 0
    }

    /// Whether software timestamps are reported.
    pub(crate) fn is_reported(self) -> bool {
        self.flags & SOF_TIMESTAMPING_SOFTWARE != 0
    }

    /// Whether receive timestamps are reported as `SCM_TIMESTAMPING`.
    pub(crate) fn reports_timestamps(self) -> bool {
        self.is_reported() && self.flags & SOF_TIMESTAMPING_RX_SOFTWARE != 0
    }
}

/// A timestamped byte in transit.
#[derive(Debug, Clone, Copy)]
struct TimestampedRange {
    /// Number of bytes up to and including it.
    end: u64,
    stamping: TimestampingOptions,
    is_sent: bool,
    payload_bytes: u32,
}

impl TimestampedRange {
    fn report(self, kind: i64, at: Instant) -> ExtendedError {
        let flags = self.stamping.flags;
        let number = low_bits(self.end.wrapping_sub(1)).wrapping_sub(self.stamping.first);
        let header = if kind == SCM_TSTAMP_ACK { 0 } else { HEADER_BYTES };
        let without_packet = flags & SOF_TIMESTAMPING_OPT_TSONLY != 0;
        ExtendedError {
            errno: ENOMSG,
            origin: SO_EE_ORIGIN_TIMESTAMPING,
            info: kind,
            data: if flags & SOF_TIMESTAMPING_OPT_ID != 0 { number.into() } else { 0 },
            stamp: Some(at),
            packet_bytes: if without_packet { 0 } else { self.payload_bytes + header },
            ..ExtendedError::default()
        }
    }

    fn transmissions(self, now: Instant) -> Vec<ExtendedError> {
        [
            (SOF_TIMESTAMPING_TX_SCHED, SCM_TSTAMP_SCHED),
            (SOF_TIMESTAMPING_TX_SOFTWARE, SCM_TSTAMP_SND),
        ]
        .into_iter()
        .filter(|(flag, _)| self.stamping.flags & flag != 0)
        .map(|(_, kind)| self.report(kind, now))
        .collect()
    }
}

/// Numbers of bytes turn over at 2³².
fn low_bits(count: u64) -> u32 {
    u32::try_from(count & u64::from(u32::MAX)).unwrap_or(0)
}
