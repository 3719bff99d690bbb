//! State and losses of a sender by the kernel's `struct tcp_info` (include/uapi/linux/tcp.h).
//!
//! Windows and times are the kernel's values at the time of the poll. Linux 6.7 and later count time-outs, so
//! every one is reported at the next poll. Of older kernels they are inferred, and some are missed: those that nothing
//! has answered are counted; of those that were answered before the next poll one is seen if the connection is in
//! slow start below a new threshold, so none with BBR, or where the threshold was at its least already. No kernel
//! counts fast recoveries. One is reported when a poll
//! finds the connection newly in recovery, or when segments were retransmitted and the threshold has moved
//! without a time-out. Two recoveries between two polls count as one. If tracepoints report losses, there
//! are no polls.

use crate::protocol::{EndpointState, SenderStatistics, state_of};
use fairwind_linux as linux;
use fairwind_measure::{CongestionState, SenderCounts};
use fairwind_units::Span;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// The threshold that means there is none.
const UNLIMITED: u32 = 0x7fff_ffff;

/// Where `tcpi_total_rto` ends.
const TIMEOUTS_END: usize = 242;

/// The kernel's `tcp_info` at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TcpInfo {
    pub(super) endpoint: EndpointState,
    /// Segments that were ever sent again.
    pub(super) retransmitted: u32,
    /// Time-outs ever; `None` from kernels before 6.7, which do not count them.
    timeouts: Option<u16>,
    /// Time-outs since anything was acknowledged.
    unanswered: u8,
    /// Bytes ever acknowledged.
    acknowledged_bytes: u64,
    /// Whether anything is unsent or unacknowledged.
    pub(super) is_outstanding: bool,
    /// Time with something unacknowledged.
    pub(super) busy: Span,
    /// Part of it that was limited by the peer's window.
    pub(super) window_limited: Span,
    /// Part of it that was limited by the send buffer.
    pub(super) buffer_limited: Span,
}

impl TcpInfo {
    /// Asks the kernel.
    pub(super) fn query(socket: &OwnedFd) -> Option<Self> {
        let mut bytes = [0; 256];
        let (level, name) = (libc::IPPROTO_TCP, libc::TCP_INFO);
        let (raw, length) = linux::get_option(socket.as_raw_fd(), level, name, &mut bytes);
        (raw.value >= 0).then(|| Self::from_bytes(&bytes, length))
    }

    /// Reads the kernel's structure, of which it has filled `length` bytes.
    fn from_bytes(bytes: &[u8; 256], length: usize) -> Self {
        let number =
            |place: usize| bytes[place..].first_chunk().map_or(0, |four| u32::from_ne_bytes(*four));
        let long = |place: usize| {
            bytes[place..].first_chunk().map_or(0, |eight| u64::from_ne_bytes(*eight))
        };
        let micros = |place: usize| Span::from_micros(long(place));
        let unacknowledged = number(24);
        let (sacked, lost, again) = (number(28), number(32), number(36));
        let rtt = u64::from(number(68));
        Self {
            endpoint: EndpointState {
                cwnd_packets: number(80),
                ssthresh_packets: Some(number(76)).filter(|&packets| packets < UNLIMITED),
                smoothed_rtt: Some(Span::from_micros(rtt)).filter(|rtt| !rtt.is_zero()),
                flight_packets: (unacknowledged + again).saturating_sub(sacked + lost),
                state: state_of(u16::from(bytes[1])).unwrap_or(CongestionState::Open),
            },
            retransmitted: number(100),
            timeouts: (length >= TIMEOUTS_END)
                .then(|| u16::from_ne_bytes([bytes[TIMEOUTS_END - 2], bytes[TIMEOUTS_END - 1]])),
            unanswered: bytes[2],
            acknowledged_bytes: long(120),
            is_outstanding: unacknowledged > 0 || number(144) > 0,
            busy: micros(168),
            window_limited: micros(176),
            buffer_limited: micros(184),
        }
    }

    /// What limited the sender of this flow until now.
    pub(super) fn statistics(&self, flow: u32) -> SenderStatistics {
        let EndpointState { cwnd_packets, ssthresh_packets, .. } = self.endpoint;
        SenderStatistics {
            flow,
            counts: SenderCounts {
                busy: self.busy,
                window_limited: self.window_limited,
                buffer_limited: self.buffer_limited,
                segments_retransmitted: self.retransmitted,
                cwnd_packets,
                in_slow_start: ssthresh_packets.is_none_or(|threshold| cwnd_packets < threshold),
            },
        }
    }
}

/// Losses of a sender since the last poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Losses {
    pub(super) timeouts: u16,
    pub(super) recoveries: u16,
}

/// State of a sender at the last poll.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LossDetector {
    last: Option<TcpInfo>,
}

impl LossDetector {
    /// Looks; the first look, at the connection's beginning, finds nothing: time-outs of its SYN
    /// are not the stream's.
    pub(super) fn look(&mut self, now: TcpInfo) -> Losses {
        let Some(before) = self.last.replace(now) else { return Losses::default() };
        let timeouts = match (before.timeouts, now.timeouts) {
            (Some(before), Some(now)) => now.wrapping_sub(before),
            _ => inferred_timeouts(before, now),
        };
        let (was, is) = (before.endpoint, now.endpoint);
        let recovers = is.state == CongestionState::Recovery;
        let recovered_before = was.state == CongestionState::Recovery;
        let between = now.retransmitted != before.retransmitted
            && is.ssthresh_packets != was.ssthresh_packets
            && timeouts == 0;
        let entered = !recovered_before && (recovers || between);
        Losses { timeouts, recoveries: u16::from(entered) }
    }

    /// Whether anything was outstanding at the last look.
    pub(super) fn was_outstanding(&self) -> bool {
        self.last.is_none_or(|last| last.is_outstanding)
    }
}

/// Time-outs between two looks at a kernel that does not count them, at least.
fn inferred_timeouts(before: TcpInfo, now: TcpInfo) -> u16 {
    let is_answered = now.acknowledged_bytes != before.acknowledged_bytes;
    let counted_before = if is_answered { 0 } else { before.unanswered };
    let unanswered = now.unanswered.saturating_sub(counted_before);
    if unanswered > 0 {
        return unanswered.into();
    }
    let (was, is) = (before.endpoint, now.endpoint);
    let has_reduced =
        now.retransmitted != before.retransmitted && is.ssthresh_packets != was.ssthresh_packets;
    // After a recovery the window is the threshold; after a time-out it begins with a segment.
    let is_in_slow_start = is.ssthresh_packets.is_some_and(|packets| is.cwnd_packets < packets);
    let is_recovering = is.state == CongestionState::Recovery;
    u16::from(has_reduced && is_in_slow_start && !is_recovering)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(state: CongestionState, threshold: u32, retransmitted: u32, timeouts: u16) -> TcpInfo {
        TcpInfo {
            endpoint: EndpointState {
                cwnd_packets: 10,
                ssthresh_packets: Some(threshold),
                smoothed_rtt: None,
                flight_packets: 5,
                state,
            },
            retransmitted,
            timeouts: Some(timeouts),
            unanswered: 0,
            acknowledged_bytes: 0,
            is_outstanding: true,
            busy: Span::ZERO,
            window_limited: Span::ZERO,
            buffer_limited: Span::ZERO,
        }
    }

    #[test]
    fn each_loss_is_reported_once() {
        use CongestionState::{Loss, Open, Recovery};
        let mut watch = LossDetector::default();
        let mut look = |info| {
            let Losses { timeouts, recoveries } = watch.look(info);
            (timeouts, recoveries)
        };
        assert_eq!(look(seen(Open, 20, 0, 3)), (0, 0), "time-outs of the SYN");
        assert_eq!(look(seen(Recovery, 10, 1, 3)), (0, 1));
        assert_eq!(look(seen(Recovery, 10, 4, 3)), (0, 0), "the same recovery");
        assert_eq!(look(seen(Open, 10, 4, 3)), (0, 0));
        assert_eq!(look(seen(Open, 10, 5, 3)), (0, 0), "a probe of the tail");
        assert_eq!(look(seen(Open, 7, 6, 3)), (0, 1), "begun and over between two looks");
        assert_eq!(look(seen(Loss, 4, 8, 5)), (2, 0));
    }

    #[test]
    fn timeouts_are_inferred_where_the_kernel_does_not_count_them() {
        use CongestionState::{Loss, Open, Recovery};
        let mut watch = LossDetector::default();
        let mut look = |info: TcpInfo, cwnd_packets, unanswered, acknowledged_bytes| {
            let endpoint = EndpointState { cwnd_packets, ..info.endpoint };
            let now = TcpInfo { endpoint, timeouts: None, unanswered, acknowledged_bytes, ..info };
            let Losses { timeouts, recoveries } = watch.look(now);
            (timeouts, recoveries)
        };
        assert_eq!(look(seen(Open, 20, 0, 0), 20, 0, 0), (0, 0));
        assert_eq!(look(seen(Recovery, 10, 1, 0), 10, 0, 1), (0, 1));
        assert_eq!(look(seen(Loss, 5, 2, 0), 1, 1, 2), (1, 0));
        assert_eq!(look(seen(Loss, 5, 4, 0), 1, 3, 2), (2, 0), "two more, unanswered");
        assert_eq!(look(seen(Loss, 5, 6, 0), 1, 2, 3), (2, 0), "answered, and two more");
        assert_eq!(look(seen(Loss, 5, 6, 0), 3, 0, 4), (0, 0), "answered");
        assert_eq!(look(seen(Open, 5, 6, 0), 7, 0, 5), (0, 0));
        assert_eq!(look(seen(Open, 3, 8, 0), 2, 0, 6), (1, 0), "begun and answered in between");
        assert_eq!(look(seen(Open, 2, 9, 0), 2, 0, 7), (0, 1), "a recovery in between");
        assert_eq!(look(seen(Open, 2, 10, 0), 1, 0, 8), (0, 0), "the threshold was at its least");
    }

    #[test]
    fn fields_are_read_from_their_places() {
        let mut bytes = [0_u8; 256];
        bytes[1] = 3;
        let put = |bytes: &mut [u8; 256], place: usize, value: u32| {
            bytes[place..place + 4].copy_from_slice(&value.to_ne_bytes());
        };
        for (place, value) in [(24, 12), (28, 3), (32, 2), (36, 1), (68, 100_500), (76, UNLIMITED)]
        {
            put(&mut bytes, place, value);
        }
        put(&mut bytes, 80, 44);
        put(&mut bytes, 100, 17);
        // Whole microseconds in 64 bits: 2^32 of them are 4295 s.
        for (place, value) in [(168, 3_000_000), (172, 1), (176, 250_000), (184, 4_000)] {
            put(&mut bytes, place, value);
        }
        (bytes[2], bytes[240]) = (4, 6);
        assert_eq!(TcpInfo::from_bytes(&bytes, 240).timeouts, None);
        let info = TcpInfo::from_bytes(&bytes, 248);
        assert_eq!((info.timeouts, info.unanswered), (Some(6), 4));
        let expected = EndpointState {
            cwnd_packets: 44,
            ssthresh_packets: None,
            smoothed_rtt: Some(Span::from_micros(100_500)),
            flight_packets: 8,
            state: CongestionState::Recovery,
        };
        assert_eq!(info.endpoint, expected);
        assert!(info.is_outstanding);
        let counts = SenderCounts {
            busy: Span::from_micros((1 << 32) + 3_000_000),
            window_limited: Span::from_millis(250),
            buffer_limited: Span::from_millis(4),
            segments_retransmitted: 17,
            cwnd_packets: 44,
            in_slow_start: true,
        };
        assert_eq!(info.statistics(9), SenderStatistics { flow: 9, counts });
        put(&mut bytes, 76, 44);
        let at_the_threshold = TcpInfo::from_bytes(&bytes, 248).statistics(9);
        assert!(!at_the_threshold.counts.in_slow_start);
    }
}
