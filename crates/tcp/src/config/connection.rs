//! The path: what fits into one of its packets, and how that is found out.
//!
//! Explicit congestion notification: who asks for it, and what is accepted.
//!
//! Data with the SYN: who may send it, and who takes it.
//!
//! How long an endpoint bears with a peer that does not answer, or answers with a closed window.

use crate::handshake::{CookieKey, FastOpenPermit};
use fairwind_units::Span;
use fairwind_wire::TrafficClass;
use std::net::IpAddr;

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
    pub max_segment: Option<u16>,
    /// Least segment size that is believed in bytes, options included (Linux `tcp_min_snd_mss`).
    pub min_segment: u16,
    /// Least packet that a complaint is believed to demand in bytes (`min_pmtu`: 552; 1280 for IPv6).
    pub min_mtu: u32,
    /// Whether complaints change the packet size.
    pub discovery: MtuDiscovery,
    /// The route's packet size is the last word: complaints do not change it (`mtu lock`).
    pub is_mtu_locked: bool,
    /// How long a complaint is believed (Linux `mtu_expires`; RFC 1191 §6.3).
    pub path_mtu_lifetime: Span,
    /// Complaints are passed on to the application of an open connection at once, as errors that end
    /// nothing (`IP_RECVERR`); otherwise they are remembered for when it is given up.
    pub reports_icmp_errors: bool,
    /// The queue of the first link takes no new data, which is tried again every 500 ms (Linux
    /// `tcp_send_probe0` after `NET_XMIT_DROP`).
    pub is_device_full: bool,
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
            max_segment: None,
            min_segment: 48,
            min_mtu: 552,
            discovery: MtuDiscovery::On,
            is_mtu_locked: false,
            path_mtu_lifetime: TEN_MINUTES,
            reports_icmp_errors: false,
            is_device_full: false,
            probing: MtuProbing::Off,
            probing_base: 1024,
            probing_floor: 48,
            probing_threshold: 8,
            probing_interval: TEN_MINUTES,
        }
    }
}

/// How marks are fed back to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EcnFeedback {
    /// Not at all: marks are not understood.
    None,
    /// One signal per round trip (RFC 3168).
    Classic,
    /// Counters of packets and bytes (RFC 9768).
    Accurate,
}

/// Which segments carry the option of Accurate ECN (Linux `tcp_ecn_option`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccurateEcnOption {
    /// None.
    Never,
    /// Those for which the draft demands it, with as few counters as it allows.
    Required,
    /// Those for which the draft demands it, with all counters.
    Complete,
    /// Every one that has room.
    Always,
}

/// Switches of ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EcnConfig {
    /// The most that our own SYN asks for (Linux `tcp_ecn`).
    pub outgoing: EcnFeedback,
    /// The most that is agreed to when the peer asks (Linux `tcp_ecn`).
    pub incoming: EcnFeedback,
    /// A repeated SYN asks no more, because the first one may have been lost for asking (RFC 3168
    /// §6.1.1.1; Linux `tcp_ecn_fallback`).
    pub fallback: bool,
    /// Which segments carry the option of Accurate ECN.
    pub option: AccurateEcnOption,
    /// Options of Accurate ECN per round trip where nothing demands one (Linux
    /// `tcp_ecn_option_beacon`).
    pub option_beacon: u32,
    /// The service that packets ask for; its two lowest bits are ECN's and not looked at (`IP_TOS`).
    pub service: TrafficClass,
}

impl EcnConfig {
    /// Nothing: before RFC 3168 came into use.
    pub const fn off() -> Self {
        Self {
            outgoing: EcnFeedback::None,
            incoming: EcnFeedback::None,
            fallback: true,
            option: AccurateEcnOption::Complete,
            option_beacon: 3,
            service: TrafficClass::new(0),
        }
    }

    /// RFC 3168 where the peer asks for it, as Linux does since 2.6.31 and FreeBSD since 11.
    pub const fn when_asked() -> Self {
        Self { incoming: EcnFeedback::Classic, ..Self::off() }
    }
}

/// Switches of Fast Open (RFC 7413; Linux `tcp_fastopen`, the bits of which they are), and the secret
/// of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of its own in Linux, too")]
pub struct FastOpenConfig {
    /// Applications may send data with the SYN (0x1).
    pub client: bool,
    /// Listening sockets may take it (0x2).
    pub server: bool,
    /// Data goes out whether or not there is a cookie (0x4; `TCP_FASTOPEN_NO_COOKIE`).
    pub client_without_cookie: bool,
    /// Data is taken without a cookie (0x200; `TCP_FASTOPEN_NO_COOKIE`).
    pub server_without_cookie: bool,
    /// Every listening socket takes it, whether or not it asked for it (0x400).
    pub every_listener: bool,
    /// The secret that cookies are made with (Linux `tcp_fastopen_key`).
    pub key: CookieKey,
    /// The secret before that, the cookies of which are still accepted.
    pub former_key: Option<CookieKey>,
}

impl FastOpenConfig {
    /// No Fast Open.
    pub const fn off() -> Self {
        Self::from_bits(0)
    }

    /// The switches that Linux writes as the bits of one number.
    pub const fn from_bits(bits: u32) -> Self {
        Self {
            client: bits & 0x1 != 0,
            server: bits & 0x2 != 0,
            client_without_cookie: bits & 0x4 != 0,
            server_without_cookie: bits & 0x200 != 0,
            every_listener: bits & 0x400 != 0,
            key: CookieKey::new([0; 16]),
            former_key: None,
        }
    }

    /// The same secrets with other switches.
    #[must_use]
    pub const fn with_bits(self, bits: u32) -> Self {
        let Self { key, former_key, .. } = self;
        Self { key, former_key, ..Self::from_bits(bits) }
    }

    /// What a listening end at `server` may do about a SYN of `client`; `None` where it has nothing to
    /// do with Fast Open.
    pub fn permit(&self, client: IpAddr, server: IpAddr) -> Option<FastOpenPermit> {
        self.server.then(|| FastOpenPermit {
            cookie: self.key.cookie(client, server),
            former: self.former_key.map(|key| key.cookie(client, server)),
            without_cookie: self.server_without_cookie,
        })
    }
}

/// Asking whether a silent peer is still there (RFC 9293 §3.8.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// Whether that is done at all (`SO_KEEPALIVE`).
    pub enabled: bool,
    /// Silence before the first probe (`TCP_KEEPIDLE`).
    pub idle: Span,
    /// Time between probes (`TCP_KEEPINTVL`).
    pub interval: Span,
    /// Probes without an answer before the connection is given up (`TCP_KEEPCNT`).
    pub probes: u32,
}

/// When a closed window is probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeRule {
    /// A time-out after the window closed, then at doubling intervals (RFC 9293 §3.8.6.1).
    Rfc,
    /// The same; every answer that leaves the window closed begins the interval anew, which is at
    /// least 200 ms (Linux `tcp_ack_probe`, `tcp_probe0_when`).
    Linux,
}

/// Limits of patience.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Liveness {
    /// Whether and when a silent peer is asked.
    pub keep_alive: KeepAlive,
    /// Longest time that data may stay unacknowledged, or a window closed, in place of the count of
    /// attempts (`TCP_USER_TIMEOUT`, RFC 5482).
    pub user_timeout: Option<Span>,
    /// When a closed window is probed.
    pub probe_rule: ProbeRule,
    /// Time-outs, counted in time as [`Config::retransmission_limit`](crate::Config), after which
    /// the path is suspected (Linux `tcp_retries1`, RFC 1122 §4.2.3.5 R1).
    pub suspicion_limit: u32,
    /// Attempts for a connection whose application has gone, in place of
    /// [`Config::retransmission_limit`](crate::Config); 0 for eight as long as time-outs are below the
    /// greatest, then none (Linux `tcp_orphan_retries`). `None`: no difference.
    pub orphan_limit: Option<u32>,
}

impl KeepAlive {
    /// Not at all, else two hours, 75 s, nine probes (RFC 1122 §4.2.3.6; Linux `tcp_keepalive_time` and others).
    pub const DEFAULT: Self = Self {
        enabled: false,
        idle: Span::from_secs(7200),
        interval: Span::from_secs(75),
        probes: 9,
    };
}

impl Liveness {
    /// Nothing but what RFC 9293 demands.
    pub const fn rfc() -> Self {
        Self {
            keep_alive: KeepAlive::DEFAULT,
            user_timeout: None,
            probe_rule: ProbeRule::Rfc,
            suspicion_limit: 3,
            orphan_limit: None,
        }
    }

    /// As Linux of all eras.
    pub const fn linux() -> Self {
        Self { probe_rule: ProbeRule::Linux, orphan_limit: Some(0), ..Self::rfc() }
    }
}
