//! An application's writes out of a capture, as the text that scenarios replay.

use crate::analyse::{CaptureError, filter};
use fairwind_analyse::{CaptureSource, Writes, extract_writes};
use fairwind_capture::{EndOfFile, Input};
use pyo3::prelude::*;
use std::fmt::Write;

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
    let error = |told: String| CaptureError::new_err(told);
    let read = || {
        let source = CaptureSource::open(vec![Input::named(file)], EndOfFile::Final);
        let source = source.map_err(|failure| error(failure.to_string()))?;
        extract_writes(source, wanted.as_ref()).map_err(|failure| error(failure.to_string()))
    };
    py.detach(read).map(|writes| text(&writes))
}

fn text(writes: &Writes) -> String {
    let mut text = format!("# {}\n", writes.flow);
    for write in &writes.writes {
        let nanos = write.after.as_nanos();
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        writeln!(text, "{seconds}.{rest:09},{}", write.bytes).expect("a text takes everything");
    }
    text
}
