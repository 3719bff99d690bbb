//! Networks of the namespace where a shell is started, and the addresses that the shell takes.
//!
//! A shell owns a block of addresses, so that shells within shells need no translation. Its link to the outside takes the
//! first two of it, and a shell that is started inside takes a part of what is left; so one route to the block leads to
//! all that is below it.

use super::problem;
use fairwind_linux::{KernelError, command_output};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The device through which the inside of a shell is left. Who finds one with an address of ours is
/// inside a shell.
pub(super) const WAY_OUT: &str = "outside";

/// The addresses in use.
#[derive(Debug, Default)]
pub(super) struct HostNetwork {
    /// Blocks that have a route or an address.
    pub(super) taken: Vec<Block>,
    /// The blocks of the shell around this namespace, by version of IP.
    network: Vec<(Family, Block)>,
    /// The device of the default route of IPv4.
    pub(super) leads_out: Option<String>,
}

#[derive(Deserialize)]
struct Route {
    dst: String,
    #[serde(default)]
    dev: Option<String>,
    /// Present for routes that are not in the main table.
    #[serde(default)]
    table: Option<IgnoredAny>,
    #[serde(default)]
    metric: u32,
}

#[derive(Deserialize)]
struct Interface {
    #[serde(default)]
    ifname: String,
    #[serde(default)]
    addr_info: Vec<Address>,
}

#[derive(Deserialize)]
struct Address {
    #[serde(default)]
    local: Option<IpAddr>,
    #[serde(default)]
    prefixlen: u8,
}

impl HostNetwork {
    /// Reads the network state of this namespace.
    pub(super) fn read() -> Result<Self, KernelError> {
        let mut found = Self::default();
        for (family, option) in [(Family::V4, "-4"), (Family::V6, "-6")] {
            let routes: Vec<Route> = query_ip(&["-j", option, "route", "show", "table", "all"])?;
            found.taken.extend(routes.iter().filter_map(|route| destination(&route.dst)));
            if family == Family::V4 {
                found.leads_out = leads_out(&routes);
            }
            let interfaces: Vec<Interface> = query_ip(&["-j", option, "addr", "show"])?;
            for interface in interfaces.iter().filter(|interface| interface.ifname == WAY_OUT) {
                let blocks = interface
                    .addr_info
                    .iter()
                    .filter_map(|address| Some(Block::network(address.local?, address.prefixlen)));
                found.network.extend(
                    blocks.filter(|block| block.is_a_shells()).map(|block| (family, block)),
                );
            }
        }
        Ok(found)
    }

    /// The block of the shell around this namespace.
    pub(super) fn network(&self, family: Family) -> Option<Block> {
        self.network.iter().find(|(of, _)| *of == family).map(|(_, block)| *block)
    }

    /// Whether this is the inside of another shell.
    pub(super) fn is_a_shell(&self) -> bool {
        !self.network.is_empty()
    }
}

/// The answer of `ip`; it prints nothing at all where IPv6 is off.
fn query_ip<T: serde::de::DeserializeOwned>(arguments: &[&str]) -> Result<Vec<T>, KernelError> {
    let text = command_output("ip", arguments, "")?;
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(&text)
        .map_err(|error| problem(format!("`ip {}`: {error}", arguments.join(" "))))
}

/// The device of the default route that the kernel prefers: tables beside the main one are for chosen
/// packets.
fn leads_out(routes: &[Route]) -> Option<String> {
    let ways_out = routes.iter().filter(|route| route.dst == "default" && route.dev.is_some());
    let preferred = ways_out.min_by_key(|route| (route.table.is_some(), route.metric))?;
    preferred.dev.clone()
}

/// `default` is what is left where nothing else fits, so it takes nothing.
fn destination(text: &str) -> Option<Block> {
    let (address, length) = text.split_once('/').unwrap_or((text, "128"));
    Some(Block::network(address.parse().ok()?, length.parse().ok()?))
}

/// Where the outermost shells take their blocks: shared address space (RFC 6598), which is neither
/// in the internet nor in usual private networks, and a unique local prefix (RFC 4193) of our own.
const WHOLE: [Block; 2] = [
    Block { family: Family::V4, bits: 0x6440_0000, length: 10 },
    Block { family: Family::V6, bits: 0xfd66_6169_7277 << 80, length: 48 },
];
/// Lengths of the blocks of a shell, of one within it, and so on.
const LENGTHS_V4: [u8; 5] = [16, 20, 24, 28, 30];
const LENGTHS_V6: [u8; 8] = [56, 64, 72, 80, 88, 96, 104, 112];

/// The version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    fn bits(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }

    fn whole(self) -> Block {
        WHOLE[usize::from(self == Self::V6)]
    }

    fn lengths(self) -> &'static [u8] {
        match self {
            Self::V4 => &LENGTHS_V4,
            Self::V6 => &LENGTHS_V6,
        }
    }
}

/// All addresses that begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    family: Family,
    /// The first address; those of IPv4 in the low bits.
    bits: u128,
    /// Bits that all addresses share.
    length: u8,
}

impl Block {
    /// The block of `length` that `address` lies in.
    pub(super) fn network(address: IpAddr, length: u8) -> Self {
        let (family, bits) = match address {
            IpAddr::V4(address) => (Family::V4, u128::from(address.to_bits())),
            IpAddr::V6(address) => (Family::V6, address.to_bits()),
        };
        let length = length.min(family.bits());
        let below = family.bits() - length;
        let bits = bits.checked_shr(u32::from(below)).unwrap_or(0);
        Self { family, bits: bits.checked_shl(u32::from(below)).unwrap_or(0), length }
    }

    /// Address number `number` of the block.
    pub(super) fn address(self, number: u8) -> IpAddr {
        let bits = self.bits + u128::from(number);
        match self.family {
            Family::V4 => Ipv4Addr::from_bits(u32::try_from(bits).unwrap_or(u32::MAX)).into(),
            Family::V6 => Ipv6Addr::from_bits(bits).into(),
        }
    }

    /// Bits that all addresses share.
    pub(super) fn length(self) -> u8 {
        self.length
    }

    /// Whether an address lies in both.
    pub(super) fn overlaps(self, other: Self) -> bool {
        let least = self.length.min(other.length);
        self.family == other.family
            && Self::network(self.address(0), least) == Self::network(other.address(0), least)
    }

    /// Whether shells take their addresses from here.
    pub(super) fn is_a_shells(self) -> bool {
        self.family.lengths().contains(&self.length) && self.overlaps(self.family.whole())
    }

    /// The block of the outermost shell that this one lies in.
    pub(super) fn outermost(self) -> Self {
        Self::network(self.address(0), self.family.lengths()[0])
    }

    /// The blocks that a shell inside this one can have; none if it is as small as blocks get.
    fn parts(self, length: u8) -> impl Iterator<Item = Self> {
        let step = 1_u128 << (self.family.bits() - length);
        let count = 1_u128 << (length - self.length);
        (0..count).map(move |index| Self { bits: self.bits + index * step, length, ..self })
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address(0), self.length)
    }
}

/// The blocks that a new shell inside the shell of `parent` may take, or an outermost one where
/// there is none; those that overlap with `taken` are left out.
pub(super) fn free_blocks(
    family: Family,
    parent: Option<Block>,
    taken: &[Block],
) -> impl Iterator<Item = Block> {
    let network = parent.unwrap_or(family.whole());
    let length = family.lengths().iter().copied().find(|length| *length > network.length);
    // The first part of a shell's block is for its own link.
    let own = usize::from(parent.is_some());
    let parts = length.map(|length| network.parts(length).skip(own));
    let is_free = move |block: &Block| !taken.iter().any(|other| other.overlaps(*block));
    parts.into_iter().flatten().filter(is_free)
}

/// The two ends of a shell's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) block: Block,
    pub(super) outside: IpAddr,
    pub(super) inside: IpAddr,
}

impl From<Block> for Ends {
    fn from(block: Block) -> Self {
        Self { block, outside: block.address(1), inside: block.address(2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uplink_is_preferred_default_route() {
        let routes: Vec<Route> = serde_json::from_str(
            r#"[{"dst": "default", "dev": "tunnel", "table": "52", "flags": []},
                {"type": "unreachable", "dst": "default", "metric": 1},
                {"dst": "default", "gateway": "192.0.2.1", "dev": "wlan0", "metric": 600},
                {"dst": "default", "gateway": "192.0.2.1", "dev": "eth0", "metric": 100},
                {"dst": "192.0.2.0/24", "dev": "dock0"}]"#,
        )
        .unwrap();
        assert_eq!(leads_out(&routes).unwrap(), "eth0");
        assert_eq!(leads_out(&routes[..1]).unwrap(), "tunnel", "better than none");
        assert_eq!(leads_out(&routes[4..]), None);
    }

    fn block(text: &str) -> Block {
        let (address, length) = text.split_once('/').unwrap();
        Block::network(address.parse().unwrap(), length.parse().unwrap())
    }

    fn first(family: Family, parent: Option<Block>, taken: &[Block]) -> Option<String> {
        free_blocks(family, parent, taken).next().map(|block| block.to_string())
    }

    #[test]
    fn shell_takes_first_free_block() {
        assert_eq!(first(Family::V4, None, &[]).unwrap(), "100.64.0.0/16");
        let taken = [block("100.64.0.0/16"), block("100.65.3.7/32"), block("10.0.0.0/8")];
        assert_eq!(first(Family::V4, None, &taken).unwrap(), "100.66.0.0/16");
        assert_eq!(first(Family::V6, None, &[]).unwrap(), "fd66:6169:7277::/56");
    }

    #[test]
    fn nested_shells_take_blocks_within_parents() {
        let mut inner = block("100.66.0.0/16");
        for expected in ["100.66.16.0/20", "100.66.17.0/24", "100.66.17.16/28", "100.66.17.20/30"] {
            let found = free_blocks(Family::V4, Some(inner), &[]).next().unwrap();
            assert_eq!(found.to_string(), expected);
            assert!(found.overlaps(inner) && found.outermost() == block("100.66.0.0/16"));
            let ends = Ends::from(found);
            assert!(![inner.address(1), inner.address(2)].contains(&ends.outside));
            assert!(found.overlaps(Block::network(ends.inside, 32)));
            inner = found;
        }
        assert_eq!(first(Family::V4, Some(inner), &[]), None, "no smaller block has two ends");
    }

    #[test]
    fn fully_used_range_has_no_block() {
        assert_eq!(first(Family::V4, None, &[block("100.64.0.0/10")]), None);
        assert_eq!(first(Family::V4, None, &[block("0.0.0.0/0")]), None);
        assert!(first(Family::V6, None, &[block("0.0.0.0/0")]).is_some());
    }
}
