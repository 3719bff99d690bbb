//! A device under watch, from its first event to the tables.

use crate::connections::{Connection, ConnectionCounts, Protocol};
use crate::ledger::{Counts, Ledger};
use fairwind_bpf::{BpfError, PacketWatch, WatchedEvents, WatchedInterface};
use fairwind_linux as linux;
use fairwind_measure::{Collector, FlowDescription, ObservationPoints, Settings, Tables};
use fairwind_units::{Instant, Span};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;
use thiserror::Error;

/// What is watched, and how it is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeSettings {
    /// The device, in the network namespace of this thread.
    pub device: String,
    /// Names of its queues: one for the device, or one for each transmit queue, at least one.
    pub queues: Vec<String>,
    /// Window length of the table `queue_intervals`.
    pub interval: Span,
}

/// Why a device cannot be watched.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// There is no such device.
    #[error("there is no device {0} in this network namespace")]
    NoDevice(String),
    /// The namespace is not known.
    #[error("the network namespace of this process is not known: {0}")]
    NoNamespace(io::Error),
    /// The settings measure nothing.
    #[error("{0}")]
    Settings(String),
    /// The kernel reports no packets.
    #[error(transparent)]
    Bpf(#[from] BpfError),
}

/// Measures of a device's queue.
#[derive(Debug)]
pub struct ProbeResult {
    /// The tables of queues.
    pub tables: Tables,
    /// Counts of events.
    pub counts: Counts,
    /// Events that were lost since they came faster than they were read.
    pub missed: u64,
    /// By connection, those with most bytes first.
    pub connections: Vec<(Connection, ConnectionCounts)>,
    /// How long it was watched.
    pub measured: Span,
}

/// A device under watch. The kernel forgets the programs when this is dropped.
pub struct Probe {
    watch: PacketWatch,
    collector: Collector,
    ledger: Ledger,
    since: Instant,
}

impl Probe {
    /// Begins to watch.
    pub fn start(settings: &ProbeSettings) -> Result<Self, ProbeError> {
        let interface = linux::interface_index(&settings.device)
            .ok_or_else(|| ProbeError::NoDevice(settings.device.clone()))?;
        let watched = WatchedEvents::Queue;
        let place = WatchedInterface { namespace: own_namespace()?, interface, watched };
        let check = measures(settings, Instant::ZERO).check();
        check.map_err(|error| ProbeError::Settings(error.to_string()))?;
        let watch = PacketWatch::new(&[place])?;
        // To load the programs takes some time, in which nothing is seen.
        let since = linux::monotonic();
        let measures = measures(settings, since);
        Ok(Self {
            watch,
            collector: Collector::new(&measures),
            ledger: Ledger::new(settings.queues.len()),
            since,
        })
    }

    /// Takes what the kernel has reported; waits at most for `limit` where that is little.
    pub fn advance(&mut self, limit: Duration) -> Result<(), ProbeError> {
        let Self { watch, collector, ledger, .. } = self;
        watch.read(limit, |at, event| ledger.on_event(at, &event, collector))?;
        Ok(())
    }

    /// Counts of the events so far.
    pub fn counts(&self) -> Counts {
        self.ledger.counts
    }

    /// Events lost so far.
    pub fn missed(&self) -> u64 {
        self.watch.missed()
    }

    /// Ends it; all that happened until now is in the tables.
    pub fn finish(mut self) -> Result<ProbeResult, ProbeError> {
        let end = linux::monotonic();
        let Self { watch, collector, ledger, .. } = &mut self;
        watch.finish(|at, event| {
            if at < end {
                ledger.on_event(at, &event, collector);
            }
        })?;
        Ok(ProbeResult {
            missed: self.watch.missed(),
            tables: self.collector.finish(end),
            counts: self.ledger.counts,
            connections: self.ledger.connections.into_sorted(),
            measured: end.saturating_since(self.since),
        })
    }
}

/// The inode of this thread's network namespace.
fn own_namespace() -> Result<u32, ProbeError> {
    let entry = std::fs::metadata("/proc/thread-self/ns/net").map_err(ProbeError::NoNamespace)?;
    u32::try_from(entry.ino())
        .map_err(|error| ProbeError::NoNamespace(io::Error::other(error.to_string())))
}

/// A group for each protocol, with one flow that stands for all of its packets.
fn measures(settings: &ProbeSettings, origin: Instant) -> Settings {
    let flow = |(group, protocol): (u32, &Protocol)| FlowDescription {
        group,
        name: protocol.name().to_owned(),
        start: origin,
        answers: None,
        seen_at: ObservationPoints::NOWHERE,
    };
    Settings {
        groups: Protocol::ALL.iter().map(|one| one.name().to_owned()).collect(),
        flows: (0..).zip(&Protocol::ALL).map(flow).collect(),
        queues: settings.queues.clone(),
        origin,
        queue_interval: Some(settings.interval),
        ..Settings::default()
    }
}
