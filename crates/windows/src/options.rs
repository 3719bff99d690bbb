//! Options of the program, and the windows and counts that it writes, field by field as in `bpf/windows.bpf.c`.

use super::WindowsError;
use fairwind_bpf::RawEvent;
use fairwind_scenario::{Collection, SharedOpenings, Trust};
use fairwind_units::{Instant, Span};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv6Addr};

/// Options at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowOptions {
    /// Age at which a window is used no more: the report's `LIFETIME_WIND`, which it gives no value of.
    pub lifetime: Span,
    /// Peers that are remembered at most, the longest unused giving way: the report's `MAX_WINDLIST`, likewise.
    pub entries: u32,
    /// How far windows are trusted. With [`Trust::Safe`], connections begin with half of what is remembered, within
    /// the limit of these options and never with less than the kernel's own initial window; with [`Trust::Exact`], the
    /// report's mechanism, with the largest window that is remembered, and only age lowers it.
    pub trust: Trust,
    /// Which connections begin with them; in the report, those that others have opened. The windows of all are
    /// remembered.
    pub beginning: SharedOpenings,
    /// When windows are written down; [`Collection::Close`] is the report's. With [`Collection::End`] it is also when
    /// what was sent will never be acknowledged.
    pub collection: Collection,
    /// Packets that a connection begins with at most; as many as are remembered for `None`.
    pub largest_window: Option<u32>,
}

impl Default for WindowOptions {
    fn default() -> Self {
        Self {
            lifetime: Span::from_secs(600),
            entries: 1_000,
            trust: Trust::Safe,
            beginning: SharedOpenings::Incoming,
            collection: Collection::End,
            largest_window: Some(100),
        }
    }
}

const IS_EXACT: u32 = 1;
const IS_EVERY: u32 = 2;
const IS_AT_CLOSE: u32 = 4;

impl WindowOptions {
    /// Bytes of [`WindowOptions::to_bytes`]: `struct settings` of the program.
    pub(super) const BYTES: usize = 16;

    /// Refuses options that remember nothing.
    pub(super) fn check(&self) -> Result<(), WindowsError> {
        let zero = |option, remedy| Err(WindowsError::Zero { option, remedy });
        if self.lifetime.is_zero() {
            return zero("--lifetime", "a time for which a window is used, like \"10 min\"");
        }
        if self.entries == 0 {
            return zero("--entries", "peers that are remembered at most, like 1000");
        }
        if self.largest_window == Some(0) {
            return zero(
                "--largest-window",
                "packets that a connection begins with at most, like 100",
            );
        }
        Ok(())
    }

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(self.trust == Trust::Exact, IS_EXACT)
            | flag(self.beginning == SharedOpenings::All, IS_EVERY)
            | flag(self.collection == Collection::Close, IS_AT_CLOSE);
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.lifetime.as_nanos().to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.largest_window.unwrap_or(u32::MAX).to_ne_bytes());
        bytes[12..].copy_from_slice(&flags.to_ne_bytes());
        bytes
    }

    /// The options of a program that holds `entries`, by its map's `bytes`.
    pub(super) fn from_bytes(bytes: [u8; Self::BYTES], entries: u32) -> Self {
        let bytes = RawEvent(&bytes);
        let has = |flag| bytes.u32(12) & flag != 0;
        Self {
            lifetime: Span::from_nanos(bytes.u64(0)),
            entries,
            trust: if has(IS_EXACT) { Trust::Exact } else { Trust::Safe },
            beginning: if has(IS_EVERY) { SharedOpenings::All } else { SharedOpenings::Incoming },
            collection: if has(IS_AT_CLOSE) { Collection::Close } else { Collection::End },
            largest_window: Some(bytes.u32(8)).filter(|most| *most < u32::MAX),
        }
    }
}

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
    /// Least round-trip time of the connection that it is of; `None` if none was measured.
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

/// Counts since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowCounts {
    /// Connections that began with a remembered window.
    pub used: u64,
    /// Connections to a peer that was not remembered.
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
    fn options_round_trip() {
        let usual = WindowOptions {
            lifetime: Span::from_nanos(0x0102_0304_0506),
            entries: 7,
            largest_window: Some(0x0a0b_0c0d),
            ..WindowOptions::default()
        };
        let all = [
            usual,
            WindowOptions { trust: Trust::Exact, largest_window: None, ..usual },
            WindowOptions { beginning: SharedOpenings::All, ..usual },
            WindowOptions { collection: Collection::Close, ..usual },
        ];
        for options in all {
            assert_eq!(WindowOptions::from_bytes(options.to_bytes(), 7), options);
        }
    }

    #[test]
    fn useless_options_are_refused_by_name() {
        let usual = WindowOptions::default();
        assert_eq!(usual.check(), Ok(()));
        let refused = [
            (WindowOptions { lifetime: Span::ZERO, ..usual }, "--lifetime 0"),
            (WindowOptions { entries: 0, ..usual }, "--entries 0"),
            (WindowOptions { largest_window: Some(0), ..usual }, "--largest-window 0"),
        ];
        for (options, words) in refused {
            let error = options.check().expect_err(words).to_string();
            assert!(error.starts_with(words), "{error}");
        }
    }

    #[test]
    fn mapped_peer_is_reported_as_ipv4() {
        let mut peer = [0; 16];
        peer[10..].copy_from_slice(&[0xff, 0xff, 192, 0, 2, 7]);
        let read = RememberedWindow::read((peer, [0; 16]), Instant::ZERO);
        assert_eq!(read.peer, "192.0.2.7".parse::<IpAddr>().unwrap());
        peer[0] = 0x20;
        let read = RememberedWindow::read((peer, [0; 16]), Instant::ZERO);
        assert!(read.peer.is_ipv6());
    }

    #[test]
    fn window_is_read_with_age_and_rtt() {
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
    fn counts_are_read_in_program_order() {
        let mut bytes = [0; WindowCounts::BYTES];
        for (place, number) in (1_u64..).take(6).enumerate() {
            bytes[place * 8..][..8].copy_from_slice(&number.to_ne_bytes());
        }
        let expected =
            WindowCounts { used: 1, unknown: 2, outdated: 3, unfit: 4, kept: 5, halved: 6 };
        assert_eq!(WindowCounts::read(bytes), expected);
    }
}
