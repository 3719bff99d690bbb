//! Entries into recovery and loss, SYNs sent again, and the window at every acknowledgment: exactly
//! when they happen, by the programs in `bpf/endpoints.bpf.c`.
//!
//! What they count is what the simulator's endpoint counts: a time-out is every expiry of the
//! retransmission timer with data outstanding, a fast retransmit every entry into recovery. A sample
//! at an acknowledgment is the state that this acknowledgment *finds*, so it is what the one before has
//! left behind.

use super::endpoint_event::{ConnectionKey, EndpointEvent};
use super::loader::{Object, Programs};
use super::reorder_buffer::ReorderBuffer;
use super::{BpfError, check_kernel_types};
use fairwind_assembly::Sink;
use fairwind_linux as linux;
use fairwind_measure::{FlowId, Observation};
use fairwind_units::Instant;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

/// A connection that is watched, at the host that sends its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Its flow.
    pub flow: FlowId,
    /// The data sender's network namespace: the inode of `/proc/PID/ns/net`.
    pub namespace: u32,
    /// Address and port of the data sender.
    pub local: SocketAddr,
    /// Address and port of the data receiver.
    pub remote: SocketAddr,
}

/// Which facts are wanted; each costs something at the place where it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndpointEvents {
    /// Time-outs and fast retransmits.
    pub recovery: bool,
    /// SYNs that are sent again.
    pub syn_retries: bool,
    /// A sample of the data sender's state at every acknowledgment that comes.
    pub acknowledgments: bool,
}

impl EndpointEvents {
    /// Functions in `bpf/endpoints.bpf.c`.
    fn programs(self) -> Vec<&'static str> {
        let programs = [
            (self.recovery, "state_changes"),
            (self.syn_retries, "retransmits"),
            (self.acknowledgments, "acknowledged"),
        ];
        programs.into_iter().filter_map(|(wanted, name)| wanted.then_some(name)).collect()
    }
}

/// What watched endpoints do. The kernel forgets the programs when this is dropped.
#[derive(Debug)]
pub struct EndpointWatch {
    programs: Programs,
    flows: HashMap<ConnectionKey, FlowId>,
    origin: Instant,
    reorder_buffer: ReorderBuffer<Observation<'static>>,
}

impl EndpointWatch {
    /// Begins to watch. Connections need not exist yet, but their namespaces do.
    ///
    /// # Errors
    /// Where the kernel has no such programs, this build has none, or this user may not load them.
    pub fn new(connections: &[Connection], facts: EndpointEvents) -> Result<Self, BpfError> {
        check_kernel_types()?;
        let programs = Programs::attach(Object::Endpoints, &facts.programs())?;
        let mut namespaces: Vec<u32> = connections.iter().map(|one| one.namespace).collect();
        namespaces.sort_unstable();
        namespaces.dedup();
        for namespace in namespaces {
            programs.set("namespaces", &namespace.to_ne_bytes(), &[1, 0, 0, 0])?;
        }
        let flows = connections.iter().map(|one| (ends(one), one.flow)).collect();
        Ok(Self { programs, flows, origin: Instant::ZERO, reorder_buffer: ReorderBuffer::new() })
    }

    /// From now on, instants are told since `origin` on the monotonic clock; what happened before it
    /// is told at zero.
    pub fn set_origin(&mut self, origin: Instant) {
        self.origin = origin;
    }

    /// Tells what has happened, in order; waits at most for `limit` where there is little. Returns the
    /// instant before which nothing will follow.
    ///
    /// # Errors
    /// Where the ring cannot be read.
    pub fn read(&mut self, limit: Duration, sink: &mut impl Sink) -> Result<Instant, BpfError> {
        self.programs.wait(limit)?;
        let asked = linux::monotonic();
        self.take()?;
        let origin = self.origin;
        let released =
            self.reorder_buffer.release(asked, |at, fact| sink.observe(since(origin, at), fact));
        Ok(since(origin, released))
    }

    /// Tells all that has happened until now and was not told yet.
    ///
    /// # Errors
    /// Where the ring cannot be read.
    pub fn finish(&mut self, sink: &mut impl Sink) -> Result<(), BpfError> {
        self.take()?;
        let origin = self.origin;
        self.reorder_buffer.finish(|at, fact| sink.observe(since(origin, at), fact));
        Ok(())
    }

    fn take(&mut self) -> Result<(), BpfError> {
        let Self { programs, flows, reorder_buffer, .. } = self;
        programs.read(|record| {
            let event = EndpointEvent::read(record);
            let observation = flows.get(&event.ends).and_then(|flow| event.observation(*flow));
            if let Some(observation) = observation {
                reorder_buffer.push(event.at, observation);
            }
        })
    }

    /// How many events were lost because they came faster than they were read.
    pub fn missed(&self) -> u64 {
        self.programs.missed()
    }

    /// How many events were told later than they happened, so that no order was broken.
    pub fn late(&self) -> u64 {
        self.reorder_buffer.late()
    }
}

fn ends(connection: &Connection) -> ConnectionKey {
    let Connection { namespace, local, remote, .. } = *connection;
    ConnectionKey { namespace, local, remote }
}

fn since(origin: Instant, at: Instant) -> Instant {
    Instant::ZERO + at.saturating_since(origin)
}
