//! Packets in the order of their arrival, with their bytes.

use super::{QueuedPacket, packet_count};
use crate::Backlog;
use std::collections::VecDeque;

/// Packets that wait in a row.
#[derive(Debug, Default)]
pub(crate) struct Line {
    waiting: VecDeque<QueuedPacket>,
    bytes: u64,
}

impl Line {
    #[inline]
    pub(crate) fn push(&mut self, waiting: QueuedPacket) {
        self.bytes += u64::from(waiting.bytes());
        self.waiting.push_back(waiting);
    }

    /// Takes the oldest one out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<QueuedPacket> {
        let first = self.waiting.pop_front();
        self.without(first)
    }

    /// Takes the newest one out.
    pub(crate) fn pop_newest(&mut self) -> Option<QueuedPacket> {
        let last = self.waiting.pop_back();
        self.without(last)
    }

    /// Takes the one at `place` out, counted from the oldest.
    pub(crate) fn remove(&mut self, place: usize) -> Option<QueuedPacket> {
        let removed = self.waiting.remove(place);
        self.without(removed)
    }

    #[inline]
    fn without(&mut self, removed: Option<QueuedPacket>) -> Option<QueuedPacket> {
        self.bytes -= removed.map_or(0, |waiting| u64::from(waiting.bytes()));
        removed
    }

    /// The next to leave.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<&QueuedPacket> {
        self.waiting.front()
    }

    /// The one at `place`, counted from the oldest.
    pub(crate) fn get(&self, place: usize) -> Option<&QueuedPacket> {
        self.waiting.get(place)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: packet_count(self.waiting.len()), bytes: self.bytes }
    }

    /// Takes all out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = QueuedPacket> + '_ {
        self.bytes = 0;
        self.waiting.drain(..)
    }
}
