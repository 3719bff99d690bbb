//! Pair of taps: one-way flows between them.

use crate::connection::{Connection, Side, TapMapping, addresses_of};
use crate::one_way::{
    ClockModel, DepartureTaps, FlowPairDescription, FlowPairId, OneWayFlows, OneWaySettings, Tap,
};
use fairwind_measure::{Table, Tables};
use fairwind_units::Instant;

/// The one-way flows between two taps.
#[derive(Debug)]
pub(crate) struct TapPair {
    pub(super) flows: OneWayFlows,
    pub(super) clock: ClockModel,
    /// The tap at which packets of each direction depart, if packets at both taps show it.
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

    /// The side of a connection that the first tap is near, if packets at both taps show it.
    pub(super) fn first_tap_side(&self, connection: &Connection) -> Option<Side> {
        let (opener, answerer) = (connection.end(Side::Opener), connection.end(Side::Answerer));
        let addresses = addresses_of(opener, answerer)?;
        let departs_there =
            self.departure_taps.departs_at_sender(addresses, (opener.port(), answerer.port()))?;
        Some(if departs_there { Side::Opener } else { Side::Answerer })
    }

    /// Starts to follow a connection between the taps.
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

    /// Discards the counts of a connection so far.
    pub(super) fn reset_connection_counts(&mut self, pair: FlowPairId) {
        self.flows.reset_connection_counts(pair);
    }

    /// Stops counting a connection at `at`.
    pub(super) fn end(&mut self, pair: FlowPairId, at: Instant) {
        self.flows.end(pair, at);
    }

    pub(super) fn pending_rows(&self) -> usize {
        self.flows.pending_rows()
    }

    /// The rows of closed connections.
    pub(super) fn take_rows(&mut self, most: usize) -> impl Iterator<Item = Table> {
        self.flows.take_rows(most).into_iter().flatten()
    }

    /// Discards what was counted before `at`, and the closed connections.
    pub(super) fn reset_counts(&mut self, at: Instant) {
        self.flows.reset_counts(at);
        self.one_sided = 0;
    }

    /// Discards the rows of closed connections.
    pub(super) fn forget_rows(&mut self) {
        self.flows.discard_closed();
    }

    /// All connections are closed.
    pub(super) fn finish(&mut self) {
        self.flows.finish();
    }

    /// Appends all rows that were not taken.
    pub(super) fn rest(&mut self, tables: &mut Tables) {
        while let Some(rows) = self.flows.take_rows(usize::MAX) {
            tables.append(rows);
        }
        tables.append(self.flows.group_tables());
    }

    /// Packets in windows beyond the limit of windows.
    pub(super) fn packets_beyond_windows(&self) -> u64 {
        self.flows.packets_beyond_windows()
    }

    /// Tables of the groups as of now.
    pub(super) fn snapshot(&self) -> Tables {
        self.flows.group_tables()
    }
}
