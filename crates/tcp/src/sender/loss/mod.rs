//! Finding and repairing losses: Linux' state machine, with every mechanism a switch of
//! [`LossRecovery`](crate::LossRecovery).
//!
//! Source: RFC 5681 §3.2, RFC 6582 (without SACK), RFC 6675, RFC 8985, RFC 9937, RFC 5682; Linux
//! `tcp_fastretrans_alert` and what it calls, whose states, counters and order of steps these are.
//!
//! Without SACK, every duplicate ACK stands for one segment that has left the network; a partial
//! acknowledgment takes its share of them back. So both kinds of connection are governed by the
//! same rule: a segment may be sent while fewer than the window are in flight.
//! Cost per ACK: constant, plus what it newly tells.
//!
//! | module | concern |
//! |---|---|
//! | `recovery` | the states, and the transitions between them |
//! | `detection` | loss detection by count; reordering degree; lost retransmissions; thin streams |
//! | `rack` | loss detection by time |
//! | `sack` | validity of SACK blocks, D-SACK |
//! | `timeout` | retransmission time-out, back-off, F-RTO, giving up |
//! | `tail_loss_probe` | tail loss probes, and which timer runs |
//! | `undo` | spurious retransmissions |

mod detection;
mod rack;
mod recovery;
mod sack;
mod tail_loss_probe;
mod timeout;
mod undo;

pub(crate) use detection::{DuplicateAcks, LostRetransmits, Reordering};
pub(crate) use rack::{Delivery, LatestDelivered, Rack};
pub(crate) use recovery::Recovery;
pub(crate) use tail_loss_probe::TailProbe;
pub(crate) use timeout::{FRto, Pending, Rto};
pub(crate) use undo::Undo;

/// What recovery sends next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Transmission {
    /// Nothing.
    #[default]
    None,
    /// Lost segments, as far as the window allows.
    Lost,
    /// New data; where none goes, lost segments (RFC 5682 §2.1 step 2).
    NewFirst,
}
