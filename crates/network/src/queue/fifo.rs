//! FIFO queues: pfifo, bfifo and the queue without a limit (tc-pfifo(8)).

use super::discipline::{DequeueResult, PacketFifo, QueueActions, QueueDiscipline, QueuedPacket};
use crate::{Backlog, DropReason};
use fairwind_qdisc::Qdisc;
use fairwind_units::Instant;

/// Limit of a FIFO queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FifoLimit {
    packets: u32,
    bytes: u64,
}

impl FifoLimit {
    /// The limit of a FIFO queue; `None` for any other discipline.
    pub(crate) fn of(queue: &Qdisc) -> Option<Self> {
        match *queue {
            Qdisc::Unlimited {} => Some(Self { packets: u32::MAX, bytes: u64::MAX }),
            Qdisc::Pfifo { limit_packets } => {
                Some(Self { packets: limit_packets, bytes: u64::MAX })
            }
            Qdisc::Bfifo { limit_bytes } => Some(Self { packets: u32::MAX, bytes: limit_bytes }),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn admits(self, backlog: Backlog, wire_bytes: u32) -> bool {
        backlog.packets < self.packets && backlog.bytes + u64::from(wire_bytes) <= self.bytes
    }
}

/// A FIFO queue: pfifo, bfifo or unlimited.
#[derive(Debug)]
pub struct Fifo {
    limit: FifoLimit,
    line: PacketFifo,
}

impl Fifo {
    /// An empty queue with the limit of `queue`; `None` if that is not FIFO.
    pub fn new(queue: &Qdisc) -> Option<Self> {
        let limit = FifoLimit::of(queue)?;
        Some(Self { limit, line: PacketFifo::default() })
    }
}

impl QueueDiscipline for Fifo {
    fn enqueue(
        &mut self,
        _: Instant,
        arrival: QueuedPacket,
        _: &mut QueueActions,
    ) -> Result<(), DropReason> {
        if !self.limit.admits(self.backlog(), arrival.bytes()) {
            return Err(DropReason::QueueFull);
        }
        self.line.push(arrival);
        Ok(())
    }

    fn dequeue(&mut self, _: Instant, _: &mut QueueActions) -> DequeueResult {
        self.line.pop().map_or(DequeueResult::Empty, DequeueResult::Packet)
    }

    fn head(&self) -> Option<QueuedPacket> {
        self.line.oldest().copied()
    }

    fn backlog(&self) -> Backlog {
        self.line.backlog()
    }
}
