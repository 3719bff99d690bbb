//! An opaque packet.

use fairwind_assembly::{FlowPacket, PacketLabel};
use fairwind_network::{NodeId, Packet};

#[derive(Clone, Copy)]
pub(crate) struct Parcel;

impl Packet for Parcel {
    fn wire_bytes(&self) -> u32 {
        1500
    }
    fn destination(&self) -> NodeId {
        NodeId(0)
    }
}

impl FlowPacket for Parcel {
    fn label(&self) -> PacketLabel {
        unreachable!("nothing is sent")
    }
}
