//! Analysis of captures: inputs and settings from Python, tables and JSON to it.

use crate::errors::FairwindError;
use crate::tables::Table;
use fairwind_analyse::trace::{Selection, TraceLimits, TraceSettings};
use fairwind_analyse::{
    AddressTranslation, Analysis as Core, CaptureFacts, CaptureSource, ClockMode, GroupRule,
    Outcome, Progress, Settings, TimeLimit, Vantage, Writes, extract_writes,
};
use fairwind_capture::{EndOfFile, Filter, FilterError, Input};
use fairwind_measure::Tables;
use fairwind_units::{Instant, Span};
use pyo3::create_exception;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

create_exception!(
    fairwind._core,
    CaptureError,
    FairwindError,
    "A capture cannot be read at all, or a filter cannot be understood."
);

/// An analysis under way; its calls may come from any thread, one at a time.
#[pyclass(frozen, module = "fairwind._core")]
pub(crate) struct Analysis {
    state: Mutex<Option<Box<Core<CaptureSource>>>>,
}

/// Settings of an analysis, from Python.
#[derive(Deserialize)]
struct Asked {
    packet_filter: Option<String>,
    groups: Vec<(String, String)>,
    intervals_ns: Vec<u64>,
    percentiles: Vec<f64>,
    per_flow: bool,
    start: Option<When>,
    end: Option<When>,
    connection_from_ns: Option<u64>,
    connection_to_ns: Option<u64>,
    idle_timeout_ns: Option<u64>,
    vantage: String,
    nat: Vec<(String, String)>,
    clock: String,
    warmup_ns: u64,
    slowest: usize,
    draw: Option<Draw>,
}

/// Which connections are drawn.
#[derive(Deserialize)]
struct Draw {
    matching: Option<String>,
    names: BTreeSet<String>,
}

/// The limit of drawn connections.
const MOST_DRAWN: usize = 100;

impl Draw {
    fn settings(&self) -> PyResult<Option<TraceSettings>> {
        let selection = match &self.matching {
            Some(text) => Selection::Matching(filter(text)?),
            None if self.names.is_empty() => return Ok(None),
            None => Selection::Named(self.names.clone()),
        };
        Ok(Some(TraceSettings {
            selection,
            max_connections: MOST_DRAWN,
            limits: TraceLimits::default(),
            keeps_new_data: false,
        }))
    }
}

/// A place in a capture.
#[derive(Deserialize, Clone, Copy)]
struct When {
    nanoseconds: u64,
    is_absolute: bool,
}

impl From<When> for TimeLimit {
    fn from(when: When) -> Self {
        if when.is_absolute {
            Self::At(Instant::from_nanos(when.nanoseconds))
        } else {
            Self::Since(Span::from_nanos(when.nanoseconds))
        }
    }
}

impl Asked {
    fn settings(&self) -> PyResult<Settings> {
        let spans = |all: &[u64]| all.iter().copied().map(Span::from_nanos).collect();
        let groups = self
            .groups
            .iter()
            .map(|(name, text)| Ok(GroupRule { name: name.clone(), filter: filter(text)? }));
        Ok(Settings {
            groups: groups.collect::<PyResult<_>>()?,
            warmup: Span::from_nanos(self.warmup_ns),
            translations: self
                .nat
                .iter()
                .map(|(first, second)| {
                    Ok(AddressTranslation { first: place(first)?, second: place(second)? })
                })
                .collect::<PyResult<_>>()?,
            traces: self.draw.as_ref().map(Draw::settings).transpose()?.flatten(),
            from: self.start.map(TimeLimit::from),
            until: self.end.map(TimeLimit::from),
            connection_from: Span::from_nanos(self.connection_from_ns.unwrap_or(0)),
            connection_until: self.connection_to_ns.map(Span::from_nanos),
            vantage: vantage(&self.vantage)?,
            clock: clock(&self.clock)?,
            idle_timeout: self.idle_timeout_ns.map(Span::from_nanos),
            intervals: spans(&self.intervals_ns),
            per_flow_intervals: self.per_flow,
            percentiles: self.percentiles.clone(),
            slowest: self.slowest,
            ..Settings::default()
        })
    }
}

pub(crate) fn filter(text: &str) -> PyResult<Filter> {
    text.parse().map_err(|error: FilterError| CaptureError::new_err(error.to_string()))
}

/// Reads an address, with a port or without: `10.0.0.1`, `10.0.0.1:80`, `[2001:db8::1]:80`.
fn place(text: &str) -> PyResult<(IpAddr, Option<u16>)> {
    if let Ok(end) = text.parse::<SocketAddr>() {
        return Ok((end.ip(), Some(end.port())));
    }
    let address = text.parse::<IpAddr>();
    address.map(|address| (address, None)).map_err(|_| {
        CaptureError::new_err(format!(
            "--nat: `{text}` is not an address; 10.0.0.1, 10.0.0.1:80 and [2001:db8::1]:80 are"
        ))
    })
}

fn vantage(name: &str) -> PyResult<Vantage> {
    Ok(match name {
        "auto" => Vantage::Auto,
        "sender" => Vantage::Sender,
        "receiver" => Vantage::Receiver,
        "opener" => Vantage::Opener,
        "answerer" => Vantage::Answerer,
        _ => return Err(unknown("vantage", name)),
    })
}

fn clock(name: &str) -> PyResult<ClockMode> {
    Ok(match name {
        "auto" => ClockMode::Auto,
        "same" => ClockMode::Same,
        "free" => ClockMode::Free,
        _ => return Err(unknown("clock", name)),
    })
}

fn unknown(what: &str, name: &str) -> PyErr {
    CaptureError::new_err(format!("there is no {what} called {name:?}"))
}

/// Opens what one tap saw; `wanted` chooses packets.
fn open(
    py: Python<'_>,
    names: &[String],
    ending: EndOfFile,
    wanted: Option<&Filter>,
) -> PyResult<CaptureSource> {
    let mut inputs = Vec::with_capacity(names.len());
    for name in names {
        inputs.push(if name == "-" { standard_input(py)? } else { Input::named(name) });
    }
    let source = py
        .detach(|| CaptureSource::open(inputs, ending))
        .map_err(|error| CaptureError::new_err(error.to_string()))?;
    Ok(match wanted {
        Some(filter) => source.filtered(filter.clone()),
        None => source,
    })
}

/// The standard input; until its first bytes come, interruptions are heeded.
fn standard_input(py: Python<'_>) -> PyResult<Input> {
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method has one lifetime only"
    )]
    let heeded = || Python::attach(|py| py.check_signals());
    let bytes = py.detach(|| StandardInput::begin(heeded))?;
    Ok(Input::Source { name: "standard input".to_owned(), bytes: Box::new(bytes) })
}

/// Bytes that are read at once, and how many such blocks may wait to be taken.
const BLOCK_BYTES: usize = 1 << 18;
const BLOCKS: usize = 16;
/// How long the first bytes are waited for before anything else is looked at.
const PATIENCE: Duration = Duration::from_millis(50);

/// The standard input, read by its own thread; a read returns [`ErrorKind::WouldBlock`] if nothing is there yet.
///
/// A capture that somebody pipes in comes when it comes. Meanwhile interruptions are heeded and what is there is
/// shown, so a read must not block.
struct StandardInput {
    blocks: Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    taken: usize,
}

impl StandardInput {
    /// Starts to read, and waits for the first bytes, which show the format. Calls `goes_on` repeatedly to ask
    /// whether to go on waiting.
    fn begin<E: From<io::Error>>(mut goes_on: impl FnMut() -> Result<(), E>) -> Result<Self, E> {
        let (hand_over, blocks) = sync_channel(BLOCKS);
        // It ends with the input, with whoever reads here, or with the process.
        thread::Builder::new().name("standard-input".into()).spawn(move || read_all(&hand_over))?;
        loop {
            goes_on()?;
            match blocks.recv_timeout(PATIENCE) {
                Ok(block) => return Ok(Self { blocks, block: block?, taken: 0 }),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Self { blocks, block: Vec::new(), taken: 0 });
                }
            }
        }
    }
}

fn read_all(hand_over: &SyncSender<io::Result<Vec<u8>>>) {
    let mut input = io::stdin().lock();
    loop {
        let mut block = vec![0; BLOCK_BYTES];
        let handed = match input.read(&mut block) {
            Ok(0) => return,
            Ok(bytes) => {
                block.truncate(bytes);
                hand_over.send(Ok(block))
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => {
                // A missing listener is no error.
                let _told = hand_over.send(Err(error));
                return;
            }
        };
        if handed.is_err() {
            return;
        }
    }
}

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.block.len() {
            self.block = match self.blocks.try_recv() {
                Ok(block) => block?,
                Err(TryRecvError::Empty) => return Err(ErrorKind::WouldBlock.into()),
                Err(TryRecvError::Disconnected) => return Ok(0),
            };
            self.taken = 0;
        }
        let bytes = (&self.block[self.taken..]).read(buffer)?;
        self.taken += bytes;
        Ok(bytes)
    }
}

#[pymethods]
impl Analysis {
    /// Opens the captures: `sender` near whoever sends, `receiver`, if it names any, at the other side.
    #[new]
    #[pyo3(signature = (sender, receiver, settings_json, *, follow=false))]
    fn new(
        py: Python<'_>,
        sender: Vec<String>,
        receiver: Vec<String>,
        settings_json: &str,
        follow: bool,
    ) -> PyResult<Self> {
        let asked: Asked = serde_json::from_str(settings_json)
            .map_err(|error| CaptureError::new_err(format!("not the settings: {error}")))?;
        let settings = asked.settings()?;
        let wanted = asked.packet_filter.as_deref().map(filter).transpose()?;
        let ending = if follow { EndOfFile::Followed } else { EndOfFile::Final };
        let source = |names: &[String]| open(py, names, ending, wanted.as_ref());
        let analysis = if receiver.is_empty() {
            Core::of_one(source(&sender)?, settings)
        } else {
            Core::of_two(source(&sender)?, source(&receiver)?, settings)
        };
        let analysis = analysis.map_err(|error| CaptureError::new_err(error.to_string()))?;
        Ok(Self { state: Mutex::new(Some(Box::new(analysis))) })
    }

    /// Reads up to so many packets: "going", "waiting" if nothing more is there yet, "done" at the end.
    fn advance(&self, py: Python<'_>, packets: u64) -> PyResult<&'static str> {
        let progress = self.with(py, |analysis| analysis.advance(packets))?;
        Ok(match progress {
            Progress::Working => "going",
            Progress::Waiting => "waiting",
            Progress::Done => "done",
        })
    }

    /// Bytes read of all inputs, as they are stored.
    #[getter]
    fn bytes_read(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |analysis| {
            analysis.sources().map(|source| source.progress().read_bytes).sum()
        })
    }

    /// TCP packets read of all inputs.
    #[getter]
    fn packets(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |analysis| analysis.facts().packets.iter().sum())
    }

    /// The rows of connections that are over, if there are at least `least`.
    fn take_rows<'py>(&self, py: Python<'py>, least: usize) -> PyResult<Bound<'py, PyDict>> {
        let taken = self.with(py, |analysis| analysis.take_rows(least))?;
        frames(py, taken.as_ref())
    }

    /// The tables as they would be if the captures ended now.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = self.with(py, |analysis| analysis.snapshot())?;
        frames(py, Some(&tables))
    }

    /// Ends the analysis: returns the remaining rows, and notes and counts as JSON.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, String)> {
        let analysis = self.locked().take().ok_or_else(is_over)?;
        let outcome = py.detach(|| analysis.finish());
        Ok((frames(py, Some(&outcome.tables))?, outcome_json(&outcome)))
    }
}

impl Analysis {
    /// Does something with the analysis; other Python threads run meanwhile.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Core<CaptureSource>) -> T + Send,
    ) -> PyResult<T> {
        py.detach(|| self.locked().as_deref_mut().map(act)).ok_or_else(is_over)
    }

    fn locked(&self) -> MutexGuard<'_, Option<Box<Core<CaptureSource>>>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_over() -> PyErr {
    CaptureError::new_err("the analysis is over")
}

fn frames<'py>(py: Python<'py>, tables: Option<&Tables>) -> PyResult<Bound<'py, PyDict>> {
    Table::by_name(py, tables.iter().flat_map(|tables| &tables.tables))
}

/// Notes and counts of an outcome as JSON.
fn outcome_json(outcome: &Outcome) -> String {
    let facts = &outcome.facts;
    let notes: Vec<String> = outcome.notes.iter().flatten().map(ToString::to_string).collect();
    let taps: Vec<_> = (0..outcome.notes.len()).map(|tap| tap_facts(facts, tap)).collect();
    serde_json::json!({
        "facts": {
            "first_s_since_1970": facts.origin.as_secs_f64(),
            "last_s_since_1970": facts.last.as_secs_f64(),
            "connections": facts.connections,
            "most_connections_open": facts.most_open,
            "packets_outside": facts.outside,
            "stray_packets": facts.strays,
            "clock_steps": facts.clock_steps,
            "clock_offset_ns": facts.clock_offset_nanos,
            "packets_in_both": facts.clock_packets,
            "connections_in_one": facts.one_sided,
            "packets_beyond_windows": facts.beyond_windows,
            "connections_not_drawn": facts.untraced,
            "taps": taps,
        },
        "notes": notes,
    })
    .to_string()
}

fn tap_facts(facts: &CaptureFacts, tap: usize) -> serde_json::Value {
    let frames = facts.frames[tap];
    serde_json::json!({
        "tcp_packets": facts.packets[tap],
        "wire_bytes": facts.wire_bytes[tap],
        "frames": frames.all,
        "other_protocols": frames.other_protocols,
        "not_ip": frames.not_ip,
        "fragments": frames.fragments,
        "fragment_bytes": frames.fragment_bytes,
        "unknown_links": frames.unknown_links,
        "cut_short": frames.cut_short,
        "malformed": frames.malformed,
    })
}

/// The writes of a connection in a capture: a line for each with seconds, a comma and bytes. The connection with the
/// most payload among those that `connection` asks for.
#[pyfunction]
#[pyo3(signature = (file, connection=None))]
pub(crate) fn captured_writes(
    py: Python<'_>,
    file: &str,
    connection: Option<&str>,
) -> PyResult<String> {
    let wanted = connection.map(filter).transpose()?;
    let error = |message: String| CaptureError::new_err(message);
    let read = || {
        let source = CaptureSource::open(vec![Input::named(file)], EndOfFile::Final);
        let source = source.map_err(|failure| error(failure.to_string()))?;
        extract_writes(source, wanted.as_ref()).map_err(|failure| error(failure.to_string()))
    };
    py.detach(read).map(|writes| writes_text(&writes))
}

fn writes_text(writes: &Writes) -> String {
    let mut text = format!("# {}\n", writes.flow);
    for write in &writes.writes {
        let nanos = write.after.as_nanos();
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        writeln!(text, "{seconds}.{rest:09},{}", write.bytes).expect("a text takes everything");
    }
    text
}
