//! Seeds, capture files and progress of a run, as every engine needs them.

use crate::live::LiveView;
use fairwind_capture::{CaptureError, CaptureWriter, Interface, Section};
use fairwind_scenario::{Capture, CapturePoint};
use std::io::Write;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The part of a run that a random generator serves.
#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    /// What links lose.
    Network = 1,
    /// When a flow starts.
    Start = 2,
    /// What an application writes.
    Application = 3,
    /// The data sender's initial sequence number.
    SenderSequence = 4,
    /// The receiver's initial sequence number.
    ReceiverSequence = 5,
    /// How long it is from one connection to the next of the same caller.
    Pause = 6,
}

/// The seed of one part of a run, so that a change of one part leaves the draws of others alone: `SplitMix64` (Steele, Lea, Flood 2014) over seed, purpose and number.
pub fn derive_seed(seed: u64, purpose: Purpose, number: u64) -> u64 {
    let mixed = mix(seed ^ mix(purpose as u64));
    mix(mixed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The writers of captures, one for each point that the scenario names.
#[derive(Default)]
pub struct CaptureFiles {
    /// The hosts that send the data.
    pub sender: Option<Box<dyn Write + Send>>,
    /// The hosts that receive the data.
    pub receiver: Option<Box<dyn Write + Send>>,
}

/// Captures under way.
#[derive(Default)]
pub struct CaptureWriters {
    /// The capture at the hosts that send the data.
    pub sender: Option<CaptureWriter<Box<dyn Write + Send>>>,
    /// The capture at the hosts that receive the data.
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

/// Progress and cancellation, shared between the thread that runs an experiment and those that watch it.
#[derive(Debug, Default)]
pub struct Control {
    /// Share of the experiment's time that has passed, in parts per billion.
    done: AtomicU64,
    cancelled: AtomicBool,
    live: Arc<LiveView>,
}

impl Control {
    /// Share of the experiment's time that has passed, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "at most a billion")]
    pub fn fraction(&self) -> f64 {
        self.done.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// Counts of the run under way.
    pub fn live(&self) -> &Arc<LiveView> {
        &self.live
    }

    /// Asks the run to stop, which it does soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether `cancel` was called.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Reports that `passed_nanos` of `whole_nanos` have passed.
    pub fn report(&self, passed_nanos: u64, whole_nanos: u64) {
        let share = u128::from(passed_nanos) * 1_000_000_000 / u128::from(whole_nanos.max(1));
        self.done.store(u64::try_from(share).unwrap_or(1_000_000_000), Ordering::Relaxed);
    }
}
