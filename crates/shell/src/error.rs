//! Why a program cannot be put behind a path.

use fairwind_linux::KernelError;
use fairwind_recorder::RecorderError;
use fairwind_router::RouterError;

/// Why a program cannot be put behind a path, or the path could not be kept up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShellError {
    /// The experiment's description is inconsistent.
    #[error(transparent)]
    Assembly(#[from] fairwind_assembly::AssemblyError),
    /// The machine cannot do what is asked for.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A capture could not be written.
    #[error("the capture could not be written: {0}")]
    Capture(#[from] fairwind_capture::CaptureError),
    /// The network stopped.
    #[error(transparent)]
    Router(#[from] RouterError),
    /// A thread has failed.
    #[error("{what} has failed: {reason}")]
    Thread {
        /// Which part.
        what: &'static str,
        /// Its reason.
        reason: String,
    },
}

impl ShellError {
    /// The system's error behind a capture that could not be written, if that is what happened.
    pub fn storage(&self) -> Option<&std::io::Error> {
        match self {
            Self::Capture(fairwind_capture::CaptureError::Write { source, .. }) => Some(source),
            _ => None,
        }
    }
}

impl From<RecorderError> for ShellError {
    fn from(error: RecorderError) -> Self {
        match error {
            RecorderError::Capture(error) => Self::Capture(error),
            other => Self::Thread { what: "the thread that measures", reason: other.to_string() },
        }
    }
}
