//! Streams of datagrams: a socket for each that the host sends, and one for each port that some come to.
//!
//! The instant of the write stands in the first eight bytes of a payload, or, where there are only four, the lowest
//! bits of it. So whoever reads a datagram knows how long it took, whatever happened to others. One that is shorter
//! says nothing. In the next eight bytes is its number in its stream: copies that the network makes of it are known
//! by that, and datagrams that never left their host.

use super::HostContext;
use crate::network;
use crate::plan::{IncomingDatagrams, OutgoingDatagrams};
use crate::protocol::EventKind;
use fairwind_units::Instant;
use fairwind_workload::Datagrams;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};

/// Room for what waits at a socket, where the system grants it: hosts are to lose nothing.
const ROOM_BYTES: i32 = 64 << 20;
/// Datagrams that are read from one socket before others have their turn.
const MOST_AT_ONCE: usize = 64;
/// The largest datagram.
const GREATEST_BYTES: usize = 1 << 16;

/// A stream that the host sends.
#[derive(Debug)]
pub(super) struct DatagramSender {
    flow: u32,
    socket: UdpSocket,
    remote: SocketAddr,
    datagrams: Datagrams,
    bytes: Vec<u8>,
    /// How many have left.
    sent: u64,
    /// The device is gone, so nothing leaves any more.
    is_over: bool,
}

impl DatagramSender {
    /// Makes the socket, so that nothing can be wrong with it later.
    pub(super) fn new(plan: OutgoingDatagrams) -> Result<Self, String> {
        let OutgoingDatagrams { flow, local, remote, application, most_payload, start, stop } =
            plan;
        Ok(Self {
            flow,
            socket: bound(local, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)?,
            remote,
            datagrams: Datagrams::new(application, (start, stop), most_payload),
            bytes: vec![0; GREATEST_BYTES],
            sent: 0,
            is_over: false,
        })
    }

    /// When there is something to do by the clock.
    pub(super) fn deadline(&self) -> Instant {
        if self.is_over { Instant::MAX } else { self.datagrams.deadline() }
    }

    /// Sends what is due.
    pub(super) fn on_deadline(&mut self, context: &mut HostContext) -> Result<(), String> {
        let due = self.deadline();
        let now = context.events.now();
        let mut sent_any = false;
        while let Some(payload) = self.datagrams.poll_payload(now) {
            let length = usize::try_from(payload).unwrap_or(usize::MAX).min(GREATEST_BYTES);
            let bytes = &mut self.bytes[..length];
            stamp(bytes, context.events.now(), self.sent);
            match self.socket.send_to(bytes, self.remote) {
                Ok(_) => sent_any = true,
                Err(error) if self.sent > 0 && is_of_a_device_that_is_gone(&error) => {
                    self.is_over = true;
                    return Ok(());
                }
                Err(error) => {
                    let (flow, remote) = (self.flow, self.remote);
                    return Err(format!("send a datagram of flow {flow} to {remote}: {error}"));
                }
            }
            self.sent += 1;
        }
        if sent_any {
            context.lateness.record(now.saturating_since(due));
        }
        Ok(())
    }
}

/// Whether sending failed because the device of the route is gone. At the end of a run the router ends before the
/// hosts and removes their devices. The router itself reports a device that is gone earlier.
fn is_of_a_device_that_is_gone(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENETUNREACH | libc::ENETDOWN | libc::ENODEV))
}

/// All streams that come to the host.
#[derive(Debug)]
pub(super) struct DatagramReaders {
    sockets: Vec<(SocketAddr, UdpSocket)>,
    /// The flow of what comes to the first address from the second.
    flows: BTreeMap<(SocketAddr, SocketAddr), u32>,
    bytes: Vec<u8>,
}

impl DatagramReaders {
    /// Opens a socket wherever the plan says that datagrams come to.
    pub(super) fn new(incoming: &[IncomingDatagrams]) -> Result<Self, String> {
        let places: std::collections::BTreeSet<_> =
            incoming.iter().map(|plan| plan.local).collect();
        let open = |local| Ok((local, bound(local, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF)?));
        Ok(Self {
            sockets: places.into_iter().map(open).collect::<Result<_, String>>()?,
            flows: incoming.iter().map(|plan| ((plan.local, plan.remote), plan.flow)).collect(),
            bytes: vec![0; GREATEST_BYTES],
        })
    }

    /// The sockets, in the order of their places.
    pub(super) fn sockets(&self) -> impl Iterator<Item = &UdpSocket> {
        self.sockets.iter().map(|(_, socket)| socket)
    }

    /// Reads what has come to a socket.
    pub(super) fn on_ready(&mut self, place: usize, context: &mut HostContext) {
        let Some((local, socket)) = self.sockets.get(place) else { return };
        for _ in 0..MOST_AT_ONCE {
            let (length, remote) = match socket.recv_from(&mut self.bytes) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let at = context.events.now();
            let Some(&flow) = self.flows.get(&(*local, remote)) else { continue };
            let payload = &self.bytes[..length];
            let (written, number) = (written_at(payload, at), number_of(payload));
            let payload_bytes = u32::try_from(length).unwrap_or(u32::MAX);
            let read = EventKind::DatagramRead { payload_bytes, written, number };
            context.events.report(at, flow, read);
        }
    }
}

/// A socket that never waits, with ample room.
fn bound(local: SocketAddr, beyond_limits: i32, within_limits: i32) -> Result<UdpSocket, String> {
    let failed = |error| format!("bind a socket for datagrams to {local}: {error}");
    let socket = UdpSocket::bind(local).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    // Whoever is not root gets what the machine grants.
    let room = |option| network::set(&socket, "room", libc::SOL_SOCKET, option, ROOM_BYTES);
    let _ = room(beyond_limits).or_else(|_| room(within_limits));
    Ok(socket)
}

/// The unit of short stamps: 2^4 ns, so that 32 bits reach for 68 s.
const SHORT_UNIT_BITS: u32 = 4;

/// Writes down when a datagram is written, and which one of its stream it is.
fn stamp(payload: &mut [u8], at: Instant, number: u64) {
    let nanos = at.as_nanos();
    if let Some(both) = payload.first_chunk_mut::<16>() {
        both[8..].copy_from_slice(&number.to_ne_bytes());
    }
    if let Some(whole) = payload.first_chunk_mut::<8>() {
        *whole = nanos.to_ne_bytes();
    } else if let Some(short) = payload.first_chunk_mut::<4>() {
        *short = low_half(nanos >> SHORT_UNIT_BITS).to_ne_bytes();
    }
}

/// Which one of its stream a datagram is, as far as it says so.
pub fn number_of(payload: &[u8]) -> Option<u64> {
    let number = payload.first_chunk::<16>()?.last_chunk::<8>()?;
    Some(u64::from_ne_bytes(*number)).filter(|&number| number != u64::MAX)
}

/// When a datagram that is read `now` was written, as far as it says so.
fn written_at(payload: &[u8], now: Instant) -> Option<Instant> {
    if let Some(whole) = payload.first_chunk::<8>() {
        return Some(Instant::from_nanos(u64::from_ne_bytes(*whole)));
    }
    let short = u32::from_ne_bytes(*payload.first_chunk::<4>()?);
    let units = now.as_nanos() >> SHORT_UNIT_BITS;
    let age = low_half(units).wrapping_sub(short);
    Some(Instant::from_nanos(units.saturating_sub(age.into()) << SHORT_UNIT_BITS))
}

fn low_half(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_units::Span;

    #[test]
    fn timestamp_precision_follows_payload_size() {
        let written = Instant::from_nanos(5_000_000_000_013);
        let now = written + Span::from_secs(60);
        for (length, expected) in [
            (100, Some(5_000_000_000_013)),
            (8, Some(5_000_000_000_013)),
            (7, Some(5_000_000_000_000)),
            (4, Some(5_000_000_000_000)),
            (3, None),
            (0, None),
        ] {
            let mut payload = vec![0; length];
            stamp(&mut payload, written, 7);
            let read = written_at(&payload, now).map(Instant::as_nanos);
            assert_eq!(read, expected, "{length} bytes");
        }
    }

    #[test]
    fn long_datagram_carries_its_number() {
        for (length, expected) in [(1472, Some(1 << 40)), (16, Some(1 << 40)), (15, None)] {
            let mut payload = vec![0; length];
            stamp(&mut payload, Instant::from_secs(1), 1 << 40);
            assert_eq!(number_of(&payload), expected, "{length} bytes");
        }
    }
}
