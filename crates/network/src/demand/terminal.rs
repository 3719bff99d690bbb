//! A terminal of a carrier: what it has measured, and which slots are its own.

use super::master::SlotShare;
use super::placement::Slots;
use super::request::{Policy, View};
use super::{CapacityRequest, SlotCounters};
use crate::LinkId;
use fairwind_qdisc::{Carrier, Terminal};
use fairwind_units::Instant;

/// One terminal at work.
pub(super) struct TerminalState {
    pub(super) link: LinkId,
    policy: Policy,
    /// Bytes that came, and that left, since the last request.
    arrived: u64,
    /// Bytes that wait or are being sent.
    backlog: u64,
    /// Its slots of the frame that runs.
    pub(super) slots: Slots,
    pub(super) share: SlotShare,
    pub(super) counters: SlotCounters,
}

impl TerminalState {
    pub(super) fn new(link: LinkId, carrier: &Carrier, spec: &Terminal) -> Self {
        Self {
            link,
            policy: Policy::new(carrier, spec),
            arrived: 0,
            backlog: 0,
            slots: Slots::default(),
            share: SlotShare::default(),
            counters: SlotCounters::default(),
        }
    }

    pub(super) fn arrive(&mut self, at: Instant, bytes: u64) {
        self.policy.arrive(at, bytes);
        self.arrived += bytes;
        self.backlog += bytes;
    }

    /// Bytes that do not wait any more because they were sent.
    pub(super) fn depart(&mut self, bytes: u64) {
        self.policy.depart(bytes);
        self.backlog = self.backlog.saturating_sub(bytes);
    }

    /// Bytes that do not wait any more because they were dropped.
    pub(super) fn forget(&mut self, bytes: u64) {
        self.backlog = self.backlog.saturating_sub(bytes);
    }

    /// Asks for capacity, and begins to measure anew.
    pub(super) fn ask(&mut self, at: Instant) -> CapacityRequest {
        let view = View { at, arrived: self.arrived, backlog: self.backlog };
        self.arrived = 0;
        self.policy.ask(&view)
    }

    /// A frame begins in which so many slots are its own.
    pub(super) fn begin_frame(&mut self, share: SlotShare, frames: u64) {
        self.policy.begin_frame(&share);
        self.share = share;
        self.counters.assigned += u64::from(share.slots()) * frames;
    }

    /// Whether it would ask for nothing for as long as nothing comes.
    pub(super) fn is_at_rest(&self) -> bool {
        self.arrived == 0 && self.backlog == 0 && self.policy.is_at_rest()
    }
}
