//! Errors of assembling an experiment.

/// Why an experiment cannot be assembled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssemblyError {
    /// The network's description is not a network.
    #[error("the network cannot be built: {0}")]
    Topology(#[from] fairwind_network::TopologyError),
    /// The measures cannot be taken as described.
    #[error("the measures cannot be taken: {0}")]
    Measure(#[from] fairwind_measure::SettingsError),
    /// There is no such distribution.
    #[error("an application's sizes or times cannot be drawn: {0}")]
    Distribution(#[from] fairwind_workload::QuantilesError),
    /// A flow or a link names a node that does not exist.
    #[error("{what} names the node \"{node}\", which does not exist")]
    UnknownNode {
        /// Who names it.
        what: String,
        /// The name.
        node: String,
    },
    /// A filter asks for a group of flows that does not exist.
    #[error("link \"{link}\": queue.{key} matches the group \"{group}\", which does not exist")]
    UnknownGroup {
        /// The link before which the queue stands.
        link: String,
        /// The filter.
        key: String,
        /// The name.
        group: String,
    },
    /// Writes that no application makes.
    #[error("group \"{group}\": write number {number} is empty, or earlier than the previous one")]
    Writes {
        /// The group of flows.
        group: String,
        /// Which write, from 1.
        number: usize,
    },
    /// A group without flows.
    #[error("group \"{group}\" has no flows; give it a count of one or more")]
    NoFlows {
        /// The group of flows.
        group: String,
    },
    /// Groups that do not fit together.
    #[error(
        "group \"{group}\": it relays \"{of}\", which must have as many flows, and end where \
         it begins"
    )]
    NothingToRelay {
        /// The group of flows.
        group: String,
        /// The group that it names.
        of: String,
    },
    /// More connections in a group than can be numbered.
    #[error(
        "group \"{group}\" has {connections} connections, more than 2^32; give it a smaller count, or fewer transfers"
    )]
    TooManyConnections {
        /// The group of flows.
        group: String,
        /// How many there would be.
        connections: u64,
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
}
