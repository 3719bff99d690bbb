//! Samples of endpoints' state, kept as they come.

use crate::observation::{CongestionState, FlowId};
use fairwind_units::{Instant, Span};

/// One sample of a data sender's state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndpointSample {
    pub(crate) at: Instant,
    pub(crate) flow: FlowId,
    pub(crate) cwnd_packets: u32,
    pub(crate) ssthresh_packets: Option<u32>,
    pub(crate) smoothed_rtt: Option<Span>,
    pub(crate) flight_packets: u32,
    pub(crate) state: CongestionState,
}
