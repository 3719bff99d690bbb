//! Compiled congestion controls, loaded.
#![expect(unsafe_code, reason = "a library is loaded, and tables of C are looked at")]

use crate::native::{Calls, NativeFactory, Table};
use crate::{names, parameters};
use fairwind_tcp::PluggedAlgorithm;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::NamedTempFile;
use thiserror::Error;

/// Why a library cannot be used.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It is none, or not one of ours.
    #[error("{path} is no compiled congestion control: {reason}; compile its source with `fairwind congestion build`", path = .path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// The loader's words.
        reason: String,
    },
    /// It lacks what every congestion control has.
    #[error("{path} has no {hook}: without it there is no congestion control", path = .path.display())]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// What is missing.
        hook: &'static str,
    },
    /// A kernel could not know it.
    #[error("{path}: {fault}: `.name` of its table is the name under which a kernel knows it", path = .path.display())]
    Nameless {
        /// The source.
        path: PathBuf,
        /// What is wrong with the name.
        fault: &'static str,
    },
    /// A parameter cannot be set so.
    #[error("{path}: the parameter {name}: {fault}", path = .path.display())]
    Parameter {
        /// The library.
        path: PathBuf,
        /// The parameter.
        name: String,
        /// What is wrong.
        fault: String,
    },
    /// A copy for parameters of its own cannot be made.
    #[error("{path} cannot be copied to set its parameters: {reason}", path = .path.display())]
    Copy {
        /// The library.
        path: PathBuf,
        /// Why.
        reason: std::io::Error,
    },
}

/// Loads what [`compile`](crate::compile) has made of a source, as the algorithm `name`.
///
/// # Errors
/// If the file is not what was compiled so, or lacks a hook that every algorithm has.
pub fn load(path: &Path, name: &str) -> Result<PluggedAlgorithm, LoadError> {
    plugged(factory(open(path)?, path, name)?, path)
}

/// Loads it with parameters of its own: a copy, so that others of the same source keep theirs.
///
/// # Errors
/// As [`load`]; or if the source does not declare such a parameter, or the value does not fit its type.
pub fn load_with(
    path: &Path,
    name: &str,
    values: &[(String, i64)],
) -> Result<PluggedAlgorithm, LoadError> {
    if values.is_empty() {
        return load(path, name);
    }
    let failed = |reason| LoadError::Copy { path: path.to_owned(), reason };
    let beside = path.parent().unwrap_or(Path::new("."));
    // Some machines let nothing run that lies in the folder for temporary files.
    let copy = NamedTempFile::new_in(beside).or_else(|_| NamedTempFile::new()).map_err(failed)?;
    fs::copy(path, copy.path()).map_err(failed)?;
    let library = open(copy.path())?;
    parameters::set(&library, path, values)?;
    plugged(factory(library, path, name)?, path)
}

fn plugged(factory: NativeFactory, path: &Path) -> Result<PluggedAlgorithm, LoadError> {
    match factory.table().missing() {
        Some(hook) => Err(LoadError::Incomplete { path: path.to_owned(), hook }),
        None => Ok(PluggedAlgorithm(Arc::new(factory))),
    }
}

/// The name under which a kernel knows what [`compile`](crate::compile) has made of `source`.
///
/// # Errors
/// If the file is not what was compiled so, it lacks a hook that every algorithm has, or no kernel could have the name.
pub fn kernel_name(library: &Path, source: &Path) -> Result<String, LoadError> {
    let path = || source.to_owned();
    let factory = factory(open(library)?, library, "")?;
    if let Some(hook) = factory.table().missing() {
        return Err(LoadError::Incomplete { path: path(), hook });
    }
    let name = factory.table().kernel_name();
    match names::fault_of(name.as_deref()) {
        Some(fault) => Err(LoadError::Nameless { path: path(), fault }),
        None => Ok(name.unwrap_or_default()),
    }
}

/// Opens what [`compile`](crate::compile()) has made.
pub(crate) fn open(path: &Path) -> Result<libloading::Library, LoadError> {
    // SAFETY: what is compiled by `compile` runs no code when it is loaded; whoever names another library has
    // the right to run it.
    unsafe { libloading::Library::new(path) }.map_err(|error| not_ours(path, &error))
}

pub(crate) fn not_ours(path: &Path, error: &libloading::Error) -> LoadError {
    LoadError::NotOurs { path: path.to_owned(), reason: error.to_string() }
}

fn factory(
    library: libloading::Library,
    path: &Path,
    name: &str,
) -> Result<NativeFactory, LoadError> {
    // SAFETY: `compile` gives every library these functions, with these types.
    let (calls, table) = unsafe { (calls_of(&library), table_of(&library)) };
    let calls = calls.map_err(|error| not_ours(path, &error))?;
    let table = table.map_err(|error| not_ours(path, &error))?;
    let library = Arc::new(library);
    // SAFETY: the table lies in the library, which the factory and its algorithms keep.
    Ok(unsafe { NativeFactory::new(name.to_owned(), table, calls, Some(library)) })
}

unsafe fn table_of(library: &libloading::Library) -> Result<*const Table, libloading::Error> {
    // SAFETY: by the caller's promise.
    unsafe {
        let give =
            library.get::<unsafe extern "C" fn() -> *const Table>(b"fairwind_table_plugged")?;
        Ok(give())
    }
}

unsafe fn calls_of(library: &libloading::Library) -> Result<Calls, libloading::Error> {
    // SAFETY: by the caller's promise.
    unsafe {
        Ok(Calls {
            plain: *library.get(b"fairwind_call_plain")?,
            number: *library.get(b"fairwind_call_number")?,
            answer: *library.get(b"fairwind_call_answer")?,
            growth: *library.get(b"fairwind_call_growth")?,
            report: *library.get(b"fairwind_call_report")?,
            both: *library.get(b"fairwind_call_both")?,
            control: *library.get(b"fairwind_call_control")?,
            fault: *library.get(b"fairwind_fault")?,
            take_requested_ack: *library.get(b"fairwind_take_asked")?,
        })
    }
}
