//! Complaints of the path: ICMP messages about a segment of ours.
//!
//! Source: Linux `tcp_v4_err`, `tcp_v4_mtu_reduced`, `tcp_simple_retransmit`, `tcp_ld_RTO_revert`;
//! RFC 1191, RFC 8201, RFC 1122 §4.2.3.9, RFC 5927 §4 (only what is outstanding is believed), RFC 6069.

use crate::config::MtuDiscovery;
use crate::connection::Connection;
use crate::event::Event;
use crate::recovery::Transmission;
use crate::state::{RecoveryState, State};
use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

/// Bytes of the header of IPv6.
const IPV6_HEADER_BYTES: u32 = 40;
/// Least packet that every link of IPv6 carries, in bytes (RFC 8200 §5).
const LEAST_IPV6_MTU: u32 = 1280;

/// Why a packet did not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreachable {
    /// No way to the network.
    Network,
    /// No way to the host.
    Host,
    /// The host does not know the protocol.
    Protocol,
    /// Nobody listens at the port.
    Port,
    /// The way is forbidden, or the packet was too long on its way.
    Refused,
    /// The packet was malformed.
    Malformed,
    /// It was too large, and cutting it was not allowed; no smaller one has helped.
    TooLarge,
}

/// What the path complains of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Complaint {
    /// The packet is too large for the next link, whose size this is in bytes.
    TooLarge {
        /// Largest packet of the next link in bytes; 0 where it was not told.
        mtu: u32,
    },
    /// The packet did not arrive.
    Unreachable(Unreachable),
}

impl Connection {
    /// Takes a complaint of the path about a segment of this connection that began at `quoted`. Drain
    /// [`poll_segment`](Self::poll_segment) and [`poll_event`](Self::poll_event) afterwards.
    #[cold]
    pub fn on_complaint(&mut self, now: Instant, quoted: SequenceNumber, complaint: Complaint) {
        let outstanding = quoted.is_at_or_after(self.send.oldest_unacked)
            && quoted.is_at_or_before(self.send.next);
        if !outstanding || matches!(self.state, State::Closed | State::Listen | State::TimeWait) {
            return;
        }
        match complaint {
            Complaint::TooLarge { mtu } => self.on_smaller_path(mtu, now),
            Complaint::Unreachable(reason) => self.on_unreachable(reason, quoted, now),
        }
        self.check_invariants();
    }

    /// Before the connection is open that ends the attempt; afterwards it is remembered, and tried
    /// on (RFC 1122 §4.2.3.9).
    fn on_unreachable(&mut self, reason: Unreachable, quoted: SequenceNumber, now: Instant) {
        let way_lost = matches!(reason, Unreachable::Network | Unreachable::Host);
        match self.state {
            // One that is in use early and has been accepted is treated as open (Linux `tcp_v4_err`).
            State::SynReceived if self.is_early() && self.fast_open.accepted => {
                self.complaint = Some(reason);
            }
            State::SynReceived if self.is_early() => {
                self.become_closed();
                self.events.push_back(Event::Unreachable(reason));
            }
            State::SynSent => {
                self.become_closed();
                self.events.push_back(Event::Unreachable(reason));
            }
            State::SynReceived => {
                if way_lost {
                    self.become_closed();
                    self.events.push_back(Event::Closed);
                }
            }
            _ => {
                if self.config.path.tells_complaints {
                    self.events.push_back(Event::Unreachable(reason));
                } else {
                    self.complaint = Some(reason);
                }
                if way_lost {
                    self.revert_backoff(quoted, now);
                }
            }
        }
    }

    /// The oldest segment was lost for want of a way, not to congestion: its time-out is backed off
    /// once less (RFC 6069).
    fn revert_backoff(&mut self, quoted: SequenceNumber, now: Instant) {
        let Some(oldest) = self.queue.front() else { return };
        if quoted != self.send.oldest_unacked || self.backoff.expired == 0 {
            return;
        }
        let least = self.rtt.timeout(&self.config);
        if self.backoff.timeout <= least {
            return;
        }
        let sent_at = oldest.transmitted_at;
        self.backoff.timeout = (self.backoff.timeout / 2).max(least);
        let left = (sent_at + self.backoff.timeout).saturating_since(now);
        self.timers.retransmission.set(now, left);
    }

    /// The path carries less than was believed.
    fn on_smaller_path(&mut self, mtu: u32, now: Instant) {
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
        self.path.mtu_expires = now + self.config.path.complaint_lifetime;
        if mtu < self.path.mtu {
            self.complaint = Some(Unreachable::TooLarge);
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
        if self.recovery.state != RecoveryState::Loss {
            self.window.slow_start_threshold = self.threshold_without_reduction();
            self.recovery.end = self.send.next;
            self.forget_account();
            self.enter_loss(now);
        }
        self.recovery.due = Transmission::Lost;
        self.recovery.trial = false;
        self.timers.retransmission.hasten(now, self.backoff.timeout);
    }

    /// Cuts what is outstanding into segments of the present size, and takes what was too large for
    /// lost. Returns whether there was any.
    pub(crate) fn cut_too_large(&mut self) -> bool {
        if !self.queue.cut_and_mark_lost(self.negotiated.segment_bytes) {
            return false;
        }
        self.scoreboard.unsettle(&self.queue);
        self.recovery.rack.reconsider(&self.queue);
        self.recovery.unproven_from = self.queue.first_index();
        true
    }

    /// What the path complained of since data was acknowledged last, if the application asks before it
    /// is told (`SO_ERROR`); it is not told a second time.
    pub fn take_complaint(&mut self) -> Option<Unreachable> {
        self.complaint.take()
    }

    /// What the application is told when the connection is given up: the last complaint, if there was
    /// one since data was acknowledged.
    pub(crate) fn reason_for_giving_up(&self) -> Event {
        self.complaint.map_or(Event::TimedOut, Event::Unreachable)
    }
}
