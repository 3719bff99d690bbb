//! Options negotiated by the SYNs (RFC 7323, RFC 2018, RFC 6691).

use crate::config::Config;
use fairwind_wire::{Options, Segment};

/// MSS assumed where the peer names none (RFC 9293 §3.7.1).
pub(crate) const DEFAULT_MSS: u16 = 536;
/// Bytes that timestamps take in every header, padded.
pub(crate) const TIMESTAMPS_BYTES: u32 = 12;
/// Greatest window shift (RFC 7323 §2.3).
pub(crate) const GREATEST_SHIFT: u8 = 14;

/// The negotiated options.
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
    /// Before the peer's SYN is known.
    pub(crate) fn nothing() -> Self {
        Self {
            sack: false,
            timestamps: false,
            send_shift: 0,
            receive_shift: 0,
            segment_bytes: u32::from(DEFAULT_MSS),
        }
    }

    /// What follows from our wishes and the peer's SYN (RFC 7323 §1.3, RFC 2018 §2, RFC 6691).
    pub(crate) fn from_peer(config: &Config, syn: &Segment) -> Self {
        let offered = &syn.options;
        let timestamps = config.timestamps && offered.timestamps.is_some();
        let scaling = config.window_scaling && offered.window_scale.is_some();
        let mss = offered.mss.unwrap_or(DEFAULT_MSS).min(config.mss);
        let overhead = if timestamps { TIMESTAMPS_BYTES } else { 0 };
        Self {
            sack: config.sack && offered.sack_permitted,
            timestamps,
            send_shift: if scaling {
                offered.window_scale.unwrap_or(0).min(GREATEST_SHIFT)
            } else {
                0
            },
            // Chosen with the first window.
            receive_shift: 0,
            segment_bytes: u32::from(mss).saturating_sub(overhead).max(1),
        }
    }

    /// Whether SACK was negotiated.
    #[inline]
    pub(crate) fn has_sack(self) -> bool {
        self.sack
    }

    /// Whether timestamps were negotiated.
    #[inline]
    pub(crate) fn has_timestamps(self) -> bool {
        self.timestamps
    }

    /// Shift of the windows that the peer offers.
    #[inline]
    pub(crate) fn send_shift(self) -> u8 {
        self.send_shift
    }

    /// Shift of the windows offered to the peer.
    #[inline]
    pub(crate) fn receive_shift(self) -> u8 {
        self.receive_shift
    }

    /// Sets the shift of the windows offered to the peer.
    #[inline]
    pub(crate) fn set_receive_shift(&mut self, shift: u8) {
        self.receive_shift = shift;
    }

    /// Payload bytes of a full-sized segment by the peer's MSS.
    #[inline]
    pub(crate) fn segment_bytes(self) -> u32 {
        self.segment_bytes
    }

    /// Bytes of the options that every segment carries.
    #[inline]
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
        let most = if self.timestamps { 3 } else { 4 };
        let left = segment_bytes.saturating_sub(payload_bytes);
        let fitting = left.saturating_sub(SACK_OPTION_BYTES) / SACK_BLOCK_BYTES;
        usize::try_from(fitting).map_or(most, |fitting| fitting.min(most))
    }
}

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
/// Bytes of one SACK block.
const SACK_BLOCK_BYTES: u32 = 8;

/// Options of our own SYN: everything wished for; on a SYN-ACK only what the peer offered too.
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
    fn only_what_both_want_is_agreed() {
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
    fn a_silent_peer_gets_536_bytes_and_no_scaling() {
        let agreed = Negotiated::from_peer(&Profile::Rfc.config(), &Segment::default());
        assert_eq!((agreed.segment_bytes, agreed.receive_shift), (536, 0));
    }
}
