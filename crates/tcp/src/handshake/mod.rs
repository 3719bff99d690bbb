//! The three-way handshake: SYN transmissions, option negotiation, Fast Open.
//!
//! Source: RFC 9293 §3.5, RFC 7323, RFC 2018, RFC 6691; Linux 6.18 `tcp_rcv_synsent_state_process`, `tcp_check_req`,
//! `syn_ack_recalc`.

pub(crate) mod fast_open;

pub(crate) use fast_open::DEFAULT_MSS;
pub use fast_open::{CookieKey, FastOpenFailure, FastOpenPermit, FastOpenSyn, FastOpenUpdate};

use crate::config::Config;
use crate::timers::timestamp_at;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Options, Segment, Timestamps};
use fast_open::FastOpenState;

/// RTO if SYN had to be repeated and there is no sample (RFC 6298 §5.7).
pub(crate) const RTO_AFTER_LOST_SYN: Span = Span::from_secs(3);

#[derive(Debug)]
pub(crate) struct Handshake {
    fast_open: FastOpenState,
    /// The peer has begun the handshake.
    is_passive: bool,
    /// The last ACK has arrived without the data that the application waits for
    /// (`TCP_DEFER_ACCEPT`).
    is_deferred: bool,
    /// The peer's SYN has the window-scale option.
    peer_scales: bool,
    /// When SYN was sent first.
    syn_sent_at: Instant,
    /// Transmissions of SYN.
    transmissions: u32,
}

impl Handshake {
    getters! {
        is_passive: bool,
        peer_scales: bool,
        transmissions: u32,
        syn_sent_at: Instant,
        fast_open: &FastOpenState,
        fast_open_mut: &mut FastOpenState = fast_open,
    }

    pub(crate) fn new(is_passive: bool) -> Self {
        Self {
            fast_open: FastOpenState::default(),
            is_passive,
            is_deferred: false,
            peer_scales: false,
            syn_sent_at: Instant::ZERO,
            transmissions: 0,
        }
    }

    /// Notes the options of the peer's SYN.
    pub(crate) fn learn_peer(&mut self, syn: &Segment) {
        self.peer_scales = syn.options.window_scale.is_some();
    }

    /// Counts a SYN. Returns the number of earlier ones.
    pub(crate) fn on_syn_sent(&mut self, now: Instant) -> u32 {
        if self.transmissions == 0 {
            self.syn_sent_at = now;
        }
        self.transmissions += 1;
        self.transmissions - 1
    }

    /// Handles the SYN of a simultaneous open: our SYN-ACK is no retransmission of our SYN. Returns
    /// whether SYN was sent more than once.
    pub(crate) fn on_crossing_syn(&mut self) -> bool {
        let repeated = self.transmissions != 1;
        if !repeated {
            self.transmissions = 0;
        }
        repeated
    }

    /// Whether the timestamp echo of an answer, if any, is that of one of our SYNs (RFC 7323 §3.2).
    pub(crate) fn is_echo_of_syn(&self, answer: &Segment, config: &Config, now: Instant) -> bool {
        match answer.options.timestamps {
            Some(Timestamps { echo, .. }) if echo != 0 && config.timestamps => {
                let first = timestamp_at(self.syn_sent_at);
                echo.wrapping_sub(first) <= timestamp_at(now).wrapping_sub(first)
            }
            _ => true,
        }
    }

    /// Whether an answer echoes the first SYN, so that the retransmission was spurious (Linux
    /// `tcp_try_undo_spurious_syn`).
    pub(crate) fn is_echo_of_first_syn(&self, answer: &Segment) -> bool {
        Self::echo(answer) == Some(timestamp_at(self.syn_sent_at))
    }

    /// The timestamp echo of an answer.
    pub(crate) fn echo(answer: &Segment) -> Option<u32> {
        answer.options.timestamps.map(|stamps| stamps.echo).filter(|&echo| echo != 0)
    }

    /// Whether a bare ACK leaves the handshake unfinished, because the application waits for data
    /// (`TCP_DEFER_ACCEPT`); `timeouts` of the SYN-ACK have expired.
    pub(crate) fn defers(&mut self, is_bare: bool, timeouts: u32, config: &Config) -> bool {
        let deferred = timeouts < config.receiving.deferred_timeouts && is_bare;
        self.is_deferred |= deferred;
        deferred
    }

    /// Whether a time-out retransmits SYN. While the last ACK waits for data, SYN-ACK is
    /// retransmitted only at the end of that time.
    pub(crate) fn retransmits_syn(&self, timeouts: u32, config: &Config) -> bool {
        !self.is_deferred || timeouts >= config.receiving.deferred_timeouts
    }
}

/// The bits that distinguish a SYN from everything else.
const SYN_KIND: u16 = Flags::SYN.bits() | Flags::ACK.bits() | Flags::RST.bits() | Flags::FIN.bits();

/// Whether a segment is a SYN without other control bits.
pub(crate) fn is_pure_syn(segment: &Segment) -> bool {
    segment.flags.bits() & SYN_KIND == Flags::SYN.bits()
}

/// Bytes that timestamps take in every header, padded.
pub(crate) const TIMESTAMPS_BYTES: u32 = 12;
/// Maximum window shift (RFC 7323 §2.3).
pub(crate) const MAX_SHIFT: u8 = 14;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Negotiated {
    sack: bool,
    timestamps: bool,
    /// Shift of the windows that the peer offers.
    send_shift: u8,
    /// Shift of the windows offered to the peer.
    receive_shift: u8,
    /// Payload bytes of a full-sized segment: the peer's MSS less the options of every segment.
    segment_bytes: u32,
}

impl Negotiated {
    getters! {
        send_shift: u8,
        receive_shift: u8,
        segment_bytes: u32,
        has_sack: bool = sack,
        has_timestamps: bool = timestamps,
    }

    /// State before the peer's SYN.
    pub(crate) fn nothing() -> Self {
        Self {
            sack: false,
            timestamps: false,
            send_shift: 0,
            receive_shift: 0,
            segment_bytes: u32::from(DEFAULT_MSS),
        }
    }

    /// The part of a SYN that a SYN cookie restores. With timestamps that is all but the exact segment
    /// size, of which there are four; without them only that size (Linux `__cookie_v4_init_sequence`,
    /// `cookie_init_timestamp`, `tcp_v4_parse_mss_option`).
    pub(crate) fn cookie_syn(config: &Config, syn: &Segment) -> Segment {
        let known = syn.options;
        let sizes = if config.path.ip_header_bytes > 20 { SIZES_V6 } else { SIZES_V4 };
        let offered = known.mss.unwrap_or(DEFAULT_MSS);
        let size = sizes.into_iter().rev().find(|&size| size <= offered).unwrap_or(sizes[0]);
        let options = if config.timestamps && known.timestamps.is_some() {
            Options { mss: Some(size), ..known }
        } else {
            Options { mss: Some(size), ..Options::NONE }
        };
        Segment { options, ..*syn }
    }

    /// Result of our settings and the peer's SYN (RFC 7323 §1.3, RFC 2018 §2, RFC 6691).
    pub(crate) fn from_peer(config: &Config, syn: &Segment) -> Self {
        let offered = &syn.options;
        let timestamps = config.timestamps && offered.timestamps.is_some();
        let scaling = config.window_scaling && offered.window_scale.is_some();
        let mss = offered.mss.unwrap_or(DEFAULT_MSS).min(config.mss);
        let overhead = if timestamps { TIMESTAMPS_BYTES } else { 0 };
        Self {
            sack: config.sack && offered.sack_permitted,
            timestamps,
            send_shift: if scaling { offered.window_scale.unwrap_or(0).min(MAX_SHIFT) } else { 0 },
            // Chosen with the first window.
            receive_shift: 0,
            segment_bytes: u32::from(mss).saturating_sub(overhead).max(1),
        }
    }

    pub(crate) fn set_receive_shift(&mut self, shift: u8) {
        self.receive_shift = shift;
    }

    /// Bytes of the options that every segment carries.
    pub(crate) fn option_bytes(self) -> u32 {
        if self.timestamps { TIMESTAMPS_BYTES } else { 0 }
    }

    /// SACK blocks that fit beside the other options (RFC 2018 §3) and `payload_bytes` of payload:
    /// `segment_bytes`, the size of a full segment, bounds both together (RFC 6691).
    #[inline]
    pub(crate) fn sack_room(self, payload_bytes: u32, segment_bytes: u32) -> usize {
        if !self.sack {
            return 0;
        }
        let max = if self.timestamps { 3 } else { 4 };
        let left = segment_bytes.saturating_sub(payload_bytes);
        let fitting = left.saturating_sub(SACK_OPTION_BYTES) / SACK_BLOCK_BYTES;
        usize::try_from(fitting).map_or(max, |fitting| fitting.min(max))
    }
}

/// Segment sizes that a SYN cookie can hold (`msstab`).
const SIZES_V4: [u16; 4] = [536, 1300, 1440, 1460];
const SIZES_V6: [u16; 4] = [1220, 1420, 1440, 8940];

/// Bytes that an option with `blocks` SACK blocks takes.
pub(crate) fn sack_option_bytes(blocks: usize) -> u32 {
    let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
    match blocks {
        0 => 0,
        _ => SACK_OPTION_BYTES.saturating_add(blocks.saturating_mul(SACK_BLOCK_BYTES)),
    }
}

/// Bytes of the SACK option before its blocks, padded.
const SACK_OPTION_BYTES: u32 = 4;
const SACK_BLOCK_BYTES: u32 = 8;

/// Options of our SYN: all that are configured; on a SYN-ACK only those that the peer offered too.
pub(crate) fn syn_options(
    config: &Config,
    peer: Option<&Negotiated>,
    peer_scales: bool,
    window_shift: u8,
) -> Options {
    let scaling = config.window_scaling && (peer.is_none() || peer_scales);
    Options {
        mss: Some(config.mss),
        window_scale: scaling.then_some(window_shift),
        sack_permitted: peer.map_or(config.sack, |agreed| agreed.sack),
        ..Options::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn only_common_options_are_negotiated() {
        let config = Profile::Linux6_18.config();
        assert_eq!(config.mss, 1500 - 20 - 20, "what fits behind two headers in an Ethernet frame");
        let mut syn =
            Segment { options: syn_options(&config, None, false, 7), ..Segment::default() };
        let agreed = Negotiated::from_peer(&config, &syn);
        assert!(agreed.sack && !agreed.timestamps);
        assert_eq!((agreed.segment_bytes, agreed.sack_room(0, 1460)), (1460, 4));
        syn.options.timestamps = Some(fairwind_wire::Timestamps::default());
        let agreed = Negotiated::from_peer(&config, &syn);
        assert_eq!((agreed.segment_bytes, agreed.sack_room(0, 1448)), (1448, 3));
    }

    #[test]
    fn peer_without_options_gets_defaults() {
        let agreed = Negotiated::from_peer(&Profile::Rfc.config(), &Segment::default());
        assert_eq!((agreed.segment_bytes, agreed.receive_shift), (536, 0));
    }
}
