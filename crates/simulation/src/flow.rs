//! One flow: an application, the endpoint that sends for it, and the endpoint that receives.

use crate::dialogue::Dialogue;
use crate::packet::{HostNumber, host_number};
use fairwind_assembly::{FlowPlan, NextConnection};
use fairwind_network::NodeId;
use fairwind_tcp::{Config, Connection, Ports};
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;
use fairwind_workload::Application;
use std::sync::Arc;

/// The endpoints that a flow gets.
pub(crate) struct Ends {
    pub(crate) sender_config: Arc<Config>,
    pub(crate) receiver_config: Arc<Config>,
    pub(crate) sender_sequence: SequenceNumber,
    pub(crate) receiver_sequence: SequenceNumber,
}

/// One flow at work.
pub(crate) struct Flow {
    pub(crate) sender: Connection,
    pub(crate) receiver: Connection,
    pub(crate) application: Application,
    pub(crate) sender_node: NodeId,
    pub(crate) receiver_node: NodeId,
    /// The two nodes as packets know them.
    pub(crate) sender_host: HostNumber,
    pub(crate) receiver_host: HostNumber,
    /// When the application opens the connection; [`Instant::MAX`] once it has. Far beyond the end while it awaits another
    /// one's.
    pub(crate) start: Instant,
    /// When the application stops; [`Instant::MAX`] once it has.
    pub(crate) stop: Instant,
    /// Bytes that the application wrote and the send buffer had no room for.
    pub(crate) blocked_bytes: u64,
    /// Bytes that the application wrote since the beginning.
    pub(crate) written_bytes: u64,
    pub(crate) receiver_established: bool,
    /// The receiving side was told of the end, and has not read everything: only where a relay reads.
    pub(crate) has_peer_finished: bool,
    pub(crate) sender_closed: bool,
    /// What the receiver answers, where it does.
    pub(crate) dialogue: Option<Box<Dialogue>>,
    /// Whose turn it is when this connection is over; none once it has been told.
    pub(crate) next: Option<NextConnection>,
    /// How long what the sender only acknowledges is held back.
    pub(crate) ack_delay: Span,
    receiver_config: Arc<Config>,
    receiver_ports: Ports,
    receiver_sequence: SequenceNumber,
}

impl Flow {
    pub(crate) fn new(plan: FlowPlan, ends: Ends) -> Self {
        let ports = Ports { local: plan.sender_port, remote: plan.receiver_port };
        let receiver_ports = Ports { local: plan.receiver_port, remote: plan.sender_port };
        let dialogue = Dialogue::of(&plan);
        Self {
            sender: Connection::connect(ends.sender_config, ports, ends.sender_sequence),
            receiver: Connection::listen(
                ends.receiver_config.clone(),
                receiver_ports,
                ends.receiver_sequence,
            ),
            application: plan.application,
            sender_node: plan.sender_node,
            receiver_node: plan.receiver_node,
            sender_host: host_number(plan.sender_node),
            receiver_host: host_number(plan.receiver_node),
            start: plan.start,
            stop: plan.stop,
            blocked_bytes: 0,
            written_bytes: 0,
            receiver_established: false,
            has_peer_finished: false,
            sender_closed: false,
            dialogue,
            next: plan.next,
            ack_delay: plan.ack_delay,
            receiver_config: ends.receiver_config,
            receiver_ports,
            receiver_sequence: ends.receiver_sequence,
        }
    }

    /// When the sending side has something to do by the clock.
    #[inline]
    pub(crate) fn sender_deadline(&self) -> Instant {
        if self.start != Instant::MAX {
            return self.start;
        }
        self.sender.next_deadline().min(self.application.next_write()).min(self.stop)
    }

    /// When the receiving side has something to do by the clock.
    #[inline]
    pub(crate) fn receiver_deadline(&self) -> Instant {
        let deadline = self.receiver.next_deadline();
        match &self.dialogue {
            None => deadline,
            Some(dialogue) => deadline.min(dialogue.application.next_write()),
        }
    }

    /// Does what is due on the sending side, but for writing and sending.
    #[inline]
    pub(crate) fn on_sender_deadline(&mut self, now: Instant) {
        if self.start != Instant::MAX {
            self.start = Instant::MAX;
            return;
        }
        if self.stop <= now {
            self.stop = Instant::MAX;
            self.application.end();
            self.sender_closed = true;
            self.sender.close();
        }
        if self.sender.next_deadline() <= now {
            self.sender.on_deadline(now);
        }
    }

    /// A half-open connection was given up by the receiving host, which goes on listening.
    pub(crate) fn listen_again(&mut self) {
        self.receiver = Connection::listen(
            self.receiver_config.clone(),
            self.receiver_ports,
            self.receiver_sequence,
        );
    }

    /// Bytes that the application writes now; they are counted as written whether or not the send
    /// buffer has room, and enter it as soon as it has.
    #[inline]
    pub(crate) fn poll_write(&mut self, now: Instant) -> Option<u64> {
        if self.blocked_bytes > 0 {
            self.blocked_bytes -= self.sender.write(self.blocked_bytes);
        }
        let unsent = self.sender.unsent_bytes() + self.blocked_bytes;
        let bytes = self.application.poll_write(now, unsent)?;
        self.written_bytes += bytes;
        self.blocked_bytes += bytes;
        self.blocked_bytes -= self.sender.write(self.blocked_bytes);
        Some(self.written_bytes)
    }

    /// Whether the application has nothing more to write and the endpoint took it all.
    #[inline]
    pub(crate) fn is_to_be_closed(&self) -> bool {
        !self.sender_closed && self.blocked_bytes == 0 && self.application.is_finished()
    }
}
