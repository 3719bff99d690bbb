//! The receiving half as the handshake sets it up.
//!
//! Source: Linux 6.18 `tcp_connect_init`, `tcp_openreq_init_rwin`, `tcp_finish_connect`,
//! `tcp_rcv_synsent_state_process`, `tcp_initialize_rcv_mss`.

use super::packet::Packet;
use super::window::{FirstWindow, covering_shift, first_window};
use crate::config::{BufferAccounting, Config, LEAST_BUFFER};
use crate::connection::Connection;
use crate::state::State;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment};

/// How long the last ACK of the handshake waits for data to carry it, where it waits
/// (`TCP_DELACK_MAX`).
const OPENING_DELAY: Span = Span::from_millis(200);

impl Config {
    /// Gives the receiver a buffer that offers windows of `bytes` at most, to a peer whose segments are
    /// full-sized, and that does not grow beyond. Set `mss` before.
    pub fn set_receive_window(&mut self, bytes: u32) {
        if self.receiving.accounting != BufferAccounting::Memory {
            self.receive_buffer = bytes;
            return;
        }
        let headers = self.path.ip_header_bytes + fairwind_wire::TCP_HEADER_BYTES;
        let packet = Packet::received(headers, u32::from(self.mss));
        let half = packet.memory_for(bytes).saturating_add(packet.memory).div_ceil(2);
        self.receive_buffer = half;
        self.receiving.greatest_buffer = half.saturating_mul(2);
    }
}

impl Connection {
    /// Chooses the window of our SYN.
    pub(crate) fn choose_first_window(&mut self) {
        let answers = self.state == State::SynReceived || self.state == State::Listen;
        let scales = self.config.window_scaling && (!answers || self.peer_scales);
        let options = if answers { self.negotiated.option_bytes() } else { 0 };
        let bytes = u32::from(self.config.mss).saturating_sub(options).max(1);
        let full = self.buffer.full_window();
        self.first_window = if self.counts_memory() {
            first_window(&self.config, full, bytes, scales)
        } else {
            let buffer = self.config.receive_buffer;
            let shift = if scales { covering_shift(buffer) } else { 0 };
            FirstWindow { bytes: buffer.min(u32::from(u16::MAX)), shift, clamp: buffer }
        };
    }

    /// The peer's SYN is known: windows are scaled, or not. Where both ends open at once, Linux goes on
    /// with what its own SYN said (`tcp_rcv_synsent_state_process`).
    pub(crate) fn choose_shift(&mut self, syn: &Segment) {
        if self.state == State::Listen {
            self.choose_first_window();
        }
        let crosses = self.state == State::SynSent && !syn.flags.contains(Flags::ACK);
        let insists = crosses && self.counts_memory();
        if !(self.config.window_scaling && (self.peer_scales || insists)) {
            self.first_window.shift = 0;
            self.first_window.clamp = self.first_window.clamp.min(u32::from(u16::MAX));
        }
        self.negotiated.receive_shift = self.first_window.shift;
    }

    /// The handshake is over.
    pub(crate) fn open_receiver(&mut self, now: Instant) {
        let announced_mss = self.announced_mss();
        self.buffer.threshold = self.first_window.bytes;
        self.buffer.clamp = self.first_window.clamp;
        self.buffer.open(announced_mss);
        let largest = announced_mss.min(self.negotiated.segment_bytes);
        self.segment_size.begin(largest, self.first_window.bytes);
        self.begin_tuning(now);
    }

    /// Acknowledges the peer's SYN-ACK: at once, unless data is expected to follow that can carry the
    /// acknowledgment.
    pub(crate) fn acknowledge_opening(&mut self, now: Instant) {
        if !(self.config.receiving.starts_interactive || self.fast_open.data_waits) {
            self.acknowledger.now = true;
            return;
        }
        self.acknowledge_quickly();
        self.timers.delayed_ack.set(now, OPENING_DELAY);
    }

    /// Takes over what an application or an administrator has changed in an open connection.
    pub(crate) fn reconfigure_receiver(&mut self, before: &Config, config: &Config) {
        if config.receive_buffer != before.receive_buffer {
            self.buffer.limit = config.receive_buffer.saturating_mul(2).max(LEAST_BUFFER);
        }
        if config.receiving.window_clamp != before.receiving.window_clamp
            && let Some(clamp) = config.receiving.window_clamp
        {
            let window = self.announced_window_then();
            self.buffer.set_clamp(clamp, window);
        }
    }

    /// Memory of the receive buffer in bytes (`SO_RCVBUF`).
    pub fn receive_memory(&self) -> u32 {
        self.buffer.limit
    }

    /// Largest window to be offered at present, in bytes (`TCP_WINDOW_CLAMP`).
    pub fn window_clamp(&self) -> u32 {
        self.buffer.clamp
    }

    /// Payload that a segment of the peer can hold (`advmss`).
    #[inline]
    pub(crate) fn announced_mss(&self) -> u32 {
        u32::from(self.config.mss).saturating_sub(self.negotiated.option_bytes())
    }

    /// Bytes of the header that every segment has (`tcp_header_len`).
    #[inline]
    pub(crate) fn steady_header(&self) -> u32 {
        fairwind_wire::TCP_HEADER_BYTES + self.negotiated.option_bytes()
    }
}
