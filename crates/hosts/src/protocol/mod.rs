//! What the parent and a host process say to each other over their Unix socket.
//!
//! | parent | host |
//! |---|---|
//! | [`ToHost::SetUp`] with a [`HostPlan`] | [`FromHost::Ready`] with its TUN device, or [`FromHost::Failed`] |
//! | [`ToHost::Start`] with the origin of the clock | [`FromHost::Events`], at least every 10 ms |
//! | [`ToHost::Stop`] | the last [`FromHost::Events`], then [`FromHost::Done`] |
//!
//! The end of the socket ends the host, whenever it comes.

mod event;
mod message;
mod plan;

pub(crate) use event::state_of;
pub use event::{EndpointState, EventKind, HostEvent};
pub(crate) use message::Framed;
pub use message::{EventBatch, Failure, FromHost, HostStatistics, SenderStatistics, Start, ToHost};
pub use plan::{
    HostPlan, IncomingDatagrams, IncomingPlan, NextOutgoing, OutgoingDatagrams, OutgoingPlan,
    PROTOCOL_VERSION, PayloadCheck, ReplyPlan, Sampling, SocketOption, SocketSettings, Sysctl,
    VethPlan,
};
