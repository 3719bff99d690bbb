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

impl TcpInfo {
    /// Everything that a connection reports of itself at this instant.
    pub(super) fn of(connection: &Connection, now: Instant) -> Self {
        let mut info = Self {
            state: connection.state,
            options: Some(option_bits_of(connection)),
            fast_open_failure: Some(
                connection.fast_open_failure().map_or(0, FastOpenFailure::number),
            ),
            ..Self::default()
        };
        connection.sender.fill_tcp_info(&mut info, now);
        info.retransmission_timeout = connection.retransmission_timeout();
        connection.receiver.fill_tcp_info(&mut info, now);
        let failed = connection.state == State::Closed && !connection.sender.has_acked_control();
        let opening = failed || matches!(connection.state, State::SynSent | State::SynReceived);
        if !connection.handshake.is_passive() && opening {
            info.add_syn(connection);
        }
        info
    }

    /// Adds our outstanding SYN, which counts as a segment in Linux (`tcp_connect_init`,
    /// `tcp_connect_queue_skb`, `tcp_initialize_rcv_mss`, `tcp_enter_loss`).
    #[cold]
    fn add_syn(&mut self, connection: &Connection) {
        let window = connection.receiver.first_window_bytes();
        let threshold = connection.sender.lost_syn_window();
        let offered = if connection.state == State::SynReceived { window } else { 0 };
        if offered == 0 {
            let options = if connection.config.timestamps { TIMESTAMPS_BYTES } else { 0 };
            self.send_mss_bytes = self.send_mss_bytes.min(ASSUMED_BYTES).saturating_sub(options);
        }
        self.receive_mss_bytes = Some(first_segment_size(self.send_mss_bytes, offered));
        self.receive_window_threshold_bytes = Some(window);
        if connection.state != State::Closed {
            self.unacked_segments = self.unacked_segments.map(|segments| segments + 1);
        }
        if threshold.is_some() {
            // The SYN was lost: the window is one segment, as after every time-out.
            self.recovery = RecoveryState::Loss;
            self.lost_segments = self.lost_segments.map(|segments| segments + 1);
            self.retransmitted_segments = self.retransmitted_segments.map(|segments| segments + 1);
            self.slow_start_threshold = threshold;
            self.congestion_window = 1;
        }
    }
}

/// The bits of `tcpi_options`.
fn option_bits_of(connection: &Connection) -> u32 {
    let scales = connection.config.window_scaling && connection.handshake.peer_scales();
    let fast_open = connection.handshake.fast_open();
    let agreed = [
        (connection.sender.negotiated().has_timestamps(), option_bits::TIMESTAMPS),
        (connection.sender.negotiated().has_sack(), option_bits::SACK),
        (scales, option_bits::WINDOW_SCALE),
        (connection.sender.ecn().is_negotiated(), option_bits::ECN),
        (connection.receiver.ecn().has_seen_capable(), option_bits::ECN_SEEN),
        (fast_open.is_syn_data_acknowledged(), option_bits::SYN_DATA),
        (fast_open.opened_early(), option_bits::FAST_OPEN_CHILD),
    ];
    agreed.iter().filter(|(is_agreed, _)| *is_agreed).fold(0, |bits, (_, bit)| bits | bit)
}
