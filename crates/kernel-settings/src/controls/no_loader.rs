//! Stub of the loader for builds without eBPF.

use super::{ControlError, ControlObject};
use fairwind_bpf::BpfError;

const NOT_BUILT: ControlError = ControlError::Unavailable(BpfError::NotBuilt);

pub(super) fn install(_: &ControlObject) -> Result<(), ControlError> {
    Err(NOT_BUILT)
}

pub(super) fn remove(_: &str) -> Result<(), ControlError> {
    Err(NOT_BUILT)
}

/// Always fails: this build knows of no congestion controls.
pub fn loaded() -> Result<Vec<String>, ControlError> {
    Err(NOT_BUILT)
}

pub(super) fn fingerprint(_: &ControlObject) -> Result<String, ControlError> {
    Err(NOT_BUILT)
}

pub(super) fn table_number(_: &str) -> Option<u32> {
    None
}
