//! The table `endpoint`: samples of data senders' state, warm-up included.

use super::Basis;
use crate::endpoint::{EndpointSample, Labels};
use crate::table::{Table, TableBuilder};
use fairwind_units::Span;

/// Rows in the order in which the samples were taken.
pub(super) fn endpoint_table(
    basis: &Basis<'_>,
    samples: &[EndpointSample],
    labels: &Labels,
) -> Table {
    TableBuilder::new("endpoint", samples)
        .with("time_s", |sample| basis.seconds_at(sample.at))
        .with("flow", |sample| sample.flow)
        .with("name", |sample| labels[&sample.flow].name.clone())
        .with("group", |sample| basis.group_name(&labels[&sample.flow]).to_owned())
        .with("cwnd_packets", |sample| u64::from(sample.cwnd_packets))
        .with("ssthresh_packets", |sample| sample.ssthresh_packets.map(u64::from))
        .with("smoothed_rtt_s", |sample| sample.smoothed_rtt.map(Span::as_secs_f64))
        .with("flight_packets", |sample| u64::from(sample.flight_packets))
        .with("state", |sample| sample.state.name().to_owned())
        .build()
}
