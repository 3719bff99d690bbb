//! In place of the loader, where nothing was compiled for a kernel.

use super::{ControlError, ControlObject};
use fairwind_bpf::BpfError;

/// Loads nothing.
///
/// # Errors
/// Always: this build cannot.
pub(super) fn install(_: &ControlObject) -> Result<(), ControlError> {
    Err(ControlError::Unavailable(BpfError::NotBuilt))
}

/// Removes nothing.
///
/// # Errors
/// Always: this build cannot.
pub(super) fn remove(_: &str) -> Result<(), ControlError> {
    Err(ControlError::Unavailable(BpfError::NotBuilt))
}

/// Knows of none.
///
/// # Errors
/// Always: this build cannot.
pub fn loaded() -> Result<Vec<String>, ControlError> {
    Err(ControlError::Unavailable(BpfError::NotBuilt))
}

/// Knows of none.
///
/// # Errors
/// Always: this build cannot.
pub(super) fn fingerprint(_: &ControlObject) -> Result<String, ControlError> {
    Err(ControlError::Unavailable(BpfError::NotBuilt))
}

/// Knows of none.
pub(super) fn table_number(_: &str) -> Option<u32> {
    None
}
