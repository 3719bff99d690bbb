//! Errors of a simulation that cannot run or did not finish.

/// Why a simulation cannot be run, or did not finish.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The experiment does not hold together.
    #[error(transparent)]
    Assembly(#[from] fairwind_assembly::AssemblyError),
    /// More flows than can be numbered.
    #[error("{0} flows exceed the limit of 16 million")]
    TooManyFlows(u64),
    /// A TCP setting does not fit its field.
    #[error("group \"{group}\": {setting} = {value} is larger than {largest}")]
    Setting {
        /// The group of flows.
        group: String,
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: u64,
        /// The largest value there is.
        largest: u64,
    },
    /// A congestion control that is neither the repository's nor was handed in.
    #[error(
        "group \"{group}\": there is no congestion control \"{name}\"; compile your own first: \
         fairwind congestion build {name}.c"
    )]
    UnknownControl {
        /// The group of flows.
        group: String,
        /// The name.
        name: String,
    },
    /// A capture could not be written.
    #[error("the capture could not be written: {0}")]
    Capture(#[from] fairwind_capture::CaptureError),
    /// The caller cancelled the run.
    #[error("the simulation was cancelled")]
    Cancelled,
}

impl SimulationError {
    /// The system's error behind a capture that could not be written, if that is what happened.
    pub fn storage(&self) -> Option<&std::io::Error> {
        match self {
            Self::Capture(fairwind_capture::CaptureError::Write { source, .. }) => Some(source),
            _ => None,
        }
    }
}
