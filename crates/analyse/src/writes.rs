//! What an application wrote, as far as packets tell.
//!
//! A capture shows segments and not writes. What a segment is the first one to carry was written no later than it left,
//! and at that very time where the sender was not waiting: for acknowledgments, for the peer's window, for a bandwidth.
//! A write that is larger than a segment leaves as several, and has the time of the first. A segment with new data is
//! continued by the next one where it
//!
//! - is not pushed, though its sender pushes: PSH stands at the end of what was written (RFC 9293 §3.9.1.2); or
//! - is as large as any of the flow so far, and not pushed, or the next one follows within a millisecond: a sender may
//!   push the end of every bundle that it hands to its device, too.
//!
//! What was put together before it left, as Nagle's algorithm does and a sender that lags behind its application,
//! stays one write; two writes of whole segments that leave at once become one.

use crate::AnalysisError;
use crate::analysis::{Analysis, GroupRule, PacketSource, Progress, Settings};
use crate::trace::{FlowTrace, NewData, Selection, TraceLimits, TraceSettings};
use fairwind_capture::Filter;
use fairwind_units::Span;

/// The writes of one direction of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writes {
    /// The flow, as tables name it.
    pub flow: String,
    /// In the order of their times.
    pub writes: Vec<Write>,
}

/// One write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// When, since the connection was established; since the first write where its beginning was not seen.
    pub after: Span,
    /// How many bytes, one or more.
    pub bytes: u64,
}

/// Why there are no writes.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WritesError {
    /// What can be read once only cannot be searched and then followed.
    #[error("it cannot be read twice: name a file, and not a pipe")]
    ReadOnce,
    /// Nothing carries data.
    #[error("no connection in it carries data")]
    NoData,
    /// Nothing that was asked for carries data.
    #[error("no connection in it that carries data is one of `{filter}`")]
    NotThere {
        /// What was asked for.
        filter: String,
    },
    /// Packets were asked for, and not connections.
    #[error("`{filter}` asks for packets; ask for a connection by addresses and ports only")]
    AsksForPackets {
        /// What was asked for.
        filter: String,
    },
    /// What the analysis does not take.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
}

/// Packets that are followed at once.
const STEP: u64 = 1 << 16;

/// What follows sooner is part of the same bundle.
const AT_ONCE: Span = Span::from_millis(1);

/// The name of the group of flows that were asked for.
const WANTED: &str = "wanted";

/// The writes of the flow with the most new payload among those that `wanted` asks for; among all where it is `None`.
///
/// Reads the source twice: to find the flow, and to follow it. Memory follows its segments, and the other flows'
/// number.
///
/// # Errors
/// Where there is no such flow, or the source can be read once only.
pub fn extract_writes<S: PacketSource>(
    source: S,
    wanted: Option<&Filter>,
) -> Result<Writes, WritesError> {
    if let Some(filter) = wanted.filter(|filter| !filter.is_connection_filter()) {
        return Err(WritesError::AsksForPackets { filter: filter.to_string() });
    }
    let again = source.reopen().ok_or(WritesError::ReadOnce)?;
    let name = largest_flow(source, wanted)?;
    let mut traces = followed(again, &name)?;
    // Ports that are used again give several flows of one name.
    let numbered = format!("{name} (");
    traces.retain(|trace| trace.name() == name || trace.name().starts_with(&numbered));
    let new_bytes =
        |trace: &FlowTrace| -> u64 { trace.new_data().iter().map(|data| data.new_bytes).sum() };
    let largest = traces.iter().max_by_key(|trace| new_bytes(trace)).ok_or(WritesError::NoData)?;
    Ok(Writes { flow: largest.name().to_owned(), writes: writes_of(largest) })
}

/// Settings without anything that is not needed here.
fn bare() -> Settings {
    Settings { percentiles: Vec::new(), slowest: 0, ..Settings::default() }
}

fn largest_flow<S: PacketSource>(
    source: S,
    wanted: Option<&Filter>,
) -> Result<String, WritesError> {
    let rule = |filter: &Filter| GroupRule { name: WANTED.to_owned(), filter: filter.clone() };
    let settings = Settings { groups: wanted.map(rule).into_iter().collect(), ..bare() };
    let mut analysis = Analysis::of_one(source, settings)?;
    while analysis.advance(STEP) == Progress::Working {}
    let tables = analysis.finish().tables;
    let flows = tables.get("flows");
    let rows = flows.into_iter().flat_map(|flows| {
        (0..flows.rows()).map(move |row| {
            let number = |name| flows.column(name)?.number(row);
            let text = |name| flows.column(name)?.text(row);
            let bytes =
                number("payload_bytes_sent")? - number("bytes_retransmitted").unwrap_or(0.0);
            Some((bytes, text("name")?, text("group")?))
        })
    });
    let largest = rows
        .flatten()
        .filter(|(bytes, _, group)| *bytes > 0.0 && (wanted.is_none() || *group == WANTED))
        // The first one of several that are equal.
        .reduce(|best, row| if row.0 > best.0 { row } else { best });
    match (largest, wanted) {
        (Some((_, name, _)), _) => Ok(name.to_owned()),
        (None, Some(filter)) => Err(WritesError::NotThere { filter: filter.to_string() }),
        (None, None) => Err(WritesError::NoData),
    }
}

fn followed<S: PacketSource>(source: S, name: &str) -> Result<Vec<FlowTrace>, WritesError> {
    let traces = TraceSettings {
        selection: Selection::Named([name.to_owned()].into()),
        max_connections: usize::MAX,
        limits: TraceLimits { points: 0, windows: 1 },
        keeps_new_data: true,
    };
    let mut analysis = Analysis::of_one(source, Settings { traces: Some(traces), ..bare() })?;
    while analysis.advance(STEP) == Progress::Working {}
    Ok(analysis.finish().traces)
}

fn writes_of(trace: &FlowTrace) -> Vec<Write> {
    let first = trace.new_data().first().map(|data| data.at);
    let Some(origin) = trace.established().or(first) else { return Vec::new() };
    let mut writes: Vec<Write> = Vec::new();
    let (mut largest, mut has_pushed) = (0, false);
    let mut before: Option<&NewData> = None;
    for data in trace.new_data() {
        let continues = before.is_some_and(|before| {
            let is_full = before.payload_bytes == largest;
            let is_at_once = data.at.saturating_since(before.at) < AT_ONCE;
            if before.is_pushed { is_full && is_at_once } else { is_full || has_pushed }
        });
        match writes.last_mut() {
            Some(write) if continues => write.bytes += data.new_bytes,
            _ => {
                let after = data.at.saturating_since(origin);
                writes.push(Write { after, bytes: data.new_bytes });
            }
        }
        largest = largest.max(data.payload_bytes);
        has_pushed |= data.is_pushed;
        before = Some(data);
    }
    writes
}
