//! Backlog of the queue discipline at an interface (rtnetlink(7), `RTM_GETQDISC`).

use crate::{KernelError, checked};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use std::io;
use std::os::fd::OwnedFd;

const GET_QDISC: u16 = 38;
const NEW_QDISC: u16 = 36;
/// A request, of which the asker gets the answer, too: some kernels only send it to who listens for changes.
const REQUEST: u16 = 1 | 8;
/// The handle of the discipline at the root of an interface.
const ROOT: u32 = u32::MAX;
/// Bytes of `nlmsghdr` and of `tcmsg`.
const HEADERS: [usize; 2] = [16, 20];
/// Attributes: `TCA_STATS2`, and in it `TCA_STATS_QUEUE`.
const STATISTICS: u16 = 7;
const QUEUE: u16 = 3;
/// Flags above the kind of an attribute.
const KIND: u16 = 0x3fff;

/// Asks for the backlog of queue disciplines of one network namespace.
#[derive(Debug)]
pub struct BacklogReader(OwnedFd);

impl BacklogReader {
    /// For the namespace of this thread.
    pub fn open() -> Result<Self, KernelError> {
        // The protocol that is 0, as where none is named, is that of routes and queues.
        let (kind, flags) = (SocketType::RAW, SocketFlags::CLOEXEC);
        let socket = socket_with(AddressFamily::NETLINK, kind, flags, None);
        checked("open a socket for queue disciplines", socket).map(Self)
    }

    /// How many packets wait at the root of the interface with this number.
    pub fn packets(&self, interface: u32) -> Result<u32, KernelError> {
        checked("ask for the backlog of a queue", self.ask(interface))
    }

    fn ask(&self, interface: u32) -> io::Result<u32> {
        send(&self.0, &request(interface), SendFlags::empty())?;
        let mut answer = [0; 8192];
        // The kernel has answered when the request was sent.
        let (bytes, _) = recv(&self.0, &mut answer[..], RecvFlags::DONTWAIT)?;
        let answer = answer.get(..bytes).unwrap_or_default();
        let unknown = || io::Error::new(io::ErrorKind::InvalidData, "the answer is not understood");
        backlog_in(answer).ok_or_else(unknown)
    }
}

fn request(interface: u32) -> Vec<u8> {
    let length = u32::try_from(HEADERS.iter().sum::<usize>()).unwrap_or(0);
    let kind = [GET_QDISC.to_ne_bytes(), REQUEST.to_ne_bytes()].concat();
    let words =
        |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_ne_bytes()).collect() };
    // Length, kind, flags, number, port; family, interface, handle, parent, no more.
    [words(&[length]), kind, words(&[0, 0, 0, interface, 0, ROOT, 0])].concat()
}

fn backlog_in(answer: &[u8]) -> Option<u32> {
    let kind = answer.get(4..6)?.try_into().ok()?;
    if u16::from_ne_bytes(kind) != NEW_QDISC {
        return None;
    }
    let attributes = answer.get(HEADERS.iter().sum()..)?;
    let queue = attribute(attribute(attributes, STATISTICS)?, QUEUE)?;
    Some(u32::from_ne_bytes(queue.get(..4)?.try_into().ok()?))
}

/// The content of an attribute of this kind.
fn attribute(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let (header, _) = attributes.split_first_chunk::<4>()?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        if u16::from_ne_bytes([header[2], header[3]]) & KIND == kind {
            return attributes.get(4..length);
        }
        attributes = attributes.get(length.max(4).next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kind: u16, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + content.len()).expect("a short attribute");
        let mut all = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        all.extend_from_slice(content);
        all.resize(all.len().next_multiple_of(4), 0);
        all
    }

    fn answer(kind: u16, attributes: &[u8]) -> Vec<u8> {
        let mut all = vec![0; HEADERS.iter().sum()];
        all[4..6].copy_from_slice(&kind.to_ne_bytes());
        all.extend_from_slice(attributes);
        all
    }

    #[test]
    fn backlog_stands_in_nested_statistics() {
        let queue = bytes(QUEUE, &[7_u32, 9000].map(u32::to_ne_bytes).concat());
        let statistics = bytes(STATISTICS | 0x8000, &[bytes(1, &[0; 12]), queue].concat());
        let attributes = [bytes(1, b"htb\0"), bytes(2, &[0; 5]), statistics].concat();
        assert_eq!(backlog_in(&answer(NEW_QDISC, &attributes)), Some(7));
    }

    #[test]
    fn other_answers_are_not_understood() {
        assert_eq!(backlog_in(&answer(2, &[0; 4])), None);
        assert_eq!(backlog_in(&answer(NEW_QDISC, &bytes(1, b"htb\0"))), None);
        assert_eq!(backlog_in(&answer(NEW_QDISC, &[0; 8])), None);
        assert_eq!(backlog_in(&[]), None);
    }

    #[test]
    fn request_has_the_length_that_it_says() {
        let request = request(3);
        let length = u32::from_ne_bytes(request[..4].try_into().expect("four bytes"));
        assert_eq!(usize::try_from(length).expect("a length"), request.len());
    }
}
