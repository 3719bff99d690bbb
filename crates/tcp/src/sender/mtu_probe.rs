//! Looking for larger packets that the path carries, without its complaints.
//!
//! Source: RFC 4821; Linux `tcp_mtu_probe`, `tcp_mtup_init`, `tcp_mtup_probe_success`,
//! `tcp_mtup_probe_failed`, `tcp_mtu_check_reprobe`,
//! `tcp_mtu_probing` (black holes).
//! Cost: a comparison per run of sending while switched off.

use crate::config::MtuProbing;
use crate::sender::Sender;
use crate::state::{RecoveryState, State};
use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

/// The search for the packet size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MtuSearch {
    /// Packets of this size are known to arrive, in bytes.
    low: u32,
    /// Packets of this size may, in bytes.
    high: u32,
    probe: Option<Probe>,
    /// When it began, or began anew.
    began_at: Instant,
}

/// A larger segment under way.
#[derive(Debug, Clone, Copy)]
struct Probe {
    mtu: u32,
    start: SequenceNumber,
    end: SequenceNumber,
}

impl MtuSearch {
    /// Packets of this size are known to arrive, in bytes.
    #[inline]
    pub(crate) fn known_mtu(&self) -> u32 {
        self.low
    }

    /// Whether a larger segment is outstanding.
    #[inline]
    pub(crate) fn is_under_way(&self) -> bool {
        self.probe.is_some()
    }
}

/// What a run of sending does about probing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trial {
    /// Nothing.
    None,
    /// It waits until there is room for a probe.
    Waits,
    /// It sends a probe with this many bytes.
    Sends(u32),
}

/// Least window in segments with which a probe is risked.
const LEAST_WINDOW: u32 = 11;

impl Sender {
    /// Begins the search where it is to run from the beginning.
    pub(crate) fn begin_mtu_search(&mut self, now: Instant) {
        if self.config.path.probing == MtuProbing::Always {
            self.mtu_search = Some(self.new_search(now));
            // The end that was asked begins with the size that it has (Linux `tcp_init_transfer`).
            if self.state == State::SynSent {
                self.sync_segment_size();
            }
        }
    }

    fn new_search(&self, now: Instant) -> MtuSearch {
        let headers = self.header_bytes();
        let base = u32::from(self.config.path.probing_base);
        let options = self.negotiated.option_bytes();
        MtuSearch {
            low: base + headers + options,
            high: self.path.greatest_segment() + headers,
            probe: None,
            began_at: now,
        }
    }

    /// Whether the next segment should be a probe.
    #[cold]
    pub(super) fn try_mtu_probe(&mut self, now: Instant) -> Trial {
        let Some(search) = self.mtu_search else { return Trial::None };
        let steady = search.probe.is_none()
            && self.recovery.state() == RecoveryState::Open
            && self.window.segments() >= LEAST_WINDOW
            && !self.piggyback.has_hole();
        if !steady {
            return Trial::None;
        }
        let range = search.high.saturating_sub(search.low);
        if range < u32::from(self.config.path.probing_threshold) {
            if now.saturating_since(search.began_at) >= self.config.path.probing_interval {
                self.search_anew(now);
            }
            return Trial::None;
        }
        let size = self.payload_for(u32::midpoint(search.high, search.low));
        let needed = size + (self.reordering.threshold() + 1) * self.segment_bytes;
        if self.written.unsent() < u64::from(needed) || self.peer_window.bytes() < needed {
            return Trial::None;
        }
        if self.usable_window() < needed {
            return Trial::Waits;
        }
        let in_flight = self.in_flight();
        if in_flight + 2 > self.window.segments() {
            return if in_flight == 0 { Trial::None } else { Trial::Waits };
        }
        if self.written.join_first(size) { Trial::Sends(size) } else { Trial::None }
    }

    /// The path may have changed: everything above the present size is possible again.
    fn search_anew(&mut self, now: Instant) {
        let low = self.segment_bytes + self.header_bytes() + self.negotiated.option_bytes();
        let high = self.path.greatest_segment() + self.header_bytes();
        self.mtu_search = Some(MtuSearch { low, high, probe: None, began_at: now });
    }

    /// A probe of `bytes` bytes goes out: it counts as two segments.
    pub(super) fn note_mtu_probe(&mut self, bytes: u32) {
        self.window.set_segments(self.window.segments() - 1);
        let mtu = bytes + self.header_bytes() + self.negotiated.option_bytes();
        let start = self.send.next();
        if let Some(search) = &mut self.mtu_search {
            search.probe = Some(Probe { mtu, start, end: start + bytes });
        }
    }

    /// A probe that is acknowledged shows that the path carries its size: segments grow, and the
    /// window holds fewer of them.
    #[cold]
    pub(crate) fn on_mtu_probe_acked(&mut self) {
        let Some(search) = &mut self.mtu_search else { return };
        let Some(probe) =
            search.probe.filter(|probe| probe.end.is_at_or_before(self.send.oldest_unacked()))
        else {
            return;
        };
        search.low = probe.mtu;
        search.probe = None;
        let packet = self.segment_bytes + self.header_bytes() + self.negotiated.option_bytes();
        let segments = u64::from(self.window.segments()) * u64::from(packet) / u64::from(probe.mtu);
        self.window.set_segments(u32::try_from(segments).unwrap_or(u32::MAX).max(1));
        self.window.drop_credit();
        self.window.set_threshold(self.threshold_without_reduction());
        self.sync_segment_size();
    }

    /// Whether what is found lost now is a probe: then the path is narrower, not congested.
    #[cold]
    pub(crate) fn is_mtu_probe_lost(&mut self) -> bool {
        let Some(search) = &mut self.mtu_search else { return false };
        let Some(probe) = search.probe.filter(|probe| probe.start == self.send.oldest_unacked())
        else {
            return false;
        };
        search.high = probe.mtu - 1;
        search.probe = None;
        self.window.set_segments(self.window.segments() + 1);
        true
    }

    /// Time-outs in a row hint at a path that drops large packets silently.
    #[cold]
    pub(super) fn suspect_black_hole(&mut self, now: Instant) {
        if self.config.path.probing == MtuProbing::Off {
            return;
        }
        let path = &self.config.path;
        let (base, floor) = (path.probing_base, path.probing_floor.max(path.least_segment));
        match self.mtu_search {
            None => self.mtu_search = Some(self.new_search(now)),
            Some(mut search) => {
                let half = self.payload_for(search.low) / 2;
                let segment = half.min(u32::from(base)).max(u32::from(floor));
                search.low = segment + self.header_bytes() + self.negotiated.option_bytes();
                self.mtu_search = Some(search);
            }
        }
        self.sync_segment_size();
        self.cut_too_large();
    }
}
