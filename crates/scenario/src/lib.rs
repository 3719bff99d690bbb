//! The typed description of an experiment: read, checked, expanded into a grid, resolved.
//!
//! A scenario is a TOML file that describes one experiment: a network, the flows that share it, and
//! what is measured. This crate reads it, fills in defaults, reports everything that is wrong with
//! it at once (file, line, key, value, rule, hint), applies settings from outside, expands lists
//! under `[sweep]` into a grid of points, and resolves every point into an [`Experiment`] that an
//! engine can run without asking back. It runs nothing, reads no file, and draws no random number:
//! text goes in, values come out.
//!
//! ```
//! let text = r#"
//!     name = "one greedy stream"
//!     duration = "60 s"
//!     [path]
//!     rate = "1 Mbit/s"
//!     rtt = "100 ms"
//!     queue = { discipline = "pfifo", limit = "1 bdp" }
//!     [[flows]]
//!     name = "greedy"
//!     workload = { kind = "greedy" }
//!     [sweep]
//!     "flows.greedy.count" = [1, 2, 4]
//! "#;
//! let mut document = fairwind_scenario::Document::parse("greedy.toml", text)?;
//! document.set("duration", "30 s")?;
//! let plan = document.plan()?;
//! assert_eq!(plan.cells.len(), 3);
//! assert_eq!(plan.cells[2].experiment.flows[0].count, 4);
//! # Ok::<(), fairwind_scenario::ScenarioErrors>(())
//! ```
//!
//! Modules, in the order that a scenario passes them: `document` (the file, settings from outside), `node` (TOML values
//! with lines, and key paths), `sweep` (axes and points of the grid), `plan` (cells, seeds), `check` with `schema` (the
//! types), `rules` (between keys), `resolve` (into an `experiment`); `error` prints what is wrong. The keys and their
//! types are in `input`, `carrier`, `impairments`, `named_file`, `workload`, `recorded_application`, `varying`, `tcp`,
//! `congestion`, `factor`, `protocol` and `measure`; those of queues in `fairwind_qdisc`.

mod carrier;
mod check;
mod congestion;
mod document;
mod error;
mod experiment;
mod factor;
mod impairments;
mod input;
mod measure;
mod named_file;
mod node;
mod plan;
mod protocol;
mod recorded_application;
mod resolve;
mod rules;
mod schema;
mod sweep;
mod tcp;
mod varying;
mod workload;

pub use carrier::{CarrierInput, RequestsInput, TerminalInput};
pub use congestion::{Congestion, NoControlName, PluggedControl};
pub use document::Document;
pub use error::{ScenarioError, ScenarioErrors};
pub use experiment::{
    AssignedSlots, Experiment, FlowGroup, Link, NetworkDescription, Node, NodeKind,
};
pub use factor::Factor;
pub use fairwind_qdisc::{
    CakeInput, ChokeInput, CodelInput, DrrClassInput, DrrInput, Dualpi2Input, FqCodelInput,
    FqPieInput, HfscClassInput, HfscInput, HtbClassInput, HtbInput, NetemText, NetemTextError,
    PieInput, PrioFilterInput, PrioInput, Qdisc, QueueInput, QueueLimit, QueueLimitError,
    QueueTable, QueueText, QueueTextError, RedInput, ServiceCurveInput, ServiceCurvePieces,
    SfqInput, TbfInput,
};
pub use impairments::{ImpairmentsInput, ImpairmentsTable, JitterInput, LossInput};
pub use input::{
    FlowsInput, LinkInput, PathInput, RouterKind, ScenarioInput, StartPattern, TopologyInput,
};
pub use measure::{Capture, CapturePoint, Measure, QueueEvents};
pub use named_file::{FileContent, NamedFile, RateTraceInput};
pub use plan::{Cell, Plan, PlanAxis, replicate_seed};
pub use protocol::{IpVersion, Transport, UnknownIpVersion};
pub use recorded_application::{RecordedApplication, RecordedInterval, RecordedPayload, Recording};
pub use schema::json_schema;
pub use sweep::Point;
pub use tcp::{
    BundlingStreams, Collection, ConstantsFor, Ecn, LossDetection, Profile, SharedOpenings,
    Sharing, SharingPolicy, TcpSettings, ThinDefinition, Timers, Trust, WindowReduction,
};
pub use varying::{Distribution, Quantile, Varying};
pub use workload::{
    Burst, MessageSize, Pace, RecordedWrite, TIMESTAMP_BYTES, WebPages, Workload, WorkloadInput,
};

/// Whether a value is the default: such fields are not written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
