//! What the program has written: windows and counts, field by field as in `bpf/windows.bpf.c`.

use fairwind_bpf::RawEvent;
use fairwind_units::{Instant, Span};
use std::net::{IpAddr, Ipv6Addr};

/// A peer and its window, as they stand in the map.
pub(super) type Entry = ([u8; RememberedWindow::PEER_BYTES], [u8; RememberedWindow::BYTES]);

/// The window of ended connections to one peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RememberedWindow {
    /// Who.
    pub peer: IpAddr,
    /// Congestion window, in packets.
    pub packets: u32,
    /// Time since it was confirmed.
    pub age: Span,
    /// Least round-trip time of the connection that it is of; `None` where none was measured.
    pub least_rtt: Option<Span>,
}

impl RememberedWindow {
    /// Bytes of a window: `struct remembered`.
    pub(super) const BYTES: usize = 16;
    /// Bytes of a peer: `struct peer`.
    pub(super) const PEER_BYTES: usize = 16;

    pub(super) fn read((peer, value): Entry, now: Instant) -> Self {
        let value = RawEvent(&value);
        let rtt = u64::from(value.u32(12));
        Self {
            peer: Ipv6Addr::from(peer).to_canonical(),
            packets: value.u32(8),
            age: now.saturating_since(Instant::from_nanos(value.u64(0))),
            least_rtt: (rtt > 0).then(|| Span::from_micros(rtt)),
        }
    }

    /// The opposite of [`RememberedWindow::read`].
    pub(super) fn to_bytes(self, now: Instant) -> Entry {
        let peer = match self.peer {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let at = now.as_nanos().saturating_sub(self.age.as_nanos());
        let rtt = self.least_rtt.map_or(0, |rtt| rtt.as_nanos() / 1_000);
        let mut value = [0; Self::BYTES];
        value[..8].copy_from_slice(&at.to_ne_bytes());
        value[8..12].copy_from_slice(&self.packets.to_ne_bytes());
        value[12..].copy_from_slice(&u32::try_from(rtt).unwrap_or(0).to_ne_bytes());
        (peer.octets(), value)
    }
}

/// How often what has happened since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowCounts {
    /// Connections that began with a remembered window.
    pub used: u64,
    /// Connections whose peer was not remembered.
    pub unknown: u64,
    /// Windows that were too old when they were wanted, and so removed.
    pub outdated: u64,
    /// Windows that were not used: no larger than the kernel's own, of another path by the round-trip time, or after
    /// losses in the handshake.
    pub unfit: u64,
    /// Windows that were written down.
    pub kept: u64,
    /// Of these, windows halved because of losses.
    pub halved: u64,
}

impl WindowCounts {
    /// Bytes of `struct counts`.
    pub(super) const BYTES: usize = 48;

    pub(super) fn read(bytes: [u8; Self::BYTES]) -> Self {
        let counts = RawEvent(&bytes);
        Self {
            used: counts.u64(0),
            unknown: counts.u64(8),
            outdated: counts.u64(16),
            unfit: counts.u64(24),
            kept: counts.u64(32),
            halved: counts.u64(40),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_of_ipv4_is_told_as_one_however_its_socket_was_made() {
        let mut peer = [0; 16];
        peer[10..].copy_from_slice(&[0xff, 0xff, 192, 0, 2, 7]);
        let read = RememberedWindow::read((peer, [0; 16]), Instant::ZERO);
        assert_eq!(read.peer, "192.0.2.7".parse::<IpAddr>().unwrap());
        peer[0] = 0x20;
        let read = RememberedWindow::read((peer, [0; 16]), Instant::ZERO);
        assert!(read.peer.is_ipv6());
    }

    #[test]
    fn a_window_is_read_with_its_age_and_round_trip_time() {
        let now = Instant::from_nanos(5_000_000_000);
        let mut value = [0; 16];
        value[..8].copy_from_slice(&2_000_000_000_u64.to_ne_bytes());
        value[8..12].copy_from_slice(&32_u32.to_ne_bytes());
        value[12..].copy_from_slice(&40_000_u32.to_ne_bytes());
        let read = RememberedWindow::read(([0; 16], value), now);
        assert_eq!((read.packets, read.age), (32, Span::from_secs(3)));
        assert_eq!(read.least_rtt, Some(Span::from_millis(40)));
        assert_eq!(read.to_bytes(now), ([0; 16], value));
        let unmeasured = RememberedWindow::read(([0; 16], [0; 16]), now);
        assert_eq!(unmeasured.least_rtt, None);
    }

    #[test]
    fn counts_are_read_in_the_order_of_the_program() {
        let mut bytes = [0; WindowCounts::BYTES];
        for (place, number) in (1_u64..).take(6).enumerate() {
            bytes[place * 8..][..8].copy_from_slice(&number.to_ne_bytes());
        }
        let expected =
            WindowCounts { used: 1, unknown: 2, outdated: 3, unfit: 4, kept: 5, halved: 6 };
        assert_eq!(WindowCounts::read(bytes), expected);
    }
}
