//! Stub of the program for builds without eBPF.

use super::group::ControlGroup;
use super::options::{Entry, WindowCounts};
use super::{WindowOptions, WindowsError};
use fairwind_bpf::BpfError;
use std::convert::Infallible;
use std::path::Path;

/// What there cannot be.
#[derive(Debug)]
pub(super) struct Program(Infallible);

impl Program {
    pub(super) fn attach(_: &ControlGroup, _: &WindowOptions) -> Result<Self, WindowsError> {
        Err(WindowsError::Unavailable(BpfError::NotBuilt))
    }

    pub(super) fn stay(self, _: &Path) -> Result<(), WindowsError> {
        match self.0 {}
    }

    pub(super) fn named(_: &Path) -> Result<Option<Self>, WindowsError> {
        Err(WindowsError::Unavailable(BpfError::NotBuilt))
    }

    pub(super) fn leave(self, _: &Path) -> Result<(), WindowsError> {
        match self.0 {}
    }

    pub(super) fn maps(&self) -> Result<Maps, WindowsError> {
        match self.0 {}
    }

    pub(super) fn runs(&self) -> (u64, u64) {
        match self.0 {}
    }
}

/// Nowhere.
pub(super) fn groups() -> Vec<u64> {
    Vec::new()
}

/// What there cannot be either.
#[derive(Debug)]
pub(super) struct Maps(Infallible);

impl Maps {
    pub(super) fn windows(&self) -> Result<Vec<Entry>, WindowsError> {
        match self.0 {}
    }

    pub(super) fn remember(&self, _: &[u8], _: &[u8]) -> Result<(), WindowsError> {
        match self.0 {}
    }

    pub(super) fn forget(&self, _: &[u8]) -> Result<(), WindowsError> {
        match self.0 {}
    }

    pub(super) fn options(&self) -> Result<WindowOptions, WindowsError> {
        match self.0 {}
    }

    pub(super) fn counts(&self) -> Result<WindowCounts, WindowsError> {
        match self.0 {}
    }
}
