//! How large a segment may be: the path, the peer, the application and the peer's window bound it.
//!
//! Source: RFC 9293 §3.7.1, RFC 6691; Linux `tcp_mtu_to_mss`, `tcp_sync_mss`,
//! `tcp_bound_to_half_wnd`.

use super::retransmit::Transmission;
use crate::config::{Config, MtuDiscovery, SillyWindow};
use crate::event::Unreachable;
use crate::handshake::negotiation::DEFAULT_MSS;
use crate::sender::Sender;
use crate::state::RecoveryState;
use fairwind_units::Instant;
use fairwind_wire::{Segment, TCP_HEADER_BYTES};

/// Segment size of a peer that names none, over IPv6 (RFC 9293 §3.7.1).
const DEFAULT_MSS_V6: u16 = 1220;
/// Bytes of the header of IPv6.
const IPV6_HEADER_BYTES: u32 = 40;
/// Least packet that every link of IPv6 carries, in bytes (RFC 8200 §5).
const LEAST_IPV6_MTU: u32 = 1280;

/// What bounds the size of segments.
#[derive(Debug)]
pub(crate) struct Path {
    /// Largest packet that the path is believed to carry in bytes.
    mtu: u32,
    /// When that is forgotten again, after an ICMP error.
    mtu_expires: Instant,
    /// The peer's and the application's bound in bytes, options included.
    greatest_segment: u32,
}

impl Path {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            mtu: Self::link_mtu(config),
            mtu_expires: Instant::MAX,
            greatest_segment: u32::from(u16::MAX),
        }
    }

    /// Largest packet of the first link in bytes.
    pub(crate) fn link_mtu(config: &Config) -> u32 {
        let headers = config.path.ip_header_bytes + TCP_HEADER_BYTES;
        config.path.mtu.unwrap_or(u32::from(config.mss) + headers)
    }

    /// Largest packet that the path is believed to carry in bytes.
    #[inline]
    pub(crate) fn mtu(&self) -> u32 {
        self.mtu
    }

    /// The peer's and the application's bound on segments in bytes, options included.
    #[inline]
    pub(crate) fn greatest_segment(&self) -> u32 {
        self.greatest_segment
    }

    /// Takes the peer's bound from its SYN.
    pub(crate) fn learn(&mut self, config: &Config, syn: &Segment) {
        let default = if config.path.ip_header_bytes > 20 { DEFAULT_MSS_V6 } else { DEFAULT_MSS };
        let named = syn.options.mss.filter(|&mss| mss > 0).unwrap_or(default);
        let own = config.path.greatest_segment.unwrap_or(u16::MAX);
        self.greatest_segment = u32::from(named.min(own));
    }

    /// The segment size for packets of `mtu` bytes, options included (Linux `__tcp_mtu_to_mss`).
    pub(crate) fn segment_for(&self, config: &Config, mtu: u32) -> u32 {
        let headers = config.path.ip_header_bytes + TCP_HEADER_BYTES;
        let fitting = mtu.saturating_sub(headers).min(self.greatest_segment);
        fitting.max(u32::from(config.path.least_segment))
    }
}

impl Sender {
    /// Payload of a full segment in packets of `mtu` bytes (Linux `tcp_mtu_to_mss`).
    pub(crate) fn payload_for(&self, mtu: u32) -> u32 {
        let fitting = self.path.segment_for(&self.config, mtu);
        fitting.saturating_sub(self.negotiated.option_bytes()).max(1)
    }

    /// Bytes of both headers without options.
    #[inline]
    pub(crate) fn header_bytes(&self) -> u32 {
        self.config.path.ip_header_bytes + TCP_HEADER_BYTES
    }

    /// Sets the segment size anew (Linux `tcp_sync_mss`).
    pub(crate) fn sync_segment_size(&mut self) {
        let known = self.mtu_search.map_or(u32::MAX, |search| search.known_mtu());
        let fitting = self.payload_for(self.path.mtu.min(known));
        self.segment_bytes = match self.config.sending.silly_window {
            SillyWindow::WholeBuffer => self.bound_to_half_window(fitting),
            SillyWindow::Rfc => fitting,
        };
    }

    /// Data that was written last may go in larger segments, if the ICMP error is old enough.
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
        self.path.mtu = Path::link_mtu(&self.config);
        self.sync_segment_size();
    }

    /// The peer has offered a larger window than ever before.
    pub(crate) fn on_larger_window(&mut self, window: u32) {
        self.peer_window.set_largest(window);
        if self.config.sending.silly_window == SillyWindow::WholeBuffer {
            self.sync_segment_size();
        }
    }

    /// An ICMP error says that the path carries packets of `mtu` bytes at most.
    pub(crate) fn on_packet_too_big(&mut self, mtu: u32, now: Instant) {
        if self.config.path.discovery != MtuDiscovery::On
            || self.config.path.is_mtu_locked
            || mtu >= self.path.mtu
        {
            return;
        }
        // No link of IPv6 is smaller: whoever says so has other things in mind (RFC 8201 §4).
        if self.config.path.ip_header_bytes == IPV6_HEADER_BYTES && mtu < LEAST_IPV6_MTU {
            return;
        }
        self.path.mtu = mtu.max(self.config.path.least_mtu.min(self.path.mtu));
        self.path.mtu_expires = now + self.config.path.path_mtu_lifetime;
        if mtu < self.path.mtu {
            self.soft_error = Some(Unreachable::TooLarge);
        }
        self.sync_segment_size();
        if self.state.is_synchronised() {
            self.repair_too_large(now);
        }
    }

    /// Segments that are too large now are lost, but not to congestion (Linux
    /// `tcp_simple_retransmit`): the window stays, and they go again in pieces.
    pub(crate) fn repair_too_large(&mut self, now: Instant) {
        if !self.cut_too_large() {
            return;
        }
        if self.recovery.state() != RecoveryState::Loss {
            self.window.set_threshold(self.threshold_without_reduction());
            self.recovery.set_end(self.send.next());
            self.clear_undo();
            self.enter_loss(now);
        }
        self.retransmissions.set_due(Transmission::Lost);
        self.frto.stop();
        self.rto.hasten(now, self.rto.timeout());
    }

    /// Cuts what is outstanding into segments of the present size, and takes what was too large for
    /// lost. Returns whether there was any.
    pub(crate) fn cut_too_large(&mut self) -> bool {
        if !self.queue.cut_and_mark_lost(self.segment_bytes) {
            return false;
        }
        self.scoreboard.unsettle(&self.queue);
        self.rack.reconsider(&self.queue);
        self.retransmissions.on_cut(self.queue.first_index());
        true
    }
}
