//! Congestion windows that the running kernel remembers.

use crate::errors::FairwindError;
use fairwind_units::Span;
use fairwind_windows::{
    self as windows, Collection, Remembered, RememberedWindow, SharedOpenings, Trust, WindowOptions,
};
use pyo3::create_exception;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

create_exception!(
    fairwind._core,
    WindowsError,
    FairwindError,
    "Windows are not remembered in a control group."
);

fn error_from(error: windows::WindowsError) -> PyErr {
    WindowsError::new_err(error.to_string())
}

/// Options at the start, by their names on the command line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    lifetime_s: f64,
    entries: u32,
    largest_window_packets: Option<u32>,
    exact: bool,
    outgoing: bool,
    at_close: bool,
}

/// Begins to remember windows in a control group, by options as JSON text; gives the name of what stays.
#[pyfunction]
pub(crate) fn start_windows(
    py: Python<'_>,
    group: PathBuf,
    options_json: &str,
) -> PyResult<String> {
    let options: Options = serde_json::from_str(options_json)
        .map_err(|error| WindowsError::new_err(format!("not options: {error}")))?;
    let options = WindowOptions {
        lifetime: Span::from_secs_f64(options.lifetime_s),
        entries: options.entries,
        trust: if options.exact { Trust::Exact } else { Trust::Safe },
        beginning: if options.outgoing { SharedOpenings::All } else { SharedOpenings::Incoming },
        collection: if options.at_close { Collection::Close } else { Collection::End },
        largest_window: options.largest_window_packets,
    };
    let name = py.detach(|| windows::start(&group, &options)).map_err(error_from)?;
    Ok(name.display().to_string())
}

/// Ends it, and forgets the windows.
#[pyfunction]
pub(crate) fn stop_windows(py: Python<'_>, group: PathBuf) -> PyResult<()> {
    py.detach(|| windows::stop(&group)).map_err(error_from)
}

/// Remembered windows, as JSON text: `options`, `windows` and `counts`.
#[pyfunction]
pub(crate) fn show_windows(py: Python<'_>, group: PathBuf) -> PyResult<String> {
    let remembered = py.detach(|| windows::show(&group)).map_err(error_from)?;
    Ok(described(&remembered).to_string())
}

/// Forgets the windows, and gives how many there were.
#[pyfunction]
pub(crate) fn clear_windows(py: Python<'_>, group: PathBuf) -> PyResult<usize> {
    py.detach(|| windows::clear(&group)).map_err(error_from)
}

fn described(remembered: &Remembered) -> Value {
    let Remembered { options, windows, counts } = remembered;
    let window = |window: &RememberedWindow| {
        json!({
            "peer": window.peer.to_string(),
            "window_packets": window.packets,
            "age_s": window.age.as_secs_f64(),
            "is_outdated": window.age > options.lifetime,
            "least_rtt_s": window.least_rtt.map(Span::as_secs_f64),
        })
    };
    json!({
        "options": {
            "lifetime_s": options.lifetime.as_secs_f64(),
            "entries": options.entries,
            "largest_window_packets": options.largest_window,
            "exact": options.trust == Trust::Exact,
            "outgoing": options.beginning == SharedOpenings::All,
            "at_close": options.collection == Collection::Close,
        },
        "windows": windows.iter().map(window).collect::<Vec<_>>(),
        "counts": {
            "used": counts.used,
            "unknown": counts.unknown,
            "outdated": counts.outdated,
            "unfit": counts.unfit,
            "kept": counts.kept,
            "halved": counts.halved,
        },
    })
}
