//! Captures of the packets that leave and reach hosts.

use crate::SimulationError;
use crate::packet::{EndId, Side};
use fairwind_assembly::{CaptureFiles, CaptureWriters};
use fairwind_capture::{InterfaceId, Section};
use fairwind_scenario::Capture;
use fairwind_units::Instant;
use fairwind_wire::Segment;
use fairwind_wire::bytes::{Addresses, IpHeader, Payload};

/// Writes packets of chosen flows to pcapng.
#[derive(Default)]
pub(crate) struct Recorder {
    writers: CaptureWriters,
    /// Addresses of client and server by connection, for connections that are captured.
    addresses: Vec<Option<Addresses>>,
    failed: Option<SimulationError>,
}

impl Recorder {
    pub(crate) fn new(
        files: CaptureFiles,
        capture: &Capture,
        name: &str,
        addresses: Vec<Option<Addresses>>,
    ) -> Result<Self, SimulationError> {
        let section = Section {
            application: Some("fairwind simulation".to_owned()),
            comment: Some(name.to_owned()),
            ..Section::default()
        };
        Ok(Self {
            writers: CaptureWriters::begin(files, capture, &section)?,
            addresses,
            failed: None,
        })
    }

    /// Whether packets of a connection are captured anywhere.
    #[inline]
    pub(crate) fn wants(&self, connection: u32) -> bool {
        !self.addresses.is_empty()
            && self.addresses.get(connection as usize).is_some_and(Option::is_some)
    }

    /// Records a segment from the end `from`, seen at the host on side `seen_at`.
    pub(crate) fn record(
        &mut self,
        at: Instant,
        from: EndId,
        seen_at: Side,
        segment: &Segment,
        stream_offset: u64,
    ) {
        let Some(Some(forward)) = self.addresses.get(from.connection() as usize) else { return };
        let addresses = match from.side() {
            Side::Client => *forward,
            Side::Server => forward.reversed(),
        };
        let writer = match seen_at {
            Side::Client => &mut self.writers.sender,
            Side::Server => &mut self.writers.receiver,
        };
        if let Some(writer) = writer
            && self.failed.is_none()
        {
            let ip = IpHeader::new(addresses);
            let payload = Payload::Pattern { stream_offset };
            let written = writer.write_segment(at, InterfaceId(0), &ip, segment, payload);
            self.failed = written.err().map(SimulationError::from);
        }
    }

    /// Closes the files, or gives the first error.
    pub(crate) fn finish(self) -> Result<(), SimulationError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        Ok(self.writers.finish()?)
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }
}
