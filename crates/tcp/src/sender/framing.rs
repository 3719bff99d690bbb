//! Smart framing: while the window is small, what it holds leaves as several segments and not as few full
//! ones, so that a lost segment is followed by as many as it takes to find that out before the time-out.
//!
//! Source: [`SmartFraming`]. With a window of `w` full segments, `w` less than the `n` of the rule, a
//! segment carries `w / n` of a full one, and `n` may be in flight; from `w = n` on segments are full.
//! The window counts segments, so `n` of these count as the `w` for which they stand when it grows:
//! it opens as it would without. More bytes than the window has are never in flight, nor more than `n`
//! segments, so that after it has opened a round trip carries less than it might where segments cut for
//! the smaller window are still under way.
//!
//! Differs: it is for new data; what is sent again goes as it was cut, or as full segments where
//! retransmissions are merged. While losses are repaired the window counts segments as ever.
//!
//! Parameters: segments of a small window, 4 (the duplicate threshold and one).
//! Cost: without it nothing; with it a few multiplications per acknowledgment.

use crate::sender::Sender;

/// Framing under way.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    /// The window for which segments are cut at present; `None` while they are full.
    cut_for: Option<SmallWindow>,
    /// What was acknowledged and does not make a full segment yet, in parts of one as many as the rule
    /// has segments.
    credit: u32,
}

/// A window that is small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SmallWindow {
    /// Full segments of it.
    window: u32,
    /// Segments that it is cut into.
    segments: u32,
}

impl Sender {
    /// The window, if it is small and nothing is being repaired.
    fn small_window(&self) -> Option<SmallWindow> {
        let segments = self.config.sending.framing?.segments;
        let window = self.window.segments();
        let holds = window < segments
            && self.state.is_synchronised()
            && !self.recovery.is_repairing()
            && !self.recovery.is_reducing()
            && self.mtu_search.is_none();
        holds.then_some(SmallWindow { window, segments })
    }

    /// Sets the size of segments that the window asks for.
    #[cold]
    pub(crate) fn update_framing(&mut self) {
        let small = self.small_window();
        if small.is_none() && self.framing.cut_for.is_none() {
            return;
        }
        self.framing.cut_for = small;
        self.sync_segment_size();
        self.update_pacing_rate();
        if let Some(SmallWindow { window, segments }) = small {
            let cut = self.segment_bytes * window / segments;
            self.segment_bytes = cut.max(1);
        }
    }

    /// Segments that may be in flight when new data is to be sent: those of a small window, as far as
    /// it has room in bytes.
    pub(crate) fn framed_window(&self) -> u32 {
        let whole = self.window.segments();
        let small = self.small_window().filter(|small| self.framing.cut_for == Some(*small));
        let Some(SmallWindow { segments, .. }) = small else { return whole };
        let cut = self.segment_bytes;
        let outstanding = self.send.next().distance_from(self.send.oldest_unacked());
        let in_flight = outstanding.saturating_sub(self.left_network().saturating_mul(cut));
        let room = cut.saturating_mul(segments).saturating_sub(in_flight) / cut;
        (self.in_flight() + room).min(segments).max(whole)
    }

    /// Of `acknowledged` segments, the full ones for which they stand.
    #[cold]
    pub(crate) fn count_full_segments(&mut self, acknowledged: u32) -> u32 {
        let Some(SmallWindow { window, segments }) = self.small_window() else {
            self.framing.credit = 0;
            return acknowledged;
        };
        let credit = self.framing.credit + acknowledged * window;
        self.framing.credit = credit % segments;
        credit / segments
    }
}
