//! Tables about streams. Rows are made when a stream ends, so that its state can be freed.

use super::kind::Cause;
use super::limits::TimeShares;
use super::measures::{ORDERS, RareCounters, StreamMeasures};
use fairwind_measure::{Counts, Percentiles, Summary, Table, TableBuilder, Times, percentile_name};
use fairwind_units::Span;
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
            summaries,
            transport: Vec::new(),
            retransmissions: Vec::new(),
            times: Vec::new(),
            sizes: Vec::new(),
        }
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
        let transport = transport_table(&self.transport, &self.summaries);
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
        let mut table = subjects("stream_times", &self.times)
            .with_text("kind", |row, text| text.push_str(row.values.0))
            .with("count", |row| row.values.1.count)
            .with("min_s", |row| row.values.1.minimum_s())
            .with("mean_s", |row| row.values.1.mean_s());
        for &percentile in &self.percentiles {
            let place = self.summaries.place(percentile);
            let name = format!("{}_s", percentile_name(percentile));
            table = table.with(&name, |row| row.values.1.percentile_s(place));
        }
        table.with("max_s", |row| row.values.1.maximum_s()).build()
    }

    fn sizes_table(&self) -> Table {
        let mut table = subjects("stream_sizes", &self.sizes)
            .with("count", |row| row.values.count)
            .with("min_bytes", |row| row.values.minimum)
            .with("mean_bytes", |row| row.values.mean);
        for &percentile in &self.percentiles {
            let place = self.summaries.place(percentile);
            let name = format!("{}_bytes", percentile_name(percentile));
            table = table.with(&name, |row| row.values.percentile(place));
        }
        table.with("max_bytes", |row| row.values.maximum).build()
    }
}

/// The key columns.
fn subjects<'a, Values>(
    name: &'static str,
    rows: &'a [Row<Values>],
) -> TableBuilder<'a, Row<Values>> {
    let scope = |row: &Row<Values>| if row.subject.flow.is_some() { "flow" } else { "group" };
    TableBuilder::new(name, rows)
        .with_text("scope", |row, text| text.push_str(scope(row)))
        .with_text("name", |row, text| text.push_str(&row.subject.name))
        .with_text("group", |row, text| text.push_str(&row.subject.group))
        .with("flow", |row| row.subject.flow)
}

fn retransmissions_table(rows: &[Row<Repeated>]) -> Table {
    subjects("retransmissions", rows)
        .with_text("kind", |row, text| text.push_str(row.values.kind))
        .with_text("value", |row, text| text.push_str(row.values.value))
        .with("count", |row| row.values.count)
        .with("bytes", |row| row.values.bytes)
        .with("spurious_by_report", |row| row.values.spurious_by_report)
        .with("spurious_by_timestamp", |row| row.values.spurious_by_timestamp)
        .build()
}

type TransportTable<'a> = TableBuilder<'a, Row<Transport>>;

fn transport_table(rows: &[Row<Transport>], percentiles: &Percentiles) -> Table {
    let table = subjects("transport", rows)
        .with("streams", |row| row.measures().beginning.streams)
        .with("observed_s", |row| row.time().observed().as_secs_f64())
        .with("data_segments", |row| row.measures().common.data_segments)
        .with("payload_bytes", |row| row.measures().common.payload_bytes);
    let table = with_oddities(with_repairs(table));
    let table = with_flight(with_answers(table));
    with_time(with_rtt(table, percentiles)).build()
}

fn with_repairs(table: TransportTable<'_>) -> TransportTable<'_> {
    let mut table = table
        .with("retransmitted_segments", |row| row.measures().retransmissions())
        .with("retransmitted_bytes", |row| row.rare(|rare| rare.bytes_by_cause.iter().sum()))
        .with("estimated_loss_ratio", |row| {
            ratio(row.measures().retransmissions(), row.measures().common.data_segments)
        });
    for cause in Cause::ALL {
        let name = format!("{}_segments", cause.name());
        table = table.with(&name, |row| row.measures().retransmissions_for(cause));
    }
    table
        .with("fast_recoveries", |row| row.rare(|rare| rare.fast_recoveries))
        .with("timeouts", |row| row.rare(|rare| rare.timeouts_by_row.iter().sum()))
        .with("spurious_by_report", |row| row.rare(|rare| rare.spurious_by_report.iter().sum()))
        .with("spurious_by_timestamp", |row| row.rare(|rare| rare.spurious_by_stamp.iter().sum()))
        .with("fin_retransmissions", |row| row.rare(|rare| rare.controls_repeated))
}

fn with_oddities(table: TransportTable<'_>) -> TransportTable<'_> {
    table
        .with("bundles", |row| row.rare(|rare| rare.bundles))
        .with("bundled_bytes", |row| row.rare(|rare| rare.bundled_bytes))
        .with("keep_alives", |row| row.rare(|rare| rare.keep_alives))
        .with("window_probes", |row| row.rare(|rare| rare.window_probes))
        .with("out_of_order_segments", |row| row.rare(|rare| rare.out_of_order))
        .with("duplicate_segments", |row| row.rare(|rare| rare.duplicates))
        .with("missing_bytes", |row| row.rare(|rare| rare.missing_bytes))
        .with("segments_out_of_window", |row| row.rare(|rare| rare.out_of_window))
        .with("forgotten_ranges", |row| row.rare(|rare| rare.forgotten_ranges))
}

fn with_answers(table: TransportTable<'_>) -> TransportTable<'_> {
    table
        .with("acknowledgments", |row| row.measures().acks.acknowledgments)
        .with("duplicate_acks", |row| row.rare(|rare| rare.duplicate_acks_by_order.iter().sum()))
        .with("sack_segments", |row| row.rare(|rare| rare.sack_segments))
        .with("sack_blocks", |row| row.rare(|rare| rare.sack_blocks))
        .with("reports_of_duplicates", |row| row.rare(|rare| rare.reports_of_duplicates))
        .with("zero_windows", |row| row.measures().window.closings)
        .with("zero_window_s", |row| row.measures().window.closed.as_secs_f64())
        .with("window_min_bytes", |row| {
            let least = row.measures().window.least;
            (row.measures().windows() > 0).then_some(u64::from(least))
        })
        .with("window_mean_bytes", |row| {
            ratio(row.measures().acks.window_sum, row.measures().windows())
        })
        .with("window_max_bytes", |row| {
            let most = row.measures().window.most;
            (row.measures().windows() > 0).then_some(u64::from(most))
        })
}

fn with_flight(table: TransportTable<'_>) -> TransportTable<'_> {
    table
        .with("flight_mean_bytes", |row| {
            let common = row.measures().common;
            ratio(common.flight_bytes_sum, common.data_segments)
        })
        .with("flight_max_bytes", |row| row.measures().common.flight_bytes_max)
        .with("flight_mean_packets", |row| {
            let common = row.measures().common;
            ratio(common.flight_packets_sum, common.data_segments)
        })
        .with("flight_max_packets", |row| row.measures().common.flight_packets_max)
        .with("initial_window_mean_packets", |row| {
            let beginning = row.measures().beginning;
            ratio(beginning.initial_packets, beginning.initial_windows)
        })
        .with("initial_window_mean_bytes", |row| {
            let beginning = row.measures().beginning;
            ratio(beginning.initial_bytes, beginning.initial_windows)
        })
        .with("few_in_flight_ratio", |row| {
            let common = row.measures().common;
            ratio(common.few_in_flight, common.data_segments)
        })
        .with("thin_ratio", |row| {
            let common = row.measures().common;
            ratio(common.thin, common.data_segments)
        })
}

fn with_rtt<'a>(table: TransportTable<'a>, percentiles: &Percentiles) -> TransportTable<'a> {
    let mut table = table
        .with("handshake_rtt_mean_s", |row| {
            let beginning = row.measures().beginning;
            share(beginning.handshake, Span::from_secs(beginning.handshakes))
        })
        .with("rtt_samples", |row| row.values.rtt.count)
        .with("rtt_min_s", |row| row.values.rtt.minimum_s())
        .with("rtt_mean_s", |row| row.values.rtt.mean_s());
    for percentile in SHOWN {
        let place = percentiles.place(percentile);
        let name = format!("rtt_{}_s", percentile_name(percentile));
        table = table.with(&name, |row| row.values.rtt.percentile_s(place));
    }
    table.with("rtt_max_s", |row| row.values.rtt.maximum_s())
}

fn with_time(table: TransportTable<'_>) -> TransportTable<'_> {
    let of_time = |row: &Row<Transport>, part: fn(&TimeShares) -> Span| {
        share(part(row.time()), row.time().observed())
    };
    table
        .with("idle_ratio", move |row| of_time(row, |time| time.idle))
        .with("application_limited_ratio", move |row| of_time(row, |time| time.application))
        .with("receiver_limited_ratio", move |row| of_time(row, |time| time.receiver_window))
        .with("congestion_limited_ratio", move |row| of_time(row, |time| time.congestion))
        .with("thin_time_ratio", move |row| of_time(row, |time| time.thin))
}

impl Row<Transport> {
    const fn measures(&self) -> &StreamMeasures {
        &self.values.measures
    }

    const fn time(&self) -> &TimeShares {
        &self.values.measures.time
    }

    /// A rare counter.
    fn rare(&self, count: impl Fn(&RareCounters) -> u64) -> u64 {
        self.measures().rare.as_ref().map_or(0, |rare| count(rare))
    }
}

impl StreamMeasures {
    /// The counters without distributions.
    fn without_distributions(&self) -> Self {
        let rare = self.rare.as_deref().map(|rare| {
            let latency_by_order = std::array::from_fn(|_| Times::new());
            Box::new(RareCounters { latency_by_order, ..*rare })
        });
        Self {
            common: self.common,
            time: self.time,
            acks: self.acks,
            window: self.window,
            beginning: self.beginning,
            sizes: Counts::new(),
            spacings: Times::new(),
            rtts: Times::new(),
            rare,
        }
    }
}

/// `part / whole`; `None` if `whole` is zero.
#[expect(clippy::cast_precision_loss, reason = "a ratio needs no more than 53 bits")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// `part / whole`; `None` if `whole` is zero.
fn share(part: Span, whole: Span) -> Option<f64> {
    (!whole.is_zero()).then(|| part.as_secs_f64() / whole.as_secs_f64())
}
