//! Observations in, tables out: the one definition of every measure.
//!
//! A [`Collector`] is told facts as they happen ([`Observation`]: a packet seen at a tap, a queue's
//! enqueue, dequeue or drop, an application's write and read, an endpoint's time-out) and turns them
//! into [`Tables`]: rates, losses, retransmissions, latencies, queues and fairness, per flow and per
//! group of flows. It does not know who made the observations, so a simulated run, a run on a real
//! kernel and a pair of captures are measured alike. Every column that can appear, with its unit and
//! its definition, is listed by [`columns`].
//!
//! It never simulates, reads a clock or a file, writes anything, or infers a fact that nobody
//! observed: a loss is a [`Observation::Dropped`], not a guess from retransmissions. It keeps what is
//! in flight and a few kilobytes per flow, not the history of the run; only the requested series
//! (windows, endpoint samples) grow with its length.
//!
//! ```
//! use fairwind_measure::{Collector, Direction, FlowDescription, FlowId, Observation, Points, Settings};
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
//!         seen_at: Points::EVERYWHERE,
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
//! Flows may come and go while it measures: see [`Collector::retire`]. Where a flow is not watched
//! everywhere ([`ObservationPoints`]), what nobody could see is missing in tables. Other rooms, which infer what
//! is not observed, make tables of the same kind of the same parts: [`TableBuilder`], [`Distribution`],
//! [`Summary`], [`define`].
//!
//! Modules: `observation` (the facts), `connection` (which flow a packet belongs
//! to), `early` (what was counted before that was clear), `points` (where a flow is watched), `settings` (what is measured, and its checks), `collector`
//! (who is told what, and when warm-up and windows end), `flow` (counters of one flow), `offset`
//! (sequence numbers to stream offsets), `received` (which bytes have arrived), `latency` (from a first
//! instant to a last one), `ring` (a queue), `distribution` (samples: extremes, sum and
//! histogram), `histogram`, `summary` (percentiles of a distribution), `interval` (series of windows), `silence` (which windows without anything in them have rows),
//! `queue`, `queue_events` (what happened there packet by packet), `queue_windows` (in series), `loss_runs` (how losses come together), `complaint` (what congestion controls did amiss), `sender` (what kept senders from sending), `resumption` (what connections began with of remembered windows), `remembered` (what hosts remember in the end), `trouble` (which flows the network hardly serves), `group` (sums over flows), `row` (what tables tell of one), `retired` (flows that are over, and
//! the end), `rates` (of rows that were handed out before the end), `lateness` (of a network in real
//! time), `fairness`, `formula` (the few floating-point formulas), `table` (plain columns), `texts` (columns of
//! words and names), `tabulate` (one file per table), `columns` (what each column means).

mod collector;
mod columns;
mod connection;
mod distribution;
mod engine_tables;
mod failure;
mod flow;
mod formula;
mod histogram;
mod interval;
mod lateness;
mod observation;
mod queue;
mod queue_series;
mod retired;
mod ring;
mod rows;
mod settings;
mod stream;
mod summary;
mod table;
mod tabulate;

pub use collector::Collector;
pub use columns::{
    ColumnDefinition, DefinitionLine, TableDefinition, columns, define, definition_faults,
};
pub use connection::{ConnectionFlows, EarlyPackets, PacketCount};
pub use distribution::{Counts, Distribution, Times};
pub use engine_tables::{
    CachedWindow, ControlComplaint, HostLateness, ResumptionStep, SenderCounts, SenderRow,
    control_complaints_table, hosts_table, remembered_table, resumptions_table, senders_table,
};
pub use histogram::Bucket;
pub use interval::EmptyRowBudget;
pub use lateness::{Lateness, RoutedPackets};
pub use observation::{
    CongestionState, Direction, DropReason, Dropped, FailureReason, FlowId, FramesAssigned,
    Observation, QueueId,
};
pub use queue::{LossRun, LossRuns};
pub use queue_series::QueueEventSettings;
pub use ring::Ring;
pub use settings::{FlowDescription, ObservationPoints, Settings, SettingsError};
pub use stream::{ReceivedBytes, StreamOrigin};
pub use summary::{PercentileIndex, Percentiles, Summary, percentile_name};
pub use table::{
    Column, RATE_COLUMNS, RateColumn, Table, TableBuilder, Tables, TextColumn, Values, fill_rates,
};
