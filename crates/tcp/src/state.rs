//! States of a connection (RFC 9293 §3.3.2) and of its loss recovery.

/// Where in its life a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// No connection any more, or not yet.
    #[default]
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN received and answered.
    SynReceived,
    /// Data flows.
    Established,
    /// Closed here; FIN not acknowledged.
    FinWait1,
    /// Closed here; FIN acknowledged.
    FinWait2,
    /// Closed by the peer, not here.
    CloseWait,
    /// Both closed at once; our FIN is not acknowledged.
    Closing,
    /// Closed by the peer, then here; our FIN is not acknowledged.
    LastAck,
    /// Both closed; old segments may still come.
    TimeWait,
}

impl State {
    /// Whether the handshake is over and the connection not yet gone.
    pub fn is_synchronised(self) -> bool {
        !matches!(self, Self::Closed | Self::Listen | Self::SynSent | Self::SynReceived)
    }

    /// Whether data may be sent for the first time.
    pub fn may_send(self) -> bool {
        matches!(
            self,
            Self::Established | Self::CloseWait | Self::FinWait1 | Self::Closing | Self::LastAck
        )
    }

    /// Whether data may still come.
    pub fn may_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }
}

/// What the sender knows of losses (the names are Linux').
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecoveryState {
    /// Nothing is amiss.
    #[default]
    Open,
    /// Duplicate or selective acknowledgments, not enough to prove a loss.
    Disorder,
    /// The window is coming down without a loss: congestion was echoed.
    WindowReduced,
    /// Repairing losses found by acknowledgments.
    Recovery,
    /// Repairing after a time-out.
    Loss,
}

impl RecoveryState {
    /// Linux' number of the state (`enum tcp_ca_state`).
    pub const fn number(self) -> u8 {
        match self {
            Self::Open => 0,
            Self::Disorder => 1,
            Self::WindowReduced => 2,
            Self::Recovery => 3,
            Self::Loss => 4,
        }
    }
}
