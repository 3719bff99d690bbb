//! The simulated host: its connections, the packets that they sent, and ICMP errors.

use super::error_queue::Errors;
use crate::outcome::{Step, Stop};
use crate::script::Icmp;
use fairwind_tcp::{
    Config, Connection, Event, FastOpenConfig, FastOpenSyn, FastOpenUpdate, IcmpError, Ports,
    State, Unreachable,
};
use fairwind_units::{Instant, Span};
use fairwind_wire::{FastOpen, FastOpenKind, Flags, Segment, SequenceNumber};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

/// The ports of every connection: scripts do not write any.
pub(super) const PORTS: Ports = Ports { local: 8080, remote: 40_000 };

/// A connection and its pending notifications to the application.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) connection: Connection,
    /// The descriptor of the listening socket, until the connection is accepted.
    pub(crate) awaits_acceptance_of: Option<i64>,
    pub(crate) established: bool,
    pub(crate) peer_finished: bool,
    /// An error that the next call reports (`SO_ERROR`).
    pub(crate) error: Option<&'static str>,
    pub(crate) errors: Errors,
    /// Number of events that wake waiting calls.
    pub(crate) wakeups: u64,
    /// Bytes received, and whether more can be written, as of then.
    noticed: (u64, bool),
    /// The connection was never accepted, and its listening socket is closed.
    is_dropped: bool,
    /// The peer reset the connection before its handshake was over.
    early_reset_at: Option<Instant>,
}

/// How long a reset Fast Open connection counts as pending (Linux `reqsk_fastopen_remove`).
const RESET_COUNTS: Span = Span::from_secs(60);

impl Endpoint {
    fn take_events(&mut self, now: Instant) {
        let noticed = (self.connection.received_bytes(), self.is_writable());
        let is_news = noticed.0 > self.noticed.0 || noticed.1 && !self.noticed.1;
        self.wakeups += u64::from(is_news);
        if noticed.0 > self.noticed.0 && self.errors.timestamps_receive {
            self.errors.on_received(noticed.0, now);
        }
        self.noticed = noticed;
        self.errors.on_acknowledged(&self.connection);
        while let Some(event) = self.connection.poll_event() {
            self.wakeups += 1;
            match event {
                Event::Established | Event::OpenedEarly => self.established = true,
                Event::PeerFinished => self.peer_finished = true,
                Event::TimedOut => self.error = Some("ETIMEDOUT"),
                Event::Unreachable(reason) => self.error = Some(errno_of(reason)),
                Event::Reset => {
                    self.error = Some(self.errno_of_reset());
                    self.early_reset_at = self.connection.was_early().then_some(now);
                }
                _ => {}
            }
        }
    }

    /// Takes the pending error, even one that does not end the connection (`sock_getsockopt`).
    pub(crate) fn take_error(&mut self) -> Option<&'static str> {
        let error = self.error.take();
        error.or_else(|| self.connection.take_soft_error().map(errno_of))
    }

    /// The error of a reset depends on the state of the connection (Linux `tcp_reset`).
    fn errno_of_reset(&self) -> &'static str {
        match (self.established, self.peer_finished) {
            (false, _) => "ECONNREFUSED",
            (true, true) => "EPIPE",
            (true, false) => "ECONNRESET",
        }
    }

    /// Whether the application may write more: while a third of the send buffer is free (Linux
    /// `__sk_stream_is_writeable`).
    pub(crate) fn is_writable(&self) -> bool {
        self.established && self.connection.is_writable()
    }

    /// Bytes that can be read, the end as one of them (Linux `tcp_inq_hint`).
    pub(crate) fn inquired(&self) -> u32 {
        self.connection.readable_bytes() + u32::from(self.peer_finished)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.connection.state() == State::Closed
    }

    /// Whether the socket is closed: it has parted from a connection that only waits (Linux
    /// `tcp_time_wait`).
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.connection.state(), State::Closed | State::TimeWait)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    /// Index of the connection.
    pub(crate) endpoint: usize,
    pub(crate) at: Instant,
    pub(crate) segment: Segment,
}

/// Settings of a listening socket for its connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listener<'a> {
    pub(crate) descriptor: i64,
    pub(crate) config: &'a Config,
    pub(crate) fast_open: FastOpenConfig,
    /// Maximum number of Fast Open connections with a pending handshake.
    pub(crate) max_early: usize,
}

/// All connections of a script, the clock, and sent packets that are not yet verified.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) now: Instant,
    pub(crate) endpoints: Vec<Endpoint>,
    /// In the order of sending.
    pub(crate) sent: VecDeque<Sent>,
    /// The connection opened last, which receives injected packets.
    pub(crate) current: Option<usize>,
    initial: SequenceNumber,
    /// The peer's address, and this host's.
    addresses: (IpAddr, IpAddr),
    pub(crate) remembered: FastOpenCache,
    /// Path MTU, once the path has reported one.
    path_mtu: Option<u32>,
}

impl Host {
    /// A host without connections; `addresses` are the peer's and its own.
    pub(crate) fn new(now: Instant, initial: SequenceNumber, addresses: (IpAddr, IpAddr)) -> Self {
        Self {
            now,
            endpoints: Vec::new(),
            sent: VecDeque::new(),
            current: None,
            initial,
            addresses,
            remembered: FastOpenCache::default(),
            path_mtu: None,
        }
    }

    /// Settings of a new connection, with the known path MTU.
    fn with_known_path(&self, config: &Config) -> Arc<Config> {
        let mut config = config.clone();
        if let Some(known) = self.path_mtu {
            config.path.mtu = Some(config.path.mtu.map_or(known, |mtu| mtu.min(known)));
        }
        Arc::new(config)
    }

    /// Begins a connection actively and returns its index.
    pub(crate) fn connect(&mut self, config: &Config) -> usize {
        let connection = Connection::connect(self.with_known_path(config), PORTS, self.initial);
        self.begin(connection, None)
    }

    /// Begins a connection actively with Fast Open and returns its index.
    pub(crate) fn connect_fast(&mut self, config: &Config, syn: FastOpenSyn) -> usize {
        let config = self.with_known_path(config);
        let connection = Connection::connect_with_fast_open(config, PORTS, self.initial, syn);
        self.begin(connection, None)
    }

    /// Begins a connection for a SYN that a listening socket gets, and returns its index.
    pub(crate) fn answer(&mut self, listener: &Listener<'_>) -> usize {
        let config = self.with_known_path(listener.config);
        let mut connection = Connection::listen(config, PORTS, self.initial);
        connection.await_acceptance();
        let (peer, own) = self.addresses;
        if let Some(permit) = listener.fast_open.permit(peer, own)
            && self.early_connections() < listener.max_early
        {
            connection.permit_fast_open(permit);
        }
        self.begin(connection, Some(listener.descriptor))
    }

    /// Fast Open connections with a pending handshake, plus recently reset ones.
    fn early_connections(&self) -> usize {
        let counts = |endpoint: &&Endpoint| {
            let reset = endpoint.early_reset_at;
            endpoint.connection.is_early()
                || reset.is_some_and(|at| self.now.saturating_since(at) < RESET_COUNTS)
        };
        self.endpoints.iter().filter(counts).count()
    }

    fn begin(&mut self, connection: Connection, listener: Option<i64>) -> usize {
        let index = self.endpoints.len();
        self.endpoints.push(Endpoint {
            connection,
            awaits_acceptance_of: listener,
            established: false,
            peer_finished: false,
            error: None,
            errors: Errors::default(),
            wakeups: 0,
            noticed: (0, false),
            is_dropped: false,
            early_reset_at: None,
        });
        self.current = Some(index);
        self.drain(index);
        index
    }

    pub(crate) fn inject(&mut self, index: usize, segment: &Segment) {
        if self.endpoints[index].is_dropped {
            self.refuse(index, segment);
            return;
        }
        self.endpoints[index].connection.on_segment(self.now, segment);
        self.drain(index);
    }

    /// Answers a segment without a connection or listening socket (RFC 9293 §3.10.7.1); `index` is
    /// its number for the script.
    pub(crate) fn refuse(&mut self, index: usize, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let mut reset = Segment {
            source_port: segment.destination_port,
            destination_port: segment.source_port,
            flags: Flags::RST,
            ..Segment::default()
        };
        if segment.flags.contains(Flags::ACK) {
            reset.sequence = segment.acknowledgment;
        } else {
            reset.flags |= Flags::ACK;
            reset.acknowledgment = segment.end();
        }
        self.sent.push_back(Sent { endpoint: index, at: self.now, segment: reset });
    }

    /// Drops a connection that is not open yet, silently (Linux `inet_csk_listen_stop`).
    pub(crate) fn forget(&mut self, index: usize) {
        self.endpoints[index].is_dropped = true;
        self.endpoints[index].connection.abort();
        while self.endpoints[index].connection.poll_segment(self.now).is_some() {}
    }

    /// Hands a complaint of the path about the segment at `quoted` to a connection.
    pub(crate) fn complain(
        &mut self,
        index: usize,
        quoted: SequenceNumber,
        complaint: fairwind_tcp::IcmpError,
    ) {
        let now = self.now;
        let told = self.act(index, |connection| {
            connection.on_icmp_error(now, quoted, complaint);
            connection.tcp_info(now).path_mtu_bytes
        });
        if let (fairwind_tcp::IcmpError::TooLarge { .. }, Some(mtu)) = (complaint, told) {
            self.path_mtu = Some(self.path_mtu.map_or(mtu, |known| known.min(mtu)));
        }
    }

    /// Runs an action on a connection, and collects its segments and events.
    pub(crate) fn act<T>(&mut self, index: usize, action: impl FnOnce(&mut Connection) -> T) -> T {
        let outcome = action(&mut self.endpoints[index].connection);
        self.drain(index);
        outcome
    }

    /// Changes the behaviour of the connections that there are.
    pub(crate) fn reconfigure(&mut self, change: impl Fn(&mut Config) -> Step<()>) -> Step<()> {
        for index in 0..self.endpoints.len() {
            let mut config = self.endpoints[index].connection.config().as_ref().clone();
            change(&mut config)?;
            let now = self.now;
            self.act(index, |connection| connection.reconfigure(now, Arc::new(config)));
        }
        Ok(())
    }

    fn drain(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        endpoint.errors.notice_delivered(&endpoint.connection, self.now);
        while let Some(segment) = endpoint.connection.poll_segment(self.now) {
            endpoint.errors.notice_sent(&endpoint.connection, &segment, self.now);
            self.sent.push_back(Sent { endpoint: index, at: self.now, segment });
        }
        endpoint.take_events(self.now);
        if let Some(update) = endpoint.connection.take_fast_open_update() {
            self.remembered.learn(&update);
        }
    }

    pub(crate) fn next_deadline(&self) -> Instant {
        let deadlines = self.endpoints.iter().map(|endpoint| endpoint.connection.next_deadline());
        deadlines.min().unwrap_or(Instant::MAX)
    }

    /// Moves to the next deadline, or to `limit` where that is earlier.
    pub(crate) fn step(&mut self, limit: Instant) {
        let deadline = self.next_deadline();
        self.now = self.now.max(deadline.min(limit));
        if deadline > limit {
            return;
        }
        for index in 0..self.endpoints.len() {
            if self.endpoints[index].connection.next_deadline() <= self.now {
                self.endpoints[index].connection.on_deadline(self.now);
                self.drain(index);
            }
        }
    }
}

/// Fast Open cache of the only peer: cookie, MSS, and option kind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FastOpenCache {
    cookie: Option<FastOpen>,
    peer_mss: Option<u16>,
    ask: FastOpenKind,
}

impl FastOpenCache {
    /// Caches the cookie and MSS of a SYN-ACK (Linux `tcp_fastopen_cache_set`).
    pub(crate) fn learn(&mut self, update: &FastOpenUpdate) {
        self.peer_mss = Some(update.peer_mss);
        if update.cookie.is_some() {
            self.cookie = update.cookie;
        }
        if let Some(ask) = update.ask_next {
            self.ask = ask;
        }
    }

    /// Whether data can travel with a SYN (Linux `tcp_fastopen_cookie_check`).
    pub(crate) fn allows_data(&self, config: &FastOpenConfig) -> bool {
        config.client_without_cookie || self.cookie.is_some()
    }

    /// The SYN for an application that has `bytes` bytes.
    pub(crate) fn syn(&self, config: &FastOpenConfig, bytes: u32) -> FastOpenSyn {
        if !self.allows_data(config) {
            return FastOpenSyn::Request(self.ask);
        }
        let option = self.cookie.filter(|_| !config.client_without_cookie);
        FastOpenSyn::Data { option, bytes, peer_mss: self.peer_mss }
    }
}

pub(super) fn unreachable_from_icmp(message: &Icmp) -> Step<Option<IcmpError>> {
    let reason = match message.kind.as_str() {
        "unreachable frag_needed" | "packet_too_big" => {
            return Ok(Some(IcmpError::TooLarge { mtu: message.mtu.unwrap_or(0) }));
        }
        "source_quench" => return Ok(None),
        "unreachable"
        | "unreachable net_unreachable"
        | "unreachable net_unknown"
        | "unreachable noroute"
        | "unreachable net_unreachable_for_tos" => Unreachable::Network,
        "unreachable host_unreachable"
        | "unreachable addr_unreachable"
        | "unreachable host_unreachable_for_tos"
        | "time_exceeded"
        | "time_exceeded exceeded_in_transit" => Unreachable::Host,
        "unreachable protocol_unreachable" => Unreachable::Protocol,
        "unreachable port_unreachable" => Unreachable::Port,
        "unreachable packet_filtered"
        | "unreachable net_prohibited"
        | "unreachable host_prohibited"
        | "unreachable admin_prohibited" => Unreachable::Refused,
        "parameter_problem" => Unreachable::Malformed,
        other => {
            return Err(Stop::unsupported(format!("the message `icmp {other}` is not known here")));
        }
    };
    Ok(Some(IcmpError::Unreachable(reason)))
}

/// The error that an application gets (Linux `icmp_err_convert`).
pub(in crate::run) fn errno_of(reason: Unreachable) -> &'static str {
    match reason {
        Unreachable::Network => "ENETUNREACH",
        Unreachable::Protocol => "ENOPROTOOPT",
        Unreachable::Port => "ECONNREFUSED",
        Unreachable::Malformed => "EPROTO",
        Unreachable::TooLarge => "EMSGSIZE",
        _ => "EHOSTUNREACH",
    }
}
