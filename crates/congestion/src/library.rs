//! Compiled congestion controls, loaded.
#![expect(unsafe_code, reason = "a library is loaded, and tables of C are looked at")]

use crate::names;
use crate::native::{Calls, NativeFactory, Table};
use fairwind_tcp::PluggedAlgorithm;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
}

/// Loads what [`compile`](crate::compile) has made of a source, as the algorithm `name`.
///
/// # Errors
/// If the file is not what was compiled so, or lacks a hook that every algorithm has.
pub fn load(path: &Path, name: &str) -> Result<PluggedAlgorithm, LoadError> {
    let factory = factory(path, name)?;
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
    let factory = factory(library, "")?;
    if let Some(hook) = factory.table().missing() {
        return Err(LoadError::Incomplete { path: path(), hook });
    }
    let name = factory.table().kernel_name();
    match names::fault_of(name.as_deref()) {
        Some(fault) => Err(LoadError::Nameless { path: path(), fault }),
        None => Ok(name.unwrap_or_default()),
    }
}

fn factory(path: &Path, name: &str) -> Result<NativeFactory, LoadError> {
    let not_ours = |error: libloading::Error| LoadError::NotOurs {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    // SAFETY: what is compiled by `compile` runs no code when it is loaded; whoever names another library has
    // the right to run it.
    let library = unsafe { libloading::Library::new(path) }.map_err(not_ours)?;
    // SAFETY: `compile` gives every library these functions, with these types.
    let (calls, table) = unsafe { (calls_of(&library), table_of(&library)) };
    let (calls, table) = (calls.map_err(not_ours)?, table.map_err(not_ours)?);
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
            take_asked: *library.get(b"fairwind_take_asked")?,
        })
    }
}
