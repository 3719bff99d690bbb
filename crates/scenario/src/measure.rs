//! What is measured, and what is captured.

use fairwind_units::{ByteCount, Span};
use serde::{Deserialize, Serialize};

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Measure {
    /// Time at the beginning that does not count.
    pub warmup: Span,
    /// Lengths of the windows that series are given in.
    pub intervals: Vec<Span>,
    /// Length of the windows that queues are looked at in, in the table `queue_intervals`; a hundredth of the measured
    /// time unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_interval: Option<Span>,
    /// Series for every flow, beside those for every group of flows.
    pub per_flow_intervals: bool,
    /// How often the endpoints' state (congestion window, smoothed RTT, ...) is sampled; never unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint_interval: Option<Span>,
    /// Whether a data sender's state is also sampled at every segment that reaches it while the connection is
    /// established: the state that an acknowledgement finds, before it changes anything.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub endpoint_every_ack: bool,
    /// Which events of queues are told packet by packet, in the table `queue_events`; none unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_events: Option<QueueEvents>,
    /// Percentiles that the table `latencies` has, from 0 to 100.
    #[schemars(inner(range(min = 0.0, max = 100.0)))]
    pub percentiles: Vec<f64>,
}

impl Measure {
    /// Length of the windows that queues are looked at in, in an experiment that lasts so long.
    pub fn queue_interval(&self, duration: Span) -> Span {
        let measured = duration.saturating_sub(self.warmup);
        self.queue_interval.unwrap_or(measured / 100).max(Span::from_nanos(1))
    }
}

impl Default for Measure {
    fn default() -> Self {
        Self {
            warmup: Span::ZERO,
            intervals: vec![Span::from_secs(30)],
            queue_interval: None,
            per_flow_intervals: false,
            endpoint_interval: None,
            endpoint_every_ack: false,
            queue_events: None,
            percentiles: vec![1.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9],
        }
    }
}

/// Events of queues that are told packet by packet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueEvents {
    /// Names of the links whose queues are watched; all unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Vec<String>>,
    /// From when on, since the experiment begins; the warm-up counts, too.
    #[serde(default)]
    pub from: Span,
    /// Until when; to the end unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Span>,
    /// No more events than so many, the first ones; all of them unless said, but on the kernel, where they stay in memory
    /// until the run is over, a million.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub most: Option<u32>,
}

/// Packets to be written to capture files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Where packets are seen; at both hosts unless said.
    #[serde(default = "both_points")]
    pub points: Vec<CapturePoint>,
    /// Bytes kept of each packet; all of it unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snap: Option<ByteCount>,
    /// Names of the groups of flows to capture; all unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
    /// Capture only this many flows of each group, the first ones; all unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub flows_per_group: Option<u32>,
}

/// Where packets are seen.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CapturePoint {
    /// The host that sends the data.
    Sender,
    /// The host that receives the data.
    Receiver,
}

fn both_points() -> Vec<CapturePoint> {
    vec![CapturePoint::Sender, CapturePoint::Receiver]
}
