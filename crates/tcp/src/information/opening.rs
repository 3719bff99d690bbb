//! What Linux tells while its SYN is outstanding, which is a segment like any other there.
//!
//! Source: Linux 6.18 `tcp_connect_init`, `tcp_connect_queue_skb`, `tcp_initialize_rcv_mss`,
//! `tcp_enter_loss`. Here the SYN has a place of its own, so this is put together when somebody asks.

use super::Information;
use crate::congestion::Congestion;
use crate::connection::Connection;
use crate::receiver::SegmentSize;
use crate::state::{RecoveryState, State};

/// Segment size before the peer has named one (`TCP_MSS_DEFAULT`).
const ASSUMED_BYTES: u32 = 536;
/// Bytes that timestamps take in every header.
const TIMESTAMPS_BYTES: u32 = 12;

impl Connection {
    /// Whether a SYN of our own is outstanding, or was when the connection came to nothing.
    pub(super) fn opens_actively(&self) -> bool {
        let failed = self.state == State::Closed && self.account.acknowledged_controls == 0;
        !self.is_passive && (failed || matches!(self.state, State::SynSent | State::SynReceived))
    }

    /// Adds the outstanding SYN to what is told.
    #[cold]
    pub(super) fn add_syn(&self, told: &mut Information) {
        let window = self.first_window.bytes;
        let offered = if self.state == State::SynReceived { window } else { 0 };
        if offered == 0 {
            let options = if self.config.timestamps { TIMESTAMPS_BYTES } else { 0 };
            told.send_mss_bytes = told.send_mss_bytes.min(ASSUMED_BYTES).saturating_sub(options);
        }
        let mut estimate = SegmentSize::new();
        estimate.begin(told.send_mss_bytes, offered);
        told.receive_mss_bytes = Some(estimate.estimate);
        told.receive_window_threshold_bytes = Some(window);
        if self.state != State::Closed {
            told.unacked_segments = told.unacked_segments.map(|segments| segments + 1);
        }
        if self.backoff.expired > 0 {
            self.add_lost_syn(told);
        }
    }

    /// The SYN was lost: the window is one segment, as after every time-out.
    fn add_lost_syn(&self, told: &mut Information) {
        let base = self.config.reduction_base;
        let window = self.window.segments;
        let threshold = Congestion::new(&self.config).ssthresh(&self.window, base, window);
        told.recovery = RecoveryState::Loss;
        told.lost_segments = told.lost_segments.map(|segments| segments + 1);
        told.retransmitted_segments = told.retransmitted_segments.map(|segments| segments + 1);
        told.slow_start_threshold = Some(threshold);
        told.congestion_window = 1;
    }
}
