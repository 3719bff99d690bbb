//! What two taps tell of a connection: departures and arrivals go to the passages, what is found lost or
//! delivered comes back to the measures.

use crate::connection::{Connection, Side, Wiring, addresses_of};
use crate::one_way::{
    ClockModel, DepartureTaps, FlowPairDescription, FlowPairId, OneWayFlows, OneWaySettings, Tap,
};
use fairwind_measure::{Table, Tables};
use fairwind_units::Instant;

/// What connects two taps.
#[derive(Debug)]
pub(crate) struct Joint {
    pub(super) passages: OneWayFlows,
    pub(super) clock: ClockModel,
    /// Which tap is whose, as far as packets that both have seen tell.
    departure_taps: DepartureTaps,
    /// Connections that only one tap has seen.
    pub(super) one_sided: u64,
}

impl Joint {
    pub(crate) fn new(
        settings: OneWaySettings,
        departure_taps: DepartureTaps,
        groups: &[String],
    ) -> Self {
        let clock = settings.clock;
        let mut passages = OneWayFlows::new(settings);
        for group in groups {
            passages.add_group(group);
        }
        Self { passages, clock, departure_taps, one_sided: 0 }
    }

    /// The side of a connection that the first tap is near, where packets that both taps have seen tell.
    pub(super) fn near_first(&self, connection: &Connection) -> Option<Side> {
        let (opener, answerer) = (connection.end(Side::Opener), connection.end(Side::Answerer));
        let addresses = addresses_of(opener, answerer)?;
        let departs_there =
            self.departure_taps.departs_at_sender(addresses, (opener.port(), answerer.port()))?;
        Some(if departs_there { Side::Opener } else { Side::Answerer })
    }

    /// A connection is to be followed between the taps.
    pub(super) fn open(
        &mut self,
        slot: u32,
        group: u32,
        wiring: &Wiring,
        counted_from: Instant,
    ) -> FlowPairId {
        let opener = if wiring.leaves(0, Side::Opener) { Tap::Sender } else { Tap::Receiver };
        let connection = slot.into();
        self.passages.open(FlowPairDescription { group, connection, opener, counted_from })
    }

    /// Forgets what was counted of a connection so far.
    pub(super) fn reset_connection_counts(&mut self, crossing: FlowPairId) {
        self.passages.reset_connection_counts(crossing);
    }

    /// Nothing of a connection counts from `at` on.
    pub(super) fn end(&mut self, crossing: FlowPairId, at: Instant) {
        self.passages.end(crossing, at);
    }

    pub(super) fn pending_rows(&self) -> usize {
        self.passages.pending_rows()
    }

    /// The rows of connections that are over.
    pub(super) fn take_rows(&mut self, most: usize) -> impl Iterator<Item = Table> {
        self.passages.take_rows(most).into_iter().flatten()
    }

    /// Forgets what was counted before `at`, and the connections that are closed.
    pub(super) fn reset_counts(&mut self, at: Instant) {
        self.passages.reset_counts(at);
        self.one_sided = 0;
    }

    /// Forgets the rows of connections that are over.
    pub(super) fn forget_rows(&mut self) {
        self.passages.discard_closed();
    }

    /// Every connection has been closed.
    pub(super) fn finish(&mut self) {
        self.passages.finish();
    }

    /// Everything that was not taken.
    pub(super) fn rest(&mut self, tables: &mut Tables) {
        while let Some(rows) = self.passages.take_rows(usize::MAX) {
            tables.append(rows);
        }
        tables.append(self.passages.group_tables());
    }

    /// Packets in windows that are too many to be kept.
    pub(super) fn packets_beyond_windows(&self) -> u64 {
        self.passages.packets_beyond_windows()
    }

    /// Sums as of now.
    pub(super) fn snapshot(&self) -> Tables {
        self.passages.group_tables()
    }
}
