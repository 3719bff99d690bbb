//! The offered window (RCV.WND).
//!
//! Source: RFC 9293 §3.8.6, RFC 7323 §2, RFC 1122 §4.2.3.3 (silly windows); Linux 6.18
//! `tcp_select_initial_window`, `__tcp_select_window`, `tcp_select_window`.

use super::Receiver;
use super::buffer::Skb;
use crate::config::{BufferAccounting, Config};
use crate::handshake::{MAX_SHIFT, Negotiated};
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};

/// The window of a SYN, and the shift of later windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FirstWindow {
    /// In bytes.
    bytes: u32,
    shift: u8,
    /// Largest window from now on.
    clamp: u32,
}

/// Chooses the window of a SYN (`tcp_select_initial_window`). `full` is the window of the whole
/// buffer, `segment` the payload of a full segment.
fn first_window(config: &Config, full: u32, segment: u32, scales: bool) -> FirstWindow {
    let receiving = &config.receiving;
    let mut clamp = receiving.window_clamp.unwrap_or(u32::from(u16::MAX) << MAX_SHIFT);
    if receiving.buffer_is_set {
        clamp = clamp.min(full);
    }
    let asked = receiving.initial_window.map(|segments| segments * segment);
    let mut space = clamp.min(full.max(asked.unwrap_or(0)));
    if space > segment {
        space -= space % segment;
    }
    let bytes = asked.map_or(space, |asked| space.min(asked));
    let mut shift = 0;
    if scales {
        let max = space.max(receiving.max_buffer).max(receiving.max_request).min(clamp);
        let bits = u8::try_from(max.max(1).ilog2()).unwrap_or(MAX_SHIFT);
        shift = bits.saturating_sub(15).min(MAX_SHIFT);
    }
    FirstWindow { bytes, shift, clamp: clamp.min(u32::from(u16::MAX) << shift) }
}

/// The minimum shift that can express the whole receive buffer (RFC 7323 §2).
fn covering_shift(buffer: u32) -> u8 {
    (0..MAX_SHIFT).find(|shift| u16::try_from(buffer >> shift).is_ok()).unwrap_or(MAX_SHIFT)
}

/// A window in units of 2^`shift` bytes, rounded up.
#[inline]
const fn units_of(window: u32, shift: u8) -> u32 {
    let rest = window & ((1 << shift) - 1);
    (window >> shift) + (rest > 0) as u32
}

impl Config {
    /// Sets a buffer for a maximum window of `bytes` with full-sized segments, without autotuning. Set
    /// `mss` before.
    pub fn set_receive_window(&mut self, bytes: u32) {
        if self.receiving.accounting != BufferAccounting::Memory {
            self.receive_buffer = bytes;
            return;
        }
        let headers = self.path.ip_header_bytes + fairwind_wire::TCP_HEADER_BYTES;
        let packet = Skb::received(headers, u32::from(self.mss));
        let half = packet.space_for(bytes).saturating_add(packet.truesize()).div_ceil(2);
        self.receive_buffer = half;
        self.receiving.max_buffer = half.saturating_mul(2);
    }
}

impl Receiver {
    getters! {
        /// The window of our SYN in bytes.
        first_window_bytes: u32 = first_window.bytes,
        /// The shift of windows to come.
        window_shift: u8 = first_window.shift,
    }

    /// Whether the buffer counts memory as Linux does.
    pub(crate) fn counts_memory(&self) -> bool {
        self.config.receiving.accounting == BufferAccounting::Memory
    }

    /// Chooses the window of our SYN; `answers` for a SYN-ACK, `peer_scales` if the peer's SYN has the
    /// window-scale option.
    pub(crate) fn choose_first_window(&mut self, answers: bool, peer_scales: bool) {
        let scales = self.config.window_scaling && (!answers || peer_scales);
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

    /// Adopts the options of the peer's SYN, and returns the window shift. `answers` if this end was
    /// listening.
    ///
    /// In a simultaneous open Linux keeps the shift of its own SYN (`tcp_rcv_synsent_state_process`).
    pub(crate) fn learn_peer(
        &mut self,
        syn: &Segment,
        negotiated: Negotiated,
        answers: bool,
        now: Instant,
    ) -> u8 {
        self.negotiated = negotiated;
        self.steady_window = None;
        let peer_scales = syn.options.window_scale.is_some();
        if answers {
            self.choose_first_window(true, peer_scales);
        }
        let crosses = !answers && !syn.flags.contains(Flags::ACK);
        let insists = crosses && self.counts_memory();
        if !(self.config.window_scaling && (peer_scales || insists)) {
            self.first_window.shift = 0;
            self.first_window.clamp = self.first_window.clamp.min(u32::from(u16::MAX));
        }
        self.negotiated.set_receive_shift(self.first_window.shift);
        let space = &mut self.space;
        space.initial = syn.sequence;
        space.next = syn.sequence + 1;
        space.last_acknowledged = space.next;
        space.announced = space.next + self.first_window.bytes;
        space.offered = space.announced;
        if let Some(stamps) = syn.options.timestamps {
            space.recent_timestamp = stamps.value;
            space.stamped_at = now;
        }
        self.first_window.shift
    }

    /// Window field of our SYN, which is not scaled (RFC 7323 §2.2).
    pub(crate) fn announce_first_window(&mut self) -> u16 {
        self.steady_window = None;
        self.space.announced = self.space.next + self.first_window.bytes;
        self.space.offered = self.space.announced;
        u16::try_from(self.first_window.bytes).unwrap_or(u16::MAX)
    }

    /// The handshake is over; `segment_bytes` is the payload of our own full segments.
    pub(crate) fn open(&mut self, segment_bytes: u32, now: Instant) {
        self.steady_window = None;
        let announced_mss = self.announced_mss();
        self.ack_policy.begin(now);
        self.buffer.open(self.first_window.bytes, self.first_window.clamp, announced_mss);
        self.segment_size.begin(announced_mss.min(segment_bytes), self.first_window.bytes);
        let threshold = self.buffer.window_threshold();
        let window = threshold.min(self.last_announced_window());
        self.tuning.begin(window, announced_mss, self.space.next, now);
    }

    /// Payload that a segment of the peer can hold (`advmss`).
    pub(crate) fn announced_mss(&self) -> u32 {
        u32::from(self.config.mss).saturating_sub(self.negotiated.option_bytes())
    }

    /// Window within which segments are accepted (RCV.WND): up to the furthest edge ever offered,
    /// or in Linux up to the last one.
    #[inline]
    pub(crate) fn acceptance_window(&self) -> u32 {
        if self.counts_memory() {
            return self.announced_window();
        }
        self.space.offered.distance_from(self.space.next)
    }

    /// Rest of the window announced last (`tcp_receive_window`).
    #[inline]
    pub(crate) fn announced_window(&self) -> u32 {
        if self.space.announced.is_after(self.space.next) {
            self.space.announced.distance_from(self.space.next)
        } else {
            0
        }
    }

    /// The window announced last, counted from the acknowledgment of that time (`rcv_wnd`).
    pub(crate) fn last_announced_window(&self) -> u32 {
        self.space.announced.distance_from(self.space.last_acknowledged)
    }

    /// Chooses the window field of a segment and records the offer.
    ///
    /// A sender to which nothing is sent offers the same window with every segment: the field is kept until
    /// data arrives or is read, or a setting changes.
    #[inline]
    pub(crate) fn choose_window(&mut self) -> u16 {
        if let Some(field) = self.steady_window {
            debug_assert!(self.is_steady(field), "nothing was to change the window");
            return field;
        }
        self.choose_changed_window()
    }

    /// Whether choosing the window again gives this field, without other effects; for debug builds.
    fn is_steady(&mut self, field: u16) -> bool {
        let before = (self.space.announced, self.space.offered, self.ack_policy.quick_acks());
        let chosen = self.choose_changed_window();
        let after = (self.space.announced, self.space.offered, self.ack_policy.quick_acks());
        chosen == field && before == after
    }

    fn choose_changed_window(&mut self) -> u16 {
        if self.counts_memory() { self.window_by_memory() } else { self.window_by_payload() }
    }

    /// Advances the right edge only by a useful step (RFC 9293 §3.8.6.2.2). It may recede by less
    /// than one unit of the window field, if rounding up would offer more than is free. Data within
    /// earlier offers is still accepted (RFC 7323 §2.4).
    #[inline]
    fn window_by_payload(&mut self) -> u16 {
        let shift = self.negotiated.receive_shift();
        let free = self.free_units();
        let field = if self.is_worth_announcing(free << shift) {
            free
        } else {
            units_of(self.announced_window(), shift).min(free)
        };
        let field = field.min(u32::from(u16::MAX));
        self.space.announced = self.space.next + (field << shift);
        self.space.offered = self.space.offered.later(self.space.announced);
        u16::try_from(field).unwrap_or(u16::MAX)
    }

    /// Free space of the receive buffer in units of the window field.
    #[inline]
    fn free_units(&self) -> u32 {
        let free = self.config.receive_buffer.saturating_sub(self.space.unread);
        free >> self.negotiated.receive_shift()
    }

    /// Whether a window of `bytes` is sufficiently larger than the announced one.
    #[inline]
    fn is_worth_announcing(&self, bytes: u32) -> bool {
        let step = (self.config.receive_buffer / 2).min(u32::from(self.config.mss)).max(1);
        bytes >= self.announced_window().saturating_add(step)
    }

    /// Linux: the right edge never recedes unless configured; without memory the window is closed.
    #[inline]
    fn window_by_memory(&mut self) -> u16 {
        if self.ack_policy.has_no_memory() {
            self.space.announced = self.space.next;
            return 0;
        }
        let shift = self.negotiated.receive_shift();
        let current = self.announced_window();
        let mut window = self.select_window();
        if window < current && !self.may_shrink() {
            window = units_of(current, shift) << shift;
        }
        self.space.announced = self.space.next + window;
        self.space.offered = self.space.offered.later(self.space.announced);
        let field = u16::try_from(window >> shift).unwrap_or(u16::MAX);
        // Without scaling, the window also depends on the last acknowledgment.
        if shift > 0 {
            self.steady_window = Some(field);
        }
        field
    }

    fn may_shrink(&self) -> bool {
        self.config.receiving.shrinks && self.negotiated.receive_shift() > 0
    }

    /// The window worth offering (`__tcp_select_window`).
    #[inline]
    pub(crate) fn select_window(&mut self) -> u32 {
        let shift = self.negotiated.receive_shift();
        let unit = 1 << shift;
        let whole = self.buffer.full_window();
        let full = self.buffer.clamp().min(whole);
        let segment = self.segment_size.estimate().min(full);
        if segment == 0 {
            return 0;
        }
        let mut free = self.buffer.free_window();
        if self.config.receiving.shrinks {
            free &= !(unit - 1);
        }
        if free < full / 2 {
            self.ack_policy.leave_quick_mode();
            free &= !(unit - 1);
            // Little is free: close the window before memory runs out.
            if free < whole / 16 || free < segment {
                return 0;
            }
        }
        let free = free.min(self.buffer.window_threshold());
        if shift > 0 {
            return units_of(free, shift) << shift;
        }
        self.window_in_segments(free, full, segment)
    }

    /// Without scaling, whole segments are offered, and the window stays if it is less than one
    /// segment off.
    fn window_in_segments(&self, free: u32, full: u32, segment: u32) -> u32 {
        let window = self.last_announced_window();
        if window.saturating_add(segment) <= free || window > free {
            free - free % segment
        } else if segment == full && free > window + full / 2 {
            free
        } else {
            window
        }
    }

    /// Whether an ACK would not close the window: the right edge advances at least as far as the
    /// received data.
    #[inline]
    pub(crate) fn window_advances(&mut self) -> bool {
        self.select_window() >= self.last_announced_window()
    }

    /// After a read: announces a window again that was nearly closed (RFC 9293 §3.8.6.2.2).
    #[inline]
    pub(crate) fn announce_window_if_opened(&mut self) {
        if self.announced_window() > u32::from(self.config.mss) * 2 {
            return;
        }
        let free = self.free_units() << self.negotiated.receive_shift();
        if self.is_worth_announcing(free) {
            self.ack_policy.set_due();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn the_shift_covers_the_buffer() {
        assert_eq!(covering_shift(64 << 20), 11);
        assert_eq!(covering_shift(65_535), 0);
    }

    /// As Linux 6.18 with the default `tcp_rmem`.
    #[test]
    fn first_window_is_multiple_of_segment_size() {
        let config = Profile::Linux6_18.system_config();
        let first = first_window(&config, 65_536, 1460, true);
        assert_eq!((first.bytes, first.shift), (64_240, 10));
        assert_eq!(first_window(&config, 65_536, 1460, false).shift, 0);
    }
}
