//! Packet devices served by one system call for all that is due: `io_uring` (`io_uring(7)`).
//!
//! Packets that are sent wait for the next wait and go with it, and packets that come are in memory when it returns.
//! A kernel in virtual time gains by that: a system call costs more there than anything the call does.

use crate::{KernelError, checked};
use fairwind_units::Span;
use io_uring::types::{BufRingEntry, CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, cqueue, opcode, squeue};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// Packets that are sent by one call at most.
const SENT_AT_ONCE: u32 = 256;
/// Completions that have room: a call may bring as many packets as there are buffers, and a failure of each that is sent.
const COMPLETIONS: u32 = 2048;
/// Packets that have room until they are taken; a power of two.
const BUFFERS: u16 = 512;
const BUFFER_GROUP: u16 = 0;
const PAGE_BYTES: usize = 4096;
/// Errors of a wait that pass.
const PASSING: [i32; 4] = [libc::ETIME, libc::EINTR, libc::EAGAIN, libc::EBUSY];
/// Marks completions of packets that were sent; the rest is the device's place.
const SENT: u64 = 1 << 32;

/// What happened with the device in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceEvent {
    /// A packet of so many bytes came.
    Packet(usize, usize),
    /// A packet was not taken, for this error number.
    Refused(usize, i32),
    /// Nothing can be read any more, for this error number.
    Unreadable(usize, i32),
}

/// Devices that are read and written together.
pub struct DeviceRing {
    /// The first field, so that it ends before the memory that it uses.
    ring: IoUring,
    devices: Vec<OwnedFd>,
    incoming: PacketBuffers,
    outgoing: Vec<u8>,
    packet_bytes: usize,
    /// Packets sent so far, whose remainder is the next place in `outgoing`.
    sent: usize,
    /// Devices that nothing is read from yet, or any more.
    unread: Vec<usize>,
}

impl DeviceRing {
    /// Begins to read from devices whose packets have at most so many bytes; gives them back where this kernel cannot
    /// (before 6.7, or where it is forbidden). Belongs to the thread that asks.
    pub fn open(devices: Vec<OwnedFd>, packet_bytes: usize) -> Result<Self, Vec<OwnedFd>> {
        let Some((ring, incoming)) = new_ring(packet_bytes) else { return Err(devices) };
        let places = usize::try_from(SENT_AT_ONCE).unwrap_or(0);
        let mut opened = Self {
            unread: (0..devices.len()).collect(),
            ring,
            devices,
            incoming,
            outgoing: vec![0; places * packet_bytes],
            packet_bytes,
            sent: 0,
        };
        // What would fail at every wait fails at the first.
        match opened.wait(Span::ZERO) {
            Ok(()) => Ok(opened),
            Err(_) => Err(std::mem::take(&mut opened.devices)),
        }
    }

    /// Sends what was given to [`Self::send`], and waits until something happens, at most for `limit`.
    ///
    /// # Errors
    /// If the kernel refuses to wait at all.
    pub fn wait(&mut self, limit: Span) -> Result<(), KernelError> {
        for device in std::mem::take(&mut self.unread) {
            let entry =
                opcode::ReadMulti::new(Fd(self.devices[device].as_raw_fd()), 0, BUFFER_GROUP)
                    .offset(u64::MAX)
                    .build()
                    .user_data(u64::try_from(device).unwrap_or(0));
            if !self.push(&entry) {
                self.unread.push(device);
            }
        }
        let seconds = limit.as_nanos() / 1_000_000_000;
        let rest = u32::try_from(limit.as_nanos() % 1_000_000_000).unwrap_or(0);
        let time = Timespec::new().sec(seconds).nsec(rest);
        let waited = self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&time));
        match waited {
            // Time has run out, a signal has come, or completions have to be taken first: the caller looks itself.
            Err(error) if !PASSING.contains(&error.raw_os_error().unwrap_or(0)) => {
                checked("wait for devices", Err(error))
            }
            _ => Ok(()),
        }
    }

    /// Sends a packet to a device, at the latest with the next wait; whether there was room for it.
    pub fn send(&mut self, device: usize, packet: &[u8]) -> bool {
        if self.ring.submission().is_full() {
            self.flush();
        }
        if packet.len() > self.packet_bytes || self.ring.submission().is_full() {
            return false;
        }
        // There are as many places as packets that can wait, so none is overwritten before it is sent.
        let begin = self.sent * self.packet_bytes % self.outgoing.len();
        let place = &mut self.outgoing[begin..begin + packet.len()];
        place.copy_from_slice(packet);
        let length = u32::try_from(packet.len()).unwrap_or(0);
        let token = SENT | u64::try_from(device).unwrap_or(0);
        // Without waiting for room, so that the kernel has read the packet when the call returns.
        let entry =
            opcode::Write::new(Fd(self.devices[device].as_raw_fd()), place.as_ptr(), length)
                .offset(u64::MAX)
                .rw_flags(libc::RWF_NOWAIT)
                .build()
                .flags(squeue::Flags::SKIP_SUCCESS)
                .user_data(token);
        let has_room = self.push(&entry);
        self.sent += usize::from(has_room);
        has_room
    }

    /// Sends at once what was given to [`Self::send`].
    pub fn flush(&mut self) {
        // What it refuses shows as a completion; what it leaves goes with the next call.
        let _ = self.ring.submit();
    }

    fn push(&mut self, entry: &squeue::Entry) -> bool {
        // SAFETY: a packet that is sent stays where it is until it is, and buffers live as long as the ring.
        unsafe { self.ring.submission().push(entry) }.is_ok()
    }

    /// What happened next; a packet is copied to the beginning of `buffer`. That one was refused may show some waits
    /// later.
    pub fn next_event(&mut self, buffer: &mut [u8]) -> Option<DeviceEvent> {
        loop {
            let completion = self.ring.completion().next()?;
            let result = completion.result();
            let device = usize::try_from(completion.user_data() & !SENT).unwrap_or(0);
            if completion.user_data() & SENT != 0 {
                return Some(DeviceEvent::Refused(device, -result));
            }
            let flags = completion.flags();
            if !cqueue::more(flags) {
                self.unread.push(device);
            }
            match (usize::try_from(result), cqueue::buffer_select(flags)) {
                (Ok(length), Some(place)) if length > 0 => {
                    let length = length.min(buffer.len());
                    buffer[..length].copy_from_slice(&self.incoming.bytes(place)[..length]);
                    self.incoming.give_back(place);
                    return Some(DeviceEvent::Packet(device, length));
                }
                _ if result == -libc::ENOBUFS => {}
                _ => return Some(DeviceEvent::Unreadable(device, -result)),
            }
        }
    }
}

impl Drop for DeviceRing {
    /// Ends the reads, which would hold the devices for some time otherwise.
    fn drop(&mut self) {
        let _ = self.ring.submitter().register_sync_cancel(None, CancelBuilder::any());
    }
}

/// A ring that reads into the buffers beside it; `None` where this kernel has none.
fn new_ring(packet_bytes: usize) -> Option<(IoUring, PacketBuffers)> {
    let ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_cqsize(COMPLETIONS)
        .build(SENT_AT_ONCE)
        .ok()?;
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe).ok()?;
    if !probe.is_supported(opcode::ReadMulti::CODE) {
        return None;
    }
    let incoming = PacketBuffers::new(packet_bytes);
    let address = incoming.entries.as_ptr().expose_provenance();
    // SAFETY: the entries are aligned and live as long as the ring.
    let registered = unsafe {
        let address = u64::try_from(address).unwrap_or(0);
        ring.submitter().register_buf_ring_with_flags(address, BUFFERS, BUFFER_GROUP, 0)
    };
    registered.ok()?;
    Some((ring, incoming))
}

/// Room for packets that come, which the kernel chooses from.
struct PacketBuffers {
    entries: NonNull<BufRingEntry>,
    bytes: Vec<u8>,
    packet_bytes: usize,
    /// How many were given to the kernel so far.
    given: u16,
}

// SAFETY: the memory belongs to this alone, and the kernel.
unsafe impl Send for PacketBuffers {}

impl PacketBuffers {
    fn new(packet_bytes: usize) -> Self {
        // SAFETY: the layout has a size.
        let memory = unsafe { alloc_zeroed(Self::layout()) };
        let Some(entries) = NonNull::new(memory.cast()) else { handle_alloc_error(Self::layout()) };
        let bytes = vec![0; usize::from(BUFFERS) * packet_bytes];
        let mut buffers = Self { entries, bytes, packet_bytes, given: 0 };
        (0..BUFFERS).for_each(|place| buffers.give_back(place));
        buffers
    }

    fn layout() -> Layout {
        let entries = Layout::array::<BufRingEntry>(usize::from(BUFFERS));
        entries.and_then(|layout| layout.align_to(PAGE_BYTES)).expect("some kilobytes")
    }

    fn bytes(&self, place: u16) -> &[u8] {
        &self.bytes[usize::from(place) * self.packet_bytes..][..self.packet_bytes]
    }

    fn give_back(&mut self, place: u16) {
        // The kernel writes there.
        let begin = usize::from(place) * self.packet_bytes;
        let bytes = &mut self.bytes[begin..begin + self.packet_bytes];
        let address = bytes.as_mut_ptr().expose_provenance();
        // SAFETY: the remainder is below the number of entries, which belong to this until the tail says more.
        let entry = unsafe { self.entries.add(usize::from(self.given % BUFFERS)).as_mut() };
        entry.set_addr(u64::try_from(address).unwrap_or(0));
        entry.set_len(u32::try_from(self.packet_bytes).unwrap_or(0));
        entry.set_bid(place);
        self.given = self.given.wrapping_add(1);
        // SAFETY: the tail is in the first entry, aligned, and shared with the kernel alone.
        let tail =
            unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        tail.store(self.given, Ordering::Release);
    }
}

impl Drop for PacketBuffers {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and the ring that used it is gone.
        unsafe { dealloc(self.entries.as_ptr().cast(), Self::layout()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    const BYTES: usize = 100;

    /// Two devices of a ring, and the far ends of both; `None` where the kernel has no such ring.
    fn ring() -> Option<(DeviceRing, [UnixDatagram; 2])> {
        let pairs = [(); 2].map(|()| UnixDatagram::pair().expect("a pair of sockets"));
        let [(near, far), (other_near, other_far)] = pairs;
        for one in [&near, &other_near] {
            one.set_nonblocking(true).expect("set");
        }
        let Ok(ring) = DeviceRing::open(vec![near.into(), other_near.into()], BYTES) else {
            println!("skipped: this kernel has no io_uring with multishot reads, or forbids it");
            return None;
        };
        Some((ring, [far, other_far]))
    }

    fn events(ring: &mut DeviceRing, buffer: &mut [u8]) -> Vec<DeviceEvent> {
        std::iter::from_fn(|| ring.next_event(buffer)).collect()
    }

    #[test]
    fn packets_pass_both_ways() {
        let Some((mut ring, far)) = ring() else { return };
        let mut buffer = [0; BYTES];
        far[1].send(b"to the ring").expect("sent");
        ring.wait(Span::from_secs(10)).expect("waited");
        assert_eq!(ring.next_event(&mut buffer), Some(DeviceEvent::Packet(1, 11)));
        assert_eq!(&buffer[..11], b"to the ring");
        assert_eq!(ring.next_event(&mut buffer), None);
        assert!(ring.send(0, b"from the ring"));
        ring.flush();
        let length = far[0].recv(&mut buffer).expect("received");
        assert_eq!(&buffer[..length], b"from the ring");
    }

    #[test]
    fn waiting_ends_when_time_has_run_out_though_packets_were_sent() {
        let Some((mut ring, far)) = ring() else { return };
        let limit = Span::from_millis(20);
        let began = crate::monotonic();
        assert!(ring.send(0, b"x"));
        ring.wait(limit).expect("waited");
        assert!(crate::monotonic() >= began + limit);
        assert_eq!(far[0].recv(&mut [0; BYTES]).expect("received"), 1);
        assert_eq!(events(&mut ring, &mut [0; BYTES]), []);
    }

    #[test]
    fn packets_beyond_the_buffers_are_read_later_in_order() {
        let Some((mut ring, far)) = ring() else { return };
        let (mut buffer, mut seen, mut sent) = ([0; BYTES], 0, 0);
        far[0].set_nonblocking(true).expect("set");
        while seen < 3 * u64::from(BUFFERS) {
            while far[0].send(&u64::to_ne_bytes(sent)).is_ok() {
                sent += 1;
            }
            ring.wait(Span::from_secs(10)).expect("waited");
            while let Some(event) = ring.next_event(&mut buffer) {
                assert_eq!(event, DeviceEvent::Packet(0, 8));
                assert_eq!(buffer[..8], u64::to_ne_bytes(seen));
                seen += 1;
            }
        }
    }

    #[test]
    fn every_packet_is_sent_or_refused() {
        let Some((mut ring, far)) = ring() else { return };
        far[0].set_nonblocking(true).expect("set");
        let (mut received, mut refused) = (0, 0);
        let many = 4 * usize::try_from(SENT_AT_ONCE).expect("small");
        for packet in 0..many {
            assert!(ring.send(0, &packet.to_ne_bytes()));
            if packet % 300 == 0 {
                ring.flush();
                received += (0..).map_while(|_| far[0].recv(&mut [0; BYTES]).ok()).count();
            }
        }
        let until = crate::monotonic() + Span::from_secs(20);
        while received + refused < many && crate::monotonic() < until {
            ring.wait(Span::from_millis(1)).expect("waited");
            let seen = events(&mut ring, &mut [0; BYTES]);
            assert!(seen.iter().all(|one| *one == DeviceEvent::Refused(0, libc::EAGAIN)));
            refused += seen.len();
            received += (0..).map_while(|_| far[0].recv(&mut [0; BYTES]).ok()).count();
        }
        assert_eq!(received + refused, many);
        assert!(received > 0);
    }

    #[test]
    fn failures_name_their_device() {
        let Some((mut ring, far)) = ring() else { return };
        let [_kept, closed] = far;
        drop(closed);
        assert!(ring.send(1, b"x"));
        assert!(!ring.send(1, &[0; BYTES + 1]), "too long");
        ring.wait(Span::from_secs(10)).expect("waited");
        let seen = events(&mut ring, &mut [0; BYTES]);
        assert!(seen.contains(&DeviceEvent::Refused(1, libc::ECONNREFUSED)), "{seen:?}");
    }
}
