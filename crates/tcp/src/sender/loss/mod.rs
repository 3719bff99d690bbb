//! Loss detection and recovery: the state machine of Linux, with every mechanism a switch of
//! [`LossRecovery`](crate::LossRecovery).
//!
//! Source: RFC 5681 §3.2, RFC 6582 (without SACK), RFC 6675, RFC 8985, RFC 9937, RFC 5682; Linux
//! `tcp_fastretrans_alert` and its callees, with the same states, counters and order of steps.
//!
//! Without SACK, every duplicate ACK stands for one segment that has left the network; a partial
//! acknowledgment takes its share of them back. So one rule serves both kinds of connection: a
//! segment may be sent while fewer than the window are in flight.
//! Cost per ACK: constant, plus the segments that it newly reports.
//!
//! | module | concern |
//! |---|---|
//! | `recovery` | recovery states and the transitions between them |
//! | `detection` | loss detection by SACK count, FACK and duplicate ACKs; early retransmit; reordering degree; lost retransmissions; thin streams |
//! | `rack` | loss detection by time (RACK) |
//! | `ack_delivery` | segments that one acknowledgment delivers |
//! | `sack` | SACK block validation, D-SACK |
//! | `timeout` | retransmission timer, time-out, back-off, giving up |
//! | `frto` | spurious time-outs (F-RTO) |
//! | `tail_loss_probe` | tail loss probe (TLP) |
//! | `undo` | undo of spurious window reductions |

mod ack_delivery;
mod detection;
mod frto;
mod rack;
mod recovery;
mod sack;
mod tail_loss_probe;
mod timeout;
mod undo;

pub(crate) use ack_delivery::{AckDelivery, LatestDelivered};
pub(crate) use detection::{DuplicateAcks, OutstandingRetransmits, Reordering};
pub(crate) use frto::FRto;
pub(crate) use rack::Rack;
pub(crate) use recovery::Recovery;
pub(crate) use tail_loss_probe::TailProbe;
pub(crate) use timeout::{Pending, Rto};
pub(crate) use undo::Undo;

/// What recovery sends next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Transmission {
    #[default]
    None,
    /// Lost segments, as far as the window allows.
    Lost,
    /// New data; where none goes, lost segments (RFC 5682 §2.1 step 2).
    NewFirst,
}
