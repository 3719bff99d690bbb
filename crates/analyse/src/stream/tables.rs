//! Tables about streams, and their columns. Rows are made when a stream ends, so that its state can be freed.

use super::limits::{TimeShares, WindowCounts};
use super::measures::{Cause, DataCounters, InitialCounters, ORDERS, RareCounters, StreamMeasures};
use fairwind_measure::{
    ColumnDefinition, Percentiles, Summary, Table, TableBuilder, TableDefinition, Times, define,
    ratio, table_columns,
};
use fairwind_units::{Instant, Span};
use std::sync::Arc;

/// Key of a row: a flow or a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowKey {
    /// A flow's number in tables; `None` for a group.
    pub flow: Option<u64>,
    /// Name of the flow or group.
    pub name: String,
    /// The group, or the group of the flow.
    pub group: String,
}

/// A row with its key.
#[derive(Debug, Clone)]
struct Row<Values> {
    subject: Arc<RowKey>,
    values: Values,
}

/// Rows of the tables about streams that were not taken.
#[derive(Debug, Clone)]
pub struct StreamRows {
    percentiles: Vec<f64>,
    /// Origin of times.
    origin: Instant,
    summaries: Percentiles,
    transport: Vec<Row<Transport>>,
    retransmissions: Vec<Row<Repeated>>,
    times: Vec<Row<(&'static str, Summary)>>,
    sizes: Vec<Row<Summary>>,
}

/// A row of the table `transport`.
#[derive(Debug, Clone)]
struct Transport {
    measures: StreamMeasures,
    rtt: Summary,
}

/// A row of the table `retransmissions`.
#[derive(Debug, Clone)]
struct Repeated {
    kind: &'static str,
    value: &'static str,
    count: u64,
    bytes: Option<u64>,
    spurious_by_report: Option<u64>,
    spurious_by_timestamp: Option<u64>,
}

/// Names of orders of retransmission.
const ORDER_NAMES: [&str; ORDERS] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10+"];

/// Names of the ACK latencies after these.
const LATENCY_KINDS: [&str; ORDERS] = [
    "ack_after_1",
    "ack_after_2",
    "ack_after_3",
    "ack_after_4",
    "ack_after_5",
    "ack_after_6",
    "ack_after_7",
    "ack_after_8",
    "ack_after_9",
    "ack_after_10+",
];

/// Percentiles of round trips in `transport`.
const SHOWN: [f64; 2] = [50.0, 99.0];

impl StreamRows {
    /// No rows; distributions get these percentiles.
    pub fn new(percentiles: &[f64]) -> Self {
        let summaries = Percentiles::new(percentiles.iter().copied().chain(SHOWN));
        Self {
            percentiles: percentiles.to_vec(),
            origin: Instant::ZERO,
            summaries,
            transport: Vec::new(),
            retransmissions: Vec::new(),
            times: Vec::new(),
            sizes: Vec::new(),
        }
    }

    /// Sets the origin of times; it is the zero of the clock otherwise.
    pub const fn set_origin(&mut self, origin: Instant) {
        self.origin = origin;
    }

    /// Flows and groups with pending rows.
    pub fn waiting(&self) -> usize {
        self.transport.len()
    }

    /// Adds the rows of a stream that has ended, or of a group.
    pub fn push(&mut self, subject: RowKey, measures: &StreamMeasures) {
        let subject = Arc::new(subject);
        let rtt = Summary::of(&measures.rtts, &self.summaries);
        self.push_times(&subject, "rtt", rtt.clone());
        self.push_times(&subject, "inter_transmission", self.of(&measures.spacings));
        if let Some(rare) = &measures.rare {
            for (latency, kind) in rare.latency_by_order.iter().zip(LATENCY_KINDS) {
                self.push_times(&subject, kind, self.of(latency));
            }
            self.push_repeated(&subject, rare);
        }
        let sizes = Summary::of(&measures.sizes, &self.summaries);
        if sizes.count > 0 {
            self.sizes.push(Row { subject: Arc::clone(&subject), values: sizes });
        }
        let transport = Transport { measures: measures.without_distributions(), rtt };
        self.transport.push(Row { subject, values: transport });
    }

    fn of(&self, times: &Times) -> Summary {
        Summary::of(times, &self.summaries)
    }

    fn push_times(&mut self, subject: &Arc<RowKey>, kind: &'static str, summary: Summary) {
        if summary.count > 0 {
            self.times.push(Row { subject: Arc::clone(subject), values: (kind, summary) });
        }
    }

    fn push_repeated(&mut self, subject: &Arc<RowKey>, rare: &RareCounters) {
        let plain = |kind, value, count, bytes| Repeated {
            kind,
            value,
            count,
            bytes,
            spurious_by_report: None,
            spurious_by_timestamp: None,
        };
        let causes = Cause::ALL.map(|cause| {
            let index = cause.index();
            let (segments, bytes) = (rare.segments_by_cause[index], rare.bytes_by_cause[index]);
            Repeated {
                spurious_by_report: Some(rare.spurious_by_report[index]),
                spurious_by_timestamp: Some(rare.spurious_by_stamp[index]),
                ..plain("cause", cause.name(), segments, Some(bytes))
            }
        });
        let orders = (0..ORDERS).map(|place| {
            let (segments, bytes) = (rare.segments_by_order[place], rare.bytes_by_order[place]);
            plain("order", ORDER_NAMES[place], segments, Some(bytes))
        });
        let rows = |kind, counts: &[u64; ORDERS]| {
            let counts = *counts;
            (0..ORDERS).map(move |place| plain(kind, ORDER_NAMES[place], counts[place], None))
        };
        let timeouts = rows("timeout_in_row", &rare.timeouts_by_row);
        let acks = rows("duplicate_ack", &rare.duplicate_acks_by_order);
        let all = causes.into_iter().chain(orders).chain(timeouts).chain(acks);
        for values in all.filter(|row| row.count > 0) {
            self.retransmissions.push(Row { subject: Arc::clone(subject), values });
        }
    }

    /// Takes the pending rows of `transport`, `retransmissions`, `stream_times` and `stream_sizes`.
    pub fn take(&mut self) -> Vec<Table> {
        let transport = transport_table(&self.transport, &self.summaries, self.origin);
        let retransmissions = retransmissions_table(&self.retransmissions);
        let times = self.times_table();
        let sizes = self.sizes_table();
        self.transport.clear();
        self.retransmissions.clear();
        self.times.clear();
        self.sizes.clear();
        vec![transport, retransmissions, times, sizes]
    }

    fn times_table(&self) -> Table {
        let table = with_subject(TableBuilder::new("stream_times", &self.times));
        with_times(table, &self.percentiles, &self.summaries).build()
    }

    fn sizes_table(&self) -> Table {
        let table = with_subject(TableBuilder::new("stream_sizes", &self.sizes));
        with_sizes(table, &self.percentiles, &self.summaries).build()
    }
}

fn retransmissions_table(rows: &[Row<Repeated>]) -> Table {
    with_repeated(with_subject(TableBuilder::new("retransmissions", rows))).build()
}

fn transport_table(rows: &[Row<Transport>], percentiles: &Percentiles, origin: Instant) -> Table {
    let table = with_data(with_subject(TableBuilder::new("transport", rows)), origin);
    let table = with_answers(with_oddities(with_repairs(table)));
    with_time(with_rtt(with_flight(table), percentiles)).build()
}

impl<Values> Row<Values> {
    fn scope(&self) -> &'static str {
        if self.subject.flow.is_some() { "flow" } else { "group" }
    }
}

impl Row<Transport> {
    const fn measures(&self) -> &StreamMeasures {
        &self.values.measures
    }

    const fn beginning(&self) -> &InitialCounters {
        &self.values.measures.beginning
    }

    const fn time(&self) -> &TimeShares {
        &self.values.measures.time
    }

    /// A window, if any is known.
    fn window(&self, window: impl Fn(&WindowCounts) -> u32) -> Option<u64> {
        (self.measures().windows() > 0).then(|| window(&self.measures().window).into())
    }

    /// A sum over data segments, by their number.
    fn per_data_segment(&self, sum: impl Fn(&DataCounters) -> u64) -> Option<f64> {
        let common = &self.measures().common;
        ratio(sum(common), common.data_segments)
    }

    /// A part of the observed time.
    fn of_time(&self, part: fn(&TimeShares) -> Span) -> Option<f64> {
        share(part(self.time()), self.time().observed())
    }

    /// A rare counter.
    fn rare(&self, count: impl Fn(&RareCounters) -> u64) -> u64 {
        self.measures().rare.as_ref().map_or(0, |rare| count(rare))
    }
}

impl StreamMeasures {
    /// The counters without distributions.
    fn without_distributions(&self) -> Self {
        let rare = self
            .rare
            .as_deref()
            .map(|rare| Box::new(RareCounters { latency_by_order: Default::default(), ..*rare }));
        Self {
            common: self.common,
            time: self.time,
            acks: self.acks,
            window: self.window,
            beginning: self.beginning,
            rare,
            ..Self::default()
        }
    }
}

/// `part / whole`; `None` if `whole` is zero.
fn share(part: Span, whole: Span) -> Option<f64> {
    (!whole.is_zero()).then(|| part.as_secs_f64() / whole.as_secs_f64())
}

/// The columns of the tables about streams, in their order.
pub fn columns() -> Vec<ColumnDefinition> {
    define(&TABLES)
}

/// The tables `transport`, `retransmissions`, `stream_times` and `stream_sizes`.
const TABLES: [TableDefinition; 4] = [
    ("transport", &[SUBJECT, DATA, REPAIRS, ODDITIES, ANSWERS, FLIGHT, ROUND_TRIPS, TIME]),
    ("retransmissions", &[SUBJECT, REPEATED]),
    ("stream_times", &[SUBJECT, TIMES]),
    ("stream_sizes", &[SUBJECT, SIZES]),
];

table_columns! {
    SUBJECT: with_subject[Values](Row<Values>);
    "scope", "text", with_text(|row, text| text.push_str(row.scope())), "`flow`, or `group` for all flows of a group together.";
    "name", "text", with_text(|row, text| text.push_str(&row.subject.name)), "Name of the flow or group.";
    "group", "text", with_text(|row, text| text.push_str(&row.subject.group)), "The group, or the group of the flow.";
    "flow", "number", with(|row| row.subject.flow), "The flow's number; missing for a group.";
}

table_columns! {
    DATA: with_data(Row<Transport>, origin: Instant);
    "streams", "flows", with(|row| row.beginning().streams), "Number of flows: 1, or those of the group.";
    "observed_s", "s", with(|row| row.time().observed().as_secs_f64()), "Time from the first packet of the connection to its last, or the requested part of it, summed over flows.";
    "first_data_s", "s", with(|row| Some(row.beginning().first_data_at?.saturating_since(origin).as_secs_f64())), "When the first data segment passed the tap, since the origin; of a part, the first one in it. The earliest of a group.";
    "data_segments", "segments", with(|row| row.measures().common.data_segments), "Packets with payload at the tap; segments merged by an offload engine count as one.";
    "payload_bytes", "B", with(|row| row.measures().common.payload_bytes), "Payload bytes in them, repeated ones included.";
}

table_columns! {
    REPAIRS: with_repairs(Row<Transport>);
    "retransmitted_segments", "segments", with(|row| row.measures().retransmissions()), "Data segments sent before, completely or except for new data that a retransmission was filled up with. Bundles, copies made by the network, keep-alives and zero-window probes do not count.";
    "retransmitted_bytes", "B", with(|row| row.rare(|rare| rare.bytes_by_cause.iter().sum())), "Their payload bytes that were sent before.";
    "estimated_loss_ratio", "ratio", with(|row| ratio(row.measures().retransmissions(), row.measures().common.data_segments)), "Retransmitted segments over data segments: the loss estimate of one tap. It is too high if retransmissions were spurious.";
    "fast_retransmit_segments", "segments", with(|row| row.measures().retransmissions_for(Cause::FastRetransmit)), "Of them, those sent because acknowledgments gave evidence of a loss. Near the receiver causes are estimates, because reactions come a round trip later and timers cannot be seen; `docs/concepts/analyser.md` gives their error.";
    "timeout_segments", "segments", with(|row| row.measures().retransmissions_for(Cause::Timeout)), "Of them, those sent because the retransmission timer expired.";
    "after_timeout_segments", "segments", with(|row| row.measures().retransmissions_for(Cause::AfterTimeout)), "Of them, those that followed a time-out in the same recovery.";
    "tail_loss_probe_segments", "segments", with(|row| row.measures().retransmissions_for(Cause::TailLossProbe)), "Of them, tail loss probes; a probe that carries new data is not recognised.";
    "unknown_segments", "segments", with(|row| row.measures().retransmissions_for(Cause::Unknown)), "Of them, those that nothing seen at the tap explains.";
    "fast_recoveries", "events", with(|row| row.rare(|rare| rare.fast_recoveries)), "Recoveries that began with a fast retransmit.";
    "timeouts", "events", with(|row| row.rare(|rare| rare.timeouts_by_row.iter().sum())), "Expiries of the retransmission timer with data or FIN outstanding. Each first segment retransmitted by a time-out counts as one.";
    "spurious_by_report", "segments", with(|row| row.rare(|rare| rare.spurious_by_report.iter().sum())), "Retransmissions, of whatever cause, that the receiver reported as duplicates (D-SACK, RFC 2883).";
    "spurious_by_timestamp", "segments", with(|row| row.rare(|rare| rare.spurious_by_stamp.iter().sum())), "Retransmissions of the oldest outstanding segment that the acknowledgment proves spurious by an older timestamp (RFC 3522). One that a duplicate report also proves is counted once, where it was found first.";
    "fin_retransmissions", "segments", with(|row| row.rare(|rare| rare.controls_repeated)), "Segments sent again that carry FIN and no payload.";
}

table_columns! {
    ODDITIES: with_oddities(Row<Transport>);
    "bundles", "segments", with(|row| row.rare(|rare| rare.bundles)), "Data segments that carry outstanding bytes ahead of new ones (redundant data bundling). They do not count as retransmissions.";
    "bundled_bytes", "B", with(|row| row.rare(|rare| rare.bundled_bytes)), "Payload bytes in bundles that were sent before.";
    "keep_alives", "segments", with(|row| row.rare(|rare| rare.keep_alives)), "Segments of at most one byte, just below the next expected byte, while nothing is outstanding and the window is open (RFC 9293 §3.8.4).";
    "window_probes", "segments", with(|row| row.rare(|rare| rare.window_probes)), "Such segments, or one byte beyond the window, while the window is closed (RFC 9293 §3.8.6.1).";
    "out_of_order_segments", "segments", with(|row| row.rare(|rare| rare.out_of_order)), "Data segments that fill a gap and were sent before what followed it, by their timestamps, their IPv4 identification, or because they come within half a round trip.";
    "duplicate_segments", "segments", with(|row| row.rare(|rare| rare.duplicates)), "Data segments with the sequence number, timestamp and IPv4 identification of an earlier one: copies, not retransmissions. Without an identification they are not recognised.";
    "missing_bytes", "B", with(|row| row.rare(|rare| rare.missing_bytes)), "Bytes that were acknowledged and never passed the tap: the capture is incomplete, or the tap does not see all of the path.";
    "segments_out_of_window", "segments", with(|row| row.rare(|rare| rare.out_of_window)), "Data segments with numbers that cannot belong to the stream. They are ahead by more than four of the largest advertised windows (1 MiB at least, 1 GiB if no SYN showed the scale) or behind by more than 1 GiB. They count as packets without data, unless the next segment continues them.";
    "forgotten_ranges", "ranges", with(|row| row.rare(|rare| rare.forgotten_ranges)), "Outstanding ranges that were discarded, because they were not acknowledged and there were too many.";
}

table_columns! {
    ANSWERS: with_answers(Row<Transport>);
    "acknowledgments", "segments", with(|row| row.measures().acks.acknowledgments), "Segments of the other direction that acknowledge, with or without data.";
    "duplicate_acks", "segments", with(|row| row.rare(|rare| rare.duplicate_acks_by_order.iter().sum())), "Duplicate acknowledgments as RFC 5681 §2 defines them: data is outstanding, no payload, SYN or FIN, the same number and the same window as before.";
    "sack_segments", "segments", with(|row| row.rare(|rare| rare.sack_segments)), "Acknowledgments with SACK blocks.";
    "sack_blocks", "blocks", with(|row| row.rare(|rare| rare.sack_blocks)), "Blocks in them.";
    "reports_of_duplicates", "blocks", with(|row| row.rare(|rare| rare.reports_of_duplicates)), "Blocks that report a duplicate (RFC 2883 §4).";
    "zero_windows", "events", with(|row| row.measures().window.closings), "Number of times that the other side closed its window.";
    "zero_window_s", "s", with(|row| row.measures().window.closed.as_secs_f64()), "Time for which it was closed.";
    "window_min_bytes", "B", with(|row| row.window(|counts| counts.least)), "Smallest advertised window; for the answering side, counted from the last one before its first data. Missing, like the next two, if no SYN showed the scale.";
    "window_mean_bytes", "B", with(|row| ratio(row.measures().acks.window_sum, row.measures().windows())), "Mean window, over acknowledgments.";
    "window_max_bytes", "B", with(|row| row.window(|counts| counts.most)), "Largest advertised window.";
}

table_columns! {
    FLIGHT: with_flight(Row<Transport>);
    "flight_mean_bytes", "B", with(|row| row.per_data_segment(|common| common.flight_bytes_sum)), "Mean, over data segments, of the bytes outstanding once it was sent: from the last acknowledged to the last sent one.";
    "flight_max_bytes", "B", with(|row| row.measures().common.flight_bytes_max), "The most bytes outstanding.";
    "flight_mean_packets", "packets", with(|row| row.per_data_segment(|common| common.flight_packets_sum)), "The same mean in packets; a packet merged by an offload engine counts as the segments that it contains.";
    "flight_max_packets", "packets", with(|row| row.measures().common.flight_packets_max), "The most packets outstanding.";
    "initial_window_mean_packets", "packets", with(|row| ratio(row.beginning().initial_packets, row.beginning().initial_windows)), "Packets sent before the first acknowledgment of data; for groups, the mean. If the capture misses the beginning, packets before the first captured acknowledgment.";
    "initial_window_mean_bytes", "B", with(|row| ratio(row.beginning().initial_bytes, row.beginning().initial_windows)), "Payload in them, likewise.";
    "few_in_flight_ratio", "ratio", with(|row| row.per_data_segment(|common| common.few_in_flight)), "Share of data segments sent with fewer than four packets in flight, themselves included.";
    "thin_ratio", "ratio", with(|row| row.per_data_segment(|common| common.thin)), "The same share among segments sent after a loss ended the initial slow start: Linux' definition of a thin stream (`tcp_stream_is_thin`).";
}

table_columns! {
    ROUND_TRIPS: with_rtt(Row<Transport>, percentiles: &Percentiles);
    "handshake_rtt_mean_s", "s", with(|row| share(row.beginning().handshake, Span::from_secs(row.beginning().handshakes))), "From SYN (or SYN with ACK) to its acknowledgment, if it was sent once; for groups, the mean.";
    "rtt_samples", "samples", with(|row| row.values.rtt.count), "Round trips measured. Each acknowledgment of new data is a sample: from the transmission of the newest segment that it covers. If that was retransmitted, the oldest one counts, if its timestamp identifies the transmission (RFC 6298 §3, RFC 7323 §4). Bundled bytes do not count as retransmitted; a segment counts as newest only if it arrived without its bundle. If one tap saw flows of a group leave and others arrive, only the leaving ones count, as in `handshake_rtt_mean_s`.";
    "rtt_min_s", "s", with(|row| row.values.rtt.minimum_s()), "The shortest round trip between tap and receiver.";
    "rtt_mean_s", "s", = with_times("rtt_", &SHOWN, percentiles, |row| &row.values.rtt), "The mean round trip.";
    "rtt_p50_s", "s", _, "The median round trip, at most 1 % above the true one.";
    "rtt_p99_s", "s", _, "The 99th percentile of round trips.";
    "rtt_max_s", "s", _, "The longest round trip.";
}

table_columns! {
    TIME: with_time(Row<Transport>);
    "idle_ratio", "ratio", with(|row| row.of_time(|time| time.idle)), "Part of the observed time in which nothing was outstanding and the window had room for a full segment. This ratio and the next three add up to 1.";
    "application_limited_ratio", "ratio", with(|row| row.of_time(|time| time.application)), "Part of the time in which data was outstanding and the application wrote no more. It shows if the last new segment was not full, if the next one came without an acknowledgment that made room for it, or if none followed when everything was acknowledged.";
    "receiver_limited_ratio", "ratio", with(|row| row.of_time(|time| time.receiver_window)), "Part of the time, outside recovery, in which the advertised window had no room for a full segment.";
    "congestion_limited_ratio", "ratio", with(|row| row.of_time(|time| time.congestion)), "The rest: the congestion window, or recovery, held data back.";
    "thin_time_ratio", "ratio", with(|row| row.of_time(|time| time.thin)), "Part of the time in which fewer than four packets were in flight, after the initial slow start.";
}

table_columns! {
    REPEATED: with_repeated(Row<Repeated>);
    "kind", "text", with_text(|row, text| text.push_str(row.values.kind)), "What is counted. `cause`: retransmitted segments by cause. `order`: retransmitted segments by the largest number of retransmissions of one of their bytes. `timeout_in_row`: time-outs by their number since the last acknowledgment of new data. `duplicate_ack`: duplicate acknowledgments by their number in a row.";
    "value", "text", with_text(|row, text| text.push_str(row.values.value)), "The cause, or the number; `10+` for all from the tenth on.";
    "count", "number", with(|row| row.values.count), "Number; values that did not occur have no row.";
    "bytes", "B", with(|row| row.values.bytes), "Payload bytes in them that were sent before; missing for kinds that count no data segments.";
    "spurious_by_report", "segments", with(|row| row.values.spurious_by_report), "Of these, those that the receiver reported as duplicates; only by cause.";
    "spurious_by_timestamp", "segments", with(|row| row.values.spurious_by_timestamp), "Of these, those that a timestamp proved spurious; only by cause.";
}

table_columns! {
    TIMES: with_times(Row<(&'static str, Summary)>, shown: &[f64], percentiles: &Percentiles);
    "kind", "text", with_text(|row, text| text.push_str(row.values.0)), "`rtt`: round trips, as in `transport`, also for groups. `inter_transmission`: time between consecutive data segments. `ack_after_N`: ACK latency of data retransmitted N times, from its first transmission to the first acknowledgment that covers it.";
    "count", "samples", with(|row| row.values.1.count), "Samples.";
    "min_s", "s", with(|row| row.values.1.minimum_s()), "The smallest.";
    "mean_s", "s", = with_times("", shown, percentiles, |row| &row.values.1), "The mean.";
    "p*_s", "s", _, "The percentile of the samples, at most 1 % above the true one.";
    "max_s", "s", _, "The largest.";
}

table_columns! {
    SIZES: with_sizes(Row<Summary>, shown: &[f64], percentiles: &Percentiles);
    "count", "segments", with(|row| row.values.count), "Data segments, repeated ones included.";
    "min_bytes", "B", with(|row| row.values.minimum), "The smallest payload.";
    "mean_bytes", "B", with(|row| row.values.mean), "The mean payload.";
    "p*_bytes", "B", = with_percentiles("", "_bytes", shown, percentiles, |row, place| row.values.percentile(place)), "The percentile of the payload, exact up to 255 B and at most 1 % above the true one.";
    "max_bytes", "B", with(|row| row.values.maximum), "The largest payload.";
}
