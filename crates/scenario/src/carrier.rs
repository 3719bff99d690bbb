//! Capacity that terminals share slot by slot, as a scenario describes it.

use fairwind_qdisc::Fault;
use fairwind_qdisc::{Carrier, Placement, RequestPolicy, Terminal};
use fairwind_units::{BitRate, Ratio, Span};
use serde::{Deserialize, Serialize};

/// Frames of slots shared by terminals, and the master that assigns the slots (demand-assigned TDMA, as in DVB-RCS).
/// Defaults are those of the Skyplex platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CarrierInput {
    /// Name for the links of a topology; a path has only one carrier.
    pub name: Option<String>,
    /// How long a frame lasts; default: 273 ms.
    #[serde(default = "frame")]
    pub frame: Span,
    /// Slots of a frame; default: 48.
    #[serde(default = "slots")]
    #[schemars(range(min = 1, max = 1_048_576))]
    pub slots: u32,
    /// Rate that one slot of every frame carries; default: 44 kbit/s.
    #[serde(default = "slot_rate")]
    pub slot_rate: BitRate,
    /// Time from one request of a terminal to its next; default: four frames.
    pub request_period: Option<Span>,
    /// Time from one plan of the master to its next; default: a frame.
    pub allocation_period: Option<Span>,
    /// Time that a request takes to the master, and a plan back; default: half the path's RTT, or the link's delay.
    pub signalling_delay: Option<Span>,
    /// How long a requested rate holds unless it is requested again; default: two request periods.
    pub request_lifetime: Option<Span>,
    /// When the first frame begins, less than a frame; default: 0 s. With `signalling_delay` less whole frames, frames
    /// begin when plans come.
    #[serde(default)]
    pub frame_offset: Span,
    /// Whether a terminal's slots of a frame follow one another or are spread over it.
    #[serde(default)]
    pub placement: Placement,
}

/// Share of a carrier for a terminal, and how the terminal requests slots.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TerminalInput {
    /// Slots of every frame that are reserved for it, used or not (CRA); default: one.
    #[serde(default = "guaranteed_slots")]
    pub guaranteed_slots: u32,
    /// The most slots of a frame that it may have; default: all.
    #[schemars(range(min = 1))]
    pub most_slots: Option<u32>,
    /// Whether it gets a share of the slots that nobody requested (FCA).
    #[serde(default)]
    pub takes_free: bool,
    /// How it requests slots; default: by measured rate.
    #[serde(default)]
    pub requests: RequestsInput,
}

/// How a terminal requests capacity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RequestsInput {
    /// No requests: it gets its guaranteed slots, and free ones.
    None,
    /// The rate at which packets came since the last request, times `multiplier` (RBDC).
    Rbdc {
        /// Factor of the measured rate that it requests; default: 1.
        #[serde(default = "once")]
        #[schemars(range(min = 0, max = 1000))]
        multiplier: f64,
    },
    /// As `rbdc`, but multiplied only while a connection starts.
    RbdcStart {
        /// Factor of the measured rate that it requests in the start phase.
        #[schemars(range(min = 0, max = 1000))]
        multiplier: f64,
        /// Duration of the start phase; default: 10 s.
        #[serde(default = "beginning")]
        lasts: Span,
        /// Idle time after which the next packet begins a start phase; default: 2 s.
        #[serde(default = "silence")]
        idle: Span,
    },
    /// The waiting bytes that were not yet requested; requests add up (VBDC).
    Vbdc,
    /// The waiting bytes; a request replaces earlier ones (AVBDC).
    Avbdc,
    /// Requests by rate and by volume at once, as terminals of DVB-RCS2 can: the rate as in `rbdc`, and as in `vbdc` the
    /// waiting bytes that no earlier request covers, or that a requested rate did not carry in time.
    RbdcVbdc {
        /// Factor of the measured rate that it requests; default: 1.
        #[serde(default = "once")]
        #[schemars(range(min = 0, max = 1000))]
        multiplier: f64,
    },
    /// The predicted rate at the time when the slots arrive, from what left one round trip before and from how
    /// packets followed it.
    Forecast {
        /// The round trip; default: the path's RTT, or twice the signalling delay.
        round_trip: Option<Span>,
    },
}

impl Default for CarrierInput {
    fn default() -> Self {
        Self {
            name: None,
            frame: frame(),
            slots: slots(),
            slot_rate: slot_rate(),
            request_period: None,
            allocation_period: None,
            signalling_delay: None,
            request_lifetime: None,
            frame_offset: Span::ZERO,
            placement: Placement::default(),
        }
    }
}

impl Default for TerminalInput {
    fn default() -> Self {
        Self {
            guaranteed_slots: guaranteed_slots(),
            most_slots: None,
            takes_free: false,
            requests: RequestsInput::default(),
        }
    }
}

impl Default for RequestsInput {
    fn default() -> Self {
        Self::Rbdc { multiplier: once() }
    }
}

impl CarrierInput {
    /// The carrier, where signals take `way` unless said.
    pub(crate) fn resolve(&self, way: Span) -> Carrier {
        let usual = Carrier::default();
        let frames_of = |usual: Span| self.frame * (usual.as_nanos() / frame().as_nanos());
        let request_period = self.request_period.unwrap_or(frames_of(usual.request_period));
        Carrier {
            frame: self.frame,
            slots: self.slots,
            slot_rate: self.slot_rate,
            request_period,
            allocation_period: self.allocation_period.unwrap_or(frames_of(usual.allocation_period)),
            signalling_delay: self.signalling_delay.unwrap_or(way),
            request_lifetime: self.request_lifetime.unwrap_or(request_period.saturating_mul(2)),
            frame_offset: self.frame_offset,
            placement: self.placement,
        }
    }
}

impl TerminalInput {
    /// The terminal, on a path where a round trip takes so long unless said.
    pub(crate) fn resolve(&self, round_trip: Span) -> Terminal {
        Terminal {
            guaranteed_slots: self.guaranteed_slots,
            most_slots: self.most_slots.unwrap_or(0),
            takes_free: self.takes_free,
            requests: self.requests.resolve(round_trip),
        }
    }

    /// The rate of all slots that it may have.
    pub(crate) fn most_rate(&self, carrier: &CarrierInput) -> BitRate {
        let slots = self.most_slots.unwrap_or(carrier.slots).min(carrier.slots);
        let rate = carrier.slot_rate.as_bits_per_second().saturating_mul(u64::from(slots));
        BitRate::from_bits_per_second(rate)
    }

    /// Warnings, each with its key below the terminal.
    pub(crate) fn oddities(&self, slots: u32) -> Vec<(&'static str, &'static str)> {
        let mut oddities = Vec::new();
        if self.most_slots.is_some_and(|most| most > slots) {
            oddities.push(("most_slots", "a frame has fewer slots, so it has no effect"));
        }
        if let RequestsInput::Forecast { round_trip: Some(Span::ZERO) } = self.requests {
            let rule = "the forecast needs a round-trip time; without one, it predicts nothing";
            oddities.push(("requests.round_trip", rule));
        }
        if let RequestsInput::Rbdc { multiplier } | RequestsInput::RbdcStart { multiplier, .. } =
            self.requests
            && multiplier < 1.0
        {
            let rule =
                "below 1 it requests less than what arrives, so its queue grows without limit";
            oddities.push(("requests.multiplier", rule));
        }
        let asks = !matches!(self.requests, RequestsInput::None);
        if self.guaranteed_slots == 0 && !asks && !self.takes_free {
            oddities
                .push(("requests", "it has no slots and requests none, so no packet ever leaves"));
        }
        oddities
    }
}

/// Warnings about a carrier in a run of `duration`, each with its key below the carrier.
pub(crate) fn oddities(carrier: &Carrier, duration: Span) -> Vec<(&'static str, String)> {
    if carrier.frame >= duration {
        // Periods are frames by default, so they would be reported as well.
        return vec![("frame", format!("the run ends after {duration}, within the first frame"))];
    }
    let slot = carrier.frame / u64::from(carrier.slots.max(1));
    let periods = [
        ("request_period", carrier.request_period, "no terminal sends requests"),
        ("allocation_period", carrier.allocation_period, "only the first plan is made"),
    ];
    let mut oddities = Vec::new();
    for (key, period, consequence) in periods {
        if !period.is_zero() && period < slot {
            let rule = "shorter than a slot, so more often than assignments can change";
            oddities.push((key, rule.to_owned()));
        } else if period >= duration {
            oddities.push((key, format!("the run ends after {duration}, so {consequence}")));
        }
    }
    let answer = carrier.signalling_delay.saturating_mul(2);
    if answer >= duration {
        let rule = format!(
            "a request and its plan take {answer}, so no request gets slots before the run ends after {duration}"
        );
        oddities.push(("signalling_delay", rule));
    }
    oddities
}

impl RequestsInput {
    fn resolve(self, path: Span) -> RequestPolicy {
        match self {
            Self::None => RequestPolicy::None,
            Self::Rbdc { multiplier } => RequestPolicy::Rbdc { multiplier: multiple(multiplier) },
            Self::RbdcStart { multiplier, lasts, idle } => {
                RequestPolicy::RbdcStart { multiplier: multiple(multiplier), lasts, idle }
            }
            Self::Vbdc => RequestPolicy::Vbdc,
            Self::Avbdc => RequestPolicy::Avbdc,
            Self::RbdcVbdc { multiplier } => {
                RequestPolicy::RbdcVbdc { multiplier: multiple(multiplier) }
            }
            Self::Forecast { round_trip } => {
                RequestPolicy::Forecast { round_trip: round_trip.unwrap_or(path) }
            }
        }
    }
}

/// Errors of a carrier at `key` and of its terminals, each given with its key.
pub(crate) fn faults(carrier: &Carrier, key: &str, terminals: &[(String, Terminal)]) -> Vec<Fault> {
    let errors = carrier.errors(terminals.iter().map(|(_, terminal)| terminal));
    let promised = |(_, terminal): &&(String, Terminal)| terminal.guaranteed_slots;
    let fault = |error: fairwind_qdisc::CarrierError| {
        // A sum belongs to all terminals: report it at the first of those with the most.
        let most = || terminals.iter().rev().max_by_key(promised);
        let (at, hint) = match (error.key, error.terminal.and_then(|index| terminals.get(index))) {
            (_, Some((at, terminal))) => {
                let numbers =
                    format!("{} of at most {}", terminal.guaranteed_slots, terminal.most_slots);
                (at.as_str(), Some(numbers))
            }
            ("guaranteed_slots", None) => {
                let at = most().map_or(key, |(terminal, _)| terminal);
                (at, Some(promises(carrier, terminals)))
            }
            _ => (key, None),
        };
        Fault { key: format!("{at}.{}", error.key), rule: error.rule.to_owned(), hint }
    };
    errors.into_iter().map(fault).collect()
}

/// How many slots are promised, of how many, and to whom.
fn promises(carrier: &Carrier, terminals: &[(String, Terminal)]) -> String {
    let sum: u64 = terminals.iter().map(|(_, terminal)| u64::from(terminal.guaranteed_slots)).sum();
    let sum = format!("{sum} of {}", carrier.slots);
    if terminals.len() < 2 {
        return sum;
    }
    let each = terminals.iter().filter(|(_, terminal)| terminal.guaranteed_slots > 0);
    let each = each.map(|(at, terminal)| format!("{at} {}", terminal.guaranteed_slots));
    format!("{sum}: {}", each.collect::<Vec<_>>().join(", "))
}

/// To the nearest billionth.
fn multiple(times: f64) -> Ratio {
    // A span of so many seconds has as many nanoseconds as the ratio has billionths.
    Ratio::from_parts_per_billion(Span::from_secs_f64(times).as_nanos())
}

fn frame() -> Span {
    Carrier::default().frame
}

fn slots() -> u32 {
    Carrier::default().slots
}

fn slot_rate() -> BitRate {
    Carrier::default().slot_rate
}

fn guaranteed_slots() -> u32 {
    Terminal::default().guaranteed_slots
}

fn once() -> f64 {
    1.0
}

fn beginning() -> Span {
    Span::from_secs(10)
}

fn silence() -> Span {
    Span::from_secs(2)
}
