//! What the network asks of a packet, and the dense ids of nodes and links.

/// What travels: moved by value, never looked into beyond these two questions.
pub trait Packet {
    /// Length of the IP packet in bytes. Constant while the packet is inside the network.
    fn wire_bytes(&self) -> u32;

    /// Node that the packet is for. Constant while the packet is inside the network.
    fn destination(&self) -> NodeId;

    /// What classifiers and hashes look at; one flow for all unless a packet knows better.
    fn header(&self) -> Header {
        Header::default()
    }

    /// Writes down that congestion was experienced (CE, RFC 3168 §5). Asked only of packets whose header says that
    /// they can be marked.
    fn mark(&mut self) {}

    /// The same packet again, for a link that duplicates; `None` where a packet cannot be.
    fn duplicate(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Something in it becomes wrong on a link; `draw` may choose what.
    fn corrupt(&mut self, draw: u32) {
        let _ = draw;
    }
}

/// What queue disciplines look at to tell packets apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Header {
    /// Number of the connection.
    pub connection: u32,
    /// Whether it goes the other way: from the host that was called to the one that called.
    pub is_backward: bool,
    /// Number of the host that sends it.
    pub source: u32,
    /// Port that it comes from; 0 where there are none.
    pub source_port: u16,
    /// Port that it goes to; 0 where there are none.
    pub destination_port: u16,
    /// Code point and ECN field (RFC 2474, RFC 3168), as the byte of the IP header.
    pub traffic_class: u8,
    /// Number of the protocol above IP.
    pub protocol: u8,
}

impl Header {
    /// Congestion experienced.
    const CE: u8 = 0b11;

    /// Whether it can be marked: ECT(0), ECT(1), or CE already (RFC 3168 §5).
    #[inline]
    pub fn is_ecn_capable(&self) -> bool {
        self.traffic_class & Self::CE != 0
    }

    /// Whether it is of the same flow in the same direction.
    pub(crate) fn is_flow_of(&self, other: &Self) -> bool {
        self.connection == other.connection && self.is_backward == other.is_backward
    }

    /// The field as it is once congestion was experienced.
    #[inline]
    pub(crate) fn mark(&mut self) {
        self.traffic_class |= Self::CE;
    }
}

/// A host or a router: its position in the order in which nodes were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A link in one direction: its position in the order in which links were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// A carrier whose slots links share: its position in the order in which carriers were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CarrierId(pub u32);

impl CarrierId {
    /// As an index into tables of carriers.
    #[inline]
    pub fn index(self) -> usize {
        // Widening on every machine that this runs on.
        self.0 as usize
    }
}

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
