//! The table `endpoint`: samples of data senders' state, warm-up included.

use super::Measurement;
use crate::endpoint::EndpointSample;
use crate::settings::FlowDescription;
use crate::table::{Table, TableBuilder};
use fairwind_units::Span;

/// Rows in the order in which the samples were taken.
pub(super) fn endpoint_table(measurement: &Measurement<'_>) -> Table {
    let flow = |sample: &EndpointSample| -> &FlowDescription {
        &measurement.settings.flows[sample.flow.index()]
    };
    TableBuilder::new("endpoint", measurement.endpoint_samples)
        .with("time_s", |sample| measurement.seconds_at(sample.at))
        .with("flow", |sample| u64::from(sample.flow.0))
        .with("name", |sample| flow(sample).name.clone())
        .with("group", |sample| measurement.group_name(flow(sample)).to_owned())
        .with("cwnd_packets", |sample| u64::from(sample.cwnd_packets))
        .with("ssthresh_packets", |sample| sample.ssthresh_packets.map(u64::from))
        .with("smoothed_rtt_s", |sample| sample.smoothed_rtt.map(Span::as_secs_f64))
        .with("flight_packets", |sample| u64::from(sample.flight_packets))
        .with("state", |sample| sample.state.name().to_owned())
        .build()
}
