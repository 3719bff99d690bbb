//! The path: what fits into one of its packets, and how that is found out.

use fairwind_units::Span;

/// Whether the path's packet size is looked for (`IP_MTU_DISCOVER`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MtuDiscovery {
    /// Not at all: packets may be fragmented on their way (`IP_PMTUDISC_DONT`, or a locked MTU).
    Off,
    /// By the path's complaints (RFC 1191, RFC 8201; `IP_PMTUDISC_WANT` and `_DO`).
    On,
    /// Complaints are ignored (`IP_PMTUDISC_PROBE`, `_INTERFACE`, `_OMIT`).
    Ignored,
}

/// Looking for the packet size without complaints (RFC 4821; Linux `tcp_mtu_probing`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MtuProbing {
    /// Never.
    Off,
    /// Once time-outs hint at a path that drops large packets silently.
    AfterBlackHole,
    /// Always, from a small size upwards.
    Always,
}

/// What an endpoint takes for granted of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathConfig {
    /// Bytes of the IP header: 20 or 40.
    pub ip_header_bytes: u32,
    /// Largest packet of the first link in bytes; `None`: what the announced segment size fills.
    pub mtu: Option<u32>,
    /// The application's bound on segments in bytes, both ways (`TCP_MAXSEG`).
    pub greatest_segment: Option<u16>,
    /// Least segment size that is believed in bytes, options included (Linux `tcp_min_snd_mss`).
    pub least_segment: u16,
    /// Least packet that a complaint is believed to demand in bytes (`min_pmtu`: 552; 1280 for IPv6).
    pub least_mtu: u32,
    /// Whether complaints change the packet size.
    pub discovery: MtuDiscovery,
    /// The route's packet size is the last word: complaints do not change it (`mtu lock`).
    pub is_mtu_locked: bool,
    /// How long a complaint is believed (Linux `mtu_expires`; RFC 1191 §6.3).
    pub complaint_lifetime: Span,
    /// Complaints are passed on to the application of an open connection at once, as errors that end
    /// nothing (`IP_RECVERR`); otherwise they are remembered for when it is given up.
    pub tells_complaints: bool,
    /// Whether larger packets are tried.
    pub probing: MtuProbing,
    /// Segment size that probing begins with in bytes (Linux `tcp_base_mss`).
    pub probing_base: u16,
    /// Size to which a black hole makes probing fall at least in bytes (Linux `tcp_mtu_probe_floor`).
    pub probing_floor: u16,
    /// Probing stops once the range is narrower than this in bytes (Linux `tcp_probe_threshold`).
    pub probing_threshold: u16,
    /// After so long probing begins anew between the present size and the greatest (Linux
    /// `tcp_probe_interval`; RFC 4821 §7.7).
    pub probing_interval: Span,
}

const TEN_MINUTES: Span = Span::from_secs(600);

impl PathConfig {
    /// As the standards have it, over IPv4.
    pub const fn rfc() -> Self {
        Self {
            ip_header_bytes: 20,
            mtu: None,
            greatest_segment: None,
            least_segment: 48,
            least_mtu: 552,
            discovery: MtuDiscovery::On,
            is_mtu_locked: false,
            complaint_lifetime: TEN_MINUTES,
            tells_complaints: false,
            probing: MtuProbing::Off,
            probing_base: 1024,
            probing_floor: 48,
            probing_threshold: 8,
            probing_interval: TEN_MINUTES,
        }
    }
}
