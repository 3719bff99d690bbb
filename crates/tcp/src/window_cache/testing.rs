//! A host whose memory is looked at by hand.

use super::{
    Advice, ConnectionId, Lesson, Moment, Opener, Opening, Remembered, Sharing, Unused, WindowCache,
};
use fairwind_units::{Instant, Span};
use std::net::{IpAddr, Ipv4Addr};

pub(super) struct Host {
    cache: WindowCache,
}

pub(super) fn peer(number: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, number).into()
}

/// What a connection of peer and number 1 has found out that was in congestion avoidance.
pub(super) fn lesson(window: u32) -> Lesson {
    Lesson {
        connection: ConnectionId(1),
        window,
        initial_window: 2,
        slow_start_threshold: Some(2),
        smoothed_rtt: Some(Span::from_millis(100)),
        rtt_variation: Span::from_millis(20),
        least_rtt: Some(Span::from_millis(80)),
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

    /// What is told of the connection `id` that is about to open, or why nothing.
    pub(super) fn asks(
        &mut self,
        second: u64,
        number: u8,
        id: u64,
        opener: Opener,
    ) -> Result<Advice, Unused> {
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

    pub(super) fn learns(&mut self, second: u64, number: u8, lesson: Lesson, moment: Moment) {
        self.cache.on_lesson(Instant::from_secs(second), peer(number), &lesson, moment);
    }

    pub(super) fn closes(&mut self, second: u64, number: u8, lesson: Lesson) {
        self.learns(second, number, lesson, Moment::Closed);
    }

    pub(super) fn ends(&mut self, second: u64, number: u8, lesson: Lesson) {
        self.learns(second, number, lesson, Moment::Ended);
    }

    pub(super) fn list(&self, second: u64) -> Vec<Remembered> {
        self.cache.list(Instant::from_secs(second))
    }
}
