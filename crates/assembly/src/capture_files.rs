//! Where captures go.

use fairwind_capture::{CaptureError, CaptureWriter, Interface, Section};
use fairwind_scenario::{Capture, CapturePoint};
use std::io::Write;
use std::num::NonZeroU32;

/// Where captures go: a writer for each point that the scenario names.
#[derive(Default)]
pub struct CaptureFiles {
    /// The hosts that send the data.
    pub sender: Option<Box<dyn Write + Send>>,
    /// The hosts that receive the data.
    pub receiver: Option<Box<dyn Write + Send>>,
}

/// Captures that have been begun.
#[derive(Default)]
pub struct CaptureWriters {
    /// What is seen at the hosts that send the data.
    pub sender: Option<CaptureWriter<Box<dyn Write + Send>>>,
    /// What is seen at the hosts that receive the data.
    pub receiver: Option<CaptureWriter<Box<dyn Write + Send>>>,
}

impl CaptureWriters {
    /// Begins a capture at each point that is wanted and has a file.
    ///
    /// # Errors
    /// Where a beginning cannot be written.
    pub fn begin(
        files: CaptureFiles,
        capture: &Capture,
        section: &Section,
    ) -> Result<Self, CaptureError> {
        let snap = capture
            .snap
            .and_then(|bytes| u32::try_from(bytes.get()).ok().and_then(NonZeroU32::new));
        let open = |file: Option<Box<dyn Write + Send>>, point: CapturePoint, name: &str| {
            let Some(file) = file.filter(|_| capture.points.contains(&point)) else {
                return Ok(None);
            };
            let interface = match snap {
                Some(snap) => Interface::new(name).with_snap_length(snap),
                None => Interface::new(name),
            };
            CaptureWriter::new(file, section, vec![interface]).map(Some)
        };
        Ok(Self {
            sender: open(files.sender, CapturePoint::Sender, "sender")?,
            receiver: open(files.receiver, CapturePoint::Receiver, "receiver")?,
        })
    }

    /// Closes the files.
    ///
    /// # Errors
    /// The first error that there was.
    pub fn finish(self) -> Result<(), CaptureError> {
        for writer in [self.sender, self.receiver].into_iter().flatten() {
            writer.finish()?;
        }
        Ok(())
    }
}
