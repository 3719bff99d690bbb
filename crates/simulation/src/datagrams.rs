//! A stream of datagrams: an application, and no endpoint.

use fairwind_assembly::DatagramPlan;
use fairwind_network::NodeId;
use fairwind_units::Instant;
use fairwind_workload::Application;

/// A stream of datagrams at work.
pub(crate) struct Datagrams {
    application: Application,
    pub(crate) sender_node: NodeId,
    pub(crate) receiver_node: NodeId,
    pub(crate) ports: (u16, u16),
    /// When the application begins; [`Instant::MAX`] once it has.
    start: Instant,
    /// When the application stops.
    stop: Instant,
    most_payload: u32,
    /// Bytes of the last write that are in no datagram yet.
    unsent_bytes: u64,
}

impl Datagrams {
    pub(crate) fn new(plan: DatagramPlan) -> Self {
        Self {
            application: plan.application,
            sender_node: plan.sender_node,
            receiver_node: plan.receiver_node,
            ports: (plan.sender_port, plan.receiver_port),
            start: plan.start,
            stop: plan.stop,
            most_payload: plan.most_payload,
            unsent_bytes: 0,
        }
    }

    /// When there is something to do by the clock.
    pub(crate) fn deadline(&self) -> Instant {
        if self.start != Instant::MAX {
            return self.start;
        }
        // At its stop it writes nothing more, which needs no turn of its own.
        let next = self.application.next_write();
        if next < self.stop { next } else { Instant::MAX }
    }

    /// Payload of the next datagram that leaves now, if one does.
    pub(crate) fn poll_payload(&mut self, now: Instant) -> Option<u32> {
        if self.start <= now {
            self.start = Instant::MAX;
            self.application.begin(now);
        }
        if self.unsent_bytes == 0 && now < self.stop {
            self.unsent_bytes = self.application.poll_write(now, 0).unwrap_or(0);
        }
        let payload = self.most_payload.min(u32::try_from(self.unsent_bytes).unwrap_or(u32::MAX));
        self.unsent_bytes -= u64::from(payload);
        (payload > 0).then_some(payload)
    }
}
