//! CAKE's ACK filter: which acknowledgment in a queue the newest one makes needless.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", 2018, section III.D; its decisions are those of Linux 7.3,
//! `net/sched/sch_cake.c`. Only pure ACKs of the newest packet's connection and direction are dropped, one for each that
//! comes, the one nearest to leaving first: never one that acknowledges, selectively or not, what the newest does not, never
//! a later time stamp, and never the last one with its state of ECE and CWR. Without `aggressive` two needless ones have to
//! wait; with it one is enough that waits directly before the newest.

use super::super::discipline::{PacketFifo, QueuedPacket};
use crate::{Header, TcpAck};
use fairwind_qdisc::CakeAckFilter;
use std::collections::BTreeMap;

/// The filter, with the acknowledgments that wait.
#[derive(Debug)]
pub(super) struct AckFilter {
    is_aggressive: bool,
    /// By the number of the packet.
    waiting: BTreeMap<u64, TcpAck>,
}

impl AckFilter {
    pub(super) fn new(mode: CakeAckFilter) -> Option<Self> {
        let is_aggressive = match mode {
            CakeAckFilter::Off => return None,
            CakeAckFilter::On => false,
            CakeAckFilter::Aggressive => true,
        };
        Some(Self { is_aggressive, waiting: BTreeMap::new() })
    }

    /// Notes the acknowledgment of a packet that arrives.
    pub(super) fn note(&mut self, arrival: &QueuedPacket, ack: TcpAck) {
        self.waiting.insert(arrival.insertion, ack);
    }

    /// Forgets that of a packet that has left.
    pub(super) fn forget(&mut self, departed: &QueuedPacket) {
        self.waiting.remove(&departed.insertion);
    }

    fn ack_of(&self, packet: &QueuedPacket) -> Option<&TcpAck> {
        self.waiting.get(&packet.insertion)
    }

    /// The place in `line` of an acknowledgment that the newest packet makes needless.
    pub(super) fn needless(&self, line: &PacketFifo) -> Option<usize> {
        let last = line.len().checked_sub(1)?;
        let newest = line.get(last)?;
        let new = self.ack_of(newest)?;
        let mut eligible: Option<(usize, &TcpAck)> = None;
        let mut has_another = false;
        for place in 0..last {
            let candidate = line.get(place)?;
            if !is_same_way(&candidate.header, &newest.header) {
                continue;
            }
            let Some(old) = self.ack_of(candidate) else { continue };
            // The first one was the last with its marks: dropping it would lose them.
            if eligible.is_some_and(|(_, first)| !has_same_marks(first, old)) {
                eligible = None;
                has_another = false;
            }
            if !is_needless(old, new) {
                continue;
            }
            let (first, _) = *eligible.get_or_insert((place, old));
            if has_another {
                return Some(first);
            }
            has_another = true;
        }
        let (only, ack) = eligible?;
        let is_enough = self.is_aggressive && only + 1 == last && has_same_marks(ack, new);
        is_enough.then_some(only)
    }
}

/// Whether both belong to the same connection in the same direction.
fn is_same_way(one: &Header, other: &Header) -> bool {
    let ports = |header: &Header| (header.source_port, header.destination_port);
    one.is_flow_of(other) && ports(one) == ports(other)
}

fn has_same_marks(one: &TcpAck, other: &TcpAck) -> bool {
    (one.has_ece, one.has_cwr) == (other.has_ece, other.has_cwr)
}

/// Whether `new` says everything that `old` does, and more.
fn is_needless(old: &TcpAck, new: &TcpAck) -> bool {
    let (value, echo) = new.timestamps.unwrap_or_default();
    let is_later =
        |(old_value, old_echo): (u32, u32)| is_after(old_value, value) || is_after(old_echo, echo);
    if !old.is_pure
        || old.timestamps.is_some_and(is_later)
        || is_after(old.acknowledgment, new.acknowledgment)
    {
        return false;
    }
    match compare_sack(old, new) {
        Sack::Less => false,
        Sack::Same => old.acknowledgment != new.acknowledgment,
        Sack::More => true,
    }
}

/// How much a later packet acknowledges selectively, beside an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sack {
    Less,
    Same,
    More,
}

fn compare_sack(old: &TcpAck, new: &TcpAck) -> Sack {
    let blocks = |ack: &TcpAck| -> Vec<(u32, u32)> { ack.sack.iter().flatten().copied().collect() };
    let (old_blocks, new_blocks) = (blocks(old), blocks(new));
    let is_covered = |&(left, right): &(u32, u32)| {
        let covers = |&(from, to): &(u32, u32)| !is_after(from, left) && !is_after(right, to);
        // What was received twice must arrive.
        !is_after(old.acknowledgment, left) && new_blocks.iter().any(covers)
    };
    if !old_blocks.iter().all(is_covered) {
        return Sack::Less;
    }
    let bytes = |blocks: &[(u32, u32)]| -> u64 {
        blocks.iter().map(|(left, right)| u64::from(right.wrapping_sub(*left))).sum()
    };
    if bytes(&new_blocks) > bytes(&old_blocks) { Sack::More } else { Sack::Same }
}

/// Whether `one` is after `other` in sequence space.
fn is_after(one: u32, other: u32) -> bool {
    other.wrapping_sub(one).cast_signed() < 0
}
