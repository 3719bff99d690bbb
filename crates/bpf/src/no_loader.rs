//! Stub of the loader for builds without eBPF.

use super::{BpfError, RawEvent};
use std::convert::Infallible;
use std::time::Duration;

/// The programs of this project; there are none.
#[derive(Debug, Clone, Copy)]
pub(super) enum Object {
    Endpoints,
    Packets,
}

/// What there cannot be without a program.
#[derive(Debug)]
pub(super) struct Programs(Infallible);

impl Programs {
    pub(super) fn attach(_: Object, _: &[&str]) -> Result<Self, BpfError> {
        Err(BpfError::NotBuilt)
    }

    pub(super) fn set(&self, _: &str, _: &[u8], _: &[u8]) -> Result<(), BpfError> {
        match self.0 {}
    }

    pub(super) fn wait(&self, _: Duration) -> Result<(), BpfError> {
        match self.0 {}
    }

    pub(super) fn read(&mut self, _: impl FnMut(RawEvent<'_>)) -> Result<(), BpfError> {
        match self.0 {}
    }

    pub(super) fn missed(&self) -> u64 {
        match self.0 {}
    }
}
