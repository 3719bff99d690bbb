//! The three-way handshake: SYN transmissions, option negotiation, Fast Open.
//!
//! Source: RFC 9293 §3.5; Linux 6.18 `tcp_rcv_synsent_state_process`, `tcp_check_req`,
//! `syn_ack_recalc`.

pub(crate) mod fast_open;
pub(crate) mod negotiation;

pub use fast_open::{CookieKey, FastOpenFailure, FastOpenPermit, FastOpenSyn, FastOpenUpdate};

use crate::config::Config;
use crate::timers::timestamp_at;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment, Timestamps};
use fast_open::FastOpenState;

/// RTO if SYN had to be repeated and there is no sample (RFC 6298 §5.7).
pub(crate) const RTO_AFTER_LOST_SYN: Span = Span::from_secs(3);

/// The state of the handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    fast_open: FastOpenState,
    /// The peer has begun the handshake.
    is_passive: bool,
    /// The last ACK has come without the data that the application waits for (`TCP_DEFER_ACCEPT`).
    is_deferred: bool,
    /// The peer's SYN has the window-scale option.
    peer_scales: bool,
    /// When SYN was sent first.
    syn_sent_at: Instant,
    /// How often SYN was sent.
    transmissions: u32,
}

impl Handshake {
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

    /// The Fast Open state.
    #[inline]
    pub(crate) fn fast_open(&self) -> &FastOpenState {
        &self.fast_open
    }

    /// The Fast Open state, to be changed.
    pub(crate) fn fast_open_mut(&mut self) -> &mut FastOpenState {
        &mut self.fast_open
    }

    /// Whether the peer has begun the handshake.
    #[inline]
    pub(crate) fn is_passive(&self) -> bool {
        self.is_passive
    }

    /// Notes the options of the peer's SYN.
    pub(crate) fn learn_peer(&mut self, syn: &Segment) {
        self.peer_scales = syn.options.window_scale.is_some();
    }

    /// Whether the peer's SYN has the window-scale option.
    pub(crate) fn peer_scales(&self) -> bool {
        self.peer_scales
    }

    /// SYN goes out. Returns how often it did before.
    pub(crate) fn on_syn_sent(&mut self, now: Instant) -> u32 {
        if self.transmissions == 0 {
            self.syn_sent_at = now;
        }
        self.transmissions += 1;
        self.transmissions - 1
    }

    /// Both ends open at once: the SYN-ACK that answers the crossing SYN is no repetition of our SYN.
    /// Returns whether SYN was sent more than once.
    pub(crate) fn on_crossing_syn(&mut self) -> bool {
        let repeated = self.transmissions != 1;
        if !repeated {
            self.transmissions = 0;
        }
        repeated
    }

    /// How often SYN was sent.
    pub(crate) fn transmissions(&self) -> u32 {
        self.transmissions
    }

    /// When SYN was sent first.
    pub(crate) fn syn_sent_at(&self) -> Instant {
        self.syn_sent_at
    }

    /// Whether the timestamp that an answer echoes, if it does, is one of our SYNs' (RFC 7323 §3.2).
    pub(crate) fn is_echo_of_syn(&self, answer: &Segment, config: &Config, now: Instant) -> bool {
        match answer.options.timestamps {
            Some(Timestamps { echo, .. }) if echo != 0 && config.timestamps => {
                let first = timestamp_at(self.syn_sent_at);
                echo.wrapping_sub(first) <= timestamp_at(now).wrapping_sub(first)
            }
            _ => true,
        }
    }

    /// Whether an answer echoes the first SYN, so that its repetition was spurious (Linux
    /// `tcp_try_undo_spurious_syn`).
    pub(crate) fn is_echo_of_first_syn(&self, answer: &Segment) -> bool {
        Self::echo(answer) == Some(timestamp_at(self.syn_sent_at))
    }

    /// The timestamp that an answer echoes.
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

    /// Whether a time-out repeats SYN: while data is awaited that comes with the last ACK, SYN-ACK is
    /// repeated only at the end of that time.
    pub(crate) fn repeats_syn(&self, timeouts: u32, config: &Config) -> bool {
        !self.is_deferred || timeouts >= config.receiving.deferred_timeouts
    }
}

/// The bits that distinguish a SYN from everything else.
const SYN_KIND: u16 = Flags::SYN.bits() | Flags::ACK.bits() | Flags::RST.bits() | Flags::FIN.bits();

/// Whether a segment is a SYN and nothing else.
pub(crate) fn is_pure_syn(segment: &Segment) -> bool {
    segment.flags.bits() & SYN_KIND == Flags::SYN.bits()
}
