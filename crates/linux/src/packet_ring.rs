//! Packets of all interfaces of a network namespace, with their instants: a packet socket with a ring in shared memory
//! (packet(7), `PACKET_RX_RING`).
//!
//! The kernel copies the beginning of each packet into the ring when it passes and keeps nothing else of it, so watching
//! changes nothing for the packet.

use crate::clock::nanos;
use crate::{KernelError, Raw, checked, get_option, set_option};
use rustix::net::{AddressFamily, SocketFlags, SocketType, eth, socket_with};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a packet that are kept, from its IP header on.
const KEPT_BYTES: usize = 100;
const ETHERNET_HEADER: u32 = 14;
/// A frame of the ring: the kernel's two headers, and the packet.
const FRAME_BYTES: usize = 256;
const FRAMES: usize = 1 << 15;
/// What the kernel allocates at once.
const BLOCK_BYTES: usize = 1 << 16;
const RING_BYTES: usize = FRAME_BYTES * FRAMES;
/// Where the address stands in a frame: behind its header, which ends at a multiple of 16.
const ADDRESS_OFFSET: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(16);

/// A packet that passed an interface.
#[derive(Debug, Clone, Copy)]
pub struct RingPacket<'a> {
    /// By the clock of [`crate::realtime`], in nanoseconds.
    pub stamp: u64,
    /// Number of the interface in its namespace.
    pub interface: u32,
    /// Whether it left through the interface.
    pub is_outgoing: bool,
    /// Its beginning, from the IP header on.
    pub head: &'a [u8],
}

/// Packets of a namespace that were not read yet.
#[derive(Debug)]
pub struct PacketRing {
    socket: OwnedFd,
    memory: NonNull<u8>,
    /// The frame that is filled next.
    next: usize,
    missed: u64,
}

// SAFETY: the memory belongs to the ring alone, and every access takes the ring itself.
unsafe impl Send for PacketRing {}

impl PacketRing {
    /// Begins to watch the interfaces of this thread's namespace.
    pub fn open() -> Result<Self, KernelError> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // Without a protocol it takes nothing until it is bound.
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None);
        let socket = checked("open a packet socket", socket)?;
        keep_beginnings(&socket)?;
        let version = i32::to_ne_bytes(libc::tpacket_versions::TPACKET_V2 as i32);
        set(&socket, libc::PACKET_VERSION, &version)?;
        let sizes = [BLOCK_BYTES, RING_BYTES / BLOCK_BYTES, FRAME_BYTES, FRAMES];
        let sizes = sizes.map(|size| u32::try_from(size).unwrap_or(0).to_ne_bytes());
        set(&socket, libc::PACKET_RX_RING, sizes.as_flattened())?;
        let memory = map(&socket)?;
        // A `struct sockaddr_ll` of all protocols; interface 0 stands for all.
        let family = u16::try_from(libc::AF_PACKET).unwrap_or(0).to_ne_bytes();
        let protocol = u16::try_from(eth::ALL.as_raw().get()).unwrap_or(0).to_ne_bytes();
        let address = [&family[..], &protocol, &[0; size_of::<libc::sockaddr_ll>() - 4]].concat();
        let bound = crate::bind(socket.as_raw_fd(), &address);
        checked("watch a namespace", bound.result())?;
        Ok(Self { socket, memory, next: 0, missed: 0 })
    }

    /// Hands out the packets that have passed, in the order in which the kernel saw them.
    pub fn read(&mut self, mut each: impl FnMut(RingPacket<'_>)) {
        for _ in 0..FRAMES {
            // SAFETY: `next` is below `FRAMES`, so the frame lies within the memory.
            let frame = unsafe { self.memory.add(self.next * FRAME_BYTES) };
            // SAFETY: a frame begins with its status, at an aligned address; the kernel writes it, too.
            let status = unsafe { AtomicU32::from_ptr(frame.cast().as_ptr()) };
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return;
            }
            // SAFETY: the frame is ours until its status is given back.
            each(unsafe { packet_in(frame) });
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % FRAMES;
        }
    }

    /// How many packets found no room in the ring.
    pub fn missed(&mut self) -> u64 {
        let mut counts = [[0; 4]; 2];
        let (level, name) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        get_option(self.socket.as_raw_fd(), level, name, counts.as_flattened_mut());
        // The kernel counts from the last look on.
        self.missed += u64::from(u32::from_ne_bytes(counts[1]));
        self.missed
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), RING_BYTES) };
    }
}

/// The packet in a frame.
///
/// # Safety
/// The kernel has filled the frame, and does not write to it while the packet is used.
unsafe fn packet_in<'a>(frame: NonNull<u8>) -> RingPacket<'a> {
    // SAFETY: a frame begins with its header, behind which the address stands.
    let (header, address) = unsafe {
        (
            frame.cast::<libc::tpacket2_hdr>().read_unaligned(),
            frame.add(ADDRESS_OFFSET).cast::<libc::sockaddr_ll>().read_unaligned(),
        )
    };
    let start = usize::from(header.tp_net).min(FRAME_BYTES);
    let snapped = usize::try_from(header.tp_snaplen).unwrap_or(usize::MAX);
    let end = usize::from(header.tp_mac).saturating_add(snapped);
    let length = end.min(FRAME_BYTES).saturating_sub(start);
    RingPacket {
        stamp: nanos(i64::from(header.tp_sec), i64::from(header.tp_nsec)),
        interface: u32::try_from(address.sll_ifindex).unwrap_or(0),
        is_outgoing: address.sll_pkttype == libc::PACKET_OUTGOING,
        // SAFETY: start and end lie within the frame.
        head: unsafe { std::slice::from_raw_parts(frame.add(start).as_ptr(), length) },
    }
}

fn set(socket: &OwnedFd, option: i32, value: &[u8]) -> Result<(), KernelError> {
    let set = set_option(socket.as_raw_fd(), libc::SOL_PACKET, option, value);
    checked("set an option of a packet socket", set.result()).map(|_| ())
}

/// A filter that takes the beginning of everything.
fn keep_beginnings(socket: &OwnedFd) -> Result<(), KernelError> {
    let kept = ETHERNET_HEADER + u32::try_from(KEPT_BYTES).unwrap_or(0);
    let code = u16::try_from(libc::BPF_RET | libc::BPF_K).unwrap_or(0);
    let mut program = [libc::sock_filter { code, jt: 0, jf: 0, k: kept }];
    let filter = libc::sock_fprog { len: 1, filter: program.as_mut_ptr() };
    let length = libc::socklen_t::try_from(size_of_val(&filter)).unwrap_or(0);
    // SAFETY: the filter and the program that it points to live over the call.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const filter).cast(),
            length,
        )
    };
    checked("give a packet socket a filter", Raw::of(i64::from(set)).result()).map(|_| ())
}

fn map(socket: &OwnedFd) -> Result<NonNull<u8>, KernelError> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let descriptor = socket.as_raw_fd();
    // SAFETY: a new mapping of the ring, whose size the kernel was told before.
    let mapped = unsafe {
        libc::mmap(std::ptr::null_mut(), RING_BYTES, protection, libc::MAP_SHARED, descriptor, 0)
    };
    let failed = mapped == libc::MAP_FAILED;
    let mapped = NonNull::new(mapped.cast()).filter(|_| !failed);
    checked("map the ring of a packet socket", mapped.ok_or_else(std::io::Error::last_os_error))
}
