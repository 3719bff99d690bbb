//! Packets of the hosts' devices: one call for each, or one for all that is due.

use super::error::RouterError;
use fairwind_linux::{self as linux, Clock, DeviceEvent, DeviceRing, Poll};
use fairwind_network::NodeId;
use fairwind_units::Span;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

/// Packets of one host that are taken before others have their turn.
const MOST_AT_ONCE: u64 = 32;
/// Waits at the end at most; each brings some refusals.
const MOST_LAST_WAITS: usize = 64;

/// A host's TUN device.
pub struct Port {
    /// The host, for errors.
    pub host: String,
    /// Where its packets enter and leave the network.
    pub node: NodeId,
    /// The device.
    pub device: OwnedFd,
}

/// The hosts' devices, by place.
pub(super) struct Devices {
    hosts: Vec<String>,
    means: Means,
    /// Packets that a device did not take, as far as is known.
    pub(super) refused: u64,
}

/// How packets come and go.
enum Means {
    /// Each by a call of its own.
    Calls(Calls),
    /// All that is due by one call: for a kernel on which a call costs more than what it does.
    Ring(Box<DeviceRing>),
}

/// Who is asked next after a wait.
struct Calls {
    descriptors: Vec<OwnedFd>,
    poll: Poll,
    /// How many devices were ready.
    ready: usize,
    /// How many of them were asked before the one that is now.
    asked: usize,
    /// Packets that this one has given.
    taken: u64,
}

/// A packet that was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadPacket {
    /// Of the device.
    pub(super) place: usize,
    /// In bytes.
    pub(super) length: usize,
}

impl Devices {
    /// The devices of these ports.
    pub(super) fn new(ports: Vec<Port>) -> Result<Self, RouterError> {
        let poll = Poll::new(ports.len().max(1))?;
        for (place, port) in ports.iter().enumerate() {
            let token = u64::try_from(place).unwrap_or(u64::MAX);
            poll.add(port.device.as_fd(), token, libc::EPOLLIN)?;
        }
        let (hosts, descriptors) = ports.into_iter().map(|port| (port.host, port.device)).unzip();
        let means = Means::Calls(Calls { descriptors, poll, ready: 0, asked: 0, taken: 0 });
        Ok(Self { hosts, means, refused: 0 })
    }

    /// Lets one call serve all that is due where the kernel can; belongs to this thread from now on.
    pub(super) fn join_calls(&mut self, packet_bytes: usize) {
        let Means::Calls(calls) = &mut self.means else { return };
        match DeviceRing::open(std::mem::take(&mut calls.descriptors), packet_bytes) {
            Ok(ring) => self.means = Means::Ring(Box::new(ring)),
            Err(descriptors) => calls.descriptors = descriptors,
        }
    }

    /// Waits until something can be read, at most for `limit`.
    pub(super) fn wait(&mut self, clock: &impl Clock, limit: Span) -> Result<(), RouterError> {
        match &mut self.means {
            Means::Calls(calls) => {
                calls.ready = calls.poll.wait(limit);
                (calls.asked, calls.taken) = (0, 0);
            }
            Means::Ring(ring) => ring.wait(limit)?,
        }
        clock.note_wait();
        Ok(())
    }

    /// Reads the next packet that has come, if one has, to the beginning of `buffer`.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<Option<ReadPacket>, RouterError> {
        match &mut self.means {
            Means::Calls(calls) => {
                let read = calls.read(buffer);
                read.map_err(|(place, errno)| gone(&self.hosts[place], errno))
            }
            Means::Ring(ring) => loop {
                match ring.next_event(buffer) {
                    None => return Ok(None),
                    Some(DeviceEvent::Packet(place, length)) => {
                        return Ok(Some(ReadPacket { place, length }));
                    }
                    Some(DeviceEvent::Refused(_, errno)) if errno != libc::EBADFD => {
                        self.refused += 1;
                    }
                    Some(
                        DeviceEvent::Refused(place, errno) | DeviceEvent::Unreadable(place, errno),
                    ) => {
                        return Err(gone(&self.hosts[place], errno));
                    }
                }
            },
        }
    }

    /// Hands a packet to the device in this place.
    pub(super) fn write(&mut self, place: usize, packet: &[u8]) -> Result<(), RouterError> {
        match &mut self.means {
            Means::Calls(calls) => {
                let written = linux::write_plain(calls.descriptors[place].as_raw_fd(), packet);
                if written.errno == libc::EBADFD {
                    return Err(gone(&self.hosts[place], written.errno));
                }
                self.refused += u64::from(written.value < 0);
            }
            Means::Ring(ring) => self.refused += u64::from(!ring.send(place, packet)),
        }
        Ok(())
    }

    /// Hands over what waits for the next wait, at the end, and counts what is refused of it.
    pub(super) fn finish(&mut self, buffer: &mut [u8]) -> Result<(), RouterError> {
        for _ in 0..MOST_LAST_WAITS {
            let Means::Ring(ring) = &mut self.means else { break };
            ring.wait(Span::ZERO)?;
            let before = self.refused;
            while self.read(buffer)?.is_some() {}
            if self.refused == before {
                break;
            }
        }
        Ok(())
    }
}

impl Calls {
    /// The next packet of the devices that were ready; an error has the place of its device.
    fn read(&mut self, buffer: &mut [u8]) -> Result<Option<ReadPacket>, (usize, i32)> {
        while self.asked < self.ready {
            let token = self.poll.readiness(self.asked).token;
            let place = usize::try_from(token).unwrap_or(usize::MAX);
            let read = linux::read_plain(self.descriptors[place].as_raw_fd(), buffer);
            if let Ok(length) = usize::try_from(read.value) {
                self.taken += 1;
                if self.taken == MOST_AT_ONCE {
                    self.ask_next();
                }
                return Ok(Some(ReadPacket { place, length }));
            }
            if read.errno != libc::EAGAIN && read.errno != libc::EINTR {
                return Err((place, read.errno));
            }
            self.ask_next();
        }
        Ok(None)
    }

    fn ask_next(&mut self) {
        self.asked += 1;
        self.taken = 0;
    }
}

#[cold]
fn gone(host: &str, errno: i32) -> RouterError {
    RouterError::DeviceGone { host: host.to_owned(), errno }
}
