//! Parameters of a compiled congestion control: what its source declares by `FAIRWIND_PARAM`, listed and set.
#![expect(unsafe_code, reason = "tables of C are read, and values of a library are written")]

use crate::library::{LoadError, not_ours, open};
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

/// An integer or a bool that a source declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type in C.
    pub c_type: String,
    /// The value where nobody sets it.
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

/// What the library's source declares, by name.
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
pub(crate) fn set(
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
