//! What two taps tell of a connection: departures and arrivals go to the passages, what is found lost or
//! delivered comes back to the measures.

use crate::connection::{Connection, Side, TapMapping, addresses_of};
use crate::one_way::{
    ClockModel, DepartureTaps, FlowPairDescription, FlowPairId, OneWayFlows, OneWaySettings, Tap,
};
use fairwind_measure::{Table, Tables};
use fairwind_units::Instant;

/// What connects two taps.
#[derive(Debug)]
pub(crate) struct TapPair {
    pub(super) flows: OneWayFlows,
    pub(super) clock: ClockModel,
    /// Which tap is whose, as far as packets that both have seen tell.
    departure_taps: DepartureTaps,
    /// Connections that only one tap has seen.
    pub(super) one_sided: u64,
}

impl TapPair {
    pub(crate) fn new(
        settings: OneWaySettings,
        departure_taps: DepartureTaps,
        groups: &[String],
    ) -> Self {
        let clock = settings.clock;
        let mut flows = OneWayFlows::new(settings);
        for group in groups {
            flows.add_group(group);
        }
        Self { flows, clock, departure_taps, one_sided: 0 }
    }

    /// The side of a connection that the first tap is near, where packets that both taps have seen tell.
    pub(super) fn first_tap_side(&self, connection: &Connection) -> Option<Side> {
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
        mapping: &TapMapping,
        counted_from: Instant,
    ) -> FlowPairId {
        let opener = if mapping.leaves(0, Side::Opener) { Tap::Sender } else { Tap::Receiver };
        let connection = slot.into();
        self.flows.open(FlowPairDescription { group, connection, opener, counted_from })
    }

    /// Forgets what was counted of a connection so far.
    pub(super) fn reset_connection_counts(&mut self, pair: FlowPairId) {
        self.flows.reset_connection_counts(pair);
    }

    /// Nothing of a connection counts from `at` on.
    pub(super) fn end(&mut self, pair: FlowPairId, at: Instant) {
        self.flows.end(pair, at);
    }

    pub(super) fn pending_rows(&self) -> usize {
        self.flows.pending_rows()
    }

    /// The rows of connections that are over.
    pub(super) fn take_rows(&mut self, most: usize) -> impl Iterator<Item = Table> {
        self.flows.take_rows(most).into_iter().flatten()
    }

    /// Forgets what was counted before `at`, and the connections that are closed.
    pub(super) fn reset_counts(&mut self, at: Instant) {
        self.flows.reset_counts(at);
        self.one_sided = 0;
    }

    /// Forgets the rows of connections that are over.
    pub(super) fn forget_rows(&mut self) {
        self.flows.discard_closed();
    }

    /// Every connection has been closed.
    pub(super) fn finish(&mut self) {
        self.flows.finish();
    }

    /// Everything that was not taken.
    pub(super) fn rest(&mut self, tables: &mut Tables) {
        while let Some(rows) = self.flows.take_rows(usize::MAX) {
            tables.append(rows);
        }
        tables.append(self.flows.group_tables());
    }

    /// Packets in windows that are too many to be kept.
    pub(super) fn packets_beyond_windows(&self) -> u64 {
        self.flows.packets_beyond_windows()
    }

    /// Sums as of now.
    pub(super) fn snapshot(&self) -> Tables {
        self.flows.group_tables()
    }
}
