//! A connection that the host writes on: when it begins, what its application writes, how it ends.
//! The host has opened it, or answers on it what it is asked.
//!
//! The application is driven as the simulator drives it: it is asked when a timer is due and
//! whenever fewer than 32 KiB are unsent, and what it writes counts as written at that moment, also
//! where the socket takes it later.

use super::tcp_info::{LossDetector, TcpInfo};
use super::{HostContext, READ_BYTES};
use crate::network;
use crate::plan::{IncomingPlan, NextOutgoing, OutgoingPlan};
use crate::protocol::EventKind;
use fairwind_linux::{self as linux, Ready};
use fairwind_units::Instant;
use fairwind_workload::Application;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// The kernel says that there is room when fewer than half of this are unsent (`TCP_NOTSENT_LOWAT`).
const UNSENT_BYTES: i32 = 64 << 10;
/// Asks how many bytes of a socket were not sent yet (include/uapi/linux/sockios.h).
const SIOCOUTQNSD: u64 = 0x894b;

/// Has the kernel say when there is room, where it would let much wait in the socket.
fn request_room_events(socket: &OwnedFd) -> Result<(), String> {
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT);
    network::set(socket, "TCP_NOTSENT_LOWAT", level, option, UNSENT_BYTES)
}

/// Phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It has not been opened or accepted.
    Waiting,
    /// The handshake goes on.
    Connecting,
    /// The application writes.
    Open,
    /// The application has written all; the rest is on its way.
    Closing,
    /// Nothing is left to do.
    Ended,
}

/// A connection that the host writes on.
#[derive(Debug)]
pub(super) struct Sender {
    flow: u32,
    /// The remote address; `None` if the other side connects.
    remote: Option<SocketAddr>,
    /// The flow of the data that the other side writes.
    reads: Option<u32>,
    /// Bytes of it that were read.
    read_bytes: u64,
    /// The flows that carry the application's writes, for which they are reported: its own first, none for a relay.
    carried_by: Vec<u32>,
    socket: Option<OwnedFd>,
    application: Application,
    start: Instant,
    stop: Instant,
    /// The connection that starts when this one is over; none once it was taken.
    next: Option<NextOutgoing>,
    /// Whether it begins after another one, at an instant that is not known in advance.
    has_followed: bool,
    phase: Phase,
    /// Bytes that the application wrote and the socket had no room for.
    blocked_bytes: u64,
    /// Bytes that the application wrote since the beginning.
    written_bytes: u64,
    /// What the socket is watched for.
    interest: i32,
    peer_finished: bool,
    losses: LossDetector,
    /// Bytes written at the last look for losses.
    looked_at: u64,
}

impl Sender {
    /// Makes the socket, so that nothing can be wrong with it later.
    pub(super) fn new(plan: OutgoingPlan) -> Result<Self, String> {
        let socket = network::bound(plan.local, &plan.socket)?;
        if plan.application.is_greedy() {
            request_room_events(&socket)?;
        }
        let mut carried_by = plan.carried_by;
        if plan.relays.is_none() {
            carried_by.insert(0, plan.flow);
        }
        Ok(Self {
            remote: Some(plan.remote),
            reads: plan.reads,
            socket: Some(socket),
            carried_by,
            start: plan.start,
            stop: plan.stop,
            next: plan.next,
            ..Self::waiting(plan.flow, plan.application)
        })
    }

    /// Whoever answers on a connection that is to come, where somebody does.
    pub(super) fn answering(plan: IncomingPlan) -> Option<Self> {
        let answer = plan.answer?;
        let reads = Some(plan.flow);
        Some(Self { reads, ..Self::waiting(answer.flow, answer.application) })
    }

    fn waiting(flow: u32, application: Application) -> Self {
        Self {
            flow,
            remote: None,
            reads: None,
            read_bytes: 0,
            carried_by: vec![flow],
            socket: None,
            application,
            start: Instant::MAX,
            stop: Instant::MAX,
            next: None,
            has_followed: false,
            phase: Phase::Waiting,
            blocked_bytes: 0,
            written_bytes: 0,
            interest: 0,
            peer_finished: false,
            losses: LossDetector::default(),
            looked_at: 0,
        }
    }

    /// The other side has called; `token` is what the socket is watched with.
    pub(super) fn adopt(
        &mut self,
        socket: OwnedFd,
        token: u64,
        context: &mut HostContext,
    ) -> Result<(), String> {
        self.interest = libc::EPOLLIN;
        context.poll.add(&socket, token, self.interest).map_err(|error| error.to_string())?;
        if self.application.is_greedy() {
            request_room_events(&socket)?;
        }
        self.socket = Some(socket);
        self.begin(context);
        if self.application.is_filling() {
            self.write(token, context);
        }
        Ok(())
    }

    /// The flow of what is written on this connection.
    pub(super) fn flow(&self) -> u32 {
        self.flow
    }

    /// The next connection and its start, once: when the other side has finished or the connection has failed.
    pub(super) fn take_next(&mut self, now: Instant) -> Option<(u32, Instant)> {
        let is_over = self.peer_finished || self.phase == Phase::Ended;
        let next = self.next.take_if(|_| is_over)?;
        Some((next.flow, now + next.pause)).filter(|&(_, start)| start < next.until)
    }

    /// The connection before it is over: it is opened at `start`.
    pub(super) fn follow(&mut self, start: Instant) {
        self.start = start;
        self.has_followed = true;
    }

    /// When there is something to do by the clock.
    pub(super) fn deadline(&self) -> Instant {
        match self.phase {
            Phase::Waiting => self.start,
            Phase::Connecting => self.stop,
            Phase::Open => self.application.next_write().min(self.stop),
            Phase::Closing | Phase::Ended => Instant::MAX,
        }
    }

    /// Does what is due; `token` is what the socket is watched with.
    pub(super) fn on_deadline(
        &mut self,
        now: Instant,
        token: u64,
        context: &mut HostContext,
    ) -> Result<(), String> {
        match self.phase {
            Phase::Waiting => return self.connect(token, context),
            Phase::Connecting => self.end(context),
            Phase::Open if self.stop <= now => self.stop_writing(token, context),
            Phase::Open => self.write(token, context),
            Phase::Closing | Phase::Ended => {}
        }
        Ok(())
    }

    /// Calls the other side.
    pub(super) fn connect(&mut self, token: u64, context: &mut HostContext) -> Result<(), String> {
        let (Some(socket), Some(remote)) = (&self.socket, self.remote) else { return Ok(()) };
        self.interest = libc::EPOLLOUT;
        context.poll.add(socket, token, self.interest).map_err(|error| error.to_string())?;
        self.phase = Phase::Connecting;
        if self.has_followed {
            let at = context.events.now();
            context.events.report(at, self.flow, EventKind::Opened);
        }
        let raw = linux::connect(socket.as_raw_fd(), &linux::socket_address(remote));
        if raw.value < 0 && raw.errno != libc::EINPROGRESS {
            self.fail(raw.errno, context);
        }
        Ok(())
    }

    /// Handles events of the socket.
    pub(super) fn on_ready(&mut self, ready: Ready, context: &mut HostContext) {
        let Some(socket) = &self.socket else { return };
        if ready.has(libc::EPOLLERR) {
            let errno = network::waiting_error(socket);
            if errno != 0 {
                self.fail(errno, context);
                return;
            }
        }
        if self.phase == Phase::Connecting && ready.has(libc::EPOLLOUT) {
            self.begin(context);
        }
        if ready.has(libc::EPOLLIN | libc::EPOLLHUP) {
            self.read(context);
        }
        if matches!(self.phase, Phase::Open | Phase::Closing) {
            self.write(ready.token, context);
        }
    }

    fn begin(&mut self, context: &mut HostContext) {
        let at = context.events.now();
        self.phase = Phase::Open;
        context.events.report(at, self.flow, EventKind::Established);
        self.application.begin(at);
        if let Some(info) = self.socket.as_ref().and_then(TcpInfo::query) {
            self.losses.look(info);
        }
    }

    /// Bytes that may be read for it now, where it passes them on; 0 once it is over.
    pub(super) fn room(&mut self) -> u64 {
        if self.phase == Phase::Ended {
            return 0;
        }
        self.application.as_relay().map_or(0, |relay| relay.room())
    }

    /// So many bytes were read that it is to pass on.
    pub(super) fn pass_on(&mut self, bytes: u64, token: u64, context: &mut HostContext) {
        if let Some(relay) = self.application.as_relay() {
            relay.on_relayed(bytes);
        }
        if self.phase == Phase::Open {
            self.write(token, context);
        }
    }

    /// What it passes on has come to its end: the rest is written, and the connection closed.
    pub(super) fn end_relaying(&mut self, token: u64, context: &mut HostContext) {
        self.application.end();
        if self.phase == Phase::Open {
            self.write(token, context);
        }
    }

    /// The connection that this one relays was reset; resets this one as well.
    pub(super) fn break_off(&mut self, context: &mut HostContext) {
        self.application.end();
        if let Some(socket) = &self.socket {
            linux::reset_at_close(socket);
        }
        self.end(context);
    }

    /// Whether nothing is left to do.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Reads what the other side has written: nothing but its end, unless it answers or asks.
    fn read(&mut self, context: &mut HostContext) {
        let Some(socket) = &self.socket else { return };
        let raw = context.receive(socket, self.read_bytes, READ_BYTES);
        let at = context.events.now();
        match (u64::try_from(raw.value), raw.errno) {
            (Ok(0), _) => self.on_end(at, context),
            (Ok(bytes), _) => self.on_read(at, bytes, context),
            (Err(_), libc::EAGAIN | libc::EINTR) => {}
            (Err(_), errno) => self.fail(errno, context),
        }
    }

    fn on_read(&mut self, at: Instant, bytes: u64, context: &mut HostContext) {
        let Some(reads) = self.reads else { return };
        self.read_bytes += bytes;
        context.events.report(at, reads, EventKind::Read(self.read_bytes));
        if let Some(asked) = self.application.on_read(at, bytes) {
            context.events.report(at, self.flow, EventKind::Answered(asked));
        }
    }

    /// The other side writes nothing more.
    fn on_end(&mut self, at: Instant, context: &mut HostContext) {
        if std::mem::replace(&mut self.peer_finished, true) {
            return;
        }
        if let Some(reads) = self.reads {
            context.events.report(at, reads, EventKind::Finished);
        }
        if self.application.ends_with_other() {
            self.application.end();
        }
    }

    /// Lets the application write as long as it wants to, and the socket take what it can.
    fn write(&mut self, token: u64, context: &mut HostContext) {
        self.push(context);
        while self.phase == Phase::Open {
            let due = self.application.next_write();
            let is_filling = self.application.is_filling();
            let unsent = if is_filling { self.unsent_bytes() } else { 0 };
            let at = context.events.now();
            let Some(bytes) = self.application.poll_write(at, unsent) else { break };
            if !is_filling && due != Instant::MAX {
                context.lateness.record(at.saturating_since(due));
            }
            self.written_bytes += bytes;
            self.blocked_bytes += bytes;
            // Report the write first: an error of the socket has a later instant.
            for flow in &self.carried_by {
                context.events.report(at, *flow, EventKind::Written(self.written_bytes));
            }
            self.push(context);
        }
        if self.phase == Phase::Open && self.blocked_bytes == 0 && self.application.is_finished() {
            self.close();
        }
        if self.phase == Phase::Closing && self.peer_finished {
            self.look(context);
            self.end(context);
        }
        self.watch(token, context);
    }

    /// Gives the socket what waits for room.
    fn push(&mut self, context: &mut HostContext) {
        while self.blocked_bytes > 0
            && let Some(socket) = &self.socket
        {
            let offset = self.written_bytes - self.blocked_bytes;
            let bytes = context.payload.stream(offset, self.blocked_bytes);
            let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
            let raw = linux::send(socket.as_raw_fd(), bytes, flags, None);
            match (u64::try_from(raw.value), raw.errno) {
                (Ok(taken), _) => self.blocked_bytes -= taken,
                (Err(_), libc::EINTR) => {}
                (Err(_), libc::EAGAIN | libc::ENOBUFS) => return,
                (Err(_), errno) => {
                    // A stream that was broken off says why at its socket first.
                    let waiting = network::waiting_error(socket);
                    self.fail(if waiting == 0 { errno } else { waiting }, context);
                }
            }
        }
    }

    fn unsent_bytes(&self) -> u64 {
        let mut unsent = 0;
        if let Some(socket) = &self.socket {
            linux::query(socket.as_raw_fd(), SIOCOUTQNSD, &mut unsent);
        }
        u64::try_from(unsent).unwrap_or(0) + self.blocked_bytes
    }

    fn stop_writing(&mut self, token: u64, context: &mut HostContext) {
        self.application.end();
        self.blocked_bytes = 0;
        self.close();
        self.watch(token, context);
    }

    fn close(&mut self) {
        self.phase = Phase::Closing;
        if let Some(socket) = &self.socket {
            linux::shutdown(socket.as_raw_fd(), libc::SHUT_WR);
        }
    }

    fn end(&mut self, context: &mut HostContext) {
        self.account(context);
        self.phase = Phase::Ended;
        self.socket = None;
    }

    fn fail(&mut self, errno: i32, context: &mut HostContext) {
        self.look(context);
        self.application.end();
        let at = context.events.now();
        context.events.report(at, self.flow, EventKind::Failed(errno));
        self.end(context);
    }

    /// Watches the socket for what would make a difference.
    fn watch(&mut self, token: u64, context: &mut HostContext) {
        let Some(socket) = &self.socket else { return };
        let asks_for_room = self.application.is_filling();
        let writes = self.phase == Phase::Open && (self.blocked_bytes > 0 || asks_for_room);
        let interest = if writes { libc::EPOLLOUT } else { 0 }
            | if self.peer_finished { 0 } else { libc::EPOLLIN };
        if interest != self.interest && context.poll.change(socket, token, interest).is_ok() {
            self.interest = interest;
        }
    }

    /// Reports windows, round-trip times and losses.
    pub(super) fn sample(&mut self, context: &mut HostContext) {
        if let Some(info) = self.ask() {
            let at = context.events.now();
            context.events.report(at, self.flow, EventKind::Endpoint(info.endpoint));
            self.report_losses(info, context);
        }
    }

    /// Reports losses since the last poll, if anything can have been lost.
    pub(super) fn look(&mut self, context: &mut HostContext) {
        if (self.looked_at != self.written_bytes || self.losses.was_outstanding())
            && let Some(info) = self.ask()
        {
            self.report_losses(info, context);
        }
    }

    /// Notes what held the sender back, once its connection or the run is over.
    pub(super) fn account(&self, context: &mut HostContext) {
        let has_begun = !matches!(self.phase, Phase::Waiting | Phase::Ended);
        let socket = self.socket.as_ref().filter(|_| has_begun);
        if let Some(info) = socket.and_then(TcpInfo::query) {
            context.statistics.senders.push(info.statistics(self.flow));
        }
    }

    fn ask(&self) -> Option<TcpInfo> {
        let is_open = matches!(self.phase, Phase::Open | Phase::Closing);
        self.socket.as_ref().filter(|_| is_open).and_then(TcpInfo::query)
    }

    fn report_losses(&mut self, info: TcpInfo, context: &mut HostContext) {
        self.looked_at = self.written_bytes;
        let losses = self.losses.look(info);
        if !context.reports_losses {
            return;
        }
        let at = context.events.now();
        for _ in 0..losses.timeouts {
            context.events.report(at, self.flow, EventKind::Timeout);
        }
        for _ in 0..losses.recoveries {
            context.events.report(at, self.flow, EventKind::FastRetransmit);
        }
    }
}
