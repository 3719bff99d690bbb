//! Compiled congestion controls: loading them, and the parameters that they declare (`FAIRWIND_PARAM`).
#![expect(unsafe_code, reason = "a library is loaded, and tables of C are read and written")]

use crate::catalogue::fault_of;
use crate::native::{Calls, NativeFactory, Table};
use fairwind_tcp::PluggedAlgorithm;
use std::ffi::{CStr, c_char, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::NamedTempFile;
use thiserror::Error;

/// Why a library cannot be used.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file is not a library of this version.
    #[error("{path} is not a compiled congestion control: {reason}; compile its source with `fairwind congestion build`", path = .path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// The loader's words.
        reason: String,
    },
    /// A required hook is missing.
    #[error("{path} has no {hook}: every congestion control needs this hook", path = .path.display())]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// The missing hook.
        hook: &'static str,
    },
    /// A kernel could not know it.
    #[error("{path}: {fault}: `.name` of its table is its name in the kernel", path = .path.display())]
    Nameless {
        /// The source.
        path: PathBuf,
        /// The fault of the name.
        fault: &'static str,
    },
    /// The function that begins a kernel's module has failed.
    #[error("{path}: the function of module_init gives {answer}: with these parameters the module does not start", path = .path.display())]
    NoStart {
        /// The library.
        path: PathBuf,
        /// What it gives: the negative number of an error.
        answer: i32,
    },
    /// A parameter cannot be set so.
    #[error("{path}: the parameter {name}: {fault}", path = .path.display())]
    Parameter {
        /// The library.
        path: PathBuf,
        /// The parameter.
        name: String,
        /// The fault.
        fault: String,
    },
    /// The library cannot be copied to set its parameters.
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
    Ok(PluggedAlgorithm(Arc::new(complete(factory(open(path)?, path, name)?, path)?)))
}

/// Loads a copy with other parameters, so that other users of the same source keep theirs.
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
    set_parameters(&library, path, values)?;
    Ok(PluggedAlgorithm(Arc::new(complete(factory(library, path, name)?, path)?)))
}

/// The factory, unless its table lacks a hook that every algorithm has.
fn complete(factory: NativeFactory, path: &Path) -> Result<NativeFactory, LoadError> {
    match factory.table().missing() {
        Some(hook) => Err(LoadError::Incomplete { path: path.to_owned(), hook }),
        None => Ok(factory),
    }
}

/// The name under which a kernel knows what [`compile`](crate::compile) has made of `source`.
///
/// # Errors
/// If the file is not what was compiled so, it lacks a hook that every algorithm has, or no kernel could have the name.
pub fn kernel_name(library: &Path, source: &Path) -> Result<String, LoadError> {
    let factory = complete(factory(open(library)?, library, "")?, source)?;
    let name = factory.table().kernel_name();
    match fault_of(name.as_deref()) {
        Some(fault) => Err(LoadError::Nameless { path: source.to_owned(), fault }),
        None => Ok(name.unwrap_or_default()),
    }
}

/// Opens what [`compile`](crate::compile()) has made.
fn open(path: &Path) -> Result<libloading::Library, LoadError> {
    // SAFETY: what is compiled by `compile` runs no code when it is loaded; whoever names another library has
    // the right to run it.
    unsafe { libloading::Library::new(path) }.map_err(|error| not_ours(path, &error))
}

fn not_ours(path: &Path, error: &libloading::Error) -> LoadError {
    LoadError::NotOurs { path: path.to_owned(), reason: error.to_string() }
}

fn factory(
    library: libloading::Library,
    path: &Path,
    name: &str,
) -> Result<NativeFactory, LoadError> {
    // SAFETY: `compile` gives every library these functions, with these types.
    let (calls, table) = unsafe { (Calls::of(&library), table_of(&library)) };
    let calls = calls.map_err(|error| not_ours(path, &error))?;
    let table = table.map_err(|error| not_ours(path, &error))?;
    start_module(&library, path)?;
    let library = Arc::new(library);
    // SAFETY: the table lies in the library, which the factory and its algorithms keep.
    Ok(unsafe { NativeFactory::new(name.to_owned(), table, calls, Some(library)) })
}

/// Runs the function that a kernel's module begins with (`module_init`), where the source is that of one: it derives from
/// the parameters what its hooks use.
fn start_module(library: &libloading::Library, path: &Path) -> Result<(), LoadError> {
    // SAFETY: `kernel_module.h` declares it with this type.
    let start = unsafe { library.get::<unsafe extern "C" fn() -> i32>(b"fairwind_start_module") };
    // SAFETY: it is called once, before anything else of the library.
    match start.map_or(0, |start| unsafe { start() }) {
        0 => Ok(()),
        answer => Err(LoadError::NoStart { path: path.to_owned(), answer }),
    }
}

unsafe fn table_of(library: &libloading::Library) -> Result<*const Table, libloading::Error> {
    // SAFETY: by the caller's promise.
    unsafe {
        let give =
            library.get::<unsafe extern "C" fn() -> *const Table>(b"fairwind_table_plugged")?;
        Ok(give())
    }
}

/// An integer or a bool that a source declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type in C.
    pub c_type: String,
    /// The default value.
    pub default: i128,
    /// The least value.
    pub least: i128,
    /// The largest value.
    pub largest: i128,
}

/// `struct fairwind_param` of `fairwind.h`.
#[repr(C)]
struct Declaration {
    name: *const c_char,
    c_type: *const c_char,
    place: *mut c_void,
    bytes: u32,
    is_signed: u32,
}

impl Declaration {
    fn parameter(&self) -> Parameter {
        let c_type = text(self.c_type);
        let bits = 8 * self.bytes;
        let (least, largest) = match self.is_signed {
            _ if ["bool", "_Bool"].contains(&c_type.as_str()) => (0, 1),
            0 => (0, (1_i128 << bits) - 1),
            _ => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        };
        let mut bytes = [0; 16];
        // SAFETY: the value has so many bytes, at most eight, and nobody writes it meanwhile.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.place.cast(),
                bytes.as_mut_ptr(),
                self.bytes as usize,
            );
        }
        let unsigned = i128::from_le_bytes(bytes);
        let default = if unsigned > largest { unsigned - (1_i128 << bits) } else { unsigned };
        Parameter { name: text(self.name), c_type, default, least, largest }
    }

    /// Writes a value within the bounds.
    fn set(&self, value: i128) {
        let bytes = value.to_le_bytes();
        // SAFETY: the value has so many bytes, at most eight, and lies in memory that may be written.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.place.cast(), self.bytes as usize);
        }
    }
}

fn text(pointer: *const c_char) -> String {
    // SAFETY: the macro gives texts of C that live as long as the library.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// Declared parameters of the library, by name.
///
/// # Errors
/// If the file is not what [`compile`](crate::compile()) has made.
pub fn parameters(path: &Path) -> Result<Vec<Parameter>, LoadError> {
    let library = open(path)?;
    let mut found: Vec<_> =
        declarations(&library, path)?.iter().map(Declaration::parameter).collect();
    found.sort_by(|one, other| one.name.cmp(&other.name)); // compilers order them as they like
    Ok(found)
}

/// Sets parameters of a library that no connection uses yet.
fn set_parameters(
    library: &libloading::Library,
    path: &Path,
    values: &[(String, i64)],
) -> Result<(), LoadError> {
    let declared = declarations(library, path)?;
    for (name, value) in values {
        let wrong =
            |fault| LoadError::Parameter { path: path.to_owned(), name: name.clone(), fault };
        let found = declared.iter().find(|declaration| text(declaration.name) == *name);
        let declaration = found.ok_or_else(|| wrong("there is no such parameter".into()))?;
        let Parameter { least, largest, .. } = declaration.parameter();
        let value = i128::from(*value);
        if !(least..=largest).contains(&value) {
            return Err(wrong(format!("{value} is not between {least} and {largest}")));
        }
        declaration.set(value);
    }
    Ok(())
}

fn declarations<'l>(
    library: &'l libloading::Library,
    path: &Path,
) -> Result<&'l [Declaration], LoadError> {
    type List = unsafe extern "C" fn(*mut u32) -> *const Declaration;
    let mut count = 0;
    // SAFETY: `compile` gives every library this function, with this type.
    let list = unsafe { library.get::<List>(b"fairwind_parameters") }
        .map_err(|error| not_ours(path, &error))?;
    // SAFETY: it writes a number.
    let first = unsafe { list(&raw mut count) };
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: the linker puts so many declarations there, which live as long as the library.
    Ok(unsafe { std::slice::from_raw_parts(first, count as usize) })
}
