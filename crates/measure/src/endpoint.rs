//! Samples of endpoints' state, kept as they come.

use crate::observation::CongestionState;
use crate::settings::FlowDescription;
use fairwind_units::{Instant, Span};
use std::collections::BTreeMap;

/// What the flows of samples are called, by their numbers in tables.
pub(crate) type Labels = BTreeMap<u64, FlowDescription>;

/// One sample of a data sender's state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndpointSample {
    pub(crate) at: Instant,
    /// The flow's number in tables.
    pub(crate) flow: u64,
    pub(crate) cwnd_packets: u32,
    pub(crate) ssthresh_packets: Option<u32>,
    pub(crate) smoothed_rtt: Option<Span>,
    pub(crate) flight_packets: u32,
    pub(crate) state: CongestionState,
}
