//! Settings of a run: options of the caller, option lines (`--name=value`) of the script, and files.

use crate::outcome::{Outcome, Step, Stop};
use crate::script::{OptionLine, Script, define_usual};
use fairwind_tcp::{Config, Gathering, Profile, SendBufferRule};
use fairwind_units::Span;
use fairwind_wire::SequenceNumber;
use std::collections::BTreeMap;
use std::fmt::{Debug, Formatter};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// Whether echoed timestamps (`TSecr`) of the endpoint are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EchoRule {
    /// Timestamp echoes must match.
    Compared,
    /// Any echo is accepted, as in the original packetdrill.
    #[default]
    Ignored,
}

/// How expected packets are compared with sent ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// As in the original packetdrill. Several consecutive segments may make up a larger payload:
    /// PSH and FIN belong to the last one, CWR to the first one. Packets of other connections than
    /// the current one are ignored.
    #[default]
    Tool,
    /// Stricter. Several segments must be those that segmentation makes of one packet: all of one
    /// size but the last, PSH and FIN only on the last, CWR only on the first. Packets of all
    /// connections must be expected.
    Strict,
}

/// Treatment of unexpected packets after the last event of the script (before it, they are always
/// errors).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrailingPackets {
    /// They are errors if they were sent up to the last event.
    Refused,
    /// They are ignored, as in the original packetdrill.
    #[default]
    Ignored,
}

/// Settings of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// Behaviour of the endpoint.
    pub profile: Profile,
    /// Whether `TSecr` is compared.
    pub echo: EchoRule,
    /// Comparison of packets.
    pub strictness: Strictness,
    /// Treatment of packets after the last event.
    pub trailing: TrailingPackets,
    /// The endpoint's initial sequence number; scripts do not notice.
    pub initial_sequence: SequenceNumber,
    /// Definitions, like `-D NAME=VALUE` in a script.
    pub definitions: BTreeMap<String, String>,
    /// Option lines `--name=value`, which follow those of the script.
    pub option_lines: Vec<OptionLine>,
    /// Files for commands of the script.
    pub files: Files,
}

impl RunOptions {
    /// Comparison as in the original packetdrill.
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            echo: EchoRule::default(),
            strictness: Strictness::default(),
            trailing: TrailingPackets::default(),
            initial_sequence: SequenceNumber::new(2_271_560_481),
            definitions: BTreeMap::new(),
            option_lines: Vec::new(),
            files: Files::none(),
        }
    }

    /// Definitions of the caller: `definitions`, and the defaults for the IP version of
    /// `option_lines`.
    pub fn meanings(&self) -> BTreeMap<String, String> {
        let mut meanings = self.definitions.clone();
        let version = self.option_lines.iter().rev().find(|option| option.name == "ip_version");
        if let Some(version) = version {
            define_usual(version.value.as_deref(), &mut meanings);
        }
        meanings
    }

    /// Stricter comparison than the original packetdrill (`--strict`).
    pub fn strict(profile: Profile) -> Self {
        Self { echo: EchoRule::Compared, strictness: Strictness::Strict, ..Self::new(profile) }
    }
}

/// The second of Linux' `tcp_wmem` in bytes.
const INITIAL_SEND_BUFFER: u32 = 16_384;

/// Option lines in effect.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Minimum tolerance of times (`--tolerance_usecs`).
    pub(crate) tolerance: Span,
    /// Tolerance in thousandths of the time since the event before (`--tolerance_percent`).
    pub(crate) tolerance_permille: u64,
    /// Tick of the timestamp clock; values are compared only if it is known
    /// (`--tcp_ts_tick_usecs`).
    pub(crate) timestamp_tick: Option<Span>,
    /// Expected packets may not be met by several segments (`--strict_segments`).
    pub(crate) strict_segments: bool,
    /// Whether `TSecr` is compared (`--strict_echo`, `--strict`).
    pub(crate) echo: EchoRule,
    /// Comparison of packets (`--strict`).
    pub(crate) strictness: Strictness,
    /// Files of commands that run before the script (`--init_scripts`).
    pub(crate) first_commands: Vec<String>,
    /// Whether sockets are of IPv6, also where their packets are not.
    pub(crate) sockets_of_v6: bool,
    ip_header_bytes: u16,
    mtu: u16,
    /// Segment size from which larger injected packets are merged (`--mss`).
    merged_from: Option<u32>,
    local: Option<IpAddr>,
    remote: Option<IpAddr>,
}

impl Settings {
    pub(crate) fn new(script: &Script, run: &RunOptions) -> Result<Self, Outcome> {
        let mut settings = Self {
            tolerance: Span::from_millis(4),
            tolerance_permille: 125,
            timestamp_tick: None,
            strict_segments: false,
            echo: run.echo,
            strictness: run.strictness,
            first_commands: Vec::new(),
            sockets_of_v6: false,
            ip_header_bytes: 20,
            mtu: 1500,
            merged_from: None,
            local: None,
            remote: None,
        };
        for option in script.options.iter().chain(&run.option_lines) {
            settings
                .take(option)
                .map_err(|stop| stop.outcome(&script.name, Some(option.line), Vec::new()))?;
        }
        Ok(settings)
    }

    fn take(&mut self, option: &OptionLine) -> Step<()> {
        let value = option.value.as_deref();
        // Option names may contain hyphens, as on a command line.
        match option.name.replace('-', "_").as_str() {
            "tolerance_usecs" => self.tolerance = Span::from_micros(number(option)?),
            "tolerance_percent" => self.tolerance_permille = permille(option)?,
            "tcp_ts_tick_usecs" => {
                let micros: u64 = number(option)?;
                self.timestamp_tick = (micros > 0).then(|| Span::from_micros(micros));
            }
            "strict_segments" => self.strict_segments = is_on(value),
            "strict_echo" if is_on(value) => self.echo = EchoRule::Compared,
            "strict" if is_on(value) => {
                self.echo = EchoRule::Compared;
                self.strictness = Strictness::Strict;
            }
            "init_scripts" => {
                let files = value.unwrap_or_default().split(',').filter(|file| !file.is_empty());
                // A bare name is also a file beside the script.
                let named =
                    |file: &str| if file.contains('/') { String::new() } else { "./".into() };
                self.first_commands = files.map(|file| named(file) + file).collect();
            }
            "mtu" => self.mtu = number(option)?,
            "mss" => self.merged_from = Some(number(option)?),
            "ip_version" => self.take_ip_version(option)?,
            "local_ip" => self.local = address(option)?,
            "remote_ip" => self.remote = address(option)?,
            // Ignored: there is one path, and ports do not matter.
            "strict_echo" | "strict" | "gateway_ip" | "netmask_ip" | "bind_port"
            | "connect_port" | "speed" | "verbose" | "code_command" | "code_format"
            | "code_sockopt" | "send_omit_free" | "so_filename" => {}
            name => return Err(Stop::unsupported(format!("the option --{name} is not known"))),
        }
        Ok(())
    }

    fn take_ip_version(&mut self, option: &OptionLine) -> Step<()> {
        self.sockets_of_v6 = option.value.as_deref() != Some("ipv4");
        self.ip_header_bytes = match option.value.as_deref() {
            Some("ipv4" | "ipv4-mapped-ipv6") => 20,
            Some("ipv6") => 40,
            _ => return Err(invalid(option, "ipv4, ipv6 or ipv4-mapped-ipv6")),
        };
        Ok(())
    }

    /// The profile's behaviour on the path that the options describe.
    pub(crate) fn adapt(&self, mut config: Config) -> Config {
        config.mss = self.mss_for_mtu(self.mtu);
        config.path.mtu = Some(u32::from(self.mtu));
        config.receiving.merged_from = self.merged_from;
        config.sending.delivery_rate = true;
        config.path.ip_header_bytes = u32::from(self.ip_header_bytes);
        if config.sending.gathering != Gathering::Stream {
            config.sending.buffer_rule = SendBufferRule::LINUX;
            config.send_buffer = INITIAL_SEND_BUFFER;
        }
        config
    }

    /// The peer's address and our own; they matter to cookies alone.
    pub(crate) fn addresses(&self) -> (IpAddr, IpAddr) {
        let (remote, local) = if self.ip_header_bytes == 40 {
            (USUAL_V6.0.into(), USUAL_V6.1.into())
        } else {
            (USUAL_V4.0.into(), USUAL_V4.1.into())
        };
        (self.remote.unwrap_or(remote), self.local.unwrap_or(local))
    }

    /// The segment size that a packet of `mtu` bytes has room for.
    pub(crate) fn mss_for_mtu(&self, mtu: u16) -> u16 {
        mtu.saturating_sub(self.ip_header_bytes + 20).max(1)
    }

    /// Tolerance of a time `gap` after the event before.
    pub(crate) fn tolerance_after(&self, gap: Span) -> Span {
        let share = gap.as_nanos() / 1000 * self.tolerance_permille;
        self.tolerance.max(Span::from_nanos(share))
    }
}

/// The peer's address and ours where a script names none.
const USUAL_V4: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 168, 0, 1));
const USUAL_V6: (Ipv6Addr, Ipv6Addr) = (
    Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0, 0, 0, 0, 1),
);

/// An address; one with a prefix length is a network and is ignored.
fn address(option: &OptionLine) -> Step<Option<IpAddr>> {
    let text = option.value.as_deref().unwrap_or_default();
    if text.contains('/') {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| invalid(option, "an IP address"))
}

fn is_on(value: Option<&str>) -> bool {
    !matches!(value, Some("0" | "false"))
}

fn number<N: std::str::FromStr>(option: &OptionLine) -> Step<N> {
    option
        .value
        .as_deref()
        .and_then(|value| value.parse().ok())
        .ok_or_else(|| invalid(option, "a whole number"))
}

/// A percentage with at most one decimal, in thousandths.
fn permille(option: &OptionLine) -> Step<u64> {
    let text = option.value.as_deref().unwrap_or_default();
    let (whole, tenth) = text.split_once('.').unwrap_or((text, "0"));
    match (whole.parse::<u32>(), tenth.parse::<u32>(), tenth.len()) {
        (Ok(whole), Ok(tenth), 1) => Ok(u64::from(whole) * 10 + u64::from(tenth)),
        _ => Err(invalid(option, "a percentage with at most one decimal")),
    }
}

fn invalid(option: &OptionLine, expected: &str) -> Stop {
    let value = option.value.as_deref().unwrap_or_default();
    Stop::failed(format!("--{}={value}: expected {expected}", option.name))
}

type Read = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Finds the text of a file by its path in a script, relative to the script's folder or absolute.
/// This crate reads no files.
#[derive(Clone)]
pub struct Files(Arc<Read>);

impl Files {
    /// No file can be read.
    pub fn none() -> Self {
        Self::reading(|_| None)
    }

    /// Files are read by a function, which returns `None` where there is none.
    pub fn reading(read: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        (self.0)(path)
    }
}

impl Debug for Files {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("Files")
    }
}

/// Two are equal if they share the same function.
impl PartialEq for Files {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Files {}
