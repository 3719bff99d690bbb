//! `TCP_INFO` of a connection.
//!
//! Source: Linux 6.18 `tcp_get_info`.

use super::Connection;
use crate::handshake::{FastOpenFailure, TIMESTAMPS_BYTES};
use crate::receiver::first_segment_size;
use crate::state::{RecoveryState, State};
use crate::tcp_info::{TcpInfo, option_bits};
use fairwind_units::Instant;

/// Segment size before the peer has named one (`TCP_MSS_DEFAULT`).
const ASSUMED_BYTES: u32 = 536;

impl Connection {
    /// Everything that the connection reports of itself at this instant (`TCP_INFO`).
    pub fn tcp_info(&self, now: Instant) -> TcpInfo {
        let mut info = TcpInfo {
            state: self.state,
            options: Some(self.option_bits()),
            fast_open_failure: Some(self.fast_open_failure().map_or(0, FastOpenFailure::number)),
            ..TcpInfo::default()
        };
        self.sender.fill_tcp_info(&mut info, now);
        info.retransmission_timeout = self.retransmission_timeout();
        self.receiver.fill_tcp_info(&mut info, now);
        let failed = self.state == State::Closed && !self.sender.has_acked_control();
        let opening = failed || matches!(self.state, State::SynSent | State::SynReceived);
        if !self.handshake.is_passive() && opening {
            self.add_syn_to_tcp_info(&mut info);
        }
        info
    }

    /// Adds our outstanding SYN, which counts as a segment in Linux (`tcp_connect_init`,
    /// `tcp_connect_queue_skb`, `tcp_initialize_rcv_mss`, `tcp_enter_loss`).
    #[cold]
    fn add_syn_to_tcp_info(&self, info: &mut TcpInfo) {
        let window = self.receiver.first_window_bytes();
        let threshold = self.sender.lost_syn_window();
        let offered = if self.state == State::SynReceived { window } else { 0 };
        if offered == 0 {
            let options = if self.config.timestamps { TIMESTAMPS_BYTES } else { 0 };
            info.send_mss_bytes = info.send_mss_bytes.min(ASSUMED_BYTES).saturating_sub(options);
        }
        info.receive_mss_bytes = Some(first_segment_size(info.send_mss_bytes, offered));
        info.receive_window_threshold_bytes = Some(window);
        if self.state != State::Closed {
            info.unacked_segments = info.unacked_segments.map(|segments| segments + 1);
        }
        if threshold.is_some() {
            // The SYN was lost: the window is one segment, as after every time-out.
            info.recovery = RecoveryState::Loss;
            info.lost_segments = info.lost_segments.map(|segments| segments + 1);
            info.retransmitted_segments = info.retransmitted_segments.map(|segments| segments + 1);
            info.slow_start_threshold = threshold;
            info.congestion_window = 1;
        }
    }

    fn option_bits(&self) -> u32 {
        let scales = self.config.window_scaling && self.handshake.peer_scales();
        let fast_open = self.handshake.fast_open();
        let agreed = [
            (self.sender.negotiated().has_timestamps(), option_bits::TIMESTAMPS),
            (self.sender.negotiated().has_sack(), option_bits::SACK),
            (scales, option_bits::WINDOW_SCALE),
            (self.sender.ecn().is_negotiated(), option_bits::ECN),
            (self.receiver.ecn().has_seen_capable(), option_bits::ECN_SEEN),
            (fast_open.is_syn_data_acknowledged(), option_bits::SYN_DATA),
            (fast_open.opened_early(), option_bits::FAST_OPEN_CHILD),
        ];
        agreed.iter().filter(|(is_agreed, _)| *is_agreed).fold(0, |bits, (_, bit)| bits | bit)
    }
}
