//! A queue of the running kernel under watch.

use crate::packetdrill::KernelUnavailable;
use crate::tables::Table;
use fairwind_probe::{self as probe, Connection, ConnectionCounts, Counts, ProbeSettings};
use fairwind_units::Span;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A device under watch; its calls may come from any thread, one at a time.
#[pyclass(frozen, module = "fairwind._core")]
pub(crate) struct Probe {
    running: Mutex<Option<probe::Probe>>,
}

impl Probe {
    fn running(&self) -> MutexGuard<'_, Option<probe::Probe>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Probe {
    /// Begins to watch a device of this network namespace. Its queues have these names: one for the device, or one for
    /// each of its transmit queues.
    #[new]
    fn new(device: String, queues: Vec<String>, interval_ns: u64) -> PyResult<Self> {
        let settings = ProbeSettings { device, queues, interval: Span::from_nanos(interval_ns) };
        let running = probe::Probe::start(&settings).map_err(|error| failed(&error))?;
        Ok(Self { running: Mutex::new(Some(running)) })
    }

    /// Takes what was reported; waits at most so many seconds, in which other threads may go on. Gives the counts so
    /// far as JSON text.
    fn advance(&self, py: Python<'_>, limit_s: f64) -> PyResult<String> {
        let limit = Duration::from_secs_f64(limit_s);
        let counts = py.detach(|| {
            let mut place = self.running();
            let Some(running) = place.as_mut() else { return Ok(None) };
            running.advance(limit)?;
            Ok(Some(described(running.counts(), running.missed())))
        });
        let counts = counts.map_err(|error| failed(&error))?.ok_or_else(ended)?;
        Ok(counts.to_string())
    }

    /// Ends it. Gives the tables by name, and counts, connections and the measured time as JSON text.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, String)> {
        let running = self.running().take().ok_or_else(ended)?;
        let result = py.detach(|| running.finish()).map_err(|error| failed(&error))?;
        let connections: Vec<Value> = result.connections.iter().map(connection).collect();
        let facts = json!({
            "counts": described(result.counts, result.missed),
            "connections": connections,
            "measured_s": result.measured.as_secs_f64(),
        });
        Ok((Table::by_name(py, &result.tables.tables)?, facts.to_string()))
    }
}

fn failed(error: &probe::ProbeError) -> PyErr {
    KernelUnavailable::new_err(error.to_string())
}

fn ended() -> PyErr {
    KernelUnavailable::new_err("this probe has ended; begin another one")
}

fn described(counts: Counts, missed: u64) -> Value {
    json!({
        "enqueued_packets": counts.enqueued_packets,
        "dequeued_packets": counts.dequeued_packets,
        "dequeued_segments": counts.dequeued_segments,
        "dropped_packets": counts.dropped_packets,
        "dropped_without_reason": counts.dropped_without_reason,
        "dequeued_without_enqueue": counts.dequeued_without_enqueue,
        "enqueued_without_end": counts.enqueued_without_end,
        "missed_events": missed,
    })
}

fn connection((of, counts): &(Connection, ConnectionCounts)) -> Value {
    json!({
        "protocol": of.protocol.name(),
        "source": of.source.to_string(),
        "destination": of.destination.to_string(),
        "sent_packets": counts.sent_packets,
        "sent_bytes": counts.sent_bytes,
        "dropped_packets": counts.dropped_packets,
        "waited_s": counts.waited.as_secs_f64(),
        "longest_wait_s": counts.longest_wait.as_secs_f64(),
    })
}
