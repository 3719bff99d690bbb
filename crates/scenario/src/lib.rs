//! The typed description of an experiment: read, checked, expanded into a grid, resolved.
//!
//! A scenario is a TOML file that describes one experiment: a network, the flows that share it, and
//! what is measured. This room reads it, fills in defaults, reports everything that is wrong with
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
//! Modules, in the order that a scenario passes them: `document` (the file, settings from outside),
//! `node` (TOML values with lines), `key_path` (what a dotted path addresses), `sweep` (the axes),
//! `plan` (points, cells, seeds), `check` with `shape`, `schema` and `quantity` (the types),
//! `rules` (between keys), `resolve` (into an `experiment`). The input types are in `input`, `impairments`,
//! `queue`, `queue_limit`, `varying`, `workload`, `recorded`, `rate_trace`, `carrier`, `named_file`, `recording`, `tcp`, `sharing`, `congestion`, `ip_version` and `measure`; `error` prints what is wrong.

mod carrier;
mod check;
mod congestion;
mod document;
mod error;
mod experiment;
mod impairments;
mod input;
mod ip_version;
mod key_path;
mod measure;
mod named_file;
mod node;
mod plan;
mod quantity;
mod queue;
mod queue_limit;
mod rate_trace;
mod recorded;
mod recording;
mod resolve;
mod rules;
mod schema;
mod seeds;
mod shape;
mod sharing;
mod sweep;
mod tcp;
mod varying;
mod workload;

pub use carrier::{CarrierInput, RequestsInput, TerminalInput};
pub use congestion::{Congestion, NoControlName, PluggedControl};
pub use document::Document;
pub use error::{ScenarioError, ScenarioErrors};
pub use experiment::{
    AssignedSlots, Experiment, FlowGroup, Link, NetworkDescription, Node, NodeKind, RouterKind,
};
pub use fairwind_qdisc::Qdisc;
pub use impairments::{
    ImpairmentsInput, ImpairmentsTable, JitterInput, LossInput, NetemText, NetemTextError,
};
pub use input::{FlowsInput, LinkInput, PathInput, ScenarioInput, StartPattern, TopologyInput};
pub use ip_version::{IpVersion, UnknownIpVersion};
pub use measure::{Capture, CapturePoint, Measure, QueueEvents};
pub use named_file::{FileContent, NamedFile};
pub use plan::{Cell, Plan, PlanAxis, Point};
pub use queue::{
    CakeInput, ChokeInput, CodelInput, DrrClassInput, DrrInput, Dualpi2Input, FqCodelInput,
    FqPieInput, HtbClassInput, HtbInput, PieInput, PrioFilterInput, PrioInput, QueueInput,
    QueueTable, QueueText, QueueTextError, RedInput, SfqInput, TbfInput,
};
pub use queue_limit::{QueueLimit, QueueLimitError};
pub use rate_trace::RateTraceInput;
pub use recorded::{RecordedApplication, RecordedInterval, RecordedPayload, Recording};
pub use schema::json_schema;
pub use seeds::replicate_seed;
pub use sharing::{Collection, SharedOpenings, Sharing, SharingPolicy, Trust};
pub use tcp::{Ecn, LossDetection, Profile, TcpSettings, WindowReduction};
pub use varying::{Distribution, Quantile, Varying};
pub use workload::{
    Burst, MessageSize, Pace, RecordedWrite, TIMESTAMP_BYTES, Transport, Workload, WorkloadInput,
};
