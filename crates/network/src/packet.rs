//! Packets as the network sees them, their flow hashes, the ids of nodes, links and carriers, and the seeds of independent
//! random streams.

/// A packet that travels through the network: all that the network reads of it or changes in it.
pub trait Packet {
    /// Length of the IP packet in bytes. Constant while the packet is inside the network.
    fn wire_bytes(&self) -> u32;

    /// Destination node. Constant while the packet is inside the network.
    fn destination(&self) -> NodeId;

    /// Header fields for classifiers and flow hashes; by default all packets are one flow.
    fn header(&self) -> Header {
        Header::default()
    }

    /// What an ACK filter reads; `None` unless it is a TCP segment with ACK and without SYN.
    fn tcp_ack(&self) -> Option<TcpAck> {
        None
    }

    /// Sets CE (congestion experienced, RFC 3168 §5). Called only if the header is ECN capable.
    fn mark(&mut self) {}

    /// A copy, for links that duplicate packets; `None` if there can be none.
    fn duplicate(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Corrupts the packet on a link; the random `draw` may choose how.
    fn corrupt(&mut self, draw: u32) {
        let _ = draw;
    }
}

/// Header fields that queue disciplines read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Header {
    /// Number of the connection.
    pub connection: u32,
    /// Whether it travels from the passive to the active opener.
    pub is_backward: bool,
    /// Number of the sending host.
    pub source: u32,
    /// Source port; 0 without ports.
    pub source_port: u16,
    /// Destination port; 0 without ports.
    pub destination_port: u16,
    /// Code point and ECN field (RFC 2474, RFC 3168), as the byte of the IP header.
    pub traffic_class: u8,
    /// IP protocol number.
    pub protocol: u8,
}

impl Header {
    /// Congestion experienced.
    const CE: u8 = 0b11;

    /// Whether it is ECN capable: ECT(0), ECT(1), or CE already (RFC 3168 §5).
    #[inline]
    pub fn is_ecn_capable(&self) -> bool {
        self.traffic_class & Self::CE != 0
    }

    /// Whether both belong to the same flow in the same direction.
    pub(crate) fn is_flow_of(&self, other: &Self) -> bool {
        self.connection == other.connection && self.is_backward == other.is_backward
    }

    /// Sets CE.
    #[inline]
    pub(crate) fn mark(&mut self) {
        self.traffic_class |= Self::CE;
    }
}

/// Fields of a TCP segment with ACK that tell whether a later one makes it needless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpAck {
    /// Acknowledgment number.
    pub acknowledgment: u32,
    /// Whether it has no payload, no flags but ACK, ECE and CWR, and no options but timestamps and SACK.
    pub is_pure: bool,
    /// ECE.
    pub has_ece: bool,
    /// CWR.
    pub has_cwr: bool,
    /// `TSval` and `TSecr` (RFC 7323 §3).
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks, each from its first number to the one after its end (RFC 2018 §3); `None` behind the last one.
    pub sack: [Option<(u32, u32)>; 4],
}

/// A host or a router: its position in the order in which nodes were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A link in one direction: its position in the order in which links were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// A carrier with slots that links share: its position in the order in which carriers were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CarrierId(pub u32);

impl CarrierId {
    /// As an index into tables of carriers.
    #[inline]
    pub fn index(self) -> usize {
        // Widening on every supported machine.
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
        // Widening on every supported machine.
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
        // Widening on every supported machine.
        self.0 as usize
    }
}

/// The seed of stream number `stream` under `seed`.
///
/// Neighbouring streams that begin in the same state are correlated, so the state depends on the
/// stream as well, through the finaliser of `SplitMix64` (Steele, Lea and Flood, 2014).
pub(crate) fn derive_seed(seed: u64, stream: u64) -> u64 {
    let mut state = seed ^ stream.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// The hash bucket of the flow of `header`, one of `buckets`.
#[inline]
pub(crate) fn bucket(header: &Header, seed: u64, buckets: u32) -> u32 {
    scale_hash(flow_hash(header, seed), buckets)
}

/// The hash of the flow of `header`.
#[inline]
pub(crate) fn flow_hash(header: &Header, seed: u64) -> u64 {
    let flow = u64::from(header.connection) << 1 | u64::from(header.is_backward);
    let ports = u64::from(header.source_port) << 16 | u64::from(header.destination_port);
    derive_seed(derive_seed(seed, flow), ports << 8 | u64::from(header.protocol))
}

/// Maps `hash` to one of `buckets`.
#[inline]
pub(crate) fn scale_hash(hash: u64, buckets: u32) -> u32 {
    let product = (hash >> 32) * u64::from(buckets);
    u32::try_from(product >> 32).expect("a share of 32 bits")
}
