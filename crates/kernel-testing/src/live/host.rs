//! Host with connections of our endpoint: packets in and out, and the bytes of streams by their offsets.

use super::LiveError;
use fairwind_tcp::{Config, Connection, Event, Ports, State};
use fairwind_units::Instant;
use fairwind_wire::bytes::{Addresses, Checksum, IpHeader, Parsed, Payload, emit, parse};
use fairwind_wire::{Flags, Segment, SequenceNumber};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Which connection: they are numbered in the order in which they begin.
pub type ConnectionId = usize;

/// A connection with the bytes of its two streams.
#[derive(Debug)]
pub struct Stream {
    connection: Connection,
    sent: SentBytes,
    received: ReceivedBytes,
    /// The peer's initial sequence number, once its SYN has come.
    peer_initial: Option<SequenceNumber>,
    ports: Ports,
    established: bool,
    peer_finished: bool,
    ended: Option<Event>,
}

impl Stream {
    fn new(connection: Connection, ports: Ports) -> Self {
        Self {
            connection,
            sent: SentBytes::default(),
            received: ReceivedBytes::default(),
            peer_initial: None,
            ports,
            established: false,
            peer_finished: false,
            ended: None,
        }
    }

    /// Writes as many of the bytes as there is room for, and returns how many.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let room = usize::try_from(self.connection.send_room()).unwrap_or(usize::MAX);
        let offered = &bytes[..bytes.len().min(room)];
        let taken = self.connection.write(u64::try_from(offered.len()).unwrap_or(u64::MAX));
        let taken = usize::try_from(taken).unwrap_or(0);
        self.sent.push(&offered[..taken]);
        taken
    }

    /// Reads what has come in order, at most `limit` bytes.
    pub fn read(&mut self, now: Instant, limit: u32) -> Vec<u8> {
        let bytes = self.connection.read(now, limit);
        self.received.take(bytes)
    }

    /// Closes the sending direction.
    pub fn close(&mut self) {
        self.connection.close();
    }

    /// Whether the handshake is complete.
    pub fn is_established(&self) -> bool {
        self.established
    }

    /// Whether the peer has said all, and all of it was read.
    pub fn is_at_end(&self) -> bool {
        self.peer_finished && self.connection.readable_bytes() == 0
    }

    /// Whether everything written has arrived, the end included where closed.
    pub fn is_drained(&self) -> bool {
        self.connection.is_drained()
    }

    /// How it ended other than by both sides' closing, if it did.
    pub fn broken(&self) -> Option<Event> {
        self.ended.filter(|event| *event != Event::Closed)
    }

    /// The endpoint.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    fn on_packet(&mut self, now: Instant, segment: &Segment, payload: &[u8]) {
        if segment.flags.contains(Flags::SYN) {
            self.peer_initial.get_or_insert(segment.sequence);
        }
        if let (Some(offset), false) = (self.receive_offset(segment), payload.is_empty()) {
            self.received.put(offset, payload);
        }
        self.connection.on_segment(now, segment);
        self.sent.release(self.connection.acknowledged_bytes());
        self.take_events();
    }

    /// Where the payload of a segment stands in the peer's stream; `None` before its beginning.
    fn receive_offset(&self, segment: &Segment) -> Option<u64> {
        let first = self.peer_initial? + 1;
        let received = self.connection.received_bytes();
        let next = first + u32::try_from(received & u64::from(u32::MAX)).unwrap_or(0);
        let begin = if segment.flags.contains(Flags::SYN) { first } else { segment.sequence };
        if begin.is_before(next) {
            received.checked_sub(u64::from(next.distance_from(begin)))
        } else {
            Some(received + u64::from(begin.distance_from(next)))
        }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Established => self.established = true,
                Event::PeerFinished => self.peer_finished = true,
                Event::Closed | Event::Reset | Event::TimedOut => self.ended = Some(event),
                _ => {}
            }
        }
    }

    /// The next segment to send, with its payload.
    fn poll(&mut self, now: Instant) -> Option<(Segment, Vec<u8>)> {
        let segment = self.connection.poll_segment(now)?;
        let payload = if segment.payload_bytes == 0 {
            Vec::new()
        } else {
            let first = u32::from(segment.flags.contains(Flags::SYN));
            let offset = self.connection.stream_offset(segment.sequence + first);
            self.sent.get(offset, segment.payload_bytes)
        };
        Some((segment, payload))
    }
}

/// What runs on the host.
pub trait Application {
    /// A chance to listen and to open connections, at the beginning and at least every 10 ms.
    fn tend(&mut self, now: Instant, host: &mut LiveHost);

    /// Something may have happened with a connection.
    fn serve(&mut self, now: Instant, id: ConnectionId, stream: &mut Stream);

    /// Whether the application has done all that it wants to.
    fn is_done(&self) -> bool;
}

/// The host.
#[derive(Debug)]
pub struct LiveHost {
    config: Arc<Config>,
    /// Of a packet that leaves.
    outward: Addresses,
    /// Ports on which connections are answered.
    listening: Vec<u16>,
    streams: Vec<Stream>,
    by_ports: BTreeMap<(u16, u16), ConnectionId>,
    /// Connections that may have packets to send or events to report.
    touched: Vec<ConnectionId>,
    /// Packets for the peer that belong to no connection.
    strays: VecDeque<Vec<u8>>,
    next_port: u16,
    identification: u16,
}

/// The first port of connections that the host opens.
const FIRST_PORT: u16 = 49_152;

impl LiveHost {
    pub(super) fn new(config: Config, outward: Addresses) -> Self {
        Self {
            config: Arc::new(config),
            outward,
            listening: Vec::new(),
            streams: Vec::new(),
            by_ports: BTreeMap::new(),
            touched: Vec::new(),
            strays: VecDeque::new(),
            next_port: FIRST_PORT,
            identification: 1,
        }
    }

    /// Answers connections to this port.
    pub fn listen(&mut self, port: u16) {
        if !self.listening.contains(&port) {
            self.listening.push(port);
        }
    }

    /// Opens a connection to a port of the kernel.
    pub fn connect(&mut self, now: Instant, port: u16) -> ConnectionId {
        let ports = Ports { local: self.next_port, remote: port };
        self.next_port = self.next_port.wrapping_add(1).max(FIRST_PORT);
        let connection = Connection::connect(self.config.clone(), ports, initial(now, ports));
        self.add(connection, ports)
    }

    fn add(&mut self, connection: Connection, ports: Ports) -> ConnectionId {
        let id = self.streams.len();
        self.streams.push(Stream::new(connection, ports));
        self.by_ports.insert((ports.local, ports.remote), id);
        self.touched.push(id);
        id
    }

    /// A connection of this host.
    pub fn stream(&self, id: ConnectionId) -> &Stream {
        &self.streams[id]
    }

    /// A packet has come; one with a wrong checksum counts as lost.
    pub(super) fn on_packet(&mut self, now: Instant, bytes: &[u8]) {
        let Ok(parsed) = parse(bytes) else { return };
        if parsed.ip.addresses != self.outward.reversed() {
            return;
        }
        if parsed.tcp_checksum() != Checksum::Correct || parsed.ip_checksum() == Checksum::Wrong {
            return;
        }
        let ports =
            Ports { local: parsed.segment.destination_port, remote: parsed.segment.source_port };
        match self.connection_for(now, ports, &parsed.segment) {
            Some(id) => {
                self.streams[id].on_packet(now, &parsed.segment, parsed.payload);
                self.touched.push(id);
            }
            None => self.refuse(&parsed),
        }
    }

    fn connection_for(
        &mut self,
        now: Instant,
        ports: Ports,
        segment: &Segment,
    ) -> Option<ConnectionId> {
        let known = self.by_ports.get(&(ports.local, ports.remote)).copied();
        let live = known.filter(|id| self.streams[*id].connection.state() != State::Closed);
        if live.is_some() {
            return live;
        }
        let opens = segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK);
        (opens && self.listening.contains(&ports.local)).then(|| {
            let connection = Connection::listen(self.config.clone(), ports, initial(now, ports));
            self.add(connection, ports)
        })
    }

    /// A segment for no connection is answered by a reset (RFC 9293 §3.10.7.1).
    fn refuse(&mut self, parsed: &Parsed<'_>) {
        let segment = &parsed.segment;
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let acknowledges = segment.flags.contains(Flags::ACK);
        let reset = Segment {
            source_port: segment.destination_port,
            destination_port: segment.source_port,
            sequence: if acknowledges { segment.acknowledgment } else { SequenceNumber::default() },
            acknowledgment: if acknowledges { SequenceNumber::default() } else { segment.end() },
            flags: if acknowledges { Flags::RST } else { Flags::RST | Flags::ACK },
            ..Segment::default()
        };
        if let Ok(bytes) = self.packet_of(&reset, &[]) {
            self.strays.push_back(bytes);
        }
    }

    fn packet_of(&mut self, segment: &Segment, payload: &[u8]) -> Result<Vec<u8>, LiveError> {
        self.identification = self.identification.wrapping_add(1);
        let identification = self.identification;
        let ip = IpHeader { identification, ..IpHeader::new(self.outward) };
        let mut bytes = Vec::new();
        emit(&ip, segment, Payload::Bytes(payload), &mut bytes).map_err(|error| {
            LiveError::Segment { segment: format!("{segment:?}"), reason: error.to_string() }
        })?;
        Ok(bytes)
    }

    /// When a connection wants to be called next.
    pub(super) fn next_deadline(&self) -> Instant {
        let deadlines = self.streams.iter().map(|stream| stream.connection.next_deadline());
        deadlines.min().unwrap_or(Instant::MAX)
    }

    /// Calls the connections with an expired deadline.
    pub(super) fn on_deadline(&mut self, now: Instant) {
        for (id, stream) in self.streams.iter_mut().enumerate() {
            if stream.connection.next_deadline() <= now {
                stream.connection.on_deadline(now);
                stream.take_events();
                self.touched.push(id);
            }
        }
    }

    /// Runs the application on new events, and returns the resulting packets.
    pub(super) fn work(
        &mut self,
        now: Instant,
        application: &mut dyn Application,
    ) -> Result<Vec<Vec<u8>>, LiveError> {
        let mut packets: Vec<Vec<u8>> = self.strays.drain(..).collect();
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        for id in touched {
            application.serve(now, id, &mut self.streams[id]);
            while let Some((segment, payload)) = self.streams[id].poll(now) {
                packets.push(self.packet_of(&segment, &payload)?);
            }
            self.streams[id].take_events();
            if self.streams[id].connection.state() == State::Closed {
                let ports = self.streams[id].ports;
                self.by_ports.remove(&(ports.local, ports.remote));
            }
        }
        Ok(packets)
    }
}

/// An initial sequence number as RFC 9293 §3.4.1 wants it: a clock of 4 us and a number of the
/// connection's own. Nobody attacks here, so the latter is no secret.
fn initial(now: Instant, ports: Ports) -> SequenceNumber {
    let clock = now.as_nanos() / 4000 % (1 << 32);
    let own = (u32::from(ports.local) << 16 | u32::from(ports.remote)).wrapping_mul(0x9e37_79b9);
    SequenceNumber::new(own) + u32::try_from(clock).unwrap_or(0)
}

/// Bytes that were written, until the peer has acknowledged them.
#[derive(Debug, Default)]
pub(super) struct SentBytes {
    /// Offset of the first byte that is kept.
    base: u64,
    kept: VecDeque<u8>,
}

impl SentBytes {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.kept.extend(bytes);
    }

    /// Forgets what lies before `offset`.
    pub(super) fn release(&mut self, offset: u64) {
        let count = offset.saturating_sub(self.base).min(length(self.kept.len()));
        self.kept.drain(..index(count));
        self.base += count;
    }

    /// The `bytes` bytes from `offset` on.
    ///
    /// # Panics
    /// Where they were never written, or are released: the endpoint sends nothing of the kind.
    pub(super) fn get(&self, offset: u64, bytes: u32) -> Vec<u8> {
        let begin = offset.checked_sub(self.base).expect("acknowledged bytes are not sent again");
        let begin = index(begin);
        let end = begin + index(u64::from(bytes));
        self.kept.range(begin..end).copied().collect()
    }
}

/// Bytes that have come, until they are read. Which of them are there is what the endpoint knows.
#[derive(Debug, Default)]
pub(super) struct ReceivedBytes {
    /// Offset of the first byte that was not read.
    base: u64,
    kept: VecDeque<u8>,
}

/// Further ahead than any window reaches nothing is kept.
const FURTHEST: u64 = 1 << 30;

impl ReceivedBytes {
    /// Keeps bytes that stand at `offset`; those that were read already are left out.
    pub(super) fn put(&mut self, offset: u64, bytes: &[u8]) {
        let known = index(self.base.saturating_sub(offset)).min(bytes.len());
        let (offset, bytes) = (offset.max(self.base), &bytes[known..]);
        if bytes.is_empty() || offset - self.base > FURTHEST {
            return;
        }
        let begin = index(offset - self.base);
        if begin + bytes.len() > self.kept.len() {
            self.kept.resize(begin + bytes.len(), 0);
        }
        for (place, byte) in self.kept.range_mut(begin..begin + bytes.len()).zip(bytes) {
            *place = *byte;
        }
    }

    /// Takes the first `bytes` bytes.
    pub(super) fn take(&mut self, bytes: u32) -> Vec<u8> {
        let count = index(u64::from(bytes)).min(self.kept.len());
        self.base += u64::from(bytes);
        self.kept.drain(..count).collect()
    }
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{ReceivedBytes, SentBytes};

    #[test]
    fn sent_bytes_are_kept_until_released() {
        let mut sent = SentBytes::default();
        sent.push(b"hello ");
        sent.push(b"world");
        assert_eq!(sent.get(4, 4), b"o wo");
        sent.release(6);
        sent.release(2);
        assert_eq!(sent.get(6, 5), b"world");
    }

    #[test]
    fn received_bytes_are_reassembled() {
        let mut received = ReceivedBytes::default();
        received.put(6, b"world");
        received.put(0, b"hel");
        received.put(2, b"llo ");
        assert_eq!(received.take(6), b"hello ");
        received.put(3, b"lo wo");
        assert_eq!(received.take(5), b"world");
    }
}
