//! What the network asks of a packet, and the dense ids of nodes and links.

/// What travels: moved by value, never looked into beyond these two questions.
pub trait Packet {
    /// Length of the IP packet in bytes. Constant while the packet is inside the network.
    fn wire_bytes(&self) -> u32;

    /// Node that the packet is for. Constant while the packet is inside the network.
    fn destination(&self) -> NodeId;
}

/// A host or a router: its position in the order in which nodes were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A link in one direction: its position in the order in which links were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl NodeId {
    /// The node at `index`.
    ///
    /// # Panics
    /// Where `index` does not fit in 32 bits.
    pub fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("fewer than 2^32 nodes"))
    }

    /// As an index into tables of nodes.
    #[inline]
    pub fn index(self) -> usize {
        // Widening on every machine that this runs on.
        self.0 as usize
    }
}

impl LinkId {
    /// The link at `index`.
    ///
    /// # Panics
    /// Where `index` does not fit in 32 bits.
    pub fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("fewer than 2^32 links"))
    }

    /// As an index into tables of links.
    #[inline]
    pub fn index(self) -> usize {
        // Widening on every machine that this runs on.
        self.0 as usize
    }
}
