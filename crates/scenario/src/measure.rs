//! Settings of measures and captures.

use fairwind_units::{ByteCount, Span};
use serde::{Deserialize, Serialize};

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Measure {
    /// Time at the beginning that is not measured.
    pub warmup: Span,
    /// Lengths of the windows that series are given in.
    pub intervals: Vec<Span>,
    /// Length of the windows in the table `queue_intervals`; default: a hundredth of the measured time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_interval: Option<Span>,
    /// Series for every flow, in addition to those for every group.
    pub per_flow_intervals: bool,
    /// Sampling interval of the endpoints' state (congestion window, smoothed RTT, ...); default: not sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint_interval: Option<Span>,
    /// Whether a data sender's state is also sampled at every segment that reaches it while the connection is
    /// established: the state that an acknowledgement finds, before it changes anything.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub endpoint_every_ack: bool,
    /// Queue events to log packet by packet in the table `queue_events`; default: none.
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

/// Queue events to log packet by packet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueEvents {
    /// Names of the links with logged queues; default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Vec<String>>,
    /// Beginning of the log, since the experiment began, warm-up included.
    #[serde(default)]
    pub from: Span,
    /// End of the log; default: the end of the experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Span>,
    /// Largest number of events to log, from the first one on. Default: all; on the kernel a million, because events
    /// stay in memory until the run is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub most: Option<u32>,
}

/// Packets to be written to capture files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Where packets are seen; default: at both hosts.
    #[serde(default = "both_points")]
    pub points: Vec<CapturePoint>,
    /// Bytes kept of each packet; default: all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snap: Option<ByteCount>,
    /// Names of the groups of flows to capture; default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
    /// Capture only this many flows of each group, the first ones; default: all.
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
