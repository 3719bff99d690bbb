//! What the option lines of a script set.

use crate::outcome::{Step, Stop};
use crate::run::RunOptions;
use crate::script::{OptionLine, Script};
use fairwind_tcp::{Config, Gathering, SendBufferRule};
use fairwind_units::Span;

/// The second of Linux' `tcp_wmem` in bytes.
const INITIAL_SEND_BUFFER: u32 = 16_384;

/// Option lines in effect.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Least tolerance of times (`--tolerance_usecs`).
    pub(crate) tolerance: Span,
    /// Tolerance in thousandths of the time since the event before (`--tolerance_percent`).
    pub(crate) tolerance_permille: u64,
    /// Time between two values of the timestamp clock; values are compared only where it is known
    /// (`--tcp_ts_tick_usecs`).
    pub(crate) timestamp_tick: Option<Span>,
    /// Expected packets may not be met by several segments (`--strict_segments`).
    pub(crate) strict_segments: bool,
    /// Expected packets of at most this payload may not either (`--mss`), in bytes.
    pub(crate) unsegmented_bytes: u32,
    ip_header_bytes: u16,
    mtu: u16,
}

impl Settings {
    /// Reads the option lines.
    pub(crate) fn new(script: &Script, run: &RunOptions) -> Result<Self, (u32, Stop)> {
        let mut settings = Self {
            tolerance: Span::from_millis(4),
            tolerance_permille: 125,
            timestamp_tick: None,
            strict_segments: false,
            unsegmented_bytes: 0,
            ip_header_bytes: 20,
            mtu: 1500,
        };
        for option in script.options.iter().chain(&run.option_lines) {
            settings.take(option).map_err(|stop| (option.line, stop))?;
        }
        Ok(settings)
    }

    fn take(&mut self, option: &OptionLine) -> Step<()> {
        let value = option.value.as_deref();
        match option.name.as_str() {
            "tolerance_usecs" => self.tolerance = Span::from_micros(number(option)?),
            "tolerance_percent" => self.tolerance_permille = permille(option)?,
            "tcp_ts_tick_usecs" => {
                let micros: u64 = number(option)?;
                self.timestamp_tick = (micros > 0).then(|| Span::from_micros(micros));
            }
            "strict_segments" => self.strict_segments = !matches!(value, Some("0" | "false")),
            "mss" => self.unsegmented_bytes = number(option)?,
            "mtu" => self.mtu = number(option)?,
            "ip_version" => self.take_ip_version(option)?,
            // Where packets come from and go to: there is one path, and it has no addresses.
            "local_ip" | "remote_ip" | "gateway_ip" | "netmask_ip" | "bind_port"
            | "connect_port" | "speed" | "verbose" | "code_command" | "code_format"
            | "code_sockopt" | "init_scripts" | "send_omit_free" | "so_filename" => {}
            name => return Err(Stop::unsupported(format!("the option --{name} is not known"))),
        }
        Ok(())
    }

    fn take_ip_version(&mut self, option: &OptionLine) -> Step<()> {
        self.ip_header_bytes = match option.value.as_deref() {
            Some("ipv4" | "ipv4-mapped-ipv6") => 20,
            Some("ipv6") => 40,
            _ => return Err(invalid(option, "ipv4, ipv6 or ipv4-mapped-ipv6")),
        };
        Ok(())
    }

    /// The profile's behaviour on the path that the options describe.
    pub(crate) fn adapt(&self, mut config: Config) -> Config {
        config.mss = self.mtu.saturating_sub(self.ip_header_bytes + 20).max(1);
        config.path.mtu = Some(u32::from(self.mtu));
        config.path.ip_header_bytes = u32::from(self.ip_header_bytes);
        if config.sending.gathering != Gathering::Stream {
            config.sending.buffer_rule = SendBufferRule::LINUX;
            config.send_buffer = INITIAL_SEND_BUFFER;
        }
        config
    }

    /// The segment size that a packet of `mtu` bytes has room for.
    pub(crate) fn mss_for_mtu(&self, mtu: u16) -> u16 {
        mtu.saturating_sub(self.ip_header_bytes + 20).max(1)
    }

    /// How far a time may be off that lies `gap` behind the event before.
    pub(crate) fn tolerance_after(&self, gap: Span) -> Span {
        let share = gap.as_nanos() / 1000 * self.tolerance_permille;
        self.tolerance.max(Span::from_nanos(share))
    }
}

fn number<N: std::str::FromStr>(option: &OptionLine) -> Step<N> {
    option
        .value
        .as_deref()
        .and_then(|value| value.parse().ok())
        .ok_or_else(|| invalid(option, "a whole number"))
}

/// A percentage with at most one decimal, as thousandths.
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
