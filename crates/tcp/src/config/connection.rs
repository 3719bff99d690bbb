//! Settings of a connection: path MTU, ECN, Fast Open, liveness.

use crate::handshake::{CookieKey, FastOpenPermit};
use fairwind_units::Span;
use fairwind_wire::TrafficClass;
use std::net::IpAddr;

/// Path MTU discovery by ICMP errors (`IP_MTU_DISCOVER`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MtuDiscovery {
    /// Off: packets may be fragmented on the path (`IP_PMTUDISC_DONT`, or a locked MTU).
    Off,
    /// By the path's complaints (RFC 1191, RFC 8201; `IP_PMTUDISC_WANT` and `_DO`).
    On,
    /// Complaints are ignored (`IP_PMTUDISC_PROBE`, `_INTERFACE`, `_OMIT`).
    Ignored,
}

/// Packetization-layer path MTU discovery (RFC 4821; Linux `tcp_mtu_probing`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MtuProbing {
    /// Never.
    Off,
    /// After time-outs that suggest a black hole for large packets.
    AfterBlackHole,
    /// Always, from a small size upwards.
    Always,
}

/// Properties of the path, and path MTU discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathConfig {
    /// Bytes of the IP header: 20 or 40.
    pub ip_header_bytes: u32,
    /// MTU of the first link in bytes; `None`: derived from the announced segment size.
    pub mtu: Option<u32>,
    /// The application's bound on segments in bytes, both ways (`TCP_MAXSEG`).
    pub max_segment: Option<u16>,
    /// Minimum segment size in bytes, options included (Linux `tcp_min_snd_mss`).
    pub min_segment: u16,
    /// Minimum path MTU that an ICMP error can set in bytes (`min_pmtu`: 552; 1280 for IPv6).
    pub min_mtu: u32,
    /// Whether complaints change the packet size.
    pub discovery: MtuDiscovery,
    /// The MTU of the route is locked: ICMP errors do not change it (`mtu lock`).
    pub is_mtu_locked: bool,
    /// How long the MTU of an ICMP error is used (Linux `mtu_expires`; RFC 1191 §6.3).
    pub path_mtu_lifetime: Span,
    /// ICMP errors of an open connection are reported to the application immediately, without ending
    /// the connection (`IP_RECVERR`). Otherwise they are kept until the connection is given up.
    pub reports_icmp_errors: bool,
    /// The queue of the first link drops new data, which is retried every 500 ms (Linux
    /// `tcp_send_probe0` after `NET_XMIT_DROP`).
    pub is_device_full: bool,
    /// Whether larger packets are tried.
    pub probing: MtuProbing,
    /// Segment size that probing begins with in bytes (Linux `tcp_base_mss`).
    pub probing_base: u16,
    /// Minimum probing size after a black hole in bytes (Linux `tcp_mtu_probe_floor`).
    pub probing_floor: u16,
    /// Probing stops when the search range is narrower than this in bytes (Linux
    /// `tcp_probe_threshold`).
    pub probing_threshold: u16,
    /// Interval after which probing restarts between the present and the maximum size (Linux
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

/// ECN feedback to the sender.
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
    /// Those for which RFC 9768 requires it, with the minimum of counters.
    Required,
    /// Those for which RFC 9768 requires it, with all counters.
    Complete,
    /// Every one that has room.
    Always,
}

/// Switches of ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EcnConfig {
    /// Best feedback that our SYN requests (Linux `tcp_ecn`).
    pub outgoing: EcnFeedback,
    /// Best feedback that we accept from a peer's SYN (Linux `tcp_ecn`).
    pub incoming: EcnFeedback,
    /// A retransmitted SYN does not request ECN, because the request may have caused the loss (RFC
    /// 3168 §6.1.1.1; Linux `tcp_ecn_fallback`).
    pub fallback: bool,
    /// Which segments carry the option of Accurate ECN.
    pub option: AccurateEcnOption,
    /// Minimum number of Accurate ECN options per round trip (Linux `tcp_ecn_option_beacon`).
    pub option_beacon: u32,
    /// Traffic class of packets; its two ECN bits are ignored (`IP_TOS`).
    pub service: TrafficClass,
}

impl EcnConfig {
    /// No ECN, as before RFC 3168.
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

    /// RFC 3168 if the peer requests it, as Linux since 2.6.31 and FreeBSD since 11.
    pub const fn when_asked() -> Self {
        Self { incoming: EcnFeedback::Classic, ..Self::off() }
    }
}

/// Switches of Fast Open (RFC 7413; bits of Linux `tcp_fastopen`), and the secret of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of its own in Linux, too")]
pub struct FastOpenConfig {
    /// Applications may send data with the SYN (0x1).
    pub client: bool,
    /// Listening sockets may take it (0x2).
    pub server: bool,
    /// Data is sent even without a cookie (0x4; `TCP_FASTOPEN_NO_COOKIE`).
    pub client_without_cookie: bool,
    /// Data is taken without a cookie (0x200; `TCP_FASTOPEN_NO_COOKIE`).
    pub server_without_cookie: bool,
    /// Every listening socket accepts it, even without the socket option (0x400).
    pub every_listener: bool,
    /// The secret that cookies are made with (Linux `tcp_fastopen_key`).
    pub key: CookieKey,
    /// The previous secret, whose cookies are still accepted.
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

    /// What a listening end at `server` may do with the option of a SYN from `client`; `None` without
    /// Fast Open.
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
    /// Unanswered probes before the connection is given up (`TCP_KEEPCNT`).
    pub probes: u32,
}

/// When a closed window is probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeRule {
    /// A time-out after the window closed, then at doubling intervals (RFC 9293 §3.8.6.1).
    Rfc,
    /// The same; every answer that leaves the window closed restarts the interval, which is at
    /// least 200 ms (Linux `tcp_ack_probe`, `tcp_probe0_when`).
    Linux,
}

/// Liveness: keep-alive, window probes, and limits before giving up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Liveness {
    /// Keep-alive probes.
    pub keep_alive: KeepAlive,
    /// Longest time that data may stay unacknowledged, or a window closed, in place of the count of
    /// attempts (`TCP_USER_TIMEOUT`, RFC 5482).
    pub user_timeout: Option<Span>,
    /// When a closed window is probed.
    pub probe_rule: ProbeRule,
    /// Time-outs, counted in time as [`Config::retransmission_limit`](crate::Config), after which
    /// the path is suspected (Linux `tcp_retries1`, RFC 1122 §4.2.3.5 R1).
    pub suspicion_limit: u32,
    /// Attempts for an orphaned connection, in place of
    /// [`Config::retransmission_limit`](crate::Config). 0 means eight while time-outs are below the
    /// maximum, then none (Linux `tcp_orphan_retries`). `None`: no difference.
    pub orphan_limit: Option<u32>,
}

impl KeepAlive {
    /// Off; if switched on: two hours, 75 s, nine probes (RFC 1122 §4.2.3.6; Linux `tcp_keepalive_time` and
    /// others).
    pub const DEFAULT: Self = Self {
        enabled: false,
        idle: Span::from_secs(7200),
        interval: Span::from_secs(75),
        probes: 9,
    };
}

impl Liveness {
    /// Only the requirements of RFC 9293.
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
