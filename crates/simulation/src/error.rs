//! Why a simulation cannot be run, or did not finish.

/// Why a simulation cannot be run, or did not finish.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The network's description is not a network.
    #[error("the network cannot be built: {0}")]
    Topology(#[from] fairwind_network::TopologyError),
    /// The measures cannot be taken as described.
    #[error("the measures cannot be taken: {0}")]
    Measure(#[from] fairwind_measure::SettingsError),
    /// A flow or a link names a node that does not exist.
    #[error("{what} names the node \"{node}\", which does not exist")]
    UnknownNode {
        /// Who names it.
        what: String,
        /// The name.
        node: String,
    },
    /// Two hosts of a flow are not connected.
    #[error("group \"{group}\": no route leads from \"{from}\" to \"{to}\"")]
    Unreachable {
        /// The group of flows.
        group: String,
        /// Where packets start.
        from: String,
        /// Where they cannot get to.
        to: String,
    },
    /// More flows than can be told apart.
    #[error("{0} flows are more than the 16 million that are possible")]
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
    /// A capture could not be written.
    #[error("the capture could not be written: {0}")]
    Capture(#[from] fairwind_capture::CaptureError),
    /// Somebody asked to stop.
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
