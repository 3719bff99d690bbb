//! A host with a window cache, driven by tests.

use super::{
    Advice, CacheEntry, CacheMiss, ConnectionId, Opener, Opening, ReportKind, Sharing, WindowCache,
    WindowReport,
};
use fairwind_units::{Instant, Span};
use std::net::{IpAddr, Ipv4Addr};

pub(super) struct Host {
    cache: WindowCache,
}

pub(super) fn peer(number: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, number).into()
}

/// Report of a connection in congestion avoidance, with peer and number 1.
pub(super) fn window_report(window: u32) -> WindowReport {
    WindowReport {
        connection: ConnectionId(1),
        window,
        initial_window: 2,
        slow_start_threshold: Some(2),
        smoothed_rtt: Some(Span::from_millis(100)),
        rtt_variation: Span::from_millis(20),
        min_rtt: Some(Span::from_millis(80)),
        retransmissions: 0,
        is_backed_off: false,
        is_open: true,
        reordering: 3,
        usual_reordering: 3,
        segment_bytes: 1448,
        is_resuming: false,
    }
}

impl Host {
    pub(super) fn cache(&mut self) -> &mut WindowCache {
        &mut self.cache
    }

    pub(super) fn new(settings: &Sharing) -> Self {
        Self { cache: WindowCache::new(settings) }
    }

    pub(super) fn opens(&mut self, second: u64, number: u8, id: u64, opener: Opener) -> Advice {
        self.asks(second, number, id, opener).unwrap_or_default()
    }

    /// Advice for the connection `id`, or the reason for none.
    pub(super) fn asks(
        &mut self,
        second: u64,
        number: u8,
        id: u64,
        opener: Opener,
    ) -> Result<Advice, CacheMiss> {
        let now = Instant::from_secs(second);
        let connection = ConnectionId(id);
        let opening = Opening { now, peer: peer(number), connection, opener };
        self.cache.on_opening(&opening)
    }

    pub(super) fn incoming(&mut self, second: u64, number: u8) -> Advice {
        self.opens(second, number, 1, Opener::Peer)
    }

    pub(super) fn outgoing(&mut self, second: u64, number: u8) -> Advice {
        self.opens(second, number, 1, Opener::Host)
    }

    pub(super) fn learns(
        &mut self,
        second: u64,
        number: u8,
        report: WindowReport,
        moment: ReportKind,
    ) {
        self.cache.on_report(Instant::from_secs(second), peer(number), &report, moment);
    }

    pub(super) fn closes(&mut self, second: u64, number: u8, report: WindowReport) {
        self.learns(second, number, report, ReportKind::Closed);
    }

    pub(super) fn ends(&mut self, second: u64, number: u8, report: WindowReport) {
        self.learns(second, number, report, ReportKind::Ended);
    }

    pub(super) fn list(&self, second: u64) -> Vec<CacheEntry> {
        self.cache.list(Instant::from_secs(second))
    }
}
