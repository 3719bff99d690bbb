//! Writes of an application, inferred from a capture.
//!
//! A capture shows segments, not writes. New data of a segment was written no later than the segment left, and
//! just then if the sender was not waiting for acknowledgments, the window or bandwidth. A write larger than a
//! segment leaves as several, and has the time of the first. The next segment of new data continues a segment
//! that
//!
//! - is not pushed, although its sender pushes: PSH ends a write (RFC 9293 §3.9.1.2); or
//! - is as large as any of the flow so far, and is not pushed, or the next one follows within a millisecond: a
//!   sender may also push the end of every burst that it hands to its device.
//!
//! Writes that the sender joined, as by Nagle's algorithm, count as one; so do writes of whole segments that
//! leave together.

use crate::AnalysisError;
use crate::analysis::{Analysis, GroupRule, PacketSource, Progress, Settings};
use crate::trace::{FlowTrace, NewData, Selection, TraceLimits, TraceSettings};
use fairwind_capture::Filter;
use fairwind_units::Span;

/// The writes of one direction of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writes {
    /// Name of the flow, as in tables.
    pub flow: String,
    /// In the order of their times.
    pub writes: Vec<Write>,
}

/// One write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// Time since the connection was established; since the first write if that was not seen.
    pub after: Span,
    /// How many bytes, one or more.
    pub bytes: u64,
}

/// Why there are no writes.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WritesError {
    /// The source can be read only once; finding the flow and following it takes two passes.
    #[error("it cannot be read twice: name a file, not a pipe")]
    ReadOnce,
    /// No flow carries data.
    #[error("no connection in it carries data")]
    NoData,
    /// No flow that matches carries data.
    #[error("no connection that carries data matches `{filter}`")]
    NotThere {
        /// The filter.
        filter: String,
    },
    /// The filter asks for packets, not connections.
    #[error("`{filter}` selects packets; select a connection by addresses and ports only")]
    AsksForPackets {
        /// The filter.
        filter: String,
    },
    /// The analysis rejects its settings.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
}

/// Packets per step.
const STEP: u64 = 1 << 16;

/// Segments closer than this belong to one burst.
const AT_ONCE: Span = Span::from_millis(1);

/// Name of the group of matching flows.
const WANTED: &str = "wanted";

/// The writes of the flow with the most new payload that matches `wanted`, or of all flows if `None`.
///
/// Reads the source twice. Memory is in proportion to its segments and the number of other flows.
///
/// # Errors
/// If there is no such flow, or the source can be read only once.
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
    // Reused ports give several flows of one name.
    let numbered = format!("{name} (");
    traces.retain(|trace| trace.name() == name || trace.name().starts_with(&numbered));
    let new_bytes =
        |trace: &FlowTrace| -> u64 { trace.new_data().iter().map(|data| data.new_bytes).sum() };
    let largest = traces.iter().max_by_key(|trace| new_bytes(trace)).ok_or(WritesError::NoData)?;
    Ok(Writes { flow: largest.name().to_owned(), writes: writes_of(largest) })
}

/// Minimal settings.
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
        // Of equal ones the first.
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
