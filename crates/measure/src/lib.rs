//! Measures: observations in, tables out. Every measure is defined here once.
//!
//! A [`Collector`] takes facts as they happen ([`Observation`]: a packet seen at a tap, a queue's
//! enqueue, dequeue or drop, an application's write and read, an endpoint's timeout) and turns them
//! into [`Tables`]: rates, losses, retransmissions, latencies, queues and fairness, per flow and per
//! group of flows. It does not know who made the observations, so a simulated run, a run on a real
//! kernel and a pair of captures are measured alike. Every column that can appear, with its unit and
//! its definition, is listed by [`columns`].
//!
//! It never simulates, reads a clock or a file, writes anything, or infers a fact that was not observed: a loss is a
//! [`Observation::Dropped`], not a guess from retransmissions. It keeps what is in flight and a few kilobytes per flow,
//! not the history of the run; only the requested series (windows, endpoint samples) grow with its length.
//!
//! ```
//! use fairwind_measure::{
//!     Collector, Direction, FlowDescription, FlowId, Observation, ObservationPoints, Settings,
//! };
//! use fairwind_units::Instant;
//! use fairwind_wire::Segment;
//!
//! let settings = Settings {
//!     groups: vec!["greedy".to_owned()],
//!     flows: vec![FlowDescription {
//!         group: 0,
//!         name: "greedy-0".to_owned(),
//!         start: Instant::ZERO,
//!         answers: None,
//!         seen_at: ObservationPoints::EVERYWHERE,
//!     }],
//!     end: Instant::from_secs(1),
//!     ..Settings::default()
//! };
//! let mut collector = Collector::new(&settings);
//! let segment = Segment { payload_bytes: 1000, ..Segment::default() };
//! let (flow, direction) = (FlowId(0), Direction::Forward);
//! let sent = Observation::Sent { flow, direction, segment: &segment, wire_bytes: 1040 };
//! collector.observe(Instant::from_millis(10), sent);
//! let tables = collector.finish(Instant::from_secs(1));
//! let flows = tables.get("flows").expect("there is always a table of flows");
//! assert_eq!(flows.column("data_segments_sent").and_then(|values| values.number(0)), Some(1.0));
//! ```
//!
//! Flows may come and go while it measures: see [`Collector::retire`]. If a flow is not watched everywhere
//! ([`ObservationPoints`]), tables omit values that were not observed. Other crates, which infer what is not observed,
//! make tables of the same parts: [`TableBuilder`], [`Distribution`], [`Summary`], [`define`].
//!
//! Modules: `observation` (the facts, and the flow that a packet belongs to), `settings` (what is measured, and its
//! checks), `collector` (takes observations; ends warm-up and windows), `retired` (flows that are over, and the end),
//! `flow` (counters of one flow, and its failures), `stream` (sequence numbers and received bytes), `ring` (a queue in
//! one block), `distribution` and `histogram` (samples), `interval` (series of windows), `queue` and `queue_series`
//! (queues, and queues over time), `rows` and `tabulate` (tables of a collector, with their columns), `engine_tables`
//! (tables that engines fill), `live` (counts under way), `table` (plain columns), `formula` (floating-point formulas).

/// An enum whose variants have names in tables.
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$about:meta])*
        $vis:vis enum $name:ident {
            $($(#[$doc:meta])* $variant:ident = $text:literal,)*
        }
    ) => {
        $(#[$about])*
        $vis enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// Its name in tables.
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

mod collector;
mod distribution;
mod engine_tables;
mod flow;
mod formula;
mod histogram;
mod interval;
mod live;
mod observation;
mod queue;
mod queue_series;
mod retired;
mod ring;
mod rows;
mod settings;
mod stream;
mod table;
mod tabulate;

pub use collector::Collector;
pub use distribution::{
    Counts, Distribution, PercentileIndex, Percentiles, Summary, Times, percentile_name,
};
pub use engine_tables::{
    CachedWindow, ControlComplaint, HostLateness, Lateness, ResumptionStep, RoutedPackets,
    SenderCounts, SenderRow, control_complaints_table, hosts_table, remembered_table,
    resumptions_table, senders_table,
};
pub use formula::{ratio, seconds};
pub use histogram::Bucket;
pub use interval::EmptyRowBudget;
pub use live::{LiveCounts, LiveGroup, LiveQueue};
pub use observation::{
    CongestionState, ConnectionFlows, Direction, DropReason, Dropped, EarlyPackets, FailureReason,
    FlowId, FramesAssigned, Observation, PacketCount, QueueId,
};
pub use queue::{LossRun, LossRuns};
pub use queue_series::QueueEventSettings;
pub use ring::Ring;
pub use settings::{FlowDescription, ObservationPoints, Settings, SettingsError};
pub use stream::{ReceivedBytes, StreamOrigin};
pub use table::{
    Column, ColumnDefinition, DefinitionLine, RATE_COLUMNS, RateColumn, Table, TableBuilder,
    TableDefinition, Tables, TextColumn, Values, define, fill_rates,
};
pub use tabulate::columns;
