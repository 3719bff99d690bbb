//! Captures of what leaves and reaches hosts.

use crate::SimulationError;
use fairwind_assembly::{CaptureFiles, CaptureWriters};
use fairwind_capture::{InterfaceId, Section};
use fairwind_measure::Direction;
use fairwind_scenario::Capture;
use fairwind_units::Instant;
use fairwind_wire::Segment;
use fairwind_wire::bytes::{Addresses, IpHeader, Payload};

/// Writes packets of chosen flows to pcapng.
#[derive(Default)]
pub(crate) struct Recorder {
    writers: CaptureWriters,
    /// Addresses of sender and receiver by flow, for flows that are captured.
    flows: Vec<Option<Addresses>>,
    failed: Option<SimulationError>,
}

impl Recorder {
    pub(crate) fn new(
        files: CaptureFiles,
        capture: &Capture,
        name: &str,
        flows: Vec<Option<Addresses>>,
    ) -> Result<Self, SimulationError> {
        let section = Section {
            application: Some("fairwind simulation".to_owned()),
            comment: Some(name.to_owned()),
            ..Section::default()
        };
        Ok(Self { writers: CaptureWriters::begin(files, capture, &section)?, flows, failed: None })
    }

    /// Whether packets of `flow` are wanted anywhere.
    #[inline]
    pub(crate) fn wants(&self, flow: u32) -> bool {
        !self.flows.is_empty() && self.flows.get(flow as usize).is_some_and(Option::is_some)
    }

    /// Records a packet of a wanted flow that leaves (`departs`) or reaches a host.
    pub(crate) fn record(
        &mut self,
        at: Instant,
        flow: u32,
        direction: Direction,
        departs: bool,
        segment: &Segment,
        stream_offset: u64,
    ) {
        let Some(Some(forward)) = self.flows.get(flow as usize) else { return };
        let addresses = match direction {
            Direction::Forward => *forward,
            Direction::Reverse => forward.reversed(),
        };
        // Data departs from the sender's side, and ACKs arrive there.
        let at_sender = departs == (direction == Direction::Forward);
        let writer = if at_sender { &mut self.writers.sender } else { &mut self.writers.receiver };
        if let Some(writer) = writer
            && self.failed.is_none()
        {
            let ip = IpHeader::new(addresses);
            let payload = Payload::Pattern { stream_offset };
            let written = writer.write_segment(at, InterfaceId(0), &ip, segment, payload);
            self.failed = written.err().map(SimulationError::from);
        }
    }

    /// Closes the files, with the first error that there was.
    pub(crate) fn finish(self) -> Result<(), SimulationError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        Ok(self.writers.finish()?)
    }

    /// Whether writing has failed, so that running on makes no sense.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }
}
