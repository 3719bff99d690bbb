//! The answering side of a connection with data both ways: its application, and what of its writing
//! the send buffer has no room for.

use fairwind_assembly::FlowPlan;
use fairwind_measure::{ConnectionFlows, Direction, FlowId};
use fairwind_tcp::Connection;
use fairwind_units::Instant;
use fairwind_wire::Segment;
use fairwind_workload::Application;

/// What the receiver of a flow has to say.
#[derive(Debug)]
pub(crate) struct Dialogue {
    connection: ConnectionFlows,
    /// The flow of the answers.
    pub(crate) flow: FlowId,
    pub(crate) application: Application,
    blocked_bytes: u64,
    written_bytes: u64,
    is_closed: bool,
}

impl Dialogue {
    /// The answers that `plan` wants, where it wants any.
    pub(crate) fn of(plan: &FlowPlan) -> Option<Box<Self>> {
        let answer = plan.response.as_ref()?;
        Some(Box::new(Self {
            connection: plan.connection(),
            flow: answer.flow,
            application: answer.application.clone(),
            blocked_bytes: 0,
            written_bytes: 0,
            is_closed: false,
        }))
    }

    /// The flow of a segment that goes this way on the connection, and its direction there.
    #[cold]
    #[inline(never)]
    pub(crate) fn attribute(&self, way: Direction, segment: &Segment) -> (FlowId, Direction) {
        self.connection.attribute(way, segment)
    }

    /// Bytes that were written since the beginning where the application writes now; they enter the
    /// send buffer of `endpoint` as soon as it has room.
    #[cold]
    pub(crate) fn poll_write(&mut self, now: Instant, endpoint: &mut Connection) -> Option<u64> {
        if self.blocked_bytes > 0 {
            self.blocked_bytes -= endpoint.write(self.blocked_bytes);
        }
        let unsent = endpoint.unsent_bytes() + self.blocked_bytes;
        let bytes = self.application.poll_write(now, unsent)?;
        self.written_bytes += bytes;
        self.blocked_bytes += bytes;
        self.blocked_bytes -= endpoint.write(self.blocked_bytes);
        Some(self.written_bytes)
    }

    /// Closes `endpoint` once nothing is left to say.
    #[cold]
    pub(crate) fn close_if_finished(&mut self, endpoint: &mut Connection) {
        if !self.is_closed && self.blocked_bytes == 0 && self.application.is_finished() {
            self.is_closed = true;
            endpoint.close();
        }
    }
}
