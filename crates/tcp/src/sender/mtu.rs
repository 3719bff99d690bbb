//! Segment size, path MTU discovery, and MTU probing.
//!
//! The path, the peer, the application and the peer's window limit the segment size. Source: RFC 9293
//! §3.7.1, RFC 6691; Linux `tcp_mtu_to_mss`, `tcp_sync_mss`, `tcp_bound_to_half_wnd`.
//!
//! **MTU probing** searches for the path MTU without ICMP. Source: RFC 4821; Linux `tcp_mtu_probe`,
//! `tcp_mtup_init`, `tcp_mtup_probe_success`, `tcp_mtup_probe_failed`, `tcp_mtu_check_reprobe`,
//! `tcp_mtu_probing` (black holes).
//! Cost: a comparison per transmission while switched off.

use crate::config::{Config, MtuDiscovery, MtuProbing, SillyWindow};
use crate::handshake::DEFAULT_MSS;
use crate::sender::Sender;
use crate::sender::loss::Transmission;
use crate::state::{RecoveryState, State, Unreachable};
use fairwind_units::Instant;
use fairwind_wire::{Segment, SequenceNumber, TCP_HEADER_BYTES};

/// Segment size of a peer that names none, over IPv6 (RFC 9293 §3.7.1).
const DEFAULT_MSS_V6: u16 = 1220;
const IPV6_HEADER_BYTES: u32 = 40;
/// Minimum MTU of IPv6 links, in bytes (RFC 8200 §5).
const MIN_IPV6_MTU: u32 = 1280;

/// Limits of the segment size.
#[derive(Debug)]
pub(crate) struct PathMtu {
    /// Path MTU in bytes.
    mtu: u32,
    /// When that is forgotten again, after an ICMP error.
    mtu_expires: Instant,
    /// The peer's and the application's bound in bytes, options included.
    max_segment: u32,
}

impl PathMtu {
    getters! {
        mtu: u32,
        max_segment: u32,
    }

    pub(crate) fn new(config: &Config) -> Self {
        Self {
            mtu: Self::link_mtu(config),
            mtu_expires: Instant::MAX,
            max_segment: u32::from(u16::MAX),
        }
    }

    /// Largest packet of the first link in bytes.
    pub(crate) fn link_mtu(config: &Config) -> u32 {
        let headers = config.path.ip_header_bytes + TCP_HEADER_BYTES;
        config.path.mtu.unwrap_or(u32::from(config.mss) + headers)
    }

    /// Takes the peer's bound from its SYN.
    pub(crate) fn learn(&mut self, config: &Config, syn: &Segment) {
        let default = if config.path.ip_header_bytes > 20 { DEFAULT_MSS_V6 } else { DEFAULT_MSS };
        let named = syn.options.mss.filter(|&mss| mss > 0).unwrap_or(default);
        let own = config.path.max_segment.unwrap_or(u16::MAX);
        self.max_segment = u32::from(named.min(own));
    }

    /// The segment size for packets of `mtu` bytes, options included (Linux `__tcp_mtu_to_mss`).
    pub(crate) fn segment_for(&self, config: &Config, mtu: u32) -> u32 {
        let headers = config.path.ip_header_bytes + TCP_HEADER_BYTES;
        let fitting = mtu.saturating_sub(headers).min(self.max_segment);
        fitting.max(u32::from(config.path.min_segment))
    }
}

impl Sender {
    /// Payload of a full segment in packets of `mtu` bytes (Linux `tcp_mtu_to_mss`).
    pub(crate) fn payload_for(&self, mtu: u32) -> u32 {
        let fitting = self.path.segment_for(&self.config, mtu);
        fitting.saturating_sub(self.negotiated.option_bytes()).max(1)
    }

    /// Bytes of both headers without options.
    pub(crate) fn header_bytes(&self) -> u32 {
        self.config.path.ip_header_bytes + TCP_HEADER_BYTES
    }

    /// Updates the segment size (Linux `tcp_sync_mss`).
    pub(crate) fn sync_segment_size(&mut self) {
        let known = self.mtu_search.map_or(u32::MAX, |search| search.low);
        let fitting = self.payload_for(self.path.mtu.min(known));
        self.segment_bytes = match self.config.sending.silly_window {
            SillyWindow::WholeBuffer => self.bound_to_half_window(fitting),
            SillyWindow::Rfc => fitting,
        };
    }

    /// Forgets the path MTU of an ICMP error that has expired.
    #[inline]
    pub(crate) fn expire_path_mtu(&mut self, now: Instant) {
        if self.path.mtu_expires <= now {
            self.forget_path_mtu();
        }
    }

    /// The path may have changed: packets are as large again as the first link allows (RFC 1191 §6.3).
    #[cold]
    fn forget_path_mtu(&mut self) {
        self.path.mtu_expires = Instant::MAX;
        self.path.mtu = PathMtu::link_mtu(&self.config);
        self.sync_segment_size();
    }

    /// The peer has offered a larger window than ever before.
    pub(crate) fn on_larger_window(&mut self, window: u32) {
        self.peer_window.set_largest(window);
        if self.config.sending.silly_window == SillyWindow::WholeBuffer {
            self.sync_segment_size();
        }
    }

    /// Handles an ICMP error with the path MTU `mtu`.
    pub(crate) fn on_packet_too_big(&mut self, mtu: u32, now: Instant) {
        if self.config.path.discovery != MtuDiscovery::On
            || self.config.path.is_mtu_locked
            || mtu >= self.path.mtu
        {
            return;
        }
        // No IPv6 link has a smaller MTU (RFC 8201 §4).
        if self.config.path.ip_header_bytes == IPV6_HEADER_BYTES && mtu < MIN_IPV6_MTU {
            return;
        }
        self.path.mtu = mtu.max(self.config.path.min_mtu.min(self.path.mtu));
        self.path.mtu_expires = now + self.config.path.path_mtu_lifetime;
        if mtu < self.path.mtu {
            self.soft_error = Some(Unreachable::TooLarge);
        }
        if let Some(search) = &mut self.mtu_search {
            search.high = search.high.min(self.path.mtu);
        }
        self.sync_segment_size();
        if self.state.is_synchronised() {
            self.retransmit_too_large(now);
        }
    }

    /// Retransmits segments that are too large now, in pieces and without reducing the window
    /// (Linux `tcp_simple_retransmit`).
    pub(crate) fn retransmit_too_large(&mut self, now: Instant) {
        if !self.cut_too_large() {
            return;
        }
        if self.recovery.state() != RecoveryState::Loss {
            self.window.set_threshold(self.threshold_without_reduction());
            self.recovery.set_end(self.send.next());
            self.undo.clear();
            self.enter_loss(now);
        }
        self.retransmissions.set_due(Transmission::Lost);
        self.frto.stop();
        self.rto.hasten(now, self.rto.timeout());
    }

    /// Cuts outstanding data into segments of the present size, and marks larger ones lost. Returns
    /// whether there was any.
    pub(crate) fn cut_too_large(&mut self) -> bool {
        if !self.queue.cut_and_mark_lost(self.segment_bytes) {
            return false;
        }
        self.scoreboard.restart_scan(&self.queue);
        self.rack.restart_scan(&self.queue);
        self.retransmissions.on_cut(self.queue.first_index());
        true
    }
}

/// The search for the packet size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MtuSearch {
    /// Size of packets that are known to arrive, in bytes.
    low: u32,
    /// Packets of this size may, in bytes.
    high: u32,
    probe: Option<Probe>,
    /// Start of the search.
    began_at: Instant,
}

/// An outstanding MTU probe.
#[derive(Debug, Clone, Copy)]
struct Probe {
    mtu: u32,
    start: SequenceNumber,
    end: SequenceNumber,
}

impl MtuSearch {
    pub(crate) fn is_under_way(&self) -> bool {
        self.probe.is_some()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MtuProbeDecision {
    None,
    /// It waits until there is room for a probe.
    Waits,
    /// It sends a probe with this many bytes.
    Sends(u32),
}

/// Minimum window in segments for a probe.
const MIN_WINDOW: u32 = 11;

impl Sender {
    /// Begins the search, if probing is always on.
    pub(crate) fn begin_mtu_search(&mut self, now: Instant) {
        if self.config.path.probing == MtuProbing::Always {
            self.mtu_search = Some(self.new_search(now));
            // The passive end keeps its segment size (Linux `tcp_init_transfer`).
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
            high: self.path.max_segment() + headers,
            probe: None,
            began_at: now,
        }
    }

    /// Whether the next segment should be a probe.
    #[cold]
    pub(super) fn try_mtu_probe(&mut self, now: Instant) -> MtuProbeDecision {
        let Some(search) = self.mtu_search else { return MtuProbeDecision::None };
        let steady = search.probe.is_none()
            && self.recovery.state() == RecoveryState::Open
            && self.window.segments() >= MIN_WINDOW
            && !self.piggyback.has_hole();
        if !steady {
            return MtuProbeDecision::None;
        }
        let range = search.high.saturating_sub(search.low);
        if range < u32::from(self.config.path.probing_threshold) {
            if now.saturating_since(search.began_at) >= self.config.path.probing_interval {
                self.restart_search(now);
            }
            return MtuProbeDecision::None;
        }
        let size = self.payload_for(u32::midpoint(search.high, search.low));
        let needed = size + (self.reordering.threshold() + 1) * self.segment_bytes;
        if self.written.unsent() < u64::from(needed) || self.peer_window.bytes() < needed {
            return MtuProbeDecision::None;
        }
        if self.usable_window() < needed {
            return MtuProbeDecision::Waits;
        }
        let in_flight = self.in_flight();
        if in_flight + 2 > self.window.segments() {
            return if in_flight == 0 { MtuProbeDecision::None } else { MtuProbeDecision::Waits };
        }
        if self.written.join_first(size) {
            MtuProbeDecision::Sends(size)
        } else {
            MtuProbeDecision::None
        }
    }

    /// The path may have changed: everything above the present size is possible again.
    fn restart_search(&mut self, now: Instant) {
        let low = self.segment_bytes + self.header_bytes() + self.negotiated.option_bytes();
        let high = self.path.max_segment() + self.header_bytes();
        self.mtu_search = Some(MtuSearch { low, high, probe: None, began_at: now });
    }

    /// Records a probe of `bytes` bytes, which counts as two segments.
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

    /// Whether the lost segment is an MTU probe, which shows a narrower path, not congestion.
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
        let (base, floor) = (path.probing_base, path.probing_floor.max(path.min_segment));
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
